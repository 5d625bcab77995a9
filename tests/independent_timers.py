"""A countdown of the second simulator: it can be held, and then goes on from what was left."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import simpy

NORMAL, HORIZON, PLANNED, FOUND, FAILURE = 1, 2, 3, 100, 200
"""Of what is due at one instant, what ends comes first, then the horizon, planned stops, what is found, and failures,
these two in the order of the causes, whose number is added."""


def schedule(env: simpy.Environment, seconds: float, act: Callable[[simpy.Event], None], priority: int) -> simpy.Event:
    """Return the event at which `act` will be called."""
    event = env.event()
    event._ok, event._value = True, None
    event.callbacks.append(act)
    env.schedule(event, priority=cast("Any", priority), delay=seconds)
    return event


class Timer:
    """Rings once when the seconds it was set to have run down; never before it is set."""

    def __init__(self, env: simpy.Environment, ring: Callable[[], None], priority: int = NORMAL) -> None:
        self._env, self._ring, self._priority = env, ring, priority
        self._left_s, self._began_s = math.inf, 0.0
        self._due: simpy.Event | None = None

    @property
    def is_set(self) -> bool:
        """Whether it has yet to ring."""
        return self._left_s < math.inf

    def set(self, seconds: float) -> None:
        """Hold the countdown at `seconds`; inf for never."""
        self._due, self._left_s = None, seconds

    def run(self) -> None:
        """Go on counting."""
        if self._due is None and self.is_set:
            self._began_s = self._env.now
            self._due = schedule(self._env, self._left_s, self._come_due, self._priority)

    def hold(self) -> None:
        """Stop counting."""
        if self._due is not None:
            self._due, self._left_s = None, max(0.0, self._left_s - (self._env.now - self._began_s))

    def _come_due(self, event: simpy.Event) -> None:
        if event is self._due:  # else it was held since
            self.set(math.inf)
            self._ring()
