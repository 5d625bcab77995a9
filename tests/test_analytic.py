"""The best interval, the shares of time and the expected events of the closed forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mcettr.model import analytic, renewal
from mcettr.model.counts import exactly
from mcettr.model.distributions import fixed
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
    StartFailure,
)
from tests.analytic_jobs import HOUR, NEVER, job, restarting


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
