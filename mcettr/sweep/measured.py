"""What a run measured, as warnings go by it; what its tallies do not hold, a pilot measures beside it."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcettr.model.budget import ACTIVITIES
from mcettr.model.measured_cautions import measured_warnings
from mcettr.model.measures import DOWN, Measured, Measures, proportion, within
from mcettr.model.params import Params
from mcettr.model.problems import Notice
from mcettr.scenario import Grid, Scenario
from mcettr.scenario.compile import notices
from mcettr.scenario.leaves import map_numbers

if TYPE_CHECKING:
    from mcettr.engine.estimates import Estimates

_MOST_PILOTS = 8
"""Cells of a grid that get a pilot, evenly spaced; they share its steps."""


def run_notices(scenario: Scenario, grid: Grid, params: Params, estimates: Estimates) -> tuple[Notice, ...]:
    """Return the warnings that the results of a run call for.

    Parameters
    ----------
    scenario : Scenario
        As the user wrote it.
    grid : Grid
        Its cells.
    params : Params
        The jobs as run.
    estimates : Estimates
        What the engine found, one entry a cell.
    """
    found = _with_corruption(params, grid, measures_of(params, estimates))
    return notices(scenario, grid.axes, grid.shape, measured_warnings(params, found))


def measures_of(params: Params, estimates: Estimates) -> Measures:
    """Return what a run measured, with the intervals that its standard errors give.

    A cell that no timeline finished gets no share of finished ones: the run says so in words of its own.
    """
    values, se, n = estimates.values, estimates.se, estimates.n_timelines
    elapsed_s, n_causes = values["elapsed_s"], len(params.causes)
    down = values["time_fraction"][:, [ACTIVITIES.index(name) for name in DOWN]].sum(axis=1)
    shape = np.shape(params.checkpoint.interval_s)
    rates = [np.broadcast_to(cause.rate_per_s, shape).reshape(-1) for cause in params.causes]
    struck, struck_se = values["interruptions_by_cause"], se["interruptions_by_cause"]
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.stack(rates, axis=-1) * (elapsed_s * (1.0 - down))[:, None] if n_causes else np.zeros_like(struck)
        factor = np.where(expected > 0.0, struck / expected, np.nan)
        # Both the failures and the time they are over vary; adding the errors errs on the safe side.
        factor_se = factor * (struck_se / struck + (se["elapsed_s"] / elapsed_s)[:, None])
    finished = np.where(estimates.finished_fraction > 0.0, estimates.finished_fraction, np.nan)
    spare_wait = "spare_wait_probability"
    return Measures(
        n_timelines=n,
        until_s=None,
        ettr=within(values["ettr"], se["ettr"]),
        time_fraction=within(values["time_fraction"], se["time_fraction"]),
        lost=values["lost_s"] / elapsed_s[:, None, None],
        rate_factor=within(factor, factor_se),
        failures=within(values["interruptions"], se["interruptions"]),
        restarts=within(values["interruptions"], se["interruptions"]),
        elapsed_s=within(elapsed_s, se["elapsed_s"]),
        finished=proportion(finished * n, n),
        capped=proportion(estimates.capped_fraction * n, n),
        no_spare=within(values[spare_wait], se[spare_wait]) if spare_wait in values else None,
    )


def _with_corruption(params: Params, grid: Grid, found: Measures) -> Measures:
    """Add what a pilot says of silent corruption, in as many cells as it can look at."""
    if not any(cause.kind == "silent" for cause in params.causes):
        return found
    from mcettr.engine.pilot import MAX_STEPS, pilot

    n_cells = len(found.n_timelines)
    cells = np.unique(np.linspace(0, n_cells - 1, min(n_cells, _MOST_PILOTS)).round().astype(int))
    parts = {name: np.full((3, n_cells), np.nan) for name in ("no_clean", "kept_corrupt")}
    n_timelines, until_s = found.n_timelines.copy(), np.full(n_cells, np.inf)
    for cell in cells:
        job = map_numbers(params, functools.partial(_of_cell, shape=grid.shape, cell=int(cell)))
        seen = pilot(job, max_steps=MAX_STEPS // len(cells))
        n_timelines[cell], until_s[cell] = seen.n_timelines[0], np.inf if seen.until_s is None else seen.until_s
        for name in parts:
            measured = getattr(seen, name)
            if measured is not None and (name == "no_clean" or seen.until_s is None):
                parts[name][:, cell] = [part[0] for part in measured]
    return replace(
        found,
        no_clean=Measured(*parts["no_clean"]),
        kept_corrupt=Measured(*parts["kept_corrupt"]),
        pilot_timelines=n_timelines,
        pilot_until_s=until_s,
    )


def _of_cell(value: Any, shape: tuple[int, ...], cell: int) -> float:
    return float(np.broadcast_to(np.asarray(value, np.float64), shape).reshape(-1)[cell])
