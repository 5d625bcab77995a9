"""What a notebook or a prompt shows of an answer: one line, or a small table."""

from __future__ import annotations

import html as escape
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcettr.text import alike, duration, share, value_text

if TYPE_CHECKING:
    from mcettr.sweep.look import Point
    from mcettr.sweep.solved_value import SolvedValue


def summary(path: str, value: SolvedValue | None, reason: str) -> str:
    """Return an answer on one line: the value with its range, or why there is none."""
    if value is None:
        return reason
    estimate, low, high = alike([value.estimate, value.low, value.high], value.unit)
    return f"{path} = {estimate} ({low} to {high}); {reason}"


def html(title: str, path: str, unit: str, table: Sequence[Point]) -> str:
    """Return an answer as HTML: its line, and some points tried."""
    headers = [path, "ETTR", "standard error", "checkpoint interval"]
    rows = [
        [value_text(p.value, unit), share(p.ettr), share(p.ettr_se), duration(p.checkpoint_interval_s)] for p in table
    ]
    if any(point.completion is not None for point in table):
        headers.append("probability (95 % interval)")
        for row, point in zip(rows, table, strict=True):
            row.append("-" if point.completion is None else "{} ({} to {})".format(*map(share, point.completion)))
    body = "".join(_row(row, "td") for row in rows)
    return f"<p>{escape.escape(title)}</p><table><thead>{_row(headers, 'th')}</thead><tbody>{body}</tbody></table>"


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape.escape(cell)}</{tag}>' for cell in cells)}</tr>"
