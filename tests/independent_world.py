"""What the parts of the second simulator share: the clock, the generator, the ledger, and why an attempt ends."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import simpy

from mcettr.model.distributions import Distribution
from mcettr.model.params import Params
from tests.independent_laws import draw_duration

ACTIVITIES = (
    "productive",
    "rework",
    "checkpoint",
    "degraded",
    "detection",
    "diagnosis",
    "spare_wait",
    "queue",
    "startup",
    "restore",
    "maintenance",
)

_Result = TypeVar("_Result")
StepsTo = Generator[simpy.Event, Any, _Result]
Steps = StepsTo[None]
StopKind = Literal["first", "crash", "found", "graceful", "failed start", "lifetime", "window", "horizon", "done"]


@dataclass(eq=False)
class Node:
    """One node, in the job or not; `group` is its replica group."""

    group: int = 0
    lemon: bool = False
    repaired: bool = False


@dataclass(frozen=True)
class Stop:
    """Why an attempt ends (or the first one begins), and what is blamed for what follows.

    Parameters
    ----------
    kind : str
        A "graceful" stop is one announced by a slow node or a preemption, a "lifetime" one the scheduler's, a "window"
        one for maintenance.
    row : int
        Label that is blamed.
    cause : int or None
        The failure behind it; None for planned stops and failed starts.
    node : Node or None
        The node that failed, where it was one.
    repeated : bool
        Whether it was a culprit missed before.
    saves_first : bool
        Whether a training job makes a save before it stops.
    """

    kind: StopKind
    row: int
    cause: int | None = None
    node: Node | None = None
    repeated: bool = False
    saves_first: bool = False


class World:
    """One timeline: its clock, generator and ledger.

    Parameters
    ----------
    params : Params
        The job.
    factors : list of float
        What multiplies each cause's rate in this timeline.
    rng : Generator
        Of this timeline.
    n_nodes : int
        Nodes at full width.
    """

    def __init__(self, params: Params, factors: list[float], rng: np.random.Generator, n_nodes: int) -> None:
        self.env = simpy.Environment()
        self.params, self.factors, self.rng, self.n_nodes = params, factors, rng, n_nodes
        n_causes = len(params.causes)
        self.start, self.checkpoint, self.planned, self.horizon = range(n_causes, n_causes + 4)
        self.booked_s = np.zeros((n_causes + 4, len(ACTIVITIES)))
        self.interruptions = [0] * n_causes
        self.n_saves, self._saved_at_s, self.longest_stretch_s = 0, 0.0, 0.0
        self.missed = [0] * n_causes
        """Culprits of each cause that are still in the job."""

    def draw(self, law: Distribution) -> float:
        """Return one duration in seconds."""
        return draw_duration(law, self.rng)

    def book(self, row: int, activity: str, seconds: float) -> None:
        """Blame `row` for seconds of an activity."""
        self.booked_s[row, ACTIVITIES.index(activity)] += seconds

    def spend(self, row: int, activity: str, seconds: float) -> Steps:
        """Let the seconds pass, and book those that did."""
        began_s = self.env.now
        try:
            if seconds > 0:
                yield self.env.timeout(seconds)
        finally:
            self.book(row, activity, self.env.now - began_s)

    def end_stretch(self, saved: bool) -> None:
        """A save of the main tier, or a graceful one, is durable (or the timeline ends)."""
        self.n_saves += saved
        self.longest_stretch_s = max(self.longest_stretch_s, self.env.now - self._saved_at_s)
        self._saved_at_s = self.env.now
