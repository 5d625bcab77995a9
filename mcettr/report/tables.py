"""A result as plain tables: one row a cell of the grid, or one row a cell and activity."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcettr.model.budget import UNHELD

if TYPE_CHECKING:
    import xarray as xr

_HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Parameters
    ----------
    name : str
        What it holds; the labels of inner dimensions follow after dots, as in ``time_fraction.rework``.
    unit : str
        Unit of the numbers; "1" for none.
    values : ndarray, shape (rows,)
        Numbers, flags or texts.
    """

    name: str
    unit: str
    values: NDArray[Any]

    @property
    def header(self) -> str:
        """The name, with the unit in brackets where there is one."""
        return self.name if self.unit in ("1", "") else f"{self.name} [{self.unit}]"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of the same length under one title."""

    title: str
    columns: tuple[Column, ...]

    @property
    def n_rows(self) -> int:
        """How many rows there are, the header not counted."""
        return len(self.columns[0].values) if self.columns else 0


def cell_dims(result: xr.Dataset) -> tuple[str, ...]:
    """Return the names of the swept dimensions; none for a single job.

    >>> import xarray as xr
    >>> cell_dims(xr.Dataset({"ettr": ("gpus", [0.9, 0.8])}))
    ('gpus',)
    """
    return tuple(str(dim) for dim in result["ettr"].dims)


def cell_arrays(result: xr.Dataset) -> dict[str, NDArray[Any]]:
    """Return every variable as an array of shape (cells, *its own other dimensions), cells in C order of the grid.

    A variable that does not vary along a swept dimension is repeated along it.

    >>> import xarray as xr
    >>> cell_arrays(xr.Dataset({"ettr": ("gpus", [0.9, 0.8]), "mttf": 5.0}))["mttf"].tolist()
    [5.0, 5.0]
    """
    dims = cell_dims(result)
    shape = tuple(result.sizes[dim] for dim in dims)
    n_cells = int(np.prod(shape))
    arrays = {}
    for name, variable in result.data_vars.items():
        inner = inner_dims(variable, dims)
        values = variable.transpose(*(dim for dim in dims if dim in variable.dims), *inner).values
        own = tuple(result.sizes[dim] if dim in variable.dims else 1 for dim in dims)
        rest = tuple(result.sizes[dim] for dim in inner)
        arrays[str(name)] = np.broadcast_to(values.reshape(own + rest), shape + rest).reshape((n_cells, *rest))
    return arrays


def inner_dims(variable: xr.DataArray, dims: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dimensions of a variable that are not swept."""
    return tuple(str(dim) for dim in variable.dims if dim not in dims)


def result_table(result: xr.Dataset) -> Table:
    """Return one row for each cell of the grid: its coordinates, then every number of the result.

    Columns that hold nothing are left out: numbers that are undefined in every row, and, of the tables by cause and
    activity, entries that are 0 in every row (such as the rework of the first start).

    >>> import xarray as xr
    >>> ds = xr.Dataset({"ettr": ("gpus", [0.9, 0.8])}, {"gpus": [8.0, 16.0]})
    >>> [(column.header, column.values.tolist()) for column in result_table(ds).columns]
    [('gpus', [8.0, 16.0]), ('ettr', [0.9, 0.8])]
    """
    dims = cell_dims(result)
    columns = list(coordinate_columns(result))
    arrays = cell_arrays(result)
    for name, values in arrays.items():
        variable = result[name]
        unit = str(variable.attrs.get("units", "1"))
        labels = [labels_of(result, dim) for dim in inner_dims(variable, dims)]
        kept = _holding(result, arrays, name)
        for index in np.ndindex(values.shape[1:]):
            if kept[index]:
                parts = [name, *(labels[axis][i] for axis, i in enumerate(index))]
                columns.append(Column(".".join(parts), unit, values[(slice(None), *index)]))
    return Table("results", tuple(columns))


def _holding(result: xr.Dataset, arrays: dict[str, NDArray[Any]], name: str) -> NDArray[np.bool_]:
    """Return which columns of a variable hold something; an error column does where its estimate does."""
    values = arrays[name]
    if values.dtype.kind not in "fiu":
        return np.ones(values.shape[1:], dtype=np.bool_)
    estimate = arrays.get(name.removesuffix("_se"), values)
    kept = ~np.isnan(values).all(axis=0)
    if {"cause", "activity"} & set(result[name].dims):
        kept &= (estimate != 0).any(axis=0)
    return np.asarray(kept)


def coordinate_columns(result: xr.Dataset) -> tuple[Column, ...]:
    """Return the coordinates of the swept dimensions, one row a cell."""
    dims = cell_dims(result)
    if not dims:
        return ()
    grids = np.meshgrid(*(result[dim].values for dim in dims), indexing="ij")
    units = (str(result[dim].attrs.get("units", "1")) for dim in dims)
    found = (Column(dim, unit, grid.ravel()) for dim, unit, grid in zip(dims, units, grids, strict=True))
    return tuple(column for column in found if column.name in result.coords)


def labels_of(result: xr.Dataset, dim: str) -> list[str]:
    """Return the labels of a dimension as texts: the user's own where the coordinate carries them."""
    if own := result[dim].attrs.get("labels"):
        return [str(label) for label in json.loads(own)]
    return [f"{value:.15g}" if isinstance(value, float) else str(value) for value in result[dim].values.tolist()]


def budget_table(result: xr.Dataset) -> Table:
    """Return one row for each cell and activity: its share of the time, and the GPU-hours it costs by cause.

    Activities that take no time in any cell are left out. The GPU-hours of an activity during which the job holds no
    GPUs are 0.

    Parameters
    ----------
    result : Dataset
        With `time_fraction`, `time_fraction_se` and `lost_gpu_hours`.
    """
    arrays = cell_arrays(result)
    n_cells = len(arrays["ettr"])
    used = np.flatnonzero((arrays["time_fraction"] > 0).any(axis=0))
    activities = np.array(labels_of(result, "activity"))[used]
    columns = [Column(c.name, c.unit, np.repeat(c.values, used.size)) for c in coordinate_columns(result)]
    columns.append(Column("activity", "1", np.tile(activities, n_cells)))
    for name in ("time_fraction", "time_fraction_se"):
        columns.append(Column(name, "1", arrays[name][:, used].ravel()))
    columns.append(Column("gpu_hours", "GPU-h", activity_gpu_hours(result)[:, used].ravel()))
    for i, cause in enumerate(labels_of(result, "cause")):
        lost = arrays["lost_gpu_hours"][:, i, used].ravel()
        if lost.any():
            columns.append(Column(f"lost_gpu_hours.{cause}", "GPU-h", lost))
    return Table("budget", tuple(columns))


def activity_gpu_hours(result: xr.Dataset) -> NDArray[np.float64]:
    """Return the mean GPU-hours of a timeline by activity, shape (cells, activities); productive ones included."""
    held = np.array([name not in UNHELD for name in labels_of(result, "activity")], dtype=np.float64)
    hours: NDArray[np.float64] = activity_hours(result) * held * _gpus(result)[:, None]
    return hours


def activity_hours(result: xr.Dataset) -> NDArray[np.float64]:
    """Return the mean hours of a timeline by activity, shape (cells, activities); nan for what is too rare to tell."""
    arrays, activities = cell_arrays(result), labels_of(result, "activity")
    hours: NDArray[np.float64] = np.nansum(arrays["lost_gpu_hours"], axis=1) / _gpus(result)[:, None]
    hours[:, activities.index("productive")] = arrays["productive"] / _HOUR_S
    for name in UNHELD:
        if f"{name}_hours" in arrays:
            hours[:, activities.index(name)] = np.nansum(arrays[f"{name}_hours"], axis=1)
    return np.where(np.isnan(arrays["time_fraction"]), np.nan, hours)


def _gpus(result: xr.Dataset) -> NDArray[np.float64]:
    """Return the GPUs of the job in each cell."""
    columns = [column for column in coordinate_columns(result) if result[column.name].attrs["long_name"] == "job.gpus"]
    return columns[0].values if columns else np.full(result["ettr"].size, float(result["gpus"].item()))
