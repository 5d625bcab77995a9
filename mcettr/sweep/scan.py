"""A coarse look over the whole range of a field: between which values, by simulation, a target begins to be met.

Some twenty values get a few timelines each, on the same draws, and each timeline is stopped after 2,000 failures, so
that the whole range takes about as long as one point near the answer. Values whose timelines were stopped show nothing:
from the scenario's own values outwards they are run again, longer, only where the answer may lie among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mcettr.model.events import toggles_per_s
from mcettr.sweep.look import Look
from mcettr.sweep.trials import LOOK_ATTEMPTS, Trials

Array = NDArray[np.float64]
_POINTS = 17
_FIRST_ATTEMPTS = 2_000
_AT_ONCE = 3
"""Values run again at once, from those known outwards."""
_NEAREST = 5
"""Values run without a cap of our own where the scenario's own value needs it."""
_LONGEST, _MOST_TOGGLES = 20.0, 20_000.0
"""Values are left out where incidents begin and end more often than this in so many times the work."""
GoesOn = Callable[[Look, int], bool]
CLEAR = 3.0
"""Standard errors from the goal at which it is clear on which side a point is."""


@dataclass(frozen=True)
class Turn:
    """Two points with the goal between them, by number, and whether the metric rises there."""

    left: int
    right: int
    rises: bool


@dataclass(frozen=True)
class Scan:
    """What a coarse look saw: the points run to the end, and how far these reach.

    Parameters
    ----------
    look : Look
        In order.
    cut : tuple of bool
        Whether values of the range below, and above, take too long to simulate.
    """

    look: Look
    cut: tuple[bool, bool]


def scanned(trials: Trials, hints: Array, goes_on: GoesOn) -> Scan:
    """Return a coarse look over the range of the field, and set how far a search may go on.

    Parameters
    ----------
    trials : Trials
        Runs the points.
    hints : ndarray
        Values that closed forms find interesting: they are looked at too.
    goes_on : callable
        Whether the answer may lie beyond the known points, on one side (-1, 1).
    """
    vary = trials.vary
    spread = vary.spread(_POINTS)
    own = vary.allowed(np.array([] if vary.own is None else [vary.own]))
    values = np.unique(np.concatenate([spread, own, hints]))
    quick = values[_quick(trials, values)]
    if not quick.size:
        quick = values
    look = trials.far_look(quick, _FIRST_ATTEMPTS)
    if not look.usable.any():
        look = _at_any_cost(trials, quick)
    for side in (-1, 1):
        look = _deeper(trials, look, quick, side, goes_on)
    found = look.some(look.usable) if look.usable.any() else look
    return Scan(found, (bool(found.values[0] > values[0]), bool(found.values[-1] < values[-1])))


def _quick(trials: Trials, values: Array) -> NDArray[np.bool_]:
    """Return at which values incidents do not begin and end too often: each takes a step, and no cap knows them."""
    params = trials.vary.grid(trials.scenario, values).params
    longest_s = np.minimum(_LONGEST * np.asarray(params.work_s), params.horizon_s)
    steps = np.nan_to_num(toggles_per_s(params) * longest_s, posinf=np.inf)
    return np.asarray(np.broadcast_to(steps <= _MOST_TOGGLES, values.shape))


def _at_any_cost(trials: Trials, values: Array) -> Look:
    """Return the points nearest to the scenario's own, for which the job itself has many failures."""
    vary = trials.vary
    middle = vary.logs(np.array([vary.own]))[0] if vary.own is not None else float(vary.logs(values).mean())
    nearest = np.sort(values[np.argsort(np.abs(vary.logs(values) - middle), kind="stable")[:_NEAREST]])
    look = trials.far_look(nearest, LOOK_ATTEMPTS)
    if not look.usable.any():
        trials.attempts = None
        look = trials.far_look(nearest, None)
    return look


def _deeper(trials: Trials, look: Look, values: Array, side: int, goes_on: GoesOn) -> Look:
    """Return the look with points beyond those known on one side (-1, 1), as long as the answer may lie there."""
    while look.usable.any():
        known = look.some(look.usable)
        end = known.values[0 if side < 0 else -1]
        beyond = values[values < end][::-1] if side < 0 else values[values > end]
        if not beyond.size or not goes_on(known, side):
            break
        more = trials.far_look(np.sort(beyond[:_AT_ONCE]), trials.attempts)
        look = look.joined(more)
        if not more.usable[-1 if side < 0 else 0]:
            break
    return look


def turns(look: Look, goal: float, with_doubtful: bool = False) -> list[Turn]:
    """Return where the goal lies between neighbouring points of which it is clear on which side they are.

    Points within their error of the goal count at the ends of the look, where no clear one lies beyond, the farthest
    of them; with `with_doubtful` also between clear points on one side, and it is the farthest on the other side.
    """
    sides = look.sides(goal, CLEAR)
    clear = [int(i) for i in np.flatnonzero(sides)]
    signs = np.where(look.metric >= goal, 1, -1)
    first, last = (clear[0], clear[-1]) if clear else (look.values.size, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.nan_to_num(np.abs(look.metric - goal) / look.error)
    runs: list[Sequence[int]] = [range(first), range(max(last + 1, first), look.values.size)]
    if with_doubtful and clear:
        runs += [range(i + 1, j) for i, j in pairwise(clear) if signs[i] == signs[j]]
        beside = [first, last, *(i for i, j in pairwise(clear) if signs[i] == signs[j])]
        runs = [[i for i in run if signs[i] != signs[near]] for run, near in zip(runs, beside, strict=True)]
    marked = sorted({*clear, *(max(run, key=lambda i: float(away[i])) for run in runs if run)})
    if not clear and look.values.size > 1:
        marked = sorted({0, look.values.size - 1, int(np.argmax(look.metric)), int(np.argmin(look.metric))})
    return [Turn(i, j, bool(signs[j] > 0)) for i, j in pairwise(marked) if signs[i] != signs[j]]


def unclear(look: Look, goal: float) -> NDArray[np.intp]:
    """Return the points within their error of the goal that do not lie between clear ones on either side of it."""
    sides = look.sides(goal, CLEAR)
    found = []
    for i in np.flatnonzero(sides == 0):
        before, after = sides[:i][sides[:i] != 0], sides[i:][sides[i:] != 0]
        if not (before.size and after.size and before[-1] != after[0]):
            found.append(i)
    return np.array(found, np.intp)
