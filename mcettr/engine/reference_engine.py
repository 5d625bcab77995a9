"""Lets the reference engine answer whole questions: the same statistics, one timeline after another."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from mcettr.engine.cells import Cells
from mcettr.engine.jax_engine import N_LANES, Blocks
from mcettr.engine.rates import factors
from mcettr.engine.reference import simulate_timelines
from mcettr.kernels.closing import Account
from mcettr.kernels.moments import TABLE_ACTIVITIES, Batch, summarise
from mcettr.model.budget import ACTIVITIES


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
            # Lanes follow the blocks in every entry, and come last.
            stacked = jax.tree.map(lambda *parts: jnp.asarray(np.stack(parts, axis=-2)), *accounts)
            result = summarise(stacked, jnp.asarray(valid), grouped=self.cells.rate_shapes is not None)
            return Batch(*map(np.asarray, result))

    def _block(self, cell: int, first_timeline: int, n_valid: int) -> Account:
        at = np.array([cell])
        by_cause = None
        if self.cells.rate_shapes is not None:
            timelines = np.arange(first_timeline, first_timeline + n_valid)
            by_cause = factors(self.cells.take_rate_shapes(at), self.seed, timelines)
        lives = simulate_timelines(
            self.cells.take(at), self.seed, first_timeline, n_valid, factors=by_cause, max_failures=self.cap
        )
        lost = {name: lives.lost_s[:, :, ACTIVITIES.index(name)].T for name in (*TABLE_ACTIVITIES, "checkpoint")}
        n_causes = lives.interruptions.shape[1]
        failures, chains = slice(1, n_causes + 1), slice(0, n_causes + 1)
        account = Account(
            outcome=lives.outcome,
            elapsed_s=lives.elapsed_s,
            productive_s=lives.productive_s,
            checkpoint_s=lost["checkpoint"].sum(axis=0),
            undurable_s=lost["rework"][-1],
            n_saves=lives.n_saves.astype(np.float64),
            n_failures=lives.interruptions.T.astype(np.float64),
            rework_s=lost["rework"][failures],
            detection_s=lost["detection"][failures],
            diagnosis_s=lost["diagnosis"][failures],
            queue_s=lost["queue"][chains],
            startup_s=lost["startup"][chains],
            restore_s=lost["restore"][chains],
        )
        return Account(*(_filled(entry) for entry in account))


def _filled(lanes: NDArray[Any]) -> NDArray[Any]:
    """Return the lanes filled up to a block with their first, which does not count."""
    missing = N_LANES - lanes.shape[-1]
    return np.concatenate([lanes, np.repeat(lanes[..., :1], missing, axis=-1)], axis=-1)
