"""Silent corruption: it strikes while steps compute, and is found after a latency or by the next verification."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mcettr.engine.draws import Draws
from mcettr.engine.timeline.hazards import pick
from mcettr.kernels import streams


@dataclass
class Corruption:
    """Work that is corrupt from a position on."""

    cause: int
    position_s: float
    latency_left_s: float
    """Training time until it is found."""


class SilentHazard:
    """The shared hazard of the silent causes over the work computed, and the corruption that nobody knows of yet."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        self.n_spent = 0
        self.left = draws.exponential(streams.SILENT_STRIKE, 0)
        self.parts: list[float] = []
        self.total = 0.0
        self.pending: Corruption | None = None

    def follow(self, rates: list[float]) -> None:
        """Take over new rates, per second of work."""
        self.parts, self.total = rates, sum(rates)

    def left_work_s(self) -> float:
        """Return the work until the next strike; while one is pending others are ignored."""
        return self.left / self.total if self.total > 0 and self.pending is None else math.inf

    def computed(self, work_s: float) -> None:
        """Let work be computed."""
        if self.total > 0 and self.pending is None:
            self.left = max(self.left - work_s * self.total, 0.0)

    def strike(self) -> tuple[int, int]:
        """Return the cause that corrupts the work now and the number of the strike, and draw anew."""
        number = self.n_spent
        cause = pick(self.parts, self.draws.fine(streams.SILENT_CAUSE, number))
        self.n_spent += 1
        self.left = self.draws.exponential(streams.SILENT_STRIKE, self.n_spent)
        return cause, number
