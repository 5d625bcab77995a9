"""What stands against a target: what the simulation books at the best value."""

from __future__ import annotations

from mcettr.model.budget import ACTIVITIES
from mcettr.sweep.look import Point
from mcettr.sweep.target import Target
from mcettr.units import format_duration

_WORTH_NAMING = 5e-4
_NAMES = {
    "checkpoint": "checkpoints",
    "degraded": "running below full speed",
    "spare_wait": "waiting for spares",
    "queue": "the queue",
}
"""Activities whose name is no word for people."""


def binding_terms(point: Point, target: Target, work_s: float) -> str:
    """Return a sentence on what the job loses at a point that was simulated.

    Parameters
    ----------
    point : Point
        With the share of each activity in the elapsed time.
    target : Target
        What is not met.
    work_s : float
        Work of the job there, seconds.

    >>> shares = (0.902, 0.0, 0.0, 0.0, 0.032, 0.0, 0.0, 0.0, 0.066, 0.0, 0.0)
    >>> binding_terms(Point(1.0, 0.902, 0.001, 600.0, time_fraction=shares), Target(0.95), 1e6)
    'there startup costs 6.6 points, detection 3.2'
    """
    lost = {name: share for name, share in zip(ACTIVITIES, point.time_fraction, strict=True) if name != "productive"}
    named = sorted((name for name in lost if lost[name] >= _WORTH_NAMING), key=lambda name: -lost[name])
    parts = [f"{_NAMES.get(name, name)} {100.0 * lost[name]:.1f}" for name in named]
    text = ""
    if target.deadlines.seconds:
        text = f"the work alone takes {format_duration(work_s)} of the {format_duration(target.deadlines.seconds[0])}, "
    if not parts:
        return f"{text}there nothing is lost"
    first, number = parts[0].rsplit(" ", 1)
    listed = ", ".join([f"there {first} {'cost' if first.endswith('s') and first != 'waiting for spares' else 'costs'}"
        f" {number} points", *parts[1:]])  # fmt: skip
    return f"{text}{listed}"
