"""The value of a field with the best ETTR, and the range that is nearly as good: the optimum is usually flat."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.errors import ScenarioError
from mcettr.scenario import Scenario
from mcettr.sweep import interval, provenance
from mcettr.sweep.answer import SolvedValue
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
from mcettr.sweep.notes import Notes, scenario_warnings, tell
from mcettr.sweep.target import Target
from mcettr.sweep.trials import Point, Trials
from mcettr.sweep.vary import Vary, read_vary

Array = NDArray[np.float64]
NEAR = 0.002
"""Values within this much ETTR (0.2 points) of the best are nearly as good."""
_FEWEST_TIMELINES, _MOST_TIMELINES = 512, 65_536
_DIFFERENCE_SE = NEAR / 40.0
_FORESEEN_POINTS, _POINTS = 49, 15
_MARGINS = (0.05, 0.006)
"""How far below the best, in ETTR, the first and the second look reach."""
_WILD_MARGIN = 0.2
"""Instead of the first, where closed forms do not hold exactly."""


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
        return html(repr(self)[1:-1], self.vary, self.unit, self.table)

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
    if field.rising:
        raise ScenarioError(f"vary: {field.path}: more is always better; find the least that will do with solve")
    effort = checked_effort(timelines or _FEWEST_TIMELINES, None, seed, device, engine)
    trials = Trials(job, field, Target(0.5), effort, progress=progress)
    tell(scenario_warnings(job), notes)
    result = _searched(trials, _promising(job, field), precision or np.inf, timelines is None)
    if progress is not None:
        progress(1.0)
    more = {"command": "optimize", "vary": vary}
    origin = provenance.entries(job, trials.effort, time.monotonic() - began, more)
    return replace(result, unit=field.unit, provenance=origin)


def _searched(trials: Trials, values: Array, precision: float, is_free: bool) -> OptimizeResult:
    """Return the best of some values, after a second and closer look; `is_free` to choose the timelines of it."""
    found = _looked_at(trials, values)
    if not found.ettr.any():
        return _hopeless(trials, found)
    if found.values.size > 2:
        if is_free:
            trials.effort = replace(trials.effort, timelines=_enough(found, precision))
        found = _looked_at(trials, _closer(trials.vary, found))
    return _result(trials, found)


@dataclass(frozen=True)
class _Look:
    """Points of one look: values, ettr, difference to the best one and its standard error."""

    values: Array
    ettr: Array
    below: Array
    below_se: Array
    ettr_se: Array


def _promising(job: Scenario, field: Vary) -> Array:
    """Return the values worth simulating: those that closed forms put near the best."""
    values = field.allowed(np.geomspace(field.low, field.high, _FORESEEN_POINTS))
    grid = field.grid(job, values)
    foreseen = np.broadcast_to(Target(0.5).foreseen(grid.params), values.shape)
    margin = _WILD_MARGIN if interval.needs_search(grid.params) else _MARGINS[0]
    return _spread(field, values, np.flatnonzero(foreseen >= foreseen.max() - margin))


def _enough(look: _Look, precision: float) -> int:
    """Return the timelines that make the errors near the top as small as they should be."""
    near = np.argsort(look.below)[:4]
    excess = max(float(look.below_se[near].max()) / _DIFFERENCE_SE, float(look.ettr_se[near].max()) / precision, 1.0)
    return int(min(_FEWEST_TIMELINES * excess**2, _MOST_TIMELINES))


def _closer(field: Vary, look: _Look) -> Array:
    return _spread(field, look.values, np.flatnonzero(look.below <= _MARGINS[1] + NORMAL_95 * look.below_se))


def _spread(field: Vary, values: Array, kept: NDArray[np.intp]) -> Array:
    """Return evenly spaced values (in log) over those kept and one neighbour on each side."""
    low, high = values[max(kept[0] - 1, 0)], values[min(kept[-1] + 1, values.size - 1)]
    return field.allowed(np.geomspace(low, high, _POINTS))


def _looked_at(trials: Trials, values: Array) -> _Look:
    """Simulate some values on the same draws, and compare each with the best of them by the jackknife's first order."""
    from mcettr.engine.run import paired_blocks

    params = trials.params_at(values)
    blocks = paired_blocks(params, trials.effort)
    total_s = blocks.elapsed_s.sum(axis=1, keepdims=True)
    ettr = blocks.productive_s.sum(axis=1) / total_s[:, 0]
    shares = (blocks.productive_s - ettr[:, None] * blocks.elapsed_s) / total_s
    errors = _errors(shares)
    trials.note(values, ettr, errors, params)
    best = int(np.argmax(ettr))
    return _Look(values, ettr, ettr[best] - ettr, _errors(shares[best] - shares), errors)


def _errors(shares: Array) -> Array:
    n = shares.shape[-1]
    if n < 2:
        return np.full(shares.shape[:-1], np.inf)
    squares = np.square(shares - shares.mean(axis=-1, keepdims=True)).sum(axis=-1)
    return np.asarray(np.sqrt(squares * n / (n - 1)))


def _result(trials: Trials, look: _Look) -> OptimizeResult:
    vary, logs, best = trials.vary, np.log(look.values), int(np.argmax(look.ettr))
    top = float(logs[best])
    if 0 < best < logs.size - 1 and not vary.step:
        top = float(interval.vertex(logs[best - 1 : best + 2], look.ettr[best - 1 : best + 2]))
    low, high = _edge(logs, look.below, best, -1), _edge(logs, look.below, best, 1)
    reached = tuple(
        name
        for name, edge, bound in (("low", low, vary.low), ("high", high, vary.high))
        if edge is None or np.isclose(np.exp(edge), bound, rtol=1e-9)
    )
    ends = (
        float(look.values[0] if low is None else np.exp(low)),
        float(look.values[-1] if high is None else np.exp(high)),
    )
    if vary.step:
        ends = (math.ceil(ends[0] / vary.step - 1e-9) * vary.step, math.floor(ends[1] / vary.step + 1e-9) * vary.step)
    value = SolvedValue(float(vary.allowed(np.exp(np.array([top])))[0]), *ends, vary.unit)
    achieved = trials.alone(value.estimate, CHECK_TIMELINES)
    near = look.below <= NEAR
    near[max(best - 1, 0) : best + 2] = True
    error = float(look.below_se[near].max())
    reason, table = _reason(vary, value, reached), trials.table()
    score = (achieved.ettr, achieved.ettr_se, error)
    return OptimizeResult(value, True, *score, reached, reason, achieved, table, vary.path)


def _hopeless(trials: Trials, look: _Look) -> OptimizeResult:
    """Return the answer where all kept work is lost at every value."""
    vary, best = trials.vary, trials.points[0]
    span = f"{vary.path} from {vary.text(look.values[0])} to {vary.text(look.values[-1])}"
    reason, error = f"no value gives any kept work: ETTR is 0 with every {span}", float(look.below_se.max())
    return OptimizeResult(None, False, 0.0, best.ettr_se, error, (), reason, best, trials.table(), vary.path)


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
