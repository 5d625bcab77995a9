"""Where a stretch of training stands in its cycle of saves, in closed form: saves are never stepped.

A main interval is `n` sub-intervals of `local_s` work (one, without a local tier). The first sub-interval of a main
interval begins with the main save that ends the one before (blocked, then slowed down), each other with a local save
(blocked only). All functions work on float64 lanes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels.elementary import where
from mcettr.kernels.events.plan import Plan

_SNAP = 1e-9


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


def until_main_s(plan: Plan, at: Position, rest: Rest) -> Any:
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
    until_main = until_main_s(plan, at, rest)
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
    """Time beyond the present sub-interval; below 0 for a stretch that ends in it."""
    n_main: Any
    """Main saves begun."""
    n_other: Any
    """Local saves begun."""
    number: Any
    """Local intervals since the last main save."""
    phase_s: Any
    """Time in the sub-interval where it ends."""


def _n_full(time_s: Any, unit_s: Any, per_unit: Any) -> Any:
    """Return how many whole units fit; the product may be off by one at a whole number."""
    n = jnp.floor(time_s * per_unit)
    rest_s = time_s - n * unit_s
    return n + where(rest_s >= unit_s, 1.0, 0.0) - where(rest_s < 0.0, 1.0, 0.0)


def land(plan: Plan, at: Position, rest: Rest, time_s: Any) -> Landing:
    """Return where `time_s` seconds of training from `at` end."""
    over_s = time_s - rest.length_s
    beyond = jnp.maximum(over_s, 0.0)
    n_others = _n_others(plan, at)
    past_main = beyond - n_others * plan.other_s if plan.two_tiers else beyond
    n_cycles = _n_full(jnp.maximum(past_main, 0.0), plan.cycle_s, plan.per_cycle)
    phase = past_main - n_cycles * plan.cycle_s
    zero = jnp.zeros_like(over_s)
    if not plan.two_tiers:
        return Landing(over_s, n_cycles + 1.0, zero, zero, phase)
    before = past_main < 0
    early = _n_full(beyond, plan.other_s, plan.per_other)
    others = _n_full(jnp.maximum(phase - plan.first_s, 0.0), plan.other_s, plan.per_other)
    later = where(phase < plan.first_s, 0.0, others + 1.0)
    later_phase = where(later > 0, phase - plan.first_s - (later - 1.0) * plan.other_s, phase)
    return Landing(
        over_s=over_s,
        n_main=where(before, 0.0, n_cycles + 1.0),
        n_other=where(before, early + 1.0, n_others + n_cycles * plan.n_others + later),
        number=where(before, at.sub_number + 1.0 + early, later),
        phase_s=where(before, beyond - early * plan.other_s, later_phase),
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


def advance(plan: Plan, at: Position, rest: Rest, time_s: Any, landing: Landing) -> Advance:
    """Return what `time_s` seconds of training from `at` do, which end at `landing`."""
    stay = _stay(plan, at, rest, time_s)
    go = _go_on(plan, at, rest, landing)
    staying = landing.over_s < 0
    new_at = Position(*_where(staying, stay.at, go.at))
    others = _where(staying, stay[1:], go[1:])
    return Advance(new_at, *others)


def _stay(plan: Plan, at: Position, rest: Rest, time_s: Any) -> Advance:
    """Return the stretch that ends in the present sub-interval."""
    blocked = jnp.minimum(time_s, rest.blocked_s)
    slowed = jnp.zeros_like(time_s) if plan.blocking else jnp.minimum(time_s - blocked, rest.background_s)
    computed = plan.slow_speed * slowed + plan.speed * (time_s - blocked - slowed)
    durable = (at.write_left > 0) & (time_s >= at.write_left)
    new = at._replace(
        base=where(durable, at.start, at.base),
        write_left=jnp.maximum(at.write_left - time_s, 0.0),
        sub=at.sub + computed,
    )
    if plan.two_tiers:
        kept = (at.local_left > 0) & (time_s >= at.local_left)
        began = at.start + at.sub_number * plan.local_s
        new = new._replace(local=where(kept, began, at.local), local_left=jnp.maximum(at.local_left - time_s, 0.0))
    zero = jnp.zeros_like(time_s)
    return Advance(new, durable.astype(time_s.dtype), blocked, slowed, computed, at.write_left, at.write_left, zero)


def _go_on(plan: Plan, at: Position, rest: Rest, landing: Landing) -> Advance:
    """Return the stretch that ends after the present sub-interval."""
    _, n_main, n_other, number, phase = landing
    in_main = (number <= 0) if plan.two_tiers else jnp.ones_like(phase, bool)
    partial_main = in_main.astype(phase.dtype)
    partial_other = 1.0 - partial_main
    slowed_now = jnp.zeros_like(phase)
    if not plan.blocking:
        slowed_now = jnp.clip(phase - plan.blocked_s, 0.0, plan.background_s)
    fast_now = jnp.maximum(phase - plan.write_s, 0.0)
    in_flight = in_main & (phase < plan.write_s * (1.0 - _SNAP))
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
    )
    begun = n_main + n_other
    if plan.two_tiers:
        new = _local_saves(plan, at, new, phase, begun)
    n_new = n_main - in_flight
    main_s = until_main_s(plan, at, rest) + plan.write_s
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
    )


def _local_saves(plan: Plan, at: Position, new: Position, phase: Any, begun: Any) -> Position:
    """Fill in the newest durable local save, and what is left of the one in flight; main saves come without one."""
    in_other = new.sub_number > 0
    left = where(in_other, jnp.maximum(plan.local_write_s - phase, 0.0), 0.0)
    began = new.start + new.sub_number * plan.local_s
    old = where(at.local_left > 0, at.start + at.sub_number * plan.local_s, at.local)
    back = where(new.sub_number == 1, 2.0, 1.0)
    local = where(in_other & (left <= 0), began, where(begun > back, began - back * plan.local_s, old))
    return new._replace(local=local, local_left=left)
