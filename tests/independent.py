"""A second simulator of the job, for tests only: SimPy processes that step node by node and save by save.

It follows the written model and shares no code with the engines, their random numbers or their sampling of
durations; clarity comes before speed (a few thousand events a timeline, so small jobs only).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import simpy
from numpy.typing import NDArray

from mcettr.model.distributions import Distribution
from mcettr.model.params import Params

ACTIVITIES = (
    "productive",
    "rework",
    "checkpoint",
    "degraded",
    "detection",
    "diagnosis",
    "queue",
    "startup",
    "restore",
)
GROUP = 16
"""Timelines that share one draw of uncertain rates."""

Steps = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Timelines:
    """What happened in each timeline.

    Parameters
    ----------
    elapsed_s : ndarray, shape (timeline,)
        Wall-clock length.
    finished : ndarray of bool, shape (timeline,)
        Whether all work was durable before the horizon.
    finish_s : ndarray, shape (timeline,)
        When it was; inf where it never was.
    activity_s : dict of str to ndarray, shape (timeline,)
        Seconds of each of `ACTIVITIES`; they sum to `elapsed_s`.
    interruptions : ndarray of int, shape (timeline, cause)
        Failures of each cause of the parameters, in their order.
    saves : ndarray of int, shape (timeline,)
        Saves that became durable, the last one included.
    labels : tuple of str
        The causes of the parameters, then ``start``, ``checkpoint``, ``horizon``.
    by_cause_s : ndarray, shape (timeline, label, activity)
        The seconds of `activity_s` except the productive ones, by what they are blamed on.
    """

    elapsed_s: NDArray[np.float64]
    finished: NDArray[np.bool_]
    finish_s: NDArray[np.float64]
    activity_s: dict[str, NDArray[np.float64]]
    interruptions: NDArray[np.int64]
    saves: NDArray[np.int64]
    labels: tuple[str, ...]
    by_cause_s: NDArray[np.float64]


def simulate(params: Params, n_timelines: int, seed: int, n_nodes: int = 4) -> Timelines:
    """Return `n_timelines` lives of the job of `params`, whose rates are split evenly over `n_nodes` nodes.

    Parameters
    ----------
    params : Params
        One job (scalars only).
    n_timelines : int
        How many lives.
    seed : int
        Seed of NumPy's own generator; not comparable with an engine's.
    n_nodes : int
        Nodes, each with a clock of its own for every cause that has a rate.

    Examples
    --------
    >>> from mcettr.model.params import Checkpoint
    >>> lives = simulate(Params(8, 100.0, 1e9, Checkpoint(40.0, 1.0, 1.0)), n_timelines=1, seed=0)
    >>> float(lives.elapsed_s[0]), int(lives.saves[0])
    (103.0, 3)
    """
    lives = [_live(params, timeline, seed, n_nodes) for timeline in range(n_timelines)]
    by_cause = np.array([life.booked_s for life in lives])
    seconds = dict(zip(ACTIVITIES, by_cause.sum(axis=1).T, strict=True))
    seconds["productive"] = np.array([life.saved_s for life in lives])
    elapsed = np.array([life.env.now for life in lives], dtype=np.float64)
    finished = np.array([life.finished for life in lives])
    return Timelines(
        elapsed_s=elapsed,
        finished=finished,
        finish_s=np.where(finished, elapsed, np.inf),
        activity_s=seconds,
        interruptions=np.array([life.interruptions for life in lives], dtype=np.int64),
        saves=np.array([life.saves for life in lives]),
        labels=(*(cause.name for cause in params.causes), "start", "checkpoint", "horizon"),
        by_cause_s=by_cause,
    )


def draw_duration(law: Distribution, rng: np.random.Generator) -> float:
    """Return one duration in seconds, by NumPy's generators rather than by an inverse distribution function.

    >>> draw_duration(Distribution("fixed", (5.0,)), np.random.default_rng(0))
    5.0
    """
    values = [float(value) for value in law.values]
    match law.kind, values:
        case "fixed", [value]:
            return value
        case "exponential", [mean]:
            return rng.exponential(mean)
        case "lognormal", [median, sigma]:
            return rng.lognormal(math.log(median), sigma)
        case "gamma", [mean, cv]:
            return rng.gamma(1 / cv**2, mean * cv**2)
        case "weibull", [scale, shape]:
            return scale * rng.weibull(shape)
        case "uniform", [low, high]:
            return rng.uniform(low, high)
        case "quantiles", _:
            return math.exp(_extended_line(rng.standard_normal(), *np.split(np.array(values), 2)))
        case "mixture", _:
            return draw_duration(law.components[rng.choice(len(values), p=values)], rng)
    raise ValueError(f"the independent simulator knows no {law.kind} law")


def _extended_line(x: float, knots: NDArray[np.float64], heights: NDArray[np.float64]) -> float:
    """Return the broken line through the knots at `x`; its first and last pieces go on beyond them."""
    piece = int(np.searchsorted(knots[1:-1], x))
    share = (x - knots[piece]) / (knots[piece + 1] - knots[piece])
    return float(heights[piece] * (1 - share) + heights[piece + 1] * share)


def _live(params: Params, timeline: int, seed: int, n_nodes: int) -> _Life:
    group_rng = np.random.default_rng([seed, 0, timeline // GROUP])
    factors = [
        1.0 if math.isinf(shape) else group_rng.gamma(shape) / shape
        for shape in (float(cause.rate_shape) for cause in params.causes)
    ]
    life = _Life(params, factors, np.random.default_rng([seed, 1, timeline]), n_nodes)
    life.env.run(until=life.process)
    return life


class _Life:
    """One job, its nodes' clocks and its horizon, as processes of one SimPy environment."""

    def __init__(self, params: Params, factors: list[float], rng: np.random.Generator, n_nodes: int) -> None:
        self.env = simpy.Environment()
        self.params, self.rng = params, rng
        self.work_s = self.saved_s = 0.0  # computed so far; captured by the newest durable save
        self.saves, self.finished = 0, False
        n_causes = len(params.causes)
        self.start, self.checkpoint, self.horizon = range(n_causes, n_causes + 3)
        self.interruptions = [0] * n_causes
        self.booked_s = np.zeros((n_causes + 3, len(ACTIVITIES)))
        self.at_risk = self.env.event()
        self.running: list[simpy.Process] = []
        for index, (cause, factor) in enumerate(zip(params.causes, factors, strict=True)):
            if cause.every is not None:
                self.env.process(self._clock(index, self._drawer(cause.every)))
            elif float(cause.rate_per_s) > 0:
                node_law = Distribution("exponential", (n_nodes / (float(cause.rate_per_s) * factor),))
                for _ in range(n_nodes):
                    self.env.process(self._clock(index, self._drawer(node_law)))
        self.process = self.env.process(self._job())
        self.env.process(self._cut())

    def _drawer(self, law: Distribution) -> Callable[[], float]:
        return lambda: draw_duration(law, self.rng)

    def _clock(self, cause: int, draw: Callable[[], float]) -> Steps:
        """Run down one time to failure while the job is at risk; keep what is left of it across other failures."""
        left_s = draw()
        while True:
            yield self.at_risk
            me, began = self.env.active_process, self.env.now
            assert me is not None
            self.running.append(me)
            try:
                yield self.env.timeout(left_s)
            except simpy.Interrupt:
                left_s = max(0.0, left_s - (self.env.now - began))
                continue
            self.running.remove(me)
            self._stop_clocks()
            self.process.interrupt(cause)
            left_s = draw()

    def _start_clocks(self) -> None:
        self.at_risk.succeed()
        self.at_risk = self.env.event()

    def _stop_clocks(self) -> None:
        for clock in self.running:
            clock.interrupt()
        self.running.clear()

    def _cut(self) -> Steps:
        yield self.env.timeout(float(self.params.horizon_s))
        yield self.env.timeout(0)  # a save that is durable at the very horizon counts
        if self.process.is_alive:
            self._stop_clocks()
            self.process.interrupt(self.horizon)

    def _job(self) -> Steps:
        blame = self.start
        while not self.finished:
            try:
                yield from self._recover(blame)
                yield from self._train()
                self._stop_clocks()
                self.finished = True
            except simpy.Interrupt as stop:
                blame = cast("int", stop.cause)
                self._book(blame, "rework", self.work_s - self.saved_s)
                self.work_s = self.saved_s
                if blame == self.horizon:
                    return
                self.interruptions[blame] += 1

    def _recover(self, blame: int) -> Steps:
        recovery = self.params.recovery
        if blame < self.start:
            yield from self._spend(blame, "detection", self.params.causes[blame].detection)
            yield from self._spend(blame, "diagnosis", self.params.causes[blame].diagnosis)
        yield from self._spend(blame, "queue", recovery.queue_wait)
        self._start_clocks()
        for _, law in recovery.startup:
            yield from self._spend(blame, "startup", law)
        if self.saves or self.params.resumes:
            yield from self._spend(blame, "restore", recovery.restore)

    def _train(self) -> Steps:
        """Compute and save in turn until a save of all the work is durable."""
        total_s, interval_s = float(self.params.work_s), float(self.params.checkpoint.interval_s)
        while True:
            due_s = self.saved_s + interval_s
            if due_s > total_s or math.isclose(due_s, total_s, rel_tol=1e-9):
                due_s = total_s
            # After a stretched interval the save is overdue already, and begins at once.
            yield from self._compute(max(0.0, due_s - self.work_s), speed=1.0)
            if due_s == total_s:
                self.work_s = total_s
            yield from self._save()
            if self.saved_s == total_s:
                return

    def _save(self) -> Steps:
        """Block for the stall, write in the background while the job computes on, and become durable."""
        plan = self.params.checkpoint
        captured_s, total_s = self.work_s, float(self.params.work_s)
        yield from self._spend(self.checkpoint, "checkpoint", Distribution("fixed", (plan.stall_s,)))
        background_s, speed = float(plan.write_time_s) - float(plan.stall_s), 1.0 - float(plan.slowdown)
        left_s = total_s - self.work_s
        ends = left_s <= background_s * speed or math.isclose(left_s, background_s * speed, rel_tol=1e-9)
        computing_s = (left_s / speed if speed else 0.0) if ends else background_s
        yield from self._compute(computing_s, speed)
        if ends:  # nothing is left to compute: wait for the write
            self.work_s = total_s
            waiting = Distribution("fixed", (background_s - computing_s,))
            yield from self._spend(self.checkpoint, "checkpoint", waiting)
        self.saved_s = captured_s
        self.saves += 1

    def _compute(self, seconds: float, speed: float) -> Steps:
        began = self.env.now
        try:
            yield from self._wait(seconds)
        finally:
            spent_s = self.env.now - began
            self.work_s += spent_s * speed
            self._book(self.checkpoint, "checkpoint", spent_s * (1.0 - speed))

    def _spend(self, blame: int, activity: str, law: Distribution) -> Steps:
        began = self.env.now
        try:
            yield from self._wait(draw_duration(law, self.rng))
        finally:
            self._book(blame, activity, self.env.now - began)

    def _wait(self, seconds: float) -> Steps:
        if seconds > 0:
            yield self.env.timeout(seconds)

    def _book(self, blame: int, activity: str, seconds: float) -> None:
        self.booked_s[blame, ACTIVITIES.index(activity)] += seconds
