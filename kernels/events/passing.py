"""Lets time pass in lanes: at risk until the next event, or in lumps of downtime.

What ends within a moment of the event (see `mcettr.model.order`) has ended before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels.elementary import where
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.hazards import NO_GROUP
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import AT_RISK, ENDED, NODES, Lanes
from mcettr.kernels.events.ledger import AFTER, BEFORE, Ledger
from mcettr.kernels.events.plan import Plan
from mcettr.kernels.events.race import Race, View
from mcettr.kernels.events.saves import Advance, Landing, Position, advance, land, left_of
from mcettr.kernels.events.training import position, set_position
from mcettr.model.budget import Outcome
from mcettr.model.order import is_before, moment_s


class Passing(NamedTuple):
    """How the time to the next event splits up."""

    time_s: Any
    """At risk."""
    trained_s: Any
    """Training."""
    trains: Any
    """Whether the job trains then; it may do so for no time, and yet begin and end a save."""
    ends: Any
    """Whether all work is computed by then."""
    moment_s: Any
    """Seconds around the event that are one moment; below 0 where a write that ends in it has not ended."""


def pass_at_risk(job: Job, lanes: Lanes, _: Draws, view: View, race: Race) -> tuple[Passing, Ledger]:
    """Let startup, restore, pauses and saves before a stop pass, up to the next event of the lanes at risk."""
    ledger = Ledger()
    at_risk = lanes.phase == AT_RISK
    passes = at_risk & (race.winner >= 0)
    time_s = where(passes, race.time_s, 0.0)
    moment = moment_s(time_s, lanes.now)
    startup = jnp.minimum(time_s, lanes.startup_left)
    restore = jnp.minimum(time_s - startup, lanes.restore_left)
    ledger.book(BEFORE, "startup", startup)
    ledger.book(BEFORE, "restore", restore)
    left = time_s - startup - restore
    if job.on.groups:
        pause = jnp.minimum(left, lanes.pause_left)
        ledger.book(lanes.group_row, "startup", pause)
        lanes.put(pause_left=left_of(lanes.pause_left, pause, moment))
        left = left - pause
    trains = passes & ~is_before(time_s, view.until_training_s, lanes.now)
    if job.on.graceful:
        trains = trains & ~view.stopping
    if job.on.spares:
        waits = (lanes.phase == NODES) & lanes.waiting & (race.winner >= 0)
        ledger.book(BEFORE, "spare_wait", where(waits, race.time_s, 0.0))
    startup_left = left_of(lanes.startup_left, startup, moment)
    restore_left = left_of(lanes.restore_left, restore, moment)
    lanes.put(startup_left=startup_left, restore_left=restore_left)
    if job.on.nodes_lost:
        lanes.set(passes & (startup_left <= 0) & (restore_left <= 0), lost_in_chain=0.0)
    ends = trains & (left + moment >= view.all_work_s)
    # Corruption is seen before the save behind that verification can become durable.
    moment = where(race.won("verified", passes), -moment, moment)
    return Passing(time_s, where(trains, left, 0.0), trains, ends, moment), ledger


def run_clocks(
    job: Job, lanes: Lanes, _: Draws, plan: Plan, view: View, race: Race, passing: Passing, computed_s: Any
) -> Ledger:
    """Book what slow speed costs, let hazards and timers run down, and set the clock."""
    ledger = Ledger()
    _degrade(job, lanes, ledger, computed_s * plan.per_speed)
    _run_down(job, lanes, view, passing, computed_s)
    _move_on(job, lanes, race, passing.time_s)
    return ledger


def _move_on(job: Job, lanes: Lanes, race: Race, time_s: Any) -> None:
    """Set the clock, and note a start that went well."""
    dated = (race.winner >= 0) & ~jnp.isnan(race.at_s) & (lanes.phase != ENDED)
    lanes.put(now=where(dated, race.at_s, lanes.now + time_s))
    well = (lanes.phase == AT_RISK) & (lanes.startup_left <= 0)
    if job.on.start_failure:
        well = well & ~lanes.start_fails
        lanes.set(well, tries=0.0)
    if job.on.replaced:
        lanes.set(well & (lanes.group == NO_GROUP) if job.on.groups else well, replaced=False)


def _stop_slowly(job: Job, lanes: Lanes, ledger: Ledger, view: View, passing: Passing) -> None:
    """Save before a planned stop, while writes in flight go on."""
    stopping_s = where(view.stopping, passing.time_s, 0.0)
    ledger.book(jnp.maximum(lanes.stop_row, 0), "checkpoint", stopping_s)
    lanes.put(stop_left=lanes.stop_left - stopping_s)
    left = left_of(lanes.write_left, stopping_s, passing.moment_s)
    durable = view.stopping & (lanes.write_left > 0) & (left <= 0)
    _count_durable(job, lanes, durable, where(durable, 1.0, 0.0), lanes.now + lanes.write_left, 0.0)
    lanes.set(durable, base=lanes.start)
    lanes.set(view.stopping, write_left=left)
    if job.on.local:
        left = left_of(lanes.local_left, stopping_s, passing.moment_s)
        kept = view.stopping & (lanes.local_left > 0) & (left <= 0)
        lanes.set(kept, local=lanes.local_work)
        if job.on.retention:
            lanes.set(kept, local_good=False)
        lanes.set(view.stopping, local_left=left)


def aim(job: Job, lanes: Lanes, _: Draws, plan: Plan, view: View, passing: Passing) -> tuple[Any, Landing]:
    """Return how long the lanes train short of what follows the end of the work, and where that lands them."""
    time_s = where(passing.ends, view.all_work_s, passing.trained_s)
    # A save that would begin at the very end of the work is the last one, which follows.
    last_s = job.fixed.slack_s * plan.per_speed + jnp.abs(passing.moment_s)
    begun_s = time_s + where(passing.ends, -last_s, passing.moment_s)
    return time_s, land(plan, position(job, lanes), view.rest, time_s, begun_s)


def go_on(
    job: Job, lanes: Lanes, _: Draws, plan: Plan, view: View, passing: Passing, time_s: Any, landing: Landing
) -> Advance:
    """Return what the training up to the next event does, short of what follows the end of the work."""
    left, trains, ends = passing.trained_s, passing.trains, passing.ends
    done = advance(plan, position(job, lanes), view.rest, time_s, landing, passing.moment_s)
    blocked = done.blocked_s + job.params.checkpoint.slowdown * done.slowed_s
    zero = jnp.zeros_like(left)
    computed = done.computed_s + where(ends, _left_over(job, plan, done.at), 0.0)
    return done._replace(
        blocked_s=where(trains, blocked, zero) + where(ends, jnp.maximum(left - view.all_work_s, 0.0), zero),
        slowed_s=zero,
        n_durable=where(trains, done.n_durable, zero),
        computed_s=where(trains, computed, zero),
    )


def _left_over(job: Job, plan: Plan, at: Position) -> Any:
    """Return the rounding that is left to compute."""
    return jnp.maximum(job.fixed.total_s - at.work(plan), 0.0)


def train(job: Job, lanes: Lanes, _: Draws, plan: Plan, view: View, passing: Passing, done: Advance) -> Ledger:
    """Let the training take place, or the save before a planned stop."""
    ledger, trains = Ledger(), passing.trains
    done = _wait_for_writes(job, view, plan, done, passing)
    set_position(job, lanes, trains, done.at)
    ledger.book(job.checkpoint_row, "checkpoint", done.blocked_s)
    begin_s = lanes.now + view.until_training_s
    times = (begin_s + done.first_durable_s, done.apart_s, begin_s + done.last_durable_s)
    _count_durable(job, lanes, trains, done.n_durable, *times)
    if job.on.local and job.on.retention:
        lanes.set(trains & done.is_copied, local_good=False)
    if job.on.graceful:
        _stop_slowly(job, lanes, ledger, view, passing)
    return ledger


def _wait_for_writes(job: Job, view: View, plan: Plan, done: Advance, passing: Passing) -> Advance:
    """Return the stretch with what follows the end of the work: the write in flight, then the last save."""
    at, waiting, moment, all_computed = done.at, view.waiting_s, passing.moment_s, passing.ends
    tail = where(all_computed, jnp.maximum(passing.trained_s - view.all_work_s, 0.0), 0.0)
    total_s = job.fixed.total_s
    begun = all_computed & ~view.last & (tail + moment >= waiting)
    awaited = begun & (at.write_left > 0)
    saved_s = jnp.maximum(tail - waiting, 0.0)
    sub = at.sub + jnp.maximum(total_s - at.work(plan), 0.0)
    ended = Position(
        start=where(begun, total_s, at.start),
        base=where(awaited, at.start, at.base),
        write_left=where(begun, plan.write_s - saved_s, jnp.maximum(waiting - tail, 0.0)),
        sub_number=where(begun, 0.0, at.sub_number),
        sub=where(begun, 0.0, sub),
        local=at.local,
        local_left=at.local_left,
        local_work=at.local_work,
    )
    if plan.two_tiers:
        ended, copied = _last_copy(plan, ended, begun, tail, saved_s, moment)
        done = done._replace(is_copied=done.is_copied | (all_computed & copied))
    new = Position(*(where(all_computed, a, b) for a, b in zip(ended, at, strict=True)))
    durable_s = view.all_work_s + waiting
    first = awaited & (done.n_durable == 0)
    return done._replace(
        at=new,
        n_durable=done.n_durable + awaited,
        first_durable_s=where(first, durable_s, done.first_durable_s),
        apart_s=where(awaited & ~first, jnp.maximum(done.apart_s, durable_s - done.last_durable_s), done.apart_s),
        last_durable_s=where(awaited, durable_s, done.last_durable_s),
    )


def _last_copy(plan: Plan, at: Position, begun: Any, tail: Any, saved_s: Any, moment: Any) -> tuple[Position, Any]:
    """Return the position with what happens to local saves in `tail` seconds after the end of the work.

    Where the last save has `begun`, `saved_s` ago, its copy takes the place of a local write still in flight.
    """
    copies = begun & plan.holds_main
    before_s = where(copies, tail - saved_s, tail)
    left = left_of(at.local_left, before_s, moment)
    kept = (at.local_left > 0) & (left <= 0)
    local = where(kept, at.local_work, at.local)
    copy_left = left_of(plan.local_write_s, saved_s, moment)
    held = copies & (copy_left <= 0)
    at = at._replace(
        local=where(held, at.start, local),
        local_left=where(copies, copy_left, left),
        local_work=where(copies, at.start, at.local_work),
    )
    return at, kept | held


def _count_durable(job: Job, lanes: Lanes, mask: Any, n: Any, first_s: Any, apart_s: Any, last_s: Any = None) -> None:
    """Note saves that became durable, the first and the last of them at these times."""
    new = mask & (n > 0)
    last = first_s if last_s is None else last_s
    stretch = jnp.maximum(first_s - lanes.last_durable, apart_s)
    lanes.set(new, longest=jnp.maximum(lanes.longest, stretch), last_durable=last, n_saves=lanes.n_saves + n)
    if job.on.indexed:
        number = lanes.number + n
        lanes.set(new, number=number)
        if job.on.retention:
            keep = job.params.checkpoint.retention.keep  # type: ignore[union-attr]
            lanes.set(new, lowest=jnp.maximum(lanes.lowest, number - keep + 1.0))


def _degrade(job: Job, lanes: Lanes, ledger: Ledger, time_s: Any) -> None:
    """Book the time that slow nodes, a missing group and missing nodes cost, one after the other."""
    left = time_s
    params = job.params
    for index in job.on.slow:
        lost = where(jnp.isfinite(lanes[f"slow_{index}"]), left * params.causes[index].slowdown, 0.0)
        ledger.book(index + 1, "degraded", lost)
        left = left - lost
    if job.on.groups:
        count = params.recovery.replica_groups.count  # type: ignore[union-attr]
        lost = where(lanes.group != NO_GROUP, left / count, 0.0)
        ledger.book(lanes.group_row, "degraded", lost)
        left = left - lost
    if job.on.shrink:
        ledger.book(lanes.shrink_row, "degraded", left * (1.0 - lanes.present * job.fixed.per_node))


def _run_down(job: Job, lanes: Lanes, view: View, passing: Passing, computed_s: Any) -> None:
    time_s = passing.time_s
    spent = where(view.hazard > 0, time_s * view.hazard, 0.0)
    lanes.put(hazard_left=jnp.maximum(lanes.hazard_left - spent, 0.0))
    names = [f"event_{index}" for index in job.on.every] + [f"slow_{index}" for index in job.on.slow]
    if job.on.incidents:
        names.append("toggle_left")
    for name in names:
        lanes.put(**{name: lanes[name] - time_s})
    if job.on.groups:
        lanes.put(group_left=lanes.group_left - time_s)
    if job.on.max_attempt or job.on.lease:
        lanes.put(age=lanes.age + time_s)
    if job.on.silent:
        spent = where(lanes.corrupt, 0.0, computed_s * view.silent_rate)
        lanes.put(silent_left=jnp.maximum(lanes.silent_left - spent, 0.0))
        lanes.put(latency_left=lanes.latency_left - where(lanes.corrupt, passing.trained_s, 0.0))


def pass_down(job: Job, lanes: Lanes, ledger: Ledger, mask: Any, lengths: list[tuple[str, Any]]) -> None:
    """Let downtime pass, activity after activity; a maintenance window or the horizon cuts what is left of it."""
    horizon = job.params.horizon_s + jnp.zeros_like(lanes.now)
    until = jnp.minimum(horizon, lanes.window) if job.on.maintenance else horizon
    room = jnp.maximum(until - lanes.now, 0.0)
    begin = jnp.zeros_like(room)
    for activity, length in lengths:
        ledger.book(AFTER, activity, where(mask, jnp.clip(room - begin, 0.0, length), 0.0))
        begin = begin + length
    cut = mask & is_before(room, begin, lanes.now)
    lanes.set(mask, now=where(cut, until, lanes.now + begin))
    meets_horizon = cut
    if job.on.maintenance:
        meets_horizon = cut & (lanes.window >= horizon)
        serve_window(job, lanes, ledger, cut & ~meets_horizon)
    lanes.set(meets_horizon, phase=ENDED, outcome=Outcome.HORIZON)


def serve_window(job: Job, lanes: Lanes, ledger: Ledger, mask: Any) -> None:
    """Let a maintenance window pass, which begins now; the horizon may cut it."""
    plan = job.params.maintenance
    assert plan is not None
    room = job.params.horizon_s - lanes.window
    length = jnp.minimum(plan.duration_s, room)
    ledger.book(job.planned_row, "maintenance", where(mask, length, 0.0))
    cut = mask & is_before(room, plan.duration_s, lanes.now)
    lanes.set(mask, now=lanes.window + length, window=lanes.window + plan.every_s)
    lanes.set(cut, phase=ENDED, outcome=Outcome.HORIZON)
