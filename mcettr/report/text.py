"""Plain text for terminals: aligned columns and short numbers, ASCII only, within a width."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Callable, Sequence

from mcettr.units import UnitError, format_duration, split_number

_GAP = "  "
_NARROWEST = 40


def terminal_width() -> int:
    """Return how many letters fit on a line of the terminal (the variable COLUMNS has precedence)."""
    return max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST)


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int = 80, n_fixed: int = 1) -> str:
    """Return rows in aligned columns; columns that do not fit go below, with the first `n_fixed` ones repeated.

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
    parts = []
    for chosen in _blocks(widths, width, n_fixed):
        lines = [
            _GAP.join(_aligned(row[i], widths[i], left=i < n_fixed) for i in chosen).rstrip()
            for row in (headers, ["-" * w for w in widths], *rows)
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


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
    """Return text wrapped to a width; lines after the first are indented, and no word is cut."""
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def number(value: float) -> str:
    """Return a number for people: four digits, thousands apart, "never" for infinity.

    >>> [number(x) for x in (0.0, 1234567.8, 3.14159, float("inf"), float("nan"))]
    ['0', '1,234,568', '3.142', 'never', '-']
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(value: float) -> str:
    """Return a share with four decimals; "-" where it is undefined.

    >>> share(0.69314), share(9.6e-21), share(0.0)
    ('0.6931', '9.6e-21', '0.0000')
    """
    if not math.isfinite(value):
        return "-"
    return f"{value:.2g}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"


def bounded(value: float, low: float, high: float, show: Callable[[float], str]) -> str:
    """Return an estimate or, where it is nan, what its 95 % interval says; "-" where that is nothing.

    >>> bounded(0.25, 0.0, 1.0, share), bounded(math.nan, 0.0, 0.0468, share), bounded(math.nan, 52.0, math.nan, number)
    ('0.2500', '< 0.0468 (95 %)', '> 52 (95 %)')
    """
    if not math.isnan(value):
        return show(value)
    if math.isinf(low):
        return show(low)
    has_low, has_high = low > 0.0, math.isfinite(high)
    if has_low and has_high:
        return f"{show(low)} to {show(high)}"
    if has_high:
        return f"< {show(high)} (95 %)"
    return f"> {show(low)} (95 %)" if has_low else "-"


def interval_text(low: float, high: float) -> str:
    """Return an interval of shares with the decimals that its width supports, two to four.

    >>> interval_text(0.4953, 0.7271), interval_text(0.5871, 0.6465), interval_text(0.0, 0.00375)
    ('0.50 to 0.73', '0.587 to 0.646', '0.0000 to 0.0037')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return "-"
    decimals = min(max(1 - math.floor(math.log10(max(high - low, 1e-9))), 2), 4)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def duration(value_s: float) -> str:
    """Return a duration for people; "-" where it is undefined.

    >>> duration(5400.0), duration(float("nan"))
    ('90 min', '-')
    """
    return "-" if math.isnan(value_s) else format_duration(value_s)


def short_labels(labels: Sequence[str]) -> list[str]:
    """Return labels with their numbers cut to four digits, where all stay different.

    >>> short_labels(["2.58734023677 s", "6.5 / 1000 node-days", "never"])
    ['2.587 s', '6.5 / 1000 node-days', 'never']
    """
    found = [_short(label) for label in labels]
    return found if len(set(found)) == len(set(labels)) else list(labels)


def _short(label: str) -> str:
    try:
        text, unit = split_number(label)
    except UnitError:
        return label
    return label if len(text) <= 7 else f"{float(text):.4g} {unit}".rstrip()
