"""The schedule of saves at a speed: all its lengths, and the reciprocals of those that are divided by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Plan:
    """The schedule of a lane at its present speed. Divisions are dear: reciprocals come with it."""

    local_s: Any
    n_others: Any
    """Local intervals between two main saves, less 1."""
    blocked_s: Any
    """Verification and stall of a main save."""
    background_s: Any
    """Rest of its write, computing slowed down."""
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
    local_stall_s: Any
    local_write_s: Any
    holds_main: Any
    """Whether main saves leave a copy in the local tier; None without one."""
    per_speed: Any
    slowed: Any
    """Share of the speed that is left in the background of a write."""
    per_slowed: Any
    per_local: Any
    per_main_work: Any
    per_other: Any
    per_cycle: Any
    two_tiers: bool = field(metadata={"static": True})
    blocking: bool = field(metadata={"static": True})
    """Whether main saves block for all of their write: no background, by construction."""

    @property
    def slow_speed(self) -> Any:
        """Return the speed in the background of a write."""
        return self.speed * self.slowed

    @property
    def per_slow_speed(self) -> Any:
        """Return its reciprocal, or anything where it is 0."""
        return self.per_speed * self.per_slowed


class Times(NamedTuple):
    """What a schedule consists of at full speed, all times in seconds."""

    interval_s: Any
    n_others: Any
    """Local intervals between two main saves, less 1; 0 without a local tier."""
    local_s: Any
    per_local: Any
    blocked_s: Any
    """Verification and stall of a main save."""
    write_s: Any
    """Verification included."""
    background_s: Any
    background_work_s: Any
    """What is computed in the background of a write at full speed."""
    slowed: Any
    """Share of the speed that is left there."""
    per_slowed: Any
    local_stall_s: Any
    """Verification included, as in the write time."""
    local_write_s: Any
    holds_main: Any

    def with_write(self, blocked_s: Any, write_s: Any, xp: Any, *, blocking: bool) -> Times:
        """Return the times with other ones of a main save."""
        background_s = xp.zeros_like(write_s) if blocking else write_s - blocked_s
        return self._replace(
            blocked_s=blocked_s,
            write_s=write_s,
            background_s=background_s,
            background_work_s=self.slowed * background_s,
        )


def plan_of(times: Times, speed: Any, per_speed: Any, xp: Any, *, two_tiers: bool, blocking: bool) -> Plan:
    """Return the schedule at a speed, background writes apart."""
    slow_work_s = speed * times.background_work_s
    main_work_s = times.interval_s if two_tiers else xp.maximum(times.local_s, slow_work_s)
    first_s = times.blocked_s + times.background_s + xp.maximum(times.local_s - slow_work_s, 0.0) * per_speed
    other_s = times.local_stall_s + times.local_s * per_speed if two_tiers else xp.ones_like(times.local_s)
    cycle_s = first_s + times.n_others * other_s if two_tiers else first_s
    return Plan(
        local_s=times.local_s,
        n_others=times.n_others,
        blocked_s=times.blocked_s,
        background_s=times.background_s,
        write_s=times.blocked_s if blocking else times.write_s,
        main_work_s=main_work_s,
        first_s=first_s,
        other_s=other_s,
        cycle_s=cycle_s,
        speed=speed,
        local_stall_s=times.local_stall_s,
        local_write_s=times.local_write_s,
        holds_main=times.holds_main,
        per_speed=per_speed,
        slowed=times.slowed,
        per_slowed=times.per_slowed,
        per_local=times.per_local,
        per_main_work=1.0 / main_work_s,
        per_other=1.0 / other_s,
        per_cycle=1.0 / cycle_s,
        two_tiers=two_tiers,
        blocking=blocking,
    )
