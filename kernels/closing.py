"""The last attempt of every lane, in float64: it finishes the job or meets the horizon; then the whole account."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels.account import INTERRUPTIONS, Account, ByCause
from mcettr.kernels.attempt import Key
from mcettr.kernels.generic import outlook
from mcettr.kernels.state import State
from mcettr.kernels.training import Schedule, ending, stretch, until_the_end
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.distributions import Distribution, is_fixed
from mcettr.model.order import is_before, moment_s
from mcettr.model.params import Params

_Booked = dict[str, list[tuple[int, Any]]]
"""By activity: a first row of the table by cause, and seconds shaped (rows, blocks, lanes) from that row on."""


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
    begins_s = jnp.minimum(accounts.clock_s + begin_s, params.horizon_s)
    done = ~capped & ~is_before(training_s, end.time_s, begins_s)
    rest = stretch(schedule, jnp.maximum(training_s, 0.0), jnp, moment_s(0.0, params.horizon_s))
    rest = until_the_end(schedule, rest, view.left, jnp)

    def choose(if_done: Any, if_cut: Any) -> Any:
        return jnp.where(done, if_done, jnp.where(capped, 0.0, if_cut))

    n_saves = (accounts.saved if accounts.n_saves is None else accounts.n_saves) + choose(end.n_saves, rest.n_saves)
    checkpoint_s = n_saves * schedule.cost_s + accounts.partial_s + choose(end.partial_s, rest.partial_s)
    booked = _booked(params, state, cut, checkpoint_s, choose(0.0, rest.rework_s))
    productive_s = jnp.where(done, params.work_s, (accounts.saved + choose(0.0, rest.saved)) * schedule.interval_s)
    cut_s = jnp.where(capped, accounts.clock_s, params.horizon_s)
    activity_s = {name: sum(part.sum(axis=0) for _, part in parts) for name, parts in booked.items()}
    return Account(
        outcome=jnp.where(done, Outcome.DONE, jnp.where(capped, Outcome.CAPPED, Outcome.HORIZON)).astype(jnp.int8),
        elapsed_s=jnp.where(done, accounts.clock_s + begin_s + end.time_s, cut_s),
        activity_s=tuple((activity_s | {"productive": productive_s}).get(name) for name in ACTIVITIES),
        n_saves=n_saves,
        n_failures=accounts.n_failures.sum(axis=0),
        by_cause=_by_cause(booked, accounts.n_failures),
        longest_stretch_s=None,
        pool=None,
    )


def _booked(params: Params, state: State, cut: list[Any], checkpoint_s: Any, undurable_s: Any) -> _Booked:
    accounts, causes = state.accounts, params.causes
    detection, diagnosis, queue, startup, restore = cut
    queue_laws = [params.recovery.queue_wait] * (len(causes) + 1)
    return {
        "rework": [(1, accounts.rework_s), (len(causes) + 3, undurable_s[None])],
        "checkpoint": [(len(causes) + 1, checkpoint_s[None])],
        "detection": [(1, _with_last(state, accounts.detection_s, [c.detection for c in causes], detection, 1))],
        "diagnosis": [(1, _with_last(state, accounts.diagnosis_s, [c.diagnosis for c in causes], diagnosis, 1))],
        "queue": [(0, _with_last(state, accounts.queue_s, queue_laws, queue, 0))],
        "startup": [(0, _with_last(state, accounts.startup_s, [], startup, 0))],
        "restore": [(0, _with_last(state, accounts.restore_s, [], restore, 0))],
    }


def _by_cause(booked: _Booked, n_failures: Any) -> ByCause:
    """Return the table of `Account.by_cause`."""
    columns = {ACTIVITIES.index(name): parts for name, parts in booked.items()} | {INTERRUPTIONS: [(1, n_failures)]}
    parts = [(first_row, column, part) for column, entries in columns.items() for first_row, part in entries]
    return ByCause(
        rows=[first_row + row for first_row, _, part in parts for row in range(len(part))],
        columns=[column for _, column, part in parts for _ in range(len(part))],
        amounts=jnp.concatenate([part for _, _, part in parts]),
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
