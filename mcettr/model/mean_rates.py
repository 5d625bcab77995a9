"""How often causes strike on average, with all that raises their rates."""

from __future__ import annotations

import numpy as np

from mcettr.model.distributions import Number, as_array, mean
from mcettr.model.node_losses import mean_nodes_out
from mcettr.model.params import Cause, Params
from mcettr.model.physics import Incidents, Profile

_MOST_REPEATS = 1000.0


def mean_rate_per_s(params: Params, cause: Cause) -> Number:
    """Return the cause's mean number of failures per second at risk, repeats and bad times included.

    >>> from mcettr.model.params import Checkpoint
    >>> from mcettr.model.physics import Repeat
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0))
    >>> round(float(mean_rate_per_s(job, Cause("node", 3e-5, repeat=Repeat(0.25, 3600.0)))), 7)
    4e-05
    """
    if cause.every is not None:
        return np.asarray(1.0 / mean(cause.every), dtype=np.float64)[()]
    rate = np.asarray(cause.rate_per_s, dtype=np.float64)
    if cause.profile is not None:
        rate = rate * profile_mean(cause.profile, np.minimum(params.work_s, params.horizon_s))
    if cause.in_incidents and params.incidents is not None:
        rate = rate * incidents_mean(params.incidents)
    if cause.by_lemons and params.lemons is not None:
        rate = rate * lemons_mean(params, cause)
    return (rate * strikes_a_culprit(params, cause))[()]


def nodes_lost_per_s(params: Params) -> Number:
    """Return how many nodes the job loses a second at risk.

    >>> from mcettr.model.counts import exactly
    >>> from mcettr.model.params import Checkpoint
    >>> rack = Cause("rack", 1e-5, nodes_lost=exactly(4.0))
    >>> float(nodes_lost_per_s(Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (rack,), n_nodes=64.0)))
    4e-05
    """
    lost = (mean_rate_per_s(params, cause) * mean_nodes_out(cause, params.n_nodes) for cause in params.causes)
    return as_array(sum(lost, start=np.float64(0.0)))


def profile_mean(profile: Profile, end_s: Number) -> Number:
    """Return the mean multiplier from 0 to `end_s`; the last one where that is infinite.

    >>> float(profile_mean(Profile((0.0, 10.0), (3.0, 1.0)), 20.0))
    2.0
    """
    starts, multipliers = profile.starts_s, profile.multipliers
    end = np.asarray(end_s, dtype=np.float64)
    known = np.where(np.isfinite(end), end, 1.0)
    total: Number = np.float64(0.0)
    for start, stop, multiplier in zip(starts, (*starts[1:], np.inf), multipliers, strict=True):
        total = total + multiplier * np.maximum(np.minimum(stop, known) - start, 0.0)
    return np.where(np.isfinite(end), total / known, multipliers[-1])[()]


def incident_share(incidents: Incidents) -> Number:
    """Return the share of time with an incident, in the long run.

    >>> float(incident_share(Incidents(0.25, 4.0, 8.0)))
    0.5
    """
    begun = np.multiply(incidents.rate_per_s, incidents.mean_duration_s)
    return (begun / (1.0 + begun))[()]


def incidents_mean(incidents: Incidents) -> Number:
    """Return the mean multiplier over incidents and quiet times."""
    return 1.0 + incident_share(incidents) * np.subtract(incidents.multiplier, 1.0)


def lemons_mean(params: Params, cause: Cause) -> Number:
    """Return by how much lemons raise the rate of their cause, on average until the work or the horizon ends.

    A place in the job changes hands: r a second where a healthy node fails, m r e where a lemon does (evicted with
    chance e), and wherever a check before a start catches one. Who comes is a lemon with chance f. The share p of
    lemons begins at that of the submission and relaxes to r f / k at k = r f + out (1 - f), where out is the rate at
    which a lemon leaves.

    >>> from mcettr.model.counts import exactly
    >>> from mcettr.model.params import Checkpoint
    >>> from mcettr.model.physics import Lemons
    >>> node = Cause("node", 128 * 3.5e-7, by_lemons=True, nodes_lost=exactly(1.0))
    >>> save, rare = Checkpoint(1800.0, 60.0, 60.0), Lemons(0.05, 30.0, np.array([0.0, 0.3, 1.0]))
    >>> lemons_mean(Params(8.0, 2.2e6, 1e9, save, (node,), n_nodes=128.0, lemons=rare), node).round(2).tolist()
    [2.97, 1.36, 1.11]
    """
    lemons = params.lemons
    if lemons is None:
        return np.float64(1.0)
    f, first, m = as_array(lemons.fraction), as_array(lemons.at_start), as_array(lemons.multiplier)
    at_risk_s = np.minimum(params.work_s, params.horizon_s)
    changes = np.greater(mean_nodes_out(cause, params.n_nodes), 0.0)
    fails = np.where(changes, np.divide(cause.rate_per_s, params.n_nodes), 0.0)
    leaves = m * fails * lemons.eviction_probability
    if lemons.caught_in_preflight is not None:
        starts = sum((as_array(other.rate_per_s) for other in params.causes), start=np.float64(0.0))
        leaves = leaves + starts * lemons.caught_in_preflight
    pace = fails * f + leaves * (1.0 - f)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        settled = np.where(pace > 0.0, fails * f / np.where(pace > 0.0, pace, 1.0), first)
        turns = pace * at_risk_s
        still = np.where(turns > 0.0, -np.expm1(-turns) / np.where(turns > 0.0, turns, 1.0), 1.0)
    return (1.0 + (settled + (first - settled) * still) * (m - 1.0))[()]


def strikes_a_culprit(params: Params, cause: Cause) -> Number:
    """Return how many strikes one of the cause's own brings in the mean, itself included; at most 1,000.

    A missed culprit strikes again, 1 / (1 - p) times in all; a node badly repaired does so too.
    """
    if cause.repeat is None:
        return np.float64(1.0)
    again = np.asarray(cause.repeat.probability, dtype=np.float64)
    if params.recovery.spares is not None:
        again = again + np.multiply(params.recovery.spares.repair_failure, mean_nodes_out(cause, params.n_nodes))
    return (1.0 / np.maximum(1.0 - again, 1.0 / _MOST_REPEATS))[()]
