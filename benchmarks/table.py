"""The results in Markdown, between two markers of a README: all tables, or the few lines that matter.

``python -m benchmarks.table README.md benchmarks/README.md`` writes them, ``--check`` says whether they are those that
the results give.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results_file import RESULTS

BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"
SHORT_BEGIN, SHORT_END = "<!-- benchmarks-short:begin -->", "<!-- benchmarks-short:end -->"
_ORDER = ("v1_22", "surface", "cold", "physics", "gpu_check")
_SHORT = (
    (
        "cold",
        "the answer for 12,288 GPUs above in {cold, the 12k-GPU answer}, all included, and in {again, the 12k-GPU"
        " answer} from the second time on; `check` in {cold, check}",
    ),
    ("cold", "65,536 timelines of `rsc-1` in {cold, run rsc-1}, of `llama3-405b` in {cold, run llama3-405b}"),
    ("surface", "a surface of 8,000 cells to a standard error of 0.001 in {surface to 0.001, whole command}"),
    ("v1_22", "{V1.22, mcettr / numba} the rate of the same model in Numba, {V1.22, mcettr / simpy} that in SimPy"),
    ("physics", "{events, everything} with every mechanism on"),
)
"""The lines for the main README: a result file, and a text with names of its rows in braces."""


def render(folder: Path = RESULTS) -> str:
    """Return a table for each result file of a folder, each under the machine and the date it comes from."""
    found = {path.stem: path for path in folder.glob("*.json")}
    names = [name for name in _ORDER if name in found] + sorted(set(found) - set(_ORDER))
    tables = [_table(json.loads(found[name].read_text(encoding="utf-8"))) for name in names]
    return "\n\n".join(tables) if tables else "No results yet."


def render_short(folder: Path = RESULTS) -> str:
    """Return a few lines on the results, with the machine that gave the first of them."""
    lines = []
    for name, text in _SHORT:
        path = folder / f"{name}.json"
        result = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"rows": []}
        values = {row["name"]: f"{number(row['median'])} {row['unit']}" for row in result["rows"]}
        parts = re.split(r"{([^}]*)}", text)  # the names of rows are every second part
        if set(parts[1::2]) <= set(values):
            lines.append("- " + "".join(values[part] if i % 2 else part for i, part in enumerate(parts)))
            machine = f"On {result['machine']['cores']} cores of {result['machine']['cpu']}, {result['date']}:"
    return "\n".join([machine, "", *lines]) if lines else "No results yet."


def _table(result: dict[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    where = f"`benchmarks/{result['driver']}.py`, {result['date']}: {machine['cores']} cores of {machine['cpu']}"
    lines = ["| measured | size | median | min to max | goal |", "|---|---|---:|---:|---|"]
    for row in result["rows"]:
        unit, low, high = row["unit"], number(row["min"]), number(row["max"])
        cells = (row["name"], row["size"], f"{number(row['median'])} {unit}", f"{low} to {high}", _goal(row))
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join([f"{where}, {packages}.", "", *lines])


def _goal(row: dict[str, Any]) -> str:
    if row["goal"] is None:
        return ""
    return f"{row['goal_is']} {number(row['goal'])}: {'met' if row['met'] else 'missed'}"


def number(value: float) -> str:
    """Return three significant digits, without exponents from a hundredth up.

    >>> number(484_178.9), number(2.4251), number(0.0854), number(60.0)
    ('484,000', '2.43', '0.0854', '60')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def replaced(text: str, table: str, begin_mark: str = BEGIN, end_mark: str = END) -> str:
    """Return a README's text with a table between its markers.

    >>> replaced("a <!-- benchmarks:begin -->old<!-- benchmarks:end --> b", "new").splitlines()
    ['a <!-- benchmarks:begin -->', 'new', '<!-- benchmarks:end --> b']

    Raises
    ------
    ValueError
        The markers are not there, once each and in order.
    """
    head, begin, rest = text.partition(begin_mark)
    _, end, tail = rest.partition(end_mark)
    if not (begin and end) or begin_mark in rest or end_mark in tail:
        raise ValueError(f"expected {begin_mark} and then {end_mark}, once each")
    return f"{head}{begin_mark}\n{table}\n{end_mark}{tail}"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table, or check it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("readme", type=Path, nargs="+", help="files with the markers of the tables or the lines")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of result files [%(default)s]")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a table is not up to date")
    given = parser.parse_args(argv)
    code = 0
    for path in given.readme:
        text = path.read_text(encoding="utf-8")
        try:
            if SHORT_BEGIN in text:
                wanted = replaced(text, render_short(given.results), SHORT_BEGIN, SHORT_END)
            else:
                wanted = replaced(text, render(given.results))
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        if given.check and wanted != text:
            print(f"{path}: not what the results give; run python -m benchmarks.table {path}", file=sys.stderr)
            code = 1
        elif wanted != text:
            path.write_text(wanted, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
