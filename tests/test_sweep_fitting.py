"""Intervals of two tiers fit each other: a search tries multiples of the local one, or whole parts of the main one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mcettr
from mcettr.errors import ScenarioError
from mcettr.sweep.vary import read_vary

MAIN, LOCAL = "checkpoint.interval", "checkpoint.local.interval"
TIERS: dict[str, Any] = {
    "job": {"gpus": 4096, "work": "5 d", "horizon": "20 d"},
    "checkpoint": {
        "interval": "1 h", "write_time": "4 min", "stall": "30 s",
        "local": {"interval": "5 min", "write_time": "20 s", "restore": "20 s", "survives_node_losses": 1},
    },
    "failures": {"node": {"rate": "12 / 1000 node-days", "nodes_lost": 1}, "switch": {"mtbf": "1 d", "nodes_lost": 4}},
    "recovery": {"startup": "5 min", "restore": "2 min"},
}  # fmt: skip
N = 256
PARTS = 60 / np.array([1, 2, 3, 4, 5, 6, 10, 12])


def local_ettr() -> np.ndarray:
    values = [f"{value:.17g} min" for value in PARTS]
    return mcettr.sweep(TIERS, {LOCAL: values}, timelines=N).ettr.values


def test_the_longest_local_interval_that_meets_a_target_is_that_of_a_sweep() -> None:
    ettr = local_ettr()
    for at in (1, 2, 3):
        target = 0.5 * (ettr[at - 1] + ettr[at])  # met by the local interval number `at`, and by no longer one
        found = mcettr.solve(TIERS, vary=LOCAL, target={"ettr": target}, timelines=N)
        assert found.value is not None
        assert found.value.estimate == pytest.approx(60.0 * PARTS[at], rel=1e-11)
        assert found.value.low <= found.value.estimate <= found.value.high
        mcettr.load(TIERS).replace({LOCAL: f"{found.value.estimate!r} s"})


def test_the_best_local_interval_is_one_that_fits() -> None:
    found = mcettr.optimize(TIERS, vary=LOCAL, timelines=N)
    assert found.value is not None
    for value in (found.value.estimate, found.value.low, found.value.high):
        assert 3600.0 / value == pytest.approx(round(3600.0 / value), rel=1e-9)
    assert found.ettr > local_ettr().max() - 0.003


def test_main_intervals_are_multiples_of_the_local_one() -> None:
    best = mcettr.optimize(TIERS, vary=MAIN, timelines=N)
    assert best.value is not None
    span, target = f"{MAIN}={best.value.estimate} s:3 d", best.ettr - 0.03
    found = mcettr.solve(TIERS, vary=span, target={"ettr": target}, timelines=N)
    assert found.value is not None
    values = [point.value for point in found.table + best.table]
    np.testing.assert_allclose(np.array(values) / 300.0, np.round(np.array(values) / 300.0), rtol=1e-12)
    longer = mcettr.sweep(TIERS, {MAIN: [f"{found.value.estimate + more} s" for more in (0.0, 300.0)]}, timelines=N)
    assert longer.ettr[0] >= target > longer.ettr[1]


def test_text_of_parts_says_how_many() -> None:
    vary = read_vary(mcettr.load(TIERS), LOCAL)
    assert [vary.text(3600.0 / n) for n in (1, 7, 12)] == ["60 min", "8.57 min (60 min / 7)", "5 min"]
    assert [vary.count(3600.0 / n) for n in (1, 7)] == [-1, -7]
    np.testing.assert_allclose(vary.allowed(np.array([1.0, 500.0, 1e6])), [vary.low, 3600.0 / 7.0, 3600.0], rtol=1e-11)


@pytest.mark.parametrize(
    ("vary", "what"),
    [
        (f"{MAIN}=61 min:64 min", "a multiple of checkpoint.local.interval (5 min)"),
        (f"{LOCAL}=31 min:50 min", "a whole part of checkpoint.interval (60 min)"),
    ],
)
def test_a_range_without_such_a_value_is_refused(vary: str, what: str) -> None:
    with pytest.raises(ScenarioError, match="expected a range that holds") as refused:
        read_vary(mcettr.load(TIERS), vary)
    assert what in str(refused.value)
