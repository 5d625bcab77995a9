"""What the closed forms refuse, and what they must never do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcettr.errors import AnalyticError
from mcettr.model import analytic, renewal
from mcettr.model.distributions import Distribution, fixed, mean
from mcettr.model.params import Checkpoint, Params, Recovery
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
from tests.analytic_jobs import NEVER, job


def saving(**change: Any) -> Params:
    return replace(job(), checkpoint=Checkpoint(1800.0, 60.0, 60.0, **change))


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
        (saving(retention=Retention()), "unusable checkpoints"),
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
