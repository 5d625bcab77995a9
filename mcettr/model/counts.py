"""Laws of counts (nodes lost), and how one uniform becomes one binomial count."""

from __future__ import annotations

from collections.abc import Iterable
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
    for above, reached in zip(law.values[1:], law.cumulative, strict=False):
        count = xp.where(u >= reached, above, count)
    return count


EXACT = 64
"""Up to this many trials binomial counts are exact; beyond, the normal law with their mean and variance is."""


class Odds(NamedTuple):
    """A chance in the forms that a binomial law needs."""

    p: Any
    odds: Any
    """p / (1 - p)."""
    powers: tuple[Any, ...]
    """1 - p to the powers 1, 2, 4, and so on."""


def odds_of(p: Any, most: int = EXACT, xp: Any = np) -> Odds:
    """Return a chance in the forms needed for up to `most` trials, or `EXACT` if that is less."""
    powers = [xp.clip(1.0 - p, 1e-300, 1.0)]
    for _ in range(1, max(min(most, EXACT), 1).bit_length()):
        powers.append(powers[-1] * powers[-1])
    return Odds(p, p / powers[0], tuple(powers))


class Reached(NamedTuple):
    """How far the sum of a binomial law's probabilities has come."""

    count: Any
    chance: Any
    """Of the next count."""
    total: Any


def binomial_begin(n: Any, odds: Odds, u: Any, xp: Any = np) -> Reached:
    """Return the state from which `binomial_steps` goes on: the chance of none, a product of few factors."""
    chance, rest = xp.ones_like(odds.p * n + u), xp.minimum(n, float(EXACT))
    for power in odds.powers:
        half = xp.floor(0.5 * rest)
        chance = xp.where(rest > 2.0 * half, chance * power, chance)
        rest = half
    return Reached(xp.zeros_like(chance), chance, chance)


def binomial_steps(at: Reached, n: Any, odds: Odds, u: Any, steps: Iterable[tuple[Any, Any]], xp: Any = np) -> Reached:
    """Return the state after looking at the counts `steps`, pairs of k and 1/(k + 1).

    Beyond `n` the probabilities are 0, and their sum is above any uniform; where p is 1 (and the sum stays 0) the
    count runs on past `n`: cut it there.
    """
    count, chance, total = at
    for k, per_next in steps:
        count = count + xp.where(u >= total, 1.0, 0.0)
        chance = chance * (odds.odds * (n - k) * per_next)
        total = total + chance
    return Reached(count, chance, total)


def steps_from(first: int, end: int) -> list[tuple[float, float]]:
    """Return the counts from `first` to before `end` as `binomial_steps` wants them."""
    return [(float(k), 1.0 / (k + 1.0)) for k in range(first, end)]


def binomial_beyond(n: Any, odds: Odds, u: Any, count: Any, xp: Any = np, ndtri: Any = special.ndtri) -> Any:
    """Return the count of the normal law for more than `EXACT` trials, else `count`."""
    p = odds.p
    near = xp.clip(xp.floor(n * p + ndtri(u) * xp.sqrt(n * p * (1.0 - p)) + 0.5), 0.0, n)
    return xp.where(n > EXACT, near, xp.minimum(count, n))


def binomial(n: Any, p: Any, u: Any) -> Any:
    """Return the binomial(n, p) count at probability `u`, by the inverse distribution function (NumPy).

    >>> binomial(np.array([1.0, 1.0, 3.0]), 0.25, np.array([0.7, 0.8, 0.99])).tolist()
    [0.0, 1.0, 3.0]
    """
    most, odds = steps_from(0, int(min(np.max(n, initial=0.0), EXACT))), odds_of(p)
    return binomial_beyond(n, odds, u, binomial_steps(binomial_begin(n, odds, u), n, odds, u, most).count)
