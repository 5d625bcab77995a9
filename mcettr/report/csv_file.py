"""CSV: one row a cell, nothing but a header and numbers, so that every reader takes it as it is."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcettr.report.tables import result_table

if TYPE_CHECKING:
    import xarray as xr

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A text that begins with one of these is a formula to a spreadsheet."""


def write_csv(result: xr.Dataset, path: Path) -> None:
    """Write a result as UTF-8 CSV: a header with units, then one row a cell.

    Numbers are written so that they read back to the last bit. An infinite one is "inf", which pandas, R and Python
    read as a number; an undefined one is an empty field. Where the numbers come from is in the other formats.
    """
    table = result_table(result)
    columns = [[_cell(value) for value in column.values.tolist()] for column in table.columns]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([harmless(column.header) for column in table.columns])
        writer.writerows(zip(*columns, strict=True))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return harmless(value) if isinstance(value, str) else str(value)


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: an apostrophe goes in front of what could be one.

    >>> harmless("=1+1"), harmless("node")
    ("'=1+1", 'node')
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
