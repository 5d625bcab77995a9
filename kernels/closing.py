"""The last attempt of every lane, in float64: it finishes the job or meets the horizon; then the whole account."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels.attempt import Key
from mcettr.kernels.generic import outlook
from mcettr.kernels.state import State
from mcettr.kernels.training import Schedule, ending, stretch, until_the_end
from mcettr.model.budget import Outcome
from mcettr.model.distributions import Distribution, is_fixed
from mcettr.model.params import Params


class Account(NamedTuple):
    """A whole timeline: float64 seconds in lanes; sums by cause with rows in front, as in `Accounts`."""

    outcome: Any
    elapsed_s: Any
    productive_s: Any
    checkpoint_s: Any
    undurable_s: Any
    """Rework of cause `horizon`: computed and not durable when time ran out."""
    n_saves: Any
    n_failures: Any
    """By cause."""
    rework_s: Any
    """By cause."""
    detection_s: Any
    diagnosis_s: Any
    queue_s: Any
    startup_s: Any
    restore_s: Any


def close(params: Params, schedule: Schedule, key: Key, state: State) -> Account:
    """Return the account of every lane; a lane still active was stopped by the event cap and gains nothing more."""
    view = outlook(params, schedule, key, state, jnp.float64)
    accounts, capped = state.accounts, state.active
    room_s = params.horizon_s - accounts.clock_s
    begin_s, cut = jnp.zeros_like(room_s), []
    for length_s in view.phases:
        cut.append(jnp.where(capped, 0.0, jnp.clip(room_s - begin_s, 0.0, length_s)))
        begin_s = begin_s + length_s
    training_s = room_s - begin_s
    end = ending(schedule, view.left, jnp)
    done = ~capped & (end.time_s <= training_s)
    rest = stretch(schedule, jnp.maximum(training_s, 0.0), jnp)
    rest = until_the_end(schedule, rest, view.left, jnp)

    def choose(if_done: Any, if_cut: Any) -> Any:
        return jnp.where(done, if_done, jnp.where(capped, 0.0, if_cut))

    causes = params.causes
    detection, diagnosis, queue, startup, restore = cut
    n_saves = (accounts.saved if accounts.n_saves is None else accounts.n_saves) + choose(end.n_saves, rest.n_saves)
    return Account(
        outcome=jnp.where(done, Outcome.DONE, jnp.where(capped, Outcome.CAPPED, Outcome.HORIZON)).astype(jnp.int8),
        elapsed_s=jnp.where(
            done, accounts.clock_s + begin_s + end.time_s, jnp.where(capped, accounts.clock_s, params.horizon_s)
        ),
        productive_s=jnp.where(done, params.work_s, (accounts.saved + choose(0.0, rest.saved)) * schedule.interval_s),
        checkpoint_s=n_saves * schedule.cost_s + accounts.partial_s + choose(end.partial_s, rest.partial_s),
        undurable_s=choose(0.0, rest.rework_s),
        n_saves=n_saves,
        n_failures=accounts.n_failures,
        rework_s=accounts.rework_s,
        detection_s=_with_last(state, accounts.detection_s, [c.detection for c in causes], detection, 1),
        diagnosis_s=_with_last(state, accounts.diagnosis_s, [c.diagnosis for c in causes], diagnosis, 1),
        queue_s=_with_last(state, accounts.queue_s, [params.recovery.queue_wait] * (len(causes) + 1), queue, 0),
        startup_s=_with_last(state, accounts.startup_s, [], startup, 0),
        restore_s=_with_last(state, accounts.restore_s, [], restore, 0),
    )


def _with_last(state: State, booked: Any, laws: list[Distribution], last_s: Any, first_row: int) -> Any:
    """Add the last attempt's phase to the booked ones; fixed laws were only counted.

    The recovery after the last failure is the last attempt's own, so a cause's booked recoveries are its failures less
    that one.
    """
    n_failures = state.accounts.n_failures
    rows = jnp.arange(first_row, first_row + (len(laws) if booked is None else len(booked)))[:, None, None]
    last = jnp.where(rows == state.row, last_s, 0.0)
    if booked is not None:
        return booked + last
    assert all(is_fixed(law) for law in laws)
    if not laws:
        return last
    first = jnp.where(state.attempt > 0, 1.0, 0.0)[None][: 1 - first_row]
    n_chains = jnp.concatenate([first, n_failures - (rows[1 - first_row :] == state.row)])
    length_s = jnp.stack([jnp.broadcast_to(law.values[0], last_s.shape) for law in laws])
    return last + jnp.where(n_chains > 0, n_chains * length_s, 0.0)
