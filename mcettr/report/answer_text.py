"""The answers of solve and optimize as text: a few sentences, then the points tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcettr.report.text import duration, number, paragraph, share, text_table
from mcettr.units import parse_duration_s, split_number

if TYPE_CHECKING:
    from mcettr.sweep.answer import SolvedValue, SolveResult
    from mcettr.sweep.optimize import OptimizeResult
    from mcettr.sweep.trials import Point


_WIDE = 100.0
"""Values further apart than this factor are shown in units of their own."""
_MOST_DECIMALS = 6
_WITHIN = 3.0
"""Standard errors: the answer and its check have draws of their own, so their errors add."""


def value_text(value: float, unit: str) -> str:
    """Return a value of a varied field as the user would write it.

    >>> value_text(21.53, "s"), value_text(6.5, "1 / 1000 node-days"), value_text(12288.0, "1")
    ('21.5 s', '6.5 / 1000 node-days', '12,288')
    """
    if unit == "s":
        return duration(value)
    return number(value) if unit == "1" else f"{number(value)} {unit.removeprefix('1 ')}"


def solve_text(result: SolveResult, unit: str, width: int = 80) -> str:
    """Return what `solve` found as text.

    Parameters
    ----------
    result : SolveResult
        Feasible or not.
    unit : str
        Unit of the varied field.
    """
    lines = [_solved(result.vary, value) for value in result.crossings]
    level = None if result.value is None else result.level
    lines += [paragraph(f"{result.reason}.", width), _achieved(result.achieved, unit, width, level)]
    return "\n".join(lines) + _tried(result.vary, unit, result.table, width)


def optimize_text(result: OptimizeResult, unit: str, width: int = 80) -> str:
    """Return what `optimize` found as text; `unit` is that of the varied field."""
    lines = [] if result.value is None else [f"{result.vary} = {value_text(result.value.estimate, unit)}"]
    lines.append(paragraph(f"{result.reason}.", width))
    lines += [] if result.value is None else [_achieved(result.achieved, unit, width)]
    return "\n".join(lines) + _tried(result.vary, unit, result.table, width)


def alike(values: Sequence[float], unit: str) -> list[str]:
    """Return values that stand in one sentence: in the unit of the first one, all with as many decimals.

    >>> alike([21.1, 21.0, 21.2], "s"), alike([117.0, 112.0, 121.8], "s"), alike([64.0, 56.0, 1e3], "1")
    (['21.1 s', '21.0 s', '21.2 s'], ['117 s', '112 s', '122 s'], ['64', '56', '1,000'])
    """
    if not all(0.0 < value < math.inf for value in values) or max(values) > _WIDE * min(values):
        return [value_text(value, unit) for value in values]
    suffix = split_number(duration(values[0]))[1] if unit == "s" else unit.removeprefix("1").strip()
    numbers = [value / parse_duration_s(f"1 {suffix}") for value in values] if unit == "s" else list(values)
    whole = all(x == round(x) for x in numbers)
    decimals = 0 if whole else max(2 - math.floor(math.log10(max(numbers))), 0)
    while len({f"{x:.{decimals}f}" for x in numbers}) < len(set(numbers)) and decimals < _MOST_DECIMALS:
        decimals += 1
    texts = [f"{x:,.{decimals}f}" for x in numbers]
    return [f"{text} {suffix}".rstrip() for text in texts]


def _solved(path: str, value: SolvedValue) -> str:
    estimate, low, high = alike([value.estimate, value.low, value.high], value.unit)
    return f"{path} = {estimate} (95 % interval: {low} to {high})"


def _achieved(point: Point, unit: str, width: int, level: float | None = None) -> str:
    """Return what was simulated at the answer, and whether it is the level of the target within its error."""
    parts = [f"ETTR {share(point.ettr)} (standard error {share(point.ettr_se)})"]
    within = level is not None and abs(point.ettr - level) <= _WITHIN * point.ettr_se
    if point.completion is not None:
        parts.append("probability {} ({} to {})".format(*map(share, point.completion)))
        within = level is not None and point.completion[1] <= level <= point.completion[2]
    parts += ["equal to the target within its error"] if within else []
    if point.checkpoint_interval_s < float("inf"):
        parts.append(f"checkpoint interval {duration(point.checkpoint_interval_s)}")
    return paragraph(f"At {value_text(point.value, unit)}, run again on other draws: {', '.join(parts)}.", width)


def _tried(path: str, unit: str, table: Sequence[Point], width: int) -> str:
    with_date = any(point.completion is not None for point in table)
    headers = [path, "ETTR", "std. error", "interval", *(["probability"] if with_date else [])]
    rows = []
    for point in table:
        row = [value_text(point.value, unit), share(point.ettr), share(point.ettr_se)]
        row.append(duration(point.checkpoint_interval_s))
        if with_date:
            row.append("-" if point.completion is None else share(point.completion[0]))
        rows.append(row)
    return "\n\nTried, all on the same draws:\n" + text_table(headers, rows, width) if rows else ""
