"""One attempt a step, each lane on its own count: how plain jobs begin, in float32, and how they end, in float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.attempt import Key, Phases, as_dtype, cause_bounds, cause_row, mean_time_s, phases, unit_exponential
from mcettr.kernels.state import State, book, has_save, judge, masked, tally
from mcettr.kernels.training import Schedule
from mcettr.model.params import Params


class Outlook(NamedTuple):
    """The attempt to come, seen from its beginning: its recovery, and the failure that would end it."""

    phases: Phases
    at_risk_s: Any
    """At-risk time until the failure."""
    left: Any
    """Intervals of work left."""
    failure_row: Any


def outlook(params: Params, schedule: Schedule, key: Key, state: State, dtype: Any) -> Outlook:
    """Return what the attempt to come would be, computed in `dtype`; `params` and `schedule` are float64."""
    bounds, params = cause_bounds(params), as_dtype(params, dtype)
    recovery = phases(params, key, state.attempt, state.row, has_save(params, state.accounts.saved), dtype)
    left = (schedule.n_intervals - state.accounts.saved).astype(dtype)
    at_risk_s = unit_exponential(key, state.attempt, dtype) * mean_time_s(params)
    row = state.row
    if len(params.causes) == 1:
        row = jnp.ones_like(row)
    elif params.causes:
        row = cause_row(bounds, key.word(streams.CAUSE, state.attempt))
    return Outlook(recovery, at_risk_s, left, row)


def step(params: Params, schedule: Schedule, key: Key, state: State, cap: Any, dtype: Any) -> State:
    """Return the state after each active lane's attempt to come, or with the lane inactive if it is the last.

    An attempt is the last when it would outlive the rest of the work or reach the horizon before it fails. Lanes whose
    attempt number has reached `cap` (uint32) wait. `params` and `schedule` are float64.
    """
    narrow_schedule = as_dtype(schedule, dtype)
    view = outlook(params, schedule, key, state, dtype)
    room_s = (params.horizon_s - state.accounts.clock_s).astype(dtype)
    attempt, fails = judge(narrow_schedule, view.phases, view.at_risk_s, view.left, room_s)
    under_way = state.active & (state.attempt < cap)
    mask = under_way & fails
    attempt = masked(attempt._replace(chain_row=state.row, failure_row=view.failure_row), mask)
    return State(
        attempt=state.attempt + mask.astype(jnp.uint32),
        row=jnp.where(mask, view.failure_row, state.row),
        active=state.active & (fails | ~under_way),
        accounts=book(state.accounts, tally(state.accounts, [attempt])),
    )
