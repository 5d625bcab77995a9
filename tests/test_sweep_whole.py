"""The smallest whole number that meets a target: the search itself, and spares."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mcettr
from mcettr.errors import ScenarioError
from mcettr.report.answer_text import solve_text
from mcettr.report.files import read_result, write_result
from mcettr.report.objects import run_object
from mcettr.report.run_text import run_text
from mcettr.report.sweep_text import sweep_text
from mcettr.sweep.effort import checked_effort
from mcettr.sweep.target import read_target
from mcettr.sweep.trials import Trials
from mcettr.sweep.vary import read_vary
from mcettr.sweep.whole import Least, least_whole, smallest

COUNT = "recovery.spares.count"
SPARES = {
    "job": {"gpus": 256, "gpus_per_node": 8, "work": "5 d", "horizon": "20 d"},
    "checkpoint": {"interval": "30 min", "write_time": "1 min"},
    "failures": {"node": {"rate": "30 / 1000 node-days"}},
    "recovery": {
        "startup": "5 min",
        "spares": {
            "count": 2,
            "swap": "2 min",
            "repair": {"quick": {"share": 0.5, "mean": "1 h"}, "slow": {"mean": "4 d"}},
        },
    },
}
SMALL: dict[str, Any] = {"timelines": 256}


def test_every_threshold_is_found_from_every_start() -> None:
    for threshold, start in itertools.product(range(-1, 23), range(3, 21)):
        asked: list[int] = []

        def meets(number: int, threshold: int = threshold, asked: list[int] = asked) -> bool:
            asked.append(number)
            return number >= threshold

        assert smallest(meets, start, 3, 20) == (None if threshold > 20 else max(threshold, 3))
        assert all(3 <= number <= 20 for number in asked)


def test_a_far_threshold_takes_few_steps() -> None:
    asked: list[int] = []
    assert smallest(lambda number: asked.append(number) or number >= 700, 2, 0, 10**6) == 700  # type: ignore[func-returns-value]
    assert len(asked) < 25


def made_up(slope: float, error: float, path: str = f"{COUNT}=0:64") -> Trials:
    """Return trials whose metric is 0.9 at 12 and rises from number to number."""
    job = mcettr.load(SPARES)
    trials = Trials(job, read_vary(job, path), read_target("ettr=0.9"), checked_effort(64, None, 0, "cpu", "jax"))

    def at(values: Any, effort: Any) -> tuple[Any, Any]:
        metric, errors = 0.9 + slope * (values - 12.0), np.full(values.shape, error)
        scale = np.sqrt(64 / effort.timelines)
        trials.note(values, metric, errors * scale, trials.params_at(values))
        return metric, errors * scale

    trials.at = at  # type: ignore[method-assign]
    return trials


def test_the_interval_holds_the_numbers_that_simulation_leaves_open() -> None:
    assert least_whole(made_up(0.01, 0.015), np.inf, 64) == Least(12, 10, 15)  # 1.96 x 0.015 is 2.94 steps
    assert least_whole(made_up(0.01, 0.0), np.inf, 64) == Least(12, 12, 12)
    assert least_whole(made_up(1e-4, 0.1), np.inf, 64) == Least(12, 0, 64)
    assert least_whole(made_up(0.01, 0.0, f"{COUNT}=0:11"), np.inf, 64) is None


def test_timelines_grow_until_the_error_is_small() -> None:
    trials = made_up(0.01, 0.015)
    assert least_whole(trials, 0.002, 10**6) == Least(12, 12, 13)
    assert trials.effort.timelines is not None
    assert trials.effort.timelines > 64 * 7**2
    assert max(point.ettr_se for point in trials.points) <= 0.002


@pytest.mark.parametrize(
    ("vary", "low", "high", "start"),
    [
        (COUNT, 0, 1024, 2),
        (f"{COUNT}=1:8", 1, 8, 2),
        (f"{COUNT}=5:8", 5, 8, 5),
        ("checkpoint.keep", 1, 1024, 1),
    ],
)
def test_ranges_of_whole_numbers(vary: str, low: int, high: int, start: int) -> None:
    field = read_vary(mcettr.load(SPARES), vary)
    assert (field.low, field.high, field.start, field.rising, field.unit) == (low, high, start, True, "1")


@pytest.mark.parametrize("span", ["0:1.5", "8:2", "-1:3", "3", "a:b", "4:4"])
def test_bad_ranges_are_refused(span: str) -> None:
    with pytest.raises(ScenarioError, match=r"spares\.count: expected whole numbers LOW:HIGH from 0 on"):
        read_vary(mcettr.load(SPARES), f"{COUNT}={span}")
    with pytest.raises(ScenarioError, match=r"write it like 'checkpoint\.keep=1:64'"):
        read_vary(mcettr.load(SPARES), "checkpoint.keep=0:3")


def test_more_spares_is_no_question_of_the_best() -> None:
    with pytest.raises(ScenarioError, match="more is always better"):
        mcettr.optimize(SPARES, vary=COUNT, timelines=64)


def test_spares_for_a_date() -> None:
    found = mcettr.solve(SPARES, vary=f"{COUNT}=0:64", target={"completion@5.5d": 0.8}, **SMALL)
    assert found.feasible
    assert found.value is not None
    assert found.value.low <= found.value.estimate <= found.value.high
    assert all(end == int(end) for end in (found.value.low, found.value.estimate, found.value.high))
    probability = {point.value: point.completion[0] for point in found.table if point.completion is not None}
    assert probability[found.value.estimate] >= 0.8 > probability[found.value.estimate - 1]
    text = " ".join(solve_text(found).split())
    assert f"{COUNT} = {found.value.estimate:g} (95 % interval" in text
    assert f"is met with {COUNT} from {found.value.estimate:g}" in text
    assert f"At {found.value.estimate:g}, run again on other draws: ETTR" in text
    assert "Tried, all on the same draws:" in text


def test_no_number_of_spares_is_enough() -> None:
    found = mcettr.solve(SPARES, vary=f"{COUNT}=0:8", target={"ettr": 0.99}, **SMALL)
    assert (found.value, found.feasible) == (None, False)
    assert "is met with no recovery.spares.count from 0 to 8" in found.reason


def test_a_sweep_over_spares_shows_what_they_are_for() -> None:
    result = mcettr.sweep(SPARES, {COUNT: [0, 4]}, **SMALL)
    waits = result.spare_wait_probability.fillna(result.spare_wait_probability_high).values
    assert waits[0] == 1.0 > waits[1]
    assert result.nodes_out_quantile.dims == result.longest_stretch_quantile.dims == ("count", "quantile")
    most, out = result.nodes_out_most_quantile, result.nodes_out_quantile
    assert ((most >= out) | out.isnull()).all()
    assert out.notnull().any()
    assert result.longest_stretch_quantile.min() >= 1860.0
    waited = result.time_fraction.sel(activity="spare_wait").values
    assert waited[0] > waited[1]
    assert "no spare" in sweep_text(result)


def test_one_job_shows_its_spares() -> None:
    result = mcettr.simulate(SPARES, **SMALL)
    tree, text = run_object(result), run_text(result)
    assert set(tree["spare_wait_probability"]) == set(tree["nodes_out_mean"]) == {"value", "se"}
    for name in ("nodes_out_quantile", "nodes_out_most_quantile", "longest_stretch_quantile_s"):
        assert {"0.5", "0.99", "0.999"} <= set(tree[name])
    for title in ("Recoveries that find no spare", "Nodes in repair", "spare_wait", "Longest time"):
        assert title in text
    plain = mcettr.simulate({**SPARES, "recovery": {"startup": "5 min"}}, timelines=64)
    assert "spare" not in run_text(plain)
    assert not {"spare_wait_probability", "nodes_out_quantile"} & set(run_object(plain))


@pytest.mark.parametrize("ending", [".nc", ".json"])
def test_results_with_spares_read_back(tmp_path: Path, ending: str) -> None:
    result = mcettr.sweep(SPARES, {COUNT: [0, 1024]}, **SMALL)
    write_result(result, tmp_path / f"spares{ending}")
    xr.testing.assert_allclose(read_result(tmp_path / f"spares{ending}"), result, rtol=1e-14)
