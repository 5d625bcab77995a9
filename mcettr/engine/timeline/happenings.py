"""What moves a timeline: things that happen after a time at risk, stops of the job, and the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from mcettr.model.budget import Outcome

NO_CAUSE = -1
StopKind = Literal["first", "crash", "found", "graceful", "failed start", "maintenance"]


class Source(Protocol):
    """A mechanism that acts while the job is at risk."""

    def left_s(self) -> float:
        """Return the time until it acts, if nothing changes before."""

    def passed(self, seconds: float) -> None:
        """Let time at risk pass, at most what is left."""

    def happen(self) -> None:
        """Act."""


@dataclass(frozen=True)
class Stop:
    """Why the job stopped, and so how its next start begins.

    Parameters
    ----------
    kind : str
        A crash loses time to detection and diagnosis, corruption that was found to diagnosis only, a graceful stop
        and a failed start to neither.
    row : int
        Row of the tables of lost time that pays for the way back.
    cause : int
        Index of the cause, if any.
    is_repeat : bool
        Whether a missed culprit struck again.
    to_queue : bool
        Whether the job goes back to the scheduler even where spares are at hand.
    """

    kind: StopKind
    row: int
    cause: int = NO_CAUSE
    is_repeat: bool = False
    to_queue: bool = False


class Stopped(Exception):  # noqa: N818
    """The job stops."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop)
        self.stop = stop


class Ended(Exception):  # noqa: N818
    """The timeline ends."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome
