"""The smallest whole number that meets a target, of a field of which more is always better."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mcettr.sweep.dataset import NORMAL_95
from mcettr.sweep.trials import Trials

MOST_ROUNDS = 3


@dataclass(frozen=True)
class Least:
    """The smallest number that meets the target, and the 95 % interval that simulation leaves it.

    From `low` on the upper end of the metric's own interval meets the target, from `high` on the lower end does.
    """

    value: int
    low: int
    high: int


def least_whole(trials: Trials, wanted: float, most_timelines: int) -> Least | None:
    """Return the smallest number in the range that meets the target, None where none does.

    The numbers tried move away from the scenario's own in steps that double until the target is met on one side and
    missed on the other (the largest number is tried before); then the bracket is halved.

    Parameters
    ----------
    trials : Trials
        Runs the points, all on the same draws.
    wanted : float
        Standard error of ettr to reach.
    most_timelines : int
        Timelines of a point at most.
    """
    start = trials.vary.start
    for _ in range(MOST_ROUNDS):
        found = _least(trials, start)
        error, n = max(point.ettr_se for point in trials.points), trials.effort.timelines or 1
        if found is None or not error > wanted or n >= most_timelines:
            break
        enough = min(most_timelines, math.ceil(1.1 * n * (error / wanted) ** 2))
        trials.effort = replace(trials.effort, timelines=enough)
        trials.points.clear()
        start = found.value
    return found


def _least(trials: Trials, start: int) -> Least | None:
    known: dict[int, tuple[float, float]] = {}
    low, high, goal = int(trials.vary.low), int(trials.vary.high), trials.target.goal

    def meets(number: int, errors: float) -> bool:
        if number not in known:
            metric, error = trials.at(np.array([float(number)]), trials.effort)
            known[number] = float(metric[0]), float(error[0])
        return known[number][0] + errors * known[number][1] >= goal

    value = smallest(lambda number: meets(number, 0.0), start, low, high)
    if value is None:
        return None
    first = smallest(lambda number: meets(number, NORMAL_95), value, low, high)
    last = smallest(lambda number: meets(number, -NORMAL_95), value, low, high)
    return Least(value, value if first is None else first, high if last is None else last)


def smallest(meets: Callable[[int], bool], start: int, low: int, high: int) -> int | None:
    """Return the smallest whole number from `low` to `high` for which `meets` is true, None where it never is.

    `meets` is false up to somewhere and true from there on.

    >>> smallest(lambda number: number >= 13, start=4, low=0, high=64)
    13
    """
    step = 1
    if meets(start):
        met, missed = start, low - 1
        while met > low:
            number = max(start - step, low)
            if not meets(number):
                missed = number
                break
            met, step = number, 2 * step
    else:
        if start >= high or not meets(high):
            return None
        met, missed = high, start
        while start + step < met:
            if meets(start + step):
                met = start + step
            else:
                missed, step = start + step, 2 * step
    while met - missed > 1:
        middle = (met + missed) // 2
        met, missed = (middle, missed) if meets(middle) else (met, middle)
    return met
