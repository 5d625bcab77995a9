"""The answers of solve and optimize as text: the answer, what was simulated there, the points that matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcettr.report.text import alike, duration, interval_text, paragraph, share, text_table, value_text
from mcettr.report.work import work_by_gpus

if TYPE_CHECKING:
    from mcettr.sweep.answer import SolveResult
    from mcettr.sweep.look import Point
    from mcettr.sweep.optimize import OptimizeResult
    from mcettr.sweep.solved_value import SolvedValue

_WITHIN = 3.0
"""Standard errors: the answer and its check have draws of their own, so their errors add."""
_INTERVAL = "checkpoint.interval"


def solve_text(result: SolveResult, width: int = 80, verbose: bool = False) -> str:
    """Return what `solve` found as text; `verbose` for every point tried."""
    lines = [] if result.value is None else [_solved(result.vary, result.value)]
    lines += [f"also {_solved(result.vary, other)}" for other in result.crossings if other != result.value]
    level = None if result.value is None else result.level
    lines += [f"{result.reason}.", _achieved(result.achieved, result.vary, result.unit, level), *_work(result)]
    return _text(lines, result, width, verbose)


def optimize_text(result: OptimizeResult, width: int = 80, verbose: bool = False) -> str:
    """Return what `optimize` found as text; `verbose` for every point tried."""
    lines = [f"{result.reason}."]
    if result.value is not None:
        best = f"{result.vary} = {value_text(result.value.estimate, result.unit)}"
        lines = [best, *lines, _achieved(result.achieved, result.vary, result.unit), *_work(result)]
    return _text(lines, result, width, verbose)


def _text(lines: Sequence[str], result: SolveResult | OptimizeResult, width: int, verbose: bool) -> str:
    table = result.table if verbose else result.points_that_matter
    n_left_out = len(result.table) - len(table)
    more = f"{n_left_out} more points were tried; --verbose prints them, -o FILE keeps them."
    return "\n".join(
        [
            *(paragraph(line, width) for line in lines),
            *([_tried(result.vary, result.unit, table, width)] if table else []),
            *([paragraph(more, width)] if n_left_out else []),
        ]
    )


def _solved(path: str, value: SolvedValue) -> str:
    estimate, low, high = alike([value.estimate, value.low, value.high], value.unit)
    return f"{path} = {estimate} (95 % interval: {low} to {high})"


def _achieved(point: Point, path: str, unit: str, level: float | None = None) -> str:
    """Return what was simulated at the answer, and whether it is the level of the target within its error."""
    parts = [f"ETTR {share(point.ettr)} (standard error {share(point.ettr_se)})"]
    within = level is not None and abs(point.ettr - level) <= _WITHIN * point.ettr_se
    if point.completion is not None:
        parts.append("probability {} ({} to {})".format(*map(share, point.completion)))
        within = level is not None and point.completion[1] <= level <= point.completion[2]
    parts += ["equal to the target within its error"] if within else []
    if point.checkpoint_interval_s < float("inf") and path != _INTERVAL:
        parts.append(f"checkpoint interval {duration(point.checkpoint_interval_s)}")
    return f"At {value_text(point.value, unit)}, run again on other draws: {', '.join(parts)}."


def _work(result: SolveResult | OptimizeResult) -> list[str]:
    """Return what the work means where the answer is a number of GPUs."""
    if result.vary != "job.gpus" or not result.provenance or not result.table:
        return []
    from mcettr.scenario.document import read_yaml

    tree = read_yaml(str(result.provenance["scenario"]), "scenario").tree
    text = work_by_gpus(tree, result.table[0].value, result.achieved.value)
    return [text] if text else []


def _tried(path: str, unit: str, table: Sequence[Point], width: int) -> str:
    with_date = any(point.completion is not None for point in table)
    with_interval = path != _INTERVAL
    headers = [path, "ETTR", "std. error"]
    headers += [*(["interval"] if with_interval else []), *(["by then (95 %)"] if with_date else [])]
    rows = []
    for point in table:
        row = [value_text(point.value, unit), share(point.ettr), share(point.ettr_se)]
        if with_interval:
            row.append(duration(point.checkpoint_interval_s))
        if with_date:
            row.append("-" if point.completion is None else interval_text(*point.completion[1:]))
        rows.append(row)
    if sum(max(len(row[i]) for row in (headers, *rows)) + 2 for i in range(len(headers))) - 2 > width:
        headers[0] = path.rpartition(".")[2]
    return "\nTried, all on the same draws:\n" + text_table(headers, rows, width)
