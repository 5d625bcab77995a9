"""What a check says about a job: a problem, the cells of a sweep that it concerns, the job's numbers by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mcettr.model.distributions import Distribution, Number, mean
from mcettr.model.params import Params
from mcettr.units import format_duration


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a job, or worth knowing before it runs.

    Parameters
    ----------
    level : {"error", "warning"}
        Whether a run must stop.
    path : str
        Dotted path of the field to change.
    message : str
        One line, with numbers of the first cell concerned.
    cells : ndarray of bool or None
        Which cells of a sweep are concerned; None for a single job.
    """

    level: Literal["error", "warning"]
    path: str
    message: str
    cells: NDArray[np.bool_] | None


class Cells:
    """The cells of a job's arrays: where a condition holds, and the numbers of the first such cell."""

    def __init__(self, params: Params) -> None:
        self.shape = np.broadcast_shapes(*(np.shape(value) for _, value in leaves(params)))

    def where(
        self,
        level: Literal["error", "warning"],
        path: str,
        bad: Any,
        say: Callable[..., str],
        *values: Number,
    ) -> Iterator[Problem]:
        """Yield a problem if `bad` holds anywhere; `say` gets the `values` of the first cell where it does."""
        cells = np.broadcast_to(np.asarray(bad, dtype=np.bool_), self.shape)
        if cells.any():
            first = np.unravel_index(int(np.argmax(cells)), self.shape)
            numbers = (float(np.broadcast_to(value, self.shape)[first]) for value in values)
            yield Problem(level, path, say(*numbers), cells.copy() if self.shape else None)


def laws(params: Params) -> Iterator[tuple[str, Distribution, bool]]:
    """Yield (path, law, whether it may be infinite) of every duration of a job."""
    for cause in params.causes:
        yield f"failures.{cause.name}.detection", cause.detection, True
        yield f"failures.{cause.name}.diagnosis", cause.diagnosis, True
        if cause.every is not None:
            yield f"failures.{cause.name}.every", cause.every, True
    yield "recovery.queue_wait", params.recovery.queue_wait, False
    for name, law in params.recovery.startup:
        yield f"recovery.startup.{name}", law, False
    yield "recovery.restore", params.recovery.restore, False


def leaves(params: Params) -> Iterator[tuple[str, Number]]:
    """Yield (path, value) of every number of a job; for a law, its mean."""
    save = params.checkpoint
    yield "job.gpus", params.n_gpus
    yield "job.work", params.work_s
    yield "job.horizon", params.horizon_s
    yield "job.resumes", params.resumes
    yield "checkpoint.interval", save.interval_s
    yield "checkpoint.write_time", save.write_time_s
    yield "checkpoint.stall", save.stall_s
    yield "checkpoint.slowdown", save.slowdown
    for cause in params.causes:
        yield f"failures.{cause.name}.rate", cause.rate_per_s
        yield f"failures.{cause.name}.count", cause.rate_shape
    for path, law, _ in laws(params):
        yield path, mean(law)


def duration_text(seconds: float) -> str:
    """Return a duration as text.

    >>> duration_text(90.0), duration_text(float("nan"))
    ('90 s', 'nan')
    """
    return "nan" if np.isnan(seconds) else format_duration(seconds)
