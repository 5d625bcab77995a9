"""The order of what happens at one moment: stated here once, and followed by every engine.

Work that is saved at the moment of a failure is kept, a job that is done at the horizon is done, and a failure at the
end of a startup strikes what comes next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Event:
    """What may happen to a job that is at risk.

    Parameters
    ----------
    name : str
        As the engines call it.
    what : str
        As docs/model.md says it.
    """

    name: str
    what: str


EVENTS = (
    Event("phase", "a phase, a write or the job ends"),
    Event("horizon", "the horizon"),
    Event("window", "a maintenance window, or the checkpoint made just before it"),
    Event("longest attempt", "the longest attempt"),
    Event("incident", "an incident begins or ends"),
    Event("rate", "a profile or a lease changes a rate"),
    Event("latency", "silent corruption is found after its detection time"),
    Event("slow node", "a slow node is found"),
    Event("group", "a lost replica group moves on"),
    Event("failure", "a failure by rate"),
    Event("drill", "a failure by `every`"),
    Event("corruption", "silent corruption strikes"),
)
"""What comes first at one moment comes first here. Of one kind the order is that of the causes in the file."""

MOMENT = 1e-10
"""Share of the time since the submission within which two times are one moment: what coincides on paper differs by
roundings in a float64 clock, by up to 1e-12 after ten thousand checkpoints."""


def is_before(left_s: Any, other_s: Any, now_s: Any) -> Any:
    """Return whether what comes in `left_s` comes at an earlier moment than what comes in `other_s`.

    Parameters
    ----------
    left_s, other_s : float or array
        Seconds from now; inf for never.
    now_s : float or array
        Seconds since the submission.

    Examples
    --------
    >>> is_before(1.0, 2.0, 100.0), is_before(0.1 + 0.2, 0.3, 100.0), is_before(0.3, 0.1 + 0.2, 100.0)
    (True, False, False)
    >>> is_before(1e300, float("inf"), 0.0), is_before(float("inf"), float("inf"), 0.0)
    (True, False)
    """
    return left_s < other_s * (1.0 - MOMENT) - MOMENT * now_s


def moment_s(time_s: Any, now_s: Any) -> Any:
    """Return how many seconds around what comes in `time_s` are one moment."""
    return MOMENT * (now_s + time_s)


def in_order(found: Mapping[str, Sequence[_T]]) -> list[_T]:
    """Return what acts under the names of some `EVENTS`, in their order.

    >>> in_order({"failure": ["fails"], "phase": ["starts", "saves"]})
    ['starts', 'saves', 'fails']
    """
    names = [event.name for event in EVENTS]
    unknown = set(found) - set(names)
    if unknown:
        raise KeyError(f"not among EVENTS: {sorted(unknown)}")
    return [one for name in names for one in found.get(name, ())]
