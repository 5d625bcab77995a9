"""What a flat table lacks of a result: dimensions, coordinates, units and provenance, as one line of JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcettr.errors import OutputError
from mcettr.report.tables import cell_dims

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "mcettr-result"
VERSION = 1
NEVER, NOTHING = "never", ""
"""How a table writes an infinite and an undefined number."""

_SEPARATORS = {",": "\\u002c", ";": "\\u003b", "\t": "\\t"}


def outline(result: xr.Dataset) -> str:
    """Return everything of a result but the numbers of its variables, as JSON on one line.

    No text inside holds a comma or semicolon as such: a spreadsheet that splits the line at them never makes a cell
    of somebody's text.

    >>> import xarray as xr
    >>> "gpus" in outline(xr.Dataset({"ettr": ("gpus", [0.9])}, {"gpus": [8.0]}))
    True
    """
    tree = {
        "format": FORMAT,
        "version": VERSION,
        "cells": list(cell_dims(result)),
        "sizes": {str(dim): int(size) for dim, size in result.sizes.items()},
        "attrs": _attrs(result.attrs),
        "coords": {str(name): _head(c) | {"data": _data(c.values)} for name, c in result.coords.items()},
        "variables": {str(name): _head(v) for name, v in result.data_vars.items()},
    }
    text = json.dumps(tree, ensure_ascii=True, allow_nan=False)
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: _split_proof(match[0]), text)


def _split_proof(literal: str) -> str:
    for letter, code in _SEPARATORS.items():
        literal = literal.replace(letter, code)
    return literal


def _head(variable: xr.DataArray) -> dict[str, Any]:
    kind = variable.dtype.kind
    name = "text" if kind in "OUST" else str(variable.dtype)
    return {"dims": [str(dim) for dim in variable.dims], "type": name, "attrs": _attrs(variable.attrs)}


def _attrs(attrs: Any) -> dict[str, Any]:
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in attrs.items()}


def _data(values: NDArray[Any]) -> Any:
    if values.dtype.kind != "f":
        return values.tolist()
    flat = [value if math.isfinite(value) else str(value) for value in values.ravel().tolist()]
    return flat if values.ndim == 1 else np.array(flat, dtype=object).reshape(values.shape).tolist()


def restore(text: str, rows: Sequence[Sequence[Any]], where: str) -> xr.Dataset:
    """Return the result that `outline` and a table of its numbers describe.

    Parameters
    ----------
    text : str
        What `outline` returned.
    rows : sequence of sequences
        The rows of `tables.result_table`: texts or numbers.
    where : str
        Name of the file, for errors.

    Raises
    ------
    OutputError
        The table does not hold what the outline says: it was changed by hand.
    """
    import xarray as xr

    tree = _parsed(text, where)
    sizes, cells = tree["sizes"], tree["cells"]
    shape = tuple(sizes[dim] for dim in cells)
    coords = {
        name: (head["dims"], _typed(head, np.array(head["data"], dtype=object)), head["attrs"])
        for name, head in tree["coords"].items()
    }
    variables = {}
    table = _checked(rows, tree, coords, where)
    start = len(cells)
    for name, head in tree["variables"].items():
        inner = tuple(sizes[dim] for dim in head["dims"] if dim not in cells)
        stop = start + math.prod(inner)
        block = table[:, start:stop].reshape(shape + inner)
        first = tuple(slice(None) if dim in head["dims"] else 0 for dim in cells)
        order = [dim for dim in cells if dim in head["dims"]] + [dim for dim in head["dims"] if dim not in cells]
        array = xr.DataArray(_typed(head, block[(*first, ...)]), dims=order, attrs=head["attrs"])
        variables[name] = array.transpose(*head["dims"])
        start = stop
    return xr.Dataset(variables, coords, tree["attrs"])


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except ValueError:
        tree = None
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        raise OutputError(f"{where}: expected a result of mcettr, found none of its description; write the file anew")
    if tree["version"] != VERSION:
        found = f"found {tree['version']}; read it with the mcettr that wrote it"
        raise OutputError(f"{where}: expected format version {VERSION}, {found}")
    return tree


def _checked(rows: Sequence[Sequence[Any]], tree: dict[str, Any], coords: dict[str, Any], where: str) -> NDArray[Any]:
    """Return the rows as an array of objects, once their number and their coordinates are those of the outline."""
    cells, sizes = tree["cells"], tree["sizes"]
    n_rows = math.prod(sizes[dim] for dim in cells)
    width = len(cells) + sum(
        math.prod(sizes[dim] for dim in head["dims"] if dim not in cells) for head in tree["variables"].values()
    )
    changed = f"{where}: expected the table that was written, found {{}}; restore the file or write it anew"
    if len(rows) != n_rows or any(len(row) != width for row in rows):
        raise OutputError(changed.format(f"{len(rows)} rows where {n_rows} of {width} columns were"))
    table = np.empty((n_rows, width), dtype=object)
    table[:] = rows
    grids = np.meshgrid(*(coords[dim][1] for dim in cells), indexing="ij") if cells else []
    for i, (dim, grid) in enumerate(zip(cells, grids, strict=True)):
        if not np.allclose(_floats(table[:, i]), np.asarray(grid.ravel(), dtype=np.float64), rtol=1e-12, atol=0.0):
            raise OutputError(changed.format(f"other values of {dim}, or another order of rows"))
    return table


def _typed(head: dict[str, Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return objects (texts or numbers) as the type that the outline names."""
    name, flat = head["type"], values.ravel().tolist()
    if name == "text":
        texts: NDArray[Any] = values.astype(str)
        return texts
    if name == "bool":
        return np.array([str(value).lower() in ("true", "1") for value in flat], dtype=np.bool_).reshape(values.shape)
    if name.startswith("float"):
        return _floats(values).astype(name)
    return np.array([int(value) for value in flat], dtype=name).reshape(values.shape)


def _floats(values: NDArray[Any]) -> NDArray[np.float64]:
    words = {NEVER: math.inf, NOTHING: math.nan, None: math.nan}
    made = [words[value] if value is None or value in words else float(value) for value in values.ravel().tolist()]
    return np.array(made, dtype=np.float64).reshape(values.shape)
