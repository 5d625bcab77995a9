"""From the failures of a parsed scenario to causes in SI numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcettr.model.counts import ALL, Counts, exactly
from mcettr.model.distributions import Number, mean
from mcettr.model.params import Cause
from mcettr.model.physics import Profile, Repeat
from mcettr.scenario.counts import compiled
from mcettr.scenario.names import FALSE_ALARM
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.schema_causes import CauseSpec

_PIECES = 32
_FIRST_PIECE = 1e-3
OLDEST = 1000.0
"""Parts are at most this many mean lives old: the accuracy is not known beyond."""


def causes(spec: ScenarioSpec, n_nodes: Number, horizon_s: Number, work_s: Number) -> tuple[Cause, ...]:
    """Return the causes of failure, and that of false alarms where there are any."""
    made = tuple(_cause(name, spec, n_nodes, horizon_s, work_s) for name in spec.failures)
    periodic = spec.health_checks.periodic
    if periodic is None or periodic.false_positive_rate is None:
        return made
    rate = periodic.false_positive_rate
    alarm = Cause(
        name=FALSE_ALARM,
        rate_per_s=np.multiply(rate.per_s, _n_exposed(None, rate.unit, spec, n_nodes)),
        kind="preemption",
        exposure="node",
        nodes_lost=exactly(1.0) if counts_nodes(spec) else None,
        notice_s=np.inf,
    )
    return (*made, alarm)


def counts_nodes(spec: ScenarioSpec) -> bool:
    """Return whether it matters to some mechanism how many nodes a failure takes."""
    recovery, save = spec.recovery, spec.checkpoint
    local = save is not None and save.local is not None
    phases = any(phase.when == "replaced" for _, phase in recovery.startup)
    return local or phases or not (recovery.spares is None and recovery.replica_groups is None and spec.lemons is None)


def gamma_shape(cv: Number) -> Number:
    """Return the shape of the gamma law of mean 1 with a coefficient of variation; inf for none.

    >>> float(gamma_shape(0.5)), float(gamma_shape(0.0))
    (4.0, inf)
    """
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(1.0, np.square(np.asarray(cv, dtype=np.float64)))


def _cause(name: str, spec: ScenarioSpec, n_nodes: Number, horizon_s: Number, work_s: Number) -> Cause:
    cause = spec.failures[name]
    rate_per_s, shape = _rate(cause, spec, n_nodes)
    lost, evicted = _nodes_out(cause) if counts_nodes(spec) else (None, None)
    checks = spec.health_checks
    return Cause(
        name=name,
        rate_per_s=rate_per_s,
        kind=cause.kind,
        rate_shape=shape,
        every=cause.every,
        detection=cause.detection,
        diagnosis=spec.recovery.diagnosis if cause.diagnosis is None else cause.diagnosis,
        exposure=cause.unit,
        nodes_lost=lost,
        over_evicted=evicted,
        slowdown=0.0 if cause.slowdown is None else cause.slowdown,
        notice_s=0.0 if cause.notice is None else cause.notice,
        min_lease_s=cause.min_lease,
        profile=_profile(cause, horizon_s, work_s),
        repeat=None if cause.repeat is None else Repeat(cause.repeat.probability, cause.repeat.mean_time),
        in_incidents=_in_incidents(name, spec),
        by_lemons=spec.lemons is not None and name == spec.lemons.cause,
        caught_in_check=None if checks.periodic is None else dict(checks.periodic.catch_probability).get(name),
        caught_in_preflight=None if checks.preflight is None else dict(checks.preflight.catch_probability).get(name),
    )


def _in_incidents(name: str, spec: ScenarioSpec) -> bool:
    """Return whether incidents raise the rate of a cause; where they name none, that of every cause with a rate."""
    if spec.incidents is None:
        return False
    causes = spec.incidents.causes
    return spec.failures[name].every is None if causes is None else name in causes


def _nodes_out(cause: CauseSpec) -> tuple[Counts | None, Counts | None]:
    """Return how many nodes go and how many are evicted with them."""
    lost = None if cause.unit == "job" else exactly(1.0)
    if cause.nodes_lost is not None:
        lost = compiled(cause.nodes_lost)
        if cause.unit == "domain":
            size: Number = cause.nodes_per_domain
            lost = replace(lost, values=tuple(_of_domain(n, size) for n in lost.values))
    return lost, None if cause.over_eviction is None else compiled(cause.over_eviction)


def _of_domain(count: Number, size: Number) -> Number:
    """Return a count of which all is a whole domain."""
    number: Number = np.where(np.greater_equal(count, ALL), size, count)
    return number[()]


def _rate(cause: CauseSpec, spec: ScenarioSpec, n_nodes: Number) -> tuple[Number, Number]:
    """Return the mean rate of the whole job, per second, and the shape of the gamma law that it follows."""
    shape: Number = np.inf if cause.uncertainty is None else gamma_shape(cause.uncertainty.cv)
    if cause.every is not None:
        return 0.0, shape
    if cause.mtbf is not None:
        return np.divide(1.0, cause.mtbf), shape
    n_exposed = _n_exposed(cause, cause.unit, spec, n_nodes)
    if cause.rate is not None:
        return np.multiply(cause.rate.per_s, n_exposed), shape
    if cause.lifetime is not None:
        return np.divide(n_exposed, mean(cause.lifetime)), shape
    exposure = cause.exposure
    if exposure is None or cause.count is None:
        raise TypeError("the schema lets no cause through without a frequency")
    sharing = [
        c.exposure for c in spec.failures.values() if c.exposure is not None and c.exposure.unit == exposure.unit
    ]
    n_sharing = sum(np.equal(other.duration_s, exposure.duration_s) * 1.0 for other in sharing)
    # Jeffreys' 1/2 for all events of one exposure together, shared evenly: m causes at 1/2 each would add m/2 events
    shape = np.add(cause.count, np.divide(0.5, n_sharing))
    return np.multiply(np.divide(shape, exposure.duration_s), n_exposed), shape


def _n_exposed(cause: CauseSpec | None, unit: str, spec: ScenarioSpec, n_nodes: Number) -> Number:
    if unit == "domain" and cause is not None:
        nodes_per_domain: Number = cause.nodes_per_domain
        return np.ceil(np.divide(n_nodes, nodes_per_domain))
    return {"job": 1.0, "node": n_nodes, "gpu": spec.job.gpus}[unit]


def _profile(cause: CauseSpec, horizon_s: Number, work_s: Number) -> Profile | None:
    if cause.profile is not None:
        starts_s, multipliers = zip(*cause.profile, strict=True)
        return Profile(starts_s, multipliers)
    if cause.lifetime is None or cause.fleet_age is None:
        return None
    life_s: Number = mean(cause.lifetime)
    age = np.minimum(np.divide(cause.fleet_age, life_s), OLDEST)  # an older one is refused, by its own name
    # a job with nothing left to do is refused later, by its own name
    end_s, soon_s = (np.where(np.greater(x, 0.0), x, 1.0) for x in (horizon_s, np.minimum(work_s, horizon_s)))
    return _aging(cause.lifetime.values[1], life_s, age, end_s, soon_s)


def _aging(shape: Number, life_s: Number, age: Number, horizon_s: Number, soon_s: Number) -> Profile:
    """Return the rate of a fleet of one age over time, as a multiple of that of mixed ages.

    Each piece has the mean of its time exactly; the first ends a thousandth into `soon_s`, the others lengthen by one
    factor up to the horizon.
    """
    from mcettr.model.renewal_density import renewals

    cells = np.broadcast_arrays(shape, life_s, age, horizon_s, soon_s)
    starts_s, multipliers = (np.empty((_PIECES, *cells[0].shape)) for _ in range(2))
    for index in np.ndindex(cells[0].shape):
        k, mean_s, lives, end_s, near_s = (float(cell[index]) for cell in cells)
        ends = np.geomspace(_FIRST_PIECE * near_s, end_s, _PIECES) / mean_s
        edges = np.concatenate([[0.0], ends])
        counts = np.concatenate([[0.0], renewals(k, lives, ends.tolist())])
        here = (slice(None), *index)
        starts_s[here] = edges[:-1] * mean_s
        multipliers[here] = np.diff(counts) / np.diff(edges)
    return Profile(tuple(starts_s), tuple(multipliers))
