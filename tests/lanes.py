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
from mcettr.engine.rates import rate_factors
from mcettr.engine.reference import Timelines
from mcettr.kernels import streams, timeline
from mcettr.model.budget import ACTIVITIES
from mcettr.model.params import Params

N_LANES = 64
N_BLOCKS = 16
"""Blocks of one call; other numbers of lanes or blocks compile anew."""


@cache
def program(n_lanes: int = N_LANES) -> Any:
    """Return the compiled program that gives one account a timeline."""
    return jax.jit(partial(timeline.simulate, n_lanes=n_lanes, grouped=False))


def jax_timelines(
    params: Params,
    seed: int,
    first_timeline: int,
    n: int,
    *,
    max_failures: int = 1 + 32 * 10**5,
    n_lanes: int = N_LANES,
    factors: NDArray[np.float64] | None = None,
) -> Timelines:
    """Return what `mcettr.engine.reference.simulate_timelines` returns, by the fast engine.

    `max_failures` is 1 + a multiple of 32, as the plain loop wants it.
    """
    size = n_lanes * N_BLOCKS
    if factors is None:
        factors = rate_factors(params, seed, first_timeline, -(-n // size) * size)
    parts = []
    for start in range(0, n, size):
        first = first_timeline + start + n_lanes * np.arange(N_BLOCKS)
        job = cells_of(params).take(np.zeros(N_BLOCKS, np.int64))
        by_cause = factors[start : start + size].reshape(N_BLOCKS, n_lanes, -1)
        causes = (
            replace(cause, rate_per_s=cause.rate_per_s * by_cause[:, :, index])
            for index, cause in enumerate(job.causes)
        )
        job = replace(job, causes=tuple(causes))
        with jax.enable_x64(True), mock.patch.object(timeline, "summarise", lambda account, *_: account):
            account = program(n_lanes)(
                job,
                np.array(streams.seed_key(seed), np.uint32),
                first.astype(np.uint32),
                np.full(N_BLOCKS, n_lanes, np.int32),
                np.uint32(max_failures),
            )
        parts.append(_timelines(account, (N_BLOCKS, n_lanes)))
    return Timelines(
        **{name: np.concatenate([getattr(part, name) for part in parts])[:n] for name in Timelines.__dataclass_fields__}
    )


def _timelines(account: Any, shape: tuple[int, int]) -> Timelines:
    def lane(value: Any) -> Any:
        return np.broadcast_to(np.asarray(value), shape).ravel()

    n_causes = len(account.rework_s)
    lost_s = np.zeros((shape[0] * shape[1], n_causes + 3, len(ACTIVITIES)))

    def put(activity: str, first_row: int, rows: tuple[Any, ...]) -> None:
        for row, value in enumerate(rows, start=first_row):
            lost_s[:, row, ACTIVITIES.index(activity)] = lane(value)

    put("rework", 1, account.rework_s)
    put("detection", 1, account.detection_s)
    put("diagnosis", 1, account.diagnosis_s)
    put("queue", 0, account.queue_s)
    put("startup", 0, account.startup_s)
    put("restore", 0, account.restore_s)
    put("checkpoint", n_causes + 1, (account.checkpoint_s,))
    put("rework", n_causes + 2, (account.undurable_s,))
    failures = [lane(value) for value in account.n_failures]
    return Timelines(
        outcome=lane(account.outcome),
        elapsed_s=lane(account.elapsed_s),
        productive_s=lane(account.productive_s),
        lost_s=lost_s,
        interruptions=np.stack(failures, axis=1).astype(np.int64) if failures else np.zeros((lost_s.shape[0], 0), int),
        n_saves=lane(account.n_saves).astype(np.int64),
    )
