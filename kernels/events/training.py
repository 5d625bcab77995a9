"""The lanes' training state as a schedule and a position in it, and back."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels.events.hazards import NO_GROUP
from mcettr.kernels.events.lanes import Job, Lanes
from mcettr.kernels.events.plan import Plan, plan_of
from mcettr.kernels.events.saves import Position

NONE = -1.0
"""Position of a save that does not exist."""

_SNAP = 1e-9


def write_time_s(job: Job, lanes: Lanes) -> Any:
    """Return the write time of the attempt."""
    return lanes.write_s if job.on.write_law else job.params.checkpoint.write_time_s


def speed(job: Job, lanes: Lanes) -> Any:
    """Return the speed of computing, background writes apart."""
    value = jnp.ones_like(lanes.now)
    for index in job.on.slow:
        cause = job.params.causes[index]
        value = value * jnp.where(jnp.isfinite(lanes[f"slow_{index}"]), 1.0 - cause.slowdown, 1.0)
    if job.on.groups:
        count = job.params.recovery.replica_groups.count  # type: ignore[union-attr]
        value = value * jnp.where(lanes.group != NO_GROUP, (count - 1.0) / count, 1.0)
    if job.on.shrink:
        # A job without nodes does not train, so that any number will do, and 0 would not.
        value = value * jnp.where(lanes.present > 0, lanes.present * job.per_node, 1.0)
    return value


def plan_now(job: Job, lanes: Lanes, _: Any) -> Plan:
    """Return the schedule of saves at the lanes' present speed, where it varies."""
    times, save = job.times, job.params.checkpoint
    if job.on.write_law:
        stall_s = jnp.minimum(save.stall_fixed_s + save.stall_share * lanes.write_s, lanes.write_s)
        verify_s = save.verify_s if job.on.verify else 0.0
        times = times._replace(blocked_s=stall_s + verify_s, write_s=lanes.write_s + verify_s)
    return plan_of(times, speed(job, lanes), save.slowdown, two_tiers=job.on.local, blocking=save.blocking)


def position(job: Job, lanes: Lanes) -> Position:
    """Return where the lanes stand."""
    zero = jnp.zeros_like(lanes.now)
    local = (lanes.sub_number, lanes.local, lanes.local_left) if job.on.local else (zero, zero, zero)
    number, newest, left = local
    return Position(lanes.start, lanes.base, lanes.write_left, number, lanes.sub, newest, left)


def set_position(job: Job, lanes: Lanes, mask: Any, at: Position) -> None:
    """Move the lanes where `mask`."""
    lanes.set(mask, start=at.start, base=at.base, write_left=at.write_left, sub=at.sub)
    if job.on.local:
        lanes.set(mask, sub_number=at.sub_number, local=at.local, local_left=at.local_left)


def newest_durable(job: Job, lanes: Lanes) -> Any:
    """Return the work of the newest durable save of any kind."""
    newest = lanes.base
    if job.on.local:
        newest = jnp.maximum(newest, lanes.local)
    if job.on.graceful:
        newest = jnp.maximum(newest, lanes.graceful)
    return newest


def restart_at(job: Job, lanes: Lanes, mask: Any, work_s: Any) -> None:
    """Stand at `work_s`, no write in flight; the next saves are due where the main saves' grid has them."""
    lanes.set(mask, start=lanes.base, write_left=0.0, sub=work_s - lanes.base)
    if job.on.local:
        beyond = work_s - lanes.base
        number = jnp.minimum(jnp.floor(beyond * job.per_local + _SNAP), job.times.n_a_main - 1.0)
        sub = jnp.maximum(beyond - number * job.local_s, 0.0)
        lanes.set(mask, sub_number=number, sub=sub, local_left=0.0)
