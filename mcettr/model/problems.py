"""What a check says about a job: a problem, the cells of a sweep that it concerns, the job's numbers by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mcettr.model.distributions import Number
from mcettr.model.fields import counts, fields
from mcettr.model.measures import Measured
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
    code : str
        Which warning it is, for programs; empty for errors.
    measured : Measured or None
        The number that a warning gives and the ends of its 95 % interval, where it was simulated.
    """

    level: Literal["error", "warning"]
    path: str
    message: str
    cells: NDArray[np.bool_] | None
    code: str = ""
    measured: Measured | None = None


class Notice(str):
    """A warning: its text, with what it is about beside it.

    Parameters
    ----------
    text : str
        One line for people, which begins with the path.
    code : str
        Which warning it is, such as ``spare-wait``.
    path : str
        Dotted path of the field to change.
    measured : Measured or None
        The number that it gives and the ends of its 95 % interval, where it was simulated.

    Examples
    --------
    >>> notice = Notice("job.gpus: odd", "part-node", "job.gpus")
    >>> notice, notice.code
    ('job.gpus: odd', 'part-node')
    """

    code: str
    path: str
    measured: Measured | None

    def __new__(cls, text: str, code: str = "", path: str = "", measured: Measured | None = None) -> Notice:
        """Return the text with its facts."""
        self = super().__new__(cls, text)
        self.code, self.path, self.measured = code, path, measured
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return what copies and pickles are made of."""
        return str(self), self.code, self.path, self.measured

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as an object for JSON."""
        value, low, high = self.measured or (None, None, None)
        return {"code": self.code, "path": self.path, "message": str(self), "value": value, "low": low, "high": high}


class Cells:
    """The cells of a job's arrays: where a condition holds, and the numbers of the first such cell."""

    def __init__(self, params: Params) -> None:
        numbers = [field.value for field in fields(params)]
        for _, law in counts(params):
            numbers += [*law.values, *law.cumulative]
        if (local := params.checkpoint.local) is not None:
            numbers += [local.n_a_main, local.holds_main]
        self.shape = np.broadcast_shapes(*(np.shape(number) for number in numbers))

    def where(
        self,
        level: Literal["error", "warning"],
        path: str,
        bad: Any,
        say: Callable[..., str],
        *values: Number,
        code: str = "",
    ) -> Iterator[Problem]:
        """Yield a problem if `bad` holds anywhere; `say` gets the `values` of the first cell where it does."""
        cells = np.broadcast_to(np.asarray(bad, dtype=np.bool_), self.shape)
        if cells.any():
            first = np.unravel_index(int(np.argmax(cells)), self.shape)
            numbers = (float(np.broadcast_to(value, self.shape)[first]) for value in values)
            yield Problem(level, path, say(*numbers), cells.copy() if self.shape else None, code)


def duration_text(seconds: float) -> str:
    """Return a duration as text.

    >>> duration_text(90.0), duration_text(float("nan"))
    ('90 s', 'nan')
    """
    return "nan" if np.isnan(seconds) else format_duration(seconds)
