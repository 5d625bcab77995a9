"""Where a target begins or ceases to be met, of a field whose values can be counted: exactly there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mcettr.sweep.dataset import NORMAL_95
from mcettr.sweep.solved_value import SolvedValue
from mcettr.sweep.trials import Trials

_MOST_ROUNDS = 3
Ends = tuple[int, int, int, int]


def whole_crossing(trials: Trials, ends: Ends, rises: bool, grown: Callable[[float], bool]) -> SolvedValue | None:
    """Return the first value that meets the target if the metric rises, else the last one; None where none does.

    Its interval holds the values that simulation leaves: where it rises, from `low` on the upper end of the metric's
    own interval meets the target, from `high` on the lower end does; and the other way round.

    Parameters
    ----------
    trials : Trials
        Runs the points, all on the same draws.
    ends : tuple of int
        Counts of the values between which the target begins or ceases to be met, and the least and greatest of the
        range.
    rises : bool
        Whether the metric rises there.
    grown : callable
        Is given the largest standard error of ettr, sets more timelines if it is too large, and returns whether it did.
    """
    left, right, lowest, highest = ends
    found, vary = None, trials.vary
    for _ in range(_MOST_ROUNDS):
        known: dict[int, tuple[float, float]] = {}
        found = _found(trials, (left, right, lowest, highest), 1 if rises else -1, known)
        error = max(point.ettr_se for point in trials.points[-len(known) :])
        if found is None or not grown(error):
            break
        left = right = found[0]
    if found is None:
        return None
    value, low, high = (vary.at_count(count) for count in found)
    return SolvedValue(value, low, high, vary.unit)


def _found(trials: Trials, ends: Ends, sign: int, known: dict[int, tuple[float, float]]) -> tuple[int, int, int] | None:
    """Return the count of the value, and of the ends of its interval."""
    left, right, lowest, highest = ends if sign > 0 else (-ends[1], -ends[0], -ends[3], -ends[2])

    def meets(number: int, errors: float = 0.0) -> bool:
        """Of counts with their sign changed where the metric falls: it then rises with them."""
        if number not in known:
            look = trials.look(np.array([trials.vary.at_count(sign * number)]))
            known[number] = float(look.metric[0]), float(look.error[0])
        return known[number][0] + errors * known[number][1] >= trials.target.goal

    start = (left + right + 1) // 2
    value = smallest(meets, start, lowest, highest)
    if value is None:
        return None
    first = smallest(lambda number: meets(number, NORMAL_95), value, lowest, highest)
    last = smallest(lambda number: meets(number, -NORMAL_95), value, lowest, highest)
    near, far = value if first is None else first, highest if last is None else last
    low, high = sorted((sign * near, sign * far))
    return sign * value, low, high


def smallest(meets: Callable[[int], bool], start: int, low: int, high: int) -> int | None:
    """Return the smallest whole number from `low` to `high` for which `meets` is true, None where it never is.

    `meets` is false up to somewhere and true from there on. The numbers tried move away from `start` in steps that
    double until it is true on one side and false on the other (`high` is tried before); then the bracket is halved.

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
