"""What a simulation measured of a job, with its error: what warnings and `check` go by, whoever simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.model.budget import ACTIVITIES

Array = NDArray[np.float64]
DOWN = ("detection", "diagnosis", "spare_wait", "queue", "maintenance")
"""Activities during which nothing fails."""
_CONFIDENCE = 0.95


class Measured(NamedTuple):
    """An estimate and the ends of its 95 % interval; arrays of one shape, or floats."""

    value: Any
    low: Any
    high: Any

    def at(self, *index: Any) -> Measured:
        """Return one of many."""
        return Measured(*(float(part[index]) for part in self))

    def times(self, factor: Any) -> Measured:
        """Return the estimate in another unit."""
        return Measured(*(part * factor for part in self))


@dataclass(frozen=True)
class Measures:
    """What was measured, cell by cell (the first dimension of every array; one for a single job).

    Parameters
    ----------
    n_timelines : ndarray of int, shape (cells,)
        Timelines simulated.
    until_s : float or None
        Only the time from the submission until then was simulated, in seconds; None for whole timelines.
    ettr : Measured, shape (cells,)
        Productive over elapsed time.
    time_fraction : Measured, shape (cells, activities)
        Share of the elapsed time by activity.
    lost : ndarray, shape (cells, causes + 4, activities)
        Lost time over elapsed time, by `mcettr.model.budget.cause_rows` and activity.
    rate_factor : Measured, shape (cells, causes)
        Failures of a cause over its rate times the time at risk; NaN where a cause has no rate.
    failures, restarts : Measured, shape (cells,)
        Failures of a timeline, and all that made it start anew, or until `until_s`.
    elapsed_s : Measured, shape (cells,)
        Wall-clock seconds of a timeline, or until `until_s`.
    finished, capped : Measured, shape (cells,)
        Shares of the timelines that finished their work, and that were stopped at the cap on events.
    no_spare : Measured or None
        Share of the recoveries in need of a node that found too few spares.
    no_clean : Measured or None
        Share of the corruptions found of which no checkpoint from before was kept.
    kept_corrupt : Measured or None
        Share of the timelines that end with corrupt work counted as kept.
    pilot_timelines, pilot_until_s : ndarray or None, shape (cells,)
        Timelines behind the two shares of corruption, where a pilot measured them beside a run, and until when it
        simulated, in seconds (inf for whole timelines).
    """

    n_timelines: NDArray[np.int64]
    until_s: float | None
    ettr: Measured
    time_fraction: Measured
    lost: Array
    rate_factor: Measured
    failures: Measured
    restarts: Measured
    elapsed_s: Measured
    finished: Measured
    capped: Measured
    no_spare: Measured | None = None
    no_clean: Measured | None = None
    kept_corrupt: Measured | None = None
    pilot_timelines: NDArray[np.int64] | None = None
    pilot_until_s: Array | None = None

    def share(self, activity: str) -> Measured:
        """Return the share of the elapsed time that an activity takes, (cells,)."""
        index = ACTIVITIES.index(activity)
        return Measured(*(part[:, index] for part in self.time_fraction))


def ratio(numerator: Any, denominator: Any) -> Measured:
    """Return a ratio of sums over timelines (the first dimension), with its interval by the delta method.

    The standard error of r = sum y / sum x over n timelines is that of y - r x (Cochran 1977, equation 2.39); the
    interval takes Student's t with n - 1 degrees of freedom, as a pilot has few timelines.

    >>> [round(float(part), 3) for part in ratio(np.array([1.0, 3.0]), np.array([4.0, 4.0]))]
    [0.5, -2.677, 3.677]
    """
    y, x = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    n, total = len(y), x.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = y.sum(axis=0) / total
        error = np.sqrt(np.square(y - value * x).sum(axis=0) * (n / max(n - 1.0, 1.0))) / np.abs(total)
    half = error * special.stdtrit(n - 1.0, 0.5 + 0.5 * _CONFIDENCE) if n > 1 else np.full_like(value, np.inf)
    return Measured(value, value - half, value + half)


def proportion(count: Any, n: Any) -> Measured:
    """Return a share of n independent timelines with its interval by Wilson (1927).

    >>> [round(float(part), 3) for part in proportion(8, 8)]
    [1.0, 0.676, 1.0]
    """
    count, n = np.asarray(count, np.float64), np.asarray(n, np.float64)
    z2 = float(special.ndtri(0.5 + 0.5 * _CONFIDENCE)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        value = count / n
        centre, scale = (value + 0.5 * z2 / n) / (1.0 + z2 / n), 1.0 + z2 / n
        half = np.sqrt(z2 * (value * (1.0 - value) / n + 0.25 * z2 / np.square(n))) / scale
    return Measured(value, np.clip(centre - half, 0.0, value), np.clip(centre + half, value, 1.0))


def within(value: Any, standard_error: Any) -> Measured:
    """Return an estimate with the interval that its standard error gives."""
    half = float(special.ndtri(0.5 + 0.5 * _CONFIDENCE)) * np.asarray(standard_error, np.float64)
    return Measured(np.asarray(value, np.float64), value - half, value + half)


def shown_share(share: Measured) -> str:
    """Return a share in percent, as precisely as it is known.

    >>> shown_share(Measured(0.4213, 0.35, 0.49)), shown_share(Measured(0.4213, 0.4208, 0.4218))
    ('about 42 % (35 to 49 %)', 'about 42.13 % (42.08 to 42.18 %)')
    >>> shown_share(Measured(0.00044, 0.00044, 0.00044))
    'about 0.044 %'
    """
    value, low, high = _as_known(*(100.0 * min(max(part, 0.0), 1.0) for part in share))
    return f"about {value} %" if low == high else f"about {value} % ({low} to {high} %)"


def shown_factor(factor: Measured) -> str:
    """Return a factor as precisely as it is known.

    >>> shown_factor(Measured(1.3512, 1.31, 1.39)), shown_factor(Measured(6.4e10, 1.5e9, 1.3e11))
    ('1.35 x (1.31 to 1.39)', '6.4e+10 x (1.5e+09 to 1.3e+11)')
    """
    value, low, high = _as_known(*factor)
    return f"{value} x" if low == high else f"{value} x ({low} to {high})"


def _as_known(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Return an estimate and the ends of its interval, with as many digits as tell the ends apart."""
    width = high - low
    digits = int(np.ceil(-np.log10(0.5 * width))) if 0.0 < width < np.inf else 9
    if digits > 3 or value >= 1e5:
        texts = [f"{part:.3g}" for part in (value, low, high)]
    else:
        texts = [f"{part:.{max(digits, 0)}f}" for part in (value, low, high)]
    return texts[0], texts[1], texts[2]
