"""Clocks and spreads that all drivers share."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Spread:
    """Median, extremes and number of repeated measurements."""

    median: float
    min: float
    max: float
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of some measurements.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, min=1.0, max=3.0, n=3)
    """
    return Spread(statistics.median(values), min(values), max(values), len(values))


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the wall-clock seconds of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def compile_seconds(work: Callable[[], object]) -> float:
    """Return how much longer a first call takes than the next; nothing of the kind may have run before.

    >>> compile_seconds(lambda: None) < 0.1
    True
    """
    first_s, _ = timed(work)
    again_s, _ = timed(work)
    return max(first_s - again_s, 0.0)


def size_for(work: Callable[[int], object], seconds: float, smallest: int = 64) -> int:
    """Return how many units of work take about so many seconds, by doubling up to an eighth of that.

    >>> 2_000 < size_for(lambda n: time.sleep(n * 1e-5), 0.08) < 12_000
    True
    """
    size = smallest
    while (took_s := timed(partial(work, size))[0]) < seconds / 8.0:
        size *= 2
    return max(smallest, round(size * seconds / took_s))
