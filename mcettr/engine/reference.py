"""The reference engine: one timeline, step by step and save by save, in the order in which things happen.

It is the specification that the fast engine is held to: slow, in float64, and short enough to read. An attempt is
written down as if nothing could stop it, as a sequence of spans of wall-clock time; walking along the spans until the
failure or the horizon comes gives what happened. It takes the same draws as the fast engine, so both see the same
failures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcettr.engine.cells import map_params, tabulated
from mcettr.engine.draws import Draws, Hazards
from mcettr.engine.rates import rate_factors
from mcettr.kernels import streams
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.params import Params

_CLOSE = 1e-9
"""Share of the work that is rounding."""

_START = 0
"""Row of the first submission in the tables of lost time; then come the causes, the saves and the horizon."""


@dataclass(frozen=True)
class Timeline:
    """What happened in one life of the job.

    Parameters
    ----------
    outcome : Outcome
        How it ended.
    elapsed_s : float
        Wall-clock length.
    productive_s : float
        Work that was durable at the end.
    lost_s : ndarray, shape (causes + 3, activities)
        All other time, by what is to blame (start, each cause, checkpoint, horizon) and by activity.
    interruptions : tuple of int
        Failures of each cause.
    n_saves : int
        Saves that became durable.
    """

    outcome: Outcome
    elapsed_s: float
    productive_s: float
    lost_s: NDArray[np.float64]
    interruptions: tuple[int, ...]
    n_saves: int

    @property
    def activity_s(self) -> dict[str, float]:
        """Return the seconds of each activity."""
        seconds = dict(zip(ACTIVITIES, self.lost_s.sum(axis=0).tolist(), strict=True))
        return seconds | {"productive": self.productive_s}


@dataclass(frozen=True)
class Timelines:
    """The fields of `Timeline` for n of them, as arrays whose first dimension is the timeline."""

    outcome: NDArray[np.int8]
    elapsed_s: NDArray[np.float64]
    productive_s: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    interruptions: NDArray[np.int64]
    n_saves: NDArray[np.int64]


def simulate_timelines(
    params: Params,
    seed: int,
    first_timeline: int,
    n: int,
    *,
    factors: NDArray[np.float64] | None = None,
    max_failures: int = streams.MAX_COUNT,
) -> Timelines:
    """Return `n` timelines from number `first_timeline` on.

    Parameters
    ----------
    params : Params
        One job; its numbers are floats or arrays of one element, its laws may be passed through `tabulate` or not.
    seed : int
        From 0 to 2^64 - 1.
    first_timeline, n : int
        Which timelines.
    factors : ndarray, shape (n, causes), optional
        What multiplies the causes' rates in each timeline; by default drawn as the causes' `rate_shape` says.
    max_failures : int
        A timeline is stopped at this failure.

    Examples
    --------
    >>> from mcettr.model.params import Cause, Checkpoint
    >>> job = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0), (Cause("node", 1e-4),))
    >>> simulate_timelines(job, seed=0, first_timeline=0, n=3).n_saves
    array([100, 100, 100])
    """
    if factors is None:
        factors = rate_factors(params, seed, first_timeline, n)
    job = _ready(params)
    lives = [_simulate(job, seed, first_timeline + index, factors[index].tolist(), max_failures) for index in range(n)]
    return Timelines(
        outcome=np.array([life.outcome for life in lives], np.int8),
        elapsed_s=np.array([life.elapsed_s for life in lives], np.float64),
        productive_s=np.array([life.productive_s for life in lives], np.float64),
        lost_s=np.array([life.lost_s for life in lives], np.float64).reshape(n, len(job.causes) + 3, len(ACTIVITIES)),
        interruptions=np.array([life.interruptions for life in lives], np.int64).reshape(n, len(job.causes)),
        n_saves=np.array([life.n_saves for life in lives], np.int64),
    )


def simulate_timeline(params: Params, seed: int, timeline: int, *, max_failures: int = streams.MAX_COUNT) -> Timeline:
    """Return timeline number `timeline`; parameters as in `simulate_timelines`.

    >>> from mcettr.model.params import Cause, Checkpoint
    >>> job = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0), (Cause("node", 1e-4),))
    >>> life = simulate_timeline(job, seed=0, timeline=0)
    >>> life.outcome.name, life.n_saves, round(life.activity_s["productive"], 6)
    ('DONE', 100, 100000.0)
    """
    factors = rate_factors(params, seed, timeline, 1)[0].tolist()
    return _simulate(_ready(params), seed, timeline, factors, max_failures)


class _Span(NamedTuple):
    """A piece of wall-clock time that belongs to one activity."""

    length_s: float
    activity: str = ""
    row: int = 0
    at_risk: bool = True
    speed: float = 0.0
    """Share of full speed at which the job computes meanwhile; what is missing is then lost to the save under way."""


class _Life:
    """The state of the job between two spans, and what is on its account so far."""

    def __init__(self, n_causes: int) -> None:
        self.now_s = 0.0
        self.work_s = 0.0  # computed so far
        self.saved_s = 0.0  # of that, held by the newest durable save
        self.n_saves = 0
        self.interruptions = [0] * n_causes
        self.checkpoint_row, self.horizon_row = n_causes + 1, n_causes + 2
        self.lost_s = [dict.fromkeys(ACTIVITIES, 0.0) for _ in range(n_causes + 3)]

    def walk(self, span: _Span, passed_s: float) -> None:
        """Let `passed_s` seconds of a span pass."""
        self.now_s += passed_s
        if span.activity:
            self.lost_s[span.row][span.activity] += passed_s
        else:
            self.work_s += span.speed * passed_s
            self.lost_s[self.checkpoint_row]["checkpoint"] += (1.0 - span.speed) * passed_s

    def roll_back(self, row: int) -> None:
        """Lose what is not durable."""
        self.lost_s[row]["rework"] += self.work_s - self.saved_s
        self.work_s = self.saved_s

    def end(self, outcome: Outcome) -> Timeline:
        """Return the account."""
        lost_s = np.array([list(row.values()) for row in self.lost_s])
        return Timeline(outcome, self.now_s, self.saved_s, lost_s, tuple(self.interruptions), self.n_saves)


def _simulate(job: Params, seed: int, timeline: int, factors: list[float], max_failures: int) -> Timeline:
    draws = Draws(seed, timeline)
    life = _Life(len(job.causes))
    hazards = Hazards(job, draws, factors)
    n_failures, row = 0, _START
    while n_failures < max_failures:
        at_risk_s, cause = hazards.next_failure()
        left_s, room_s = at_risk_s, job.horizon_s - life.now_s
        for span in _attempt(job, draws, life, n_failures, row):
            until_failure_s = left_s if span.at_risk else math.inf
            passed_s = min(span.length_s, until_failure_s, room_s)
            life.walk(span, passed_s)
            if passed_s < span.length_s:
                break
            left_s -= passed_s if span.at_risk else 0.0
            room_s -= passed_s
        else:
            return life.end(Outcome.DONE)
        if room_s <= until_failure_s:
            life.now_s = job.horizon_s
            life.roll_back(life.horizon_row)
            return life.end(Outcome.HORIZON)
        hazards.fail(at_risk_s, cause)
        n_failures, row = n_failures + 1, cause + 1
        life.interruptions[cause] += 1
        life.roll_back(row)
    return life.end(Outcome.CAPPED)


def _attempt(job: Params, draws: Draws, life: _Life, count: int, row: int) -> Iterator[_Span]:
    """Yield the spans of attempt `count`, which follows a failure of cause row `row` (0: the first submission)."""
    recovery = job.recovery

    def phase(activity: str, law: Any, purpose: int, at_risk: bool) -> _Span:
        return _Span(draws.duration(law, purpose, count), activity, row, at_risk)

    if row != _START:
        cause = job.causes[row - 1]
        yield phase("detection", cause.detection, streams.DETECTION, at_risk=False)
        yield phase("diagnosis", cause.diagnosis, streams.DIAGNOSIS, at_risk=False)
    yield phase("queue", recovery.queue_wait, streams.QUEUE, at_risk=False)
    for index, (_, law) in enumerate(recovery.startup):
        yield phase("startup", law, streams.startup_purpose(index), at_risk=True)
    if life.n_saves > 0 or job.resumes:
        yield phase("restore", recovery.restore, streams.RESTORE, at_risk=True)
    yield from _training(job, life)


def _training(job: Params, life: _Life) -> Iterator[_Span]:
    """Yield the spans from a rollback to the end of the work, computing and saving in turn."""
    plan = job.checkpoint
    while life.saved_s < job.work_s:
        # The next save is due one interval after the last one began; one that had to wait for it begins at once.
        due_s = life.saved_s + plan.interval_s
        if due_s >= job.work_s * (1.0 - _CLOSE):
            due_s = job.work_s
        yield _Span(max(due_s - life.work_s, 0.0), speed=1.0)
        life.work_s = max(due_s, life.work_s)
        captured_s = life.work_s
        yield _Span(plan.stall_s, "checkpoint", life.checkpoint_row)
        yield from _background(job, life)
        life.saved_s = captured_s
        life.n_saves += 1


def _background(job: Params, life: _Life) -> Iterator[_Span]:
    """Yield the spans of a write after its stall: slowed computing, then waiting if the work ends first."""
    plan = job.checkpoint
    background_s, speed = plan.write_time_s - plan.stall_s, 1.0 - plan.slowdown
    left_s = job.work_s - life.work_s
    ends = left_s <= background_s * speed + _CLOSE * job.work_s if math.isfinite(job.work_s) else False
    computing_s = background_s
    if ends:
        computing_s = min(left_s / speed, background_s) if speed > 0 else 0.0
    yield _Span(computing_s, speed=speed)
    if ends and speed > 0:
        life.work_s = job.work_s
    yield _Span(background_s - computing_s, "checkpoint", life.checkpoint_row)


def _ready(params: Params) -> Params:
    """Return the job with plain floats, and laws that can be sampled."""
    return map_params(tabulated(params), lambda leaf: float(np.asarray(leaf).item()), np.ravel)
