"""The points that a search has tried: values of one field, all simulated on the same draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcettr.model.params import Params
from mcettr.scenario import Scenario
from mcettr.sweep import interval
from mcettr.sweep.confidence import at_confidence
from mcettr.sweep.run import run
from mcettr.sweep.target import Target
from mcettr.sweep.vary import Vary

if TYPE_CHECKING:
    from mcettr.engine.run import Effort

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """One value tried.

    Parameters
    ----------
    value : float
        In the unit of the answer.
    ettr, ettr_se : float
        Simulated ettr and its standard error.
    checkpoint_interval_s : float
        The interval used.
    completion : tuple of float or None
        (probability, low, high) of the completion target, if that is what is looked for.
    """

    value: float
    ettr: float
    ettr_se: float
    checkpoint_interval_s: float
    completion: tuple[float, float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the point as plain values; an interval without end is None."""
        interval_s = self.checkpoint_interval_s if np.isfinite(self.checkpoint_interval_s) else None
        found: dict[str, Any] = {"value": self.value, "ettr": {"value": self.ettr, "se": self.ettr_se}}
        if self.completion is not None:
            found["completion"] = dict(zip(("probability", "low", "high"), self.completion, strict=True))
        return {**found, "checkpoint_interval_s": interval_s}


@dataclass
class Trials:
    """Runs points of a search and keeps them.

    With a `confidence` they run at known rates, as bad as with that probability (`mcettr.sweep.confidence`).
    """

    scenario: Scenario
    vary: Vary
    target: Target
    effort: Effort
    confidence: float | None = None
    progress: Callable[[float], None] | None = None
    points: list[Point] = field(default_factory=list)

    def at_logs(self, logs: Array) -> tuple[Array, Array, Array]:
        """Return (logs really used, metric, standard error) at some log values; see `Target.measured`."""
        values = self.vary.allowed(np.exp(logs))
        metric, error = self.at(values, self.effort)
        return np.log(values), metric, error

    def at(self, values: Array, effort: Effort) -> tuple[Array, Array]:
        """Return the metric and its standard error at some values."""
        grid = self.vary.grid(self.scenario, values)
        if self.confidence is not None:  # the interval is chosen by someone who does not know the rates
            params = at_confidence(interval.chosen(grid, effort), self.confidence)
            grid = replace(grid, params=params, auto_interval=False)
        params, found = run(grid, effort, self.target.deadlines)
        shares = (found.completion_probability, found.completion_low, found.completion_high)
        completion = np.stack([share[:, 0] for share in shares], axis=1) if self.target.deadlines.labels else None
        self.note(values, found.values["ettr"], found.se["ettr"], params, completion)
        return self.target.measured(found)

    def note(self, values: Array, ettr: Array, error: Array, params: Params, completion: Array | None = None) -> None:
        """Keep some points."""
        interval_s = np.broadcast_to(params.checkpoint.interval_s, values.shape)
        for i, value in enumerate(values):
            point = Point(float(value), float(ettr[i]), float(error[i]), float(interval_s[i]))
            if completion is not None:
                probability, low, high = (float(share) for share in completion[i])
                point = replace(point, completion=(probability, low, high))
            self.points.append(point)
        if self.progress is not None:
            self.progress(1.0 - 0.8 ** len(self.points))

    def table(self) -> tuple[Point, ...]:
        """Return the points by value, of several at one value that with the smallest error."""
        best: dict[float, Point] = {}
        for point in self.points:
            if point.value not in best or point.ettr_se < best[point.value].ettr_se:
                best[point.value] = point
        return tuple(best[value] for value in sorted(best))

    def params_at(self, values: Array) -> Params:
        """Return the jobs at some values, with the intervals to use."""
        grid = self.vary.grid(self.scenario, values)
        return interval.chosen(grid, self.effort)

    def alone(self, value: float, first_timeline: int) -> Point:
        """Return one point on draws of its own; it is not added to those tried."""
        self.at(np.array([value]), replace(self.effort, first_timeline=first_timeline))
        return self.points.pop()
