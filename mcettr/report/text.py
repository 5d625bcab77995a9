"""Plain text for terminals: aligned columns and short numbers, ASCII only, within a width."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Sequence

from mcettr.text import alike, bounded, duration, interval_text, number, share, short_labels, value_text

__all__ = [
    "alike",
    "bounded",
    "duration",
    "interval_text",
    "number",
    "paragraph",
    "share",
    "short_labels",
    "terminal_width",
    "text_table",
    "value_text",
]

_GAP = "  "
_TIE = "\N{NO-BREAK SPACE}"
_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d|years)(?!\w))")
_NARROWEST = 40
_NARROWEST_LABEL = 12


def terminal_width() -> int:
    """Return how many letters fit on a line of the terminal (the variable COLUMNS has precedence)."""
    return max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST)


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int = 80, n_fixed: int = 1) -> str:
    """Return rows in aligned columns; columns that do not fit go below, with the first `n_fixed` ones repeated.

    A single fixed column that leaves no room for any other is broken into lines.

    Parameters
    ----------
    headers : sequence of str
        One name a column; the first `n_fixed` columns are aligned left, the others right.
    rows : sequence of sequences of str
        Cells, as many a row as there are headers.
    width : int
        Letters on a line.

    >>> print(text_table(["activity", "share"], [["rework", "0.1"]]))
    activity  share
    --------  -----
    rework      0.1
    """
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    if n_fixed == 1 and len(widths) > 1:
        widths[0] = min(widths[0], max(width - max(widths[1:]) - len(_GAP), _NARROWEST_LABEL))
    parts = []
    for chosen in _blocks(widths, width, n_fixed):
        lines = [
            line.rstrip()
            for row in (headers, ["-" * w for w in widths], *rows)
            for line in _wrapped(row, widths, chosen, n_fixed)
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _wrapped(row: Sequence[str], widths: Sequence[int], chosen: Sequence[int], n_fixed: int) -> list[str]:
    """Return the lines of a row: a first cell longer than its column goes on in the next line, indented."""
    first = [row[0]]
    if len(row[0]) > widths[0]:
        first = textwrap.wrap(row[0], widths[0], subsequent_indent="  ", drop_whitespace=True) or [""]
    rest = [_aligned(row[i], widths[i], left=i < n_fixed) for i in chosen[1:]]
    return [*first[:-1], _GAP.join([first[-1].ljust(widths[0]), *rest])]


def _blocks(widths: Sequence[int], width: int, n_fixed: int) -> list[list[int]]:
    """Return the columns of each block: the fixed ones, and as many others as fit, at least one."""
    fixed = list(range(min(n_fixed, len(widths))))
    blocks: list[list[int]] = [list(fixed)]
    for i in range(len(fixed), len(widths)):
        needed = sum(widths[j] + len(_GAP) for j in blocks[-1]) + widths[i]
        if needed > width and len(blocks[-1]) > len(fixed):
            blocks.append(list(fixed))
        blocks[-1].append(i)
    return blocks


def _aligned(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def paragraph(text: str, width: int, indent: str = "") -> str:
    """Return text wrapped to a width; lines after the first are indented, no word is cut, units stay with numbers."""
    tied = _UNIT.sub(_TIE, text)
    filled = textwrap.fill(tied, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace(_TIE, " ")
