"""The optional sections of recovery and of the fleet: every name is read and compiled to its number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mcettr.model.counts import exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Params
from mcettr.model.physics import (
    Maintenance,
    ReplicaGroups,
    Spares,
    StartFailure,
)
from mcettr.scenario import compile_grid, compile_params, load
from tests.scenario_sections import BASE, DAY_S, HOUR_S, cause, params, tree


def test_starts_fail_scale_and_fetch_images() -> None:
    recovery = params(
        "recovery: {startup: {image: {time: 450 s, when: replaced}, communicator: {time_per_1024_nodes: {uniform:"
        " [20 s, 40 s]}}, compile: {time: 4 min}, launch: 10 s}, max_attempt: 7 d, data_fast_forward: 0.001,"
        " start_failure: {probability: 0.1, max_attempts: 3, escalation: {exponential: {mean: 4 h}}}}"
    ).recovery
    uniform = Distribution("uniform", (40.0, 80.0))
    assert recovery.startup == (("communicator", uniform), ("compile", fixed(240.0)), ("launch", fixed(10.0)))
    assert recovery.startup_if_replaced == (("image", fixed(450.0)),)
    assert recovery.start_failure == StartFailure(0.1, 3.0, Distribution("exponential", (4 * HOUR_S,)))
    assert (recovery.max_attempt_s, recovery.data_fast_forward) == (7 * DAY_S, 0.001)
    assert params(recovery__start_failure={"probability": 0.1}).recovery.start_failure == StartFailure(0.1)


def test_spares_and_their_repair() -> None:
    two = "{quick: {share: 0.7, mean: 1 h}, slow: {mean: 2 d}}"
    rest = "repair_failure: 0.05, when_exhausted: shrink, min_nodes: 1400"
    spares = params(f"recovery: {{spares: {{count: 12, swap: 2 min, repair: {two}, {rest}}}}}").recovery.spares
    assert spares == Spares(12.0, 120.0, 0.7, HOUR_S, 2 * DAY_S, 0.05, 1400.0, "shrink")
    assert spares is not None
    assert type(spares.count) is float
    one = Spares(3.0, 0.0, 0.0, DAY_S, DAY_S)
    for repair in ("1 d", {"exponential": {"mean": "1 d"}}):
        assert params(recovery__spares={"count": 3, "repair": repair}).recovery.spares == one
    endless = params("recovery: {spares: {count: unlimited, repair: 1 d}}").recovery.spares
    assert endless == Spares(math.inf, 0.0, 0.0, DAY_S, DAY_S)


def test_replica_groups_and_maintenance() -> None:
    groups = params("recovery: {replica_groups: {count: 8, rejoin: 30 s, reconfigure: 10 s}}").recovery.replica_groups
    assert groups == ReplicaGroups(8.0, 10.0, fixed(30.0))
    planned = params("maintenance: {every: 30 d, duration: 4 h, notice: 1 h}").maintenance
    assert planned == Maintenance(30 * DAY_S, 4 * HOUR_S, HOUR_S)


def test_health_checks() -> None:
    checks = """
    failures: {node: {rate: 4 / 1000 node-days, repeat: {probability: 0.25, mean_time: 2 h}},
               straggler: {kind: slow, slowdown: 0.25, rate: 0.3 / job-day, detection: 6 h}}
    lemons: {cause: node, fraction: 0.012, multiplier: 30}
    health_checks:
      preflight: {duration: 5 min, catch_probability: {node: 0.5, lemon: 0.8}}
      periodic: {every: 5 min, catch_probability: {straggler: 0.5}, false_positive_rate: 0.1 / 1000 node-days}
    """
    job = params(checks)
    assert job.recovery.startup == (("startup", fixed(180.0)), ("preflight", fixed(300.0)))
    assert job.check_every_s == 300.0
    by_name = {one.name: one for one in job.causes}
    assert [one.caught_in_preflight for one in job.causes] == [0.5, None, None, None]
    assert [one.caught_in_check for one in job.causes] == [None, None, 0.5, None]
    assert list(by_name)[-1] == "health-check"
    alarm = Cause(
        "health-check", pytest.approx(2048 * 1e-4 / DAY_S), "preemption", notice_s=math.inf, nodes_lost=exactly(1.0)
    )
    assert by_name["health-check"] == alarm
    quiet = params(health_checks__periodic={"every": "5 min"})
    assert [one.name for one in quiet.causes] == ["node", "software"]


def test_a_fleet_of_mixed_ages_has_the_plain_rate() -> None:
    for age in ("", ", fleet_age: stationary"):
        made = cause(f"{{lifetime: {{weibull: {{shape: 0.7, mean: 900 d}}}}{age}}}")
        assert (made.exposure, made.profile) == ("node", None)
        assert made.rate_per_s == pytest.approx(2048 / (900 * DAY_S))
    racks = cause("{lifetime: {weibull: {shape: 2, scale: 900 d}}, nodes_per_domain: 16}")
    assert racks.exposure == "domain"
    assert racks.rate_per_s == pytest.approx(128 / (900 * DAY_S * math.gamma(1.5)))


def expected_failures(job: Params, until_s: float) -> float:
    made = job.causes[-1]
    assert made.profile is not None
    ends = np.minimum([*made.profile.starts_s[1:], math.inf], until_s)
    spans = np.maximum(ends - np.minimum(made.profile.starts_s, until_s), 0.0)
    return float(made.rate_per_s * np.dot(spans, made.profile.multipliers))


def test_a_fresh_fleet_fails_more_often_at_first() -> None:
    psu = {"lifetime": {"weibull": {"shape": 0.7, "mean": "153.85 d"}}, "fleet_age": "0 d"}
    for horizon in ("7 d", "70 d"):
        job = params(failures__psu=psu, job__gpus=8000, job__horizon=horizon)
        tolerance = 1e-3 if horizon == "7 d" else 0.02
        assert expected_failures(job, 7 * DAY_S) == pytest.approx(138.6, rel=tolerance)
    assert job.causes[-1].rate_per_s * 7 * DAY_S == pytest.approx(45.5, abs=0.01)
    profile = job.causes[-1].profile
    assert profile is not None
    assert len(profile.starts_s) == 32
    assert list(profile.multipliers) == sorted(profile.multipliers, reverse=True)
    old = params(failures__psu={**psu, "fleet_age": "100 d"}, job__gpus=8000, job__horizon="7 d")
    assert 45.5 * 0.7 < expected_failures(old, 7 * DAY_S) < 45.5


def test_lives_sweep_like_any_number() -> None:
    psu = {"lifetime": {"weibull": {"shape": 0.7, "mean": "153.85 d"}}, "fleet_age": "0 d"}
    scenario = load(tree(BASE)).replace({"failures.psu": psu})
    axes = {"failures.psu.fleet_age": ["0 d", "30 d"], "failures.psu.lifetime.weibull.shape": [0.7, 1, 3]}
    grid = compile_grid(scenario, axes)
    for index in np.ndindex(grid.shape):
        cell = {path: values[i] for (path, values), i in zip(axes.items(), index, strict=True)}
        alone = compile_params(scenario.replace(cell)).causes[-1].profile
        swept = grid.params.causes[-1].profile
        assert alone is not None
        assert swept is not None
        assert [float(m[index]) for m in swept.multipliers] == pytest.approx(list(alone.multipliers), rel=1e-12)
    assert [float(m[0, 1]) for m in grid.params.causes[-1].profile.multipliers] == pytest.approx([1.0] * 32)
