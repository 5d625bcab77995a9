"""The numbers of the core model: failures at known constant rates, known restart laws, a save every interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mcettr.errors import AnalyticError
from mcettr.model import renewal
from mcettr.model.distributions import Number, as_array, mean
from mcettr.model.mean_rates import mean_rate_per_s
from mcettr.model.params import Params


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


def mechanisms(params: Params) -> list[str]:
    """Return the names of the job's mechanisms that the core model does not know.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (Cause("sdc", 1e-5, "silent"),))
    >>> mechanisms(job)
    ['silent corruption']
    """
    save, recovery, causes = params.checkpoint, params.recovery, params.causes
    found = {
        "silent corruption": any(c.kind == "silent" for c in causes),
        "slow nodes": any(c.kind == "slow" for c in causes),
        "preemptions": any(c.kind == "preemption" for c in causes),
        "profile of rates": any(c.profile is not None for c in causes),
        "repeated failures": any(c.repeat is not None for c in causes),
        "incidents": params.incidents is not None,
        "lemons": params.lemons is not None,
        "verification": np.any(save.verify_s),
        "random write times": save.write_time is not None,
        "local tier of saves": save.local is not None,
        "unusable saves": save.retention is not None,
        "startup phases for replaced nodes": bool(recovery.startup_if_replaced),
        "failed starts": recovery.start_failure is not None,
        "data fast-forward": np.any(recovery.data_fast_forward),
        "spares": recovery.spares is not None,
        "replica groups": recovery.replica_groups is not None,
        "longest attempt": recovery.max_attempt_s is not None,
        "maintenance": params.maintenance is not None,
        "periodic health checks": params.check_every_s is not None,
    }
    return [name for name, there in found.items() if there]


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
