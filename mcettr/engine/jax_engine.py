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
from mcettr.engine.rates import factors
from mcettr.kernels.moments import Batch
from mcettr.kernels.streams import RATE_GROUP, seed_key
from mcettr.kernels.timeline import compiled
from mcettr.model.params import Params

N_LANES = 64
"""Timelines a block; a block belongs to one cell."""

_BLOCKS_CPU, _BLOCKS_GPU = 128, 4096


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
    """

    def __init__(self, cells: Cells, seed: int, device: Device, cap: int) -> None:
        self.cells, self.seed, self.device, self.cap = cells, seed, device, cap
        self.blocks_a_call = _BLOCKS_CPU if device.name == "cpu" else _BLOCKS_GPU
        self.n_workers = _n_processors() if device.name == "cpu" else 1

    def run(self, blocks: Blocks) -> Batch:
        """Return the statistics of at most `blocks_a_call` blocks, as NumPy arrays; safe to call from threads."""
        n, room = len(blocks.cell), self.blocks_a_call

        def padded(values: NDArray[np.int64], fill: int) -> NDArray[np.int64]:
            return np.concatenate([values, np.full(room - n, fill, np.int64)])

        cell = padded(blocks.cell, int(blocks.cell[-1]))
        first = padded(blocks.first_timeline, 0)
        params = self.cells.take(cell)
        uncertain = self.cells.rate_shapes is not None
        if uncertain:
            leaders = first[:, None] + np.arange(0, N_LANES, RATE_GROUP)
            by_group = factors(self.cells.take_rate_shapes(cell)[:, None, :], self.seed, leaders)
            params = _with_factors(params, np.repeat(by_group, RATE_GROUP, axis=1))
        program = compiled(N_LANES, uncertain, _compiler_options(self.device.name))
        with jax.enable_x64(True), jax.default_device(self.device.handle):
            result = program(
                params,
                np.array(seed_key(self.seed), np.uint32),
                first.astype(np.uint32),
                padded(blocks.n_valid, 0).astype(np.int32),
                np.uint32(self.cap),
            )
            return Batch(*(np.asarray(part)[:n] for part in result))


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
