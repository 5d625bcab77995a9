"""The core model's job that loses least: what warnings may say for certain of a job with other mechanisms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import special

from mcettr.model.core import core_model_reason, core_numbers, failure_rate_per_s
from mcettr.model.distributions import Number, as_array, exceedance
from mcettr.model.events import planned_factor
from mcettr.model.mean_rates import incidents_mean, lemons_mean
from mcettr.model.nearest import at_mean_rates, in_group
from mcettr.model.params import Cause, Params

_NEAR = 0.9


def favourable(params: Params) -> Params:
    """Return the core model's job whose losses are surely among those of this one.

    Only failures that roll the job back count: no stop that saves first, no loss of a replica group, no corruption
    (found late, and one at a time). Rates are those of quiet times, new faults and healthy nodes, uncertain ones at
    their median, for what is said of most timelines.

    >>> from mcettr.model.params import Checkpoint
    >>> from mcettr.model.physics import Repeat
    >>> causes = (Cause("node", 1e-5, repeat=Repeat(0.9, 60.0)), Cause("alarm", 1e-3, "preemption", notice_s=np.inf))
    >>> near = favourable(Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), causes))
    >>> [float(cause.rate_per_s) for cause in near.causes]
    [1e-05, 0.0]
    """
    kept = tuple(_least(params, cause) for cause in params.causes if _may_roll_back(params, cause))
    return at_mean_rates(replace(params, causes=kept, incidents=None, lemons=None))


def tells_figures(params: Params) -> bool:
    """Return whether closed forms at mean rates are near enough to this job for a warning to give their figures."""
    if core_model_reason(params) is None:
        return True
    core = at_mean_rates(params)
    least, most = (as_array(failure_rate_per_s(job)) for job in (favourable(params), core))
    planned = planned_factor(params, core_numbers(core, strict=False))
    return bool(np.all((least >= _NEAR * most) & (planned <= 1.0 / _NEAR)))


def _may_roll_back(params: Params, cause: Cause) -> bool:
    return cause.kind in ("crash", "hang", "preemption") and not in_group(params, cause)


def _least(params: Params, cause: Cause) -> Cause:
    """Return the cause without what may raise its rate."""
    if cause.every is not None:
        return cause
    factor: Number = _median(cause.rate_shape) * _median(params.rate_shape)
    if cause.profile is not None:
        multipliers = np.stack(np.broadcast_arrays(*cause.profile.multipliers))
        factor = factor * multipliers.min(axis=0)
    if cause.in_incidents and params.incidents is not None:
        factor = factor * np.minimum(incidents_mean(params.incidents), 1.0)
    if cause.by_lemons and params.lemons is not None:
        factor = factor * np.minimum(lemons_mean(params, cause), 1.0)
    if cause.kind == "preemption":
        save = params.checkpoint
        late = np.less(cause.notice_s, save.write_time_s) * 1.0
        late = late if save.write_time is None else exceedance(save.write_time, cause.notice_s)
        factor = factor * late * np.equal(0.0 if cause.min_lease_s is None else cause.min_lease_s, 0.0)
    rate = as_array(cause.rate_per_s * factor)
    return replace(cause, rate_per_s=rate, profile=None, repeat=None, in_incidents=False, by_lemons=False)


def _median(shape: Number) -> Number:
    """Return the median of a gamma factor of mean 1; 1 where nothing is uncertain."""
    known = np.where(np.isfinite(shape), shape, 1.0)
    return as_array(np.where(np.isfinite(shape), special.gammaincinv(known, 0.5) / known, 1.0))
