"""How the supply of nodes is read: how many spares, how long repairs take, what happens when none is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from mcettr.model.physics import WhenExhausted
from mcettr.scenario import values
from mcettr.scenario.laws import InnerError, inside, is_law_mapping, parse_law
from mcettr.units import UnitError, parse_fraction, shown

Requeue = Literal["when_needed", "always"]
_REQUEUE: tuple[Requeue, ...] = ("when_needed", "always")
_WHEN_EXHAUSTED: tuple[WhenExhausted, ...] = ("wait", "queue", "shrink")


_FORMS = (
    "write the mean of an exponential time, 'repair: 1 d', or both branches, "
    "'repair: {quick: {share: 0.7, mean: 1 h}, slow: {mean: 2 d}}'"
)


def read_spare_count(value: object) -> float:
    """Return a number of spares; inf for an unlimited supply.

    >>> read_spare_count(12), read_spare_count("unlimited")
    (12.0, inf)
    """
    if value == "unlimited":
        return math.inf
    try:
        return values.read_count(value)
    except UnitError:
        raise UnitError(
            f"expected a whole number of nodes or 'unlimited', found {shown(value)}; write it like 12"
        ) from None


def read_when_exhausted(value: object) -> str:
    """Return what to do when no spare is left."""
    if value not in _WHEN_EXHAUSTED:
        raise UnitError(f"expected one of {', '.join(_WHEN_EXHAUSTED)}, found {shown(value)}; write one of them")
    return str(value)


def read_requeue(value: object) -> str:
    """Return when the scheduler's queue is paid although there are spares."""
    if value not in _REQUEUE:
        raise UnitError(f"expected one of {', '.join(_REQUEUE)}, found {shown(value)}; write one of them")
    return str(value)


@dataclass(frozen=True)
class Repair:
    """How long lost nodes are away: exponential, quick with some chance, else slow."""

    quick_share: float
    quick_mean_s: float
    slow_mean_s: float


def read_repair(value: object) -> Repair:
    """Return the repair of lost nodes, from one mean or from two branches.

    >>> read_repair({"quick": {"share": 0.7, "mean": "1 h"}, "slow": {"mean": "2 d"}})
    Repair(quick_share=0.7, quick_mean_s=3600.0, slow_mean_s=172800.0)
    """
    if isinstance(value, dict) and not is_law_mapping(value):
        return _two_branches(value)
    law = parse_law(value)
    mean_s = law.values[0]
    if law.kind not in ("fixed", "exponential") or mean_s == 0:
        raise UnitError(f"expected a mean above 0 or two branches, found {shown(value)}; {_FORMS}")
    return Repair(0.0, mean_s, mean_s)


def _two_branches(value: dict[str, object]) -> Repair:
    names = {"quick": ("share", "mean"), "slow": ("mean",)}
    numbers: dict[tuple[str, str], float] = {}
    for branch, body in value.items():
        if branch not in names:
            raise InnerError(f"expected quick and slow, found {shown(branch)}; {_FORMS}", (branch,))
        if not isinstance(body, dict) or set(body) != set(names[branch]):
            wanted = "{share: 0.7, mean: 1 h}" if branch == "quick" else "{mean: 2 d}"
            raise InnerError(f"expected {' and '.join(names[branch])}, found {shown(body)}; write {wanted}", (branch,))
        for name, number in body.items():
            read = parse_fraction if name == "share" else values.read_positive_duration_s
            numbers[branch, name] = inside((branch, name), read, number)
    if len(value) < 2:
        raise UnitError(f"expected quick and slow, found {', '.join(value) or 'neither'}; {_FORMS}")
    return Repair(numbers["quick", "share"], numbers["quick", "mean"], numbers["slow", "mean"])
