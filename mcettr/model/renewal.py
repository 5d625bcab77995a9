"""Closed forms on plain numbers: failures at a constant rate, saves on a fixed schedule.

One notation throughout: failures strike at `rate_per_s` during starts and training, and not during the mean
`downtime_s` that follows each. A save blocks for its stall, then its write goes on in the background at speed
1 - slowdown. Two numbers describe what it costs: `blocked` = stall + slowdown x background time, the wall-clock time
that it takes from computing, and `lag` = (1 - slowdown) x background time, the work done before it is durable.

All functions take floats or arrays that broadcast.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from mcettr.model.distributions import Distribution, Number, mean, sample

_SCORES = np.linspace(-8.0, 8.0, 1025)
_SCORE_WEIGHTS = np.exp(-0.5 * _SCORES**2) / np.exp(-0.5 * _SCORES**2).sum()
_WHOLE = 1e-9
"""Shares of an interval that are rounding, when work is counted in intervals."""


def _array(value: Number) -> Number:
    return np.asarray(value, dtype=np.float64)


def growth_s(rate_per_s: Number, span_s: Number) -> Number:
    """Return (e^(rate x span) - 1) / rate: the mean time to see `span_s` seconds pass without a failure.

    >>> round(float(growth_s(1.0, 5.0)), 1)
    147.4
    >>> float(growth_s(0.0, 5.0))
    5.0
    """
    rate, span = _array(rate_per_s), _array(span_s)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.where(rate > 0, np.expm1(rate * span) / rate, span)[()]


def exposed_s(rate_per_s: Number, span_s: Number) -> Number:
    """Return (1 - e^(-rate x span)) / rate: the mean part of `span_s` that passes before the first failure.

    >>> round(float(exposed_s(1.0, 5.0)), 4)
    0.9933
    """
    rate, span = _array(rate_per_s), _array(span_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, -np.expm1(-rate * span) / rate, span)[()]


def equivalent_s(law: Distribution, rate_per_s: Number) -> Number:
    """Return the fixed duration that failures make as costly as a random one, drawn afresh at every attempt.

    An attempt of random length R survives with probability E[e^(-rate R)], so R acts as the fixed
    -ln E[e^(-rate R)] / rate, which is at most its mean. (E[e^(rate R)] would be right only if a failed attempt were
    repeated with the same draw.) Independent phases add up. Laws without a closed transform are integrated over 257
    normal scores.

    Parameters
    ----------
    law : Distribution
        Law of one attempt's duration, in seconds.
    rate_per_s : float or ndarray
        Failure rate while it runs.

    >>> exponential = Distribution("exponential", (600.0,))
    >>> round(float(equivalent_s(exponential, 1 / 3600)), 2)
    554.94
    """
    rate = _array(rate_per_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, _exponent(law, rate) / rate, mean(law))[()]


def _exponent(law: Distribution, rate: Number) -> Number:
    """Return -ln E[e^(-rate R)], each case written so that it keeps its digits when rate R is small."""
    v = [_array(value) for value in law.values]
    if law.kind == "fixed":
        return rate * v[0]
    if law.kind == "exponential":
        return np.log1p(rate * v[0])
    if law.kind == "gamma":
        squared_cv = np.maximum(np.square(v[1]), 1e-12)
        return np.log1p(rate * v[0] * squared_cv) / squared_cv
    if law.kind == "uniform":
        return rate * v[0] - np.log(np.maximum(exposed_s(rate, v[1] - v[0]), 1e-300) / np.maximum(v[1] - v[0], 1e-300))
    if law.kind == "mixture":
        parts = zip(v, law.components, strict=True)
        return -np.log1p(sum(weight * np.expm1(-_exponent(part, rate)) for weight, part in parts))
    lost: Number = 0.0
    for weight, probability in zip(_SCORE_WEIGHTS, special.ndtr(_SCORES), strict=True):
        lost = lost + weight * np.expm1(-rate * sample(law, np.float64(probability)))
    return -np.log1p(lost)


def blocked_and_lag_s(stall_s: Number, write_time_s: Number, slowdown: Number) -> tuple[Number, Number]:
    """Return (time a save takes from computing, work computed before it is durable), in seconds.

    >>> blocked, lag = blocked_and_lag_s(10.0, 110.0, 0.25)
    >>> float(blocked), float(lag)
    (35.0, 75.0)
    """
    background = _array(write_time_s) - _array(stall_s)
    return stall_s + slowdown * background, (1.0 - slowdown) * background


def optimal_interval_s(rate_per_s: Number, blocked_s: Number) -> Number:
    """Return the interval with the best long-run ETTR: rate T = 1 + W0(-e^(-rate blocked - 1)).

    It maximises T / (e^(rate (T + blocked)) - 1). With background writes the long-run ETTR has this same factor
    times e^(-rate lag), which is free of T: so only the blocked time counts, not the write time; nor do restart and
    downtime. Blocking case: Daly (2006), whose equation for the exact optimum is solved here by Lambert's function.
    Without failures the answer is inf.

    >>> round(float(optimal_interval_s(1 / 360, 5.0)), 2)
    56.71
    """
    rate, blocked = _array(rate_per_s), _array(blocked_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = _one_plus_lambert(rate * blocked)
        return np.where(rate > 0, scaled / rate, np.inf)[()]


def _one_plus_lambert(x: Number) -> Number:
    """Return 1 + W0(-e^(-1 - x)); near the branch point by its series, Corless et al. (1996) equation 4.22."""
    p = np.sqrt(-2.0 * np.expm1(-x))
    series = p * (1.0 + p * (-1 / 3 + p * (11 / 72 + p * (-43 / 540 + p * 769 / 17280))))
    return np.where(p < 0.01, series, 1.0 + special.lambertw(-np.exp(-1.0 - x)).real)


def long_run_ettr(
    rate_per_s: Number,
    interval_s: Number,
    *,
    stall_s: Number = 0.0,
    write_time_s: Number | None = None,
    slowdown: Number = 0.0,
    restart_s: Number = 0.0,
    downtime_s: Number = 0.0,
) -> Number:
    """Return productive over elapsed time of an endless job, exactly.

    A failure comes every 1 / rate of time at risk, and costs the downtime. After a restart (survived with probability
    e^(-rate R)) saves begin at ages T, T + L, T + 2 L, ... and are durable a write time later; the mean number that
    become durable gives ETTR = rate T e^(-rate (lag + R)) / ((e^(rate (T + blocked)) - 1) (1 + rate D)). Where the
    write outlasts the interval (T < lag), saves after the first follow one another at once and carry `lag` of work.

    Parameters
    ----------
    rate_per_s : float or ndarray
        Failures per second at risk.
    interval_s : float or ndarray
        Useful work between the starts of saves.
    stall_s, write_time_s, slowdown : float or ndarray
        See `mcettr.model.params.Checkpoint`; the write time defaults to the stall (a blocking save).
    restart_s : float or ndarray
        Startup and restore, during which failures strike.
    downtime_s : float or ndarray
        Mean failure-free time after a failure.

    >>> M = 1440 / (1536 * 6.5e-3) * 60
    >>> round(float(long_run_ettr(1 / M, 1800.0, stall_s=60.0, restart_s=600.0, downtime_s=300.0)), 6)
    0.78224
    """
    rate, interval = _array(rate_per_s), _array(interval_s)
    write_time = stall_s if write_time_s is None else write_time_s
    blocked, lag = blocked_and_lag_s(stall_s, write_time, slowdown)
    later = np.maximum(interval, lag)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        first = np.exp(-rate * (interval + write_time + restart_s)) / (1.0 + rate * downtime_s)
        span = later + blocked
        repeat = np.where(span > 0, later * np.exp(-rate * span) / exposed_s(rate, span), 1.0)
        endless = np.where(rate > 0, 0.0, 1.0)
        return np.where(np.isfinite(interval), first * (rate * interval + repeat), endless)[()]


def completion_s(
    rate_per_s: Number,
    work_s: Number,
    interval_s: Number,
    *,
    stall_s: Number = 0.0,
    write_time_s: Number | None = None,
    slowdown: Number = 0.0,
    startup_s: Number = 0.0,
    restore_s: Number = 0.0,
    downtime_s: Number = 0.0,
    resumes: Number = 0.0,
) -> Number:
    """Return the mean time from the first start until all work is durably saved, exactly; inf beyond float64.

    Each of the n intervals (the last may be short; it is saved too) is repeated until it passes; before the first
    durable save a restart costs the startup only, later startup and restore. The mean number of failures in an
    interval is e^(rate lag) (e^(rate (T + blocked)) - 1), and each costs (1 / rate + D) e^(rate R). In the last one
    nothing is computed during the write; when it is shorter than the lag it waits for the save before it.

    Parameters
    ----------
    rate_per_s, interval_s, stall_s, write_time_s, slowdown, downtime_s
        As in `long_run_ettr`; writes must fit their interval (lag <= interval) where there are more than two.
    work_s : float or ndarray
        Useful work; inf gives inf.
    startup_s, restore_s : float or ndarray
        The two parts of a restart.
    resumes : float or ndarray
        1 where a durable save exists at the start, else 0.

    >>> round(float(completion_s(0.0, 100.0, 30.0, stall_s=1.0, startup_s=5.0)), 9)
    109.0
    """
    rate, work = _array(rate_per_s), _array(work_s)
    write_time = stall_s if write_time_s is None else write_time_s
    blocked, lag = blocked_and_lag_s(stall_s, write_time, slowdown)
    interval = np.minimum(interval_s, work)
    restart = np.add(startup_s, restore_s)
    first_restart = np.where(np.asarray(resumes) > 0, restart, startup_s)
    with np.errstate(over="ignore", invalid="ignore"):
        n = n_intervals(work, interval)
        last = work - (n - 1.0) * interval
        first_s = growth_s(rate, np.where(n > 1, interval, work) + write_time) * np.exp(rate * first_restart)
        last_s = growth_s(rate, write_time + np.maximum(last - lag, 0.0)) * np.exp(rate * np.minimum(last, lag))
        middle_s = np.where(n > 2, (n - 2.0) * growth_s(rate, interval + blocked) * np.exp(rate * lag), 0.0)
        later_s = np.where(n > 1, (last_s + middle_s) * np.exp(rate * restart), 0.0)
        total = (1.0 + rate * downtime_s) * (growth_s(rate, first_restart) + first_s + later_s)
        return np.where(np.isfinite(work) & (interval > 0), total, np.inf)[()]


def n_intervals(work_s: Number, interval_s: Number) -> Number:
    """Return how many intervals the work takes, a short last one included.

    >>> float(n_intervals(0.3, 0.1)), float(n_intervals(10.0, 4.0)), float(n_intervals(10.0, float("inf")))
    (3.0, 3.0, 1.0)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(np.ceil(_array(work_s) / _array(interval_s) - _WHOLE), 1.0)


def young_interval_s(rate_per_s: Number, blocked_s: Number) -> Number:
    """Return sqrt(2 C M), Young (1974): the first-order optimum for saves much shorter than the mean time to failure.

    >>> float(young_interval_s(1 / 360, 5.0))
    60.0
    """
    with np.errstate(divide="ignore"):
        return np.sqrt(2.0 * _array(blocked_s) / _array(rate_per_s))[()]


def daly_interval_s(rate_per_s: Number, blocked_s: Number) -> Number:
    """Return Daly's (2006) higher-order optimum, equation 37.

    sqrt(2 C M) (1 + sqrt(C / 2 M) / 3 + (C / 2 M) / 9) - C while C < 2 M, and M beyond.

    >>> round(float(daly_interval_s(1 / 360, 5.0)), 2)
    56.71
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        blocked, mttf = _array(blocked_s), 1.0 / _array(rate_per_s)
        half = blocked / (2.0 * mttf)
        series = np.sqrt(2.0 * blocked * mttf) * (1.0 + np.sqrt(half) / 3.0 + half / 9.0) - blocked
        return np.where(half < 1.0, np.where(np.isfinite(mttf), series, np.inf), mttf)[()]


def daly_completion_s(
    rate_per_s: Number, work_s: Number, interval_s: Number, blocked_s: Number, restart_s: Number
) -> Number:
    """Return Daly's (2006) mean wall-clock time, M e^(R / M) (e^((T + C) / M) - 1) work / T: blocking, no downtime.

    >>> round(float(daly_completion_s(1 / 360, 30000.0, 56.71, 5.0, 10.0)) / 60, 1)
    610.2
    """
    n = _array(work_s) / _array(interval_s)
    with np.errstate(over="ignore"):
        growth = growth_s(rate_per_s, _array(interval_s) + blocked_s)
        return (np.exp(_array(rate_per_s) * restart_s) * growth * n)[()]


def hpca25_ettr(rate_per_s: Number, interval_s: Number, blocked_s: Number, restart_s: Number) -> Number:
    """Return (1 - rate (u0 + T / 2)) / (1 + w / T), the first-order form of Kokolis et al. (HPCA 2025).

    Good to 5 % while rate (u0 + T / 2) <= 0.25 and w <= T / 4; negative when that product passes 1, where the truth
    is small and positive.

    >>> round(float(hpca25_ettr(1 / 360, 60.0, 5.0, 10.0)), 3)
    0.821
    """
    interval = _array(interval_s)
    return ((1.0 - _array(rate_per_s) * (restart_s + 0.5 * interval)) / (1.0 + _array(blocked_s) / interval))[()]
