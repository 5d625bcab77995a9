"""The helper bites: a planted bias fails, a sample that cannot decide is refused, the truth passes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import statistical
from tests.statistical import (
    assert_ratio,
    assert_same_counts,
    assert_same_distribution,
    assert_same_mean,
    assert_same_ratio,
    assert_same_tail,
)

N = 20_000


def test_means() -> None:
    rng = np.random.default_rng(1)
    a, b, biased = rng.exponential(10.0, N), rng.exponential(10.0, N), rng.exponential(11.0, N)
    assert_same_mean(a, 10.0, detectable=0.7, what="exact")
    assert_same_mean(a, b, detectable=0.9, what="two samples")
    assert_same_mean(biased, 10.0, detectable=0.7, slack=1.0, what="allowed bias")
    with pytest.raises(AssertionError, match="is not 10"):
        assert_same_mean(biased, 10.0, detectable=0.7, what="bias")
    with pytest.raises(AssertionError, match="standard errors"):
        assert_same_mean(biased, b, detectable=0.9, what="bias")
    with pytest.raises(AssertionError, match="too small: would only see"):
        assert_same_mean(a[:1000], 10.0, detectable=0.7, what="small")


def test_mean_of_constants_is_compared_exactly() -> None:
    assert_same_mean(np.full(3, 0.1), 0.1, detectable=1e-3, what="constants")
    with pytest.raises(AssertionError, match="is not"):
        assert_same_mean(np.full(3, 0.1), 0.1 + 1e-7, detectable=1e-3, what="constants")


def test_skewed_samples_are_refused() -> None:
    sample = np.random.default_rng(2).lognormal(0.0, 2.0, N)
    with pytest.raises(AssertionError, match="skewness"):
        assert_same_mean(sample, np.exp(2.0), detectable=100.0, what="skewed")


def test_ratios() -> None:
    rng = np.random.default_rng(3)
    den = rng.gamma(4.0, 1.0, (2, N))
    num = den * rng.uniform(0.6, 0.8, (2, N))
    assert_ratio(num[0], den[0], 0.7, detectable=0.01, what="exact")
    assert_same_ratio(num[0], den[0], num[1], den[1], detectable=0.01, what="two samples")
    with pytest.raises(AssertionError, match="standard errors"):
        assert_ratio(num[0] * 1.02, den[0], 0.7, detectable=0.01, what="bias")
    with pytest.raises(AssertionError, match="standard errors"):
        assert_same_ratio(num[0], den[0], num[1] * 1.02, den[1], detectable=0.01, what="bias")
    with pytest.raises(AssertionError, match="too small"):
        assert_same_ratio(num[0], den[0], num[1], den[1], detectable=0.001, what="small")


def test_distributions() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, N))
    assert_same_distribution(a, stats.norm.cdf, detectable=0.04, what="exact")
    assert_same_distribution(a, b, detectable=0.06, what="two samples")
    with pytest.raises(AssertionError, match="distance of the laws"):
        assert_same_distribution(a, stats.norm(0.0, 1.25).cdf, detectable=0.04, what="wider, same mean")
    with pytest.raises(AssertionError, match="distance of the laws"):
        assert_same_distribution(a, b + 0.2, detectable=0.06, what="shifted")
    with pytest.raises(AssertionError, match="too small"):
        assert_same_distribution(a[:500], b[:500], detectable=0.06, what="small")


def test_counts() -> None:
    counts = np.random.default_rng(5).multinomial(N, [0.7, 0.2, 0.1])
    assert_same_counts(counts, [7, 2, 1], detectable=0.06, what="shares")
    with pytest.raises(AssertionError, match="chi-square"):
        assert_same_counts(counts, [0.68, 0.22, 0.10], detectable=0.06, what="bias")
    with pytest.raises(AssertionError, match="too small"):
        assert_same_counts(counts // 100, [7, 2, 1], detectable=0.06, what="small")
    with pytest.raises(AssertionError, match="merge classes"):
        assert_same_counts(counts, [1.0, 1.0, 1e-9], detectable=0.06, what="empty class")


def test_tails() -> None:
    rng = np.random.default_rng(7)
    groups = [(rng.normal(place, size=2_000), rng.normal(place, size=N)) for place in (0.0, 5.0)]
    sample, other = zip(*groups, strict=True)
    for upper in (True, False):
        assert_same_tail(sample, other, 0.05, detectable=0.09, what="two groups", upper=upper)
    with pytest.raises(AssertionError, match=r"draws in the tail of 0\.05"):
        assert_same_tail([1.3 * a for a in sample[:1]], other[:1], 0.05, detectable=0.1, what="wider")
    with pytest.raises(AssertionError, match="too small"):
        assert_same_tail(sample, other, 0.05, detectable=0.06, what="small")
    some, all_of_it = rng.poisson(2.0, 2_000), rng.poisson(2.0, N)
    assert_same_tail([some], [all_of_it], 0.05, detectable=0.1, what="ties")
    with pytest.raises(AssertionError, match="draws in the tail"):
        assert_same_tail([some + rng.poisson(0.5, some.size)], [all_of_it], 0.05, detectable=0.1, what="more")


def test_a_tail_gives_no_more_false_alarms_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    alpha, n_repeats, rng, n_failed = 0.2, 500, np.random.default_rng(8), 0
    monkeypatch.setattr(statistical, "_spend", lambda alpha: None)
    for _ in range(n_repeats):
        a, b = rng.lognormal(size=200), rng.lognormal(size=1_000)
        try:
            assert_same_tail([a], [b], 0.1, detectable=0.3, what="repeat", alpha=alpha)
        except AssertionError:
            n_failed += 1
    assert stats.binomtest(n_failed, n_repeats, alpha, alternative="greater").pvalue > 1e-6
    assert n_failed > 0.5 * alpha * n_repeats


def test_false_alarms_and_power_are_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat one assertion often at a large alpha: alarms come at that rate, and the detectable bias is seen."""
    alpha, n_repeats, n = 0.05, 1_000, 1_600
    monkeypatch.setattr(statistical, "_spend", lambda alpha: None)
    monkeypatch.setattr(statistical, "MAX_SKEWNESS", 1.0)
    samples = np.random.default_rng(6).normal(size=(n_repeats, n))
    bias = (stats.norm.isf(alpha / 2) + stats.norm.isf(statistical.P_MISS)) / np.sqrt(n)

    def n_alarms(shift: float) -> int:
        n_failed = 0
        for sample in samples:
            try:
                assert_same_mean(sample + shift, 0.0, detectable=1.0, what="repeat", alpha=alpha)
            except AssertionError:
                n_failed += 1
        return n_failed

    assert stats.binomtest(n_alarms(0.0), n_repeats, alpha).pvalue > 1e-6
    assert stats.binomtest(n_alarms(bias), n_repeats, 1.0 - statistical.P_MISS).pvalue > 1e-6


def test_the_suite_cannot_overspend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(statistical._spent, "alpha", statistical.SUITE_ALPHA)
    with pytest.raises(AssertionError, match="too many statistical assertions"):
        assert_same_counts([500, 500], [1, 1], detectable=0.5, what="one too many")
