"""The best checkpoint interval of each cell where the closed form does not know it: by simulation.

The closed form (Lambert W) is exact for failures at constant rates, and depends on nothing but the total rate and the
blocked time of a save. Mechanisms that only lengthen restarts leave the optimum where it is. Three things can move it:
causes with a law of their own (`every`), other mechanisms, and rates that are very uncertain. Of these, the loss of a
fixed interval, C / T + rate T / 2, is linear in the rate to first order, so the optimum at the mean rate stays the best
one up to terms of higher order. Integrated exactly over the gamma posterior, it loses less than 0.2 points of ETTR even
for a rate from a single counted event (shape 1.5, writes up to 5 min, a mean time to failure of an hour or more; a test
pins this), but up to 1 point at shape 0.5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcettr.model import analytic
from mcettr.model.analytic import with_interval
from mcettr.model.core import mechanisms
from mcettr.model.events import events_by_kind, most_attempts
from mcettr.model.params import Params
from mcettr.scenario.leaves import map_numbers
from mcettr.sweep.effort import INTERVAL_TIMELINES

if TYPE_CHECKING:
    from mcettr.engine.run import Effort
    from mcettr.scenario import Grid

REACH = (4.0, 1.4, 1.09)
"""How far each look reaches from the best interval so far, as a factor."""
POINTS = 9
"""Intervals tried in a look."""
_TIMELINES, _GROUPED_TIMELINES = 512, 4_096
_LARGEST_SQUARED_CV = 0.7
Array = NDArray[np.float64]


def needs_search(params: Params) -> bool:
    """Return whether the closed form may miss the best interval, and a simulation comes to an end that shows it."""
    if np.all(events_by_kind(params).attempts > most_attempts(params)):
        return False
    quick = replace(params.recovery, startup_if_replaced=(), start_failure=None, spares=None, data_fast_forward=0.0)
    if any(cause.every is not None for cause in params.causes) or mechanisms(replace(params, recovery=quick)):
        return True
    total = np.maximum(analytic.failure_rate_per_s(params), 1e-300)
    squares = sum((np.square(c.rate_per_s / total) / c.rate_shape for c in params.causes), start=np.float64(0.0))
    squares = (1.0 + squares) * (1.0 + np.divide(1.0, params.rate_shape)) - 1.0
    return bool(np.any(squares > _LARGEST_SQUARED_CV))


def uncertain(params: Params) -> bool:
    """Return whether some rate is a draw, shared by a group of timelines."""
    shapes = [params.rate_shape, *(cause.rate_shape for cause in params.causes)]
    return any(bool(np.any(np.isfinite(shape))) for shape in shapes)


def chosen(grid: Grid, effort: Effort, progress: Callable[[float], None] | None = None) -> Params:
    """Return the jobs of a grid with the intervals to run them with."""
    if not (grid.auto_interval and needs_search(grid.params)):
        return grid.params
    return refined(grid.params, effort, progress)


def refined(
    params: Params,
    effort: Effort,
    progress: Callable[[float], None] | None = None,
    *,
    reach: Sequence[float] = REACH,
    timelines: int | None = None,
) -> Params:
    """Return the jobs with the intervals that simulate best, starting from those they have.

    Three looks of nine intervals each, on the same draws, each closer around the best of the one before; at last the
    vertex of the parabola in log interval through the best and its neighbours.

    Parameters
    ----------
    params : Params
        The jobs.
    effort : Effort
        Seed, device, engine and cap of the run.
    progress : callable, optional
        Gets the fraction done.
    reach : sequence of float
        How far each look reaches, as a factor.
    timelines : int, optional
        Timelines of each interval tried: 512, or 4,096 with uncertain rates, unless fewer will do.
    """
    interval_s = np.asarray(params.checkpoint.interval_s, dtype=np.float64)
    usual = _GROUPED_TIMELINES if uncertain(params) else _TIMELINES
    paired = replace(
        effort, timelines=min(timelines or usual, usual), precision=None, first_timeline=INTERVAL_TIMELINES
    )
    for part, factor in enumerate(reach):

        def report(fraction: float, part: int = part) -> None:
            if progress is not None:
                progress((part + fraction) / len(reach))

        interval_s = _best_of(params, interval_s, factor, paired, report)
    return with_interval(params, interval_s[()])


def _best_of(params: Params, centre_s: Array, reach: float, paired: Effort, progress: Callable[[float], None]) -> Array:
    """Return the best interval up to a factor of `reach` around each centre."""
    from mcettr.engine.run import paired_blocks

    steps = np.geomspace(1.0 / reach, reach, POINTS)
    tried_s = np.minimum(np.asarray(centre_s)[..., None] * steps, np.asarray(params.work_s)[..., None])
    grid = with_interval(map_numbers(params, lambda value: np.asarray(value)[..., None]), tried_s)
    blocks = paired_blocks(grid, paired, progress)
    ettr = (blocks.productive_s.sum(axis=1) / blocks.elapsed_s.sum(axis=1)).reshape(tried_s.shape)
    middle = np.clip(np.argmax(ettr, axis=-1), 1, POINTS - 2)
    around = middle[..., None] + np.array([-1, 0, 1])
    log_s = vertex(np.take_along_axis(np.log(tried_s), around, -1), np.take_along_axis(ettr, around, -1))
    return np.asarray(np.exp(log_s), dtype=np.float64)


def vertex(x: Any, y: Any) -> Any:
    """Return where the parabola through three points (last axis) is highest, never outside them.

    >>> float(vertex(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])))
    1.1666666666666667
    """
    left, right = x[..., 1] - x[..., 0], x[..., 2] - x[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        rise, fall = (y[..., 1] - y[..., 0]) / left, (y[..., 2] - y[..., 1]) / right
        top = x[..., 1] + 0.5 * (rise * right + fall * left) / (rise - fall)
    highest = np.take_along_axis(x, np.argmax(y, axis=-1)[..., None], -1)[..., 0]
    return np.where(np.isfinite(top) & (rise > fall), np.clip(top, x[..., 0], x[..., 2]), highest)
