"""The labels of the time budget: activities, the causes that are no failures, and how a timeline can end."""

from __future__ import annotations

from enum import IntEnum

ACTIVITIES: tuple[str, ...] = (
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
"""Where wall-clock time goes; they sum to the elapsed time of every timeline."""

UNHELD: tuple[str, ...] = ("queue", "maintenance")
"""Activities during which the job holds no GPUs."""

START, CHECKPOINT, PLANNED, HORIZON = "start", "checkpoint", "planned", "horizon"
"""Causes of lost time that are no failures: the first submission, saving, planned stops, the end of the simulated
time."""


def cause_rows(failure_causes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the rows of a table by cause.

    >>> cause_rows(("node",))
    ('start', 'node', 'checkpoint', 'planned', 'horizon')
    """
    return (START, *failure_causes, CHECKPOINT, PLANNED, HORIZON)


class Outcome(IntEnum):
    """How a timeline ended."""

    DONE = 0
    """All work is durable."""
    HORIZON = 1
    """The horizon came first."""
    CAPPED = 2
    """Stopped at the cap on events, far from either."""
