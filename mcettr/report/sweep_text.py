"""The result of a sweep as text: a matrix of ETTR that fits a screen, the best and the worst cell; or all cells."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mcettr.report.run_text import assumed_text
from mcettr.report.summary import assumed_names, fitting_table
from mcettr.report.tables import cell_arrays, cell_dims, labels_of
from mcettr.report.text import bounded, duration, interval_text, number, paragraph, share, short_labels, text_table
from mcettr.report.work import scenario_tree, work_by_gpus
from mcettr.units import UnitError, split_number

if TYPE_CHECKING:
    import xarray as xr

_MOST_ROWS, _MOST_ROWS_OF_TWO = 9, 5
"""Rows of a matrix on a screen, and of each where there are two."""
_OUT_LEVEL = "0.99"
"""Quantile of the nodes in repair that is shown."""
_Show = Callable[["xr.Dataset"], str]


def sweep_summary(result: xr.Dataset, width: int = 80) -> str:
    """Return a sweep's result on a screen: a matrix over its axes, the best and the worst cell.

    Parameters
    ----------
    result : Dataset
        With swept dimensions. With two or more the last goes across and the others down, so that three axes make one
        slice below the other. Of long axes the ends and some values between are shown.
    """
    dims = cell_dims(result)
    dated = bool(result.sizes.get("deadline", 0))
    if len(dims) == 1:
        thin = _part(result, {dims[0]: spread_out(result.sizes[dims[0]], _MOST_ROWS)})
        title = f"By {result[dims[0]].attrs.get('long_name', dims[0])}"
        shown, parts = thin.sizes[dims[0]], [f"{paragraph(title, width)}\n{_lines(thin, width, fit=True)}"]
    else:
        rows = _MOST_ROWS_OF_TWO if dated else _MOST_ROWS
        thin = _thinned(result, dims, rows, width, 17 if dated else 8)
        shown = math.prod(thin.sizes[dim] for dim in dims)
        paths = [str(result[dim].attrs.get("long_name", dim)) for dim in dims]
        title = f"ETTR by {', '.join(paths[:-1])} (down) and {paths[-1]} (across)"
        parts = [_matrix(thin, title, width, lambda cell: share(float(cell["ettr"])))]
        if dated:
            title = f"Probability to be done by {labels_of(result, 'deadline')[0]}, 95 % interval"
            parts.append(_matrix(thin, title, width, _completion))
    sentences = [*_extremes(result), _about(result, shown), *_work(result), *assumed_names(result)]
    return "\n\n".join([*parts, "\n".join(paragraph(text, width, "  ") for text in sentences)])


def sweep_text(result: xr.Dataset, width: int = 80) -> str:
    """Return everything that a screen can show of a sweep, every cell on a line."""
    n_cells = result["ettr"].size
    assumed = assumed_text(result, width)
    notes = "\n".join(paragraph(text, width) for text in [*_extremes(result), _about(result, n_cells), *_work(result)])
    paths = "; ".join(f"{dim} = {result[dim].attrs.get('long_name', dim)}" for dim in cell_dims(result))
    return "\n\n".join(
        [_lines(result, width, fit=False), paragraph(f"Axes: {paths}.", width), notes, *([assumed] if assumed else [])]
    )


def spread_out(n: int, most: int) -> list[int]:
    """Return at most `most` of the numbers below n, evenly spread, both ends among them.

    >>> spread_out(13, 5), spread_out(3, 5)
    ([0, 3, 6, 9, 12], [0, 1, 2])
    """
    return sorted({round(x) for x in np.linspace(0, n - 1, max(min(n, most), 1)).tolist()})


def _thinned(result: xr.Dataset, dims: tuple[str, ...], most_rows: int, width: int, cell_width: int) -> xr.Dataset:
    """Return the part of a grid that fits: as many rows in all, as many columns as the width takes."""
    down, chosen = dims[:-1], {}
    room = float(most_rows)
    for i, dim in enumerate(down):  # the slices get their share of the rows, the axis inside them the rest
        share_of_rows = max(int(room ** (1.0 / (len(down) - i)) + 1e-9), 2)
        chosen[dim] = spread_out(result.sizes[dim], share_of_rows)
        room = max(room / len(chosen[dim]), 1.0)
    fixed = sum(2 + max(len(dim), *map(len, short_labels(labels_of(result, dim)))) for dim in down)
    columns = _without_unit(short_labels(labels_of(result, dims[-1])))[0]
    each = 2 + max(cell_width - 2, *map(len, columns))
    chosen[dims[-1]] = spread_out(result.sizes[dims[-1]], max((width - fixed + 2) // each, 2))
    return _part(result, chosen)


def _part(result: xr.Dataset, chosen: dict[str, list[int]]) -> xr.Dataset:
    """Return some values of each axis, with the user's own texts for them."""
    part = result.isel(chosen)
    for dim, at in chosen.items():
        names = labels_of(result, dim)
        part[dim].attrs["labels"] = json.dumps([names[i] for i in at])
    return part


def _without_unit(labels: list[str]) -> tuple[list[str], str]:
    """Return labels without the unit that all of them share, and the unit.

    >>> _without_unit(["1 / 1000 node-days", "10 / 1000 node-days"]), _without_unit(["1 s", "1 min"])
    ((['1', '10'], '/ 1000 node-days'), (['1 s', '1 min'], ''))
    """
    try:
        split = [split_number(label) for label in labels]
    except UnitError:
        return labels, ""
    units = {unit for _, unit in split}
    return (labels, "") if len(units) > 1 else ([text for text, _ in split], units.pop())


def _matrix(result: xr.Dataset, title: str, width: int, show: _Show) -> str:
    """Return one row for each combination of all axes but the last; a label is not repeated below itself."""
    dims = cell_dims(result)
    labels = [short_labels(labels_of(result, dim)) for dim in dims]
    rows, above = [], [""] * (len(dims) - 1)
    for index in np.ndindex(*(result.sizes[dim] for dim in dims[:-1])):
        names = [labels[axis][i] for axis, i in enumerate(index)]
        outer = [name if names[: k + 1] != above[: k + 1] else "" for k, name in enumerate(names)]
        line = result.isel(dict(zip(dims, index, strict=False)))
        rows.append([*outer, *(show(line.isel({dims[-1]: j})) for j in range(result.sizes[dims[-1]]))])
        above = names
    across, unit = _without_unit(labels[-1])
    table = text_table([*dims[:-1], *across], rows, width, n_fixed=len(dims) - 1)
    return f"{paragraph(title.replace('(across)', f'(across, {unit})' if unit else '(across)'), width)}\n{table}"


def _completion(cell: xr.Dataset) -> str:
    first = cell.isel(deadline=0)
    return interval_text(float(first["completion_low"]), float(first["completion_high"]))


def _extremes(result: xr.Dataset) -> list[str]:
    """Return a sentence on the best cell and one on the worst, none where no cell has an ETTR."""
    values = result["ettr"].values
    if not np.isfinite(values).any() or values.size < 2:
        return []
    found = (("Best", int(np.nanargmax(values))), ("Worst", int(np.nanargmin(values))))
    return [f"{word}: {_cell_sentence(result, flat)}" for word, flat in found]


def _cell_sentence(result: xr.Dataset, flat: int) -> str:
    dims = cell_dims(result)
    index = dict(zip(dims, map(int, np.unravel_index(flat, result["ettr"].shape)), strict=True))
    where = ", ".join(f"{dim} {short_labels(labels_of(result, dim))[i]}" for dim, i in index.items())
    cell = result.isel(index)
    numbers = f"ETTR {share(float(cell['ettr']))}"
    took = f"{duration(float(cell['elapsed']))}, {number(float(cell['gpu_hours']))} GPU-hours"
    dated = bool(cell.sizes.get("deadline", 0))
    by = f", done by {labels_of(cell, 'deadline')[0]} with probability {_completion(cell)}" if dated else ""
    return f"{where}: {numbers}, {took}{by}."


def _about(result: xr.Dataset, n_shown: int) -> str:
    worst = float(np.nanmax(result["ettr_se"].values)) if result["ettr_se"].notnull().any() else math.nan
    timelines = result["timelines"].values
    few, many = f"{int(timelines.min()):,}", f"{int(timelines.max()):,}"
    counts = few if few == many else f"{few} to {many}"
    n_cells = result["ettr"].size
    part = "" if n_shown >= n_cells else f" ({n_shown:,} shown; --verbose prints all, -o FILE keeps all)"
    return f"{n_cells:,} cells{part}, {counts} timelines each; largest standard error of ETTR {share(worst)}."


def _work(result: xr.Dataset) -> list[str]:
    """Return what the work means where the number of GPUs is swept."""
    axes = [dim for dim in cell_dims(result) if result[dim].attrs.get("long_name") == "job.gpus"]
    if not axes or "provenance" not in result.attrs:
        return []
    gpus = result[axes[0]].values
    text = work_by_gpus(scenario_tree(result.attrs), float(gpus.min()), float(gpus.max()))
    return [text] if text else []


def _lines(result: xr.Dataset, width: int, fit: bool) -> str:
    """Return one line a cell; with `fit` the columns that fit the width, otherwise all of them in blocks."""
    dims = cell_dims(result)
    arrays = cell_arrays(result)
    labels = [short_labels(labels_of(result, dim)) for dim in dims]
    deadlines = labels_of(result, "deadline") if result.sizes.get("deadline", 0) else []
    with_spares = "spare_wait_probability" in arrays
    headers = [*dims, "ETTR", "std. error", *(f"by {date} (95 %)" for date in deadlines), "elapsed", "GPU-hours"]
    headers += ["interval", "finished", *(["no spare", f"nodes out, {_OUT_LEVEL}"] if with_spares else [])]
    rows = []
    for i, index in enumerate(np.ndindex(*(result.sizes[dim] for dim in dims))):
        row = [labels[axis][j] for axis, j in enumerate(index)]
        row += [share(float(arrays[name][i])) for name in ("ettr", "ettr_se")]
        ends = ([float(arrays[f"completion_{end}"][i, j]) for end in ("low", "high")] for j in range(len(deadlines)))
        row += [interval_text(low, high) for low, high in ends]
        row += [duration(float(arrays["elapsed"][i])), number(float(arrays["gpu_hours"][i]))]
        row += [duration(float(arrays["checkpoint_interval"][i])), share(float(arrays["finished_fraction"][i]))]
        if with_spares:
            level = labels_of(result, "quantile").index(_OUT_LEVEL)
            out = [float(arrays[f"nodes_out_quantile{end}"][i, level]) for end in ("", "_low", "_high")]
            waits = [float(arrays[f"spare_wait_probability{end}"][i]) for end in ("", "_low", "_high")]
            row += [bounded(waits[0], waits[1], waits[2], share), bounded(out[0], out[1], out[2], number)]
        rows.append(row)
    if not fit:
        return text_table(headers, rows, width, n_fixed=len(dims))
    others = range(len(dims), len(headers))
    dearest = (len(dims), *(i for i in others if i > len(dims) + 1), len(dims) + 1)
    return fitting_table(headers, rows, width, len(dims), dearest)
