"""The result of a sweep as text: a matrix of ETTR for two short axes, otherwise one line a cell."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from mcettr.report.objects import labels_of
from mcettr.report.run_text import assumed_text
from mcettr.report.tables import cell_arrays, cell_dims
from mcettr.report.text import bounded, duration, interval_text, number, paragraph, share, short_labels, text_table

if TYPE_CHECKING:
    import xarray as xr

MOST_LINES = 40
_MOST_COLUMNS = 12
_OUT_LEVEL = "0.99"
"""Quantile of the nodes in repair that is shown."""


def sweep_text(result: xr.Dataset, width: int = 80) -> str:
    """Return a sweep's result as text: what fits a screen, and how to get the rest.

    Parameters
    ----------
    result : Dataset
        With swept dimensions.
    """
    dims = cell_dims(result)
    sizes = [result.sizes[dim] for dim in dims]
    is_matrix = len(dims) == 2 and sizes[0] <= MOST_LINES and sizes[1] <= _MOST_COLUMNS
    parts = [_matrix(result, width)] if is_matrix and not result.sizes.get("deadline", 0) else [_lines(result, width)]
    worst = float(np.nanmax(result["ettr_se"].values)) if result["ettr_se"].notnull().any() else math.nan
    n_cells = math.prod(sizes)
    timelines = result["timelines"].values
    few, many = f"{int(timelines.min()):,}", f"{int(timelines.max()):,}"
    counts = few if few == many else f"{few} to {many}"
    note = f"{n_cells:,} cells; largest standard error of ETTR {share(worst)}; {counts} timelines a cell."
    paths = "; ".join(f"{dim} = {result[dim].attrs.get('long_name', dim)}" for dim in dims)
    assumed = assumed_text(result, width)
    return "\n\n".join([*parts, paragraph(f"{note} Axes: {paths}.", width), *([assumed] if assumed else [])])


def _matrix(result: xr.Dataset, width: int) -> str:
    row_dim, column_dim = cell_dims(result)
    values = result["ettr"].transpose(row_dim, column_dim).values.tolist()
    rows = [
        [label, *(share(value) for value in line)]
        for label, line in zip(short_labels(labels_of(result, row_dim)), values, strict=True)
    ]
    title = f"ETTR by {row_dim} (down) and {column_dim} (across)"
    return f"{title}\n{text_table([row_dim, *short_labels(labels_of(result, column_dim))], rows, width)}"


def _lines(result: xr.Dataset, width: int) -> str:
    dims = cell_dims(result)
    arrays = cell_arrays(result)
    labels = [short_labels(labels_of(result, dim)) for dim in dims]
    deadlines = labels_of(result, "deadline") if result.sizes.get("deadline", 0) else []
    with_spares = "spare_wait_probability" in arrays
    headers = [
        *dims,
        "ETTR",
        "std. error",
        "interval",
        "elapsed",
        "finished",
        *(["no spare", f"nodes out, {_OUT_LEVEL}"] if with_spares else []),
        *(f"by {date} (95 %)" for date in deadlines),
    ]
    n_cells = len(arrays["ettr"])
    rows = []
    shape = tuple(result.sizes[dim] for dim in dims)
    for i, index in enumerate(itertools.islice(np.ndindex(*shape), MOST_LINES)):
        row = [labels[axis][j] for axis, j in enumerate(index)]
        row += [share(float(arrays["ettr"][i])), share(float(arrays["ettr_se"][i]))]
        row += [duration(float(arrays[name][i])) for name in ("checkpoint_interval", "elapsed")]
        row.append(share(float(arrays["finished_fraction"][i])))
        if with_spares:
            level = labels_of(result, "quantile").index(_OUT_LEVEL)
            out = [float(arrays[f"nodes_out_quantile{end}"][i, level]) for end in ("", "_low", "_high")]
            waits = [float(arrays[f"spare_wait_probability{end}"][i]) for end in ("", "_low", "_high")]
            row += [bounded(waits[0], waits[1], waits[2], share), bounded(out[0], out[1], out[2], number)]
        row += [
            interval_text(*(float(arrays[f"completion_{end}"][i, j]) for end in ("low", "high")))
            for j in range(len(deadlines))
        ]
        rows.append(row)
    table = text_table(headers, rows, width, n_fixed=len(dims))
    if n_cells > MOST_LINES:
        note = f"The first {MOST_LINES} of {n_cells:,} cells; -o FILE.nc, .csv or .xlsx holds them all."
        table += f"\n{paragraph(note, width)}"
    return table
