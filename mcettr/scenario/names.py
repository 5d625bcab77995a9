"""Names that the user gives, and where one section names what another defines; checked before values are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcettr.scenario.advice import nearest_of
from mcettr.scenario.phases import PREFLIGHT
from mcettr.scenario.place import Fault
from mcettr.units import shown

FALSE_ALARM = "health-check"
"""The cause that false alarms of periodic checks are."""
LEMON = "lemon"
"""What preflight checks may catch besides causes."""
RESERVED_CAUSES = ("start", "checkpoint", "planned", "horizon", "total", FALSE_ALARM, LEMON)
"""Names under which results book time that no failure of the user's cost, and sums."""
_NAME = re.compile(r"[^\W_][\w-]*")
_LONGEST = 64
_ENDINGS = ("_se", "_low", "_high")
"""What names of errors and intervals end in."""


def is_name(name: str) -> bool:
    """Return whether `name` can stand in a heading, a file and a terminal as it is: letters, digits, - and _.

    >>> is_name("nccl-hang"), is_name("=1+1"), is_name("a b")
    (True, False, False)
    """
    return len(name) <= _LONGEST and _NAME.fullmatch(name) is not None


def name_faults(tree: Mapping[str, Any], taken: frozenset[str]) -> Iterator[Fault]:
    """Yield a fault for each name that cannot be used, and for each that stands for nothing.

    Parameters
    ----------
    tree : mapping
        The sections as the user wrote them.
    taken : frozenset of str
        Names of results, which no cause may have.
    """
    causes = _mapping(tree.get("failures"))
    yield from _bad_causes(causes, taken)
    yield from _unknown_causes(tree, tuple(causes))
    yield from _bad_phases(tree)


def _bad_causes(causes: Mapping[str, Any], taken: frozenset[str]) -> Iterator[Fault]:
    for name in causes:
        path = ("failures", name)
        if not is_name(name):
            expected = f"a name of letters, digits, - and _ (at most {_LONGEST}), a letter or a digit first"
            yield Fault(path, f"expected {expected}, found {shown(name)}; choose another name")
        elif name in RESERVED_CAUSES or name in taken or name.endswith(_ENDINGS):
            message = f"expected a name of your own, found {name!r}, which results use; choose another name"
            yield Fault(path, message if name.endswith(_ENDINGS) else f"{message}, such as 'my-{name}'")


def _unknown_causes(tree: Mapping[str, Any], causes: tuple[str, ...]) -> Iterator[Fault]:
    """Yield a fault for each cause that another section names and failures does not hold."""
    has_lemons = tree.get("lemons") is not None
    for where, name in _named(tree):
        if name in causes or (name == LEMON and where[1] == "preflight" and has_lemons):
            continue
        advice = nearest_of(name, causes) if causes else "; add it to failures"
        if name == LEMON and where[0] == "health_checks":
            advice = "; add a section lemons" if not has_lemons else "; only preflight checks look for lemons"
        yield Fault(where, f"expected a cause of failures, found {shown(name)}{advice}")


def _named(tree: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where another section names a cause, and the name."""
    listed = _mapping(tree.get("incidents")).get("causes")
    for name in listed if isinstance(listed, (list, tuple)) else ():
        if isinstance(name, str):
            yield ("incidents", "causes"), name
    cause = _mapping(tree.get("lemons")).get("cause")
    if isinstance(cause, str):
        yield ("lemons", "cause"), cause
    for step in ("preflight", "periodic"):
        chances = _mapping(_mapping(tree.get("health_checks")).get(step)).get("catch_probability")
        for name in _mapping(chances):
            yield ("health_checks", step, "catch_probability", name), name


def _bad_phases(tree: Mapping[str, Any]) -> Iterator[Fault]:
    startup = _mapping(_mapping(tree.get("recovery")).get("startup"))
    checked = _mapping(tree.get("health_checks")).get("preflight") is not None
    for name in startup:
        path = ("recovery", "startup", name)
        if not is_name(name):
            yield Fault(path, f"expected a name of letters, digits, - and _, found {shown(name)}; choose another name")
        elif checked and name == PREFLIGHT:
            message = "expected another name than 'preflight', which the checks take, found it; choose another name"
            yield Fault(path, message)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
