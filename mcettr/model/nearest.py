"""The nearest job of the core model: every mechanism beyond it replaced by its mean effect, or by what bounds it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mcettr.model.distributions import Distribution, Number, fixed, mean, scaled
from mcettr.model.mean_rates import mean_rate_per_s
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.renewal import n_intervals

_MOST_STARTS = 1e6
_MOST_SAVES = 1e3


def at_mean_rates(params: Params) -> Params:
    """Return the core model's nearest job: for starting values and estimates of work only.

    Causes strike at known constant rates, their means. A silent or slow fault costs its latency as a downtime, a loss
    in one replica group the group's share of its time. Failed starts lengthen the start, unreadable saves the
    restore. What has no counterpart is left out: local saves, waiting for spares, maintenance, longest attempts.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> from mcettr.model.physics import Incidents
    >>> cause = Cause("node", 1e-5, in_incidents=True)
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (cause,), incidents=Incidents(1e-6, 1e6, 9.0))
    >>> float(at_mean_rates(job).causes[0].rate_per_s)
    5e-05
    """
    return replace(
        params,
        checkpoint=_save(params.checkpoint),
        causes=tuple(_cause(params, cause) for cause in params.causes),
        recovery=_recovery(params),
        rate_shape=float("inf"),
        incidents=None,
        lemons=None,
        maintenance=None,
        check_every_s=None,
        saved_before_s=0.0,
    )


def n_starts(params: Params) -> Number:
    """Return the mean number of starts until one goes well, at most a million."""
    failing = params.recovery.start_failure
    if failing is None:
        return np.float64(1.0)
    return (1.0 / np.maximum(1.0 - np.asarray(failing.probability, dtype=np.float64), 1.0 / _MOST_STARTS))[()]


def latency_s(params: Params, cause: Cause) -> Number:
    """Return the mean time until a fault is noticed, or what bounds it from above where checks may find it sooner."""
    latency = np.asarray(mean(cause.detection), dtype=np.float64)
    if cause.caught_in_check is not None and params.check_every_s is not None:
        with np.errstate(divide="ignore"):
            latency = np.minimum(latency, params.check_every_s * (np.divide(1.0, cause.caught_in_check) - 0.5))
    if cause.kind == "silent":
        save = params.checkpoint
        until_verified = np.add(save.interval_s, save.stall_s)
        latency = np.where(np.greater(save.verify_s, 0.0), np.minimum(latency, until_verified), latency)
    return latency[()]


def in_group(params: Params, cause: Cause) -> bool:
    """Return whether the cause takes down one replica group only."""
    groups = params.recovery.replica_groups
    return groups is not None and cause.exposure != "job" and cause.kind in ("crash", "hang")


def _save(save: Checkpoint) -> Checkpoint:
    verify: Any = np.asarray(save.verify_s, dtype=np.float64)[()]
    return Checkpoint(save.interval_s, save.write_time_s + verify, save.stall_s + verify, save.slowdown, save.blocking)


def _cause(params: Params, cause: Cause) -> Cause:
    """Return the crash that costs about as much."""
    detection, rate = cause.detection, mean_rate_per_s(params, cause)
    if cause.kind in ("silent", "slow") or cause.caught_in_check is not None:
        latency = latency_s(params, cause)
        if cause.kind == "slow":
            with np.errstate(invalid="ignore"):
                latency = np.where(np.greater(cause.slowdown, 0.0), np.multiply(cause.slowdown, latency), 0.0)
        detection = fixed(latency)
    diagnosis = cause.diagnosis
    if in_group(params, cause):
        # Losing 1 / G of the speed for so long costs as much as every G-th loss stopping the job.
        groups = params.recovery.replica_groups
        assert groups is not None
        rate, diagnosis = rate / groups.count, fixed(mean(diagnosis) + np.multiply(groups.count, groups.reconfigure_s))
    return Cause(cause.name, rate, detection=detection, diagnosis=diagnosis)


def _recovery(params: Params) -> Recovery:
    recovery = params.recovery
    startup = (*recovery.startup, *recovery.startup_if_replaced)
    if recovery.start_failure is not None:
        factor = _start_factor(params)
        startup = tuple((name, scaled(law, factor)) for name, law in startup)
    return Recovery(_waits(params, n_starts(params)), startup, _restore(params))


def _start_factor(params: Params) -> Number:
    """Return by how much failed starts lengthen a start, for as many of them to be broken off by failures.

    A failure voids only the try it hits: with q the chance that none hits a try, and p that the try fails, one goes
    well before a failure comes with probability q (1 - p) / (1 - q p). A start of -log of it over the rate does too.
    """
    failing, starts = params.recovery.start_failure, n_starts(params)
    assert failing is not None
    recovery = params.recovery
    phases = (*recovery.startup, *recovery.startup_if_replaced)
    start_s = sum((np.asarray(mean(law), np.float64) for _, law in phases), start=np.zeros(()))
    hits = sum((mean_rate_per_s(params, cause) for cause in params.causes), start=np.zeros(())) * start_s
    p = 1.0 - 1.0 / starts
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor = (np.log((1.0 - np.exp(-hits) * p) / (1.0 - p)) + hits) / hits
    return np.where((hits > 1e-9) & np.isfinite(factor), np.minimum(factor, starts), starts)[()]


def _waits(params: Params, starts: Number) -> Distribution:
    """Return the law of what a restart waits for besides its fault: the queue or a swap, and escalation."""
    recovery = params.recovery
    law = recovery.queue_wait if recovery.spares is None else fixed(recovery.spares.swap_s)
    if (failing := recovery.start_failure) is None:
        return law
    in_a_row = np.power(np.asarray(failing.probability, dtype=np.float64), failing.max_attempts)
    humans = np.minimum(in_a_row / np.maximum(1.0 - in_a_row, 1.0 / _MOST_STARTS), starts)
    return fixed(mean(law) + humans * mean(failing.escalation))


def _restore(params: Params) -> Distribution:
    """Return the law of reading a save, with failed reads, the work since the save before, and the data loader's."""
    recovery, kept = params.recovery, params.checkpoint.retention
    law, extra = recovery.restore, np.zeros(())
    end_s = np.minimum(params.work_s, params.horizon_s)
    if np.any(recovery.data_fast_forward):
        known = np.where(np.isfinite(end_s), end_s, 0.0)
        extra = extra + np.multiply(recovery.data_fast_forward, params.saved_before_s + 0.5 * known)
    if kept is not None:
        bad = np.asarray(kept.bad_probability, dtype=np.float64)
        n_saves = np.where(np.isfinite(end_s), n_intervals(end_s, params.checkpoint.interval_s), _MOST_SAVES)
        most = np.minimum(kept.keep, n_saves)
        failed = np.minimum(bad / np.maximum(1.0 - bad, 1.0 / _MOST_STARTS), most)
        interval = np.where(np.isfinite(params.checkpoint.interval_s), params.checkpoint.interval_s, 0.0)
        extra = extra + failed * (mean(law) + interval)
    if not np.any(extra):
        return law
    return fixed(mean(law) + extra[()])
