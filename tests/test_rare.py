"""What few timelines have seen: bounds in place of numbers, and no stop before the errors are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcettr
from mcettr.engine.rare import FEW_TIMELINES, binomial_quantile, few_beyond
from mcettr.report.objects import plain, run_object
from mcettr.report.run_text import run_text
from tests.repeated import Z95

CASES = Path(__file__).parent / "cases"
EXACT = [0.8914517566, 0.8770636403, 0.8631319881]
"""ETTR of disaster.yaml at 30, 60 and 90 s, in closed form."""


@pytest.fixture(scope="module")
def disaster() -> Any:
    return mcettr.simulate(mcettr.load(str(CASES / "disaster.yaml")), timelines=640, deadlines=["5 d", "6 d"])


def test_a_sweep_does_not_stop_before_a_rare_cause_is_seen() -> None:
    axes = {"checkpoint.write_time": ["30 s", "60 s", "90 s"]}
    found = mcettr.sweep(mcettr.load(str(CASES / "disaster.yaml")), axes)
    assert (found.timelines >= 500_000).all()  # 12 million would bring 0.001, and a run has at most 1,048,576
    assert (np.abs(found.ettr - EXACT) <= 3.0 * found.ettr_se).all()
    assert ((found.ettr_se > 0.002) & (found.ettr_se < 0.005)).all()
    assert "standard error of ettr above 0.001" in found.attrs["warnings"]
    few = mcettr.sweep(mcettr.load(str(CASES / "disaster.yaml")), axes, timelines=640)
    assert (np.abs(few.ettr - EXACT) <= Z95 * few.ettr_se).all()
    assert (few.ettr_se > 0.1).all()


def test_one_cause_has_the_error_of_all() -> None:
    job = mcettr.load(str(CASES / "by_cause_errors.yaml")).replace({"job.work": "5 d"})
    found = mcettr.simulate(job, timelines=128)
    assert float(found.interruptions) == pytest.approx(62.31, abs=0.01)
    assert float(found.interruptions_se) == pytest.approx(0.858, abs=0.001)
    by_cause = found.interruptions_by_cause_se.sel(cause="node")
    assert float(by_cause) == pytest.approx(float(found.interruptions_se), rel=1e-9)


def test_errors_are_those_of_any_number_of_cells() -> None:
    job = mcettr.load(str(CASES / "by_cause_errors.yaml")).replace({"job.work": "5 d", "recovery.queue_wait": "1 min"})
    alone = mcettr.simulate(job, timelines=256)
    many = mcettr.sweep(job, {"checkpoint.write_time": [f"{i} s" for i in range(55, 65)]}, timelines=256)
    cell = many.sel(write_time=60.0)
    for name in ("interruptions_by_cause_se", "lost_gpu_hours_se", "ettr_se"):
        np.testing.assert_allclose(alone[name], cell[name], rtol=1e-9, err_msg=name)


def test_what_was_not_seen_is_a_bound(disaster: Any) -> None:
    number = disaster.sel(cause="disaster")
    assert np.isnan(number.interruptions_by_cause)
    assert float(number.interruptions_by_cause_low) == 0.0
    assert float(number.interruptions_by_cause_high) == pytest.approx(-np.log(0.05) / 640)  # the rule of three
    assert np.isnan(number.lost_gpu_hours.sel(activity=["detection", "startup"])).all()
    assert (number.lost_gpu_hours.sel(activity=["queue", "diagnosis", "maintenance"]) == 0.0).all()  # cannot be
    assert np.isnan(disaster.completion_probability.sel(deadline=5 * 86400.0))
    assert float(disaster.completion_high.sel(deadline=5 * 86400.0)) < 0.01


def test_json_has_null_and_bounds(disaster: Any) -> None:
    tree = plain(run_object(disaster))
    assert tree["interruptions_by_cause"]["disaster"] == {
        "value": None,
        "se": None,
        "low": 0.0,
        "high": pytest.approx(0.00468, abs=1e-5),
    }
    assert set(tree["interruptions_by_cause"]["node"]) == {"value", "se"}
    assert tree["completion_time_s"]["0.99"] is None
    assert tree["completion_time_low_s"]["0.99"] < tree["completion_time_high_s"]["0.99"]
    assert tree["completion"]["5 d"]["probability"] is None
    assert tree["capped_high"] == pytest.approx(0.00467, abs=1e-5)
    json.dumps(tree, allow_nan=False)


def test_text_has_bounds(disaster: Any) -> None:
    lines = {line.split("  ")[0].strip(): line for line in run_text(disaster, 120).splitlines()}
    assert lines["99%"].split()[-4:-1] != []
    assert " to " in lines["99%"]
    assert lines["disaster"].split()[1:] == ["-", "-", "0", "-", "-", "-"]
    assert "nan" not in run_text(disaster, 120)


def test_the_999th_of_1000_needs_20000_timelines() -> None:
    flags = few_beyond(np.array([64.0, 20_000.0]), (0.001, 0.5, 0.999))
    assert flags.tolist() == [[True, False, True], [False, False, False]]
    assert FEW_TIMELINES == 20


def test_waits_for_spares_that_nearly_never_happen_are_a_bound() -> None:
    job = mcettr.load(str(CASES / "disaster.yaml")).replace(
        {"failures.disaster": None, "recovery.spares": {"count": 3, "swap": "1 min", "repair": "12 h"}}
    )
    found = mcettr.simulate(job, timelines=64)
    assert np.isnan(found.spare_wait_probability)
    assert np.isnan(found.spare_wait_probability_se)
    assert 0.0 <= float(found.spare_wait_probability_low) < float(found.spare_wait_probability_high) < 0.2
    assert "< " in next(line for line in run_text(found).splitlines() if "find no spare" in line)


def test_the_binomial_quantile_is_that_of_scipy() -> None:
    from scipy import stats

    n = np.array([1, 2, 3, 17, 64, 1000, 4096, 1_048_576], np.float64)[:, None, None]
    p = np.array([1e-6, 0.001, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999])[:, None]
    for share in (0.025, 0.5, 0.975):
        wanted = stats.binom.ppf(share, n, p)
        np.testing.assert_array_equal(binomial_quantile(share, n, p), wanted)
