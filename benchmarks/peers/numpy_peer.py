"""NumPy peer: all timelines advance one attempt at a time; finished ones leave the arrays now and then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.workload import ACCOUNTS, V1_22, Workload

BLOCK = 4_096
"""Timelines at once: the working set stays in the second-level cache."""
COMPACT_EVERY = 8
"""Attempts between two removals of the finished timelines."""

Array = NDArray[np.float64]


def run(n_timelines: int, seed: int) -> dict[str, Array]:
    """Return the accounts (seconds, and failures) of each timeline of the workload, by name.

    >>> float(run(2, seed=0)["productive"][1])
    2592000.0
    """
    rng = np.random.default_rng(seed)
    blocks = [_run_block(V1_22, min(BLOCK, n_timelines - first), rng) for first in range(0, n_timelines, BLOCK)]
    return dict(zip(ACCOUNTS, np.concatenate(blocks, axis=1), strict=True))


def _run_block(workload: Workload, n: int, rng: np.random.Generator) -> Array:
    done = np.zeros((len(ACCOUNTS), n))
    place = np.arange(n)
    left = np.full(n, float(workload.n_saves))
    # Sums so far: rework, checkpoint, startup, restore, failures; the other accounts follow from them.
    sums = np.zeros((5, n))
    while place.size:
        for _ in range(COMPACT_EVERY):
            _attempt(workload, left, sums, rng)
        going = left > 0
        ended = ~going
        done[:, place[ended]] = _accounts(workload, sums[:, ended])
        place, left, sums = place[going], left[going], np.compress(going, sums, axis=1)
    return done


def _attempt(workload: Workload, left: Array, sums: Array, rng: np.random.Generator) -> None:
    """Advance every timeline, in place, by one attempt; a finished one (no save left) stays as it is."""
    step_s = workload.interval_s + workload.write_time_s
    live = left > 0
    fresh = left == workload.n_saves
    to_failure = rng.standard_exponential(left.size)
    to_failure /= workload.rate_per_s
    in_startup = np.minimum(to_failure, workload.startup_s)
    to_failure -= in_startup
    in_restore = np.minimum(to_failure, workload.restore_s)
    in_restore[fresh] = 0.0
    to_failure -= in_restore
    n_saves = np.minimum(np.floor(to_failure / step_s), left)
    left -= n_saves
    failed = left > 0
    rest = to_failure - n_saves * step_s
    rest[~failed] = 0.0
    rework = np.minimum(rest, workload.interval_s)
    rest -= rework
    rest += n_saves * workload.write_time_s
    for row, part in enumerate((rework, rest, in_startup, in_restore)):
        part *= live
        sums[row] += part
    sums[4] += failed


def _accounts(workload: Workload, sums: Array) -> Array:
    rework, checkpoint, startup, restore, failures = sums
    productive = np.full(rework.size, workload.work_s)
    detection = failures * workload.detection_s
    elapsed = productive + rework + checkpoint + detection + startup + restore
    return np.stack([elapsed, productive, rework, checkpoint, detection, startup, restore, failures])
