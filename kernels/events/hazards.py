"""The rates at which causes strike, as the lanes' state modulates them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels.elementary import where
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import Lanes
from mcettr.model.params import Cause
from mcettr.model.physics import Profile

NO_GROUP, GROUP_DOWN, GROUP_WAITS, GROUP_COMES, GROUP_STARTS = range(5)
"""Stages of a lost replica group: none lost, found and diagnosed, waits for nodes, swaps or queues, starts."""


def profile_at(profile: Profile, now_s: Any) -> tuple[Any, Any]:
    """Return the multiplier at a time, and when it next changes."""
    value, change = profile.multipliers[0] + jnp.zeros_like(now_s), jnp.full_like(now_s, jnp.inf)
    for start_s, multiplier in zip(profile.starts_s[1:], profile.multipliers[1:], strict=True):
        value = where(now_s >= start_s, multiplier, value)
        change = where(now_s < start_s, jnp.minimum(change, start_s), change)
    return value, change


def n_present(job: Job, lanes: Lanes) -> Any:
    """Return the nodes of the job."""
    return lanes.present if job.on.spares else job.params.n_nodes + jnp.zeros_like(lanes.now)


def rate(job: Job, lanes: Lanes, cause: Cause) -> Any:
    """Return the rate of one cause now, per second (of work computed, if silent)."""
    value = cause.rate_per_s + jnp.zeros_like(lanes.now)
    if cause.in_incidents:
        value = value * where(lanes.incident, job.params.incidents.multiplier, 1.0)  # type: ignore[union-attr]
    if cause.profile is not None:
        value = value * profile_at(cause.profile, lanes.now)[0]
    if job.on.shrink and cause.exposure != "job":
        value = value * (lanes.present * job.fixed.per_node)
    if job.on.groups and cause.exposure != "job":
        lost = (lanes.group != NO_GROUP) & (lanes.group != GROUP_STARTS)
        count = job.params.recovery.replica_groups.count  # type: ignore[union-attr]
        value = value * where(lost, (count - 1.0) / count, 1.0)
    if cause.by_lemons:
        n, multiplier = n_present(job, lanes), job.params.lemons.multiplier  # type: ignore[union-attr]
        bad = n - lanes.n_lemons + multiplier * lanes.n_lemons
        # At risk a job is short of nodes only where it may be.
        value = value * (bad / n if job.on.shrink or job.on.groups else bad * job.fixed.per_node)
    if cause.min_lease_s is not None:
        value = where(lanes.age < cause.min_lease_s, 0.0, value)
    return value


def entries(job: Job, lanes: Lanes) -> list[tuple[int, bool, Any]]:
    """Return what the hazard consists of: (cause, whether out of a repeat, rate), in the order of the pick."""
    causes = job.params.causes
    found = [
        (index, False, rate(job, lanes, cause))
        for index, cause in enumerate(causes)
        if cause.every is None and cause.kind != "silent"
    ]
    repeats = [(index, True, lanes[f"pending_{index}"] * job.fixed.per_repeat_s[index]) for index in job.on.repeat]
    return found + repeats


def total(parts: list[Any]) -> Any:
    """Return the sum of rates, in their order; 0 for none."""
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def pick(parts: list[Any], whole: Any, u: Any) -> Any:
    """Return which part (int32) a uniform picks in proportion."""
    number, reached = jnp.zeros_like(u, jnp.int32), jnp.zeros_like(u)
    for part in parts[:-1]:
        reached = reached + part
        number = number + (u * whole >= reached).astype(jnp.int32)
    return number
