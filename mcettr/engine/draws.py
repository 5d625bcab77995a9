"""What chance gives one timeline of the reference engine: uniforms, durations and counts."""

from __future__ import annotations

import math

import numpy as np

from mcettr.kernels import streams
from mcettr.model.counts import Counts, binomial, sample_count
from mcettr.model.distributions import Distribution, sample

_AT_ONCE = 32
"""Uniforms computed together, since NumPy takes as long for one."""


class Draws:
    """Uniforms of a timeline and what they turn into, by purpose and count; their order of use does not matter.

    Parameters
    ----------
    seed : int
        From 0 to 2^64 - 1.
    timeline : int
        Its number.

    Examples
    --------
    >>> draws = Draws(seed=0, timeline=7)
    >>> draws.uniform(streams.FAILURE, 3) == draws.uniform(streams.FAILURE, 3)
    True
    """

    def __init__(self, seed: int, timeline: int) -> None:
        self._key = streams.seed_key(seed)
        self._timeline = np.array([timeline], np.uint32)
        self._known: dict[tuple[int, int], list[float]] = {}

    def uniform(self, purpose: int, count: int) -> float:
        """Return uniform number `count` of a purpose (a float32 value)."""
        chunk, index = divmod(count, _AT_ONCE)
        if (purpose, chunk) not in self._known:
            counts = np.arange(chunk * _AT_ONCE, (chunk + 1) * _AT_ONCE, dtype=np.uint32)
            self._known[purpose, chunk] = streams.draw(self._key, self._timeline, purpose, counts).tolist()
        return self._known[purpose, chunk][index]

    def fine(self, purpose: int, count: int) -> float:
        """Return the same uniform to the last bit of its word, for choices of which one may be rare."""
        number = np.array([count], np.uint32)
        return float(streams.fine_draw(self._key, self._timeline, purpose, number)[0])

    def happens(self, probability: float, purpose: int, count: int) -> bool:
        """Return whether something of this probability happens."""
        return probability > 0.0 and self.uniform(purpose, count) < probability

    def exponential(self, purpose: int, count: int) -> float:
        """Return a unit exponential."""
        return -math.log(self.uniform(purpose, count))

    def repeats(self, probability: float, purpose: int, count: int) -> float:
        """Return how often in a row something of this probability happens (inf for ever)."""
        if not 0.0 < probability < 1.0:
            return math.inf if probability else 0.0
        return float(math.floor(math.log(self.uniform(purpose, count)) / math.log(probability)))

    def duration(self, law: Distribution, purpose: int, count: int) -> float:
        """Return duration number `count` of a purpose in seconds, under a law passed through `tabulate`."""
        if law.kind == "fixed":
            return float(law.values[0])
        return float(sample(law, np.float64(self.uniform(purpose, count))))

    def count(self, law: Counts | None, purpose: int, count: int) -> float:
        """Return a count under its law; 0 for none."""
        if law is None or len(law.values) == 1:
            return 0.0 if law is None else float(law.values[0])
        return float(sample_count(law, np.float64(self.uniform(purpose, count))))

    def binomial(self, n: float, probability: float, purpose: int, count: int) -> float:
        """Return how many of `n` things of this probability happen."""
        if n <= 0 or probability <= 0.0:
            return 0.0
        u = np.float64(self.uniform(purpose, count))
        if n == 1:
            return float(u >= max(1.0 - probability, 0.0))
        return float(binomial(np.float64(n), np.float64(min(probability, 1.0)), u))
