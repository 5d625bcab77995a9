"""A value that a search found, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SolvedValue:
    """A value that just meets the target.

    Parameters
    ----------
    estimate : float
        The value; for counts the last (or smallest) whole step that meets the target.
    low, high : float
        95 % interval, Monte Carlo error and root tolerance together.
    unit : str
        "s" for durations, "1", or the user's own such as "1 / 1000 node-days".
    """

    estimate: float
    low: float
    high: float
    unit: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high, "unit": self.unit}
