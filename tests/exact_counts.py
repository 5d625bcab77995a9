"""Exact mean and variance of the number of failures in [0, t] under what correlates them.

Exact where all of the wall clock is at risk: no detection, diagnosis, queue or wait, startup and restore of any length.
A job open to the horizon t then counts its failures to the end of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tests.exact_chains import count_moments

Moments = tuple[float, float]


def in_incidents(
    rate_per_s: float, begin_per_s: float, mean_duration_s: float, multiplier: float, t_s: float
) -> Moments:
    """Return the moments under two-state modulation that is stationary at 0.

    The variance beyond Poisson is 2 (jump in rate)^2 pi (1 - pi) (t / s - (1 - e^(-s t)) / s^2), s the relaxation rate.

    >>> in_incidents(0.1, 0.01, 100.0, 1.0, 1000.0)
    (100.0, 100.0)
    """
    end_per_s = 1.0 / mean_duration_s
    s = begin_per_s + end_per_s
    share = begin_per_s / s
    mean = rate_per_s * (1.0 + share * (multiplier - 1.0)) * t_s
    jump = rate_per_s * (multiplier - 1.0)
    excess = 2.0 * jump**2 * share * (1.0 - share) * (t_s / s + math.expm1(-s * t_s) / s**2)
    return mean, mean + excess


def in_incidents_by_chain(
    rate_per_s: float, begin_per_s: float, mean_duration_s: float, multiplier: float, t_s: float
) -> Moments:
    """Return the same by the Markov chain.

    >>> closed, chain = (f(0.1, 0.01, 50.0, 7.0, 300.0) for f in (in_incidents, in_incidents_by_chain))
    >>> bool(np.allclose(closed, chain))
    True
    """
    end_per_s = 1.0 / mean_duration_s
    share = begin_per_s / (begin_per_s + end_per_s)
    silent = [[0.0, begin_per_s], [end_per_s, 0.0]]
    return count_moments(silent, np.diag([rate_per_s, rate_per_s * multiplier]), [1.0 - share, share], t_s)


def under_gamma(rate_per_s: float, shape: float, t_s: float) -> Moments:
    """Return the moments of one timeline when a gamma factor of mean 1 multiplies the rate (negative binomial).

    >>> under_gamma(0.1, 25.0, 1000.0)
    (100.0, 500.0)
    """
    mean = rate_per_s * t_s
    return mean, mean + mean**2 / shape


def with_lemons_kept(rate_per_s: float, n_nodes: int, fraction: float, multiplier: float, t_s: float) -> Moments:
    """Return the moments with a binomial number of lemons that nobody evicts: a mixture of Poisson laws.

    Exact for a cause that loses no nodes, eviction_probability 0; `rate_per_s` is that of the job if all were healthy.

    >>> mean, variance = with_lemons_kept(0.1, 100, 0.01, 30.0, 1000.0)
    >>> round(mean, 6), round(variance, 4)
    (129.0, 961.59)
    """
    mean = rate_per_s * t_s * (1.0 + fraction * (multiplier - 1.0))
    each = rate_per_s * t_s / n_nodes * (multiplier - 1.0)
    return mean, mean + each**2 * n_nodes * fraction * (1.0 - fraction)


def with_lemons_evicted(
    rate_per_s: float, n_nodes: int, fraction: float, multiplier: float, evicted: float, t_s: float
) -> Moments:
    """Return the moments when a lemon's failure gets it replaced with a probability: a Markov chain of their number.

    Exact for a cause that loses 1 node a strike, without spares: a healthy striker is always replaced, a lemon if
    evicted; the new node is a lemon with `fraction`.

    >>> kept = with_lemons_evicted(0.1, 50, 0.0, 30.0, 0.5, 1000.0)
    >>> np.round(kept, 6).tolist()
    [100.0, 100.0]
    """
    states = n_nodes + 1
    silent, marked = np.zeros((states, states)), np.zeros((states, states))
    for lemons in range(states):
        healthy = rate_per_s * (n_nodes - lemons) / n_nodes
        bad = rate_per_s * lemons * multiplier / n_nodes
        if lemons < n_nodes:
            marked[lemons, lemons + 1] += healthy * fraction
            marked[lemons, lemons] += healthy * (1.0 - fraction)
        if lemons > 0:
            marked[lemons, lemons - 1] += bad * evicted * (1.0 - fraction)
            marked[lemons, lemons] += bad * (1.0 - evicted * (1.0 - fraction))
    start = stats.binom.pmf(np.arange(states), n_nodes, fraction)
    return count_moments(silent, marked, start, t_s)


def with_repeats(rate_per_s: float, missed: float, mean_time_s: float, t_s: float, most: int = 40) -> Moments:
    """Return the moments when a missed culprit strikes again: a Markov chain of the number pending (up to `most`).

    >>> mean, _ = with_repeats(0.01, 0.25, 10.0, 1e5)
    >>> round(mean * 0.75 / 1e3, 3)  # 1 / (1 - p) strikes a culprit
    1.0
    """
    silent, marked = np.zeros((most + 1, most + 1)), np.zeros((most + 1, most + 1))
    for pending in range(most + 1):
        again = pending / mean_time_s
        marked[pending, min(pending + 1, most)] += rate_per_s * missed
        marked[pending, pending] += rate_per_s * (1.0 - missed) + again * missed
        if pending:
            marked[pending, pending - 1] += again * (1.0 - missed)
    return count_moments(silent, marked, np.eye(most + 1)[0], t_s)


def with_profile(rate_per_s: float, starts_s: Any, multipliers: Any, t_s: float) -> Moments:
    """Return the moments under a known profile: Poisson.

    >>> with_profile(0.5, [0.0, 10.0], [3.0, 1.0], 20.0)
    (20.0, 20.0)
    """
    ends: NDArray[np.float64] = np.append(np.asarray(starts_s, dtype=np.float64)[1:], np.inf)
    lengths = np.clip(np.minimum(ends, t_s) - np.asarray(starts_s, dtype=np.float64), 0.0, None)
    mean = rate_per_s * float(np.dot(lengths, multipliers))
    return mean, mean


def all_renewed_mean_s(n_nodes: int, shape: float, mean_life_s: float) -> float:
    """Return the mean time between failures of the wrong model: all nodes new at each failure (Weibull lives).

    The least of n lives is Weibull too, its scale divided by n^(1 / shape); the right long-run value is mean life / n.

    >>> round(all_renewed_mean_s(1000, 0.7, 153.85 * 1440), 1), round(153.85 * 1440 / 1000, 1)  # V1.18, minutes
    (11.5, 221.5)
    """
    return mean_life_s * n_nodes ** (-1.0 / shape)
