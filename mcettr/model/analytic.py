"""Closed forms for a whole job: exact where the core model applies, refused with the reason where it does not.

The core model: failures at known constant rates, known restart laws, a save every interval. `at_mean_rates` turns a
job outside it into the nearest one inside, for starting values and for explanations that say so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcettr.errors import AnalyticError
from mcettr.model import renewal
from mcettr.model.core import (
    Core,
    completion_of_core_s,
    core_model_reason,
    core_numbers,
    downtimes_s,
    expected_downtime_s,
    failure_rate_per_s,
    mttf_s,
)
from mcettr.model.distributions import Distribution, Number, as_array, mean, variance
from mcettr.model.events import expected_events
from mcettr.model.nearest import at_mean_rates
from mcettr.model.params import Params

__all__ = [
    "at_mean_rates",
    "best_interval_s",
    "ceiling",
    "core_model_reason",
    "daly_interval_s",
    "ends_in_time",
    "ettr",
    "ettr_long_run",
    "ettr_of_job",
    "expected_completion_s",
    "expected_downtime_s",
    "expected_events",
    "explain",
    "failure_rate_per_s",
    "hpca25_ettr",
    "mean_restart_s",
    "mttf_s",
    "with_interval",
    "young_interval_s",
]


def best_interval_s(params: Params) -> Number:
    """Return the checkpoint interval with the best long-run ETTR, exactly (see `renewal.optimal_interval_s`).

    Never below the work computed while a background write goes on (no stretched schedule), nor above the whole
    work. Without failures it is the whole work (inf for an open-ended job). It is 0 where saves cost nothing at all.

    Returns
    -------
    float or ndarray
        Seconds of useful work.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1.8e6, 1e9, Checkpoint(1.0, 300.0, 300.0), (Cause("node", 1 / 21600),))
    >>> round(float(best_interval_s(job)))
    3403
    """
    core = core_numbers(params)
    return np.minimum(np.maximum(renewal.optimal_interval_s(core.rate, core.blocked), core.lag), core.work)[()]


def with_interval(params: Params, interval_s: Number) -> Params:
    """Return the same job with another checkpoint interval, in seconds of useful work."""
    return replace(params, checkpoint=replace(params.checkpoint, interval_s=interval_s))


def young_interval_s(params: Params) -> Number:
    """Return Young's (1974) interval, sqrt(2 C M), with the blocked time of a save for C."""
    core = core_numbers(params)
    return renewal.young_interval_s(core.rate, core.blocked)


def daly_interval_s(params: Params) -> Number:
    """Return Daly's (2006) higher-order interval, with the blocked time of a save for his dump time."""
    core = core_numbers(params)
    return renewal.daly_interval_s(core.rate, core.blocked)


def hpca25_ettr(params: Params) -> Number:
    """Return the first-order ETTR of the HPCA'25 paper, its u0 being all that a failure costs besides rework."""
    core = core_numbers(params)
    u0 = mean_restart_s(params) + core.downtime
    return renewal.hpca25_ettr(core.rate, core.interval, core.blocked, u0)


def mean_restart_s(params: Params) -> Number:
    """Return the mean of startup and restore together, in seconds."""
    return as_array(sum((mean(law) for _, law in params.recovery.startup), start=mean(params.recovery.restore)))


def ettr_long_run(params: Params) -> Number:
    """Return the exact ETTR of the job if it never ended: no first start, no last interval.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(3600.0, 0.0, 0.0), (Cause("node", 1 / 3600),))
    >>> round(float(ettr_long_run(job)), 4)
    0.582
    """
    core = core_numbers(params)
    return renewal.long_run_ettr(
        core.rate,
        core.interval,
        stall_s=core.stall,
        write_time_s=core.write_time,
        slowdown=core.slowdown,
        restart_s=core.startup + core.restore,
        downtime_s=core.downtime,
    )


def expected_completion_s(params: Params) -> Number:
    """Return the exact mean time from submission until the work is durable, had the job no horizon (inf: never).

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1.8e6, 1e9, Checkpoint(3403.0, 300.0, 300.0), (Cause("node", 1 / 21600),))
    >>> round(float(expected_completion_s(job)) / 3600, 1)
    593.5
    """
    core = core_numbers(params)
    if np.any(core.stretched):
        raise AnalyticError("no closed form for the completion time: a background write outlasts the interval")
    return completion_of_core_s(core)


def ettr_of_job(params: Params) -> Number:
    """Return the exact fleet ETTR of the finite job without a horizon: work over mean completion time."""
    return as_array(params.work_s / expected_completion_s(params))


def ettr(params: Params) -> Number:
    """Return `ettr_of_job` where the job `ends_in_time` or has no horizon of its own, else `ettr_long_run`."""
    core = core_numbers(params)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        of_job = core.work / completion_of_core_s(core)
    unbounded = np.isfinite(core.work) & ~core.stretched & (not params.horizon_given)
    return np.where(ends_in_time(params) | unbounded, of_job, ettr_long_run(params))[()]


def ends_in_time(params: Params) -> Number:
    """Return whether the work is given, no write outlasts its interval, and the horizon leaves the job its time.

    It does where it is the implicit one, beyond the mean completion time, or seven standard deviations beyond it: each
    failure costs at most an interval and a restart, twice over where intervals fail again and again.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1.8e6, 2.6e6, Checkpoint(3403.0, 300.0, 300.0), (Cause("node", 1 / 21600),))
    >>> bool(ends_in_time(job)), bool(ends_in_time(replace(job, horizon_s=2.2e6)))
    (True, False)
    """
    core = core_numbers(params)
    total = completion_of_core_s(core)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        span = np.maximum(core.interval, core.lag) + core.blocked + core.write_time
        cost_s = span + _worst_restart_s(params)
        spread_s = np.where(core.rate > 0, np.sqrt(core.rate * total) * cost_s * np.exp(core.rate * cost_s), 0.0)
        in_time = np.isfinite(total) & (total + (7.0 if params.horizon_given else 0.0) * spread_s <= params.horizon_s)
    return np.isfinite(core.work) & ~core.stretched & in_time


def _worst_restart_s(params: Params) -> Number:
    """Return the root mean square of the time from a failure to training, or what bounds it (Minkowski)."""

    def rms(law: Distribution) -> Number:
        return np.sqrt(variance(law) + np.square(mean(law)))

    recovery = params.recovery
    total = rms(recovery.queue_wait) + rms(recovery.restore) + sum(rms(law) for _, law in recovery.startup)
    causes = [rms(cause.detection) + rms(cause.diagnosis) for cause in params.causes if np.any(cause.rate_per_s)]
    return as_array(total + (np.max(np.stack(np.broadcast_arrays(*causes)), axis=0) if causes else 0.0))


def ceiling(params: Params) -> Number:
    """Return the ETTR that the job could reach in the long run with a free checkpoint at every instant."""
    core = core_numbers(params)
    return (np.exp(-core.rate * (core.startup + core.restore)) / (1.0 + core.rate * core.downtime))[()]


def explain(params: Params) -> dict[str, Number]:
    """Return the exact long-run share of each activity in elapsed time; the shares sum to 1.

    All but `productive` are losses; those before `rework` are what the job loses even with a free checkpoint (they
    sum to 1 - `ceiling`).

    Returns
    -------
    dict of str to float or ndarray
        Keys detection, diagnosis, queue, startup, restore, rework, checkpoint, productive.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(3600.0, 36.0, 36.0), (Cause("node", 1 / 36000),))
    >>> {name: round(float(share), 3) for name, share in explain(job).items() if share > 0}
    {'rework': 0.05, 'checkpoint': 0.009, 'productive': 0.941}
    """
    core = core_numbers(params)
    detection, diagnosis, queue = downtimes_s(params)
    cycle = 1.0 + core.rate * core.downtime
    started = np.exp(-core.rate * core.startup)
    restored = started * np.exp(-core.rate * core.restore)
    productive = ettr_long_run(params)
    checkpoint = restored / cycle * _checkpoint_share(core)
    return {
        "detection": core.rate * detection / cycle,
        "diagnosis": core.rate * diagnosis / cycle,
        "queue": core.rate * queue / cycle,
        "startup": -np.expm1(-core.rate * core.startup) / cycle,
        "restore": (started - restored) / cycle,
        "rework": np.maximum(restored / cycle - checkpoint - productive, 0.0),
        "checkpoint": checkpoint,
        "productive": productive,
    }


def _checkpoint_share(core: Core) -> Number:
    """Return the share of training time that saves take: saves begin at ages T, T + L, T + 2 L, ..."""
    rate, background = core.rate, core.write_time - core.stall
    span = np.maximum(core.interval, core.lag) + core.blocked
    slowed = core.slowdown * np.exp(-rate * core.stall) * renewal.exposed_s(rate, background)
    with np.errstate(divide="ignore", invalid="ignore"):
        taken = (renewal.exposed_s(rate, core.stall) + slowed) / renewal.exposed_s(rate, span)
        return np.where(core.blocked > 0, np.where(np.isfinite(span), taken * np.exp(-rate * core.interval), 0.0), 0.0)
