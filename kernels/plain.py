"""The plain loop: every attempt a job with rates makes, four a pass.

Between failures nothing is carried but the durable work, so a pass draws four failures from whole blocks of random
words and plays their attempts one after the other, all in float32; a leg of a few passes is added up before the float64
sums are touched. A lane stops where its next attempt would be the last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mcettr.kernels import streams
from mcettr.kernels.attempt import Key, Phases, as_dtype, cause_bounds, cause_row, mean_time_s, phases
from mcettr.kernels.fusion import in_one_kernel
from mcettr.kernels.state import Accounts, Booking, State, book, has_save, judge, masked, merge, open_accounts, tally
from mcettr.kernels.threefry import uniform
from mcettr.kernels.training import Schedule
from mcettr.model.distributions import is_fixed
from mcettr.model.params import Params

WORDS, BLOCKS = 2, 2
ATTEMPTS = WORDS * BLOCKS
PASSES = 16
LEG = ATTEMPTS * PASSES
"""Attempts a leg; event caps are one more than a multiple of it, so that a capped lane stops at the cap."""

_NARROW = jnp.float32


class _BlockKey(NamedTuple):
    """Draws for lanes that want one `word` of block `block` of whatever purpose, without a selection."""

    seed: tuple[Any, Any]
    timeline: Any
    block: Any
    word: int

    def uniform(self, purpose: int, count: Any, dtype: Any) -> Any:
        del count
        return uniform(self.random(purpose), jnp).astype(dtype)

    def random(self, purpose: int) -> Any:
        return streams.block(self.seed, self.timeline, purpose, self.block)[self.word]


class Outset(NamedTuple):
    """Where a leg begins: its first block of draws (a scalar), what picks causes (`cause_bounds`), and in lanes whether
    there is a save, intervals of work left, seconds to the horizon."""

    block: Any
    bounds: Any
    restorable: Any
    left: Any
    room_s: Any


class Leg(NamedTuple):
    """What the passes of a leg carry; the accounts are float32 sums since it began."""

    n_passes: Any
    row: Any
    active: Any
    accounts: Accounts


class Stand(NamedTuple):
    """Where lanes stand between two blocks of a pass: cause row of the last failure, going on or not, float32 sums."""

    row: Any
    active: Any
    saved: Any
    clock_s: Any


def applies(params: Params) -> bool:
    """Return whether there is anything for the plain loop to do: a job without causes has one attempt."""
    return bool(params.causes)


def run_leg(params: Params, schedule: Schedule, key: Key, state: State, cap: Any) -> State:
    """Return the state after up to 16 passes.

    `params` and `schedule` are float64; active lanes stand all at one attempt, 1 + a multiple of `LEG`, where blocks of
    draws begin. If their attempts would pass `cap` they stay.
    """
    narrow, narrow_schedule = as_dtype(params, _NARROW), as_dtype(schedule, _NARROW)
    accounts = state.accounts
    attempt = jnp.max(jnp.where(state.active, state.attempt, jnp.uint32(0)))
    outset = Outset(
        (attempt + jnp.uint32(streams.LEAD)) >> jnp.uint32(1),
        cause_bounds(params),
        has_save(params, accounts.saved),
        (schedule.n_intervals - accounts.saved).astype(_NARROW),
        (params.horizon_s - accounts.clock_s).astype(_NARROW),
    )
    under_way = state.active & (attempt + jnp.uint32(LEG) <= cap)
    empty = open_accounts(params, under_way.shape, _NARROW, start=False)
    end = lax.while_loop(
        lambda leg: (leg.n_passes < PASSES) & jnp.any(leg.active),
        lambda leg: _run_pass(narrow, narrow_schedule, key, outset, leg),
        Leg(jnp.int32(0), state.row, under_way, empty),
    )
    return State(
        attempt=state.attempt + end.accounts.n_failures.sum(axis=0).astype(jnp.uint32),
        row=end.row,
        active=jnp.where(under_way, end.active, state.active),
        accounts=merge(accounts, end.accounts),
    )


def _run_pass(params: Params, schedule: Schedule, key: Key, outset: Outset, leg: Leg) -> Leg:
    block = outset.block + jnp.uint32(BLOCKS) * leg.n_passes.astype(jnp.uint32)
    stand, attempts = Stand(leg.row, leg.active, leg.accounts.saved, leg.accounts.clock_s), []
    for number in range(BLOCKS):
        lanes = (key.timeline, block + jnp.uint32(number))
        booking, stand = _run_block(params, schedule, key.seed, lanes, outset, leg, stand)
        attempts += booking
    return Leg(
        n_passes=leg.n_passes + 1,
        row=stand.row,
        active=stand.active,
        accounts=book(leg.accounts, tally(leg.accounts, attempts)),
    )


def _run_block(
    params: Params, schedule: Schedule, seed: Any, lanes: tuple[Any, Any], outset: Outset, leg: Leg, stand: Stand
) -> tuple[list[Booking], Stand]:
    """Return the bookings of the two attempts of a block (one, added up, with one cause), and where they lead."""
    row, turn, one_cause = stand.row, leg.n_passes, len(params.causes) == 1
    hazards = in_one_kernel(lambda at: _hazards(seed, *at), lanes, turn)
    failure_rows = [jnp.ones_like(row)] * WORDS
    if not one_cause:
        failure_rows = in_one_kernel(lambda at: _failure_rows(outset.bounds, seed, *at), lanes, turn)
    chain_rows = [row, *failure_rows[:-1]]
    recoveries = None
    if not (one_cause and _all_fixed(params)):
        recoveries = []
        for word, chain_row in enumerate(chain_rows):
            recovery = phases(params, _BlockKey(seed, *lanes, word), None, chain_row, jnp.bool_(True), _NARROW)
            recoveries.append(in_one_kernel(lambda phase: phase, recovery, turn))
    attempts = in_one_kernel(
        lambda at: _play(params, schedule, leg.accounts, *at),
        (hazards, recoveries, outset._replace(bounds=None), stand),
        turn,
    )
    if one_cause:
        both = attempts[0]._replace(chain_row=1, failure_row=1)
        stand = Stand(row, both.n_failures == WORDS, stand.saved + both.saved, stand.clock_s + both.elapsed_s)
        return [both], stand
    for word, failure_row in enumerate(failure_rows):
        row = jnp.where(attempts[word].n_failures > 0, failure_row, row)
        attempts[word] = attempts[word]._replace(chain_row=chain_rows[word], failure_row=failure_row)
    saved = stand.saved + sum(attempt.saved for attempt in attempts)
    clock_s = stand.clock_s + sum(attempt.elapsed_s for attempt in attempts)
    return attempts, Stand(row, attempts[-1].n_failures > 0, saved, clock_s)


def _all_fixed(params: Params) -> bool:
    recovery = params.recovery
    laws = [recovery.queue_wait, recovery.restore, *(law for _, law in recovery.startup)]
    return all(map(is_fixed, laws)) and all(is_fixed(c.detection) and is_fixed(c.diagnosis) for c in params.causes)


def _hazards(seed: tuple[Any, Any], timeline: Any, block: Any) -> list[Any]:
    """Return the unit exponentials of a block's failures."""
    draws = [_BlockKey(seed, timeline, block, word) for word in range(WORDS)]
    return [-jnp.log(draw.uniform(streams.FAILURE, None, _NARROW)) for draw in draws]


def _failure_rows(bounds: Any, seed: tuple[Any, Any], timeline: Any, block: Any) -> list[Any]:
    """Return the cause rows of a block's failures."""
    draws = [_BlockKey(seed, timeline, block, word) for word in range(WORDS)]
    return [cause_row(bounds, draw.random(streams.CAUSE)) for draw in draws]


def _play(
    params: Params,
    schedule: Schedule,
    wanted: Accounts,
    hazards: list[Any],
    recoveries: list[Phases] | None,
    outset: Outset,
    stand: Stand,
) -> list[Booking]:
    """Return what attempts in a row leave, each zero from the one on that would be the last.

    With one cause they come added up, as one. Without `recoveries` all durations are fixed.
    """
    active, saved, clock_s = stand.active, stand.saved, stand.clock_s
    mean_s = mean_time_s(params)
    attempts = []
    for index, hazard in enumerate(hazards):
        restorable = outset.restorable | (saved > 0)
        if recoveries is None:
            recovery = phases(params, None, None, jnp.ones_like(stand.row), restorable, _NARROW)
        else:
            recovery = recoveries[index]._replace(restore=jnp.where(restorable, recoveries[index].restore, 0.0))
        attempt, fails = judge(schedule, recovery, hazard * mean_s, outset.left - saved, outset.room_s - clock_s)
        active = active & fails
        attempts.append(masked(_wanted(wanted, attempt), active))
        saved, clock_s = saved + attempts[-1].saved, clock_s + attempts[-1].elapsed_s
    if len(params.causes) > 1:
        return attempts
    return [jax.tree.map(lambda *parts: sum(parts[1:], parts[0]), *attempts)]


def _wanted(accounts: Accounts, booking: Booking) -> Booking:
    """Return the booking without what the accounts do not keep, so that no kernel computes it."""
    kept = {"detection": accounts.detection_s, "diagnosis": accounts.diagnosis_s, "queue": accounts.queue_s}
    dropped = {name: None for name, account in kept.items() if account is None}
    recovery = booking.phases._replace(startup=None, restore=None, **dropped)
    n_saves = None if accounts.n_saves is None else booking.n_saves
    return booking._replace(phases=recovery, n_saves=n_saves, chain_row=None, failure_row=None)
