"""Every timeline of the fast engine on its own, for tests: its program without the statistics at the end."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any
from unittest import mock

import jax
import numpy as np
from numpy.typing import NDArray

from mcettr.engine.cells import cells_of
from mcettr.engine.lemons import with_lemons
from mcettr.engine.rates import rate_factors
from mcettr.engine.reference import Timelines
from mcettr.kernels import streams, timeline
from mcettr.kernels.account import INTERRUPTIONS, Account, Pool
from mcettr.kernels.events.features import Features, features_of
from mcettr.kernels.events.job import numbers_of
from mcettr.model.params import Params

N_BLOCKS, FEW_BLOCKS = 1024, 128
"""Timelines of one call; another number compiles anew. A block is one timeline, so that its sums are that one's. The
event loop, which takes long to compile, runs few where few are asked for, and is not optimised then."""


@cache
def program(features: Features, optimised: bool) -> Any:
    """Return the compiled program that gives the accounts of blocks of one timeline."""
    options = {} if optimised else {"xla_backend_optimization_level": 0}
    simulate = partial(timeline.simulate, n_lanes=1, grouped=False, features=features)
    return jax.jit(simulate, compiler_options=options)


def jax_accounts(
    params: Params, seed: int, first_timeline: int, max_failures: int, factors: NDArray[np.float64]
) -> Account:
    """Return the accounts of as many timelines as there are `factors`, with a block and a lane dimension (NumPy).

    Timelines of a grid of jobs belong to one cell each.
    """
    cells, n_blocks = cells_of(params), len(factors)
    features = features_of(cells.params)
    job = cells.take(np.arange(n_blocks) % cells.n)
    causes = (
        replace(cause, rate_per_s=cause.rate_per_s * factors[:, index, None]) for index, cause in enumerate(job.causes)
    )
    job = with_lemons(replace(job, causes=tuple(causes)), seed, first_timeline + np.arange(n_blocks)[:, None])
    with jax.enable_x64(True), mock.patch.object(timeline, "summarise", lambda account, *_: account):
        account = program(features, features.none or n_blocks > FEW_BLOCKS)(
            job,
            np.array(streams.seed_key(seed), np.uint32),
            (first_timeline + np.arange(n_blocks)).astype(np.uint32),
            np.ones(n_blocks, np.int32),
            np.uint32(max_failures),
            None if features.none else numbers_of(job, features),
        )
        return Account(*jax.tree.map(np.asarray, account))


def jax_timelines(
    params: Params,
    seed: int,
    first_timeline: int,
    n: int,
    *,
    max_failures: int = 1 + 32 * 10**5,
    factors: NDArray[np.float64] | None = None,
) -> Timelines:
    """Return what `mcettr.engine.reference.simulate_timelines` returns, by the fast engine.

    `max_failures` is 1 + a multiple of 32, as the plain loop wants it. What the loop does not follow is 0.
    """
    plain = features_of(cells_of(params).params).none
    size = N_BLOCKS if plain or n > FEW_BLOCKS else FEW_BLOCKS
    if factors is None:
        factors = rate_factors(params, seed, first_timeline, -(-n // size) * size)
    parts = [
        _timelines(jax_accounts(params, seed, first_timeline + start, max_failures, factors[start : start + size]))
        for start in range(0, n, size)
    ]
    return Timelines(
        **{name: np.concatenate([getattr(part, name) for part in parts])[:n] for name in Timelines.__dataclass_fields__}
    )


def _timelines(account: Account) -> Timelines:
    def whole(values: Any) -> NDArray[np.int64]:
        return lane(values).astype(np.int64)

    n_blocks = len(account.outcome)
    rows, columns, amounts = account.by_cause
    by_cause = np.zeros((n_blocks, int(np.max(rows)) + 1, INTERRUPTIONS + 1))
    by_cause[:, rows, columns] = amounts[..., 0].T

    def lane(values: Any) -> NDArray[Any]:
        return np.zeros(n_blocks) if values is None else np.broadcast_to(values[..., 0], n_blocks)

    pool = account.pool or Pool(None, None, None, None)
    return Timelines(
        outcome=lane(account.outcome),
        elapsed_s=lane(account.elapsed_s),
        productive_s=lane(account.activity_s[0]),
        lost_s=by_cause[:, :, :INTERRUPTIONS],
        interruptions=by_cause[:, 1:-3, INTERRUPTIONS].astype(np.int64),
        n_saves=whole(account.n_saves),
        longest_stretch_s=lane(account.longest_stretch_s),
        n_swaps=whole(pool.n_swaps),
        n_exhausted=whole(pool.n_exhausted),
        nodes_out=lane(pool.nodes_out),
        nodes_out_most=lane(pool.nodes_out_most),
        corrupt_s=lane(account.corrupt_s),
    )
