"""Every statistical assertion of the suite: how sure it must be, what it must be able to see, and what it spends.

An assertion states the smallest bias it should see (`detectable`) and fails when its sample would miss that bias with
probability over 1 %: a sample that could not decide proves nothing. Each false alarm has probability `ALPHA`; because
a mean is only nearly normal so far out, that may be up to `INFLATION` times more (samples too skewed for that bound
are refused too). The assertions of one run may not spend more than `SUITE_ALPHA` together.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

ALPHA = 1e-7
"""Nominal probability that one assertion fails although nothing is wrong."""
P_MISS = 0.01
"""Probability, at most, that one assertion passes although the bias is `detectable`."""
INFLATION = 10.0
"""How far the true probability of a false alarm may exceed the nominal one."""
SUITE_ALPHA = 1e-3
"""Probability, at most, that a run of the whole suite with fresh seeds gives any false alarm; where it runs in several
processes each may spend its share."""
MAX_SKEWNESS = 0.05
"""Largest skewness of an estimate for which `INFLATION` holds (Edgeworth: exp(z^3 / 3 x skewness) at z = 5.3)."""
MIN_EXPECTED = 10.0
"""Least expected count of a class for the chi-square law."""

_spent = {"alpha": 0.0}


def assert_same_mean(
    sample: ArrayLike, other: ArrayLike, *, detectable: float, what: str, alpha: float = ALPHA, slack: float = 0.0
) -> None:
    """Fail unless the mean of `sample` is that of `other`: a second, independent sample or an exact value.

    Parameters
    ----------
    sample : array_like, shape (n,)
        Independent draws (average correlated ones by group first).
    other : array_like, shape (m,), or float
        What to compare with.
    detectable : float
        Smallest true difference that must be seen, in the unit of the sample, on top of `slack`.
    what : str
        Named in the message.
    alpha : float
        Nominal probability of a false alarm.
    slack : float
        Difference that is allowed because the expectation itself is approximate.

    Examples
    --------
    >>> assert_same_mean(np.random.default_rng(0).normal(7, 1, 9_000), 7.0, detectable=0.1, what="a normal mean")
    """
    a, b = np.asarray(sample, dtype=np.float64), np.asarray(other, dtype=np.float64)
    parts = [a - a.mean()] + ([b.mean() - b] if b.ndim else [])
    _compare(float(a.mean()), float(b.mean()), parts, detectable, what, alpha, slack)


def assert_same_ratio(
    num_a: ArrayLike,
    den_a: ArrayLike,
    num_b: ArrayLike,
    den_b: ArrayLike,
    *,
    detectable: float,
    what: str,
    alpha: float = ALPHA,
    slack: float = 0.0,
) -> None:
    """Fail unless two ratios of sums agree, by the delta method; parameters as in `assert_same_mean`.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(10, 1, (2, 9_000)), rng.normal(10, 1, (2, 9_000))
    >>> assert_same_ratio(a[0], a[1], b[0], b[1], detectable=0.02, what="two ratios of one")
    """
    ratio_a, parts_a = _ratio(num_a, den_a)
    ratio_b, parts_b = _ratio(num_b, den_b)
    _compare(ratio_a, ratio_b, [parts_a, -parts_b], detectable, what, alpha, slack)


def assert_ratio(
    num: ArrayLike,
    den: ArrayLike,
    exact: float,
    *,
    detectable: float,
    what: str,
    alpha: float = ALPHA,
    slack: float = 0.0,
) -> None:
    """Fail unless a ratio of sums is `exact`, by the delta method; parameters as in `assert_same_mean`.

    >>> a = np.random.default_rng(0).normal(10, 1, (2, 9_000))
    >>> assert_ratio(a[0], a[1], 1.0, detectable=0.02, what="a ratio of one")
    """
    ratio, parts = _ratio(num, den)
    _compare(ratio, exact, [parts], detectable, what, alpha, slack)


def assert_same_distribution(
    sample: ArrayLike, other: Any, *, detectable: float, what: str, alpha: float = ALPHA
) -> None:
    """Fail unless `sample` has the law of `other`, by Kolmogorov and Smirnov.

    Parameters
    ----------
    sample : array_like, shape (n,)
        Independent draws.
    other : array_like of shape (m,), or callable
        A second, independent sample, or the distribution function.
    detectable : float
        Smallest largest distance between the two distribution functions that must be seen.
    what : str
        Named in the message.
    alpha : float
        Probability of a false alarm (ties make it smaller).

    Examples
    --------
    >>> draws = np.random.default_rng(0).exponential(size=9_000)
    >>> assert_same_distribution(draws, stats.expon.cdf, detectable=0.06, what="an exponential")
    """
    a = np.asarray(sample, dtype=np.float64)
    n_effective = float(a.size) if callable(other) else a.size * np.size(other) / (a.size + np.size(other))
    critical = stats.kstwobign.isf(alpha) / math.sqrt(n_effective)
    # Hoeffding bounds how far below the true distance the one seen at the same point can fall.
    needed = critical + math.sqrt(math.log(1.0 / P_MISS) / (2.0 * n_effective))
    _spend(alpha)
    _refuse_small(needed, detectable, what)
    distance = stats.ks_1samp(a, other).statistic if callable(other) else stats.ks_2samp(a, other).statistic
    assert distance <= critical, f"{what}: distance of the laws {distance:.4g} > {critical:.4g} (alpha {alpha:g})"


def assert_same_counts(
    observed: ArrayLike, expected: ArrayLike, *, detectable: float, what: str, alpha: float = ALPHA
) -> None:
    """Fail unless counts by class have the expected shares, by chi-square.

    Parameters
    ----------
    observed : array_like of int, shape (class,)
        Counts of independent things.
    expected : array_like, shape (class,)
        Exact shares (any scale); at least `MIN_EXPECTED` expected in each class.
    detectable : float
        Smallest effect that must be seen: sqrt(sum((p' - p)^2 / p)) for true shares p' (Cohen's w).
    what : str
        Named in the message.
    alpha : float
        Nominal probability of a false alarm.

    Examples
    --------
    >>> assert_same_counts([5_020, 4_980], [1, 1], detectable=0.1, what="a coin")
    """
    counts = np.asarray(observed, dtype=np.float64)
    shares = np.asarray(expected, dtype=np.float64)
    total = counts.sum()
    due = total * shares / shares.sum()
    _spend(alpha * INFLATION)
    assert due.min() >= MIN_EXPECTED, f"{what}: a class expects {due.min():.3g} < {MIN_EXPECTED:g}: merge classes"
    n_free = counts.size - 1
    critical = stats.chi2.isf(alpha, n_free)
    power = stats.ncx2.sf(critical, n_free, total * detectable**2)
    assert power >= 1.0 - P_MISS, f"{what}: sample too small: sees an effect of {detectable:g} with power {power:.3f}"
    statistic = float(np.sum((counts - due) ** 2 / due))
    assert statistic <= critical, f"{what}: chi-square {statistic:.4g} > {critical:.4g}: {counts} against {due}"


def assert_same_tail(
    sample: Sequence[ArrayLike],
    other: Sequence[ArrayLike],
    share: float,
    *,
    detectable: float,
    what: str,
    alpha: float = ALPHA,
    upper: bool = True,
) -> None:
    """Fail unless as many draws of `sample` as of `other` are among the largest of both.

    Exact for any law: were the laws the same, the members of `sample` among the largest draws of a group would be drawn
    without replacement from all (the hypergeometric law); ties are broken at random.

    Parameters
    ----------
    sample, other : sequence of array_like
        Groups of independent draws; a group of `sample` is compared with the same one of `other`, whatever its law.
    share : float
        Share of the draws that are called the largest.
    detectable : float
        Smallest share of the draws of `sample` beyond there that must be seen.
    what : str
        Named in the message.
    alpha : float
        Probability, at most, of a false alarm.
    upper : bool
        Whether the largest draws are meant, or the smallest.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=4_000), rng.normal(size=40_000)
    >>> assert_same_tail([a], [b], 0.05, detectable=0.09, what="a normal tail")
    """
    rng, sign = np.random.default_rng(0), 1.0 if upper else -1.0
    n_beyond, n_drawn, law = 0, 0, np.ones(1)
    for group, others in zip(sample, other, strict=True):
        a, both = np.asarray(group), sign * np.concatenate([np.asarray(group), np.asarray(others)])
        n_largest = round(share * both.size)
        bound = np.partition(both, -n_largest)[-n_largest]
        ties = rng.permutation(np.flatnonzero(both == bound))[: n_largest - int((both > bound).sum())]
        n_beyond += int((both[: a.size] > bound).sum() + (ties < a.size).sum())
        n_drawn += a.size
        law = np.convolve(law, _law_of_largest(both.size, n_largest, a.size))
    above = np.cumsum(law[::-1])[::-1]
    critical = int(np.argmax(above <= alpha / 2)) if above[-1] <= alpha / 2 else law.size
    power = float(stats.binom.sf(critical - 1, n_drawn, detectable))
    _spend(alpha)
    assert power >= 1.0 - P_MISS, f"{what}: sample too small: sees {detectable:.3g} beyond with power {power:.3f}"
    p_value = 2.0 * min(above[n_beyond], law[: n_beyond + 1].sum())
    assert p_value > alpha, f"{what}: {n_beyond} of {n_drawn} draws in the tail of {share:g} (p {p_value:.2g})"


@cache
def _law_of_largest(n_all: int, n_largest: int, n_drawn: int) -> NDArray[np.float64]:
    """Return the probability of each number of the largest among those drawn."""
    law: NDArray[np.float64] = stats.hypergeom.pmf(np.arange(min(n_largest, n_drawn) + 1), n_all, n_largest, n_drawn)
    return law


def _ratio(num: ArrayLike, den: ArrayLike) -> tuple[float, NDArray[np.float64]]:
    """Return the ratio of sums and each draw's first-order share in its deviation."""
    n, d = np.asarray(num, dtype=np.float64), np.asarray(den, dtype=np.float64)
    ratio = float(n.sum() / d.sum())
    return ratio, (n - ratio * d) / d.mean()


def _compare(
    value: float,
    expected: float,
    parts: list[NDArray[np.float64]],
    detectable: float,
    what: str,
    alpha: float,
    slack: float,
) -> None:
    """Studentised two-sided test of a difference of means whose centred draws are `parts` (second one negated)."""
    _spend(alpha * INFLATION)
    variances = [float(part.var(ddof=1)) / part.size for part in parts]
    error = math.sqrt(sum(variances))
    rounding = 1e-12 * (abs(value) + abs(expected))
    if error <= rounding:  # no spread at all: compare as exact numbers
        assert abs(value - expected) <= slack + 1e3 * rounding, f"{what}: {value!r} is not {expected!r}"
        return
    # Welch and Satterthwaite's degrees of freedom
    n_free = sum(variances) ** 2 / sum(v**2 / (part.size - 1) for v, part in zip(variances, parts, strict=True))
    critical = float(stats.t.isf(alpha / 2, n_free)) * error
    _refuse_small(critical + float(stats.t.isf(P_MISS, n_free)) * error, detectable, what)
    skewness = abs(sum(float(np.mean(part**3)) / part.size**2 for part in parts)) / error**3
    # what Edgeworth's term may be is the same further out
    most = MAX_SKEWNESS * min(1.0, float(stats.norm.isf(ALPHA / 2) / stats.norm.isf(alpha / 2)) ** 3)
    assert skewness <= most, f"{what}: sample too small for its skewness ({skewness:.3f} > {most:.3g})"
    assert abs(value - expected) <= slack + critical, (
        f"{what}: {value:.6g} is not {expected:.6g}: off by {abs(value - expected) / error:.2f} standard errors of "
        f"{error:.3g} with slack {slack:g} (alpha {alpha:g})"
    )


def _refuse_small(needed: float, detectable: float, what: str) -> None:
    assert needed <= detectable, f"{what}: sample too small: would only see a bias of {needed:.4g}, not {detectable:g}"


def _spend(alpha: float) -> None:
    _spent["alpha"] += alpha
    share = SUITE_ALPHA / int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    assert _spent["alpha"] <= share, f"too many statistical assertions: false alarms likelier than {SUITE_ALPHA}"
