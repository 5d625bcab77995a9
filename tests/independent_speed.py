"""How fast the job of the second simulator computes: slow nodes, a group that is down, nodes that are missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from tests.independent_hazards import Hazards
from tests.independent_laws import draw_detection
from tests.independent_pool import Pool
from tests.independent_timers import FOUND, Timer
from tests.independent_world import World


class Speed:
    """What lowers the speed, each with the label that is blamed.

    Attributes
    ----------
    lost_group_row : int or None
        Blamed for the replica group that is down; None where none is.
    shrunken_row : int
        Blamed for missing nodes.
    """

    def __init__(self, world: World, pool: Pool, hazards: Hazards, known: Callable[[int], None]) -> None:
        self._world, self._pool = world, pool
        self._slow: dict[int, Timer] = {}
        for index, cause in enumerate(world.params.causes):
            if cause.kind == "slow":
                self._slow[index] = Timer(world.env, partial(known, index), FOUND + index)
                hazards.follow(self._slow[index])
        self._active: set[int] = set()
        self.lost_group_row: int | None = None
        self.shrunken_row = world.start

    def slow_down(self, index: int) -> None:
        """A node is slow, from now until it is known; ignored where one is already by that cause."""
        if index not in self._active:
            self._active.add(index)
            self._slow[index].set(draw_detection(self._world.params, self._world.params.causes[index], self._world.rng))
            self._slow[index].run()

    def restore(self) -> None:
        """No node is slow any more."""
        self._active.clear()
        for timer in self._slow.values():
            timer.set(math.inf)

    def losses(self) -> list[tuple[int, float]]:
        """Return what is lost of full speed, by label; what is left is 1 minus their sum."""
        params, world = self._world.params, self._world
        lowered = [(index, 1.0 - float(params.causes[index].slowdown)) for index in sorted(self._active)]
        if self.lost_group_row is not None and params.recovery.replica_groups is not None:
            n_groups = float(params.recovery.replica_groups.count)
            lowered.append((self.lost_group_row, (n_groups - 1.0) / n_groups))
        elif self._pool.n_missing:
            lowered.append((self.shrunken_row, len(self._pool.job) / world.n_nodes))
        losses, speed = [], 1.0
        for row, factor in lowered:
            losses.append((row, speed * (1.0 - factor)))
            speed *= factor
        return losses
