"""The root finder on known curves: bad starts, wrong slopes, plateaus, noise, ends of the range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from mcettr.sweep.crossing import Measure, find_crossing

Array = NDArray[np.float64]
BOUNDS = (-7.0, 11.0)


def _measure(curve: Callable[[Array], Array], calls: list[int], error: float = 1e-4, step: float = 0.0) -> Measure:
    def measure(x: Array) -> tuple[Array, Array, Array]:
        calls.append(x.size)
        used = np.unique(np.round(x / step) * step) if step else x
        return used, curve(used), np.full(used.shape, error)

    return measure


CURVES = {
    "bent": lambda x: 0.9 - 0.004 * np.exp(0.5 * x),
    "cliff": lambda x: 0.9 / (1.0 + np.exp(8.0 * (x - 3.0))),
    "kinked": lambda x: 0.9 - 0.02 * np.maximum(x - 2.0, 0.0) - 0.3 * np.maximum(x - 4.0, 0.0),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize(("start", "slope"), [(3.0, -0.1), (-6.0, -0.01), (10.0, -0.01), (0.0, -5.0)])
def test_roots_are_found_from_bad_starts(name: str, start: float, slope: float) -> None:
    curve, calls = CURVES[name], []
    found = find_crossing(_measure(curve, calls), start, slope, BOUNDS, 0.5, 0.01)
    assert found is not None
    assert abs(float(curve(np.array([found.root]))[0]) - 0.5) < 0.003
    assert found.low < found.root < found.high
    assert len(calls) <= 12


def test_a_plateau_is_left_by_the_slope_that_was_foreseen() -> None:
    calls: list[int] = []
    curve = lambda x: np.clip(2.0 - 3.0 * (x - 1.0), -3.5, 3.5)  # noqa: E731
    found = find_crossing(_measure(curve, calls, 0.05), 8.0, -1.0, BOUNDS, 0.0, 0.5)
    assert found is not None
    assert found.root == pytest.approx(1.0 + 2.0 / 3.0, abs=0.02)


@pytest.mark.parametrize("level", [0.95, 0.1])
def test_a_curve_without_a_crossing_has_none(level: float) -> None:
    calls: list[int] = []
    curve = lambda x: 0.5 - 0.01 * x  # noqa: E731
    assert find_crossing(_measure(curve, calls), 0.0, -0.01, BOUNDS, level, 0.01) is None
    assert len(calls) <= 12


def test_whole_steps_are_spread_until_they_differ() -> None:
    calls: list[int] = []
    curve = lambda x: 0.9 - 0.1 * x  # noqa: E731
    found = find_crossing(_measure(curve, calls, step=0.5), 3.0, -10.0, BOUNDS, 0.57, 0.01)
    assert found is not None
    assert found.low <= 3.3 <= found.high
