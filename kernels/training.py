"""What a stretch of training leaves behind, in closed form: saves, rework, checkpoint time, and the time to the end.

Work is counted in checkpoint intervals, so that whole numbers stay exact in float32. All functions take arrays that
broadcast, are dtype-preserving, and serve NumPy and JAX (`xp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

_SNAP = 1e-9
_NEVER_SAVES_S = 1e15
_ENDLESS_S = 1e30


@dataclass(frozen=True)
class Schedule:
    """The save schedule as the loops want it; every entry broadcasts against the lanes.

    `interval_s`, `write_s` and `stall_s` as in `mcettr.model.params.Checkpoint`; `cost_s` is the training time one
    save costs (stall and slowed-down computing), `period_s` the time between the starts of two saves (and its
    reciprocal: a division costs as much as ten multiplications), `step` the work between them in intervals (more than
    1 when a write outlasts the interval), `n_intervals` the work of the job in intervals (1e30 s for an open-ended job:
    finite, so that no 0 x inf arises).
    """

    interval_s: Any
    write_s: Any
    stall_s: Any
    slowdown: Any
    cost_s: Any
    period_s: Any
    periods_per_s: Any
    step: Any
    n_intervals: Any
    blocking: bool


class Stretch(NamedTuple):
    """What a stretch of training ended by a failure or the horizon leaves."""

    n_saves: Any
    """Durable saves."""
    saved: Any
    """Work they hold, in intervals."""
    partial_s: Any
    """Time blocked or slowed down by a save that is not among them; each of them costs `Schedule.cost_s`."""
    rework_s: Any
    """Time spent computing what no durable save holds."""


class Ending(NamedTuple):
    """How the job ends when nothing interrupts it any more."""

    time_s: Any
    n_saves: Any
    partial_s: Any
    """Time blocked beyond `Schedule.cost_s` a save: waiting for the last one or two to become durable."""


def schedule(checkpoint: Any, work_s: Any, xp: Any = np) -> Schedule:
    """Return the save schedule of a `Checkpoint` for `work_s` seconds of work, in the dtype of its numbers.

    An interval beyond the work is the work itself: one save at the end. A work within 1e-9 of a whole number of
    intervals is that number.
    """
    write_s, stall_s, slowdown = checkpoint.write_time_s, checkpoint.stall_s, checkpoint.slowdown
    work_s = xp.minimum(work_s, _ENDLESS_S)
    interval_s = xp.minimum(xp.minimum(checkpoint.interval_s, work_s), _NEVER_SAVES_S)
    n_intervals = work_s / interval_s
    whole = xp.round(n_intervals)
    n_intervals = xp.where(xp.abs(n_intervals - whole) <= _SNAP * whole, whole, n_intervals)
    if checkpoint.blocking:
        one = xp.ones_like(interval_s)
        period_s = interval_s + write_s
        return Schedule(
            interval_s, write_s, stall_s, slowdown, write_s, period_s, 1.0 / period_s, one, n_intervals, blocking=True
        )
    background_s = write_s - stall_s
    cost_s = stall_s + slowdown * background_s
    while_writing_s = (1.0 - slowdown) * background_s
    step = xp.maximum(while_writing_s / interval_s, 1.0)
    period_s = xp.maximum(interval_s + cost_s, write_s)
    return Schedule(
        interval_s, write_s, stall_s, slowdown, cost_s, period_s, 1.0 / period_s, step, n_intervals, blocking=False
    )


def stretch(s: Schedule, time_s: Any, xp: Any = np, moment_s: Any = None) -> Stretch:
    """Return what `time_s` seconds of training (not below 0) leave when they are cut off.

    What ends within `moment_s` of the cut has ended before it: drawn times never meet a save, but the horizon may.
    """
    by_s = time_s if moment_s is None else time_s + moment_s
    if s.blocking:
        n_saves = xp.floor(by_s * s.periods_per_s)
        phase_s = time_s - n_saves * s.period_s
        rework_s = xp.clip(phase_s, 0.0, s.interval_s)
        return Stretch(n_saves, n_saves, xp.maximum(phase_s - s.interval_s, 0.0), rework_s)
    n_earlier = xp.floor(xp.maximum(by_s - s.interval_s, 0.0) * s.periods_per_s)
    phase_s = xp.maximum(xp.maximum(time_s - s.interval_s, 0.0) - n_earlier * s.period_s, 0.0)
    background_s = xp.clip(phase_s - s.stall_s, 0.0, s.write_s - s.stall_s)
    blocked_s = xp.minimum(phase_s, s.stall_s) + s.slowdown * background_s
    computed_s = (1.0 - s.slowdown) * background_s + xp.maximum(phase_s - s.write_s, 0.0)
    begun = by_s >= s.interval_s
    in_flight = (phase_s if moment_s is None else phase_s + moment_s) < s.write_s
    n_saves = xp.where(begun, n_earlier + xp.where(in_flight, 0.0, 1.0), 0.0)
    saved = xp.where(n_saves > 0, 1.0 + (n_saves - 1.0) * s.step, 0.0)
    in_write_s = s.interval_s * xp.where(n_earlier > 0, s.step, 1.0)
    rework_s = xp.where(begun, computed_s + xp.where(in_flight, in_write_s, 0.0), time_s)
    return Stretch(n_saves, saved, xp.where(begun & in_flight, blocked_s, 0.0), rework_s)


def until_the_end(s: Schedule, lost: Stretch, left: Any, xp: Any = np) -> Stretch:
    """Return the stretch of a job with `left` intervals of work to do, which `stretch` does not know of.

    Once the work is computed all time goes to saving it: to waiting for a write in flight and to the last save.
    """
    saving_s = xp.maximum(lost.rework_s - (left - lost.saved) * s.interval_s, 0.0)
    return lost._replace(partial_s=lost.partial_s + saving_s, rework_s=lost.rework_s - saving_s)


def ending(s: Schedule, left: Any, xp: Any = np) -> Ending:
    """Return the training time and saves from a rollback with `left` intervals of work to the end.

    The job is done when its last save, however short its interval, is durable; a write in flight when the work ends is
    waited for first.
    """
    if s.blocking:
        n_saves = xp.ceil(left)
        return Ending(left * s.interval_s + n_saves * s.cost_s, n_saves, xp.zeros_like(left))
    # A last interval within rounding of none is none: the work then ends with a write.
    n_more = xp.ceil(xp.maximum(left - 1.0, 0.0) / s.step * (1.0 - 8.0 * xp.finfo(left.dtype).eps))
    last_s = (left - 1.0 - (n_more - 1.0) * s.step) * s.interval_s
    wait_s = xp.maximum(s.write_s - (last_s + s.cost_s), 0.0)
    several_s = s.interval_s + (n_more - 1.0) * s.period_s + (last_s + s.cost_s + wait_s) + s.write_s
    several = n_more > 0
    time_s = xp.where(several, several_s, left * s.interval_s + s.write_s)
    partial_s = s.write_s - s.cost_s + xp.where(several, wait_s, 0.0)
    return Ending(time_s, n_more + 1.0, partial_s)
