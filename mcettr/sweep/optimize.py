"""The value of a field with the best ETTR, and the range that is nearly as good: the optimum is usually flat."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.scenario import Scenario
from mcettr.sweep import interval, provenance
from mcettr.sweep.dataset import NORMAL_95
from mcettr.sweep.display import html, summary
from mcettr.sweep.effort import (
    CHECK_TIMELINES,
    AnyScenario,
    Engine,
    as_scenario,
    check_calls,
    check_effort,
    checked_effort,
)
from mcettr.sweep.look import Look, Point, points_that_matter
from mcettr.sweep.notes import Notes, scenario_warnings, tell
from mcettr.sweep.scan import Scan, scanned
from mcettr.sweep.solved_value import SolvedValue
from mcettr.sweep.target import Target
from mcettr.sweep.trials import FEWEST_GROUPED, FEWEST_TIMELINES, Trials
from mcettr.sweep.vary import Vary, read_vary
from mcettr.sweep.wording import LESS_WORK, cut_text

Array = NDArray[np.float64]
NEAR = 0.002
"""Values within this much ETTR (0.2 points) of the best are nearly as good."""
_FEWEST_TIMELINES, _MOST_TIMELINES = 512, 65_536
_FORESEEN_POINTS = 33
_DIFFERENCE_SE = NEAR / 40.0
_POINTS = 15
_MARGINS = (0.02, 0.006)
"""How far below the best, in ETTR, the first and the second look reach."""


@dataclass(frozen=True, repr=False)
class OptimizeResult:
    """What `optimize` found.

    Parameters
    ----------
    value : SolvedValue or None
        The best value; `low` and `high` are the ends of the near-optimal range (ETTR within 0.2 points of the best).
        None where no value gives any kept work.
    feasible : bool
        Whether some value gives kept work.
    ettr, ettr_se : float
        ETTR at the best value, on draws of its own.
    difference_se : float
        Largest standard error of the paired differences that the range is read from.
    bounds_reached : tuple of str
        "low" or "high" where the near-optimal range goes on beyond the range looked at.
    reason : str
        A sentence on the answer.
    achieved : Point
        The job at `value`, on draws of its own.
    table : tuple of Point
        The points tried, by value.
    vary : str
        The field varied.
    unit : str
        Unit of the values of the varied field: "s", "1", or the user's own.
    provenance : mapping
        What the answer came from: scenario, seed, versions; see `mcettr.sweep.provenance.entries`.
    """

    value: SolvedValue | None
    feasible: bool
    ettr: float
    ettr_se: float
    difference_se: float
    bounds_reached: tuple[str, ...]
    reason: str
    achieved: Point
    table: tuple[Point, ...]
    vary: str
    unit: str = "1"
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return the answer on one line."""
        return f"<OptimizeResult: {summary(self.vary, self.value, self.reason)}>"

    def _repr_html_(self) -> str:
        return html(repr(self)[1:-1], self.vary, self.unit, self.points_that_matter)

    @property
    def points_that_matter(self) -> tuple[Point, ...]:
        """The answer, its neighbours, and both ends of what was tried."""
        return points_that_matter(self.table, self.achieved.value)

    @property
    def checkpoint_interval_s(self) -> float:
        """The checkpoint interval at the best value."""
        return self.achieved.checkpoint_interval_s

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {
            "value": None if self.value is None else self.value.to_json(),
            "feasible": self.feasible,
            "near_optimal_points": 100.0 * NEAR,
            "achieved": {"ettr": {"value": self.ettr, "se": self.ettr_se}},
            "checkpoint_interval_s": self.achieved.to_json()["checkpoint_interval_s"],
            "difference_se": self.difference_se,
            "bounds_reached": list(self.bounds_reached),
            "reason": self.reason,
            "vary": self.vary,
            "table": [point.to_json() for point in self.table],
        }


def optimize(
    scenario: AnyScenario,
    *,
    vary: str,
    timelines: int | None = None,
    precision: float | None = None,
    seed: int = 0,
    device: str = "auto",
    engine: Engine = "jax",
    progress: Callable[[float], None] | None = None,
    notes: Notes | None = None,
) -> OptimizeResult:
    """Return the value of a field with the best ETTR, and the range within 0.2 points of it.

    The range comes from differences between points that share their draws.

    Parameters
    ----------
    scenario : Scenario, str, path or mapping
        The job.
    vary : str
        ``PATH``, or ``PATH=LOW:HIGH``.
    timelines : int, optional
        Timelines of each point; when not given, as many (512 to 65,536) as tell 0.2 points of ETTR apart with ease.
    precision : float, optional
        Standard error of ettr to reach as well, instead of `timelines`.
    seed, device, engine, progress, notes
        As in `mcettr.simulate`.

    >>> job = {"job": {"gpus": 12288, "work": "10 d"}, "failures": {"node": {"rate": "6.5 / 1000 node-days"}},
    ...        "checkpoint": {"interval": "auto", "write_time": "60 s"}, "recovery": {"startup": "10 min"}}
    >>> best = optimize(job, vary="checkpoint.interval", timelines=256)
    >>> best.value.low < 990 < best.value.high
    True

    Raises
    ------
    ScenarioError
        The scenario, the field or its range is wrong.
    """
    check_calls(progress, notes)
    check_effort(timelines, precision, seed, engine, device)
    began = time.monotonic()
    job = as_scenario(scenario)
    field = read_vary(job, vary)
    hints, grouped = _foreseen(job, field)
    fewest = min(FEWEST_GROUPED if grouped else FEWEST_TIMELINES, timelines or FEWEST_TIMELINES)
    effort = checked_effort(timelines or _FEWEST_TIMELINES, None, seed, device, engine)
    trials = Trials(job, field, Target(0.5), effort, progress=progress, fewest=fewest)
    tell(scenario_warnings(job), notes)
    result = _searched(trials, hints, precision or np.inf, timelines is None)
    if progress is not None:
        progress(1.0)
    more = {"command": "optimize", "vary": vary}
    origin = provenance.entries(job, trials.effort, time.monotonic() - began, more)
    return replace(result, unit=field.unit, provenance=origin)


def _searched(trials: Trials, hints: Array, precision: float, is_free: bool) -> OptimizeResult:
    """Return the best value after a coarse look and two closer ones; `is_free` to choose their timelines."""
    scan = scanned(trials, hints, _best_is_outermost)
    if not scan.look.usable.any() or not scan.look.metric.any():
        return _hopeless(trials, scan)
    best = int(np.argmax(scan.look.metric))
    trials.steps_each = float(scan.look.steps[best])
    if is_free:
        trials.effort = replace(trials.effort, timelines=trials.affordable(_POINTS, _FEWEST_TIMELINES))
    found = _looked_at(trials, _promising(trials.vary, scan.look))
    if found.values.size > 2:
        if is_free:
            enough = trials.affordable(_POINTS, _enough(found, precision))
            trials.effort = replace(trials.effort, timelines=enough)
        found = _looked_at(trials, _closer(trials.vary, found))
    return _result(trials, found, scan.cut)


def _best_is_outermost(known: Look, side: int) -> bool:
    return int(np.argmax(known.metric)) == (0 if side < 0 else known.values.size - 1)


@dataclass(frozen=True)
class _Look:
    """Points of one look: values, ettr, difference to the best one and its standard error."""

    values: Array
    ettr: Array
    below: Array
    below_se: Array
    ettr_se: Array


def _foreseen(job: Scenario, field: Vary) -> tuple[Array, bool]:
    """Return the value that closed forms find best, and whether rates are uncertain."""
    values = field.spread(_FORESEEN_POINTS)
    grid = field.grid(job, values)
    metric = np.broadcast_to(Target(0.5).foreseen(grid.params), values.shape)
    return values[[int(np.argmax(metric))]], interval.uncertain(grid.params)


def _promising(field: Vary, look: Look) -> Array:
    """Return the values worth a closer look: those that a coarse one puts near the best."""
    best = int(np.argmax(look.metric))
    below = look.metric[best] - look.metric
    return _spread(field, look.values, np.flatnonzero(below <= _MARGINS[0] + NORMAL_95 * look.error))


def _enough(look: _Look, precision: float) -> int:
    """Return the timelines that make the errors near the top as small as they should be."""
    near = np.argsort(look.below)[:4]
    excess = max(float(look.below_se[near].max()) / _DIFFERENCE_SE, float(look.ettr_se[near].max()) / precision, 1.0)
    return int(min(_FEWEST_TIMELINES * excess**2, _MOST_TIMELINES))


def _closer(field: Vary, look: _Look) -> Array:
    return _spread(field, look.values, np.flatnonzero(look.below <= _MARGINS[1] + NORMAL_95 * look.below_se))


def _spread(field: Vary, values: Array, kept: NDArray[np.intp]) -> Array:
    """Return evenly spaced values (in log) over those kept and one neighbour on each side."""
    ends = field.logs(values[[max(kept[0] - 1, 0), min(kept[-1] + 1, values.size - 1)]])
    return field.values(np.linspace(ends[0], ends[1], _POINTS))


def _looked_at(trials: Trials, values: Array) -> _Look:
    """Simulate some values on the same draws, and compare each with the best of them by the jackknife's first order."""
    from mcettr.engine.run import paired_blocks

    params = trials.params_at(values)
    blocks = paired_blocks(params, replace(trials.effort, most_attempts=trials.attempts))
    total_s = blocks.elapsed_s.sum(axis=1, keepdims=True)
    ettr = blocks.productive_s.sum(axis=1) / total_s[:, 0]
    shares = (blocks.productive_s - ettr[:, None] * blocks.elapsed_s) / total_s
    errors = _errors(shares)
    interval_s = np.broadcast_to(params.checkpoint.interval_s, values.shape)
    n = trials.effort.timelines or 0
    rows = zip(values, ettr, errors, interval_s, strict=True)
    trials.note(tuple(Point(float(v), float(e), float(se), float(t), timelines=n) for v, e, se, t in rows))
    best = int(np.argmax(ettr))
    return _Look(values, ettr, ettr[best] - ettr, _errors(shares[best] - shares), errors)


def _errors(shares: Array) -> Array:
    n = shares.shape[-1]
    if n < 2:
        return np.full(shares.shape[:-1], np.inf)
    squares = np.square(shares - shares.mean(axis=-1, keepdims=True)).sum(axis=-1)
    return np.asarray(np.sqrt(squares * n / (n - 1)))


def _result(trials: Trials, look: _Look, cut: tuple[bool, bool]) -> OptimizeResult:
    vary, logs, best = trials.vary, trials.vary.logs(look.values), int(np.argmax(look.ettr))
    top = float(logs[best])
    if 0 < best < logs.size - 1 and not (vary.step or vary.parts_of):
        top = float(interval.vertex(logs[best - 1 : best + 2], look.ettr[best - 1 : best + 2]))
    low, high = _edge(logs, look.below, best, -1), _edge(logs, look.below, best, 1)
    reached = tuple(
        name
        for name, edge, bound in (("low", low, vary.low), ("high", high, vary.high))
        if edge is None or np.isclose(vary.numbers(np.array([edge]))[0], bound, rtol=1e-9)
    )
    ends = (
        float(look.values[0] if low is None else vary.numbers(np.array([low]))[0]),
        float(look.values[-1] if high is None else vary.numbers(np.array([high]))[0]),
    )
    ends = vary.rounded_in(*ends)
    value = SolvedValue(float(vary.values(np.array([top]))[0]), *ends, vary.unit)
    achieved = trials.alone(value.estimate, CHECK_TIMELINES)
    near = look.below <= NEAR
    near[max(best - 1, 0) : best + 2] = True
    error = float(look.below_se[near].max())
    reason, table = _reason(vary, value, reached) + (cut_text(cut) if reached else ""), trials.table()
    score = (achieved.ettr, achieved.ettr_se, error)
    return OptimizeResult(value, True, *score, reached, reason, achieved, table, vary.path)


def _hopeless(trials: Trials, scan: Scan) -> OptimizeResult:
    """Return the answer where all kept work is lost at every value that was simulated."""
    vary, look = trials.vary, scan.look
    best = look.points[int(np.argmax(look.metric))]
    span = f"{vary.path} that was simulated, from {vary.text(look.values[0])} to {vary.text(look.values[-1])}"
    reason = f"no value gives any kept work: ETTR is 0 with every {span}"
    if look.metric.any():
        reason = f"{vary.path}: a timeline has too many failures to simulate at every value tried; {LESS_WORK}"
    error = float(look.error.max())
    return OptimizeResult(
        None, False, best.ettr, best.ettr_se, error, (), reason, best, trials.table() or look.points, vary.path
    )


def _edge(logs: Array, below: Array, best: int, step: int) -> float | None:
    """Return where the curve falls 0.2 points below the best on one side, or None where it does not."""
    i = best
    while 0 <= i + step < logs.size:
        if below[i + step] > NEAR:
            share = (NEAR - below[i]) / (below[i + step] - below[i])
            return float(logs[i] + share * (logs[i + step] - logs[i]))
        i += step
    return None


def _reason(vary: Vary, value: SolvedValue, reached: tuple[str, ...]) -> str:
    text = f"{vary.path} from {vary.text(value.low)} to {vary.text(value.high)} is within 0.2 points of the best"
    if reached:
        where = " and ".join(f"{name}er" if name == "low" else "upper" for name in reached)
        text += f"; the {where} end is that of the range looked at: better values may lie beyond it"
    return text
