"""Bad nodes among the job's."""

from __future__ import annotations

import numpy as np
from scipy import special

from mcettr.engine.draws import Draws
from mcettr.kernels import streams
from mcettr.model.physics import Lemons


class LemonCount:
    """How many of the job's nodes are lemons.

    Examples
    --------
    >>> lemons = LemonCount(Lemons(0.5, 10.0), 4.0, Draws(0, 0))
    >>> 0.0 <= lemons.n <= 4.0
    True
    """

    def __init__(self, record: Lemons, n_nodes: float, draws: Draws) -> None:
        self.record, self.draws = record, draws
        u = draws.uniform(streams.LEMONS_AT_START, 0)
        self.n = _binomial_quantile(u, n_nodes, record.at_start)

    def factor(self, present: float) -> float:
        """Return the mean rate of the nodes present over that of a healthy one."""
        if present <= 0:
            return 1.0
        return (present - self.n + float(self.record.multiplier) * self.n) / present

    def struck(self, present: float, attempt: int) -> tuple[bool, bool]:
        """Return whether the node that failed, of the lemons' cause, is a lemon, and whether it is evicted."""
        bad = self.record.multiplier * self.n
        total = present - self.n + bad
        if not self.draws.uniform(streams.LEMON_STRIKE, attempt) * total < bad:
            return False, True
        return True, self.draws.happens(self.record.eviction_probability, streams.LEMON_EVICTED, attempt)

    def lose(self, n_out: float, present: float, attempt: int, *, striker: str) -> None:
        """Take out the lemons among `n_out` of the nodes `present`, of which one, the `striker`, may be known."""
        if n_out <= 0:
            return
        if striker == "any":
            n_blind, n_left, n_lemons, certain = n_out, present, self.n, 0.0
        else:
            certain = 1.0 if striker == "lemon" else 0.0
            n_blind, n_left, n_lemons = n_out - 1, present - 1, self.n - certain
        chance = n_lemons / n_left if n_left > 0 else 0.0
        self.n -= min(certain + self.draws.binomial(n_blind, chance, streams.LEMONS_LOST, attempt), self.n)

    def catch(self, attempt: int) -> float:
        """Take out the lemons that a preflight check finds; return how many."""
        chance = self.record.caught_in_preflight or 0.0
        n = self.draws.binomial(self.n, chance, streams.PREFLIGHT_LEMONS, attempt)
        self.n -= n
        return n

    def join(self, n: float, attempt: int) -> None:
        """Let `n` nodes come into the job."""
        self.n += self.draws.binomial(n, self.record.fraction, streams.LEMONS_IN, attempt)


def _binomial_quantile(u: float, n: float, p: float) -> float:
    """Return the least count at which the binomial distribution reaches `u`; scipy.stats would cost a second to load.

    >>> _binomial_quantile(0.5, 4.0, 0.5), _binomial_quantile(1e-9, 4.0, 0.5), _binomial_quantile(0.3, 9.0, 0.0)
    (2.0, 0.0, 0.0)
    """
    if p >= 1.0 or special.bdtr(0.0, int(n), p) >= u:
        return n if p >= 1.0 else 0.0
    above = float(np.ceil(special.bdtrik(u, n, p)))
    return above - 1.0 if above >= 1.0 and special.bdtr(above - 1.0, int(n), p) >= u else above
