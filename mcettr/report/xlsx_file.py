"""Excel workbooks: results, budget and provenance, each on its own sheet."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcettr.errors import OutputError
from mcettr.report.outline import NEVER, outline, restore
from mcettr.report.tables import Table, budget_table, result_table

if TYPE_CHECKING:
    import xarray as xr

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""What a sheet of Excel holds; beyond it writers drop rows without a word."""
_LONGEST_TEXT = 32_000
_OUTLINE = "description"


def write_xlsx(result: xr.Dataset, path: Path) -> None:
    """Write a result as a workbook with the sheets `results`, `budget` and `provenance`.

    `results` has one row a cell, `budget` one row a cell and activity, `provenance` what the result came from and what
    `read_xlsx` needs. Texts are text cells, whatever they begin with: none is a formula. An infinite number is the
    text "never", an undefined one an empty cell. Excel keeps 16 digits: numbers read back within 1e-15 of themselves,
    coordinates exactly.

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
        _check_size(table, path)
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(str(path), options)
    try:
        bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        for table in tables:
            _write_table(book.add_worksheet(table.title), table, bold)
        _write_provenance(book.add_worksheet("provenance"), result, bold)
        book.close()
    except xlsxwriter.exceptions.FileCreateError as error:
        raise OSError(str(error)) from error


def _check_size(table: Table, path: Path) -> None:
    if table.n_rows + 1 > MOST_ROWS or len(table.columns) > MOST_COLUMNS:
        raise OutputError(
            f"{path}: expected at most {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns in a sheet, found "
            f"{table.n_rows + 1:,} and {len(table.columns):,} ({table.title}); write .nc or .csv instead"
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
    rows = [*((name, str(value)) for name, value in entries.items()), (_OUTLINE, outline(result))]
    sheet.write_string(0, 0, "name", bold)
    sheet.write_string(0, 1, "value", bold)
    line = 1
    for name, text in rows:
        for start in range(0, max(len(text), 1), _LONGEST_TEXT):  # a cell holds 32,767 letters: go on below
            sheet.write_string(line, 0, name)
            sheet.write_string(line, 1, text[start : start + _LONGEST_TEXT])
            line += 1


def read_xlsx(path: Path) -> xr.Dataset:
    """Return the result that `write_xlsx` wrote; needs openpyxl."""
    try:
        import openpyxl
    except ImportError:
        raise OutputError(f"{path}: reading workbooks needs openpyxl; run: pip install openpyxl") from None
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        if not {"results", "provenance"} <= set(book.sheetnames):
            raise OutputError(f"{path}: expected a workbook that mcettr wrote, found no sheets results and provenance")
        sheet = book["results"]
        header = next(sheet.iter_rows(max_row=1, values_only=True))
        rows = [list(row) for row in sheet.iter_rows(min_row=2, max_col=len(header), values_only=True)]
        texts = [str(text) for name, text in book["provenance"].iter_rows(values_only=True) if name == _OUTLINE]
    finally:
        book.close()
    return restore("".join(texts), rows, str(path))
