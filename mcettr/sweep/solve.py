"""The value of a field with which a job meets a target, with the interval that simulation leaves open."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.model import analytic
from mcettr.scenario import Scenario
from mcettr.sweep import provenance
from mcettr.sweep.answer import SolvedValue, SolveResult
from mcettr.sweep.binding import binding_terms
from mcettr.sweep.confidence import at_confidence, check_confidence
from mcettr.sweep.crossing import Crossing, find_crossing
from mcettr.sweep.effort import (
    CHECK_TIMELINES,
    AnyScenario,
    Engine,
    as_scenario,
    check_calls,
    check_deadlines,
    check_effort,
    checked_effort,
)
from mcettr.sweep.notes import Notes, scenario_warnings, tell
from mcettr.sweep.target import Target, read_target
from mcettr.sweep.trials import Point, Trials
from mcettr.sweep.vary import Vary, read_vary
from mcettr.sweep.whole import least_whole

Array = NDArray[np.float64]
_FORESEEN_POINTS = 49
_FEWEST_TIMELINES, _MOST_TIMELINES = 256, 1_048_576
_MOST_EVENTS = 2e7
"""Failures to simulate for a point, unless precision asks for more."""
_MOST_GROWTH_ROUNDS = 2


def solve(
    scenario: AnyScenario,
    *,
    vary: str,
    target: Mapping[str, Any] | str,
    confidence: float | None = None,
    timelines: int | None = None,
    precision: float | None = None,
    seed: int = 0,
    device: str = "auto",
    engine: Engine = "jax",
    progress: Callable[[float], None] | None = None,
    notes: Notes | None = None,
) -> SolveResult:
    """Return the value of a field with which the job meets a target, or why none does.

    All points share their draws; with `interval: auto` each has its own best interval. Of whole numbers of which more
    is always better, such as `recovery.spares.count`, the smallest that meets the target is returned.

    Parameters
    ----------
    scenario : Scenario, str, path or mapping
        The job.
    vary : str
        ``PATH``, or ``PATH=LOW:HIGH`` to look in that range only.
    target : mapping or str
        ``{"ettr": 0.9}`` or ``"ettr=0.9"``; ``{"completion@45d": 0.95}`` for a probability to be done by a date.
    confidence : float, optional
        With uncertain rates: meet the target with this probability over the rates, instead of in the mean over them
        (`mcettr.sweep.confidence` says how, and what is approximate where several rates are uncertain).
    timelines, precision : int, float, optional
        Timelines of each point, or the standard error of ettr to reach (0.001 when neither is given; it usually is
        far smaller).
    seed, device, engine, progress, notes
        As in `mcettr.simulate`.

    >>> job = {"job": {"gpus": 12288, "work": "10 d"}, "failures": {"node": {"rate": "6.5 / 1000 node-days"}},
    ...        "checkpoint": {"interval": "auto", "write_time": "5 min"}, "recovery": {"startup": "5 min"}}
    >>> found = solve(job, vary="checkpoint.write_time", target={"ettr": 0.9}, timelines=256)
    >>> found.value.unit, 15 < found.value.estimate < 30
    ('s', True)

    Raises
    ------
    ScenarioError
        The scenario, the field, its range or the target is wrong.
    """
    check_calls(progress, notes)
    check_effort(timelines, precision, seed, engine, device)
    began = time.monotonic()
    job, aim = as_scenario(scenario), read_target(target)
    field = read_vary(job, vary)
    curve, events = _foreseen(job, field, aim, confidence)
    wanted = math.inf if timelines is not None else precision or 1e-3
    n = timelines or max(_FEWEST_TIMELINES, int(min(_MOST_EVENTS / events, aim.timelines)))
    trials = Trials(job, field, aim, checked_effort(n, None, seed, device, engine), confidence, progress)
    tell(scenario_warnings(job), notes)
    result = _least(trials, wanted) if field.rising else _searched(trials, curve, wanted)
    if progress is not None:
        progress(1.0)
    more = {"command": "solve", "vary": vary, "target": aim.text, "confidence": confidence}
    origin = provenance.entries(job, trials.effort, time.monotonic() - began, more)
    return replace(result, unit=field.unit, provenance=origin)


def _foreseen(job: Scenario, field: Vary, aim: Target, confidence: float | None) -> tuple[tuple[Array, Array], float]:
    """Return (logs over the whole range, the metric that closed forms foresee there), and failures near the goal."""
    start = np.array([float(field.start)])
    values = start if field.rising else field.allowed(np.geomspace(field.low, field.high, _FORESEEN_POINTS))
    grid = field.grid(job, values)
    check_deadlines(grid, aim.deadlines)
    check_confidence(confidence, grid.params)
    params = grid.params if confidence is None else at_confidence(grid.params, confidence)
    metric = np.broadcast_to(aim.foreseen(params), values.shape)
    events = np.broadcast_to(analytic.expected_events(params), values.shape)
    return (np.log(np.maximum(values, 1.0) if field.rising else values), metric), max(
        float(events[np.argmin(np.abs(metric - aim.goal))]), 1.0
    )


def _least(trials: Trials, wanted: float) -> SolveResult:
    """Return the answer for a field of which more is always better."""
    found = least_whole(trials, wanted, _MOST_TIMELINES)
    if found is None:
        return _one_sided(trials, trials.vary.high, met=False)
    vary = trials.vary
    value = SolvedValue(float(found.value), float(found.low), float(found.high), vary.unit)
    reason = f"{_aim(trials)} is met with {vary.path} {_from(vary, vary.text(value.estimate))}"
    return _result(trials, value, (value,), True, reason, trials.alone(value.estimate, CHECK_TIMELINES))


def _aim(trials: Trials) -> str:
    """Return the target for people."""
    sure = "" if trials.confidence is None else f" with probability {trials.confidence:g} over the rates"
    return f"{trials.target.text}{sure}"


def _searched(trials: Trials, curve: tuple[Array, Array], wanted: float) -> SolveResult:
    logs, metric = curve
    goal = trials.target.goal
    above = metric >= goal
    turns = np.flatnonzero(above[1:] != above[:-1])
    starts = [_start(logs, metric, int(i), goal) for i in turns]
    if len(starts) > 2:
        starts = [starts[0], starts[-1]]
    if not starts:
        end = int(np.argmin(metric) if above.all() else np.argmax(metric))
        value = trials.vary.allowed(np.exp(logs[end : end + 1]))
        level, error = trials.at(value, trials.effort)
        as_foreseen = (level[0] >= goal) == above.all()
        if as_foreseen and abs(level[0] - goal) > 4.0 * error[0]:
            return _one_sided(trials, float(value[0]), bool(above.all()))
        starts = [(float(logs[end]), _end_slope(logs, metric, end))]
    found = [crossing for start in starts if (crossing := _crossing(trials, start, logs, wanted)) is not None]
    if not found:
        best = max(trials.points, key=lambda point: _level(point, trials.target))
        least = min(trials.points, key=lambda point: _level(point, trials.target))
        met = _level(least, trials.target) >= trials.target.level
        return _one_sided(trials, (least if met else best).value, met)
    return _solved(trials, sorted(found, key=lambda crossing: crossing.root))


def _level(point: Point, target: Target) -> float:
    return point.ettr if point.completion is None or not target.deadlines.labels else point.completion[0]


def _start(logs: Array, metric: Array, i: int, goal: float) -> tuple[float, float]:
    slope = float((metric[i + 1] - metric[i]) / (logs[i + 1] - logs[i]))
    return float(logs[i] + (goal - metric[i]) / slope), slope


def _end_slope(logs: Array, metric: Array, end: int) -> float:
    near = end + 1 if end + 1 < logs.size else end - 1
    return float((metric[near] - metric[end]) / (logs[near] - logs[end])) if logs.size > 1 else 0.0


def _crossing(trials: Trials, start: tuple[float, float], logs: Array, wanted: float) -> Crossing | None:
    """Return the crossing near a start, on as many timelines as the standard error of ettr calls for."""
    aim, bounds = trials.target, (float(logs[0]), float(logs[-1]))
    found: Crossing | None = None
    for _ in range(1 + _MOST_GROWTH_ROUNDS):
        found = find_crossing(trials.at_logs, *start, bounds, aim.goal, aim.span)
        error, n = trials.points[-1].ettr_se, trials.effort.timelines or 1
        if found is None or not error > wanted or n >= _MOST_TIMELINES:
            break
        enough = min(_MOST_TIMELINES, math.ceil(1.1 * n * (error / wanted) ** 2))
        trials.effort = replace(trials.effort, timelines=enough)
        start = (found.root, found.slope)
    return found


def _solved(trials: Trials, found: list[Crossing]) -> SolveResult:
    values = tuple(_value(trials.vary, crossing) for crossing in found)
    value = values[-1]
    achieved = trials.alone(value.estimate, CHECK_TIMELINES)
    return _result(trials, value, values, True, _where_met(trials, found, values), achieved)


def _value(vary: Vary, crossing: Crossing) -> SolvedValue:
    root, low, high = (float(np.exp(x)) for x in (crossing.root, crossing.low, crossing.high))
    low, high = max(low, vary.low), min(high, vary.high)
    if vary.step:
        step, whole = vary.step, math.floor if crossing.slope < 0 else math.ceil
        root = float(np.clip(whole(root / step) * step, vary.low, vary.high))
        low, high = min(math.floor(low / step) * step, root), max(math.ceil(high / step) * step, root)
    return SolvedValue(root, low, high, vary.unit)


def _where_met(trials: Trials, found: list[Crossing], values: tuple[SolvedValue, ...]) -> str:
    texts, vary = [trials.vary.text(value.estimate) for value in values], trials.vary
    if len(values) == 2:
        inside = found[0].slope > 0
        where = f"from {texts[0]} to {texts[1]}" if inside else f"{_up_to(vary, texts[0])} and {_from(vary, texts[1])}"
    else:
        where = _up_to(vary, texts[0]) if found[0].slope < 0 else _from(vary, texts[0])
    return f"{_aim(trials)} is met with {vary.path} {where}"


def _up_to(vary: Vary, text: str) -> str:
    return f"up to {text} (searched from {vary.text(vary.low)})"


def _from(vary: Vary, text: str) -> str:
    return f"from {text} (searched up to {vary.text(vary.high)})"


def _one_sided(trials: Trials, value: float, met: bool) -> SolveResult:
    """Return the answer where the whole range meets the target, or none of it does; `value` is its worst or best."""
    vary, aim = trials.vary, trials.target
    achieved = trials.alone(value, CHECK_TIMELINES)
    level = f"{_level(achieved, aim):.4g} at {vary.text(value)}"
    decided = (_level(achieved, aim) >= aim.level) == met
    close = "" if decided else ", within its error of the target (more timelines decide)"
    span = f"{vary.path} from {vary.text(vary.low)} to {vary.text(vary.high)}"
    if met:
        return _result(
            trials, None, (), True, f"{_aim(trials)} is met with every {span}: {level} at worst{close}", achieved
        )
    params = vary.grid(trials.scenario, [value]).params
    if trials.confidence is not None:
        params = at_confidence(params, trials.confidence)
    reason = f"{_aim(trials)} is met with no {span}: {level} at best{close}; {binding_terms(params, aim)}"
    return _result(trials, None, (), False, reason, achieved)


def _result(
    trials: Trials,
    value: SolvedValue | None,
    crossings: tuple[SolvedValue, ...],
    feasible: bool,
    reason: str,
    achieved: Point,
) -> SolveResult:
    aim, path = trials.target, trials.vary.path
    found = (value, crossings, feasible, reason, achieved, trials.table())
    return SolveResult(*found, path, aim.text, aim.level, trials.confidence)
