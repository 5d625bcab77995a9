"""Lets the reference engine answer whole questions: the same statistics, one timeline after another."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mcettr.engine.cells import Cells
from mcettr.engine.jax_engine import N_LANES, Blocks
from mcettr.engine.rates import cell_factors
from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.kernels.account import INTERRUPTIONS, Account, ByCause, Pool
from mcettr.kernels.moments import Batch, summarise


class ReferenceEngine:
    """Runs blocks of timelines of a grid of cells through `mcettr.engine.reference`.

    Parameters
    ----------
    cells : Cells
        The jobs.
    seed : int
        From 0 to 2^64 - 1.
    cap : int
        Failures after which a timeline is stopped.
    """

    block = N_LANES
    blocks_a_call = 4
    n_workers = 1

    def __init__(self, cells: Cells, seed: int, cap: int) -> None:
        self.cells, self.seed, self.cap = cells, seed, cap

    def run(self, blocks: Blocks) -> Batch:
        """Return the statistics of at most `blocks_a_call` blocks, as NumPy arrays."""
        accounts = [
            self._block(*(int(part[index]) for part in (blocks.cell, blocks.first_timeline, blocks.n_valid)))
            for index in range(len(blocks.cell))
        ]
        valid = np.arange(N_LANES) < blocks.n_valid[:, None]
        with jax.enable_x64(True):
            table, amounts = accounts[0].by_cause, np.concatenate([account.by_cause.amounts for account in accounts], 1)
            lanes = [account._replace(by_cause=None) for account in accounts]  # type: ignore[arg-type]
            stacked = jax.tree.map(lambda *parts: jnp.asarray(np.concatenate(parts, axis=-2)), *lanes)
            whole = stacked._replace(by_cause=table._replace(amounts=jnp.asarray(amounts)))
            result = summarise(whole, jnp.asarray(valid), grouped=self.cells.uncertain)
            return Batch(*(None if part is None else np.asarray(part) for part in result))

    def _block(self, cell: int, first_timeline: int, n_valid: int) -> Account:
        at, timelines = np.array([cell]), np.arange(first_timeline, first_timeline + n_valid)
        by_cause = cell_factors(self.cells, at, self.seed, timelines[None])[0]
        job = self.cells.take(at)
        lives = simulate_timelines(job, self.seed, first_timeline, n_valid, factors=by_cause, max_failures=self.cap)
        is_silent = any(cause.kind == "silent" for cause in job.causes)
        return _account(lives, with_pool=job.recovery.spares is not None, is_silent=is_silent)


def _account(lives: Timelines, with_pool: bool, is_silent: bool) -> Account:
    """Return the account of a block of timelines: lanes shaped (1, 64)."""
    activity_s = lives.lost_s.sum(axis=1)
    activity_s[:, 0] = lives.productive_s
    table = np.zeros((len(lives.elapsed_s), lives.lost_s.shape[1], INTERRUPTIONS + 1))
    table[:, :, :INTERRUPTIONS] = lives.lost_s
    table[:, 1 : 1 + lives.interruptions.shape[1], INTERRUPTIONS] = lives.interruptions
    rows, columns = np.indices(table.shape[1:]).reshape(2, -1).tolist()
    pool = (lives.n_swaps, lives.n_exhausted, lives.nodes_out, lives.nodes_out_most)
    return Account(
        outcome=_lanes(lives.outcome),
        elapsed_s=_lanes(lives.elapsed_s),
        activity_s=_lanes(activity_s.T),
        n_saves=_lanes(lives.n_saves.astype(np.float64)),
        n_failures=_lanes(lives.interruptions.sum(axis=1).astype(np.float64)),
        by_cause=ByCause(rows, columns, _lanes(table.reshape(len(table), -1).T)),
        longest_stretch_s=_lanes(lives.longest_stretch_s),
        pool=Pool(*(_lanes(part.astype(np.float64)) for part in pool)) if with_pool else None,
        corrupt_s=_lanes(lives.corrupt_s) if is_silent else None,
    )


def _lanes(values: NDArray[Any]) -> NDArray[Any]:
    """Return values (..., timelines) as lanes (..., 1, 64), filled up with the first, which does not count."""
    missing = N_LANES - values.shape[-1]
    return np.concatenate([values, np.repeat(values[..., :1], missing, axis=-1)], axis=-1)[..., None, :]
