"""From the engine's estimates to a labelled dataset: every variable with its dimensions, unit and meaning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcettr.model import analytic
from mcettr.model.budget import ACTIVITIES, UNHELD
from mcettr.model.metrics import COORDINATES, MEANINGS
from mcettr.model.params import Params

if TYPE_CHECKING:
    import xarray as xr

    from mcettr.engine.estimates import Estimates
    from mcettr.scenario import Axis, Grid
    from mcettr.sweep.effort import Deadlines

HOUR_S = 3600.0
NORMAL_95 = 1.959963984540054
_Entry = tuple[tuple[str, ...], NDArray[Any]]

_INTERVAL_OF = {
    "completion": "completion_probability",
    "finished": "finished_fraction",
    "capped": "capped_fraction",
}
"""Names of intervals that are not the name of their estimate."""
_ENDS = {"_low": "lower end of the 95 % interval of", "_high": "upper end of the 95 % interval of"}


def build(estimates: Estimates, grid: Grid, params: Params, deadlines: Deadlines) -> xr.Dataset:
    """Return the dataset of a run; leading dimensions are the swept fields.

    Parameters
    ----------
    estimates : Estimates
        What the engine returned, one entry a cell.
    grid : Grid
        The cells and their axes.
    params : Params
        The jobs as run, with the intervals that were used.
    deadlines : Deadlines
        The dates of `completion_probability`.
    """
    import xarray as xr

    names = axis_names(grid.axes)
    entries = {**_scalars(estimates, params), **_tables(estimates, params), **_distributions(estimates, deadlines)}
    variables = {}
    for name, (dims, values) in entries.items():
        if values.size == 0:
            continue
        shaped = values.reshape(grid.shape + values.shape[1:])
        variables[name] = xr.Variable((*names, *dims), shaped, _attributes(name))
    return xr.Dataset(variables, _coordinates(estimates, grid, params, names, deadlines))


def axis_names(axes: tuple[Axis, ...]) -> tuple[str, ...]:
    """Return the dimension of each axis: its short name, with the part before it where a variable has that name."""
    taken = {*MEANINGS, *COORDINATES} - {"gpus"}
    return tuple("_".join(axis.path.split(".")[-2:]) if axis.name in taken else axis.name for axis in axes)


def _attributes(name: str) -> dict[str, str]:
    base, text = name.removesuffix("_se"), "standard error of"
    for ending, words in _ENDS.items():
        if name.endswith(ending):
            short = name.removesuffix(ending)
            base, text = _INTERVAL_OF.get(short, short), words
    units, meaning = MEANINGS[base]
    return {"units": units, "long_name": meaning if base == name else f"{text} {base}"}


def _shown(estimates: Estimates, name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return an estimate, or its error, with nan where it rests on too few timelines to be given as a number."""
    if name not in estimates.left_out:
        return values
    return np.where(estimates.left_out[name], np.nan, values)


def _interval(estimates: Estimates, name: str) -> dict[str, NDArray[Any]]:
    """Return the ends of the interval of an estimate, by name; none where it has no interval."""
    ends = {f"{name}_low": estimates.low, f"{name}_high": estimates.high}
    return {end: values[name] for end, values in ends.items() if name in values}


def _flat(params: Params, value: Any) -> NDArray[np.float64]:
    """Return a number of each cell, as a flat array."""
    shape = np.shape(params.checkpoint.interval_s)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), shape).reshape(-1)


def _scalars(estimates: Estimates, params: Params) -> dict[str, _Entry]:
    """Return the variables that are one number a cell."""
    gpus_hours = _flat(params, params.n_gpus) / HOUR_S
    found: dict[str, Any] = {}
    for name, source, factor in (
        ("ettr", "ettr", 1.0),
        ("ettr_occupied", "ettr_occupied", 1.0),
        ("ettr_correct", "ettr_correct", 1.0),
        ("corrupt_fraction", "corrupt_fraction", 1.0),
        ("ettr_timeline_mean", "ettr_timeline_mean", 1.0),
        ("interruptions", "interruptions", 1.0),
        ("checkpoints_written", "checkpoints_written", 1.0),
        ("elapsed", "elapsed_s", 1.0),
        ("productive", "productive_s", 1.0),
        ("gpu_hours", "held_s", gpus_hours),
        ("spare_wait_probability", "spare_wait_probability", 1.0),
        ("nodes_out_mean", "nodes_out_mean", 1.0),
    ):
        if source not in estimates.values:
            continue
        found[name] = _shown(estimates, source, estimates.values[source]) * factor
        found[f"{name}_se"] = _shown(estimates, source, estimates.se[source]) * factor
        found |= _interval(estimates, source)
    found["ettr_timeline_sd"] = estimates.ettr_timeline_sd
    found["interruptions_sd"] = estimates.interruptions_sd
    found["checkpoint_interval"] = _flat(params, params.checkpoint.interval_s)
    found["mttf_s"] = _flat(params, analytic.mttf_s(params))
    found["finished_fraction"] = estimates.finished_fraction
    found["capped_fraction"] = estimates.capped_fraction
    found |= _interval(estimates, "finished") | _interval(estimates, "capped")
    found["timelines"] = estimates.n_timelines
    for kind, by_metric in (
        ("run_to_run_sd", estimates.run_to_run_sd),
        ("rate_uncertainty_sd", estimates.rate_uncertainty_sd),
    ):
        for metric, prefix in (("ettr", ""), ("interruptions", "interruptions_"), ("elapsed_s", "elapsed_")):
            if by_metric is not None:
                found[f"{prefix}{kind}"] = by_metric[metric]
    return {name: ((), np.asarray(values)) for name, values in found.items()}


def _tables(estimates: Estimates, params: Params) -> dict[str, _Entry]:
    """Return the variables by cause and activity."""
    gpus_hours = _flat(params, params.n_gpus)[:, None, None] / HOUR_S
    held = np.array([name not in ("productive", *UNHELD) for name in ACTIVITIES])
    found: dict[str, _Entry] = {}
    for suffix, source in (("", estimates.values), ("_se", estimates.se)):
        found[f"time_fraction{suffix}"] = (("activity",), _shown(estimates, "time_fraction", source["time_fraction"]))
        lost_s = _shown(estimates, "lost_s", source["lost_s"])
        found[f"lost_gpu_hours{suffix}"] = (("cause", "activity"), np.where(held, lost_s * gpus_hours, 0.0))
        for name in UNHELD if params.maintenance is not None else ("queue",):
            found[f"{name}_hours{suffix}"] = (("cause",), lost_s[:, :, ACTIVITIES.index(name)] / HOUR_S)
        failures = _shown(estimates, "interruptions_by_cause", source["interruptions_by_cause"])
        found[f"interruptions_by_cause{suffix}"] = (("cause",), _rows(failures, estimates))
    for name, ends in _interval(estimates, "interruptions_by_cause").items():
        found[name] = (("cause",), _rows(ends, estimates))
    return found


def _rows(of_failures: NDArray[np.float64], estimates: Estimates) -> NDArray[np.float64]:
    """Return numbers of failure causes with 0 for the causes that are none."""
    rows = np.zeros((of_failures.shape[0], len(estimates.causes)))
    rows[:, 1 : 1 + of_failures.shape[1]] = of_failures
    return rows


def _distributions(estimates: Estimates, deadlines: Deadlines) -> dict[str, _Entry]:
    """Return quantiles and completion."""
    found: dict[str, _Entry] = {}
    for name, values in (
        ("ettr_timeline_quantile", estimates.ettr_timeline_quantile),
        ("completion_time", estimates.completion_time_s),
        ("longest_stretch_quantile", estimates.longest_stretch_quantile_s),
        ("nodes_out_quantile", estimates.nodes_out_quantile),
        ("nodes_out_most_quantile", estimates.nodes_out_most_quantile),
    ):
        if values is not None:
            found[name] = (("quantile",), _shown(estimates, name, values))
            found |= {end: (("quantile",), ends) for end, ends in _interval(estimates, name).items()}
    if deadlines.seconds:
        name, low, high = "completion_probability", estimates.completion_low, estimates.completion_high
        found[name] = (("deadline",), _shown(estimates, name, estimates.completion_probability))
        found[f"{name}_se"] = (("deadline",), _shown(estimates, name, (high - low) / (2.0 * NORMAL_95)))
        found["completion_low"], found["completion_high"] = (("deadline",), low), (("deadline",), high)
    return found


def _coordinates(
    estimates: Estimates, grid: Grid, params: Params, names: tuple[str, ...], deadlines: Deadlines
) -> dict[str, Any]:
    from mcettr.engine.estimates import QUANTILES

    found: dict[str, Any] = {}
    for axis, name in zip(grid.axes, names, strict=True):
        labels = json.dumps(list(axis.labels))
        attributes = {"units": axis.unit, "long_name": axis.path, "labels": labels}
        found[name] = (name, axis.values, attributes)
    if not any(axis.path == "job.gpus" for axis in grid.axes):
        gpus = np.asarray(params.n_gpus, dtype=np.float64).reshape(-1)[0]
        found.setdefault("gpus", ((), gpus, _label("gpus")))
    found["cause"] = ("cause", np.array(estimates.causes, dtype=object), _label("cause"))
    found["activity"] = ("activity", np.array(ACTIVITIES, dtype=object), _label("activity"))
    found["quantile"] = ("quantile", np.array(QUANTILES), _label("quantile"))
    if deadlines.seconds:
        attributes = _label("deadline") | {"labels": json.dumps(list(deadlines.labels))}
        found["deadline"] = ("deadline", np.array(deadlines.seconds), attributes)
    return found


def _label(name: str) -> dict[str, str]:
    units, meaning = COORDINATES[name]
    return {"units": units, "long_name": meaning}
