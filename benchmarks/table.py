"""The table of results in Markdown, between two markers of a README.

``python -m benchmarks.table README.md`` writes it, ``--check`` says whether it is the one that the results give.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results_file import RESULTS

BEGIN, END = "<!-- benchmarks:begin -->", "<!-- benchmarks:end -->"
_ORDER = ("v1_22", "surface", "cold", "physics", "gpu_check")


def render(folder: Path = RESULTS) -> str:
    """Return a table for each result file of a folder, each under the machine and the date it comes from."""
    found = {path.stem: path for path in folder.glob("*.json")}
    names = [name for name in _ORDER if name in found] + sorted(set(found) - set(_ORDER))
    tables = [_table(json.loads(found[name].read_text(encoding="utf-8"))) for name in names]
    return "\n\n".join(tables) if tables else "No results yet."


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


def replaced(text: str, table: str) -> str:
    """Return a README's text with a table between its markers.

    >>> replaced("a <!-- benchmarks:begin -->old<!-- benchmarks:end --> b", "new").splitlines()
    ['a <!-- benchmarks:begin -->', 'new', '<!-- benchmarks:end --> b']

    Raises
    ------
    ValueError
        The markers are not there, once each and in order.
    """
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in tail:
        raise ValueError(f"expected {BEGIN} and then {END}, once each")
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table, or check it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("readme", type=Path, nargs="+", help="files with the two markers")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of result files [%(default)s]")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a table is not up to date")
    given = parser.parse_args(argv)
    table, code = render(given.results), 0
    for path in given.readme:
        text = path.read_text(encoding="utf-8")
        try:
            wanted = replaced(text, table)
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
        if given.check and wanted != text:
            print(f"{path}: not the table of the results; run python -m benchmarks.table {path}", file=sys.stderr)
            code = 1
        elif wanted != text:
            path.write_text(wanted, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
