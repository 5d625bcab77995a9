"""Numba peer: one timeline an iteration of a parallel loop, one attempt a step, saves counted in closed form.

Three variants of the same events: `run` is plain Numba, `run_elapsed` drops the accounts, `run_chunked` fills small
buffers of exponentials with a logarithm written so that LLVM makes vector code of it (Numba's own math.log stays
scalar unless Intel's vector library is installed).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange, uint64
from numpy.typing import NDArray

from benchmarks.workload import ACCOUNTS, V1_22, Workload

WEYL, MIX_1, MIX_2 = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
S30, S27, S31, S11, S52 = (np.uint64(bits) for bits in (30, 27, 31, 11, 52))
MANTISSA, EXPONENT_OF_1 = np.uint64(0x000FFFFFFFFFFFFF), np.uint64(0x3FF0000000000000)
LN_2, SQRT_2 = math.log(2.0), math.sqrt(2.0)
CHUNK = 32
"""Exponentials a buffer; a timeline wastes half a buffer on average, of about 370."""

Reals = NDArray[np.float64]
Accounts = dict[str, Reals]


def run(n_timelines: int, seed: int) -> Accounts:
    """Return the accounts (seconds, and failures) of each timeline of the workload, by name.

    >>> float(run(2, seed=0)["productive"][1])
    2592000.0
    """
    rows = _run_accounts(n_timelines, seed, *_numbers(V1_22))
    return dict(zip(ACCOUNTS, rows.T, strict=True))


def run_chunked(n_timelines: int, seed: int) -> Accounts:
    """Return what `run` returns, to rounding, from buffers of exponentials.

    >>> bool(np.allclose(run_chunked(2, seed=0)["elapsed"], run(2, seed=0)["elapsed"]))
    True
    """
    rows = _run_chunked(n_timelines, seed, *_numbers(V1_22))
    return dict(zip(ACCOUNTS, rows.T, strict=True))


def run_elapsed(n_timelines: int, seed: int) -> Accounts:
    """Return the elapsed seconds of each timeline of `run` only, without keeping the accounts.

    >>> bool(np.allclose(run_elapsed(2, seed=0)["elapsed"], run(2, seed=0)["elapsed"]))
    True
    """
    return {"elapsed": _run_elapsed(n_timelines, seed, *_numbers(V1_22))}


def _numbers(workload: Workload) -> tuple[float, ...]:
    return (
        workload.rate_per_s,
        float(workload.n_saves),
        workload.interval_s,
        workload.write_time_s,
        workload.detection_s,
        workload.startup_s,
        workload.restore_s,
    )


@njit(inline="always")
def _mix(z: np.uint64) -> np.uint64:
    """Return SplitMix64's output function (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@njit(inline="always")
def _uniform(state: np.uint64) -> float:
    """Return a float64 inside (0, 1) from a counter that advances by WEYL."""
    return (float(np.int64(_mix(state) >> S11)) + 0.5) * 2.0**-53


@njit(fastmath=True)
def _until_first_save(
    state: np.uint64, scale: float, n_saves: float, interval: float, write: float, startup: float
) -> tuple[np.uint64, float, float, float, float, float]:
    """Make the attempts that have nothing to restore, so that the main loop need not ask."""
    rework = checkpoint = in_startup = failures = 0.0
    left, step = n_saves, interval + write
    while left == n_saves:
        state += WEYL
        age = scale * math.log(_uniform(state))
        part = min(age, startup)
        in_startup += part
        age -= part
        done = min(math.floor(age / step), left)
        left -= done
        checkpoint += done * write
        if left > 0.0:
            failures += 1.0
            rest = age - done * step
            lost = min(rest, interval)
            rework += lost
            checkpoint += rest - lost
    return state, left, rework, checkpoint, in_startup, failures


@njit(fastmath=True)
def _write_row(
    row: Reals,
    productive: float,
    rework: float,
    checkpoint: float,
    detection: float,
    startup: float,
    restore: float,
    failures: float,
) -> None:
    row[0] = productive + rework + checkpoint + detection + startup + restore
    row[1] = productive
    row[2] = rework
    row[3] = checkpoint
    row[4] = detection
    row[5] = startup
    row[6] = restore
    row[7] = failures


@njit(parallel=True, fastmath=True)
def _run_accounts(
    n: int,
    seed: int,
    rate: float,
    n_saves: float,
    interval: float,
    write: float,
    detection: float,
    startup: float,
    restore: float,
) -> Reals:
    out = np.empty((n, 8))
    step = interval + write
    per_step, scale = 1.0 / step, -1.0 / rate
    for i in prange(n):
        state = _mix(_mix(uint64(seed)) + uint64(i) * WEYL)
        first = _until_first_save(state, scale, n_saves, interval, write, startup)
        state, left, rework, checkpoint, in_startup, failures = first
        in_restore = 0.0
        while left > 0.0:
            state += WEYL
            age = scale * math.log(_uniform(state))
            part = min(age, startup)
            in_startup += part
            age -= part
            part = min(age, restore)
            in_restore += part
            age -= part
            done = math.floor(age * per_step)
            if done >= left:
                checkpoint += left * write
                break
            rest = age - done * step
            lost = min(rest, interval)
            rework += lost
            checkpoint += done * write + (rest - lost)
            left -= done
            failures += 1.0
        down = failures * detection
        _write_row(out[i], n_saves * interval, rework, checkpoint, down, in_startup, in_restore, failures)
    return out


@njit(parallel=True, fastmath=True)
def _run_elapsed(
    n: int,
    seed: int,
    rate: float,
    n_saves: float,
    interval: float,
    write: float,
    detection: float,
    startup: float,
    restore: float,
) -> Reals:
    out = np.empty(n)
    step, restart = interval + write, startup + restore
    per_step, scale = 1.0 / step, -1.0 / rate
    for i in prange(n):
        state = _mix(_mix(uint64(seed)) + uint64(i) * WEYL)
        first = _until_first_save(state, scale, n_saves, interval, write, startup)
        state, left, rework, checkpoint, in_startup, failures = first
        elapsed = (n_saves - left) * interval + rework + checkpoint + in_startup + failures * detection
        while left > 0.0:
            state += WEYL
            age = scale * math.log(_uniform(state))
            done = max(0.0, math.floor((age - restart) * per_step))
            if done >= left:
                elapsed += restart + left * step
                break
            elapsed += age + detection
            left -= done
        out[i] = elapsed
    return out


@njit(fastmath=True, error_model="numpy", inline="always")
def _fill(words: NDArray[np.uint64], reals: Reals, state: np.uint64, scale: float) -> None:
    """Fill one buffer, seen as integers and as reals, with exponentials; loops without branches become vectors."""
    for j in range(CHUNK):
        reals[j] = _uniform(state + uint64(j + 1) * WEYL)
    for j in range(CHUNK):
        # u = 2^e m with m in [1, 2); ln m = ln sqrt 2 + 2 atanh(s), |s| < 0.172: the series errs below 1e-12.
        word = words[j]
        words[j] = (word & MANTISSA) | EXPONENT_OF_1
        m = reals[j]
        s = (m - SQRT_2) / (m + SQRT_2)
        q = s * s
        series = 1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9 + q * (1 / 11 + q / 13)))))
        reals[j] = scale * ((float(np.int64(word >> S52)) - 1022.5) * LN_2 + 2.0 * s * series)


@njit(parallel=True, fastmath=True, error_model="numpy")
def _run_chunked(
    n: int,
    seed: int,
    rate: float,
    n_saves: float,
    interval: float,
    write: float,
    detection: float,
    startup: float,
    restore: float,
) -> Reals:
    out = np.empty((n, 8))
    step = interval + write
    per_step, scale = 1.0 / step, -1.0 / rate
    for i in prange(n):
        words = np.empty(CHUNK, np.uint64)
        reals = words.view(np.float64)
        state = _mix(_mix(uint64(seed)) + uint64(i) * WEYL)
        first = _until_first_save(state, scale, n_saves, interval, write, startup)
        state, left, rework, checkpoint, in_startup, failures = first
        in_restore, used = 0.0, CHUNK
        while left > 0.0:
            if used == CHUNK:
                _fill(words, reals, state, scale)
                state += uint64(CHUNK) * WEYL
                used = 0
            age = reals[used]
            used += 1
            part = min(age, startup)
            in_startup += part
            age -= part
            part = min(age, restore)
            in_restore += part
            age -= part
            done = math.floor(age * per_step)
            if done >= left:
                checkpoint += left * write
                break
            rest = age - done * step
            lost = min(rest, interval)
            rework += lost
            checkpoint += done * write + (rest - lost)
            left -= done
            failures += 1.0
        down = failures * detection
        _write_row(out[i], n_saves * interval, rework, checkpoint, down, in_startup, in_restore, failures)
    return out
