"""Where a stretch of training stands in its cycle of saves, in closed form: saves are never stepped.

A main interval is `n` sub-intervals of `local_s` work (one, without a local tier). The first sub-interval of a main
interval begins with the main save that ends the one before (blocked, then slowed down), each other with a local save
(blocked only). All functions work on float64 lanes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mcettr.kernels.elementary import where
from mcettr.kernels.events.plan import Plan


class Position(NamedTuple):
    """Where a lane stands; all in seconds but `sub_number`."""

    start: Any
    """Work at which the last main save began (or that was restored)."""
    base: Any
    """Work of the newest durable main save."""
    write_left: Any
    """Until the main write in flight is durable; 0 for none."""
    sub_number: Any
    """Local intervals since `start`."""
    sub: Any
    """Work since the present one began."""
    local: Any
    """Work of the newest durable local save; -1 for none."""
    local_left: Any
    """Until the local write in flight is durable; 0 for none."""
    local_work: Any
    """Work that it holds."""

    def work(self, plan: Plan) -> Any:
        """Return the work computed so far."""
        return self.start + self.sub + (self.sub_number * plan.local_s if plan.two_tiers else 0.0)


class Rest(NamedTuple):
    """What is left of the present sub-interval."""

    blocked_s: Any
    background_s: Any
    todo_s: Any
    """Work to its end, at least what the background computes."""
    length_s: Any


def rest_of(plan: Plan, at: Position) -> Rest:
    """Return what is left of the present sub-interval."""
    blocked = at.write_left if plan.blocking else jnp.maximum(at.write_left - plan.background_s, 0.0)
    if plan.two_tiers:
        local = jnp.maximum(at.local_left - (plan.local_write_s - plan.local_stall_s), 0.0)
        blocked = where(at.sub_number > 0, local, blocked)
    todo = jnp.maximum(plan.local_s - at.sub, 0.0)
    if plan.blocking:
        return Rest(blocked, jnp.zeros_like(blocked), todo, blocked + todo * plan.per_speed)
    background = jnp.minimum(at.write_left, plan.background_s)
    slow_work = plan.slow_speed * background
    length = blocked + background + jnp.maximum(todo - slow_work, 0.0) * plan.per_speed
    return Rest(blocked, background, jnp.maximum(todo, slow_work), length)


def _n_others(plan: Plan, at: Position) -> Any:
    """Return how many sub-intervals after the present one precede the next main save."""
    return plan.n_others - at.sub_number if plan.two_tiers else jnp.zeros_like(at.sub)


def _until_main_s(plan: Plan, at: Position, rest: Rest) -> Any:
    """Return the time to the beginning (its verification's) of the next main save."""
    return rest.length_s + (_n_others(plan, at) * plan.other_s if plan.two_tiers else 0.0)


class Reach(NamedTuple):
    """When some amount of work will have been computed."""

    time_s: Any
    write_left: Any
    """What is then left of the main write in flight."""


def reach(plan: Plan, at: Position, rest: Rest, work_s: Any, slack_s: Any) -> Reach:
    """Return when `work_s` more work is computed; whole intervals are told within `slack_s`."""

    def within(blocked: Any, background: Any, amount: Any) -> Any:
        if plan.blocking:
            return blocked + amount * plan.per_speed
        slow_work = plan.slow_speed * background
        fast = background + (amount - slow_work) * plan.per_speed
        return blocked + where(amount <= slow_work, amount * plan.per_slow_speed, fast)

    def n_whole(amount: Any, per_unit: Any) -> Any:
        return jnp.maximum(jnp.ceil((amount - slack_s) * per_unit) - 1.0, 0.0)

    now = within(rest.blocked_s, rest.background_s, work_s)
    until_main = _until_main_s(plan, at, rest)
    beyond = work_s - rest.todo_s - (_n_others(plan, at) * plan.local_s if plan.two_tiers else 0.0)
    n_cycles = n_whole(beyond, plan.per_main_work)
    amount = beyond - n_cycles * plan.main_work_s
    in_cycle = within(plan.blocked_s, plan.background_s, amount)
    left = jnp.maximum(plan.write_s - in_cycle, 0.0)
    if plan.two_tiers:
        more = amount - plan.local_s
        n_more = n_whole(more, plan.per_local)
        other = (
            plan.first_s + n_more * plan.other_s + plan.local_stall_s + (more - n_more * plan.local_s) * plan.per_speed
        )
        in_cycle, left = _where(more > slack_s, (other, jnp.zeros_like(left)), (in_cycle, left))
    found = Reach(until_main + n_cycles * plan.cycle_s + in_cycle, left)
    if plan.two_tiers:
        more = work_s - rest.todo_s
        n_more = n_whole(more, plan.per_local)
        time_s = rest.length_s + n_more * plan.other_s + plan.local_stall_s
        time_s = time_s + (more - n_more * plan.local_s) * plan.per_speed
        zero = jnp.zeros_like(time_s)
        found = Reach(*_where(beyond <= slack_s, Reach(time_s, zero), found))
    here = Reach(now, jnp.maximum(at.write_left - now, 0.0))
    return Reach(*_where(work_s <= rest.todo_s + slack_s, here, found))


def _where(condition: Any, yes: tuple[Any, ...], no: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(where(condition, a, b) for a, b in zip(yes, no, strict=True))


class Landing(NamedTuple):
    """Where in the cycle of saves a stretch of training ends that goes beyond the present sub-interval."""

    over_s: Any
    """Time beyond the present sub-interval by which saves begin; below 0 for a stretch that ends in it."""
    n_main: Any
    """Main saves begun."""
    n_other: Any
    """Local saves begun."""
    number: Any
    """Local intervals since the last main save."""
    phase_s: Any
    """Time in the sub-interval where it ends."""


def land(plan: Plan, at: Position, rest: Rest, time_s: Any, begun_s: Any) -> Landing:
    """Return where `time_s` seconds of training from `at` end, when a save has begun that is due by `begun_s`.

    The two differ by what counts as one moment.
    """
    over_s = begun_s - rest.length_s
    beyond = jnp.maximum(over_s, 0.0)
    n_others = _n_others(plan, at)
    past_main = beyond - n_others * plan.other_s if plan.two_tiers else beyond
    n_cycles = jnp.floor(jnp.maximum(past_main, 0.0) * plan.per_cycle)
    zero = jnp.zeros_like(over_s)
    since_s = time_s - rest.length_s
    if not plan.two_tiers:
        return Landing(over_s, n_cycles + 1.0, zero, zero, jnp.maximum(since_s - n_cycles * plan.cycle_s, 0.0))
    in_cycle = past_main - n_cycles * plan.cycle_s
    before = past_main < 0
    early = jnp.floor(beyond * plan.per_other)
    others = jnp.floor(jnp.maximum(in_cycle - plan.first_s, 0.0) * plan.per_other)
    later = where(in_cycle < plan.first_s, 0.0, others + 1.0)
    begins_s = n_others * plan.other_s + n_cycles * plan.cycle_s
    begins_s = begins_s + where(later > 0, plan.first_s + (later - 1.0) * plan.other_s, 0.0)
    begins_s = where(before, early * plan.other_s, begins_s)
    return Landing(
        over_s=over_s,
        n_main=where(before, 0.0, n_cycles + 1.0),
        n_other=where(before, early + 1.0, n_others + n_cycles * plan.n_others + later),
        number=where(before, at.sub_number + 1.0 + early, later),
        phase_s=jnp.maximum(since_s - begins_s, 0.0),
    )


class Advance(NamedTuple):
    """What a stretch of training does."""

    at: Position
    n_durable: Any
    """Main saves that became durable."""
    blocked_s: Any
    slowed_s: Any
    """Time in the background of main writes."""
    computed_s: Any
    """Work."""
    first_durable_s: Any
    last_durable_s: Any
    apart_s: Any
    """Most time between two of them in a row."""
    is_copied: Any = None
    """Whether a local save became durable; None without a local tier."""


def advance(plan: Plan, at: Position, rest: Rest, time_s: Any, landing: Landing, moment_s: Any) -> Advance:
    """Return what `time_s` seconds of training from `at` do, which end at `landing`; `moment_s` are no time at all."""
    staying = landing.over_s < 0
    stay, go = _stay(plan, at, rest, time_s, moment_s), _go_on(plan, at, rest, landing, moment_s)
    return jax.tree.map(lambda a, b: where(staying, a, b), stay, go)


def left_of(left_s: Any, time_s: Any, moment_s: Any) -> Any:
    """Return what some time leaves of a length; what is over within a moment is over (is not, if that is below 0)."""
    left = left_s - time_s
    return where(left <= moment_s, 0.0, jnp.maximum(left, jnp.abs(moment_s)))


def _stay(plan: Plan, at: Position, rest: Rest, time_s: Any, moment_s: Any) -> Advance:
    """Return the stretch that ends in the present sub-interval."""
    blocked = jnp.minimum(time_s, rest.blocked_s)
    slowed = jnp.zeros_like(time_s) if plan.blocking else jnp.minimum(time_s - blocked, rest.background_s)
    computed = plan.slow_speed * slowed + plan.speed * (time_s - blocked - slowed)
    write_left = left_of(at.write_left, time_s, moment_s)
    durable = (at.write_left > 0) & (write_left <= 0)
    new = at._replace(base=where(durable, at.start, at.base), write_left=write_left, sub=at.sub + computed)
    copied = None
    if plan.two_tiers:
        local_left = left_of(at.local_left, time_s, moment_s)
        copied = (at.local_left > 0) & (local_left <= 0)
        new = new._replace(local=where(copied, at.local_work, at.local), local_left=local_left)
    zero = jnp.zeros_like(time_s)
    n_durable = durable.astype(time_s.dtype)
    return Advance(new, n_durable, blocked, slowed, computed, at.write_left, at.write_left, zero, copied)


def _go_on(plan: Plan, at: Position, rest: Rest, landing: Landing, moment_s: Any) -> Advance:
    """Return the stretch that ends after the present sub-interval."""
    _, n_main, n_other, number, phase = landing
    in_main = (number <= 0) if plan.two_tiers else jnp.ones_like(phase, bool)
    partial_main = in_main.astype(phase.dtype)
    partial_other = 1.0 - partial_main
    slowed_now = jnp.zeros_like(phase)
    if not plan.blocking:
        slowed_now = jnp.clip(phase - plan.blocked_s, 0.0, plan.background_s)
    fast_now = jnp.maximum(phase - plan.write_s, 0.0)
    in_flight = in_main & (plan.write_s - phase > moment_s)
    blocked = rest.blocked_s + (n_main - partial_main) * plan.blocked_s
    blocked = blocked + partial_main * jnp.minimum(phase, plan.blocked_s)
    sub = plan.slow_speed * slowed_now + plan.speed * fast_now
    if plan.two_tiers:
        blocked = blocked + (n_other - partial_other) * plan.local_stall_s
        blocked = blocked + partial_other * jnp.minimum(phase, plan.local_stall_s)
        sub = where(in_main, sub, plan.speed * jnp.maximum(phase - plan.local_stall_s, 0.0))
    slowed = slowed_now
    if not plan.blocking:
        slowed = rest.background_s + (n_main - partial_main) * plan.background_s + partial_main * slowed_now
    first_work = plan.main_work_s if plan.two_tiers else at.sub + rest.todo_s
    start = at.start + where(n_main > 0, first_work + (n_main - 1.0) * plan.main_work_s, 0.0)
    base = where(in_flight, where(n_main > 1, start - plan.main_work_s, at.start), start)
    new = Position(
        start=start,
        base=base,
        write_left=where(in_flight, plan.write_s - phase, 0.0),
        sub_number=number,
        sub=sub,
        local=at.local,
        local_left=at.local_left,
        local_work=at.local_work,
    )
    copied = None
    if plan.two_tiers:
        new, copied = _local_saves(plan, at, new, left_of(plan.local_write_s, phase, moment_s), n_main + n_other)
    n_new = n_main - in_flight
    main_s = _until_main_s(plan, at, rest) + plan.write_s
    waiting = at.write_left > 0
    last_s = where(n_new > 0, main_s + (n_new - 1.0) * plan.cycle_s, at.write_left)
    apart = where(n_new > 1, plan.cycle_s, 0.0)
    apart = jnp.maximum(apart, where(waiting & (n_new > 0), main_s - at.write_left, 0.0))
    return Advance(
        at=new,
        n_durable=n_new + waiting,
        blocked_s=blocked,
        slowed_s=slowed,
        computed_s=new.work(plan) - at.work(plan),
        first_durable_s=where(waiting, at.write_left, main_s),
        last_durable_s=last_s,
        apart_s=apart,
        is_copied=copied,
    )


def _local_saves(plan: Plan, at: Position, new: Position, left_s: Any, begun: Any) -> tuple[Position, Any]:
    """Fill in the local saves after some have begun, `left_s` of the newest one's write being left.

    Return whether one has become durable. Where main saves leave no copies, the newest local save lies before them.
    """
    is_local = (new.sub_number > 0) | plan.holds_main
    latest = new.start + new.sub_number * plan.local_s
    is_durable = is_local & (left_s <= 0)
    # How many saves ago the one before it was made: a main save without a copy lies between.
    over_main = where(is_local, where(plan.holds_main | (new.sub_number != 1), 1.0, 2.0), 1.0)
    has_before = (begun > over_main) & (plan.holds_main | (plan.n_others > 0))
    before = where(at.local_left > 0, at.local_work, at.local)
    before = where(has_before, latest - over_main * plan.local_s, before)
    left = where(is_local, left_s, 0.0)
    copied = is_durable | has_before | (at.local_left > 0)
    return new._replace(local=where(is_durable, latest, before), local_left=left, local_work=latest), copied
