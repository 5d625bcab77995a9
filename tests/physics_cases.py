"""What of a job's timelines has an exact value, and a wrong value that must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.engine.reference import Timelines
from mcettr.model.budget import ACTIVITIES
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

Floats = NDArray[np.float64]
Value = Callable[[Timelines], Any]
INF = float("inf")


@dataclass(frozen=True)
class Case:
    """An exact value.

    Parameters
    ----------
    params : Params
        The job.
    top : callable
        Maps timelines to draws, shape (n,), of mean `exact`; or, with `bottom`, to the numerator of a ratio of sums.
    exact, wrong : float
        The value, and one that leaves the mechanism (or a part of it) out.
    detectable : float
        Smallest bias that must be seen.
    slack : float
        How far the value is off because the job ends.
    n : int
        Timelines.
    """

    params: Params
    top: Value
    exact: float
    wrong: float
    detectable: float
    slack: float = 0.0
    bottom: Value | None = None
    n: int = 16_384


def seconds(activity: str, row: int | None = None) -> Value:
    """Return what gives the seconds of an activity, of all rows or of one."""
    column = ACTIVITIES.index(activity)
    return lambda lives: lives.lost_s[:, :, column].sum(axis=1) if row is None else lives.lost_s[:, row, column]


def elapsed(lives: Timelines) -> Floats:
    return lives.elapsed_s


def productive(lives: Timelines) -> Floats:
    return lives.productive_s


def failures(lives: Timelines) -> Floats:
    return lives.interruptions.sum(axis=1).astype(np.float64)


def open_job(*causes: Cause, horizon_s: float, recovery: Recovery | None = None, **change: Any) -> Params:
    """Return a job without saves that runs to its horizon."""
    plan = Checkpoint(INF, 0.0, 0.0)
    return Params(8.0, INF, horizon_s, plan, causes, recovery or Recovery(), n_nodes=50.0, **change)


def restarting(startup_s: float, restore_s: float, queue_s: float = 0.0, **change: Any) -> Recovery:
    return Recovery(fixed(queue_s), (("start", fixed(startup_s)),), fixed(restore_s), **change)


def moments(
    params: Params, exact: tuple[float, float], wrong: tuple[float, float], bias: tuple[float, float]
) -> list[Case]:
    """Return the cases of a mean and a variance of the number of failures; `bias` is relative."""
    mean, variance = exact
    return [
        Case(params, failures, mean, wrong[0], bias[0] * mean),
        Case(params, lambda lives: (failures(lives) - mean) ** 2, variance, wrong[1], bias[1] * variance),
    ]
