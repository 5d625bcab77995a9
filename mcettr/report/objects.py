"""Results as plain objects for JSON: no NaN, no infinity, every estimate a value with its standard error."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mcettr.model.budget import cause_rows
from mcettr.report.tables import cell_arrays, cell_dims, coordinate_columns, labels_of

if TYPE_CHECKING:
    import xarray as xr

Json = dict[str, Any]

COMPLETION_LEVELS = ("0.5", "0.8", "0.9", "0.95", "0.99")
"""Shares of the timelines whose completion time is shown."""

NO_FAILURES = cause_rows(())
"""Causes of lost time that never interrupt."""

_ESTIMATES = {
    "ettr": "ettr",
    "ettr_occupied": "ettr_occupied",
    "ettr_correct": "ettr_correct",
    "corrupt_fraction": "corrupt_fraction",
    "interruptions": "interruptions",
    "elapsed": "elapsed_s",
    "productive": "productive_s",
    "gpu_hours": "gpu_hours",
    "checkpoints_written": "checkpoints_written",
    "spare_wait_probability": "spare_wait_probability",
    "nodes_out_mean": "nodes_out_mean",
}
_NUMBERS = {
    "mttf_s": "mttf_s",
    "finished_fraction": "finished_fraction",
    "finished_low": "finished_low",
    "finished_high": "finished_high",
    "capped_fraction": "capped_fraction",
    "capped_low": "capped_low",
    "capped_high": "capped_high",
    "checkpoint_interval": "checkpoint_interval_s",
    "interruptions_sd": "interruptions_sd",
    "timelines": "timelines",
    "rate_uncertainty_sd": "rate_uncertainty_sd",
    "run_to_run_sd": "run_to_run_sd",
    "interruptions_rate_uncertainty_sd": "interruptions_rate_uncertainty_sd",
    "interruptions_run_to_run_sd": "interruptions_run_to_run_sd",
    "elapsed_rate_uncertainty_sd": "elapsed_rate_uncertainty_sd_s",
    "elapsed_run_to_run_sd": "elapsed_run_to_run_sd_s",
}
_QUANTILES = {
    f"{name}{end}": f"{name}{end}{unit}"
    for end in ("", "_low", "_high")
    for name, unit in (
        ("nodes_out_quantile", ""),
        ("nodes_out_most_quantile", ""),
        ("longest_stretch_quantile", "_s"),
    )
}


def to_json(tree: Mapping[str, Any]) -> str:
    """Return an object as JSON text, plain ASCII; what is infinite or undefined becomes null.

    >>> print(to_json({"mttf_s": float("inf")}))
    {
      "mttf_s": null
    }
    """
    return json.dumps(plain(tree), indent=2, ensure_ascii=True, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a nested value with NumPy numbers made plain and NaN and infinity made None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


_NEEDED = (
    "ettr_se",
    "ettr_timeline_mean",
    "ettr_timeline_sd",
    "ettr_timeline_quantile",
    "interruptions_by_cause",
    "completion_time",
)


def is_whole(result: xr.Dataset) -> bool:
    """Return whether a dataset holds what `result_json` needs: it may be a part that somebody selected."""
    return "provenance" in result.attrs and set(_NEEDED) <= set(result.data_vars)


def run_object(result: xr.Dataset) -> Json:
    """Return the result of a single job as the object that ``mcettr run --json`` prints."""
    return next(_cells(result)) | _common(result)


def result_json(result: xr.Dataset) -> Iterator[str]:
    """Return a result as JSON, in pieces: `run_object` for a single job, for a sweep its axes and its cells.

    A cell holds its coordinates under the names of the axes, and what `run_object` holds. Pieces, because a large grid
    as one object takes a hundred times the memory of its numbers.
    """
    if not cell_dims(result):
        yield to_json(run_object(result))
        return
    head = {"axes": [_axis(result, dim) for dim in cell_dims(result)]} | _common(result)
    yield json.dumps(plain(head), allow_nan=False)[:-1] + ', "cells": ['
    names, columns = cell_dims(result), [column.values.tolist() for column in coordinate_columns(result)]
    between = "\n"
    for coordinates, cell in zip(zip(*columns, strict=True), _cells(result), strict=True):
        yield between + json.dumps(plain(dict(zip(names, coordinates, strict=True)) | cell), allow_nan=False)
        between = ",\n"
    yield "\n]}"


def _axis(result: xr.Dataset, dim: str) -> Json:
    return {
        "name": dim,
        "path": result[dim].attrs.get("long_name", dim),
        "unit": result[dim].attrs.get("units", "1"),
        "values": result[dim].values.tolist(),
        "labels": labels_of(result, dim),
    }


def _common(result: xr.Dataset) -> Json:
    """Return what all cells share: seed, scenario, provenance, and lines worth reading."""
    from mcettr.scenario.document import read_yaml

    provenance = json.loads(result.attrs["provenance"])
    text = provenance.pop("scenario")
    return {
        "seed": provenance["seed"],
        "scenario": read_yaml(text, "scenario").tree,
        "warnings": lines_of(result, "warnings"),
        "assumed": lines_of(result, "assumed"),
        "provenance": provenance | {"scenario": text},
    }


def lines_of(result: xr.Dataset, name: str) -> list[str]:
    """Return the lines of an attribute such as `warnings`; none where the result has no such attribute."""
    return str(result.attrs.get(name, "")).splitlines()


def _cells(result: xr.Dataset) -> Iterator[Json]:
    arrays = {name: values.tolist() for name, values in cell_arrays(result).items()}
    labels = {dim: labels_of(result, dim) for dim in map(str, result.dims)}
    inner = {name: [dim for dim in map(str, result[name].dims) if dim not in cell_dims(result)] for name in arrays}
    for i in range(len(arrays["ettr"])):
        cell = {name: values[i] for name, values in arrays.items()}
        yield _cell(cell, {name: [labels[dim] for dim in dims] for name, dims in inner.items()})


def _cell(cell: Json, labels: dict[str, list[list[str]]]) -> Json:
    def estimate(name: str) -> Any:
        parts = {"value": cell[name], "se": cell[f"{name}_se"]}
        parts |= {end: cell[f"{name}_{end}"] for end in ("low", "high") if f"{name}_{end}" in cell}
        return _labelled(parts, labels[name])

    tree = {key: estimate(name) for name, key in _ESTIMATES.items() if name in cell}
    tree |= {key: cell[name] for name, key in _NUMBERS.items() if name in cell}
    tree["ettr_timeline"] = {
        "mean": estimate("ettr_timeline_mean"),
        "sd": cell["ettr_timeline_sd"],
        "quantiles": _quantiles(cell, labels, "ettr_timeline_quantile"),
    }
    tables = ("time_fraction", "lost_gpu_hours", "queue_hours", "maintenance_hours")
    tree |= {name: estimate(name) for name in tables if name in cell}
    tree |= {key: _quantiles(cell, labels, name) for name, key in _QUANTILES.items() if name in cell}
    by_cause = estimate("interruptions_by_cause")
    tree["interruptions_by_cause"] = {cause: n for cause, n in by_cause.items() if cause not in NO_FAILURES}
    for end in ("", "_low", "_high"):
        times_s = _quantiles(cell, labels, f"completion_time{end}")
        tree[f"completion_time{end}_s"] = {level: times_s[level] for level in COMPLETION_LEVELS if level in times_s}
    tree["completion"] = _completion(cell, labels)
    return tree


def _quantiles(cell: Json, labels: dict[str, list[list[str]]], name: str) -> Json:
    return dict(zip(labels[name][0], cell[name], strict=True))


def _labelled(parts: Json, labels: list[list[str]]) -> Any:
    """Return nested lists as nested objects of {value, se}, with low and high where there is an interval.

    An estimate that rests on too few timelines is null; only then are its bounds given, and always where there are any.
    """
    if not labels:
        left_out = isinstance(parts["value"], float) and math.isnan(parts["value"])
        return parts if left_out else {name: parts[name] for name in ("value", "se")}
    rows = [{name: values[i] for name, values in parts.items()} for i in range(len(labels[0]))]
    return {label: _labelled(row, labels[1:]) for label, row in zip(labels[0], rows, strict=True)}


def _completion(cell: Json, labels: dict[str, list[list[str]]]) -> Json:
    name = "completion_probability"
    if name not in cell:
        return {}
    numbers = zip(cell[name], cell["completion_low"], cell["completion_high"], strict=True)
    return {
        deadline: {"probability": probability, "low": low, "high": high}
        for deadline, (probability, low, high) in zip(labels[name][0], numbers, strict=True)
    }
