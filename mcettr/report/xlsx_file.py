"""Excel workbooks: results, budget and provenance, each on its own sheet."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcettr.errors import OutputError
from mcettr.report.tables import Table, budget_table, result_table

if TYPE_CHECKING:
    import xarray as xr

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""What a sheet of Excel holds; beyond it writers drop rows without a word."""
_LONGEST_TEXT = 32_000
NEVER = "never"
"""How a workbook shows an infinite number."""


def write_xlsx(result: xr.Dataset, path: Path) -> None:
    """Write a result as a workbook with the sheets `results`, `budget` and `provenance`.

    `results` has one row a cell, `budget` one row a cell and activity, `provenance` what the result came from. Texts
    are text cells, whatever they begin with: none is a formula. An infinite number is the text "never", an undefined
    one an empty cell.

    Raises
    ------
    OutputError
        The result has more rows or columns than a sheet holds.
    """
    import xlsxwriter

    tables = [result_table(result)]
    if {"activity", "cause"} <= set(result.dims):
        tables.append(budget_table(result))
    for table in tables:
        check_size(table.n_rows, len(table.columns), table.title)
    options = {"strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(str(path), options | {"constant_memory": True, "tmpdir": str(path.parent)})
    try:
        bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        for table in tables:
            _write_table(book.add_worksheet(table.title), table, bold)
        _write_provenance(book.add_worksheet("provenance"), result, bold)
        book.close()
    except xlsxwriter.exceptions.FileCreateError as error:
        raise error.args[0] if error.args and isinstance(error.args[0], OSError) else OSError(str(error)) from error


def check_size(n_rows: int, n_columns: int, title: str) -> None:
    """Refuse a table that no sheet holds: `n_rows` below the header, `n_columns` at least.

    >>> check_size(10, 20_000, "results")
    Traceback (most recent call last):
    mcettr.errors.OutputError: expected at most 1,048,575 rows and 16,384 columns in a sheet, found 10 and 20,000 \
(results); write .nc or .csv instead
    """
    if n_rows + 1 > MOST_ROWS or n_columns > MOST_COLUMNS:
        raise OutputError(
            f"expected at most {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns in a sheet, found {n_rows:,} and "
            f"{n_columns:,} ({title}); write .nc or .csv instead"
        )


def _write_table(sheet: Any, table: Table, bold: Any) -> None:
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, len(table.columns) - 1, 14)
    for i, column in enumerate(table.columns):
        sheet.write_string(0, i, column.header, bold)
    columns = [column.values.tolist() for column in table.columns]
    for i, row in enumerate(zip(*columns, strict=True), 1):  # row by row: the workbook keeps one in memory
        for j, value in enumerate(row):
            if isinstance(value, str):
                sheet.write_string(i, j, value)
            elif isinstance(value, bool):
                sheet.write_boolean(i, j, value)
            elif math.isfinite(value):
                sheet.write_number(i, j, value)
            elif math.isinf(value):
                sheet.write_string(i, j, NEVER)
    sheet.autofilter(0, 0, max(table.n_rows, 1), len(table.columns) - 1)


def _write_provenance(sheet: Any, result: xr.Dataset, bold: Any) -> None:
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 100)
    attrs = {str(name): value for name, value in result.attrs.items()}
    entries = attrs | json.loads(attrs.pop("provenance", "{}"))
    rows = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in entries.items()]
    sheet.write_string(0, 0, "name", bold)
    sheet.write_string(0, 1, "value", bold)
    line = 1
    for name, text in rows:
        for start in range(0, max(len(text), 1), _LONGEST_TEXT):  # a cell holds 32,767 letters: go on below
            sheet.write_string(line, 0, name)
            sheet.write_string(line, 1, text[start : start + _LONGEST_TEXT])
            line += 1
