"""The exact values themselves: against validation.md, their own limits, and a second way to get them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from mcettr.model.renewal import long_run_ettr
from tests.exact_chains import Stage, mean_time_s
from tests.exact_counts import (
    all_renewed_mean_s,
    in_incidents,
    in_incidents_by_chain,
    with_lemons_evicted,
    with_lemons_kept,
    with_repeats,
)
from tests.exact_pools import batches_out, out_average_law, out_law, replica_groups, waits
from tests.exact_saves import (
    bad_saves_ettr,
    mean_fallback,
    silent_latency_ettr,
    silent_verified_completion_s,
    two_tier_ettr,
)
from tests.exact_stops import check_latency_s, maintenance_s, mean_escalations, preemption_counts

MIN, DAY = 60.0, 86_400.0


def test_v1_13_silent_errors_found_before_each_save() -> None:
    n = 1000
    total = silent_verified_completion_s(1 / (2000 * MIN), n, 109.5 * MIN, MIN, 5 * MIN, 5 * MIN)
    assert n * 109.5 * MIN / total == pytest.approx(0.8975, abs=5e-5)


def test_v1_15_two_tiers() -> None:
    m = 180 * MIN
    args = (0.85 / m, 0.15 / m, 9.13 * MIN, 12, 0.2 * MIN, 5 * MIN, MIN, 8 * MIN)
    assert two_tier_ettr(*args) == pytest.approx(0.862, abs=5e-4)
    single = long_run_ettr(1 / m, 42.4 * MIN, stall_s=5 * MIN, downtime_s=8 * MIN)
    assert single == pytest.approx(0.749, abs=5e-4)


def test_two_tiers_are_one_where_only_one_can_be_used() -> None:
    lost = two_tier_ettr(0.0, 1e-4, 500.0, 4, 0.0, 90.0, 7.0, 30.0)
    assert lost == pytest.approx(float(long_run_ettr(1e-4, 2000.0, stall_s=90.0, downtime_s=30.0)), rel=1e-12)
    equal = two_tier_ettr(1e-4, 0.0, 500.0, 4, 90.0, 90.0, 30.0, 7.0)
    assert equal == pytest.approx(float(long_run_ettr(1e-4, 500.0, stall_s=90.0, downtime_s=30.0)), rel=1e-12)


def test_v1_18_all_nodes_renewed_at_each_failure_is_wrong_by_far() -> None:
    assert all_renewed_mean_s(1000, 0.7, 153.85 * DAY) / MIN == pytest.approx(11.5, abs=0.05)
    assert pytest.approx(221.5, abs=0.05) == 153.85 * DAY / 1000 / MIN


def test_v1_27_nodes_out() -> None:
    law = out_law(2048 * 3.79e-3 / DAY, DAY, 64)
    assert float(law @ np.arange(law.size)) == pytest.approx(7.8, abs=0.05)
    assert [int(np.searchsorted(law.cumsum(), level)) for level in (0.99, 0.999)] == [15, 18]


def test_few_spares_cut_the_law_of_nodes_out() -> None:
    rate, mean_s = 2048 * 3.79e-3 / DAY, DAY
    law = out_law(rate, mean_s, 16)
    np.testing.assert_allclose(out_average_law(rate, mean_s, 16, 1e5 * DAY), law, atol=1e-4)
    strikes, exhausted, waited_s = waits(rate, mean_s, 16, 1e5 * DAY)
    assert exhausted / strikes == pytest.approx(float(law[-2] / law[:-1].sum()), rel=1e-3)
    # every strike without a spare waits for the first of 17 repairs
    assert waited_s / exhausted == pytest.approx(mean_s / 17, rel=1e-3)


def test_batches_of_one_without_end_of_spares_are_poisson() -> None:
    law = out_average_law(1e-4, 1e4, 60, 5e4)
    n = np.arange(law.size)
    mean, variance = batches_out(1e-4, (1.0, 1.0), (1.0, 1e4, 1.0), 5e4)
    assert mean == pytest.approx(float(law @ n), rel=1e-6)
    assert variance == pytest.approx(float(law @ n**2) - mean**2, rel=1e-6)


def test_incidents_by_formula_and_by_chain() -> None:
    for multiplier in (0.0, 1.0, 8.0):
        closed = in_incidents(1e-3, 1e-4, 3e3, multiplier, 5e4)
        np.testing.assert_allclose(closed, in_incidents_by_chain(1e-3, 1e-4, 3e3, multiplier, 5e4), rtol=1e-9)


def test_lemons_without_eviction_and_replacement_are_the_mixture() -> None:
    kept = with_lemons_kept(1e-4, 30, 0.1, 20.0, 1e5)
    # evicted at once, and the new node is a lemon or not: then the first strikes of the lemons are all that is added
    short = with_lemons_evicted(1e-4, 30, 0.1, 20.0, 0.0, 1.0), with_lemons_kept(1e-4, 30, 0.1, 20.0, 1.0)
    np.testing.assert_allclose(*short, rtol=1e-3)
    assert with_lemons_evicted(1e-4, 30, 0.1, 20.0, 1.0, 1e5)[0] < kept[0]
    lemons = stats.binom.pmf(np.arange(31), 30, 0.1)
    means = 1e-4 * 1e5 * (1.0 + 19.0 * np.arange(31) / 30)
    mixed = float(lemons @ (means + means**2)) - float(lemons @ means) ** 2
    assert kept == pytest.approx((float(lemons @ means), mixed), rel=1e-12)


def test_repeats_are_geometric_clusters() -> None:
    mean, variance = with_repeats(1e-3, 0.25, 10.0, 1e6)
    assert mean == pytest.approx(1e3 / 0.75, rel=1e-4)
    # a cluster has a geometric number of strikes: variance over mean is E[size^2] / E[size] = (1 + p) / (1 - p)
    assert variance / mean == pytest.approx(1.25 / 0.75, rel=1e-3)


def test_bad_saves_between_none_and_all() -> None:
    args = (200.0, 100.0, 50.0)
    plain = float(long_run_ettr(1e-4, 1800.0, stall_s=60.0, restart_s=300.0, downtime_s=50.0))
    assert bad_saves_ettr(1e-4, 1800.0, 60.0, 0.0, *args) == pytest.approx(plain, rel=1e-12)
    assert bad_saves_ettr(1e-4, 1800.0, 60.0, 1.0, *args) == pytest.approx(0.0, abs=1e-12)
    assert mean_fallback(1e-4, 1800.0, 60.0, 0.3) < 0.3 / 0.7


def test_silent_corruption_noticed_at_once_is_a_crash() -> None:
    plain = float(long_run_ettr(1e-5, 1000.0, downtime_s=70.0))
    assert silent_latency_ettr(1e-5, 1000.0, 0.0, 0.0, 70.0) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("catches", [0.2, 0.5, 1.0])
def test_latency_under_checks_by_quadrature(catches: float) -> None:
    def survives(x: float) -> float:
        whole = math.floor(x)
        missed = (1.0 - catches) ** whole
        return missed * (1.0 - catches * (x - whole)) * math.exp(-600.0 * x / 2000.0)

    value = sum(integrate.quad(survives, k, k + 1)[0] for k in range(60))
    assert check_latency_s(600.0, catches, 2000.0) == pytest.approx(600.0 * value, rel=1e-6)
    assert check_latency_s(600.0, catches, 1e8) == pytest.approx(check_latency_s(600.0, catches), rel=1e-3)


def test_preemptions_without_a_lease_are_poisson_and_with_one_nearly_regular() -> None:
    assert preemption_counts(1e-3, 0.0, 0.0, 5e4) == pytest.approx((50.0, 50.0))
    mean, variance = preemption_counts(1e-3, 9e3, 0.0, 1e6)
    assert mean == pytest.approx(1e6 / 1e4, rel=0.01)
    assert variance == pytest.approx(1e6 * 1e3**2 / 1e4**3, rel=0.1)  # renewal theory: t variance / mean^3


def test_groups_by_the_solver_of_races() -> None:
    rate, others = 1e-4, 0.75
    for rejoin_s in (0.0, 900.0):
        values = replica_groups(rate, 4, 600.0, rejoin_s, 0.0)
        stages = {
            "down": Stage(600.0, "rejoins", ((rate * others, 0.0, "end"),)),
            "rejoins": Stage(rejoin_s, "end", ((rate / 4, 0.0, "down"), (rate * others, 0.0, "end"))),
            "end": Stage(0.0, None, ()),
        }
        down_s = mean_time_s(stages, "down")
        assert values["degraded"] == pytest.approx(down_s / 4 / (down_s + 1 / rate), rel=1e-12)
    one = replica_groups(rate, 1, 600.0, 0.0, 50.0)
    assert one["stops_per_s"] == 0.0  # a single group cannot lose a second one


def test_small_limits() -> None:
    assert mean_escalations(0.0, 3) == 0.0
    assert maintenance_s(100.0, 100.0, 1e6) == pytest.approx(1e6, rel=1e-3)
