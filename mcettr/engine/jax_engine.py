"""The fast engine: batches of timelines through one compiled program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from mcettr.engine.cells import Cells
from mcettr.engine.device import Device
from mcettr.engine.lemons import with_lemons
from mcettr.engine.programs import Recipe, program
from mcettr.engine.rates import cell_factors
from mcettr.kernels.events.features import features_of
from mcettr.kernels.events.job import numbers_of
from mcettr.kernels.moments import Batch
from mcettr.kernels.streams import RATE_GROUP, seed_key
from mcettr.model.params import Params

N_LANES = 64
"""Timelines a block; a block belongs to one cell."""

_BLOCKS_CPU, _BLOCKS_GPU = 128, 4096
_BLOCKS_OF_EVENTS = 16
"""Blocks a call of the event loop on a processor: its many arrays then stay in the cache."""
_MOST_TURNS = 8
"""Timelines that a lane of the event loop runs one after the other in a call, at most."""


@dataclass(frozen=True)
class Blocks:
    """Work for one call: for each block its cell, its first timeline, and how many of its timelines count."""

    cell: NDArray[np.int64]
    first_timeline: NDArray[np.int64]
    n_valid: NDArray[np.int64]


class JaxEngine:
    """Runs blocks of timelines of a grid of cells on one device.

    Parameters
    ----------
    cells : Cells
        The jobs.
    seed : int
        From 0 to 2^64 - 1.
    device : Device
        Where to run.
    cap : int
        Attempts after which a timeline is stopped.
    n_timelines : int
        How many timelines of each cell will be asked for, if that is known. Many timelines that differ in length come
        in longer blocks: a lane whose timeline is over takes the next.
    """

    def __init__(self, cells: Cells, seed: int, device: Device, cap: int, n_timelines: int = 0) -> None:
        self.cells, self.seed, self.device, self.cap = cells, seed, device, cap
        self.features = features_of(cells.params)
        on_cpu = _BLOCKS_CPU if self.features.none else _BLOCKS_OF_EVENTS
        self.blocks_a_call = on_cpu if device.name == "cpu" else _BLOCKS_GPU
        self.n_workers = _n_processors() if device.name == "cpu" else 1
        self.block = N_LANES
        if not self.features.none and not cells.uncertain:
            at_once = self.n_workers * self.blocks_a_call * N_LANES
            n_turns = min(n_timelines * cells.n // at_once, n_timelines // N_LANES, _MOST_TURNS)
            self.block *= max(n_turns, 1)

    def run(self, blocks: Blocks) -> Batch:
        """Return the statistics of at most `blocks_a_call` blocks, as NumPy arrays; safe to call from threads."""
        n, room = len(blocks.cell), self.blocks_a_call

        def padded(values: NDArray[np.int64], fill: int) -> NDArray[np.int64]:
            return np.concatenate([values, np.full(room - n, fill, np.int64)])

        cell = padded(blocks.cell, int(blocks.cell[-1]))
        first = padded(blocks.first_timeline, 0)
        params = self.cells.take(cell)
        uncertain = self.cells.uncertain
        if uncertain:
            leaders = first[:, None] + np.arange(0, N_LANES, RATE_GROUP)
            by_group = cell_factors(self.cells, cell, self.seed, leaders)
            params = _with_factors(params, np.repeat(by_group, RATE_GROUP, axis=1))
        params = with_lemons(params, self.seed, first[:, None] + np.arange(self.block))
        turns = None if self.block == N_LANES else self.block
        recipe = Recipe(N_LANES, uncertain, self.features, _compiler_options(self.device.name), turns)
        args = (
            params,
            np.array(seed_key(self.seed), np.uint32),
            first.astype(np.uint32),
            padded(blocks.n_valid, 0).astype(np.int32),
            np.uint32(self.cap),
            None if self.features.none else numbers_of(params, self.features),
        )
        with jax.enable_x64(True), jax.default_device(self.device.handle):
            result = program(recipe, args, self.device)(*args)
            return Batch(*(None if part is None else np.asarray(part)[:n] for part in result))


def _with_factors(params: Params, by_cause: NDArray[np.float64]) -> Params:
    causes = tuple(
        replace(cause, rate_per_s=cause.rate_per_s * by_cause[:, :, index]) for index, cause in enumerate(params.causes)
    )
    return replace(params, causes=causes)


@cache
def _compiler_options(device_name: str) -> tuple[tuple[str, Any], ...]:
    """Return options that let XLA use whole 512-bit vectors where the processor has them."""
    info = Path("/proc/cpuinfo")
    if device_name == "cpu" and info.is_file() and " avx512f " in info.read_text(encoding="ascii", errors="replace"):
        return (("xla_cpu_prefer_vector_width", 512),)
    return ()


def _n_processors() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
