"""Closed forms against published and derived values (validation.md)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from mcettr.model import analytic, renewal
from mcettr.model.distributions import Distribution, fixed
from tests.analytic_jobs import DAY, HOUR, MIN, job, restarting


def rate_of(n_nodes: float, per_1000_node_days: float) -> float:
    return n_nodes * per_1000_node_days / 1000 / DAY


V1_22_RATE = rate_of(1536, 6.5)


@pytest.mark.parametrize(
    ("n_nodes", "interval", "write", "restart", "wait", "prone", "free"),
    [
        pytest.param(2000, 60 * MIN, 0.0, 5 * MIN, 0.0, 0.7202, 0.7210, id="V1.1"),
        pytest.param(1000, 30 * MIN, 0.0, 5 * MIN, 60.0, 0.9089, 0.9092, id="V1.2"),
        pytest.param(1500, 7.02 * MIN, 10.0, 5 * MIN, 0.0, 0.9215, 0.9220, id="V1.3"),
        pytest.param(1500, 38.43 * MIN, 5 * MIN, 5 * MIN, 0.0, 0.7358, 0.7362, id="V1.4"),
        pytest.param(2048, 5 * MIN, 0.0, 5 * MIN, 0.0, 0.9329, 0.9339, id="V1.7"),
    ],
)
def test_long_run_value(
    n_nodes: float, interval: float, write: float, restart: float, wait: float, prone: float, free: float
) -> None:
    rate = rate_of(n_nodes, 6.5)
    failing = renewal.long_run_ettr(rate, interval, stall_s=write, restart_s=restart, downtime_s=wait)
    safe = renewal.long_run_ettr(rate, interval, stall_s=write, downtime_s=wait + restart)
    assert (failing, safe) == pytest.approx((prone, free), abs=5.1e-5)


def test_v1_22() -> None:
    failing = renewal.long_run_ettr(V1_22_RATE, 30 * MIN, stall_s=60.0, restart_s=10 * MIN, downtime_s=5 * MIN)
    safe = renewal.long_run_ettr(V1_22_RATE, 30 * MIN, stall_s=60.0, downtime_s=15 * MIN)
    assert (failing, safe) == pytest.approx((0.782240, 0.785747), abs=5.1e-7)
    params = job(V1_22_RATE, 30 * MIN, 60.0, work_s=30 * DAY, detection=fixed(5 * MIN), recovery=restarting(10 * MIN))
    assert analytic.ettr_of_job(params) == pytest.approx(0.7821, abs=5.1e-5)
    assert analytic.ettr(params) == analytic.ettr_of_job(params)


@pytest.mark.parametrize(
    ("mttf", "total_h", "best_min"), [(24 * HOUR, 547.9, 117), (6 * HOUR, 610.2, 57), (900, 2504, 9.2)]
)
def test_v1_9_daly(mttf: float, total_h: float, best_min: float) -> None:
    rate = 1 / mttf
    best = renewal.optimal_interval_s(rate, 5 * MIN)
    total = renewal.daly_completion_s(rate, 500 * HOUR, best, 5 * MIN, 10 * MIN)
    assert best / MIN == pytest.approx(best_min, rel=0.0053)
    assert renewal.daly_interval_s(rate, 5 * MIN) == pytest.approx(best, rel=0.003)
    assert total / HOUR == pytest.approx(total_h, rel=1e-4)
    # ours differs by the first start, the last interval and the restarts before the first save
    ours = renewal.completion_s(rate, 500 * HOUR, best, stall_s=5 * MIN, startup_s=10 * MIN)
    assert ours == pytest.approx(total, rel=5e-4)


def test_v1_11_background_write() -> None:
    rate = rate_of(2048, 3.79)
    value = renewal.long_run_ettr(rate, 5 * MIN, stall_s=10.0, write_time_s=310.0, restart_s=5 * MIN)
    assert value == pytest.approx(0.9043, abs=5.1e-5)


def test_v1_20_no_failures() -> None:
    assert renewal.long_run_ettr(0.0, 1000.0, stall_s=7.0) == pytest.approx(1000 / 1007, rel=1e-15)
    assert renewal.long_run_ettr(0.0, 1000.0, stall_s=2.0, write_time_s=22.0, slowdown=0.5) == pytest.approx(
        1000 / 1012
    )
    assert renewal.completion_s(0.0, 2500.0, 1000.0, stall_s=7.0, startup_s=5.0) == pytest.approx(2500 + 21 + 5)


@pytest.mark.parametrize("rate_times_u0", [0.0, 0.05, 0.15, 0.24])
@pytest.mark.parametrize("write_share", [0.0, 0.1, 0.25])
def test_v1_21_first_order_form_within_5_percent_in_its_range(rate_times_u0: float, write_share: float) -> None:
    half = np.linspace(0.005, 0.25 - rate_times_u0, 20)
    u0, interval = rate_times_u0, 2 * half
    exact = renewal.long_run_ettr(1.0, interval, stall_s=write_share * interval, restart_s=u0)
    first_order = renewal.hpca25_ettr(1.0, interval, write_share * interval, u0)
    np.testing.assert_allclose(first_order, exact, rtol=0.05)


def test_v1_23_write_time_for_a_target_and_ceiling() -> None:
    def write_for(target: float, restart: float, wait: float) -> float:
        def miss(write: float) -> float:
            best = renewal.optimal_interval_s(V1_22_RATE, write)
            return float(
                renewal.long_run_ettr(V1_22_RATE, best, stall_s=write, restart_s=restart, downtime_s=wait) - target
            )

        return optimize.brentq(miss, 1e-6, 1e4)

    assert write_for(0.85, 10 * MIN, 5 * MIN) == pytest.approx(14.8, abs=0.051)
    assert write_for(0.85, 0.0, 15 * MIN) == pytest.approx(17.1, abs=0.051)
    assert write_for(0.80, 0.0, 15 * MIN) == pytest.approx(64.1, abs=0.051)
    assert write_for(0.90, 0.0, 15 * MIN) == pytest.approx(0.178, abs=5.1e-4)
    assert write_for(0.90, 0.0, 5 * MIN) == pytest.approx(21.5, abs=0.051)
    prone = job(V1_22_RATE, detection=fixed(5 * MIN), recovery=restarting(10 * MIN))
    free = job(V1_22_RATE, detection=fixed(15 * MIN))
    assert analytic.ceiling(prone) == pytest.approx(0.9018, abs=5.1e-5)
    assert analytic.ceiling(free) == pytest.approx(0.9058, abs=5.1e-5)


def test_v1_24_no_progress_is_small_and_positive() -> None:
    values = renewal.long_run_ettr(1.0, np.array([5.0, 10.0, 50.0]))
    np.testing.assert_allclose(values, [0.034, 4.5e-4, 9.6e-21], rtol=0.01)
    assert renewal.long_run_ettr(1.0, 1e5) == 0.0
    assert renewal.completion_s(1.0, 1e5, 1e4, stall_s=1.0) == np.inf
    assert renewal.long_run_ettr(1.0, np.inf) == 0.0
    assert analytic.ettr(job(1.0, np.inf, work_s=1e5)) == 0.0


def test_v1_25_no_checkpoint() -> None:
    total = renewal.completion_s(1.0, 5.0, np.inf)
    assert total == pytest.approx(147.4, abs=0.05)
    assert 5.0 / total == pytest.approx(0.034, abs=5e-4)


def test_v1_26_repair_law_counts_by_its_mean() -> None:
    law = Distribution("lognormal", (222.0, 2.17))
    assert analytic.ceiling(job(1 / (3 * HOUR), detection=law)) == pytest.approx(0.82, abs=0.005)
    assert analytic.ceiling(job(1 / (3 * HOUR), detection=fixed(222.0))) == pytest.approx(0.98, abs=0.005)


def test_v2_meta_rsc() -> None:
    for gpus, hours in ((16_384, 1.80), (131_072, 0.225)):
        assert analytic.mttf_s(job(rate_of(gpus / 8, 6.5))) / HOUR == pytest.approx(hours, rel=2e-3)
    hourly, often = (renewal.long_run_ettr(rate_of(2000, 6.5), t * MIN, restart_s=5 * MIN) for t in (60, 5))
    assert hourly == pytest.approx(0.70, abs=0.03)
    assert often == pytest.approx(0.93, abs=0.01)
    for wait, expected in ((0.0, 0.94), (2 * MIN, 0.90)):
        value = renewal.long_run_ettr(rate_of(12_500, 2.34), 2 * MIN, restart_s=2 * MIN, downtime_s=wait)
        assert value == pytest.approx(expected, abs=0.005)
    for write, rate, expected in ((5 * MIN, 6.5, 0.74), (10.0, 6.5, 0.92), (5 * MIN, 1.0, 0.90)):
        assert best_ettr(rate_of(1500, rate), write) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("gpus", "exact", "first_order"), [(2048, 0.891, 0.8925), (4096, 0.846, 0.848)])
def test_v2_7_first_order_optimum(gpus: int, exact: float, first_order: float) -> None:
    rate = rate_of(gpus / 8, 6.5)
    params = job(rate, write_time_s=5 * MIN, recovery=restarting(2 * MIN, 3 * MIN))
    params = analytic.with_interval(params, analytic.young_interval_s(params))
    assert analytic.ettr_long_run(params) == pytest.approx(exact, abs=5.1e-4)
    assert analytic.hpca25_ettr(params) == pytest.approx(first_order, abs=5.1e-4)


def best_ettr(rate: float, write: float) -> float:
    best = renewal.optimal_interval_s(rate, write)
    return float(renewal.long_run_ettr(rate, best, stall_s=write, restart_s=5 * MIN))


@pytest.mark.parametrize(
    ("gpus", "row"),
    [
        (2_048, (0.988, 0.975, 0.947, 0.891)),
        (8_192, (0.965, 0.939, 0.886, 0.782)),
        (12_000, (0.952, 0.922, 0.858, 0.737)),
        (16_384, (0.938, 0.903, 0.831, 0.693)),
        (100_000, (0.722, 0.655, 0.528, 0.320)),
    ],
)
def test_requirement_grid(gpus: int, row: tuple[float, ...]) -> None:
    values = [best_ettr(rate_of(gpus / 8, 6.5), write) for write in (1.0, 10.0, 60.0, 300.0)]
    assert values == pytest.approx(row, abs=1e-3)


def test_pitfall_d1_interval_above_the_mttf() -> None:
    rate = 1 / (72 * HOUR / 512)
    assert renewal.long_run_ettr(rate, 15 * MIN) == pytest.approx(0.362, abs=5.1e-4)
    assert renewal.long_run_ettr(rate, 15 * MIN, stall_s=30.0, restart_s=300.0) == pytest.approx(0.186, abs=1.1e-3)
    assert renewal.hpca25_ettr(rate, 15 * MIN, 0.0, 0.0) == pytest.approx(0.111, abs=5.1e-4)
