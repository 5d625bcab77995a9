"""The fast engine against exact values (validation.md) at an alpha of 1e-7 an assertion.

The formula is written out here once more: with failures at a total rate r during starts and training, an interval T
with a write C costs e^(r R) (1 / r + D) (e^(r (T + C)) - 1) in mean; R is the restart before it and D the downtime.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from mcettr.engine.reference import Timelines
from mcettr.engine.run import Effort, estimate
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Checkpoint, Params
from tests import jobs
from tests.jobs import DAY, HOUR, INF, MIN
from tests.lanes import jax_timelines
from tests.statistical import assert_ratio, assert_same_counts, assert_same_distribution, assert_same_mean

POINT = 0.01


def rate_of(n_nodes: float, per_1000_node_days: float = 6.5) -> float:
    return n_nodes * per_1000_node_days / 1000.0 / DAY


def best_interval_s(rate: float, write_s: float) -> float:
    return float(1.0 + special.lambertw(-math.exp(-rate * write_s - 1.0)).real) / rate


def mean_s(rate: float, n: int, interval_s: float, write_s: float, restart_s: float, downtime_s: float) -> float:
    """Return the mean time to `n` saved intervals when every restart takes `restart_s` (there is no restore)."""
    per_interval = math.exp(rate * restart_s) * math.expm1(rate * (interval_s + write_s))
    return (1.0 / rate + downtime_s) * (math.expm1(rate * restart_s) + n * per_interval)


def check_ettr(
    ettr: float,
    n_nodes: float,
    interval_s: float,
    write_s: float,
    restart_s: float,
    downtime_s: float = 0.0,
    r: float = 6.5,
    rounding: float = 5.1e-5,
    detectable: float = 0.2 * POINT,
) -> None:
    """Fail unless the engine's ratio over 20 days of work is `ettr`, a long-run value rounded to `rounding`."""
    rate = rate_of(n_nodes, r)
    n = math.ceil(20 * DAY / interval_s)
    params = jobs.plain(
        rate, work_s=n * interval_s, interval_s=interval_s, write_s=write_s, startup_s=restart_s, detection_s=downtime_s
    )
    exact = n * interval_s / mean_s(rate, n, interval_s, write_s, restart_s, downtime_s)
    assert exact == pytest.approx(ettr, abs=rounding + 0.002)  # ends of the job
    lives = jax_timelines(params, 11, 0, 6 * 1024)
    assert_ratio(lives.productive_s, lives.elapsed_s, exact, detectable=detectable, what="ettr")


@pytest.mark.parametrize(
    ("n_nodes", "interval_s", "write_s", "restart_s", "wait_s", "prone", "free"),
    [
        pytest.param(2000, 60 * MIN, 0.0, 5 * MIN, 0.0, 0.7202, 0.7210, id="V1.1"),
        pytest.param(1000, 30 * MIN, 0.0, 5 * MIN, 60.0, 0.9089, 0.9092, id="V1.2"),
        pytest.param(1500, 7.02 * MIN, 10.0, 5 * MIN, 0.0, 0.9215, 0.9220, id="V1.3"),
        pytest.param(1500, 38.43 * MIN, 5 * MIN, 5 * MIN, 0.0, 0.7358, 0.7362, id="V1.4"),
        pytest.param(2048, 5 * MIN, 0.0, 5 * MIN, 0.0, 0.9329, 0.9339, id="V1.7"),
    ],
)
def test_v1_long_run(
    n_nodes: float, interval_s: float, write_s: float, restart_s: float, wait_s: float, prone: float, free: float
) -> None:
    check_ettr(prone, n_nodes, interval_s, write_s, restart_s, wait_s)
    check_ettr(free, n_nodes, interval_s, write_s, 0.0, wait_s + restart_s)


def test_the_oracle_bites() -> None:
    rate = rate_of(2000)
    numbers = {"work_s": 480 * HOUR, "interval_s": HOUR, "startup_s": 5 * MIN}
    exact = numbers["work_s"] / mean_s(rate, 480, HOUR, 0.0, 5 * MIN, 0.0)
    biased = jax_timelines(jobs.plain(rate, **(numbers | {"startup_s": 5 * MIN + 16.0})), 11, 0, 6 * 1024)
    with pytest.raises(AssertionError, match="standard errors"):  # 0.25 points less
        assert_ratio(biased.productive_s, biased.elapsed_s, exact, detectable=0.2 * POINT, what="a planted bias")


@pytest.mark.parametrize(
    ("mtbf_s", "interval_s", "total_h"), [(DAY, 117, 547.9), (6 * HOUR, 57, 610.2), (900, 9.2, 2504)]
)
def test_v1_9_daly(mtbf_s: float, interval_s: float, total_h: float) -> None:
    params = jobs.plain(
        1.0 / mtbf_s, work_s=500 * HOUR, interval_s=interval_s * MIN, write_s=5 * MIN, startup_s=10 * MIN
    )
    lives = jax_timelines(params, 12, 0, 8 * 1024)
    # Printed to four digits; the first start adds at most half an hour, which the source leaves out.
    assert_same_mean(
        lives.elapsed_s / HOUR, total_h, detectable=0.006 * total_h, slack=0.0015 * total_h, what="completion time"
    )


def test_v1_11_background_saves() -> None:
    rate, interval_s, stall_s, durable_s, restart_s = rate_of(2048, 3.79), 5 * MIN, 10.0, 5 * MIN, 5 * MIN
    exact = rate * interval_s * math.exp(-rate * (durable_s + restart_s)) / math.expm1(rate * (interval_s + stall_s))
    assert exact == pytest.approx(0.9043, abs=5.1e-5)
    params = jobs.background(
        rate, work_s=30 * DAY, interval_s=interval_s, write_s=stall_s + durable_s, stall_s=stall_s, startup_s=restart_s
    )
    lives = jax_timelines(params, 13, 0, 4 * 1024)
    assert_ratio(lives.productive_s, lives.elapsed_s, exact, detectable=0.1 * POINT, slack=3e-4, what="ettr")


@pytest.mark.parametrize("params", [jobs.plain(0.0), jobs.background(0.0)], ids=["blocking", "background"])
def test_v1_20_without_failures(params: Params) -> None:
    plan = replace(params.checkpoint, interval_s=1800.0, write_time_s=60.0, stall_s=60.0)
    lives = jax_timelines(replace(params, work_s=100 * 1800.0, checkpoint=plan), 0, 0, 64)
    np.testing.assert_allclose(lives.productive_s / lives.elapsed_s, 1800 / 1860, rtol=1e-12)
    assert (lives.n_saves == 100).all()


@pytest.mark.parametrize(("n_nodes", "interval_s", "write_s"), [(256, 3000.0, 60.0), (1024, 1800.0, 30.0)])
def test_v1_21_first_order_formula(n_nodes: float, interval_s: float, write_s: float) -> None:
    rate, restart_s = rate_of(n_nodes), 5 * MIN
    assert rate * (restart_s + interval_s / 2) <= 0.25
    first_order = (1.0 - rate * (restart_s + interval_s / 2)) / (1.0 + write_s / interval_s)
    params = jobs.plain(rate, work_s=20 * DAY, interval_s=interval_s, write_s=write_s, startup_s=restart_s)
    lives = jax_timelines(params, 14, 0, 1024)
    assert_ratio(lives.productive_s, lives.elapsed_s, first_order, detectable=0.01, slack=0.05, what="first order")


def test_v1_22_the_benchmark() -> None:
    rate = rate_of(1536)
    numbers = {"work_s": 30 * DAY, "interval_s": 30 * MIN, "write_s": MIN}
    exact = 30 * DAY / mean_s(rate, 1440, 30 * MIN, MIN, 10 * MIN, 5 * MIN)
    assert exact == pytest.approx(0.7821, abs=5.1e-5)
    lives = jax_timelines(jobs.plain(rate, **numbers, startup_s=10 * MIN, detection_s=5 * MIN), 15, 0, 8 * 1024)
    assert_ratio(lives.productive_s, lives.elapsed_s, exact, detectable=0.1 * POINT, what="ettr")
    # at-risk time is all but detection, and every failure but none other costs a detection
    at_risk_s = lives.elapsed_s - lives.lost_s[:, 1, ACTIVITIES.index("detection")]
    assert_ratio(lives.interruptions[:, 0], at_risk_s * rate, 1.0, detectable=0.005, what="failures per hazard")
    safe = jax_timelines(jobs.plain(rate, **numbers, detection_s=15 * MIN), 15, 0, 8 * 1024)
    assert_ratio(
        safe.productive_s, safe.elapsed_s, 0.785747, detectable=0.1 * POINT, slack=2e-4, what="ettr, safe start"
    )


@pytest.mark.parametrize(("write_s", "ettr", "rounding"), [(14.8, 0.85, 2e-4), (0.0, 0.9018, 6e-5)])
def test_v1_23_the_write_time_for_a_target(write_s: float, ettr: float, rounding: float) -> None:
    interval_s = best_interval_s(rate_of(1536), write_s) if write_s else 1.0
    check_ettr(ettr, 1536, interval_s, write_s, 10 * MIN, 5 * MIN, rounding=rounding)


def test_v1_24_intervals_beyond_the_mtbf() -> None:
    lives = jax_timelines(jobs.plain(1e-3, work_s=5e3, interval_s=5e3), 16, 0, 12 * 1024)
    assert_ratio(lives.productive_s, lives.elapsed_s, 5 / math.expm1(5), detectable=0.003, what="ettr at 5 M")
    for multiple, least in ((10, 0.0), (50, 1.0)):
        work_s = multiple * 1e3
        result = estimate(
            jobs.plain(1e-3, work_s=work_s, interval_s=work_s, horizon_s=1e3 * work_s), Effort(timelines=64)
        )
        assert 0.0 <= result.values["ettr"][0] < 1e-3
        assert 1.0 - result.finished_fraction[0] >= least  # "never finishes", in bounded time


def test_v1_25_no_checkpoint() -> None:
    work_s, horizon_s = 5e3, 50e3
    lives = jax_timelines(jobs.plain(1e-3, work_s=work_s), 17, 0, 24 * 1024)
    assert_same_mean(lives.elapsed_s / 1e3, math.expm1(5), detectable=8.0, what="elapsed, in M")
    assert_same_mean(lives.productive_s / lives.elapsed_s, 0.107, detectable=0.01, slack=5e-4, what="mean of ratios")
    cut = jax_timelines(jobs.plain(1e-3, work_s=work_s, horizon_s=horizon_s), 18, 0, 24 * 1024)
    done = (cut.outcome == Outcome.DONE).sum()
    assert_same_counts([done, cut.outcome.size - done], [0.274, 0.726], detectable=0.06, what="done by 50 M")
    whole = (lives.elapsed_s <= horizon_s).sum()
    assert_same_counts([whole, cut.outcome.size - whole], [0.274, 0.726], detectable=0.06, what="done by 50 M, uncut")


def test_v1_26_repair_time_law() -> None:
    # What is waited for in a timeline with one failure is one draw of the law.
    law = Distribution("lognormal", (222.0, 2.17))
    params = jobs.three_causes(
        (Distribution("exponential", (1.0,)), law, Distribution("gamma", (9.0, 0.5))),
        queue=Distribution("exponential", (1e-9,)),
        startup=fixed(0.0),
        restore=fixed(0.0),
        rates_per_s=(0.0, 1e-3, 0.0),
        work_s=1e3,
        interval_s=1e2,
        write_s=0.0,
    )
    lives = jax_timelines(params, 19, 0, 48 * 1024)
    waited_s = lives.lost_s[:, 2, ACTIVITIES.index("detection")]
    one = lives.interruptions[:, 1] == 1
    assert_same_distribution(waited_s[one], stats.lognorm(2.17, scale=222.0).cdf, detectable=0.04, what="repair time")


@pytest.mark.parametrize(("n_nodes", "mttf_h"), [(2048, 1.80), (16384, 0.225)])
def test_v2_1_mttf(n_nodes: float, mttf_h: float) -> None:
    lives = jax_timelines(jobs.plain(rate_of(n_nodes), horizon_s=100 * HOUR), 20, 0, 8 * 1024)
    n = lives.interruptions[:, 0]
    assert_same_mean(n, 100 / mttf_h, detectable=0.02 * 100 / mttf_h, slack=0.003 * 100 / mttf_h, what="failures")


@pytest.mark.parametrize(
    ("ettr", "n_nodes", "interval_s", "write_s", "restart_s", "wait_s", "r", "rounding"),
    [
        pytest.param(0.7202, 2000, 60 * MIN, 0.0, 5 * MIN, 0.0, 6.5, 5.1e-5, id="V2.2 hourly"),
        pytest.param(0.93, 2000, 5 * MIN, 0.0, 5 * MIN, 0.0, 6.5, 0.01, id="V2.2 every 5 min"),
        pytest.param(0.94, 12500, 2 * MIN, 0.0, 2 * MIN, 0.0, 2.34, 0.01, id="V2.5"),
        pytest.param(0.90, 12500, 2 * MIN, 0.0, 2 * MIN, 2 * MIN, 2.34, 0.01, id="V2.5 with a queue"),
        pytest.param(0.737, 1500, None, 5 * MIN, 5 * MIN, 0.0, 6.5, 5.1e-4, id="V2.6"),
        pytest.param(0.922, 1500, None, 10.0, 5 * MIN, 0.0, 6.5, 5.1e-4, id="V2.6 fast write"),
        pytest.param(0.90, 1500, None, 5 * MIN, 5 * MIN, 0.0, 1.0, 0.01, id="V2.6 rare failures"),
        pytest.param(0.891, 256, None, 5 * MIN, 5 * MIN, 0.0, 6.5, 5.1e-4, id="V2.7 2,048 GPUs"),
        pytest.param(0.846, 512, None, 5 * MIN, 5 * MIN, 0.0, 6.5, 1.1e-3, id="V2.7 4,096 GPUs"),
        pytest.param(0.320, 12500, None, 5 * MIN, 5 * MIN, 0.0, 6.5, 5.1e-4, id="grid 100,000 GPUs, 5 min"),
        pytest.param(0.886, 1024, None, 1 * MIN, 5 * MIN, 0.0, 6.5, 5.1e-4, id="grid 8,192 GPUs, 1 min"),
        pytest.param(0.933, 2048, None, 10.0, 5 * MIN, 0.0, 3.79, 5.1e-4, id="V3.2 5 min"),
        pytest.param(0.908, 2048, None, 10.0, 10 * MIN, 0.0, 3.79, 5.1e-4, id="V3.2 10 min"),
    ],
)
def test_published_settings(
    ettr: float,
    n_nodes: float,
    interval_s: float | None,
    write_s: float,
    restart_s: float,
    wait_s: float,
    r: float,
    rounding: float,
) -> None:
    interval_s = interval_s or best_interval_s(rate_of(n_nodes, r), write_s)
    check_ettr(ettr, n_nodes, interval_s, write_s, restart_s, wait_s, r, rounding, detectable=0.4 * POINT)


def test_v3_1_failures_of_llama_3() -> None:
    rate = rate_of(2048, 3.79)
    known = jax_timelines(jobs.plain(rate, horizon_s=54 * DAY), 21, 0, 4096).interruptions[:, 0]
    assert_same_mean(known, 419.0, detectable=4.0, slack=0.2, what="failures")
    inside = ((known >= 379) & (known <= 459)).sum()
    assert inside / known.size == pytest.approx(0.95, abs=0.02)
    uncertain = jax_timelines(jobs.plain(rate, horizon_s=54 * DAY, rate_shape=419.5), 21, 0, 64 * 1024)
    groups = uncertain.interruptions[:, 0].reshape(-1, 16)
    spread = 1.96 * math.sqrt(groups[:, 0].var())
    assert spread == pytest.approx(58.0, abs=2.5)
    assert_same_mean(groups.mean(axis=1), 419.0, detectable=4.0, slack=0.2, what="failures, uncertain rate")


def test_v3_3_a_blocking_minute_cannot_reach_90_percent() -> None:
    rate = rate_of(2048, 3.79)
    for scale in (0.5, 1.0, 2.0):
        interval_s = scale * best_interval_s(rate, MIN)
        lives = jax_timelines(
            jobs.plain(rate, work_s=20 * DAY, interval_s=interval_s, write_s=MIN, startup_s=MIN), 22, 0, 1024
        )
        assert 0.85 < lives.productive_s.sum() / lives.elapsed_s.sum() < 0.90


@pytest.mark.parametrize(("startup_s", "ettr"), [(600.0, 0.444), (180.0, 0.833)])
def test_v3_6_a_stop_every_18_minutes(startup_s: float, ettr: float) -> None:
    # A weibull law of huge shape is the fixed 18 min to 1e-6, in the structure that is compiled anyway.
    params = jobs.drills(
        Distribution("weibull", (1080.0, 1e7)),
        0.0,
        work_s=INF,
        plan=Checkpoint(1.0, 0.0, 0.0, 0.0, blocking=False),
        startup_s=startup_s,
        restore_s=0.0,
        horizon_s=200 * 1080.0,
    )
    lives: Timelines = jax_timelines(params, 0, 0, 64)
    undetected_s = lives.elapsed_s - lives.lost_s[:, 1, ACTIVITIES.index("detection")]
    np.testing.assert_allclose(lives.productive_s / undetected_s, ettr, atol=0.0055)
