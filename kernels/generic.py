"""The generic event step: one attempt a step, any feature, each lane on its own count."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri

from mcettr.kernels import streams
from mcettr.kernels.attempt import Key, Phases, as_dtype, cause_row, mean_time_s, phases, unit_exponential
from mcettr.kernels.state import Clocks, State, book, has_save, judge, masked, tally
from mcettr.kernels.training import Schedule
from mcettr.model.distributions import sample
from mcettr.model.params import Params


class Outlook(NamedTuple):
    """The attempt to come, seen from its beginning: its recovery, and the failure that would end it."""

    phases: Phases
    at_risk_s: Any
    """At-risk time until the failure."""
    left: Any
    """Intervals of work left."""
    failure_row: Any
    clocks: Clocks | None
    """The clocks after that failure."""


def first_clocks(params: Params, key: Key) -> Clocks | None:
    """Return the clocks at the submission; None when every cause has a rate."""
    if all(cause.every is None for cause in params.causes):
        return None
    zero = jnp.zeros(key.timeline.shape, jnp.uint32)
    return Clocks(
        hazard=unit_exponential(key, zero, jnp.float64),
        n_hazard=zero,
        event_s=tuple(_event_s(params, key, index, zero) for index in range(len(params.causes))),
        n_event=(zero,) * len(params.causes),
    )


def _event_s(params: Params, key: Key, index: int, count: Any) -> Any:
    law = params.causes[index].every
    if law is None:
        return jnp.full(key.timeline.shape, jnp.inf)
    u = key.uniform(streams.every_purpose(index), count, jnp.float64)
    return sample(law, u, jnp, ndtri) + jnp.zeros(key.timeline.shape)


def outlook(params: Params, schedule: Schedule, key: Key, state: State, dtype: Any) -> Outlook:
    """Return what the attempt to come would be, computed in `dtype`; `params` is of that dtype, `schedule` float64."""
    recovery = phases(params, key, state.attempt, state.row, has_save(params, state.accounts.saved), dtype)
    left = (schedule.n_intervals - state.accounts.saved).astype(dtype)
    if state.clocks is not None:
        return _next_event(params, key, state.clocks, recovery, left)
    at_risk_s = unit_exponential(key, state.attempt, dtype) * mean_time_s(params)
    row = state.row
    if len(params.causes) == 1:
        row = jnp.ones_like(row)
    elif params.causes:
        row = cause_row(params, key.uniform(streams.CAUSE, state.attempt, dtype))
    return Outlook(recovery, at_risk_s, left, row, None)


def _next_event(params: Params, key: Key, clocks: Clocks, recovery: Phases, left: Any) -> Outlook:
    """Race the hazard against the causes' own events; losers carry what is left of their draw."""
    rate_s = clocks.hazard * mean_time_s(params)
    at_risk_s, row = rate_s, cause_row(params, key.uniform(streams.CAUSE, clocks.n_hazard, jnp.float64))
    for index, event_s in enumerate(clocks.event_s):
        row = jnp.where(event_s < at_risk_s, index + 1, row)
        at_risk_s = jnp.minimum(event_s, at_risk_s)
    by_rate = at_risk_s == rate_s
    n_hazard = clocks.n_hazard + by_rate.astype(jnp.uint32)
    spent = jnp.where(jnp.isfinite(at_risk_s), at_risk_s, 0.0) / mean_time_s(params)
    hazard = jnp.where(by_rate, unit_exponential(key, n_hazard, jnp.float64), clocks.hazard - spent)
    event_s, n_event = [], []
    for index, (left_s, count) in enumerate(zip(clocks.event_s, clocks.n_event, strict=True)):
        mine = ~by_rate & (row == index + 1)
        n_event.append(count + mine.astype(jnp.uint32))
        event_s.append(jnp.where(mine, _event_s(params, key, index, n_event[-1]), left_s - at_risk_s))
    after = Clocks(hazard, n_hazard, tuple(event_s), tuple(n_event))
    return Outlook(recovery, at_risk_s, left, row, after)


def step(params: Params, schedule: Schedule, key: Key, state: State, cap: Any, dtype: Any) -> State:
    """Return the state after each active lane's attempt to come, or with the lane inactive if it is the last.

    An attempt is the last when it would outlive the rest of the work or reach the horizon before it fails. Lanes whose
    attempt number has reached `cap` (uint32) wait. `params` and `schedule` are float64.
    """
    narrow, narrow_schedule = as_dtype(params, dtype), as_dtype(schedule, dtype)
    view = outlook(narrow, schedule, key, state, dtype)
    room_s = (params.horizon_s - state.accounts.clock_s).astype(dtype)
    attempt, fails = judge(narrow_schedule, view.phases, view.at_risk_s, view.left, room_s)
    under_way = state.active & (state.attempt < cap)
    mask = under_way & fails
    attempt = masked(attempt._replace(chain_row=state.row, failure_row=view.failure_row), mask)
    clocks = None
    if state.clocks is not None:
        clocks = jax.tree.map(lambda new, old: jnp.where(mask, new, old), view.clocks, state.clocks)
    return State(
        attempt=state.attempt + mask.astype(jnp.uint32),
        row=jnp.where(mask, view.failure_row, state.row),
        active=state.active & (fails | ~under_way),
        accounts=book(state.accounts, tally(state.accounts, [attempt])),
        clocks=clocks,
    )
