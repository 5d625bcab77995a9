"""Simulate one scenario or a labelled grid of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcettr.model import analytic
from mcettr.model.params import Params
from mcettr.scenario import Grid, Scenario, compile_grid
from mcettr.sweep import interval, provenance
from mcettr.sweep.effort import (
    AnyScenario,
    Deadlines,
    Engine,
    as_scenario,
    check_calls,
    checked_effort,
    first_cell,
    for_deadlines,
    read_deadlines,
)
from mcettr.sweep.measured import run_notices
from mcettr.sweep.notes import Notes, tell
from mcettr.sweep.spaced import read_axis_values
from mcettr.sweep.spec import as_sweep_file
from mcettr.units import format_duration

if TYPE_CHECKING:
    import xarray as xr

    from mcettr.engine.estimates import Estimates
    from mcettr.engine.run import Effort

Progress = Callable[[float], None]
_SEARCH_SHARE = 0.4
"""Part of the progress that a search for intervals takes."""
_DATED_TIMELINES = 1_024
"""Least timelines of a cell whose completion probability is asked for: a 95 % interval of at most 0.03 either way."""


def simulate(
    scenario: AnyScenario,
    *,
    timelines: int | None = None,
    precision: float | None = None,
    seed: int = 0,
    device: str = "auto",
    deadlines: Sequence[str] = (),
    engine: Engine = "jax",
    progress: Progress | None = None,
    notes: Notes | None = None,
) -> xr.Dataset:
    """Return all metrics of one scenario with their standard errors.

    Parameters
    ----------
    scenario : Scenario, str, path or mapping
        A loaded scenario, or what `load` takes.
    timelines : int, optional
        How many simulated lives of the job.
    precision : float, optional
        Instead of `timelines`: go on until the standard error of ettr is at most this (0.001 when neither is given).
    seed : int
        Runs with one seed share their random draws, also between scenarios.
    device : str
        ``auto``, ``cpu`` or ``cuda[:i]``.
    deadlines : sequence of str
        Dates since submission, such as "25 d", whose completion probability is wanted.
    engine : {"jax", "reference"}
        The fast engine, or the readable one.
    progress : callable, optional
        Gets the fraction done, from 0 to 1.
    notes : callable, optional
        Gets one line of text for everything the user should know, before the run what is known before. Without it
        each line is a Python warning, a `mcettr.ScenarioWarning`. The lines are in `attrs["warnings"]` too.

    Returns
    -------
    xarray.Dataset
        Variables with units; an `X_se` beside each estimate `X`; times in seconds.

    >>> from mcettr.scenario import load
    >>> result = simulate(load("rsc-1").replace({"job.gpus": 2048, "job.work": "5 d"}), timelines=256)
    >>> 0.85 < float(result.ettr) < 0.92
    True

    Raises
    ------
    ScenarioError
        The scenario or an argument is wrong.
    DeviceError
        The device asked for cannot run.
    """
    check_calls(progress, notes)
    effort = checked_effort(timelines, precision, seed, device, engine)
    job = prepared(as_scenario(scenario), {}, read_deadlines(deadlines))
    return _result(job, effort, progress, notes)


def sweep(
    scenario: AnyScenario,
    axes: Mapping[str, Sequence[object] | Mapping[str, object]] | None = None,
    *,
    timelines: int | None = None,
    precision: float | None = None,
    seed: int | None = None,
    device: str = "auto",
    deadlines: Sequence[str] = (),
    engine: Engine = "jax",
    progress: Progress | None = None,
    notes: Notes | None = None,
) -> xr.Dataset:
    """Return all metrics over every combination of some fields' values.

    Parameters
    ----------
    scenario : Scenario, str, path or mapping
        What all cells share; without `axes` the name of a sweep file, whose settings the arguments below replace.
    axes : mapping of str to sequence or mapping
        Values by dotted path, or a spacing as in sweep files, ``{"geom": ["1 s", "10 min", 13]}``; each becomes a
        dimension under the last part of its path.
    timelines, precision, seed, device, deadlines, engine, progress, notes
        As in `simulate`; precision and timelines count for every cell. With deadlines each cell gets at least 1,024
        timelines unless `timelines` says otherwise. The seed is 0 if none is given, here or in a sweep file.

    Returns
    -------
    xarray.Dataset
        As of `simulate`, with the swept fields as leading dimensions; coordinates are the user's own decimals.

    >>> result = sweep("rsc-1", {"job.gpus": [1024, 2048], "checkpoint.write_time": ["10 s"]}, timelines=64)
    >>> result.ettr.sel(gpus=2048, write_time=10.0).dims, result.ettr.dims
    ((), ('gpus', 'write_time'))

    Raises
    ------
    ScenarioError
        The scenario, an axis, a cell or an argument is wrong; nothing has run then.
    DeviceError
        The device asked for cannot run.
    """
    check_calls(progress, notes)
    if axes is None:
        spec = as_sweep_file(scenario)
        scenario, axes, deadlines = spec.scenario, spec.axes, deadlines or spec.deadlines
        seed = spec.seed if seed is None else seed
        if timelines is None and precision is None:
            timelines, precision = spec.timelines, spec.precision
    effort = checked_effort(timelines, precision, 0 if seed is None else seed, device, engine)
    job = prepared(as_scenario(scenario), read_axis_values(axes), read_deadlines(deadlines))
    if timelines is None and job.deadlines.seconds:
        effort = replace(effort, min_timelines=_DATED_TIMELINES)
    return _result(job, effort, progress, notes)


def _result(job: Job, effort: Effort, progress: Progress | None, notes: Notes | None) -> xr.Dataset:
    began = time.monotonic()
    tell(job.grid.warnings, notes)
    params, estimates = run(job.grid, effort, job.deadlines, progress)
    from mcettr.sweep.dataset import build

    result = build(estimates, job.grid, params, job.deadlines)
    found = (*run_notices(job.scenario, job.grid, params, estimates), *_warnings(job.grid, params, estimates, effort))
    tell(found, notes)
    warnings = (*job.grid.warnings, *found)
    result.attrs = _attributes(job, effort, warnings, estimates, time.monotonic() - began)
    return result


@dataclass(frozen=True)
class Job:
    """What is to be run: the scenario, its cells and the dates asked for, all checked."""

    scenario: Scenario
    grid: Grid
    deadlines: Deadlines


def prepared(scenario: Scenario, axes: Mapping[str, Sequence[object]], deadlines: Deadlines) -> Job:
    """Return a checked job, before anything heavy is loaded."""
    grid = for_deadlines(compile_grid(scenario, axes), deadlines)
    return Job(scenario, grid, deadlines)


def run(grid: Grid, effort: Effort, deadlines: Deadlines, progress: Progress | None = None) -> tuple[Params, Estimates]:
    """Return the jobs with the intervals used, and what the engine found."""
    from mcettr.engine.run import estimate

    share = _SEARCH_SHARE if grid.auto_interval and interval.needs_search(grid.params) else 0.0
    params = interval.chosen(grid, effort, _part(progress, 0.0, share))
    return params, estimate(params, effort, deadlines.seconds, _part(progress, share, 1.0))


def _part(progress: Progress | None, start: float, end: float) -> Progress | None:
    return None if progress is None else lambda fraction: progress(start + (end - start) * fraction)


def _warnings(grid: Grid, params: Params, estimates: Estimates, effort: Effort) -> tuple[str, ...]:
    """Return what the results themselves call for."""
    found: list[str] = []

    def add(cells: Any, text: str) -> None:
        n_cells, n_bad = int(np.prod(grid.shape)), int(np.sum(cells))
        if n_bad:
            where = f" (cell {first_cell(grid, np.reshape(cells, grid.shape))}; {n_bad} of {n_cells} cells)"
            found.append(text + (where if grid.axes else ""))

    for cells, text in _unfinished(grid, params, estimates):
        add(cells, text)
    if effort.timelines is None:
        from mcettr.engine.run import DEFAULT_PRECISION

        wanted = DEFAULT_PRECISION if effort.precision is None else effort.precision
        missed = (estimates.se["ettr"] > wanted) & (estimates.capped_fraction < 1.0)
        add(missed, f"standard error of ettr above {wanted:g} even after {effort.max_timelines} timelines")
    if grid.auto_interval and (reason := analytic.core_model_reason(params)) is not None:
        how = "found by simulation" if interval.needs_search(params) else "the best at the mean rates"
        found.append(f"checkpoint.interval: auto is {how}: {reason}")
    return tuple(found)


def _unfinished(grid: Grid, params: Params, estimates: Estimates) -> list[tuple[Any, str]]:
    """Return which cells did not come to their end, by what stopped them, and what to say of them."""
    work_s, horizon_s = (np.broadcast_to(x, grid.shape).reshape(-1) for x in (params.work_s, params.horizon_s))
    capped = estimates.capped_fraction
    never = np.isfinite(work_s) & (estimates.finished_fraction == 0.0) & (capped < 1.0)
    all_capped, some_capped = capped == 1.0, (capped > 0.0) & (capped < 1.0)
    horizons = {format_duration(float(at_s)) for at_s in horizon_s[never]}
    horizon = f"the horizon ({horizons.pop()})" if len(horizons) == 1 else "the horizon"
    if not params.horizon_given:
        horizon = "1,000 times its work, where a job without job.horizon is cut off"
    n_failures = np.max(estimates.values["interruptions"], where=all_capped, initial=0.0)
    n_run = int(np.max(estimates.n_timelines, where=all_capped, initial=0))
    reached = f"all {n_run:,} timelines run reached the cap on failures and restarts, so no more were run"
    part = "elapsed, GPU-hours and interruptions are those of the part simulated"
    few = f"up to {100.0 * np.max(capped, where=some_capped, initial=0.0):.3g} % of the timelines were stopped"
    return [
        (never, f"never finishes: no timeline finished its work within {horizon}"),
        (all_capped, f"stopped after {n_failures:,.0f} failures, far from the end: {reached}; {part}"),
        (some_capped, f"{few} at the cap on failures: their {part}"),
    ]


def _attributes(
    job: Job, effort: Effort, warnings: tuple[str, ...], estimates: Estimates, wall_time_s: float
) -> dict[str, str]:
    more = {
        "content_id": provenance.content_id(job.grid.params, effort, job.deadlines.seconds),
        "axes": {axis.path: list(axis.labels) for axis in job.grid.axes},
        "deadlines": list(job.deadlines.labels),
        "total_timelines": int(estimates.n_timelines.sum()),
    }
    entries = provenance.entries(job.scenario, effort, wall_time_s, more)
    attributes = {"title": "mcettr result", "provenance": json.dumps(entries, ensure_ascii=False)}
    if warnings:
        attributes["warnings"] = "\n".join(warnings)
    swept = {axis.path for axis in job.grid.axes}
    if assumed := [entry for entry in job.scenario.assumed() if entry[0] not in swept]:
        lines = [f"{path} = {value}: assumed, not observed ({reason})" for path, value, reason in assumed]
        attributes["assumed"] = "\n".join(lines)
    return attributes
