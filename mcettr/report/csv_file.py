"""CSV: one row a cell, then one comment line that makes the file a whole result again."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcettr.errors import OutputError
from mcettr.report.outline import NEVER, NOTHING, outline, restore
from mcettr.report.tables import result_table

if TYPE_CHECKING:
    import xarray as xr

MARK = "# mcettr "
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A text that begins with one of these is a formula to a spreadsheet."""


def write_csv(result: xr.Dataset, path: Path) -> None:
    """Write a result as UTF-8 CSV: a header with units, one row a cell, a last line of provenance.

    Numbers are written so that they read back to the last bit; "never" is an infinite one, an empty cell an undefined
    one. The last line begins with ``#``: readers that know comments skip it, spreadsheets show it below the table.
    """
    table = result_table(result)
    columns = [[_cell(value) for value in column.values.tolist()] for column in table.columns]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([harmless(column.header) for column in table.columns])
        writer.writerows(zip(*columns, strict=True))
        stream.write(f"{MARK}{outline(result)}\n")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else NOTHING if math.isnan(value) else NEVER
    return harmless(value) if isinstance(value, str) else str(value)


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: an apostrophe goes in front of what could be one.

    >>> harmless("=1+1"), harmless("node")
    ("'=1+1", 'node')
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def read_csv(path: Path) -> xr.Dataset:
    """Return the result that `write_csv` wrote, identical to the last bit."""
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    marks = [line.removeprefix(MARK).rstrip("\r") for line in lines if line.startswith(MARK)]
    if len(marks) != 1:
        raise OutputError(
            f"{path}: expected a CSV that mcettr wrote, with its last line beginning with '{MARK.strip()}', found "
            "another; write the file anew"
        )
    rows = list(csv.reader(line for line in lines if line.strip() and not line.startswith("#")))
    return restore(marks[0], rows[1:], str(path))
