"""The lanes' training state as a schedule and a position in it, and back."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels.elementary import where
from mcettr.kernels.events.hazards import NO_GROUP
from mcettr.kernels.events.job import SNAP, Job
from mcettr.kernels.events.lanes import Lanes
from mcettr.kernels.events.plan import Plan, plan_of
from mcettr.kernels.events.saves import Position

NONE = -1.0
"""Position of a save that does not exist."""


def write_time_s(job: Job, lanes: Lanes) -> Any:
    """Return the write time of the attempt."""
    return lanes.write_s if job.on.write_law else job.params.checkpoint.write_time_s


def gives_time(notice_s: Any, write_s: Any) -> Any:
    """Return whether a stop announced this long before leaves time for a save; without notice nothing is saved."""
    return (notice_s > 0.0) & (notice_s >= write_s)


def speed(job: Job, lanes: Lanes) -> tuple[Any, Any]:
    """Return the speed of computing, background writes apart, and its reciprocal."""
    factors: list[tuple[Any, Any, Any]] = []
    for index in job.on.slow:
        factors.append((jnp.isfinite(lanes[f"slow_{index}"]), *job.fixed.slow[index]))
    if job.fixed.without_group is not None:
        factors.append((lanes.group != NO_GROUP, *job.fixed.without_group))
    if job.on.shrink:
        # A job without nodes does not train.
        share = lanes.present * job.fixed.per_node
        factors.append((lanes.present > 0, share, 1.0 / share))
    value = inverse = jnp.ones_like(lanes.now)
    for slower, factor, its_inverse in factors:
        value = value * where(slower, factor, 1.0)
        inverse = inverse * where(slower, its_inverse, 1.0)
    return value, inverse


def plan_now(job: Job, lanes: Lanes, _: Any) -> Plan:
    """Return the schedule of saves at the lanes' present speed, where it varies."""
    times, save = job.fixed.times, job.params.checkpoint
    if job.on.write_law:
        stall_s = jnp.minimum(save.stall_fixed_s + save.stall_share * lanes.write_s, lanes.write_s)
        verify_s = save.verify_s if job.on.verify else 0.0
        times = times.with_write(stall_s + verify_s, lanes.write_s + verify_s, jnp, blocking=save.blocking)
    return plan_of(times, *speed(job, lanes), jnp, two_tiers=job.on.local, blocking=save.blocking)


def position(job: Job, lanes: Lanes) -> Position:
    """Return where the lanes stand."""
    zero = jnp.zeros_like(lanes.now)
    number, newest, left, work_s = (
        (lanes.sub_number, lanes.local, lanes.local_left, lanes.local_work) if job.on.local else (zero,) * 4
    )
    return Position(lanes.start, lanes.base, lanes.write_left, number, lanes.sub, newest, left, work_s)


def set_position(job: Job, lanes: Lanes, mask: Any, at: Position) -> None:
    """Move the lanes where `mask`."""
    lanes.set(mask, start=at.start, base=at.base, write_left=at.write_left, sub=at.sub)
    if job.on.local:
        lanes.set(mask, sub_number=at.sub_number, local=at.local, local_left=at.local_left, local_work=at.local_work)


def is_less(job: Job, work_s: Any, other_s: Any) -> Any:
    """Return whether a save holds less than another one, by more than roundings."""
    return work_s < other_s * (1.0 - SNAP) - job.fixed.close_s


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
        number = jnp.minimum(jnp.floor(beyond * job.fixed.times.per_local + SNAP), job.fixed.times.n_others)
        sub = jnp.maximum(beyond - number * job.fixed.times.local_s, 0.0)
        lanes.set(mask, sub_number=number, sub=sub, local_left=0.0)
