"""Where each draw lives: a draw is a pure function of (seed, timeline, purpose, count of that purpose).

Block counter: word 0 holds the purpose (high 8 bits) and the block number (low 24), word 1 the timeline. Draw number
`count` of a purpose is word ``(count + LEAD) % 2`` of block ``(count + LEAD) // 2``: with LEAD = 1 draw 0, that of
the first start, stands alone and draws 1 to 4 fill blocks 1 and 2, as the plain loop wants them. Where two purposes
are drawn together they are paired: draw `count` of the even one is word 0 of block `count`, of the odd one word 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcettr.kernels.threefry import fine_uniform, threefry2x32, uniform

STREAM_VERSION = "threefry2x32-13/2"
LEAD = 1
MAX_COUNT = 2**25 - 2
MAX_TIMELINE = 2**32 - 1
RATE_GROUP = 16
"""Timelines that share one draw of uncertain rates."""

FAILURE, CAUSE, DETECTION, DIAGNOSIS, QUEUE, RESTORE = range(6)
NODES_LOST, OVER_EVICTED, INCIDENT_STATE, INCIDENT_TIME, SILENT_CAUSE, SILENT_LATENCY = range(6, 12)
BAD_MAIN, BAD_GRACEFUL, BAD_LOCAL, RESTORE_LOCAL = range(12, 16)
_STARTUP, _EVERY, _RATE, SHARED_RATE, _LATER = 16, 80, 144, 207, 208
START_FAILURE, ESCALATION, LEMON_STRIKE, LEMON_EVICTED, LEMONS_LOST, LEMONS_IN = range(_LATER, _LATER + 6)
REPAIR_BRANCH, REPAIR_FAILURE, REPAIR_TIME, REPAIR_WHICH, CHECK_PHASE, CHECK_CATCH = range(_LATER + 6, _LATER + 12)
SILENT_CHECK_PHASE, SILENT_CHECK_CATCH, SLOW_CHECK_PHASE, SLOW_CHECK_CATCH = range(_LATER + 12, _LATER + 16)
PREFLIGHT_LEMONS, REPAIR_BRANCH_CAUGHT, REPEAT, REJOIN, SLOW_DETECTION, GROUP = range(_LATER + 16, _LATER + 22)
POOL_INSTANT, WRITE_TIME, SILENT_STRIKE = range(_LATER + 22, _LATER + 28, 2)
LEMONS_AT_START, MAINTENANCE_PHASE = range(_LATER + 28, _LATER + 30)
"""SHARED_RATE: the factor that all uncertain rates share; its timeline is the group's number."""


def is_paired(purpose: int) -> bool:
    """Return whether a purpose shares its blocks with the one next to it (2 n with 2 n + 1): a block, two draws."""
    return NODES_LOST <= purpose < _STARTUP or purpose >= _LATER


def startup_purpose(phase: int) -> int:
    """Return the purpose of the durations of startup phase number `phase`."""
    return _within(phase, _STARTUP, _EVERY, "startup phases")


def every_purpose(cause: int) -> int:
    """Return the purpose of the event times of cause number `cause` with a law of its own."""
    return _within(cause, _EVERY, _RATE, "causes")


def rate_purpose(cause: int) -> int:
    """Return the purpose of the uncertain rate of cause number `cause`; its timeline is the group's number."""
    return _within(cause, _RATE, SHARED_RATE, "causes")


def _within(number: int, first: int, end: int, what: str) -> int:
    if first + number >= end:
        raise ValueError(f"too many {what}: there are draws for {end - first}")
    return first + number


def block(key: tuple[Any, Any], timeline: Any, purpose: int, number: Any) -> tuple[Any, Any]:
    """Return the two words of block `number` (uint32) of a purpose for each timeline (uint32)."""
    return threefry2x32(key, (number | np.uint32(purpose << 24), timeline))


def draw(key: tuple[Any, Any], timeline: Any, purpose: int, count: Any, xp: Any = np) -> Any:
    """Return uniform number `count` (uint32 array) of a purpose, float32, for each timeline (uint32 array)."""
    return uniform(word(key, timeline, purpose, count, xp), xp)


def fine_draw(key: tuple[Any, Any], timeline: Any, purpose: int, count: Any, xp: Any = np) -> Any:
    """Return the same in float64, to the last bit of its word: for choices of which one may be rare."""
    return fine_uniform(word(key, timeline, purpose, count, xp))


def word(key: tuple[Any, Any], timeline: Any, purpose: int, count: Any, xp: Any = np) -> Any:
    """Return the word (uint32) of draw number `count` of a purpose."""
    if is_paired(purpose):
        return block(key, timeline, purpose & ~1, count)[purpose & 1]
    position = count + np.uint32(LEAD)
    first, second = block(key, timeline, purpose, position >> np.uint32(1))
    return xp.where((position & np.uint32(1)) == 0, first, second)


def draws(key: tuple[Any, Any], timeline: Any, purposes: Any, count: Any, xp: Any = np) -> tuple[Any, Any]:
    """Return draws of many purposes at once, two of each where they are paired.

    Parameters
    ----------
    key : pair of uint32
        Seed.
    timeline : uint32 array
        That of each lane.
    purposes : NumPy array of int
        Even ones where they are paired; its shape broadcasts against the lanes.
    count : uint32 array
        Of each purpose and lane.

    Returns
    -------
    tuple of float32 arrays
        The uniforms of the purposes, and those of the ones next to them where they are paired.
    """
    alone = np.array([not is_paired(int(purpose)) for purpose in purposes.flat]).reshape(purposes.shape)
    position = count + np.uint32(LEAD) * alone.astype(np.uint32)
    number = (position >> alone.astype(np.uint32)) | (purposes.astype(np.uint32) << np.uint32(24))
    first, second = threefry2x32(key, (number, timeline))
    odd = (position & alone.astype(np.uint32)) != 0
    return uniform(xp.where(odd, second, first), xp), uniform(second, xp)


def seed_key(seed: int) -> tuple[np.uint32, np.uint32]:
    """Return the key of a seed between 0 and 2^64 - 1.

    >>> seed_key(2**32 + 5)
    (np.uint32(5), np.uint32(1))
    """
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed: expected a whole number from 0 to 2^64 - 1, found {seed}")
    return np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
