"""Laws of counts (nodes lost), and how one uniform becomes one binomial count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from mcettr.model.distributions import Number

ALL = 1e9
"""A count that means every node: counts are cut at the nodes there are."""


@dataclass(frozen=True)
class Counts:
    """A law of small whole numbers.

    Parameters
    ----------
    values : tuple of float or ndarray
        Possible counts, ascending; `ALL` for every node of the job.
    cumulative : tuple of float or ndarray
        Probability of at most each of them; the last is 1.
    """

    values: tuple[Number, ...]
    cumulative: tuple[Number, ...]


def exactly(count: Number) -> Counts:
    """Return the law of a fixed count."""
    return Counts((count,), (1.0,))


def is_exactly(law: Counts) -> bool:
    """Return whether the law has no spread by construction."""
    return len(law.values) == 1


def mean_count(law: Counts) -> Number:
    """Return the mean count.

    >>> float(mean_count(Counts((0.0, 1.0), (0.5, 1.0))))
    0.5
    """
    before: Any = 0.0
    total: Any = 0.0
    for value, reached in zip(law.values, law.cumulative, strict=True):
        total = total + np.multiply(value, np.subtract(reached, before))
        before = reached
    return total


def sample_count(law: Counts, u: Any, xp: Any = np) -> Any:
    """Return the count at probability `u`, by the inverse distribution function, in the dtype and shape of `u`.

    >>> sample_count(Counts((0.0, 1.0, 5.0), (0.5, 0.75, 1.0)), np.array([0.4, 0.6, 0.9])).tolist()
    [0.0, 1.0, 5.0]
    """
    count = law.values[0] + xp.zeros_like(u)
    steps = zip(law.values, law.values[1:], law.cumulative, strict=False)
    for below, above, reached in steps:
        count = count + xp.where(u >= reached, above - below, 0.0)
    return count


EXACT = 64
"""Up to this many trials binomial counts are exact; beyond, the normal law with their mean and variance is."""


class Reached(NamedTuple):
    """How far the sum of a binomial law's probabilities has come."""

    count: Any
    chance: Any
    """Of the next count."""
    total: Any


def binomial_begin(n: Any, p: Any, u: Any, xp: Any = np) -> Reached:
    """Return the state from which `binomial_steps` goes on."""
    chance = _power(xp.clip(1.0 - p, 1e-300, 1.0), xp.minimum(n, float(EXACT)), xp) + 0.0 * u
    return Reached(xp.zeros_like(chance), chance, chance)


def _power(base: Any, n: Any, xp: Any) -> Any:
    """Return base^n for whole n up to `EXACT`, by squaring: a few products, which processors do for many lanes."""
    result, square, rest = xp.ones_like(base * n), base, n
    for _ in range(EXACT.bit_length()):
        half = xp.floor(0.5 * rest)
        result = xp.where(rest > 2.0 * half, result * square, result)
        square, rest = square * square, half
    return result


def binomial_steps(at: Reached, n: Any, p: Any, u: Any, steps: range, xp: Any = np) -> Reached:
    """Return the state after looking at the counts `steps`.

    Beyond `n` the probabilities are 0, and their sum is above any uniform; where p is 1 (and the sum stays 0) the
    count runs on past `n`: cut it there.
    """
    count, chance, total = at
    odds = p / xp.clip(1.0 - p, 1e-300, 1.0)
    for k in steps:
        count = count + xp.where(u >= total, 1.0, 0.0)
        chance = chance * (odds * (n - k) * (1.0 / (k + 1.0)))
        total = total + chance
    return Reached(count, chance, total)


def binomial_beyond(n: Any, p: Any, u: Any, count: Any, xp: Any = np, ndtri: Any = special.ndtri) -> Any:
    """Return the count of the normal law for more than `EXACT` trials, else `count`."""
    near = xp.clip(xp.floor(n * p + ndtri(u) * xp.sqrt(n * p * (1.0 - p)) + 0.5), 0.0, n)
    return xp.where(n > EXACT, near, xp.minimum(count, n))


def binomial(n: Any, p: Any, u: Any) -> Any:
    """Return the binomial(n, p) count at probability `u`, by the inverse distribution function (NumPy).

    >>> binomial(np.array([1.0, 1.0, 3.0]), 0.25, np.array([0.7, 0.8, 0.99])).tolist()
    [0.0, 1.0, 3.0]
    """
    most = range(int(min(np.max(n, initial=0.0), EXACT)))
    return binomial_beyond(n, p, u, binomial_steps(binomial_begin(n, p, u), n, p, u, most).count)
