"""Renewals of worn or new parts against an independent solution on a lattice, exact cases and published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mcettr.model.renewal_density import HIGHEST_SHAPE, LOWEST_SHAPE, renewals


def on_a_lattice(shape: float, age: float, times: np.ndarray, points: int) -> np.ndarray:
    """Return the mean replacements of the process whose lives are rounded to a lattice, by generating functions."""
    step = times[-1] / points
    scale = 1.0 / math.gamma(1.0 + 1.0 / shape)
    edges = step * np.maximum(np.arange(points + 2) - 0.5, 0.0)
    survival = np.exp(-((edges / scale) ** shape))
    first = np.exp((age / scale) ** shape - ((age + edges) / scale) ** shape)
    shrink = np.exp(-25.0 * np.arange(points + 1) / points)  # keeps what wraps round below exp(-25)
    size = 4 * points
    life, left = (np.fft.rfft(-np.diff(s) * shrink, size) for s in (survival, first))
    each = np.fft.irfft(left / (1.0 - life), size)[: points + 1] / shrink
    # a point of the lattice stands for half a step on either side
    counts = np.cumsum(each) - 0.5 * each
    return np.interp(times, step * np.arange(points + 1), counts)


@pytest.mark.parametrize("shape", [LOWEST_SHAPE, 0.5, 0.7, 1.3, 2.0, HIGHEST_SHAPE])
@pytest.mark.parametrize("age", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("end", [0.1, 1.0, 8.0])
def test_right_to_one_in_ten_thousand(shape: float, age: float, end: float) -> None:
    times = end * np.array([0.3, 0.6, 1.0])
    found = renewals(shape, age, times.tolist())
    coarse, fine = (on_a_lattice(shape, age, times, 2**n) for n in (15, 17))
    uncertain = np.abs(fine - coarse)
    assert np.all(uncertain < 2e-3)
    assert found == pytest.approx(fine, abs=1e-4 + float(uncertain.max()))


def test_exponential_lives_have_no_age() -> None:
    times = [1e-9, 0.01, 3.0, 1e5]
    for age in (0.0, 1.0, 500.0):
        assert renewals(1.0, age, times) == pytest.approx(times, rel=1e-7)


def test_in_the_long_run_one_a_mean_life_and_half_the_excess_variance() -> None:
    for shape in (LOWEST_SHAPE, 0.7, 3.0, HIGHEST_SHAPE):
        squared_cv = math.gamma(1 + 2 / shape) / math.gamma(1 + 1 / shape) ** 2 - 1
        ahead = float(renewals(shape, 0.0, [1e4])[0]) - 1e4
        assert ahead == pytest.approx(0.5 * (squared_cv - 1), abs=0.02 if shape < 0.5 else 1e-3)


def test_a_burnt_in_fleet_in_its_first_week() -> None:
    week = 7 / 153.85
    assert 1000 * float(renewals(0.7, 0.0, [week])[0]) == pytest.approx(138.6, abs=0.05)
    # a week is short: nearly all failures are first ones, of parts that are 7 days old at most
    scale = 1 / math.gamma(1 + 1 / 0.7)
    first = -math.expm1(-((week / scale) ** 0.7))
    assert first < float(renewals(0.7, 0.0, [week])[0]) < first / (1 - first)


def test_old_parts_that_wear_out_go_first() -> None:
    fresh, old, ancient = (renewals(5.0, age, [0.1])[0] for age in (0.0, 1.0, 900.0))
    assert fresh < 1e-4 < old < 0.9 < ancient
    assert ancient == pytest.approx(1.0, abs=1e-3)  # replaced at once, and new parts last


def test_more_time_means_more_replacements() -> None:
    for shape in (0.3, 0.7, 2.0, 5.0):
        for age in (0.0, 0.3, 30.0):
            counts = renewals(shape, age, np.geomspace(1e-6, 1e4, 33).tolist())
            assert np.all(np.diff(counts, prepend=0.0) >= 0.0)
