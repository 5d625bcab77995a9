"""The numbers of the core model: failures at known constant rates, known restart laws, a save every interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mcettr.errors import AnalyticError
from mcettr.model import renewal
from mcettr.model.distributions import Number, as_array, mean
from mcettr.model.mean_rates import mean_rate_per_s
from mcettr.model.params import Cause, Checkpoint, Params, Recovery


def failure_rate_per_s(params: Params) -> Number:
    """Return the mean number of failures per second at risk, all causes together; a law `every` counts 1 / mean.

    Bad times, lemons and repeats count (see `mcettr.model.mean_rates`).

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (Cause("a", 2e-5), Cause("b", 3e-5)))
    >>> round(float(failure_rate_per_s(job)), 7)
    5e-05
    """
    return as_array(sum((mean_rate_per_s(params, cause) for cause in params.causes), start=np.float64(0.0)))


def mttf_s(params: Params) -> Number:
    """Return the mean time at risk between failures, in seconds; inf without failures."""
    with np.errstate(divide="ignore"):
        return 1.0 / as_array(failure_rate_per_s(params))


def expected_downtime_s(params: Params) -> Number:
    """Return the mean failure-free time that a failure costs: detection and diagnosis by rate, and the queue."""
    detection, diagnosis, queue = downtimes_s(params)
    return as_array(detection + diagnosis + queue)


def core_model_reason(params: Params) -> str | None:
    """Return why the closed forms do not apply to this job, or None where they do.

    >>> from mcettr.model.distributions import fixed
    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> drill = Cause("drill", 0.0, every=fixed(3600.0))
    >>> core_model_reason(Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (drill,)))
    'the failures of drill follow a law of their own (every), not a constant rate'
    """
    if drills := [c.name for c in params.causes if c.every is not None]:
        return f"the failures of {several(drills)} follow a law of their own (every), not a constant rate"
    if uncertain := uncertain_rates(params):
        return f"{uncertain}, and the value at the mean is not the mean value"
    if beyond := mechanisms(params):
        return f"the core model has no {several(beyond, 'mechanism')}"
    unbounded = [(c.name, ~np.isfinite(mean(c.detection) + mean(c.diagnosis)), c.rate_per_s) for c in params.causes]
    if endless := [name for name, bad, rate in unbounded if np.any(bad & (as_array(rate) > 0))]:
        return f"the detection or diagnosis of {several(endless)} has no finite mean"
    if not np.all(np.isfinite(mean(params.recovery.queue_wait))):
        return "the queue wait has no finite mean"
    return None


def inexact_reason(params: Params) -> str | None:
    """Return why the closed forms are not exact for this very job, or None where they are; a horizon is left aside.

    >>> from mcettr.model.params import Checkpoint, Params
    >>> inexact_reason(Params(8.0, 36e3, 36e6, Checkpoint(290.0, 300.0, 5.0, blocking=False)))
    'a background write outlasts the interval'
    """
    if reason := core_model_reason(params):
        return reason
    return "a background write outlasts the interval" if np.any(core_numbers(params).stretched) else None


def uncertain_rates(params: Params) -> str | None:
    """Return which causes have uncertain rates, as a clause; None where all are known.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> causes = tuple(Cause(name, 1e-5, rate_shape=3.5) for name in ("gpu", "nic", "host"))
    >>> uncertain_rates(Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), causes))
    'the rates of gpu and 2 more causes are uncertain'
    """
    failing = [c for c in params.causes if np.any(as_array(c.rate_per_s) > 0)]
    if failing and np.any(np.isfinite(params.rate_shape)):
        return "all rates share an uncertain factor"
    names = [c.name for c in failing if np.any(np.isfinite(c.rate_shape) & (as_array(c.rate_per_s) > 0))]
    if not names:
        return None
    return f"the rate{'s' * (len(names) > 1)} of {several(names)} {'is' if len(names) == 1 else 'are'} uncertain"


_CORE: dict[type, set[str]] = {
    Params: {"n_gpus", "work_s", "horizon_s", "resumes", "checkpoint", "causes", "recovery", "horizon_given", "n_nodes",
             "saved_before_s", "rate_shape"},
    Checkpoint: {"interval_s", "write_time_s", "stall_s", "slowdown", "blocking", "stall_share", "stall_fixed_s"},
    Cause: {"name", "rate_per_s", "kind", "rate_shape", "every", "detection", "diagnosis", "exposure", "nodes_lost",
            "over_evicted", "slowdown", "notice_s", "min_lease_s", "in_incidents", "by_lemons", "caught_in_check",
            "caught_in_preflight"},
    Recovery: {"queue_wait", "startup", "restore"},
}  # fmt: skip
"""The fields that the core model knows, or that only matter beside another; any other one must have its default."""
_WORDS = {
    "verify_s": "verification",
    "write_time": "random write times",
    "local": "local tier of checkpoints",
    "retention": "unusable checkpoints",
    "profile": "profile of rates",
    "repeat": "repeated failures",
    "startup_if_replaced": "startup phases for replaced nodes",
    "start_failure": "failed starts",
    "max_attempt_s": "longest attempt",
    "data_fast_forward": "data fast-forward",
    "check_every_s": "periodic health checks",
}
_KINDS = {"silent": "silent corruption", "slow": "slow nodes", "preemption": "preemptions"}


def mechanisms(params: Params) -> list[str]:
    """Return the names of the job's mechanisms that the core model does not know.

    Whatever field is not known to the core model and not at its default counts, so that a new one cannot be forgotten.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (Cause("sdc", 1e-5, "silent"),))
    >>> mechanisms(job)
    ['silent corruption']
    """
    found = [_KINDS[cause.kind] for cause in params.causes if cause.kind in _KINDS]
    records: tuple[Any, ...] = (*params.causes, params.checkpoint, params.recovery, params)
    for record in records:
        for item in fields(record):
            if item.name not in _CORE[type(record)] and not _is_off(getattr(record, item.name), item.default):
                found.append(_WORDS.get(item.name, item.name.removesuffix("_s").replace("_", " ")))
    return list(dict.fromkeys(found))


def _is_off(value: Any, default: Any) -> bool:
    if value is None or value is default:
        return True
    if isinstance(default, (int, float)):
        return bool(np.all(np.equal(value, default)))
    return bool(value == default)


def several(names: Sequence[str], what: str = "cause") -> str:
    """Return the first of some causes, and how many more there are.

    >>> several(["gpu"]), several(["gpu", "nic"]), several(["gpu", "nic", "host"])
    ('gpu', 'gpu and nic', 'gpu and 2 more causes')
    """
    return " and ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more {what}s"


@dataclass(frozen=True)
class Core:
    """The numbers of the core model; durations in seconds, random restarts as their fixed equivalents."""

    rate: Number
    downtime: Number
    queue: Number
    startup: Number
    restore: Number
    work: Number
    interval: Number
    stall: Number
    write_time: Number
    slowdown: Number
    blocked: Number
    lag: Number
    stretched: Number
    resumes: Number


def core_numbers(params: Params, strict: bool = True) -> Core:
    """Return the core model's numbers; raise `AnalyticError` where it does not apply, unless not `strict`."""
    reason = core_model_reason(params)
    if reason and strict:
        raise AnalyticError(f"no closed form: {reason}")
    rate = failure_rate_per_s(params)
    save, recovery = params.checkpoint, params.recovery
    blocked, lag = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    startup = sum((renewal.equivalent_s(law, rate) for _, law in recovery.startup), start=np.float64(0.0))
    work, interval = as_array(params.work_s), np.minimum(save.interval_s, params.work_s)
    return Core(
        rate=rate,
        downtime=expected_downtime_s(params),
        queue=as_array(mean(recovery.queue_wait)),
        startup=as_array(startup),
        restore=as_array(renewal.equivalent_s(recovery.restore, rate)),
        work=work,
        interval=interval,
        stall=as_array(save.stall_s),
        write_time=as_array(save.write_time_s),
        slowdown=as_array(save.slowdown),
        blocked=as_array(blocked),
        lag=as_array(lag),
        stretched=(interval < lag * (1.0 - 1e-12)) & (interval < work),
        resumes=as_array(params.resumes),
    )


def completion_of_core_s(core: Core) -> Number:
    """Return the mean completion time, from a stretched schedule as if it were one of the longer interval."""
    return core.queue + renewal.completion_s(
        core.rate,
        core.work,
        np.where(core.stretched, np.minimum(core.lag, core.work), core.interval),
        stall_s=core.stall,
        write_time_s=core.write_time,
        slowdown=core.slowdown,
        startup_s=core.startup,
        restore_s=core.restore,
        downtime_s=core.downtime,
        resumes=core.resumes,
    )


def downtimes_s(params: Params) -> tuple[Number, Number, Number]:
    """Return mean detection, diagnosis and queue of a failure; causes count in proportion to their rates."""
    total = failure_rate_per_s(params)
    detection: Number = np.float64(0.0)
    diagnosis: Number = np.float64(0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        for cause in params.causes:
            rate = mean_rate_per_s(params, cause)
            share = np.where(rate > 0, rate / total, 0.0)
            detection = detection + np.where(share > 0, share * mean(cause.detection), 0.0)
            diagnosis = diagnosis + np.where(share > 0, share * mean(cause.diagnosis), 0.0)
    return as_array(detection), as_array(diagnosis), as_array(mean(params.recovery.queue_wait))
