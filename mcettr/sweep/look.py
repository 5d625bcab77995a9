"""Simulated points on the scale of a search, in the order of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.sweep.dataset import NORMAL_95

Array = NDArray[np.float64]
_MATTER = 5
FEW_CAPPED = 0.1
"""Share of timelines stopped at the cap on failures up to which a point may be used: it adds to the error."""


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
    timelines : int
        How many were simulated.
    capped : float
        Share of the timelines that were stopped for having too many failures.
    time_fraction : tuple of float
        Share of each of `mcettr.model.budget.ACTIVITIES` in the elapsed time; empty where it was not asked for.
    """

    value: float
    ettr: float
    ettr_se: float
    checkpoint_interval_s: float
    completion: tuple[float, float, float] | None = None
    timelines: int = 0
    capped: float = 0.0
    time_fraction: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the point as plain values; an interval without end is None."""
        interval_s = self.checkpoint_interval_s if np.isfinite(self.checkpoint_interval_s) else None
        error = self.ettr_se if np.isfinite(self.ettr_se) else None
        found: dict[str, Any] = {"value": self.value, "ettr": {"value": self.ettr, "se": error}}
        if self.completion is not None:
            found["completion"] = dict(zip(("probability", "low", "high"), self.completion, strict=True))
        return {**found, "checkpoint_interval_s": interval_s, "timelines": self.timelines}


def points_that_matter(table: Sequence[Point], value: float) -> tuple[Point, ...]:
    """Return at most five points of a search: both ends, the one nearest to a value and its neighbours.

    >>> [point.value for point in points_that_matter([Point(v, 0.9, 0.1, 1.0) for v in range(1, 10)], 6.2)]
    [1, 5, 6, 7, 9]
    """
    if len(table) <= _MATTER:
        return tuple(table)
    nearest = min(range(len(table)), key=lambda i: abs(table[i].value - value))
    around = range(min(max(nearest - 1, 0), len(table) - 3), max(min(nearest + 2, len(table)), 3))
    return tuple(table[i] for i in sorted({0, *around, len(table) - 1}))


@dataclass(frozen=True)
class Look:
    """Some points, each array with one entry a point.

    Parameters
    ----------
    values : ndarray
        In order, each once.
    metric, error : ndarray
        What is aimed at, and its standard error (see `Target.measured`).
    steps : ndarray
        Events of a timeline, about.
    points : tuple of Point
        The same for users.
    """

    values: Array
    metric: Array
    error: Array
    steps: Array
    points: tuple[Point, ...]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which points were simulated to the end, or nearly: few timelines were stopped at the cap on failures."""
        return np.array([point.capped <= FEW_CAPPED for point in self.points], np.bool_)

    def joined(self, other: Look) -> Look:
        """Return the points of both; of two at one value the one that was run to the end, or on more timelines."""
        every = (*other.points, *self.points)
        order = sorted(range(len(every)), key=lambda i: (every[i].value, every[i].capped > 0.0, -every[i].timelines, i))
        return self._both(other).some(
            [i for n, i in enumerate(order) if n == 0 or every[i].value != every[order[n - 1]].value]
        )

    def _both(self, other: Look) -> Look:
        arrays = {
            field.name: np.concatenate([getattr(other, field.name), getattr(self, field.name)])
            for field in fields(Look)
            if field.name != "points"
        }
        return Look(**arrays, points=(*other.points, *self.points))

    def some(self, chosen: Sequence[int] | NDArray[np.intp] | NDArray[np.bool_]) -> Look:
        """Return some of the points, by number or by mark."""
        index = np.arange(self.values.size)[np.asarray(chosen)] if len(chosen) else np.zeros(0, np.intp)
        arrays = {field.name: getattr(self, field.name)[index] for field in fields(Look) if field.name != "points"}
        return Look(**arrays, points=tuple(self.points[i] for i in index))

    def sides(self, goal: float, errors: float = NORMAL_95) -> NDArray[np.int64]:
        """Return 1 for each point above the goal, -1 below, 0 within some standard errors of it."""
        away = self.metric - goal
        return np.asarray(np.where(np.abs(away) > errors * self.error, np.sign(away), 0), np.int64)
