"""Where a noisy curve crosses a level: a few points at a time on common random numbers, a parabola through them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mcettr.sweep.dataset import NORMAL_95

Array = NDArray[np.float64]
Measure = Callable[[Array], tuple[Array, Array, Array]]
"""From log values to (those really used, sorted; the metric; its standard errors)."""

_OFFSETS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
_MOST_ROUNDS = 12
_NARROWEST, _WIDEST, _LONGEST_STEP = 0.01, 1.0, 2.0
_STEEP = 3.0
"""A window whose values differ by more than this many spans is looked at again, closer."""


@dataclass(frozen=True)
class Crossing:
    """A root in the log of the varied value.

    Parameters
    ----------
    root, low, high : float
        The root and its 95 % interval, logs.
    slope : float
        Change of the metric with the log value, there.
    error : float
        Standard error of the metric there.
    """

    root: float
    low: float
    high: float
    slope: float
    error: float


@dataclass(frozen=True)
class _Fit:
    """A parabola through measured points: value at the centre, slope, half the curvature, worst residual."""

    level: float
    slope: float
    bend: float
    residual: float


def find_crossing(
    measure: Measure, start: float, slope: float, bounds: tuple[float, float], goal: float, span: float
) -> Crossing | None:
    """Return where the metric crosses `goal` near `start`, or None where it does not inside the bounds.

    Parameters
    ----------
    measure : callable
        Runs simulations at some log values, all on the same draws.
    start, slope : float
        A guess of the root (log) and of the slope there.
    bounds : tuple of float
        Ends of the range (logs).
    goal, span : float
        The level, and how far from it the metric is nearly a parabola.
    """
    centre, narrowest, reach = start, _NARROWEST, 0.5 * (bounds[1] - bounds[0])
    seen, step = _Seen.nothing(), 0.0
    for _ in range(_MOST_ROUNDS):
        half = min(float(np.clip(span / max(abs(slope), 1e-9), narrowest, _WIDEST)), reach)
        centre = float(np.clip(centre, bounds[0] + half, bounds[1] - half))
        x, y, error = measure(centre + half * _OFFSETS)
        seen = seen.with_points(x, y, error)
        if x.size < 3:  # whole numbers too close to each other
            narrowest = 4.0 * half
            continue
        fit = _fitted(x - centre, y)
        root = _root(fit, goal, x[0] - centre, x[-1] - centre)
        if root is not None:
            noise = float(np.interp(centre + root, x, error))
            if np.ptp(y) <= 2.0 * _STEEP * max(span, noise):
                return _crossing(centre + root, fit.slope + 2.0 * fit.bend * root, noise, fit.residual)
        pair = seen.around(goal, centre)
        if pair is not None:
            centre, slope, reach = pair.root(goal), pair.slope, 0.5 * pair.width
            continue
        if abs(y[-1] - y[0]) > 2.0 * error.max():  # else go on believing the slope there was
            slope = fit.slope
        up = 1 if (fit.level < goal) == (slope > 0) else -1
        if (x[0] <= bounds[0] + 1e-9) if up < 0 else (x[-1] >= bounds[1] - 1e-9):
            break
        step = float(np.clip(abs((goal - fit.level) / (slope or 1e-9)), max(half, 3.0 * step), _LONGEST_STEP))
        centre += up * step
    pair = seen.around(goal, centre)
    if pair is None:
        return None
    if abs(pair.y[1] - pair.y[0]) > _STEEP * max(span, pair.error):  # a jump: the side on which the goal is reached
        met = pair.x[1] if pair.slope > 0 else pair.x[0]
        return Crossing(met, pair.x[0], pair.x[1], pair.slope, pair.error)
    return _crossing(pair.root(goal), pair.slope, pair.error, 0.5 * abs(pair.slope) * pair.width)


@dataclass(frozen=True)
class _Pair:
    """Two neighbouring points on either side of the goal."""

    x: tuple[float, float]
    y: tuple[float, float]
    error: float

    @property
    def width(self) -> float:
        return self.x[1] - self.x[0]

    @property
    def slope(self) -> float:
        return (self.y[1] - self.y[0]) / self.width

    def root(self, goal: float) -> float:
        return self.x[0] + (goal - self.y[0]) / self.slope


@dataclass(frozen=True)
class _Seen:
    """All points measured so far, sorted."""

    x: Array
    y: Array
    error: Array

    @staticmethod
    def nothing() -> _Seen:
        return _Seen(np.empty(0), np.empty(0), np.empty(0))

    def with_points(self, x: Array, y: Array, error: Array) -> _Seen:
        joined, first = np.unique(np.append(self.x, x), return_index=True)
        return _Seen(joined, np.append(self.y, y)[first], np.append(self.error, error)[first])

    def around(self, goal: float, centre: float) -> _Pair | None:
        """Return the pair with the goal between them that is nearest to `centre`."""
        turns = np.flatnonzero((self.y[1:] >= goal) != (self.y[:-1] >= goal))
        if not turns.size:
            return None
        i = int(turns[np.argmin(np.abs(0.5 * (self.x[turns] + self.x[turns + 1]) - centre))])
        x, y = self.x[i : i + 2], self.y[i : i + 2]
        return _Pair((float(x[0]), float(x[1])), (float(y[0]), float(y[1])), float(self.error[i : i + 2].max()))


def _fitted(x: Array, y: Array) -> _Fit:
    scale = float(np.abs(x).max())
    degree = 2 if x.size > 3 else 1
    terms = np.polynomial.polynomial.polyfit(x / scale, y, degree)
    residual = float(np.abs(np.polynomial.polynomial.polyval(x / scale, terms) - y).max())
    bend = float(terms[2]) / scale**2 if degree == 2 else 0.0
    return _Fit(float(terms[0]), float(terms[1]) / scale, bend, residual)


def _root(fit: _Fit, goal: float, low: float, high: float) -> float | None:
    """Return the root of the parabola nearest to the centre, inside [low, high]; stable for hardly bent ones."""
    c = fit.level - goal
    square = fit.slope**2 - 4.0 * fit.bend * c
    if square < 0.0:
        return None
    q = -0.5 * (fit.slope + math.copysign(math.sqrt(square), fit.slope))
    roots = ([c / q] if q else []) + ([q / fit.bend] if fit.bend else [])
    inside = [root for root in roots if low <= root <= high]
    return min(inside, key=abs) if inside else None


def _crossing(root: float, slope: float, error: float, residual: float) -> Crossing:
    half = (NORMAL_95 * error + residual) / abs(slope) if slope else math.inf
    return Crossing(root, root - half, root + half, slope, error)
