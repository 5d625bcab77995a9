"""The schedule of saves at a speed: all its lengths, and the reciprocals of those that are divided by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Plan:
    """The schedule of a lane at its present speed. Divisions are dear: reciprocals come with it."""

    local_s: Any
    n: Any
    blocked_s: Any
    """Verification and stall of a main save."""
    background_s: Any
    """Rest of its write, computing slowed down."""
    slow_work_s: Any
    """What is computed meanwhile."""
    write_s: Any
    """Time from the beginning of a main save to its durability."""
    main_work_s: Any
    """Work between the starts of two main saves."""
    first_s: Any
    """Length of a sub-interval that begins with a main save."""
    other_s: Any
    """Length of one that begins with a local save."""
    cycle_s: Any
    """Time between the starts of two main saves."""
    speed: Any
    slow_speed: Any
    local_stall_s: Any
    local_write_s: Any
    per_speed: Any
    per_slow_speed: Any
    per_local: Any
    per_main_work: Any
    per_other: Any
    per_cycle: Any
    two_tiers: bool = field(metadata={"static": True})
    blocking: bool = field(metadata={"static": True})
    """Whether main saves block for all of their write: no background, by construction."""


class Times(NamedTuple):
    """The times of a schedule, all in seconds."""

    interval_s: Any
    blocked_s: Any
    write_s: Any
    """Verification included, as in `blocked_s`."""
    n_a_main: Any
    local_stall_s: Any
    local_write_s: Any


def plan_of(times: Times, speed: Any, slowdown: Any, *, two_tiers: bool, blocking: bool) -> Plan:
    """Return the schedule at a speed, background writes apart."""
    zero = jnp.zeros_like(times.blocked_s * speed)
    n = times.n_a_main if two_tiers else zero + 1.0
    local_s = times.interval_s / n
    slow_speed = speed * (1.0 - slowdown)
    background_s = zero if blocking else times.write_s - times.blocked_s
    slow_work_s = slow_speed * background_s
    main_work_s = n * local_s if two_tiers else jnp.maximum(local_s, slow_work_s)
    first_s = times.blocked_s + background_s + jnp.maximum(local_s - slow_work_s, 0.0) / speed
    other_s = times.local_stall_s + local_s / speed if two_tiers else zero + 1.0
    cycle_s = first_s + (n - 1.0) * other_s if two_tiers else first_s
    return Plan(
        local_s=local_s,
        n=n,
        blocked_s=times.blocked_s,
        background_s=background_s,
        slow_work_s=slow_work_s,
        write_s=times.blocked_s if blocking else times.write_s,
        main_work_s=main_work_s,
        first_s=first_s,
        other_s=other_s,
        cycle_s=cycle_s,
        speed=speed,
        slow_speed=slow_speed,
        local_stall_s=times.local_stall_s + zero,
        local_write_s=times.local_write_s + zero,
        per_speed=1.0 / speed,
        per_slow_speed=1.0 / jnp.where(slow_speed > 0, slow_speed, 1.0),
        per_local=1.0 / local_s,
        per_main_work=1.0 / main_work_s,
        per_other=1.0 / other_s,
        per_cycle=1.0 / cycle_s,
        two_tiers=two_tiers,
        blocking=blocking,
    )
