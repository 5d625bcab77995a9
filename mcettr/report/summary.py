"""The result of one job in some fifteen lines: the answer, where the time goes, completion."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mcettr.model.budget import UNHELD
from mcettr.report.objects import lines_of
from mcettr.report.run_text import has_work
from mcettr.report.tables import activity_gpu_hours, activity_hours, labels_of
from mcettr.report.text import bounded, duration, interval_text, number, paragraph, share, text_table

if TYPE_CHECKING:
    import xarray as xr

_HOUR_S = 3600.0
_MOST_ACTIVITIES, _MOST_DEADLINES, _MOST_NAMES = 7, 2, 2


def run_summary(result: xr.Dataset, width: int = 80) -> str:
    """Return what matters most of a single job's result as text.

    Parameters
    ----------
    result : Dataset
        Without swept dimensions.
    """
    sentences = [_ettr(result), _totals(result), *_completion(result)]
    blocks = ["\n".join(paragraph(text, width) for text in sentences), _budget(result, width)]
    blocks.append("\n".join(paragraph(text, width) for text in (*assumed_names(result), _footer(result))))
    return "\n\n".join(blocks)


def _value(result: xr.Dataset, name: str) -> float:
    return float(result[name].item()) if name in result else math.nan


def _shown(result: xr.Dataset, name: str, show: Callable[[float], str]) -> str:
    """Return an estimate, or its bounds where it rests on too few timelines."""
    return bounded(_value(result, name), _value(result, f"{name}_low"), _value(result, f"{name}_high"), show)


def _ettr(result: xr.Dataset) -> str:
    text = f"ETTR {_shown(result, 'ettr', share)} (standard error {share(_value(result, 'ettr_se'))})"
    levels = labels_of(result, "quantile")
    if {"0.05", "0.95"} <= set(levels):
        low, high = (float(result["ettr_timeline_quantile"].values[levels.index(q)]) for q in ("0.05", "0.95"))
        if np.isfinite(low + high):
            text += f"; 90 % of timelines lie between {share(low)} and {share(high)}"
    return f"{text}."


def _totals(result: xr.Dataset) -> str:
    gpus, mttf_s, productive_s = (_value(result, name) for name in ("gpus", "mttf_s", "productive"))
    n_failures, interval_s = _value(result, "interruptions"), _value(result, "checkpoint_interval")
    held = f"{_shown(result, 'gpu_hours', number)} GPU-hours"
    parts = [
        f"{_shown(result, 'elapsed', duration)} on {number(gpus)} GPUs ({held})",
        f"{duration(productive_s)} of it kept work ({number(gpus * productive_s / _HOUR_S)} GPU-hours)",
        f"{_shown(result, 'interruptions', number)} interruptions"
        + (f", one per {duration(mttf_s)} at risk" if n_failures > 0 else ""),
        f"a checkpoint every {duration(interval_s)} of work" if np.isfinite(interval_s) else "no checkpoints",
    ]
    if "spare_wait_probability" in result and _value(result, "spare_wait_probability") > 0:
        waits = 100.0 * _value(result, "spare_wait_probability")
        parts.append(f"{waits:.2g} % of the recoveries that need a node find no spare")
    return f"On average: {'; '.join(parts)}."


def _completion(result: xr.Dataset) -> list[str]:
    if not has_work(result):
        return []
    levels = labels_of(result, str(result["completion_time"].dims[0]))
    times = dict(zip(levels, result["completion_time"].values.tolist(), strict=True))
    found = []
    for level in (level for level in ("0.5", "0.95") if level in times and not np.isnan(times[level])):
        by = "never" if np.isinf(times[level]) else f"by {duration(times[level])}"
        found.append(f"{100 * float(level):g} % {by}")
    sentences = [f"Timelines done: {', '.join(found)}."] if found else []
    return [*_deadlines(result), *sentences]


def _deadlines(result: xr.Dataset) -> list[str]:
    """Return the completion probabilities of a job, a sentence each, the first few of many."""
    if not result.sizes.get("deadline", 0):
        return []
    names = labels_of(result, "deadline")
    values = [result[f"completion_{name}"].values.tolist() for name in ("probability", "low", "high")]
    found = []
    for name, p, low, high in zip(names, *values, strict=True):
        between = f"95 % interval {interval_text(low, high)}"
        found.append(f"Done by {name}: probability {between if math.isnan(p) else f'{share(p)} ({between})'}.")
    n_more = len(found) - _MOST_DEADLINES
    return found if n_more <= 0 else [*found[:_MOST_DEADLINES], f"{n_more:,} more deadlines (--verbose)."]


def _budget(result: xr.Dataset, width: int) -> str:
    activities, causes = labels_of(result, "activity"), labels_of(result, "cause")
    hours, gpu_hours = activity_hours(result)[0], activity_gpu_hours(result)[0]
    shares, errors = result["time_fraction"].values, result["time_fraction_se"].values
    lost = result["lost_gpu_hours"].transpose("cause", "activity").values
    parts = np.nan_to_num(shares)  # nan: too few timelines to tell
    order = sorted(range(len(activities)), key=lambda i: (activities[i] != "productive", -parts[i]))
    rows = []
    for i in [i for i in order if shares[i] != 0 or activities[i] == "productive"][:_MOST_ACTIVITIES]:
        held = "none held" if activities[i] in UNHELD else number(float(gpu_hours[i]))
        known = np.nan_to_num(lost[:, i])
        most = causes[int(np.argmax(known))] if known.any() else ""
        time = duration(float(hours[i]) * _HOUR_S)
        rows.append([activities[i], share(float(shares[i])), share(float(errors[i])), time, held, most])
    headers = ["Where the time goes", "Share", "Std. error", "Time", "GPU-hours", "Most for"]
    return fitting_table(headers, rows, width, 1, (1, 4, 5, 3, 2))


def fitting_table(
    headers: list[str], rows: list[list[str]], width: int, n_fixed: int, preference: tuple[int, ...]
) -> str:
    """Return a table of the columns that fit; `preference` lists those that are not fixed, the dearest first."""
    chosen = list(range(n_fixed))
    for i in preference:
        kept_columns = sorted([*chosen, i])
        widths = [max(len(row[j]) for row in (headers, *rows)) for j in kept_columns]
        if len(chosen) == n_fixed or sum(widths) + 2 * (len(widths) - 1) <= width:
            chosen = kept_columns
    cells = [[row[j] for j in chosen] for row in rows]
    return text_table([headers[j] for j in chosen], cells, width, n_fixed)


def assumed_names(result: xr.Dataset) -> list[str]:
    """Return a sentence that names the values a preset assumed; none where there are none."""
    names = [line.partition(": assumed")[0].partition(" = ")[0] for line in lines_of(result, "assumed")]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return [f"Assumed, not observed: {', '.join(names[:_MOST_NAMES])}{more}."] if names else []


def _footer(result: xr.Dataset) -> str:
    return f"{int(result['timelines'].item()):,} timelines; --verbose prints everything, -o FILE keeps it."
