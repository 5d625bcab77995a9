"""JSON files: what the command prints with --json, and under "dataset" all that makes it a result again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcettr.errors import OutputError

if TYPE_CHECKING:
    import xarray as xr

DATASET = "dataset"
_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""JSON has no such numbers; an array of floats holds these words instead."""


def write_json(pieces: Iterator[str], result: xr.Dataset, path: Path) -> None:
    """Write a JSON object with the whole result added to it.

    Parameters
    ----------
    pieces : iterator of str
        The text of a JSON object, such as `objects.result_json` gives.
    result : Dataset
        What goes under "dataset".
    path : Path
        The file.
    """
    with path.open("w", encoding="utf-8") as stream:
        last = ""
        for piece in pieces:
            stream.write(last)
            last = piece
        head = last.rstrip()[:-1].rstrip()
        attrs = json.dumps(_plain(result.attrs), allow_nan=False)
        stream.write(f'{head}{"" if head == "{" else ","}\n"{DATASET}": {{\n"attrs": {attrs}')
        for section, variables in (("coords", result.coords), ("data_vars", result.data_vars)):
            entries = (f"{json.dumps(str(name))}: {_variable(variable)}" for name, variable in variables.items())
            stream.write(f',\n"{section}": {{\n')
            for i, entry in enumerate(entries):
                stream.write((",\n" if i else "") + entry)
            stream.write("\n}")
        stream.write("\n}}\n")


def _variable(variable: xr.DataArray) -> str:
    kind = variable.dtype.kind
    values = variable.values.ravel().tolist()
    tree = {
        "dims": [str(dim) for dim in variable.dims],
        "shape": list(variable.shape),
        "type": "text" if kind in "OUST" else str(variable.dtype),
        "attrs": _plain(variable.attrs),
        "data": [value if math.isfinite(value) else str(value) for value in values] if kind == "f" else values,
    }
    return json.dumps(tree, allow_nan=False)


def _plain(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in attrs.items()}


def read_json(path: Path) -> xr.Dataset:
    """Return the result that `write_json` wrote, identical to the last bit."""
    import xarray as xr

    tree = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(tree, dict) or DATASET not in tree:
        raise OutputError(f"expected a JSON file that mcettr wrote, found no {DATASET!r} in it; write the file anew")
    dataset = tree[DATASET]
    coords, variables = (
        {name: (entry["dims"], _array(entry), entry["attrs"]) for name, entry in dataset[section].items()}
        for section in ("coords", "data_vars")
    )
    return xr.Dataset(variables, coords, dataset["attrs"])


def _array(entry: Mapping[str, Any]) -> NDArray[Any]:
    kind = entry["type"]
    data = [_WORDS.get(value, value) for value in entry["data"]] if kind.startswith("float") else entry["data"]
    return np.array(data, dtype=object if kind == "text" else kind).reshape(entry["shape"])
