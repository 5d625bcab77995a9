"""The fast engine against the exact values, one mechanism at a time, at the alpha of `statistical` (1e-7).

Each case states the bias that must be seen, and a wrong value (the mechanism or a part of it left out) that must fail.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mcettr.engine.reference import Timelines
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params
from tests.exact_pools import out_average_law
from tests.exact_saves import fast_forward_reads_s
from tests.exact_stops import attempts_elapsed_s, n_starts_law
from tests.lanes import jax_timelines
from tests.physics_cases import INF, Case, restarting, seconds
from tests.physics_cases_counts import count_cases, gamma_case
from tests.physics_cases_pools import pool_cases
from tests.physics_cases_saves import save_cases
from tests.physics_cases_stops import check_cases, stop_cases, stopping
from tests.speed import often
from tests.statistical import assert_ratio, assert_same_counts, assert_same_mean

SEED = 31

CASES = {
    f"{name} {number}": case
    for name, cases in (
        count_cases() | {"gamma": gamma_case()} | save_cases() | stop_cases() | check_cases() | pool_cases()
    ).items()
    for number, case in enumerate(cases, 1)
}


OFTEN = ("spares 1", "failed starts 1", "incidents 1", "two tiers 1", "preemption 1")
"""Cases that run each time."""


@cache
def lives_of(name: str) -> Timelines:
    case = CASES[name]
    for earlier, other in CASES.items():
        if other.params is case.params and other.n == case.n and earlier != name:
            return lives_of(earlier)
        if earlier == name:
            break
    return jax_timelines(case.params, SEED, 0, case.n)


def compare(case: Case, lives: Timelines, value: float, what: str) -> None:
    if case.bottom is None:
        assert_same_mean(case.top(lives), value, detectable=case.detectable, what=what, slack=case.slack)
    else:
        top, bottom = case.top(lives), case.bottom(lives)
        assert_ratio(top, bottom, value, detectable=case.detectable, what=what, slack=case.slack)


@pytest.mark.parametrize("name", often(CASES, *OFTEN))
def test_exact_value(name: str) -> None:
    case, lives = CASES[name], lives_of(name)
    compare(case, lives, case.exact, name)
    with pytest.raises(AssertionError, match="is not"):
        compare(case, lives, case.wrong, f"{name}, wrongly")


def test_number_of_starts_is_geometric() -> None:
    lives = lives_of("failed starts 1")
    starts = np.rint(seconds("startup")(lives) / 60.0).astype(int)
    observed = np.bincount(np.minimum(starts, 6), minlength=7)[1:]
    assert_same_counts(observed, n_starts_law(0.4, 6), detectable=0.15, what="number of starts")
    with pytest.raises(AssertionError, match="chi-square"):
        assert_same_counts(observed, n_starts_law(0.5, 6), detectable=0.15, what="number of starts, wrongly")


def test_nodes_out_have_the_law_of_the_chain() -> None:
    lives = lives_of("spares 1")
    observed = np.bincount(np.rint(lives.nodes_out).astype(int), minlength=3)
    exact = out_average_law(1e-4, 1.6e4, 1, 2e5)
    assert_same_counts(observed, exact, detectable=0.15, what="nodes out")
    assert lives.nodes_out_most.max() <= 2
    with pytest.raises(AssertionError, match="chi-square"):
        assert_same_counts(observed, [0.2, 0.4, 0.4], detectable=0.15, what="nodes out, wrongly")


def test_only_the_longest_attempt_stops_the_job() -> None:
    lives = jax_timelines(stopping(1e6, 1e9, (300.0, 200.0, 500.0), write_s=100.0, longest_s=1e5), SEED, 0, 4)
    n, exact_s = attempts_elapsed_s(1e6, 1e5, 100.0, 300.0, 200.0, 500.0)
    np.testing.assert_allclose(lives.elapsed_s, exact_s, rtol=1e-12)
    np.testing.assert_array_equal(lives.n_saves, n)
    np.testing.assert_allclose(lives.lost_s[:, 3, :].sum(axis=1), (n - 1) * (500.0 + 500.0 + 100.0), rtol=1e-12)


def test_data_are_skipped_in_proportion_to_the_work_before() -> None:
    recovery = restarting(100.0, 0.0, data_fast_forward=0.01)
    drill = Cause("drill", 0.0, every=fixed(1e4))
    params = Params(8.0, INF, 1e5 + 1.0, Checkpoint(300.0, 0.0, 0.0), (drill,), recovery, 1.0, saved_before_s=5e4)
    lives = jax_timelines(params, SEED, 0, 4)
    saved_s, skipped_s = fast_forward_reads_s(1e4, 300.0, 0.0, 100.0, 0.01, 5e4, 10)
    np.testing.assert_array_equal(lives.interruptions, 10)
    np.testing.assert_allclose(seconds("restore")(lives), sum(skipped_s), rtol=1e-12)
    np.testing.assert_allclose(lives.productive_s, saved_s, rtol=1e-12)
