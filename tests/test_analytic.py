"""Closed forms against published and derived values (validation.md), and what they must never do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from mcettr.errors import AnalyticError
from mcettr.model import analytic, renewal
from mcettr.model.counts import exactly
from mcettr.model.distributions import Distribution, fixed, mean
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Maintenance,
    Profile,
    Repeat,
    ReplicaGroups,
    Retention,
    Spares,
    StartFailure,
)

MIN, HOUR, DAY = 60.0, 3600.0, 86400.0
NEVER = fixed(float("inf"))


def rate_of(n_nodes: float, per_1000_node_days: float) -> float:
    return n_nodes * per_1000_node_days / 1000 / DAY


V1_22_RATE = rate_of(1536, 6.5)


def job(
    rate_per_s: Any = 1e-4,
    interval_s: Any = 1800.0,
    write_time_s: Any = 60.0,
    stall_s: Any = None,
    slowdown: Any = 0.0,
    recovery: Recovery | None = None,
    work_s: Any = 1e6,
    horizon_s: Any = 1e9,
    horizon_given: bool = False,
    **cause: Any,
) -> Params:
    save = Checkpoint(interval_s, write_time_s, write_time_s if stall_s is None else stall_s, slowdown)
    causes = (Cause("node", rate_per_s, **cause),)
    return Params(8.0, work_s, horizon_s, save, causes, recovery or Recovery(), horizon_given=horizon_given)


def saving(**change: Any) -> Params:
    return replace(job(), checkpoint=Checkpoint(1800.0, 60.0, 60.0, **change))


def restarting(startup_s: float, restore_s: float = 0.0, queue_s: float = 0.0) -> Recovery:
    return Recovery(fixed(queue_s), (("start", fixed(startup_s)),), fixed(restore_s))


# --- numbers ----------------------------------------------------------------------------------------------------


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


# --- jobs -------------------------------------------------------------------------------------------------------


def test_optimum_zeroes_the_derivative() -> None:
    for rate_times_cost in (1e-9, 1e-5, 1e-3, 0.1, 1.0, 10.0):
        best = renewal.optimal_interval_s(1.0, rate_times_cost)
        # the condition that the derivative vanishes: (1 - T) e^T = e^(-C)
        assert np.log1p(-best) + best == pytest.approx(-rate_times_cost, rel=1e-6)


def test_best_interval_of_a_background_write_counts_its_blocked_time_and_is_not_stretched() -> None:
    quick = job(1e-4, write_time_s=100.0, stall_s=20.0, slowdown=0.25)
    best = float(analytic.best_interval_s(quick))
    assert best == pytest.approx(float(renewal.optimal_interval_s(1e-4, 40.0)))
    near = analytic.ettr_long_run(analytic.with_interval(quick, best * np.array([0.98, 1.0, 1.02])))
    assert near.argmax() == 1
    slow = job(1e-4, write_time_s=5000.0, stall_s=20.0)
    assert analytic.best_interval_s(slow) == 4980.0
    assert analytic.best_interval_s(job(0.0)) == 1e6
    assert analytic.best_interval_s(job(0.0, work_s=np.inf)) == np.inf
    assert analytic.best_interval_s(job(1e-4, work_s=500.0)) == 500.0


def test_vectorised_over_cells() -> None:
    rates, writes = np.array([[1e-5], [1e-4]]), np.array([1.0, 60.0, 600.0])
    surface = analytic.best_interval_s(job(rates, write_time_s=writes))
    assert surface.shape == (2, 3)
    assert surface[1, 2] == analytic.best_interval_s(job(1e-4, write_time_s=600.0))
    assert analytic.ettr(job(rates, write_time_s=writes)).shape == (2, 3)


def test_restarts_before_the_first_save_pay_startup_only() -> None:
    one = job(1e-3, 1000.0, 10.0, work_s=1000.0, recovery=restarting(50.0, 1000.0))
    without = job(1e-3, 1000.0, 10.0, work_s=1000.0, recovery=restarting(50.0))
    assert analytic.expected_completion_s(one) == analytic.expected_completion_s(without)
    factor = np.expm1(1e-3 * 50) / 1e-3 + np.exp(1e-3 * 50) * np.expm1(1e-3 * 1010) / 1e-3
    assert analytic.expected_completion_s(one) == pytest.approx(factor)


def test_downtime_weighs_causes_by_their_rates_and_the_first_queue_counts() -> None:
    causes = (Cause("a", 3e-5, detection=fixed(100.0)), Cause("b", 1e-5, diagnosis=fixed(500.0)))
    params = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 0.0, 0.0), causes, restarting(0.0, queue_s=20.0))
    assert analytic.expected_downtime_s(params) == pytest.approx(75 + 125 + 20)
    quiet = Params(8.0, 1e6, 1e9, Checkpoint(np.inf, 5.0, 5.0), (), restarting(7.0, queue_s=20.0))
    assert analytic.expected_completion_s(quiet) == pytest.approx(1e6 + 5 + 7 + 20)
    assert analytic.mttf_s(quiet) == np.inf


def test_shares_of_time_sum_to_one_and_explain_the_ceiling() -> None:
    params = job(
        np.array([1e-6, 1e-4, 1e-2]),
        900.0,
        300.0,
        30.0,
        0.2,
        restarting(120.0, 60.0, 30.0),
        detection=fixed(200.0),
        diagnosis=fixed(50.0),
    )
    shares = analytic.explain(params)
    np.testing.assert_allclose(sum(shares.values()), 1.0, rtol=1e-12)
    before = sum(shares[name] for name in ("detection", "diagnosis", "queue", "startup", "restore"))
    np.testing.assert_allclose(1.0 - before, analytic.ceiling(params), rtol=1e-12)
    assert all(np.all(share > 0) for share in shares.values())


def test_ettr_is_of_the_job_unless_its_horizon_binds() -> None:
    long_job = job(work_s=1e7, horizon_s=1e8, horizon_given=True)
    assert analytic.ettr(long_job) == analytic.ettr_of_job(long_job)
    cut = job(work_s=1e7, horizon_s=1e7, horizon_given=True)
    assert analytic.ettr(cut) == analytic.ettr_long_run(cut)
    endless = job(work_s=np.inf, horizon_s=1e7, horizon_given=True)
    assert analytic.ettr(endless) == analytic.ettr_long_run(endless)


def test_expected_events_are_bounded_by_the_horizon() -> None:
    params = job(1e-4, np.inf, 0.0, work_s=4e4)
    assert analytic.expected_events(params) == pytest.approx(np.expm1(4.0))
    hopeless = job(1e-2, np.inf, 0.0, work_s=1e6, horizon_s=1e7)
    assert analytic.expected_events(hopeless) == pytest.approx(1e5)
    assert 0 < analytic.expected_events(job(1e-4, detection=NEVER, horizon_s=1e7)) < 1000
    assert analytic.expected_events(job(1e-4, 10.0, 300.0, 5.0)) > 0
    assert analytic.expected_events(job(0.0, every=fixed(1e4))) > 100
    assert analytic.expected_events(job(0.0)) == 0


def test_expected_events_count_what_raises_the_rates() -> None:
    plain = float(analytic.expected_events(job(1e-5)))
    node = Cause("node", 1e-5, in_incidents=True, by_lemons=True)

    def times(params: Params) -> float:
        return float(analytic.expected_events(params)) / plain

    base = job(1e-5)
    dirty = replace(base, causes=(node,), lemons=Lemons(0.01, 101.0), incidents=Incidents(1e-9, 1e9, 3.0))
    assert times(dirty) == pytest.approx(4.0, rel=0.2)  # lemons double the rate, incidents too
    assert times(replace(base, causes=(replace(node, repeat=Repeat(0.5, 60.0)),))) == pytest.approx(2.0, rel=0.1)
    young = Profile((0.0, 5e5), (3.0, 1.0))
    assert times(replace(base, causes=(replace(node, profile=young),))) == pytest.approx(2.0, rel=0.1)
    failing = Recovery(startup=(("start", fixed(60.0)),), start_failure=StartFailure(0.75))
    assert times(replace(base, recovery=failing)) == pytest.approx(1 + 3 * (plain + 1) / plain, rel=0.1)
    assert times(replace(base, recovery=Recovery(max_attempt_s=5e4))) == pytest.approx(3.0, rel=0.1)
    assert times(replace(base, maintenance=Maintenance(1e5, 1e3))) == pytest.approx(2.0, rel=0.1)
    assert times(replace(base, recovery=Recovery(replica_groups=ReplicaGroups(8.0)))) == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    "change",
    [
        {"recovery": Recovery(start_failure=StartFailure(1.0), startup=(("start", fixed(60.0)),))},
        {"recovery": Recovery(max_attempt_s=30.0, startup=(("start", fixed(60.0)),))},
        {"maintenance": Maintenance(1e5, 1e5 - 1.0), "recovery": Recovery(startup=(("start", fixed(60.0)),))},
        {"causes": (Cause("node", 1e-5, repeat=Repeat(1.0, 60.0)),)},
        {"causes": (Cause("node", 1e-5, "slow", detection=NEVER),)},
        {"causes": (Cause("node", 1e-5, "silent", detection=NEVER),)},
        {"checkpoint": Checkpoint(1800.0, 60.0, 60.0, retention=Retention(1.0))},
        {"checkpoint": Checkpoint(np.inf, 60.0, 60.0, retention=Retention(0.5)), "work_s": np.inf},
    ],
)
def test_expected_events_stay_finite_and_positive(change: dict[str, Any]) -> None:
    events = analytic.expected_events(replace(job(1e-5, horizon_s=1e8), **change))
    assert 0.0 < events <= 1e8 / 29.0


def test_a_local_tier_saves_work() -> None:
    rate = 1 / HOUR
    crash = Cause("crash", rate, nodes_lost=exactly(0.0))
    single = replace(job(rate, 8 * HOUR, 60.0), causes=(crash,))
    tiers = replace(single.checkpoint, local=LocalTier(96.0, 2.0, 2.0))
    both = replace(single, checkpoint=tiers)
    quick = job(rate, 300.0, 2.0 + 60.0 / 96.0)
    events = float(analytic.expected_events(both))
    assert events == pytest.approx(float(analytic.expected_events(quick)), rel=0.01)
    assert events < 0.01 * float(analytic.expected_events(single))
    lost = replace(both, causes=(replace(crash, nodes_lost=exactly(1.0)),))
    assert float(analytic.expected_events(lost)) > 100 * events


@pytest.mark.parametrize(
    ("params", "word"),
    [
        (job(every=Distribution("uniform", (100.0, 200.0))), "every"),
        (job(rate_shape=20.5), "uncertain"),
        (job(detection=NEVER), "detection"),
        (job(recovery=Recovery(queue_wait=NEVER)), "queue"),
        (job(kind="silent"), "silent corruption"),
        (job(kind="slow"), "slow nodes"),
        (job(kind="preemption"), "preemptions"),
        (job(profile=Profile((0.0,), (1.0,))), "profile"),
        (job(repeat=Repeat(0.1, 60.0)), "repeated failures"),
        (replace(job(), rate_shape=25.0), "uncertain factor"),
        (replace(job(), incidents=Incidents(1e-6, 1e3, 8.0)), "incidents"),
        (replace(job(), lemons=Lemons(0.01, 30.0)), "lemons"),
        (replace(job(), maintenance=Maintenance(1e6, 60.0)), "maintenance"),
        (replace(job(), check_every_s=60.0), "health checks"),
        (saving(verify_s=1.0), "verification"),
        (saving(write_time=fixed(60.0)), "write times"),
        (saving(local=LocalTier(6.0, 1.0, 1.0)), "local tier"),
        (saving(retention=Retention()), "unusable saves"),
        (job(recovery=Recovery(startup_if_replaced=(("image", fixed(9.0)),))), "replaced nodes"),
        (job(recovery=Recovery(start_failure=StartFailure(0.1))), "failed starts"),
        (job(recovery=Recovery(data_fast_forward=0.001)), "data fast-forward"),
        (job(recovery=Recovery(spares=Spares(1.0, 0.0, 1.0, 60.0, 60.0))), "spares"),
        (job(recovery=Recovery(replica_groups=ReplicaGroups(1.0))), "replica groups"),
        (job(recovery=Recovery(max_attempt_s=1e5)), "longest attempt"),
        (replace(saving(verify_s=1.0), maintenance=Maintenance(1e6, 60.0)), "verification and maintenance"),
    ],
)
def test_refuses_outside_the_core_model(params: Params, word: str) -> None:
    reason = analytic.core_model_reason(params)
    assert reason is not None
    assert word in reason
    for form in (analytic.ettr, analytic.best_interval_s, analytic.expected_completion_s, analytic.explain):
        with pytest.raises(AnalyticError, match=word):
            form(params)
    core = analytic.at_mean_rates(params)
    if not any(mean(c.detection) == np.inf for c in core.causes) and core.recovery.queue_wait != NEVER:
        assert analytic.core_model_reason(core) is None
        assert 0.0 < float(analytic.ettr(core)) < 1.0


def test_refuses_the_completion_of_a_stretched_schedule_but_not_its_long_run() -> None:
    stretched = job(1e-4, 100.0, 300.0, 10.0)
    assert 0 < analytic.ettr(stretched) < 1
    with pytest.raises(AnalyticError, match="outlasts"):
        analytic.expected_completion_s(stretched)


def test_at_mean_rates_makes_a_core_job() -> None:
    drill = job(every=Distribution("uniform", (100.0, 300.0)), rate_shape=3.0)
    core = analytic.at_mean_rates(drill)
    assert analytic.core_model_reason(core) is None
    assert analytic.mttf_s(core) == 200.0


# --- invariants -------------------------------------------------------------------------------------------------

times = st.floats(0.0, 1e5)
rates = st.floats(1e-9, 1e-2)


@settings(max_examples=150, deadline=None)
@given(rates, st.floats(1.0, 1e5), times, st.floats(0, 1), st.floats(0, 1), times, times, st.floats(1.001, 3.0))
def test_ettr_is_a_share_and_falls_with_every_cost(
    rate: float, interval: float, write: float, stall: float, slowdown: float, restart: float, wait: float, more: float
) -> None:
    def value(**change: float) -> float:
        numbers = {"rate_per_s": rate, "stall_s": write * stall, "write_time_s": write, "slowdown": slowdown}
        numbers |= {"restart_s": restart, "downtime_s": wait} | change
        return float(renewal.long_run_ettr(interval_s=interval, **numbers))

    base = value()
    assert 0.0 <= base <= 1.0
    room = base * (1 + 1e-9)
    assert value(restart_s=restart * more) <= room
    assert value(downtime_s=wait * more) <= room
    assert value(rate_per_s=rate * more) <= room
    assert value(stall_s=min(write, write * stall * more)) <= room
    if (1 - slowdown) * (1 - stall) * write * more <= interval:  # not stretched: there the carried work changes
        assert value(stall_s=write * stall * more, write_time_s=write * more) <= room


@settings(max_examples=100, deadline=None)
@given(rates, st.floats(1e-3, 1e4), st.floats(0.05, 20.0))
def test_no_interval_beats_the_optimum(rate: float, cost: float, factor: float) -> None:
    best = renewal.optimal_interval_s(rate, cost)
    peak = renewal.long_run_ettr(rate, best, stall_s=cost)
    assert renewal.long_run_ettr(rate, best * factor, stall_s=cost) <= peak * (1 + 1e-12)
    assert 0 < best <= 1 / rate


@settings(max_examples=50, deadline=None)
@given(rates, st.floats(100.0, 1e4), st.floats(0.0, 100.0), st.floats(0.0, 1e3), st.floats(1e-3, 1e3))
def test_scales_with_the_unit_of_time(rate: float, interval: float, write: float, restart: float, unit: float) -> None:
    seconds = renewal.completion_s(rate, 3.3 * interval, interval, stall_s=write, startup_s=restart)
    scaled = renewal.completion_s(
        rate / unit, 3.3 * interval * unit, interval * unit, stall_s=write * unit, startup_s=restart * unit
    )
    assert scaled == pytest.approx(seconds * unit, rel=1e-9)


def test_long_jobs_approach_the_long_run() -> None:
    work = 1e9
    total = renewal.completion_s(1e-4, work, 1800.0, stall_s=60.0, startup_s=100.0, restore_s=50.0, downtime_s=30.0)
    endless = renewal.long_run_ettr(1e-4, 1800.0, stall_s=60.0, restart_s=150.0, downtime_s=30.0)
    assert work / total == pytest.approx(float(endless), rel=1e-5)
