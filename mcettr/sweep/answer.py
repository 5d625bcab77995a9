"""What the search for a target found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcettr.sweep.display import html, summary
from mcettr.sweep.look import Point, points_that_matter
from mcettr.sweep.solved_value import SolvedValue


@dataclass(frozen=True, repr=False)
class SolveResult:
    """What `solve` found.

    Parameters
    ----------
    value : SolvedValue or None
        The value that just meets the target; None where none does, or every one does. Of two crossings the one that
        people ask for: the fewest GPUs or spares, the longest interval or time, the highest rate (`Vary.wants_least`).
    crossings : tuple of SolvedValue
        The values at which the target is just met, in order: two where the metric rises and falls.
    feasible : bool
        Whether some value in the range meets the target.
    reason : str
        A sentence: from where to where the target is met, or what stands against it.
    achieved : Point
        The job at `value` (at the best value in the range where none meets the target), on draws of its own.
    table : tuple of Point
        The points tried, by value; the answer itself is among them.
    vary, target : str
        The field varied, and the target.
    level : float
        The level of the target.
    confidence : float or None
        The target is met with this probability over the uncertain rates; `achieved` and `table` are at the rates for
        which it just is. None where rates are not looked at that way.
    unit : str
        Unit of the values of the varied field: "s", "1", or the user's own.
    provenance : mapping
        What the answer came from: scenario, seed, versions; see `mcettr.sweep.provenance.entries`.
    """

    value: SolvedValue | None
    crossings: tuple[SolvedValue, ...]
    feasible: bool
    reason: str
    achieved: Point
    table: tuple[Point, ...]
    vary: str
    target: str
    level: float
    confidence: float | None = None
    unit: str = "1"
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return the answer on one line."""
        return f"<SolveResult: {summary(self.vary, self.value, self.reason)}>"

    def _repr_html_(self) -> str:
        return html(repr(self)[1:-1], self.vary, self.unit, self.points_that_matter)

    @property
    def points_that_matter(self) -> tuple[Point, ...]:
        """The answer, its neighbours, and both ends of what was tried."""
        return points_that_matter(self.table, self.achieved.value)

    @property
    def checkpoint_interval_s(self) -> float:
        """The checkpoint interval at `achieved`."""
        return self.achieved.checkpoint_interval_s

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        point = self.achieved.to_json()
        achieved = {key: point[key] for key in ("ettr", "completion") if key in point}
        return {
            "value": None if self.value is None else self.value.to_json(),
            "crossings": [value.to_json() for value in self.crossings],
            "achieved": achieved,
            "checkpoint_interval_s": point["checkpoint_interval_s"],
            "feasible": self.feasible,
            "reason": self.reason,
            "vary": self.vary,
            "target": self.target,
            **({} if self.confidence is None else {"confidence": self.confidence}),
            "table": [entry.to_json() for entry in self.table],
        }
