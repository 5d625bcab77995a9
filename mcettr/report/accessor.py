"""What `ds.mcettr` adds to the datasets of this package: selection by what the user typed, and the screen's text."""

from __future__ import annotations

import html
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
import xarray as xr

from mcettr.errors import ScenarioError
from mcettr.report.files import write_result
from mcettr.report.run_text import run_text
from mcettr.report.summary import run_summary
from mcettr.report.sweep_text import sweep_summary, sweep_text
from mcettr.report.tables import cell_dims, labels_of
from mcettr.report.text import short_labels, terminal_width
from mcettr.units import UnitError, parse_duration_s, read_quantity, shown, value_text

_RTOL = 1e-9
_MOST_NAMED = 5


@xr.register_dataarray_accessor("mcettr")  # type: ignore[no-untyped-call]
class Selection:
    """Selection by the user's own texts, for a variable of a result."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def at(self, **where: Any) -> Any:
        """Return the part of the result at some values, as the user would type them.

        Parameters
        ----------
        **where
            A value, or a list of values, by dimension (or by the dotted path of the field, in a mapping). A text has
            its unit, as ``write_time="10 s"`` or ``deadline="33 d"``; a number is in the unit of the coordinate
            (seconds for durations). Values match within 1e-9 of themselves; nothing is interpolated.

        Raises
        ------
        ScenarioError
            There is no such dimension, or it has no such value; the error names those it has.
        """
        chosen: dict[str, Any] = {}
        for name, given in where.items():
            dim = self._dim(name)
            is_list = isinstance(given, (list, tuple, np.ndarray))
            chosen[dim] = [self._position(dim, one) for one in given] if is_list else self._position(dim, given)
        return self._data.isel(chosen)

    def _dim(self, name: str) -> str:
        dims = [str(dim) for dim in self._data.dims if dim in self._data.coords]
        paths = {str(self._data[dim].attrs.get("long_name", dim)): dim for dim in dims}
        if name in dims:
            return name
        if name in paths:
            return paths[name]
        near = get_close_matches(name, dims, n=1)
        advice = f"did you mean {near[0]!r}?" if near else "use one of them"
        raise ScenarioError(f"at: expected one of {', '.join(dims) or 'no dimensions'}, found {shown(name)}; {advice}")

    def _position(self, dim: str, given: Any) -> int:
        """Return the place of a value along a dimension."""
        coordinate, labels = self._data[dim], labels_of(self._data, dim)
        text = value_text(given).strip() if isinstance(given, (str, Mapping)) else None
        if text in labels:
            return labels.index(text)
        if coordinate.dtype.kind in "fiu":
            values = coordinate.values.astype(np.float64)
            number = self._number(dim, given)
            found = np.flatnonzero(np.isclose(values, number, rtol=_RTOL, atol=0.0))
            if found.size:
                return int(found[0])
            far = np.abs(values - number) if np.isfinite(number) else np.arange(len(labels))
            labels = [labels[i] for i in sorted(np.argsort(far, kind="stable")[:_MOST_NAMED])]
        named = ", ".join(short_labels(labels[:_MOST_NAMED]))
        raise ScenarioError(f"at: {dim}: expected a value that was run, found {shown(given)}; near it are {named}")

    def _number(self, dim: str, given: Any) -> float:
        """Return a value in the unit of a coordinate."""
        unit = str(self._data[dim].attrs.get("units", "1"))
        if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
            return float(given)
        try:
            if unit == "s":
                return parse_duration_s(given)
            if not isinstance(given, str):
                raise UnitError(f"expected a value like those of the axis, found {shown(given)}; write it as there")
            if given.strip() == "unlimited":
                return np.inf
            quantity, like = read_quantity(given), read_quantity(unit)
            if (quantity.dimension, quantity.scope) != (like.dimension, like.scope):
                wanted = "a number without unit" if unit == "1" else f"a value in units like {unit!r}"
                example = labels_of(self._data, dim)[0]
                raise UnitError(f"expected {wanted}, found {shown(given)}; write it like {example!r}")
        except ScenarioError as error:
            raise ScenarioError(f"at: {dim}: {error}") from None
        return float(quantity.si / like.factor)


@xr.register_dataset_accessor("mcettr")  # type: ignore[no-untyped-call]
class ResultAccessor(Selection):
    """Selection and display of a result; `repr` is the text that the command prints."""

    def text(self, width: int | None = None, verbose: bool = False) -> str:
        """Return the result as the command shows it; `verbose` for all there is."""
        if "ettr" not in self._data or "provenance" not in self._data.attrs:
            raise ScenarioError("text: expected a whole result of mcettr, found another dataset; call it on the result")
        room = terminal_width() if width is None else width
        if "cause" not in self._data.dims or "activity" not in self._data.dims:
            raise ScenarioError("text: expected all causes and activities, found a part; call it before selecting them")
        if not cell_dims(self._data):
            return (run_text if verbose else run_summary)(self._data, room)
        return (sweep_text if verbose else sweep_summary)(self._data, room)

    def write(self, path: str) -> None:
        """Write the result to a file; see `mcettr.write_result`."""
        write_result(self._data, path)

    def __repr__(self) -> str:
        """Return the text that the command prints."""
        try:
            return self.text()
        except ScenarioError as error:
            return f"<mcettr: {error}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"
