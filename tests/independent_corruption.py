"""Silent corruption in the second simulator: where it struck, and the training time until it shows."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.independent_laws import draw_detection
from tests.independent_timers import FOUND, Timer
from tests.independent_world import World


class Corruption:
    """The earliest corruption that is not found yet, if there is one."""

    def __init__(self, world: World, shows: Callable[[], None]) -> None:
        self._world = world
        self.cause: int | None = None
        self.position_s = math.inf
        self.latency = Timer(world.env, shows, FOUND)

    def strike(self, cause: int, position_s: float) -> None:
        """Corrupt all work beyond `position_s`; ignored where an earlier corruption is pending."""
        if self.cause is None:
            self.cause, self.position_s = cause, position_s
            self.latency.set(draw_detection(self._world.params, self._world.params.causes[cause], self._world.rng))

    def clear(self) -> None:
        """The corrupted work is thrown away."""
        self.cause, self.position_s = None, math.inf
        self.latency.set(math.inf)
