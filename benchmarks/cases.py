"""What a benchmark measures, as data, and what it gave: one row of the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.timing import Spread


@dataclass(frozen=True)
class Case:
    """One number that is measured, and what it should be.

    Parameters
    ----------
    name : str
        What the table calls it.
    scenario : str
        What is simulated or asked.
    size : str
        How much of it.
    unit : str
        Unit of the number: "s", "MB", "timelines/s", "x" for a ratio.
    goal : float or None
        The number to reach; None where there is nothing to reach.
    goal_is : {"at most", "at least"}
        Which side of the goal is good.
    """

    name: str
    scenario: str
    size: str
    unit: str
    goal: float | None = None
    goal_is: Literal["at most", "at least"] = "at most"

    def row(self, measured: Spread) -> dict[str, Any]:
        """Return the case with what was measured; the median decides whether the goal is met.

        >>> Case("help", "mcettr --help", "one process", "s", 0.5).row(Spread(0.1, 0.09, 0.2, 3))["met"]
        True
        """
        met = None
        if self.goal is not None:
            met = measured.median <= self.goal if self.goal_is == "at most" else measured.median >= self.goal
        return {**asdict(self), **asdict(measured), "met": met}
