"""Where the nodes are: in the job, failed, among the spares, in repair, or lent; none is ever lost sight of.

A failed node goes to repair once the job looks for a replacement: before that nobody knows which one it is.
"""

from __future__ import annotations

import math

from mcettr.engine.draws import Draws
from mcettr.kernels import streams
from mcettr.model.physics import Spares

_AT_ONCE_S = 1e-300


class Nodes:
    """The nodes of a job; without spares every lost one is replaced at once from an endless supply.

    Parameters
    ----------
    n : float
        Nodes at full width.
    spares : Spares or None
        The pool.
    draws : Draws
        Of the timeline.

    Examples
    --------
    >>> nodes = Nodes(8.0, Spares(2.0, 60.0, 1.0, 3600.0, 3600.0), Draws(0, 0))
    >>> nodes.lose(3.0)
    >>> nodes.send_to_repair(streams.REPAIR_BRANCH, 1, now_s=10.0)
    >>> nodes.take(), nodes.present, nodes.spares, nodes.in_repair
    ((2.0, 0.0), 7.0, 0.0, 3.0)
    """

    def __init__(self, n: float, spares: Spares | None, draws: Draws) -> None:
        self.n, self.pool, self.draws = n, spares, draws
        self.present = n
        self.count = spares.count if spares is not None else math.inf
        self.spares = self.fresh = self.count  # in waiting, and of those never repaired
        self.failed = 0.0  # out of the job, and not known to be
        self.quick = self.slow = 0.0  # in repair
        self.lent = 0.0  # taken from the cluster and not given back
        self.wanted = 0.0  # nodes that the job waits for
        self.repaired_at_s = math.inf
        self.n_swaps = self.n_exhausted = 0
        self.sample = self.most = 0.0
        self._n_changes = 0
        self._changed_at_s = 0.0

    @property
    def in_repair(self) -> float:
        """Return the nodes in repair."""
        return self.quick + self.slow

    def lose(self, n: float) -> None:
        """Let `n` nodes of the job fail."""
        if self.pool is not None:
            self.present -= n
            self.failed += n
            self._check()

    def send_to_repair(self, purpose: int, attempt: int, now_s: float) -> None:
        """Let all failed nodes go to repair; `purpose` is that of the draw of the quick ones."""
        if self.pool is None or self.failed <= 0:
            return
        self.catch_up(now_s)
        self._look(now_s)
        quick = self.draws.binomial(self.failed, self.pool.quick_share, purpose, attempt)
        self.quick += quick
        self.slow += self.failed - quick
        self.failed = 0.0
        self._settle(now_s)

    def take(self) -> tuple[float, float]:
        """Fill the job from the spares, fresh ones first; return how many came, and how many came out of repair."""
        taken = min(self.n - self.present, self.spares)
        fresh = min(taken, self.fresh)
        self.fresh -= fresh
        self.spares -= taken
        self.present += taken
        self._check()
        return taken, taken - fresh

    def borrow(self) -> float:
        """Fill the job from the cluster; return how many came."""
        n = self.n - self.present
        self.lent += n
        self.present += n
        self._check()
        return n

    def catch_up(self, now_s: float) -> None:
        """Complete the repairs that end by now, each at its own time."""
        while self.repaired_at_s <= now_s and self.in_repair > 0:
            self._repair(self.repaired_at_s)

    def finish(self, now_s: float) -> None:
        """Close the count of nodes in repair at the end of the timeline."""
        if self.pool is not None:
            self.catch_up(now_s)
            self._look(now_s)

    def _rates(self) -> tuple[float, float]:
        assert self.pool is not None
        quick = self.quick / max(self.pool.quick_mean_s, _AT_ONCE_S)
        return quick, quick + self.slow / max(self.pool.slow_mean_s, _AT_ONCE_S)

    def _repair(self, at_s: float) -> None:
        self._look(at_s)
        quick_rate, rate = self._rates()
        if self.draws.uniform(streams.REPAIR_WHICH, self._n_changes - 1) * rate < quick_rate:
            self.quick -= 1
        else:
            self.slow -= 1
        if self.wanted > 0:
            self.wanted -= 1
            self.present += 1
        elif self.lent > 0 and self.spares >= self.count:
            self.lent -= 1
        else:
            self.spares += 1
        self._settle(at_s)

    def _settle(self, now_s: float) -> None:
        """Draw the time of the next completed repair after a change of the pool."""
        self._check()
        self.most = max(self.most, self.in_repair)
        self.repaired_at_s = math.inf
        if self.in_repair > 0:
            _, rate = self._rates()
            wait = self.draws.exponential(streams.REPAIR_TIME, self._n_changes - 1)
            self.repaired_at_s = now_s + wait / rate if rate > 0 else math.inf

    def _look(self, now_s: float) -> None:
        """Let the time since the last change replace the sample in proportion to its length, so that it is uniform."""
        if now_s > self._changed_at_s:
            share = (now_s - self._changed_at_s) / now_s
            if self.draws.uniform(streams.POOL_INSTANT, self._n_changes) < share:
                self.sample = self.in_repair
        self._n_changes += 1
        self._changed_at_s = now_s

    def _check(self) -> None:
        """Every node is somewhere."""
        places = (self.present, self.failed, self.spares, self.fresh, self.quick, self.slow, self.lent)
        assert min(places) >= 0, places
        total = self.present + self.failed + self.spares + self.in_repair - self.lent
        assert math.isinf(self.count) or total == self.n + self.count, places
        assert self.present <= self.n, places
