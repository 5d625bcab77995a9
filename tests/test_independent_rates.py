"""What moves the independent simulator's rates, against trivial formulas; and all mechanisms together."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mcettr.model.counts import Counts, exactly
from mcettr.model.distributions import Distribution, fixed
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
from tests.independent import simulate
from tests.independent_cases import (
    AT_ONCE,
    INF,
    approx,
    assert_budget_closes,
    blamed,
    blocking,
    drill,
    job,
    life_of,
    open_ended,
    recovering,
    spares,
)
from tests.independent_life import Life
from tests.statistical import assert_same_distribution, assert_same_mean

RATE, SPAN_S = 1 / 100.0, 800.0


def assert_failures(params: Params, expected: float, n: int = 700) -> None:
    """Fail unless the mean number of failures is `expected` (20 % of it and a half more would show)."""
    counts = simulate(params, n, seed=5).interruptions.sum(axis=1)
    assert_same_mean(counts, expected, detectable=0.2 * expected + 0.5, what="failures")


def test_a_profile_goes_by_the_calendar() -> None:
    cause = Cause("crash", AT_ONCE, detection=fixed(INF), profile=Profile((0.0, 30.0), (0.0, 1.0)))
    lives = life_of(job(1e3, blocking(100.0, 2.0), cause, horizon_s=50.0, startup_s=5.0))
    assert blamed(lives) == approx({("start", "startup"): 5.0, ("crash", "rework"): 25.0, ("crash", "detection"): 20.0})


def test_incidents_raise_the_mean() -> None:
    cause = Cause("crash", RATE, in_incidents=True)
    incidents = Incidents(1 / 300.0, 100.0, 5.0)
    assert_failures(open_ended(cause, horizon_s=SPAN_S, incidents=incidents), RATE * SPAN_S * (1 + 0.25 * 4.0))
    with pytest.raises(AssertionError, match="standard errors"):
        assert_failures(open_ended(replace(cause, in_incidents=False), horizon_s=SPAN_S, incidents=incidents), 20.0)


def test_repeats() -> None:
    # A missed culprit strikes again a second later, and is missed again half of the time.
    assert_failures(open_ended(Cause("crash", RATE, repeat=Repeat(0.5, 1.0)), horizon_s=SPAN_S), 2.0 * RATE * SPAN_S)


def test_a_preflight_check_finds_missed_culprits() -> None:
    cause = Cause("crash", RATE, repeat=Repeat(1.0, 1.0), caught_in_preflight=1.0)
    assert_failures(open_ended(cause, horizon_s=SPAN_S), RATE * SPAN_S)


def test_bad_repairs_bring_repeats() -> None:
    # The one spare is never fresh again: each failure after the first brings a culprit in, which fails at once.
    cause = Cause("crash", RATE, nodes_lost=exactly(1), repeat=Repeat(0.0, 1e-3))
    params = recovering(
        open_ended(cause, horizon_s=300.0), spares=spares("wait", quick_mean_s=1e-3, swap_s=0.0, repair_failure=0.5)
    )
    lives = simulate(params, 600, seed=6)
    first = 1 - math.exp(-RATE * 300.0)  # finds a fresh spare
    assert_same_mean(lives.interruptions[:, 0], 2 * RATE * 300.0 - first, detectable=1.4, what="failures")
    np.testing.assert_array_equal(lives.n_swaps, lives.interruptions[:, 0])


@pytest.mark.parametrize(("evicted", "fraction"), [(0.0, 0.25), (1.0, 1.0)])
def test_lemons(evicted: float, fraction: float) -> None:
    # A quarter of the nodes for ever, or all of them and all that replace them, fail at 3 times the rate.
    cause = Cause("crash", RATE, by_lemons=True, nodes_lost=exactly(1) if evicted else None)
    params = open_ended(cause, horizon_s=SPAN_S, lemons=Lemons(fraction, 3.0, evicted))
    assert_failures(params, RATE * SPAN_S * (1 + 2 * fraction))


def test_evicted_lemons_are_gone() -> None:
    # With no lemons among the new ones, 4 lemons fail once each (and never by their healthy successors).
    cause = Cause("crash", 1e-30, by_lemons=True, nodes_lost=exactly(1))
    params = open_ended(cause, lemons=Lemons(0.0, 1e30, 1.0))
    life = Life(params, [1.0], np.random.default_rng(0), 4)
    for node in life.pool.job:
        node.lemon = True
    life.env.run(until=life.process)
    assert life.world.interruptions == [4]


def test_a_preflight_check_finds_lemons() -> None:
    cause = Cause("crash", RATE, by_lemons=True, nodes_lost=exactly(1))
    params = recovering(open_ended(cause, horizon_s=10.0), spares=spares("queue", count=INF))
    lives = simulate(replace(params, lemons=Lemons(1.0, 2.0, 1.0, 1.0)), 5, seed=0)
    assert (lives.nodes_out_most >= 4).all()


def test_periodic_checks_cap_the_detection() -> None:
    # Found by the second check on average: uniform on (0, 100) plus a geometric number of periods.
    hang = replace(drill("hang", 30.0, INF), caught_in_check=0.5)
    params = replace(job(29.0, blocking(10.0, 2.0), hang), check_every_s=100.0)
    found_s = simulate(params, 3_000, seed=7).activity_s["detection"]
    assert_same_mean(found_s, 150.0, detectable=20.0, what="detection")
    assert_same_distribution(found_s % 100.0, stats.uniform(0, 100).cdf, detectable=0.1, what="phase of the checks")


def test_write_times_are_drawn_once_an_attempt() -> None:
    plan = Checkpoint(
        10.0, 4.0, 2.5, 0.0, False, write_time=Distribution("uniform", (2.0, 6.0)), stall_share=0.5, stall_fixed_s=0.5
    )
    lives = simulate(job(100.0, plan), 2_000, seed=8)
    # nine stalls of half the write and half a second, and the last write
    law = stats.uniform(9 * (0.5 + 1.0) + 2.0, 9 * 2.0 + 4.0)
    assert_same_distribution(lives.activity_s["checkpoint"], law.cdf, detectable=0.12, what="nine stalls and a write")


def test_one_factor_for_all_rates() -> None:
    params = open_ended(Cause("a", RATE), Cause("b", RATE), horizon_s=SPAN_S, rate_shape=4.0)
    counts = simulate(params, 16 * 40, seed=9).interruptions.reshape(40, 16, 2).mean(axis=1)
    assert np.corrcoef(counts.T)[0, 1] > 0.8


EVERY_S = Distribution("weibull", (900.0, 1.3))
KITCHEN_SINK = (
    Cause("node", 1 / 900, detection=fixed(9.0), nodes_lost=exactly(1), repeat=Repeat(0.2, 50.0), by_lemons=True),
    Cause("rack", 1 / 2e3, exposure="domain", nodes_lost=Counts((2.0, 3.0), (0.5, 1.0)), over_evicted=exactly(1)),
    Cause("hang", 1 / 3e3, "hang", detection=fixed(300.0), caught_in_check=0.5, in_incidents=True, exposure="job"),
    Cause("rot", 1 / 2e3, "silent", detection=Distribution("exponential", (200.0,)), nodes_lost=exactly(1)),
    Cause("slow", 1 / 1e3, "slow", slowdown=0.4, detection=fixed(60.0), profile=Profile((0.0, 3e3), (2.0, 0.5))),
    Cause("taken", 1 / 2e3, "preemption", notice_s=15.0, min_lease_s=100.0, nodes_lost=exactly(2)),
    Cause("drill", 0.0, every=EVERY_S, detection=fixed(5.0), diagnosis=fixed(5.0)),
)


def everything(policy: str, n_groups: float) -> Params:
    """Return a job with every mechanism that may be combined."""
    plan = Checkpoint(80.0, 10.0, 4.0, 0.2, False, verify_s=1.0, local=LocalTier(4.0, 3.0, 1.0, fixed(2.0), 1.0))
    plan = replace(plan, retention=Retention(0.2, 2.0, 5.0))
    recovery = Recovery(
        Distribution("exponential", (20.0,)),
        (("start", fixed(10.0)),),
        fixed(6.0),
        startup_if_replaced=(("pull", fixed(5.0)),),
        start_failure=StartFailure(0.1, 2.0, fixed(50.0)) if n_groups == 1.0 else None,
        data_fast_forward=1e-3,
        spares=replace(
            spares(policy), count=2.0, quick_share=0.7, quick_mean_s=100.0, slow_mean_s=900.0, min_nodes=3.0
        ),
        replica_groups=ReplicaGroups(n_groups, 5.0, fixed(8.0)),
        max_attempt_s=600.0,
    )
    return Params(
        64.0,
        4e3,
        2e4,
        plan,
        KITCHEN_SINK,
        recovery,
        n_nodes=8.0,
        saved_before_s=100.0,
        incidents=Incidents(1 / 2e3, 300.0, 6.0),
        lemons=Lemons(0.2, 5.0, 0.7, 0.3),
        maintenance=Maintenance(1.5e3, 100.0, 30.0),
        check_every_s=120.0,
    )


@pytest.mark.parametrize(("policy", "n_groups"), [("wait", 1.0), ("queue", 2.0), ("shrink", 1.0), ("wait", 4.0)])
def test_everything_at_once(policy: Any, n_groups: float) -> None:
    lives = simulate(everything(policy, n_groups), 16, seed=10)
    assert_budget_closes(lives)
    assert lives.by_cause_s.min() >= 0.0
    assert (lives.longest_stretch_s <= lives.elapsed_s).all()
    assert (lives.nodes_out <= lives.nodes_out_most).all()
    assert (lives.n_exhausted <= lives.n_swaps).all()
    assert lives.interruptions.sum(axis=0).min() > 0
    assert lives.finished.any()
    losses = [name for name in lives.activity_s if not lives.activity_s[name].any()]
    assert not losses
