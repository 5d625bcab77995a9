"""Compiling: scenario to SI numbers, and errors that name the value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcettr.errors import ScenarioError
from mcettr.model.distributions import Distribution, fixed, mean
from mcettr.model.params import Params
from mcettr.scenario import Grid, compile_grid, compile_params, load
from tests.scenario_numbers import BASE, leaves

DAY_S = 86_400.0


def params(**overrides: object) -> Params:
    return compile_params(load(BASE).replace({path.replace("__", "."): value for path, value in overrides.items()}))


def test_a_scenario_becomes_numbers() -> None:
    job = params()
    assert (job.n_gpus, job.work_s, job.horizon_s, job.horizon_given) == (1024.0, 30 * DAY_S, 60 * DAY_S, True)
    assert (job.checkpoint.interval_s, job.checkpoint.write_time_s, job.checkpoint.stall_s) == (1800.0, 60.0, 60.0)
    assert job.checkpoint.blocking
    (node,) = job.causes
    assert node.rate_per_s == pytest.approx(128 * 6.5e-3 / DAY_S, rel=1e-15)
    assert (node.kind, node.rate_shape, node.every) == ("crash", math.inf, None)
    assert (node.detection, node.diagnosis) == (fixed(300.0), fixed(60.0))
    assert job.recovery.startup == (("startup", fixed(180.0)),)
    assert all(type(leaf) is float for leaf in leaves(job))


def test_published_mttf_of_rsc1() -> None:
    for gpus, hours in ((16_384, 1.80), (131_072, 0.225)):
        rate_per_s = compile_params(load("rsc-1").replace({"job.gpus": gpus})).causes[0].rate_per_s
        assert 1 / rate_per_s / 3600 == pytest.approx(hours, abs=0.005)


@pytest.mark.parametrize(
    ("cause", "per_day"),
    [
        ({"rate": "0.2 / job-day"}, 0.2),
        ({"rate": "1 / 1000 gpu-days"}, 1.001),
        ({"rate": "1 / 1000 node-days"}, 0.126),
        ({"rate": "1 / 10 domain-days", "nodes_per_domain": 16}, 0.8),
        ({"mtbf": "1.8 h"}, 24 / 1.8),
        ({"every": {"uniform": ["45 min", "75 min"]}}, 0.0),
    ],
)
def test_rates_of_the_whole_job_round_nodes_and_domains_up(cause: dict[str, Any], per_day: float) -> None:
    job = params(job__gpus=1001, failures={"node": None, "x": cause})
    assert job.causes[0].rate_per_s * DAY_S == pytest.approx(per_day, rel=1e-12)


def test_counts_become_gamma_posteriors_that_share_the_half_event() -> None:
    exposure = "110592 node-days"
    causes = {
        "node": None,
        "gpu": {"count": 148, "exposure": exposure},
        "hbm": {"count": 72, "exposure": "2654208 node-hours"},
        "other": {"count": 199, "exposure": "110592.0 node-days"},
        "apart": {"count": 1, "exposure": "1000 gpu-days"},
    }
    job = params(job__gpus=16_384, failures=causes)
    shapes = [cause.rate_shape for cause in job.causes]
    assert shapes == pytest.approx([148 + 1 / 6, 72 + 1 / 6, 199 + 1 / 6, 1.5])
    total = sum(cause.rate_per_s for cause in job.causes[:3]) * 54 * DAY_S
    assert total == pytest.approx(419.5)


def test_uncertain_rates_need_a_horizon_of_the_users_own() -> None:
    scenario = load(BASE).replace({"failures.node.count": 3, "failures.node.exposure": "500 node-days"})
    assert compile_params(scenario).causes[0].rate_shape == 3.5
    with pytest.raises(ScenarioError, match="horizon"):
        compile_params(scenario.replace({"job.horizon": None}))


def test_work_in_gpu_hours_and_the_implicit_horizon() -> None:
    job = params(job__work="1e6 gpu-hours", job__horizon=None)
    assert job.work_s == pytest.approx(1e6 / 1024 * 3600)
    assert job.horizon_s == 1000 * job.work_s
    assert not job.horizon_given
    assert params(job__work=None).work_s == math.inf


def test_stall_follows_the_write_time() -> None:
    half = params(checkpoint__stall="50 %").checkpoint
    assert (half.stall_s, half.blocking) == (30.0, False)
    assert params(checkpoint__stall="5 s", checkpoint__slowdown="10 %").checkpoint.slowdown == 0.1
    grid = compile_grid(load(BASE).replace({"checkpoint.stall": "10 %"}), {"checkpoint.write_time": ["10 s", "100 s"]})
    assert grid.params.checkpoint.stall_s.tolist() == [1.0, 10.0]


def test_write_and_restore_from_size_and_bandwidth() -> None:
    overrides = {
        "checkpoint.parameters": "405e9",
        "checkpoint.bytes_per_parameter": 12,
        "checkpoint.storage_bandwidth": "1 TB/s",
        "checkpoint.node_bandwidth": "2 GB/s",
        "checkpoint.latency": "2 s",
        "recovery.read_bandwidth": "100 GB/s",
    }
    grid = compile_grid(load(BASE).replace(overrides), {"job.gpus": [800, 8000]})
    assert grid.params.checkpoint.write_time_s == pytest.approx([4860 / 200 + 2, 4.86 + 2])
    assert mean(grid.params.recovery.restore) == pytest.approx([48.6 + 2, 48.6 + 2])


def test_no_checkpoint_section_means_no_save_but_the_last() -> None:
    job = compile_params(load({"job": {"gpus": 8, "work": "1 d"}}))
    assert (job.checkpoint.interval_s, job.checkpoint.write_time_s, job.causes) == (math.inf, 0.0, ())
    assert params(checkpoint__interval="never").checkpoint.interval_s == math.inf


def test_auto_interval_is_the_closed_optimum() -> None:
    grid = compile_grid(load(BASE).replace({"checkpoint.interval": "auto"}), {"job.gpus": [1024, 16_384]})
    assert grid.auto_interval
    rate = 128 * 6.5e-3 / DAY_S * np.array([1, 16])
    interval = grid.params.checkpoint.interval_s
    # the derivative of (exp(rate (T + C)) - 1) / T vanishes at the optimum
    assert rate * interval == pytest.approx(1 - np.exp(-rate * (interval + 60.0)), rel=1e-9)
    assert not compile_grid(load(BASE), {}).auto_interval


def test_auto_interval_where_the_closed_form_is_a_starting_value_only() -> None:
    job = params(checkpoint__interval="auto", failures__node__detection="never")
    assert 0 < job.checkpoint.interval_s < math.inf


def test_contradictions_of_one_scenario_name_file_and_line(tmp_path: Any) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("job: {gpus: 8, work: 1 d}\ncheckpoint:\n  interval: 1 h\n  write_time: 10 s\n  stall: 1 min\n")
    with pytest.raises(ScenarioError, match=r"bad\.yaml:5: checkpoint\.stall: expected at most the write time"):
        compile_params(load(path))


def test_warnings_carry_their_consequence() -> None:
    plain: Grid = compile_grid(load(BASE), {})
    assert plain.warnings == ()
    mistaken = compile_grid(load(BASE).replace({"failures.node.rate": "0.0065 / 1000 node-days"}), {})
    assert "421 years per node" in mistaken.warnings[0]
    unused = compile_grid(load(BASE).replace({"checkpoint.parameters": "405e9"}), {})
    assert "no effect" in unused.warnings[0]
    some = compile_grid(load(BASE), {"failures.node.rate": ["0.0065 / 1000 node-days", "6.5 / 1000 node-days"]})
    assert "(cell rate=0.0065 / 1000 node-days; 1 of 2 cells)" in some.warnings[0]
    between = compile_grid(
        load(BASE)
        .replace({"failures": None})
        .replace({"failures.x": {"count": 1_000_000, "exposure": "9 node-days"}, "job.horizon": "90 d"}),
        {},
    )
    assert between.warnings[0].startswith("failures.x: implausibly high")


def test_part_of_a_node_is_told_once() -> None:
    grid = compile_grid(load(BASE), {"job.gpus": [1024, 1023, 1021], "job.work": ["10 d", "20 d"]})
    assert grid.warnings == ("job.gpus: 1,023 GPUs fill 127.9 nodes of 8: the last node counts as a whole one",)
    assert compile_grid(load(BASE), {"job.gpus": [8, 16]}).warnings == ()


def test_phases_keep_their_names_and_order() -> None:
    job = params(recovery__startup={"image": "450 s", "communicator": {"gamma": {"mean": "1 min", "cv": 1}}})
    assert job.recovery.startup == (("image", fixed(450.0)), ("communicator", Distribution("gamma", (60.0, 1.0))))
    grid = compile_grid(
        load(BASE).replace({"recovery.startup": {"a": "1 s", "b": "2 s"}}), {"recovery.startup.b": ["3 s", "4 s"]}
    )
    assert grid.params.recovery.startup[1][1].values[0].tolist() == [3.0, 4.0]


@given(st.integers(1, 10**5), st.integers(1, 10**4), st.sampled_from([("s", "min", 60), ("h", "d", 24)]))
def test_time_units_scale(write: int, rate: int, units: tuple[str, str, int]) -> None:
    small, large, ratio = units
    shared = {"job__work": "9999 d", "job__horizon": "99999 d", "checkpoint__interval": "10000 d"}
    one = {
        "checkpoint__write_time": f"{write * ratio} {small}",
        "failures__node__rate": f"{rate} / {ratio} node-{small}",
    }
    other = {"checkpoint__write_time": f"{write} {large}", "failures__node__rate": f"{rate} / node-{large}"}
    assert params(**shared, **one) == params(**shared, **other)
