"""Many repetitions of one run at once, to see how often its intervals hold the true value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcettr.engine.cells import cells_of
from mcettr.engine.device import resolve
from mcettr.engine.estimates import Estimates, estimates_of
from mcettr.engine.jax_engine import N_LANES, Blocks, JaxEngine
from mcettr.engine.tallies import Scale, Tally, add_batch
from mcettr.engine.unseen import Foreseen
from mcettr.kernels.moments import Batch
from mcettr.model.params import Params

Z95 = 1.959963984540054


class Repeated:
    """Timelines of one job, dealt out to repetitions that share none.

    Parameters
    ----------
    params : Params
        One job.
    n_blocks : int
        Blocks of 64 timelines to simulate.
    seed : int
        Of all.
    cap : int
        Attempts after which a timeline is stopped: 1 + a multiple of 64.
    """

    def __init__(self, params: Params, n_blocks: int, seed: int = 0, cap: int = 64 * 1_000 + 1) -> None:
        self.params, self.cells = params, cells_of(params)
        engine = JaxEngine(self.cells, seed, resolve("cpu"), cap)
        size = engine.blocks_a_call
        parts = []
        for start in range(0, n_blocks, size):
            first = np.arange(start, min(start + size, n_blocks)) * N_LANES
            parts.append(engine.run(Blocks(np.zeros_like(first), first, np.full_like(first, N_LANES))))
        self.batch = Batch(*(None if part[0] is None else np.concatenate(part) for part in zip(*parts, strict=True)))
        self.n_blocks = n_blocks

    def estimates(
        self, n_timelines: int, n_repeats: int, deadlines_s: tuple[float, ...] = (), *, foreseen: bool = True
    ) -> Estimates:
        """Return the estimates of repetitions of a run of so many timelines, in the place of cells."""
        blocks_each = n_timelines // N_LANES
        n_blocks = blocks_each * n_repeats
        assert n_timelines % N_LANES == 0
        assert n_blocks <= self.n_blocks, "more repetitions than blocks"
        names = tuple(cause.name for cause in self.params.causes)
        cell = np.repeat(np.arange(n_repeats), blocks_each)
        batch = Batch(*(None if part is None else part[:n_blocks] for part in self.batch))

        def each(number: object) -> NDArray[np.float64]:
            return np.full(n_repeats, float(np.asarray(number)))

        scale = Scale(each(self.params.work_s), each(self.params.horizon_s), deadlines_s, self.cells.uncertain)
        tally = Tally.empty(n_repeats, len(names), len(deadlines_s))
        add_batch(tally, batch, cell, np.full(n_blocks, N_LANES), scale)
        known = Foreseen(self.params, (), np.zeros(n_repeats, np.int64)) if foreseen else None
        return estimates_of(tally, names, scale, known)


def share_held(value: NDArray[np.float64], error: NDArray[np.float64], truth: float) -> float:
    """Return the share of repetitions whose 95 % interval holds the true value."""
    return float((np.abs(value - truth) <= Z95 * error + 1e-12 * abs(truth)).mean())
