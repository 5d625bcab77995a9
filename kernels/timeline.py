"""Whole simulations: lanes of timelines from submission to their end, in one compiled program."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mcettr.kernels import generic, plain, pytrees
from mcettr.kernels.attempt import Key
from mcettr.kernels.closing import close
from mcettr.kernels.events import loop
from mcettr.kernels.events.features import Features
from mcettr.kernels.events.job import Numbers
from mcettr.kernels.moments import Batch, summarise
from mcettr.kernels.state import State, open_accounts
from mcettr.kernels.training import schedule
from mcettr.model.params import Params

assert pytrees  # importing it registers the model's records


def simulate(
    params: Params,
    seed: Any,
    first_timeline: Any,
    n_valid: Any,
    cap: Any,
    fixed: Numbers | None,
    *,
    n_lanes: int,
    grouped: bool,
    features: Features,
    n_timelines: int | None = None,
) -> Batch:
    """Return the statistics of blocks of timelines, each block with its own parameters.

    Parameters
    ----------
    params : Params
        Leaves float64 of shape (blocks, 1), or (blocks, lanes) for rates that vary by timeline (lemons: (blocks,
        timelines)), with laws passed through `tabulate` (a table has its knots in the last dimension).
    seed : uint32 array of shape (2,)
        The key of `mcettr.kernels.streams.seed_key`.
    first_timeline : uint32 array of shape (blocks,)
        Number of each block's first timeline.
    n_valid : int32 array of shape (blocks,)
        How many of a block's timelines count.
    cap : uint32
        Attempts after which a timeline is stopped.
    fixed : Numbers or None
        What `mcettr.kernels.events.job.numbers_of` makes of `params`; None for plain jobs.
    n_lanes : int
        Timelines of a block that run at a time.
    grouped : bool
        Whether groups of timelines share draws of uncertain rates.
    features : Features
        Mechanisms of the jobs.
    n_timelines : int or None
        Timelines a block; None for as many as it has lanes, and so for plain jobs.
    """
    if not features.none:
        n_timelines = n_timelines or n_lanes
        words = (seed[0], seed[1])
        sizes = {"n_lanes": n_lanes, "n_timelines": n_timelines}
        assert fixed is not None
        account = loop.simulate(params, features, words, first_timeline, n_valid, cap, fixed, **sizes)
        return summarise(account, jnp.arange(n_timelines)[None, :] < n_valid[:, None], grouped)
    lane = jnp.arange(n_lanes, dtype=jnp.uint32)
    key = Key((seed[0], seed[1]), first_timeline[:, None] + lane)
    valid = jnp.arange(n_lanes)[None, :] < n_valid[:, None]
    plan = schedule(params.checkpoint, params.work_s, jnp)
    state = State(
        attempt=jnp.zeros(valid.shape, jnp.uint32),
        row=jnp.zeros(valid.shape, jnp.int32),
        active=valid,
        accounts=open_accounts(params, valid.shape, jnp.float64, start=True),
    )

    def step(state: State) -> State:
        return generic.step(params, plan, key, state, cap, jnp.float32)

    n_ahead = jnp.uint32(plain.LEG if plain.applies(params) else 1)

    def going(state: State) -> Any:
        return jnp.any(state.active & (state.attempt + n_ahead <= cap))

    def advance(state: State) -> State:
        return plain.run_leg(params, plan, key, state, cap) if plain.applies(params) else step(state)

    state = lax.while_loop(going, advance, step(state))
    return summarise(close(params, plan, key, state), valid, grouped)


@cache
def compiled(
    n_lanes: int,
    grouped: bool,
    features: Features,
    options: tuple[tuple[str, Any], ...],
    n_timelines: int | None = None,
) -> Any:
    """Return `simulate` compiled by JAX for numbers of lanes and timelines and compiler options; values never
    recompile it."""
    fixed = {"n_lanes": n_lanes, "grouped": grouped, "features": features, "n_timelines": n_timelines}

    def run(
        params: Params, seed: Any, first_timeline: Any, n_valid: Any, cap: Any, numbers: Numbers | None = None
    ) -> Batch:
        return simulate(params, seed, first_timeline, n_valid, cap, numbers, **fixed)

    return jax.jit(run, compiler_options=dict(options))
