"""Exact values for starts that fail, announced and planned stops, slow nodes and health checks.

Seconds and 1 / seconds throughout. Each docstring says for which job the value is exact.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]


def n_starts_law(probability: float, most: int) -> Floats:
    """Return P(1), ..., P(most - 1), P(at least most) starts until one goes well: geometric.

    Exact for every restart that no failure cuts short.

    >>> n_starts_law(0.5, 3).tolist()
    [0.5, 0.25, 0.25]
    """
    shares = (1.0 - probability) * probability ** np.arange(most)
    return np.append(shares[:-1], probability ** (most - 1.0))


def mean_escalations(probability: float, max_attempts: int) -> float:
    """Return the mean number of waits for a human until a start goes well: one after each m failed starts in a row.

    The number is geometric with the chance p^m that m starts fail, as the count in a row begins anew after each.

    >>> round(mean_escalations(0.5, 2), 4)
    0.3333
    """
    in_a_row = probability**max_attempts
    return in_a_row / (1.0 - in_a_row)


def mean_start_s(startup_s: float, probability: float, max_attempts: int, escalation_s: float) -> float:
    """Return the mean time from a restart's first start to the end of the one that goes well, without failures.

    >>> round(mean_start_s(60.0, 0.5, 2, 300.0), 6)
    220.0
    """
    return startup_s / (1.0 - probability) + mean_escalations(probability, max_attempts) * escalation_s


def preemption_counts(rate_per_s: float, lease_s: float, down_s: float, horizon_s: float) -> tuple[float, float]:
    """Return mean and variance of the number of preemptions in [0, horizon] with a minimum lease.

    Exact where preemption is the only cause, with room for a save: each comes lease + Exp(rate) after its attempt began
    (so the lease is at least startup + restore), and `down_s` (the write, the queue) passes until the next attempt;
    the first one begins at 0.

    >>> mean, variance = preemption_counts(0.01, 0.0, 0.0, 1000.0)
    >>> round(mean, 6), round(variance, 6)
    (10.0, 10.0)
    """
    n = np.arange(1, 2 + int(horizon_s / max(lease_s + down_s, 0.02 / rate_per_s)))
    left = horizon_s - n * lease_s - (n - 1) * down_s
    reached = np.where(left > 0, special.gammainc(n, rate_per_s * np.maximum(left, 0.0)), 0.0)
    mean = float(reached.sum())
    return mean, float(((2 * n - 1) * reached).sum()) - mean**2


def preemption_ettr(rate_per_s: float, lease_s: float, start_s: float, write_s: float, queue_s: float) -> float:
    """Return the long-run ETTR under preemptions with room for a save, which lose no work.

    Exact without other causes and regular saves (interval inf), for a lease of at least startup + restore (`start_s`).

    >>> round(preemption_ettr(1 / 3600, 1800.0, 600.0, 60.0, 240.0), 4)
    0.8421
    """
    return (lease_s + 1.0 / rate_per_s - start_s) / (queue_s + lease_s + 1.0 / rate_per_s + write_s)


def degraded_s(rate_per_s: float, slowdown: float, mean_detection_s: float, horizon_s: float) -> float:
    """Return the mean time lost to slow nodes in [0, horizon].

    Exact for one slow cause alone with exponential detection, free saves and restarts of no length: slow and full speed
    alternate as a two-state Markov chain (a second slow node meanwhile is ignored).

    >>> round(degraded_s(1e-3, 0.5, 1e3, 1e9) / 1e9, 6)
    0.25
    """
    found = 1.0 / mean_detection_s
    both = rate_per_s + found
    slow_s = rate_per_s / both * (horizon_s + math.expm1(-both * horizon_s) / both)
    return slowdown * slow_s


def maintenance_s(every_s: float, duration_s: float, horizon_s: float) -> float:
    """Return the mean time in planned windows within [0, horizon], whose beginnings have a uniform phase.

    Exact for every job: windows come in calendar time. One begins at each instant with density 1 / every, and is
    cut at the horizon; none is under way at 0.

    >>> maintenance_s(100.0, 10.0, 200.0)
    19.5
    """
    return (horizon_s * duration_s - 0.5 * min(duration_s, horizon_s) ** 2) / every_s


def maintained_ettr(every_s: float, duration_s: float, write_s: float, restart_s: float) -> float:
    """Return the long-run ETTR of a job that only planned windows stop, each announced in time for a save.

    Exact without causes and regular saves: a window costs the write before it, itself, startup and restore.

    >>> maintained_ettr(1000.0, 100.0, 10.0, 90.0)
    0.8
    """
    return (every_s - duration_s - write_s - restart_s) / every_s


def attempts_elapsed_s(
    work_s: float, longest_s: float, write_s: float, startup_s: float, restore_s: float, queue_s: float
) -> tuple[int, float]:
    """Return (attempts, elapsed time) of a job that only its longest attempt stops.

    Exact without causes and regular saves, where the last attempt ends (its save included) before it would be stopped.
    An attempt trains until `longest_s` - write, then saves; the first one restores nothing.

    >>> attempts_elapsed_s(1500.0, 1000.0, 10.0, 50.0, 40.0, 5.0)
    (2, 1670.0)
    """
    n, left, elapsed, start_s = 1, work_s, 0.0, startup_s
    while start_s + left + write_s > longest_s:
        left -= longest_s - start_s - write_s
        elapsed += queue_s + longest_s
        n, start_s = n + 1, startup_s + restore_s
    return n, elapsed + queue_s + start_s + left + write_s


def check_latency_s(period_s: float, catches: float, mean_latency_s: float = math.inf) -> float:
    """Return the mean detection time under a periodic check that catches a fault with a chance.

    The checks come period x (U + k) after the fault, U uniform; the fault's own law is exponential, or never. E[min] is
    the integral of the product of the two survival functions, period by period.

    >>> check_latency_s(60.0, 0.5)
    90.0
    >>> round(check_latency_s(60.0, 1.0, 1e6), 2)
    30.0
    """
    missed = 1.0 - catches
    if math.isinf(mean_latency_s):
        return period_s * (1.0 / catches - 0.5)
    a = period_s / mean_latency_s
    # In period k the check survives with missed^k (1 - catches f), f the share of the period that has passed.
    flat = -math.expm1(-a) / a
    slope = (1.0 - math.exp(-a) * (1.0 + a)) / a**2
    return period_s * (flat - catches * slope) / (1.0 - missed * math.exp(-a))
