"""How a start's phases are read: a time each, or `{time: 450 s, when: replaced}`, `{time_per_1024_nodes: 30 s}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcettr.model.distributions import Distribution
from mcettr.scenario.advice import nearest_of
from mcettr.scenario.laws import InnerError, is_law_mapping, parse_law
from mcettr.units import UnitError, shown

PREFLIGHT = "preflight"
"""The phase that preflight checks take."""

_TIMES = ("time", "time_per_1024_nodes")
PHASE_KEYS = (*_TIMES, "when")
_WHEN = ("always", "replaced")


@dataclass(frozen=True)
class Phase:
    """One phase of a start.

    Parameters
    ----------
    law : Distribution
        How long it takes; for every 1,024 nodes of the job where `scale` says so.
    scale : {"once", "nodes"}
        Whether it grows with the job.
    when : {"always", "replaced"}
        Whether it is only paid after a node was replaced.
    """

    law: Distribution
    scale: Literal["once", "nodes"] = "once"
    when: Literal["always", "replaced"] = "always"


def read_startup(value: object) -> tuple[tuple[str, Phase], ...]:
    """Return the named phases of a start; a single law is a phase called startup.

    >>> read_startup("3 min")[0][0], read_startup({"image": {"time": "450 s", "when": "replaced"}})[0][1].when
    ('startup', 'replaced')
    """
    if not isinstance(value, Mapping) or is_law_mapping(value):
        return (("startup", Phase(parse_law(value))),)
    for key in PHASE_KEYS:
        if key in value:
            advice = f"found {shown(key)}; put it below a name, 'communicator: {{{key}: ...}}'"
            raise InnerError(f"expected the names of phases, {advice}", (key,))
    return tuple((str(name), _phase(str(name), body)) for name, body in value.items())


def _phase(name: str, value: object) -> Phase:
    try:
        if not isinstance(value, Mapping) or not set(PHASE_KEYS) & value.keys():
            return Phase(parse_law(value))
        return _with_keys(value)
    except UnitError as error:
        raise InnerError(str(error), (name, *getattr(error, "where", ()))) from None


def _with_keys(body: Mapping[str, object]) -> Phase:
    for key in body:
        if key not in PHASE_KEYS:
            advice = nearest_of(str(key), PHASE_KEYS)
            raise InnerError(f"expected {', '.join(PHASE_KEYS)}, found {shown(key)}{advice}", (str(key),))
    given = [key for key in _TIMES if key in body]
    if len(given) != 1:
        found = " and ".join(given) or "neither"
        raise InnerError(f"expected {' or '.join(_TIMES)} (one of them), found {found}; keep one")
    when = body.get("when", "always")
    if when not in _WHEN:
        raise InnerError(f"expected always or replaced, found {shown(when)}; write one of them", ("when",))
    try:
        law = parse_law(body[given[0]])
    except UnitError as error:
        raise InnerError(str(error), (given[0], *getattr(error, "where", ()))) from None
    return Phase(law, "once" if given[0] == "time" else "nodes", "replaced" if when == "replaced" else "always")
