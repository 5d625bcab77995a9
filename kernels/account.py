"""What a simulation knows of every timeline at its end, whichever loop ran it."""

from __future__ import annotations

from typing import Any, NamedTuple

INTERRUPTIONS = 11
"""Column of a table by cause, behind the activities: the number of interruptions."""


class ByCause(NamedTuple):
    """The entries of a table by cause that can differ from 0, each timeline's own.

    The table's rows are start, causes, checkpoint, planned, horizon; its columns the activities' seconds (productive
    stays 0) and the number of interruptions.
    """

    rows: Any
    columns: Any
    """Where each entry belongs: whole numbers."""
    amounts: Any
    """(entries, blocks, lanes) float64."""


class Pool(NamedTuple):
    """Nodes outside the job, in lanes (float64 whole numbers)."""

    n_swaps: Any
    """Recoveries that needed a node."""
    n_exhausted: Any
    """Of those, the ones that found too few spares."""
    nodes_out: Any
    """Nodes in repair at one uniformly random instant of the timeline."""
    nodes_out_most: Any
    """Most nodes in repair at any time."""


class Account(NamedTuple):
    """Whole timelines, float64 in lanes shaped (blocks, lanes) unless said otherwise."""

    outcome: Any
    """int8, `mcettr.model.budget.Outcome`."""
    elapsed_s: Any
    activity_s: Any
    """Seconds by activity, one entry each in the order of `mcettr.model.budget.ACTIVITIES`: an array shaped (11,
    blocks, lanes), or a tuple with None for an activity that the loop does not know."""
    n_saves: Any
    """Saves that became durable."""
    n_failures: Any
    """Interruptions of all causes."""
    by_cause: ByCause
    longest_stretch_s: Any
    """Longest wall-clock time without a newly durable save; None where the loop does not follow it."""
    pool: Pool | None
    """None without spares."""
    corrupt_s: Any = None
    """Work kept in the end that a corruption which nobody found has spoilt, in seconds; None without silent causes."""
