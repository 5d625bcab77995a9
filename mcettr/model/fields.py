"""Every number of a job by the path that its user knows it by, with the range that it has to lie in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcettr.model.counts import Counts
from mcettr.model.distributions import Distribution, Number, mean
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

_INF = float("inf")


@dataclass(frozen=True)
class Field:
    """One number of a job.

    Parameters
    ----------
    path : str
        Dotted path.
    value : float or ndarray
        The number; of a law, the mean.
    low, high : float
        The range, its ends included unless `above_low` or `below_high`.
    endless : bool
        Whether it may be infinite.
    whole : bool
        Whether it has to be a whole number.
    is_time : bool
        Whether it is in seconds.
    advice : str
        What to do about one out of range.
    """

    path: str
    value: Number
    low: float = 0.0
    above_low: bool = False
    high: float = _INF
    below_high: bool = False
    endless: bool = False
    whole: bool = False
    is_time: bool = True
    advice: str = ""


def fields(params: Params) -> Iterator[Field]:
    """Yield every number of a job.

    >>> from mcettr.model.params import Checkpoint, Params
    >>> [field.path for field in fields(Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0)))][:3]
    ['job.gpus', 'job.nodes', 'job.work']
    """
    yield Field("job.gpus", params.n_gpus, above_low=True, is_time=False)
    yield Field("job.nodes", params.n_nodes, low=1.0, whole=True, is_time=False)
    yield Field("job.work", params.work_s, above_low=True, endless=True)
    yield Field("job.horizon", params.horizon_s, above_low=True, endless=True)
    yield Field("job.resumes", params.resumes, is_time=False)
    yield Field("job.saved", params.saved_before_s)
    yield from _of_checkpoint(params.checkpoint)
    for cause in params.causes:
        yield from _of_cause(f"failures.{cause.name}", cause)
    yield from _of_recovery(params.recovery)
    yield from _of_surroundings(params)


def counts(params: Params) -> Iterator[tuple[str, Counts]]:
    """Yield (path, law) of every count of nodes."""
    for cause in params.causes:
        for name, law in (("nodes_lost", cause.nodes_lost), ("over_evicted", cause.over_evicted)):
            if law is not None:
                yield f"failures.{cause.name}.{name}", law


def _of_checkpoint(save: Checkpoint) -> Iterator[Field]:
    advice = ", a free save has no best interval: give one"
    yield Field("checkpoint.interval", save.interval_s, above_low=True, endless=True, advice=advice)
    yield Field("checkpoint.write_time", save.write_time_s)
    yield Field("checkpoint.stall", save.stall_s)
    yield _chance("checkpoint.slowdown", save.slowdown)
    yield Field("checkpoint.verify", save.verify_s)
    if save.write_time is not None:
        yield _chance("checkpoint.stall", save.stall_share)
        yield Field("checkpoint.stall", save.stall_fixed_s)
    if (local := save.local) is not None:
        yield Field("checkpoint.local.write_time", local.write_time_s)
        yield Field("checkpoint.local.stall", local.stall_s)
        yield _of_law("checkpoint.local.restore", local.restore)
        yield _count("checkpoint.local.survives_node_losses", local.survives_node_losses, endless=True)
    if (kept := save.retention) is not None:
        yield _chance("checkpoint.bad_probability", kept.bad_probability)
        yield _count("checkpoint.keep", kept.keep, low=1.0, endless=True)
        yield _count("checkpoint.permanent_every", kept.permanent_every, low=1.0, endless=True)


def _of_cause(path: str, cause: Cause) -> Iterator[Field]:
    yield Field(f"{path}.rate", cause.rate_per_s, is_time=False)
    yield Field(f"{path}.count", cause.rate_shape, endless=True, is_time=False)
    for name, law in (("detection", cause.detection), ("diagnosis", cause.diagnosis), ("every", cause.every)):
        if law is not None:
            yield _of_law(f"{path}.{name}", law, endless=True)
    slow = cause.kind == "slow"
    advice = ": a node that stops the job is a crash" if slow else ""
    yield Field(f"{path}.slowdown", cause.slowdown, high=1.0, below_high=slow, is_time=False, advice=advice)
    yield Field(f"{path}.notice", cause.notice_s, endless=True)
    if cause.min_lease_s is not None:
        yield Field(f"{path}.min_lease", cause.min_lease_s, endless=True)
    if cause.profile is not None:
        for start, multiplier in zip(cause.profile.starts_s, cause.profile.multipliers, strict=True):
            yield Field(f"{path}.profile", start)
            yield Field(f"{path}.profile", multiplier, is_time=False)
    if cause.repeat is not None:
        yield _chance(f"{path}.repeat.probability", cause.repeat.probability)
        yield Field(f"{path}.repeat.mean_time", cause.repeat.mean_time_s, above_low=True)
    for where, chance in (("periodic", cause.caught_in_check), ("preflight", cause.caught_in_preflight)):
        if chance is not None:
            yield _chance(f"health_checks.{where}.catch_probability.{path.removeprefix('failures.')}", chance)


def _of_recovery(recovery: Recovery) -> Iterator[Field]:
    yield _of_law("recovery.queue_wait", recovery.queue_wait)
    for name, law in (*recovery.startup, *recovery.startup_if_replaced):
        yield _of_law(f"recovery.startup.{name}", law)
    yield _of_law("recovery.restore", recovery.restore)
    yield Field("recovery.data_fast_forward", recovery.data_fast_forward, is_time=False)
    if (start := recovery.start_failure) is not None:
        yield _chance("recovery.start_failure.probability", start.probability)
        yield _count("recovery.start_failure.max_attempts", start.max_attempts, low=1.0, endless=True)
        yield _of_law("recovery.start_failure.escalation", start.escalation)
    if (spares := recovery.spares) is not None:
        yield _count("recovery.spares.count", spares.count, endless=True)
        yield Field("recovery.spares.swap", spares.swap_s)
        yield _chance("recovery.spares.repair.quick.share", spares.quick_share)
        yield Field("recovery.spares.repair.quick.mean", spares.quick_mean_s, above_low=True)
        yield Field("recovery.spares.repair.slow.mean", spares.slow_mean_s, above_low=True)
        yield _chance("recovery.spares.repair_failure", spares.repair_failure)
        shrinks = spares.when_exhausted == "shrink"
        yield _count("recovery.spares.min_nodes", spares.min_nodes, low=1.0 if shrinks else 0.0)
    if (groups := recovery.replica_groups) is not None:
        yield _count("recovery.replica_groups.count", groups.count, low=1.0)
        yield Field("recovery.replica_groups.reconfigure", groups.reconfigure_s)
        yield _of_law("recovery.replica_groups.rejoin", groups.rejoin)
    if recovery.max_attempt_s is not None:
        yield Field("recovery.max_attempt", recovery.max_attempt_s, above_low=True, endless=True)


def _of_surroundings(params: Params) -> Iterator[Field]:
    yield Field("uncertainty.cv", params.rate_shape, above_low=True, endless=True, is_time=False)
    if (bad_times := params.incidents) is not None:
        yield Field("incidents.rate", bad_times.rate_per_s, is_time=False)
        yield Field("incidents.mean_duration", bad_times.mean_duration_s, above_low=True)
        yield Field("incidents.multiplier", bad_times.multiplier, is_time=False)
    if (lemons := params.lemons) is not None:
        yield _chance("lemons.fraction", lemons.fraction)
        yield Field("lemons.multiplier", lemons.multiplier, is_time=False)
        yield _chance("lemons.eviction_probability", lemons.eviction_probability)
        if lemons.caught_in_preflight is not None:
            yield _chance("health_checks.preflight.catch_probability.lemon", lemons.caught_in_preflight)
    if (planned := params.maintenance) is not None:
        yield Field("maintenance.every", planned.every_s, above_low=True, endless=True)
        yield Field("maintenance.duration", planned.duration_s)
        yield Field("maintenance.notice", planned.notice_s, endless=True)
    if params.check_every_s is not None:
        yield Field("health_checks.periodic.every", params.check_every_s, above_low=True, endless=True)


def _of_law(path: str, law: Distribution, endless: bool = False) -> Field:
    return Field(path, mean(law), endless=endless)


def _chance(path: str, value: Number) -> Field:
    return Field(path, value, high=1.0, is_time=False)


def _count(path: str, value: Number, low: float = 0.0, endless: bool = False) -> Field:
    return Field(path, value, low=low, endless=endless, whole=True, is_time=False)
