"""The value of a field with which a job meets a target, with the interval that simulation leaves open."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.scenario import Scenario
from mcettr.sweep import interval, provenance
from mcettr.sweep.answer import SolveResult
from mcettr.sweep.binding import binding_terms
from mcettr.sweep.confidence import at_confidence, check_confidence
from mcettr.sweep.crossing import Crossing, find_crossing
from mcettr.sweep.effort import (
    CHECK_TIMELINES,
    AnyScenario,
    Engine,
    as_scenario,
    check_calls,
    check_effort,
    checked_effort,
    for_deadlines,
)
from mcettr.sweep.look import Look, Point
from mcettr.sweep.notes import Notes, scenario_warnings, tell
from mcettr.sweep.scan import CLEAR, Turn, scanned, turns, unclear
from mcettr.sweep.solved_value import SolvedValue
from mcettr.sweep.target import Target, read_target
from mcettr.sweep.trials import FEWEST_GROUPED, FEWEST_TIMELINES, MOST_TIMELINES, Trials
from mcettr.sweep.vary import Vary, read_vary
from mcettr.sweep.whole import whole_crossing
from mcettr.sweep.wording import (
    LESS_WORK,
    aim_text,
    cut_text,
    is_near,
    level_of,
    reach_text,
    span_text,
    where_met,
    work_at,
)

Array = NDArray[np.float64]
_FORESEEN_POINTS = 33
_POINTS_A_LOOK = 5
_MOST_GROWTH_ROUNDS = 2
_ROUGHLY, _ROUGH_TIMELINES = 16, 64
"""A crossing is looked for on a 16th of the timelines first, where these are so many."""
_ZOOMS, _HARDLY, _SETTLING = 2, 0.75, 4
"""Looks around the best point of a range in which no point meets the target, or all do: as long as they come
markedly nearer to it."""


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

    All points share their draws; with `interval: auto` each has its own best interval. A coarse look over the whole
    range shows where the target begins and ceases to be met; what is said of a range rests on simulated points.

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
    hints, grouped = _foreseen(job, field, aim, confidence)
    effort = checked_effort(timelines or aim.timelines, None, seed, device, engine)
    fewest = min(FEWEST_GROUPED if grouped else FEWEST_TIMELINES, effort.timelines or FEWEST_TIMELINES)
    trials = Trials(job, field, aim, effort, confidence, progress, fewest=fewest)
    tell(scenario_warnings(job), notes)
    wanted = math.inf if timelines is not None else precision or 1e-3
    result = _searched(trials, hints, wanted, timelines is None and precision is None)
    if progress is not None:
        progress(1.0)
    more = {"command": "solve", "vary": vary, "target": aim.text, "confidence": confidence}
    origin = provenance.entries(job, trials.effort, time.monotonic() - began, more)
    return replace(result, unit=field.unit, provenance=origin)


def _foreseen(job: Scenario, field: Vary, aim: Target, confidence: float | None) -> tuple[Array, bool]:
    """Return values worth a look according to closed forms, and whether rates are uncertain."""
    values = field.spread(_FORESEEN_POINTS)
    grid = for_deadlines(field.grid(job, values), aim.deadlines)
    check_confidence(confidence, grid.params)
    params = grid.params if confidence is None else at_confidence(grid.params, confidence)
    metric = np.broadcast_to(aim.foreseen(params), values.shape)
    above = metric >= aim.goal
    turns = np.flatnonzero(above[1:] != above[:-1])
    chosen = np.unique([int(np.argmax(metric)), *turns[:1], *(turns[-1:] + 1)])
    return values[chosen], confidence is None and interval.uncertain(grid.params)


def _searched(trials: Trials, hints: Array, wanted: float, is_free: bool) -> SolveResult:
    """Return the answer; `wanted` is the standard error of ettr to reach, `is_free` to save time otherwise."""
    aim, least = trials.target, trials.vary.wants_least

    def goes_on(known: Look, side: int) -> bool:
        metric, end = known.metric[:: 1 if side < 0 else -1], 0 if side < 0 else -1
        if metric[0] >= aim.goal and least == (side < 0):
            return True
        gaps = np.abs(metric[:2] - aim.goal)
        return not turns(known, aim.goal) and bool(gaps[0] <= gaps[-1] + CLEAR * known.error[end])

    scan = scanned(trials, hints, goes_on)
    _set_effort(trials, float(scan.look.steps[np.argmin(np.abs(scan.look.metric - aim.goal))]), is_free)
    look = _resolved(trials, scan.look, wanted)
    crossings = _crossings(trials, look, wanted, is_free)
    for _ in range(_ZOOMS):
        if crossings:
            break
        before = _gap(trials, look)
        look = _settled(trials, look.joined(trials.look(_around_best(trials, look))))
        crossings = _crossings(trials, look, wanted, is_free)
        if _gap(trials, look) > _HARDLY * before:
            break
    if not crossings:
        return _one_sided(trials, look, scan.cut)
    return _solved(trials, crossings, scan.cut)


def _set_effort(trials: Trials, steps: float, is_free: bool) -> None:
    """Set the timelines of a point that takes so many steps a timeline, if it is free to."""
    trials.steps_each = steps
    if is_free:
        enough = trials.affordable(_POINTS_A_LOOK, trials.target.timelines)
        trials.effort = replace(trials.effort, timelines=enough)


def _resolved(trials: Trials, look: Look, wanted: float) -> Look:
    """Return the look with more timelines where it is not clear whether the target is met, or without such points."""
    goal = trials.target.goal
    doubtful = unclear(look, goal)
    if not doubtful.size:
        return look
    metric = look.metric[doubtful]  # all on the same draws: their order is known better than their level
    telling = {0, doubtful.size - 1, int(np.argmin(metric)), int(np.argmax(metric))}
    values = look.values[doubtful[sorted({*telling, int(np.argmin(np.abs(metric - goal)))})]]
    look = look.some(np.setdiff1d(np.arange(look.values.size), doubtful))
    for _ in range(1 + _MOST_GROWTH_ROUNDS):
        found = trials.look(values)
        error = max(point.ettr_se for point in found.points)
        if found.sides(goal, CLEAR).all() or not _grown(trials, error, wanted, values.size):
            break
    return look.joined(found)


def _grown(trials: Trials, error: float, wanted: float, n_points: int) -> bool:
    """Set as many timelines as the standard error of ettr calls for, and return whether these are more."""
    n = trials.effort.timelines or 1
    if not error > wanted or n >= MOST_TIMELINES:
        return False
    enough = min(MOST_TIMELINES, math.ceil(1.1 * n * min((error / wanted) ** 2, MOST_TIMELINES)))
    enough = trials.affordable(n_points, enough)
    if enough <= n:
        return False
    trials.effort = replace(trials.effort, timelines=enough)
    return True


def _gap(trials: Trials, look: Look) -> float:
    """Return how far the nearest point is from the goal."""
    return float(np.abs(look.metric - trials.target.goal).min())


def _best(trials: Trials, look: Look) -> int:
    """Return the number of the point farthest towards the target, seen from the side on which most points are."""
    metric = look.metric
    return int(np.argmin(metric) if np.median(metric) >= trials.target.goal else np.argmax(metric))


def _settled(trials: Trials, look: Look) -> Look:
    """Return the look with the point that comes closest to the target on as many timelines as any."""
    for _ in range(_SETTLING):
        best = _best(trials, look)
        if look.points[best].timelines >= (trials.effort.timelines or 0):
            break
        look = look.joined(trials.look(look.values[[best]]))
    return look


def _around_best(trials: Trials, look: Look) -> Array:
    """Return values around the point that comes closest to the target from the side on which all points are."""
    vary, best = trials.vary, _best(trials, look)
    near = vary.logs(look.values[[max(best - 1, 0), min(best + 1, look.values.size - 1)]])
    return vary.values(np.append(np.linspace(near[0], near[1], _POINTS_A_LOOK), vary.logs(look.values[best])))


@dataclass(frozen=True)
class _Found:
    """A value at which the target begins or ceases to be met."""

    value: SolvedValue
    rises: bool


def _crossings(trials: Trials, look: Look, wanted: float, is_free: bool) -> list[_Found]:
    """Return at most two values, in order: the one that people ask for, and the other end of where it is met."""
    goal = trials.target.goal
    every = turns(look, goal, with_doubtful=True)
    asked = _asked_for([turn.rises for turn in every], trials.vary.wants_least)
    found: list[_Found] = []
    order = sorted(range(len(every)), key=lambda k: (k != asked, every[k].rises == every[asked].rises, abs(k - asked)))
    for n_tried, k in enumerate(order):
        if n_tried:
            _set_effort(trials, float(look.steps[[every[k].left, every[k].right]].max()), is_free)
        if (crossing := _crossing(trials, look, every, k, wanted)) is not None:
            found.append(crossing)
        if len(found) == 2:
            break
    return sorted(found, key=lambda one: one.value.estimate)


def _asked_for(rises: list[bool], least: bool) -> int:
    """Return which of some crossings people ask for: the first above which, or the last below which, it is met.

    >>> _asked_for([True, False], least=True), _asked_for([True, False], least=False)
    (0, 1)
    """
    fitting = [k for k, up in enumerate(rises) if up == least]
    if least:
        return fitting[0] if fitting else 0
    return fitting[-1] if fitting else len(rises) - 1


def _crossing(trials: Trials, look: Look, every: list[Turn], k: int, wanted: float) -> _Found | None:
    """Return what is found between the extremes on either side of a turn."""
    goal, turn, vary = trials.target.goal, every[k], trials.vary
    away = np.abs(look.metric - goal)

    def extreme(first: int, last: int) -> int:
        return first + int(np.argmax(away[first : last + 1]))

    low = 0 if k == 0 else extreme(every[k - 1].right, turn.left)
    high = look.values.size - 1 if k == len(every) - 1 else extreme(turn.right, every[k + 1].left)
    if vary.is_counted:
        first, last, lowest, highest = (vary.count(look.values[i]) for i in (turn.left, turn.right, low, high))
        ends = first, last, lowest, highest
        number = whole_crossing(trials, ends, turn.rises, lambda error: _grown(trials, error, wanted, 1))
        return None if number is None else _Found(number, turn.rises)
    logs = vary.logs(look.values)
    crossing = _refined(trials, _start(logs, look.metric, turn, goal), (float(logs[low]), float(logs[high])), wanted)
    return None if crossing is None else _Found(_value(vary, crossing), crossing.slope > 0)


def _start(logs: Array, metric: Array, turn: Turn, goal: float) -> tuple[float, float]:
    i, j = turn.left, turn.right
    slope = float((metric[j] - metric[i]) / (logs[j] - logs[i]))
    return float(logs[i] + (goal - metric[i]) / slope), slope


def _refined(trials: Trials, start: tuple[float, float], bounds: tuple[float, float], wanted: float) -> Crossing | None:
    """Return the crossing near a start, on as many timelines as the standard error of ettr calls for."""
    aim, effort = trials.target, trials.effort
    found: Crossing | None = None
    if (effort.timelines or 0) >= _ROUGHLY * _ROUGH_TIMELINES:
        trials.effort = replace(effort, timelines=(effort.timelines or 0) // _ROUGHLY)
        rough = find_crossing(trials.at_logs, *start, bounds, aim.goal, aim.span)
        start = start if rough is None else (rough.root, rough.slope)
        trials.effort = effort
    for _ in range(1 + _MOST_GROWTH_ROUNDS):
        found = find_crossing(trials.at_logs, *start, bounds, aim.goal, aim.span)
        if found is None or not _grown(trials, trials.points[-1].ettr_se, wanted, _POINTS_A_LOOK):
            break
        start = (found.root, found.slope)
    return found


def _value(vary: Vary, crossing: Crossing) -> SolvedValue:
    root, low, high = vary.numbers(np.array([crossing.root, crossing.low, crossing.high]))
    low, high = max(low, vary.low), min(high, vary.high)
    if vary.step:
        step, whole = vary.step, math.floor if crossing.slope < 0 else math.ceil
        root = float(np.clip(whole(root / step) * step, vary.low, vary.high))
        low, high = min(math.floor(low / step) * step, root), max(math.ceil(high / step) * step, root)
    return SolvedValue(float(root), float(low), float(high), vary.unit)


def _solved(trials: Trials, found: list[_Found], cut: tuple[bool, bool]) -> SolveResult:
    rises = [one.rises for one in found]
    values = tuple(one.value for one in found)
    value = values[_asked_for(rises, trials.vary.wants_least)]
    trials.look(np.array([value.estimate]))
    achieved = trials.alone(value.estimate, CHECK_TIMELINES)
    reach = reach_text(trials) + (cut_text(cut) if any(cut) and achieved.capped else "")
    return _result(trials, value, values, True, where_met(trials, values, rises, reach), achieved)


def _one_sided(trials: Trials, look: Look, cut: tuple[bool, bool]) -> SolveResult:
    """Return the answer where all points that were simulated meet the target, or none does."""
    vary, aim = trials.vary, trials.target
    if not look.usable.any():
        reason = f"{vary.path}: a timeline has too many failures to simulate at every value tried; {LESS_WORK}"
        return _result(trials, None, (), False, reason, look.points[int(np.argmax(look.metric))])
    met = bool(np.median(look.metric) >= aim.goal)
    value = float(look.values[_best(trials, look)])
    achieved = trials.alone(value, CHECK_TIMELINES)
    level = f"{level_of(achieved, aim):.4g} at {vary.text(value)}"
    if achieved.capped:
        level += f" (up to the cap on failures, which {achieved.capped:.2g} of the timelines reach)"
    is_close = is_near(achieved, aim)
    close = ", within its error of the target (more timelines decide)" if is_close else ""
    tried = f"{vary.path} that was simulated, {span_text(trials)}"
    beyond = cut_text(cut)
    if met:
        reason = f"{aim_text(trials)} is met with every {tried}: {level} at worst{close}{beyond}"
        return _result(trials, None, (), True, reason, achieved)
    lost = binding_terms(achieved, aim, work_at(vary, trials, value))
    surely = " for certain" if is_close else ""
    reason = f"{aim_text(trials)} is met{surely} with no {tried}: {level} at best{close}; {lost}{beyond}"
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
