"""How much there is to simulate: the attempts and other events of a timeline, estimated rather from above."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcettr.model.core import Core, completion_of_core_s, core_numbers
from mcettr.model.distributions import Distribution, Number, as_array, mean
from mcettr.model.mean_rates import mean_rate_per_s, nodes_lost_per_s
from mcettr.model.nearest import at_mean_rates, in_group, n_starts
from mcettr.model.node_losses import chance_out_above
from mcettr.model.params import Checkpoint, Params
from mcettr.model.renewal import blocked_and_lag_s

MOST_ATTEMPTS, MOST_WITHOUT_HORIZON = 1_000_000, 100_000
"""Attempts after which a run stops a timeline."""
MOST_TOGGLES = 100_000
"""Beginnings and ends of incidents that a timeline may have: each takes a step."""
_BRIEFEST_S = 1e-3
"""A failed start takes at least this long, for the number of them to be finite."""


@dataclass(frozen=True)
class Events:
    """How many events of each kind a timeline sees, estimated rather from above; finite even if it never finishes.

    Parameters
    ----------
    failures, planned, failed_starts : float or ndarray
        What ends an attempt, or takes a replica group out.
    toggles, repairs : float or ndarray
        Beginnings and ends of incidents, and nodes that come back: they cost steps, but end no attempt.
    """

    failures: Number
    planned: Number
    failed_starts: Number
    toggles: Number
    repairs: Number

    @property
    def attempts(self) -> Number:
        """What counts towards the cap on attempts."""
        return self.failures + self.planned + self.failed_starts


def most_attempts(params: Params) -> int:
    """Return the cap on the attempts of a timeline, at most: lower for a job whose end nobody chose."""
    return MOST_ATTEMPTS if params.horizon_given else MOST_WITHOUT_HORIZON


def expected_events(params: Params) -> Number:
    """Return about how many events a timeline sees until its work or its horizon ends; never refuses.

    Exact without a binding horizon in the core model: failures number rate x mean time at risk (Wald). With other
    mechanisms it counts planned stops, failed starts, incidents and repairs too, and is an estimate.

    >>> from mcettr.model.params import Cause, Checkpoint, Params
    >>> from mcettr.model.physics import Maintenance
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 0.0, 0.0), (), maintenance=Maintenance(1e5, 0.0))
    >>> round(float(expected_events(job)), 6)
    10.0
    """
    found = events_by_kind(params)
    return (found.attempts + found.toggles + found.repairs)[()]


def events_by_kind(params: Params) -> Events:
    """Return how many events of each kind a timeline sees.

    >>> from mcettr.model.params import Checkpoint, Params
    >>> from mcettr.model.physics import Incidents
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 0.0, 0.0), incidents=Incidents(1e-4, 1e4, 8.0))
    >>> round(float(events_by_kind(job).toggles), 6)
    100.0
    """
    horizon = as_array(params.horizon_s)
    core = core_numbers(_bounded(params, horizon), strict=False)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        elapsed = np.minimum((completion_of_core_s(core) - core.queue) * planned_factor(params, core), horizon)
        at_risk = elapsed / (1.0 + core.rate * core.downtime)
        failures = core.rate * at_risk + _group_rate_per_s(params) * at_risk
        planned = _planned_per_s(params) * elapsed
        counts = (
            failures,
            planned,
            _failed_starts(params, failures + planned, elapsed),
            toggles_per_s(params) * elapsed,
            _repairs_per_s(params) * at_risk,
        )
        return Events(*(np.maximum(count, 0.0) for count in counts))


def _bounded(params: Params, horizon_s: Number) -> Params:
    """Return the core model's nearest job, local saves included, without waits beyond the horizon."""
    core = at_mean_rates(params)
    causes = tuple(
        replace(c, detection=_capped(c.detection, horizon_s), diagnosis=_capped(c.diagnosis, horizon_s))
        for c in core.causes
    )
    recovery = replace(core.recovery, queue_wait=_capped(core.recovery.queue_wait, horizon_s))
    return replace(core, causes=causes, recovery=recovery, checkpoint=_of_both_tiers(params, core.checkpoint))


def _of_both_tiers(params: Params, save: Checkpoint) -> Checkpoint:
    """Return the single tier with the mean work between restorable saves, and the same share of time in saves."""
    local = params.checkpoint.local
    if local is None:
        return save
    total: Number = np.float64(0.0)
    to_main: Number = np.float64(0.0)
    for cause in params.causes:
        rate = mean_rate_per_s(params, cause)
        total = total + rate
        to_main = to_main + rate * chance_out_above(cause, local.survives_node_losses)
    share = np.where(total > 0, to_main / np.where(total > 0, total, 1.0), 1.0)
    blocked, _ = blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    factor = share + (1.0 - share) / local.n_a_main
    verify_s = 0.0 if params.checkpoint.verify_s is None else params.checkpoint.verify_s
    blocked_s = (blocked + (local.n_a_main - 1.0) * (local.stall_s + verify_s)) * factor
    return Checkpoint(save.interval_s * factor, blocked_s, blocked_s)


def planned_factor(params: Params, core: Core) -> Number:
    """Return by how much planned stops lengthen the job: what they cost over what is left between them."""
    factor: Number = np.float64(1.0)
    start_s = core.startup + core.restore
    if (planned := params.maintenance) is not None:
        factor = factor / np.maximum(1.0 - (planned.duration_s + start_s) / planned.every_s, 0.0)
    if (longest := params.recovery.max_attempt_s) is not None:
        lost_s = np.where(np.isfinite(longest), core.queue + start_s + core.write_time, 0.0)
        factor = factor / np.maximum(1.0 - lost_s / (longest + core.queue), 0.0)
    return factor


def _planned_per_s(params: Params) -> Number:
    rate: Number = np.float64(0.0)
    if params.maintenance is not None:
        rate = rate + np.divide(1.0, params.maintenance.every_s)
    if params.recovery.max_attempt_s is not None:
        rate = rate + np.divide(1.0, params.recovery.max_attempt_s)
    return rate


def _group_rate_per_s(params: Params) -> Number:
    """Return the losses of replica groups that the nearest core job leaves out."""
    groups = params.recovery.replica_groups
    rates = [mean_rate_per_s(params, cause) for cause in params.causes if in_group(params, cause)]
    if groups is None or not rates:
        return np.float64(0.0)
    return (1.0 - np.divide(1.0, groups.count)) * sum(rates)


def _failed_starts(params: Params, stops: Number, elapsed_s: Number) -> Number:
    failing = params.recovery.start_failure
    if failing is None:
        return np.float64(0.0)
    waited_s = np.divide(mean(failing.escalation), failing.max_attempts)
    each_s = sum((mean(law) for _, law in params.recovery.startup), start=waited_s)
    return np.minimum((stops + 1.0) * (n_starts(params) - 1.0), elapsed_s / np.maximum(each_s, _BRIEFEST_S))


def toggles_per_s(params: Params) -> Number:
    """Return how many incidents begin or end a second."""
    if params.incidents is None:
        return np.float64(0.0)
    begun = as_array(params.incidents.rate_per_s)
    return 2.0 * begun / (1.0 + begun * params.incidents.mean_duration_s)


def _repairs_per_s(params: Params) -> Number:
    """Return how many nodes go to repair a second at risk, of which all that come back are events."""
    if params.recovery.spares is None:
        return np.float64(0.0)
    return nodes_lost_per_s(params)


def _capped(law: Distribution, longest_s: Number) -> Distribution:
    """Return the fixed law of the mean, at most `longest_s`."""
    return Distribution("fixed", (np.minimum(mean(law), longest_s),))
