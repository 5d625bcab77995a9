"""The small inputs of tests/cases about nodes, notices and corruption: right by hand, and the same in both engines."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcettr
from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.engine.run import Effort, estimate
from mcettr.model.counts import exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import Maintenance, ReplicaGroups, Spares
from mcettr.report.objects import run_object
from mcettr.report.run_text import run_text
from mcettr.scenario import load
from mcettr.scenario.compile import compile_params
from tests import independent
from tests.lanes import jax_timelines
from tests.physics import at, job
from tests.speed import often
from tests.statistical import assert_ratio, assert_same_mean
from tests.test_cross_physics import compare

CASES = Path(__file__).parent / "cases"
HOUR, DAY, INF = 3600.0, 86_400.0, float("inf")
SEED = 5
SPARE_WAIT = 6
"""Column of the lost time."""


def case(name: str, **changes: Any) -> Params:
    return compile_params(load(CASES / f"{name}.yaml").replace(changes))


@cache
def fast(params: Params, n: int) -> Timelines:
    return jax_timelines(params, SEED, 0, n)


def same(params: Params, n: int) -> None:
    """Fail unless the engines agree on `n` timelines."""
    compare(simulate_timelines(params, SEED, 0, n), jax_timelines(params, SEED, 0, n))


def test_a_repair_begins_when_the_node_is_known() -> None:
    params = case("repair_begins")
    same(params, 8)
    lives = fast(params, 1024)
    waited_s = lives.lost_s[:, 1, SPARE_WAIT]
    assert_ratio(waited_s, lives.n_swaps, 48 * HOUR, detectable=4 * HOUR, what="wait for the repaired node")


def test_a_repair_goes_on_in_the_wait_that_the_horizon_cuts() -> None:
    # Three nodes fail after 100 s, are known at 150, and are in repair for 80 s on average while the swap goes on.
    drill = at("drill", 100.0, nodes_lost=exactly(3.0), detection=fixed(20.0), diagnosis=fixed(30.0))
    params = job(drill, spares=Spares(9.0, 1e6, 1.0, 80.0, 1.0), n_nodes=9.0, horizon_s=400.0)
    same(params, 8)
    mean = 3.0 * 80.0 * -math.expm1(-250.0 / 80.0) / 400.0
    assert_same_mean(fast(params, 8192).nodes_out, mean, detectable=0.08, what="nodes out")


def test_nodes_of_a_failure_that_nobody_finds_never_go_to_repair() -> None:
    params = case("nodes_out", **{"failures.node.detection": "never"})
    same(params, 8)
    lives = fast(params, 128)
    assert lives.interruptions.sum() > 100
    assert (lives.nodes_out_most == 0).all()
    assert (lives.nodes_out == 0).all()


def test_nodes_out_where_a_hundredth_of_the_failures_is_never_found() -> None:
    same(case("nodes_out"), 48)


@pytest.mark.parametrize("policy", often(["wait", "queue", "groups"], "groups"))
def test_a_chain_that_windows_and_failures_cut_is_the_same_in_both(policy: Any) -> None:
    slow = Distribution("mixture", (0.9, 0.1), (Distribution("exponential", (2 * HOUR,)), fixed(INF)))
    causes = (
        Cause("node", 1 / (3 * HOUR), nodes_lost=exactly(2.0), detection=slow, diagnosis=fixed(600.0)),
        Cause("rest", 1 / (9 * HOUR), exposure="job", detection=fixed(900.0), nodes_lost=exactly(1.0)),
    )
    groups = ReplicaGroups(4.0, 60.0, fixed(600.0)) if policy == "groups" else None
    spares = Spares(6.0, 120.0, 0.7, 6 * HOUR, 2 * DAY, when_exhausted="queue" if policy == "queue" else "wait")
    recovery = Recovery(fixed(300.0), (("start", fixed(1800.0)),), fixed(60.0), spares=spares, replica_groups=groups)
    params = Params(
        8.0, INF, 6 * DAY, Checkpoint(1800.0, 60.0, 60.0), causes, recovery, n_nodes=32.0,
        maintenance=Maintenance(DAY / 2, 2 * HOUR),
    )  # fmt: skip
    same(params, 24)
    lives = fast(params, 128)
    assert (lives.nodes_out_most > 2).mean() > 0.5
    assert np.ptp(lives.nodes_out) > 0


def never_found(rate_per_s: float, horizon_s: float) -> Params:
    cause = Cause("sdc", rate_per_s, "silent", detection=fixed(INF))
    crash = Cause("crash", 1 / (6 * HOUR))
    return job(cause, crash, horizon_s=horizon_s, plan=Checkpoint(600.0, 0.0, 0.0), startup=(("start", fixed(60.0)),))


@pytest.mark.slow
def test_kept_work_is_corrupt_from_the_first_strike_on_that_nobody_finds() -> None:
    # A strike comes after an exponential amount of work, and everything kept beyond it is corrupt, crashes or not.
    rate, params = 1 / (8 * HOUR), never_found(1 / (8 * HOUR), DAY)
    same(params, 8)
    lives, second = fast(params, 4096), independent.simulate(params, 1200, seed=3, n_nodes=1)
    others = (second.activity_s["productive"], second.corrupt_s, 2 * HOUR, "corrupt work, simulated otherwise")
    for kept_s, corrupt_s, detectable, what in ((lives.productive_s, lives.corrupt_s, HOUR, "corrupt work"), others):
        clean_s = -np.expm1(-rate * kept_s) / rate
        off_s = corrupt_s - (kept_s - clean_s)
        assert_same_mean(off_s, 0.0, detectable=detectable, what=what)


def test_a_rollback_to_before_the_strike_leaves_nothing_corrupt() -> None:
    # The strike is in the first interval, whose save is never made: each crash goes back to the start.
    cause = Cause("sdc", 1e-2, "silent", detection=fixed(INF))
    params = job(cause, at("crash", 900.0), horizon_s=900.5, plan=Checkpoint(1000.0, 0.0, 0.0))
    for lives in (simulate_timelines(params, SEED, 0, 4), fast(params, 4)):
        assert (lives.corrupt_s == 0).all()
    pending = job(cause, at("crash", 900.0), horizon_s=950.0, plan=Checkpoint(600.0, 0.0, 0.0))
    same(pending, 64)
    assert (fast(pending, 64).corrupt_s > 500.0).mean() > 0.4


def test_kept_but_corrupt_says_so_beside_the_ettr() -> None:
    scenario = load(CASES / "kept_but_corrupt.yaml")
    found = mcettr.simulate(scenario, timelines=64)
    assert float(found.ettr) == pytest.approx(0.998, abs=0.002)
    assert float(found.corrupt_fraction) > 0.85
    assert float(found.ettr_correct) == pytest.approx(float(found.ettr) * (1 - float(found.corrupt_fraction)), rel=1e-9)
    assert 0 < float(found.corrupt_fraction_se) < 0.1
    assert float(found.ettr_correct_se) > 0
    tree = run_object(found)
    assert {"ettr_correct", "corrupt_fraction"} <= set(tree)
    assert "Share of the kept work that is corrupt" in run_text(found)
    slow = estimate(compile_params(scenario), Effort(timelines=64, engine="reference"))
    for name in ("corrupt_fraction", "ettr_correct"):
        assert slow.values[name][0] == pytest.approx(float(found[name]), rel=1e-9)
        assert slow.se[name][0] == pytest.approx(float(found[f"{name}_se"]), rel=1e-9)
    plain = mcettr.simulate(scenario.replace({"failures.sdc.kind": "crash"}), timelines=64)
    assert not {"corrupt_fraction", "ettr_correct"} & (set(plain.data_vars) | set(run_object(plain)))


def test_groups_that_share_a_rate_are_the_units_of_the_corrupt_share() -> None:
    scenario = load(CASES / "kept_but_corrupt.yaml").replace({"failures.sdc.uncertainty.cv": 0.5})
    found = mcettr.simulate(scenario, timelines=64)
    assert 0.8 < float(found.corrupt_fraction) < 1
    assert 0 < float(found.ettr_correct) < 0.2
    assert 0 < float(found.corrupt_fraction_se) < 0.1


def lemon_failures(at_start: float, incoming: float) -> float:
    """Return the mean number of failures: no lemon ever leaves; one may replace a healthy node that fails."""
    n, rate, multiplier, days = 1024.0, 0.01, 21.0, 30.0
    turned = rate * incoming * days
    healthy_days = n * (1.0 - at_start) * days * (-math.expm1(-turned) / turned if turned else 1.0)
    return rate * (multiplier * n * days - (multiplier - 1.0) * healthy_days)


@pytest.mark.parametrize("sensitivity", often([0, 1], 0))
def test_lemons_at_the_submission_are_not_screened_unless_asked(sensitivity: int) -> None:
    incoming = 0.08 * (1 - sensitivity)
    for asked, at_start in ((False, 0.08), (True, incoming)):
        fields = {"lemons.screening_sensitivity": sensitivity, "lemons.screening_at_start": asked}
        params = case("lemons_screened", **fields)
        same(case("lemons_screened", **fields, **{"checkpoint.interval": "6 h"}), 2)
        failures = fast(params, 512).interruptions[:, 0]
        mean = lemon_failures(at_start, incoming)
        assert_same_mean(failures, mean, detectable=30.0, what=f"failures, screened at the start: {asked}")


def test_a_preemption_without_notice_never_saves() -> None:
    # A lease of 8 h holds one save of 4.981 h, and a preemption follows within minutes: five times, then the rest.
    params = case("no_notice_no_write_time")
    same(params, 8)
    lives = fast(params, 256)
    assert (lives.interruptions == 5).all()
    assert (lives.n_saves == 7).all()
    assert lives.productive_s.sum() / lives.elapsed_s.sum() == pytest.approx(0.6635, abs=0.001)
    noticed = fast(case("no_notice_no_write_time", **{"failures.urgent.notice": "1 s"}), 256)
    assert noticed.productive_s.sum() / noticed.elapsed_s.sum() > 0.9999


@pytest.mark.parametrize("write_time", ["0 s", "1 s"])
def test_a_lease_shields_from_what_would_stop_the_job_each_minute(write_time: str) -> None:
    params = case("lease_shields", **{"checkpoint.write_time": write_time})
    same(params, 8)
    lives = fast(params, 256)
    assert (lives.interruptions == 5).all()
    assert lives.productive_s.sum() / lives.elapsed_s.sum() == pytest.approx(0.6632, abs=0.0003)


@pytest.mark.parametrize("notice_s", [0.0, 1.0])
def test_maintenance_without_notice_never_saves(notice_s: float) -> None:
    params = job(
        plan=Checkpoint(300.0, 0.0, 0.0), horizon_s=2000.0, maintenance=Maintenance(1000.0, 10.0, notice_s)
    )  # fmt: skip
    for lives in (simulate_timelines(params, SEED, 0, 16), fast(params, 16)):
        assert (lives.lost_s[:, 2, 1] > 0).any() == (notice_s == 0.0)


@pytest.mark.slow
def test_requeue_gives_the_queue_back_to_a_job_with_spares() -> None:
    def queue_share(**changes: Any) -> float:
        found = mcettr.simulate(load(CASES / "queue_and_spares.yaml").replace(changes), timelines=128)
        return float(found.time_fraction.sel(activity="queue"))

    assert queue_share() < 0.005
    without = queue_share(**{"recovery.spares": None})
    assert without == pytest.approx(0.134, abs=0.004)
    assert queue_share(**{"recovery.requeue": "always"}) == pytest.approx(without, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["wait", "queue", "groups"])
def test_requeue_is_the_same_in_both(policy: Any) -> None:
    causes = (
        Cause("node", 1 / (3 * HOUR), nodes_lost=exactly(1.0)),
        Cause("rest", 1 / (9 * HOUR), exposure="job"),
        Cause("slow", 1 / (9 * HOUR), "slow", slowdown=0.1, detection=fixed(HOUR), nodes_lost=exactly(1.0)),
    )
    groups = ReplicaGroups(4.0, 60.0, fixed(600.0)) if policy == "groups" else None
    when = "queue" if policy == "queue" else "wait"
    spares = Spares(2.0, 120.0, 0.7, 6 * HOUR, DAY, when_exhausted=when, requeues=True)
    queue = Distribution("exponential", (900.0,))
    recovery = Recovery(
        queue, (("start", fixed(600.0)),), fixed(60.0), spares=spares, replica_groups=groups, max_attempt_s=DAY / 3
    )
    params = Params(
        8.0, INF, 6 * DAY, Checkpoint(1800.0, 60.0, 60.0), causes, recovery, n_nodes=32.0,
        maintenance=Maintenance(DAY / 2, 2 * HOUR),
    )  # fmt: skip
    same(params, 24)
    second, lives = independent.simulate(params, 200, seed=4, n_nodes=32), fast(params, 1024)
    queue_s = second.activity_s["queue"] / HOUR
    assert_same_mean(queue_s, lives.lost_s[:, :, 7].sum(axis=1) / HOUR, detectable=2.0, what="hours in the queue")
