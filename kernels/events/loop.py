"""From submission to the end: the state at the beginning, one event a step, and the account at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mcettr.kernels.account import Account
from mcettr.kernels.attempt import Key
from mcettr.kernels.elementary import where
from mcettr.kernels.events import groups, nodes, refill, starts, stops, strikes
from mcettr.kernels.events.features import Features
from mcettr.kernels.events.finding import find_out
from mcettr.kernels.events.job import Job, Numbers
from mcettr.kernels.events.lanes import AT_RISK, ENDED, NODES, Lanes, is_over
from mcettr.kernels.events.ledger import BOOKED, Ledger
from mcettr.kernels.events.passing import aim, go_on, pass_at_risk, run_clocks, train
from mcettr.kernels.events.race import Race, View, corruption_s, look_ahead, run_race
from mcettr.kernels.events.refill import Places, Queue
from mcettr.kernels.events.stages import Stages, Survey
from mcettr.kernels.events.training import plan_now
from mcettr.model.params import Params

LEG = 8
"""Steps between two looks at whether any lane is left."""

IDLE_SHARE = 16
"""Lanes are changed over when this share of them is idle: then few idle ones run along, and it is seldom done."""

_STEPS_AN_ATTEMPT = 64
"""No timeline may take more steps than this many times the cap on attempts."""


def look_at_a_step(job: Job, begin: Callable[[], dict[str, Any]]) -> None:
    """Find out which draws a step of the job makes and what it may book, and note both in the job.

    `begin` returns a state of lanes, in which what they have booked may be missing.
    """

    def survey() -> None:
        lanes = Lanes(begin())
        row = lanes.row
        stages, ledger = _advance(job, Survey(job, lanes))
        job.requests = list(stages.draws.requests)
        job.places = ledger.settled(row, lanes.row).places(job.rows_of_lanes)

    jax.eval_shape(survey)


def step(job: Job, key: Any, state: dict[str, Any], turn: Any) -> tuple[dict[str, Any], Ledger]:
    """Return the lanes' state after one event of each, and what was booked; `turn` numbers the step."""
    if not job.requests:
        look_at_a_step(job, lambda: state)
    lanes = Lanes(state)
    ledger = _advance(job, Stages(job, key, lanes, _counts(job, lanes), turn, job.requests))[1]
    return lanes.state, ledger.settled(state["row"], lanes.row)


def leg(job: Job, key: Any, state: dict[str, Any], turn: Any) -> dict[str, Any]:
    """Return the lanes' state after `LEG` steps; what these book is added up at the end of the leg."""

    def advance(state: dict[str, Any], index: Any) -> tuple[dict[str, Any], Ledger]:
        return step(job, key, state, turn + index)

    steps = jnp.arange(LEG, dtype=jnp.int32)
    sums = {name: amount for name, amount in state.items() if name.startswith(BOOKED)}
    state, booked = lax.scan(advance, {name: state[name] for name in state if name not in sums}, steps)
    return state | booked.add_up(sums, job.rows_of_lanes, turn)


def _advance(job: Job, stages: Any) -> tuple[Any, Ledger]:
    """Run the stages of one step; return them and what they booked."""
    on, lanes, ledger = job.on, stages.lanes, Ledger()
    fresh = lanes.phase == NODES
    plan = job.fixed.plan if job.steady else stages.run(plan_now)
    view = stages.run(look_ahead, plan)
    corruption = stages.run(corruption_s, plan, view) if on.silent else (lanes.now, lanes.now)
    race = stages.run(run_race, view, corruption)
    passing, passed = stages.run(pass_at_risk, view, race)
    time_s, landing = stages.run(aim, plan, view, passing)
    done = stages.run(go_on, plan, view, passing, time_s, landing)
    trained = stages.run(train, plan, view, passing, done)
    computed_s = done.computed_s
    slowed = stages.run(run_clocks, plan, view, race, passing, computed_s)
    for part in (passed, trained, slowed):
        ledger.add(part)
    stop = _strike(job, stages, ledger, view, race)
    checked = _stop(job, stages, ledger, race, stop, fresh)
    if on.preflight:
        ready = checked
    else:
        ready = lanes.phase == NODES
        if on.spares:
            ready = ready & ~lanes.waiting & (lanes.repaired_at > lanes.now) & (lanes.failed <= 0)
    if on.groups:
        groups.go_on(job, stages, race)
    _begin(job, stages, ledger, race, ready)
    return stages, ledger


def _strike(job: Job, stages: Any, ledger: Ledger, view: View, race: Race) -> stops.Stop:
    """Let the event come, and return the stops it leads to."""
    on = job.on
    struck = stages.run(strikes.strike, view, race)
    grouped = jnp.zeros_like(struck.mask)
    if on.slow:
        strikes.slow_down(job, stages, struck)
    if on.groups:
        grouped = stages.run(groups.hit, struck)
        cause = struck.cause
        lost = cause * 0.0
        if on.nodes_lost:
            lost = nodes.lose_of_group(job, stages, grouped, cause, struck.repeated)
        if on.repeat:
            stages.run(strikes.miss, grouped, cause)
        detection, diagnosis = find_out(job, stages, cause)
        ledger.add(stages.run(groups.begin, struck, grouped, lost, detection + diagnosis))
    stop, booked = stages.run(stops.apply_event, view, race, struck, grouped)
    ledger.add(booked)
    if on.incidents or on.silent:
        strikes.turn(job, stages, view, race)
    return stop._replace(repeated=struck.repeated)


def _stop(job: Job, stages: Any, ledger: Ledger, race: Race, stop: stops.Stop, fresh: Any) -> Any:
    """Stop the job: roll back, find out, lose nodes; return the lanes that are checked before their start."""
    by_cause, booked = stages.run(stops.roll_back, stop)
    ledger.add(booked)
    ledger.add(stages.run(stops.downtime, stop, by_cause, *find_out(job, stages, stop.row - 1)))
    if not job.on.nodes_lost:
        return jnp.zeros_like(fresh)
    return nodes.move(job, stages, race, (by_cause, stop.row - 1, stop.repeated), fresh)


def _begin(job: Job, stages: Any, ledger: Ledger, race: Race, ready: Any) -> None:
    """Find nodes for the lanes that are ready, and start those that have them."""
    on = job.on
    begins = ready
    if on.spares:
        begins, booked = stages.run(nodes.look_for_nodes, race, ready)
        ledger.add(booked)
    begins, booked = stages.run(nodes.go_in, begins)
    ledger.add(booked)
    nodes.welcome(job, stages, begins, stages.lanes.row)
    if on.incidents:
        stages.run(starts.see_incidents, begins)
    wasted = jnp.zeros_like(stages.lanes.now)
    if on.retention or on.local:
        wasted, booked = stages.run(starts.fall_back, begins)
        ledger.add(booked)
    stages.run(starts.start, begins, wasted)


def _counts(job: Job, lanes: Lanes) -> dict[Any, Any]:
    """Return the counters under which a step draws."""
    one = jnp.uint32(1)
    counts: dict[Any, Any] = {
        "attempt": lanes.attempt + (lanes.phase == AT_RISK).astype(jnp.uint32),
        "group": lanes.attempt,
        "hazard": lanes.n_hazard,
        "next_hazard": lanes.n_hazard + one,
    }
    if job.on.silent:
        counts |= {"strike": lanes.n_silent - one, "next_strike": lanes.n_silent}
    if job.on.incidents:
        counts["toggle"] = lanes.n_toggle
    if job.on.spares:
        counts |= {"change": lanes.n_changes}
    for index in job.on.every:
        counts |= {("event", index): lanes[f"n_event_{index}"], ("next_event", index): lanes[f"n_event_{index}"] + one}
    return counts


def simulate(
    params: Params,
    features: Features,
    seed: tuple[Any, Any],
    first_timeline: Any,
    n_valid: Any,
    cap: Any,
    fixed: Numbers,
    *,
    n_lanes: int,
    n_timelines: int,
) -> Account:
    """Return the accounts of blocks of `n_timelines` timelines, run in `n_lanes` lanes each.

    A lane whose timeline is over takes the next of its block, when enough lanes are idle for that to be worth while.
    The other parameters are as in `mcettr.kernels.timeline.simulate`.
    """
    job = Job(params, features, fixed)
    queue = Queue(seed, first_timeline, n_valid, cap)
    look_at_a_step(job, lambda: refill.one_a_block(job, queue))
    state, places = refill.nobody(job, queue, n_lanes, n_timelines)
    book = refill.empty_book(job, len(first_timeline), n_timelines)
    most = cap * jnp.uint32(_STEPS_AN_ATTEMPT * -(-n_timelines // n_lanes))

    def going(carry: Any) -> Any:
        _, places, _, n_steps = carry
        waiting = jnp.any(places.n_begun < queue.n_valid)
        return jnp.any(places.index < n_timelines) | (waiting & (n_steps < most))

    def round_(carry: Any) -> Any:
        state, places, book, n_steps = carry
        out_of_steps = n_steps >= most
        state = state | {"phase": where(out_of_steps, ENDED, state["phase"])}
        if job.on.spares:
            state = state | {"repaired_at": where(out_of_steps, jnp.inf, state["repaired_at"])}
        rest = queue._replace(n_valid=where(out_of_steps, 0, queue.n_valid))
        state, places, book = refill.change_over(job, rest, places, state, book, n_steps.astype(jnp.int32))
        state, n_steps = _run_until_idle(job, queue, places, (state, n_steps), most, n_timelines)
        return state, places, book, n_steps

    carry = (state, places, book, jnp.uint32(0))
    return refill.accounts_of(job, lax.while_loop(going, round_, carry)[2])


def _run_until_idle(job: Job, queue: Queue, places: Places, carry: Any, most: Any, n_timelines: int) -> Any:
    """Run legs until enough lanes are idle, of those with a timeline, to change them over; or all are."""
    occupied = places.index < n_timelines
    n_waiting = jnp.sum(jnp.maximum(queue.n_valid - places.n_begun, 0))
    enough = where(n_waiting > 0, occupied.size // IDLE_SHARE, occupied.size)

    def going(carry: Any) -> Any:
        state, n_steps = carry
        runs = ~is_over(state)
        return jnp.any(runs) & (jnp.sum(occupied & ~runs) < enough) & (n_steps < most)

    def advance(carry: Any) -> Any:
        state, n_steps = carry
        key = Key(queue.seed, state["timeline"])
        return leg(job, key, state, n_steps.astype(jnp.int32)), n_steps + jnp.uint32(LEG)

    return lax.while_loop(going, advance, carry)
