"""The independent simulator against hand-worked timelines and closed forms, so that it can serve as an oracle."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint
from tests.independent import GROUP, simulate
from tests.independent_cases import INF, assert_budget_closes, blamed, blocking, drill, job
from tests.independent_laws import draw_duration
from tests.statistical import assert_same_counts, assert_same_distribution, assert_same_mean


def test_without_failures() -> None:
    lives = simulate(job(100.0, blocking(40.0, 1.0), startup_s=8.0, queue_s=3.0, restore_s=5.0), 1, seed=0)
    assert blamed(lives) == {("start", "queue"): 3.0, ("start", "startup"): 8.0, ("checkpoint", "checkpoint"): 3.0}
    assert lives.saves[0] == 3  # the last one after a short interval of 20 s
    assert lives.finish_s[0] == lives.elapsed_s[0] == 114.0


def test_resuming_pays_a_restore_at_the_first_start() -> None:
    params = replace(job(100.0, blocking(40.0, 1.0), restore_s=5.0), resumes=1.0)
    assert blamed(simulate(params, 1, seed=0))["start", "restore"] == 5.0


@pytest.mark.parametrize("interval_s", [0.1, 0.3, 1 / 7])
def test_work_in_whole_intervals_has_no_empty_last_save(interval_s: float) -> None:
    assert simulate(job(7 * interval_s, blocking(interval_s, 0.01)), 1, seed=0).saves[0] == 7


def test_background_writes_that_fit() -> None:
    # 10 s at full speed; three times 1 s of stall, 4 s of background at speed 3/4 (3 s of work) and 7 s at full speed;
    # then the last write with nothing left to compute.
    lives = simulate(job(40.0, Checkpoint(10.0, 5.0, 1.0, 0.25, False)), 1, seed=0)
    assert lives.saves[0] == 4
    assert lives.elapsed_s[0] == pytest.approx(10.0 + 3 * 12.0 + 5.0)
    assert lives.activity_s["checkpoint"][0] == pytest.approx(3 * 2.0 + 5.0)


def test_background_writes_that_stretch_the_interval() -> None:
    # Saves at work 5, 14, 23 (each write holds 9 s of work, more than an interval); the third write is waited for when
    # the work ends at 30; then the last save.
    lives = simulate(job(30.0, Checkpoint(5.0, 20.0, 2.0, 0.5, False)), 1, seed=0)
    assert lives.saves[0] == 4
    assert lives.elapsed_s[0] == pytest.approx(5.0 + 4 * 20.0)
    assert lives.activity_s["checkpoint"][0] == pytest.approx(55.0)


def test_slowdown_1_is_a_blocking_save() -> None:
    lives = simulate(job(30.0, Checkpoint(10.0, 6.0, 1.0, 1.0, False)), 1, seed=0)
    assert lives.elapsed_s[0] == 48.0
    assert lives.activity_s["checkpoint"][0] == 18.0


@pytest.mark.parametrize(
    ("strike_s", "rework_s", "checkpoint_s", "restore_s", "undurable_s"),
    [
        pytest.param(17.0, 7.0, 0.0, 0.0, 2.0, id="training"),
        pytest.param(21.5, 10.0, 1.5, 0.0, 2.0, id="stall"),
        pytest.param(24.0, 11.0, 3.0, 0.0, 2.0, id="background"),
        pytest.param(28.0, 4.0, 4.0, 2.0, 0.0, id="durable"),
        pytest.param(37.0, 10.0, 7.0, 2.0, 0.0, id="last-save"),
    ],
)
def test_a_save_in_flight_is_lost(
    strike_s: float, rework_s: float, checkpoint_s: float, restore_s: float, undurable_s: float
) -> None:
    # Startup to 10, work 10 at 20, stall to 22, half speed to 26 (durable, work 12), work 20 at 34, last save to 40.
    # The horizon comes 12 s after the strike: 10 s of startup, then 2 s of restore or else of training.
    plan, cause = Checkpoint(10.0, 6.0, 2.0, 0.5, False), drill("drill", strike_s)
    lives = simulate(job(20.0, plan, cause, horizon_s=strike_s + 12.0, startup_s=10.0, restore_s=4.0), 1, seed=0)
    expected = {
        ("drill", "rework"): rework_s,
        ("drill", "startup"): 10.0,
        ("drill", "restore"): restore_s,
        ("start", "startup"): 10.0,
        ("checkpoint", "checkpoint"): checkpoint_s,
        ("horizon", "rework"): undurable_s,
    }
    assert blamed(lives) == pytest.approx({key: value for key, value in expected.items() if value})
    assert not lives.finished[0]
    assert lives.finish_s[0] == INF
    assert_budget_closes(lives)


def test_a_failure_in_a_restart_begins_the_chain_anew() -> None:
    # At risk 0-12; a; startup 17-21; b (16 s at risk); startup 22-30; a again (24 s at risk); startup from 36, cut.
    causes = drill("a", 12.0, detection_s=4.0, diagnosis_s=1.0), drill("b", 16.0, detection_s=1.0)
    lives = simulate(job(1e3, blocking(50.0, 1.0), *causes, horizon_s=40.0, startup_s=10.0), 1, seed=0)
    assert blamed(lives) == {
        ("a", "rework"): 2.0,
        ("a", "detection"): 8.0,
        ("a", "diagnosis"): 2.0,
        ("a", "startup"): 9.0,
        ("b", "detection"): 1.0,
        ("b", "startup"): 8.0,
        ("start", "startup"): 10.0,
    }
    assert lives.interruptions.tolist() == [[2, 1]]


def test_a_hang_that_nobody_finds() -> None:
    lives = simulate(job(100.0, blocking(40.0, 1.0), drill("hang", 30.0, INF), horizon_s=500.0), 1, seed=0)
    assert blamed(lives) == {("hang", "rework"): 30.0, ("hang", "detection"): 470.0}


def test_done_at_the_very_horizon_is_done() -> None:
    assert simulate(job(100.0, blocking(40.0, 1.0), horizon_s=103.0), 1, seed=0).finished[0]
    assert not simulate(job(100.0, blocking(40.0, 1.0), horizon_s=102.9), 1, seed=0).finished[0]


@pytest.mark.parametrize(("startup_s", "ettr"), [(600.0, 0.444), (180.0, 0.833)])
def test_a_stop_every_18_minutes(startup_s: float, ettr: float) -> None:
    params = job(INF, blocking(7.0, 0.0), drill("stop", 1080.0), horizon_s=20 * 1080.0, startup_s=startup_s)
    lives = simulate(params, 1, seed=0)
    assert lives.activity_s["productive"][0] / lives.elapsed_s[0] == pytest.approx(ettr, abs=0.005)


def test_what_is_left_of_an_every_clock_survives_other_failures() -> None:
    causes = drill("drill", 500.0, detection_s=50.0), Cause("crash", 1 / 300.0)
    lives = simulate(job(INF, blocking(100.0, 1.0), *causes, horizon_s=1e4, startup_s=30.0, queue_s=20.0), 20, seed=0)
    at_risk_s = lives.elapsed_s - sum(lives.activity_s[name] for name in ("detection", "diagnosis", "queue"))
    assert lives.interruptions[:, 0].tolist() == (at_risk_s // 500.0).astype(int).tolist()
    assert_budget_closes(lives)


def test_mean_time_with_blocking_saves() -> None:
    rate, n, interval_s, write_s, startup_s, restore_s, down_s = 1 / 4000.0, 20, 600.0, 30.0, 120.0, 80.0, 60.0
    cause = Cause("crash", rate, detection=fixed(0.4 * down_s), diagnosis=fixed(0.6 * down_s))
    params = job(n * interval_s, blocking(interval_s, write_s), cause, startup_s=startup_s, restore_s=restore_s)
    lives = simulate(params, 2_000, seed=1)
    grow = math.expm1(rate * (interval_s + write_s))
    first = math.exp(rate * startup_s) * grow + math.expm1(rate * startup_s)
    later = (n - 1) * math.exp(rate * (startup_s + restore_s)) * grow
    expected_s = (1 / rate + down_s) * (first + later)
    assert_same_mean(lives.elapsed_s, expected_s, detectable=0.03 * expected_s, what="elapsed")
    with pytest.raises(AssertionError, match="standard errors"):  # a write 30 s longer would show
        assert_same_mean(lives.elapsed_s, expected_s + 1.05 * n * 30.0, detectable=0.03 * expected_s, what="bias")
    assert_budget_closes(lives)


def test_mean_time_with_background_saves() -> None:
    # Renewal value of the long run, seen as the difference between a long and a short job, so that ends cancel.
    rate, interval_s, stall_s, durable_s, restart_s = 1 / 2000.0, 600.0, 20.0, 150.0, 100.0
    plan = Checkpoint(interval_s, stall_s + durable_s, stall_s, 0.0, False)
    long, short = (
        simulate(job(n * interval_s, plan, Cause("crash", rate), startup_s=70.0, restore_s=30.0), 1_000, seed=n)
        for n in (25, 5)
    )
    ettr = rate * interval_s * math.exp(-rate * (durable_s + restart_s)) / math.expm1(rate * (interval_s + stall_s))
    expected_s = 20 * interval_s / ettr
    assert_same_mean(
        long.elapsed_s - short.elapsed_s, expected_s, detectable=0.06 * expected_s, what="elapsed of 20 intervals"
    )
    assert_budget_closes(long)


def test_nodes_fail_as_one_exponential_and_causes_in_proportion() -> None:
    causes = tuple(Cause(name, rate, "hang", detection=fixed(INF)) for name, rate in (("a", 0.03), ("b", 0.01)))
    lives = simulate(job(INF, blocking(INF, 1.0), *causes, horizon_s=1e9), 5_000, seed=3, n_nodes=4)
    survived_s = lives.elapsed_s - lives.activity_s["detection"]
    assert_same_distribution(survived_s, stats.expon(scale=25.0).cdf, detectable=0.065, what="first failure")
    assert_same_counts(lives.interruptions.sum(axis=0), [3, 1], detectable=0.12, what="causes")


def test_uncertain_rates_are_shared_by_groups() -> None:
    n_groups, mean, shape = 250, 3.0, 4.0
    cause = Cause("crash", mean / 1e3, rate_shape=shape)
    lives = simulate(job(INF, blocking(INF, 1.0), cause, horizon_s=1e3), n_groups * GROUP, seed=4, n_nodes=1)
    counts = lives.interruptions[:, 0].reshape(n_groups, GROUP).sum(axis=1)
    law = stats.nbinom(shape, shape / (shape + GROUP * mean))  # a gamma mixture of Poisson laws
    assert_same_distribution(counts, law.cdf, detectable=0.3, what="failures of a group")


def _quantiles_cdf(t: NDArray[np.float64]) -> Any:
    # knots (z, ln t): (-1, 0), (0, 2), (2, 3)
    log_t = np.log(t)
    return stats.norm.cdf(np.where(log_t < 2.0, 0.5 * log_t - 1.0, 2.0 * log_t - 4.0))


LAWS: dict[str, tuple[Distribution, Any]] = {
    "exponential": (Distribution("exponential", (5.0,)), stats.expon(scale=5.0).cdf),
    "lognormal": (Distribution("lognormal", (5.0, 1.5)), stats.lognorm(1.5, scale=5.0).cdf),
    "gamma": (Distribution("gamma", (5.0, 0.5)), stats.gamma(4.0, scale=1.25).cdf),
    "weibull": (Distribution("weibull", (5.0, 0.7)), stats.weibull_min(0.7, scale=5.0).cdf),
    "uniform": (Distribution("uniform", (5.0, 8.0)), stats.uniform(5.0, 3.0).cdf),
    "quantiles": (Distribution("quantiles", (-1.0, 0.0, 2.0, 0.0, 2.0, 3.0)), _quantiles_cdf),
    "mixture": (
        Distribution("mixture", (0.3, 0.7), (Distribution("uniform", (0.0, 1.0)), Distribution("exponential", (4.0,)))),
        lambda t: 0.3 * np.clip(t, 0.0, 1.0) + 0.7 * stats.expon(scale=4.0).cdf(t),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_durations_follow_their_laws(name: str) -> None:
    law, cdf = LAWS[name]
    rng = np.random.default_rng(list(LAWS).index(name))
    draws = [draw_duration(law, rng) for _ in range(8_000)]
    assert_same_distribution(draws, cdf, detectable=0.05, what=name)
