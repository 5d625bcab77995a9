"""The result of one job as text: metrics, where the time goes, losses by cause, completion."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mcettr.model.budget import UNHELD
from mcettr.report.objects import COMPLETION_LEVELS, lines_of
from mcettr.report.tables import activity_gpu_hours, activity_hours, labels_of
from mcettr.report.text import bounded, duration, number, paragraph, share, text_table

if TYPE_CHECKING:
    import xarray as xr

_QUANTILES = {
    "nodes_out_quantile": ("Nodes in repair at a random instant", ("0.5", "0.99", "0.999"), number),
    "nodes_out_most_quantile": ("Most nodes in repair at any time", ("0.5", "0.99", "0.999"), number),
    "longest_stretch_quantile": ("Longest time without a new save", ("0.5", "0.95", "0.99"), duration),
}
"""Title, levels and form of the quantiles that only some jobs have."""

_CORRECT = (
    ("ETTR, correct work only", "ettr_correct"),
    ("Share of the kept work that is corrupt", "corrupt_fraction"),
)
"""What jobs with silent corruption have."""


def run_text(result: xr.Dataset, width: int = 80) -> str:
    """Return all that a single job's result holds as text, `width` letters wide where its words allow.

    Parameters
    ----------
    result : Dataset
        Without swept dimensions.
    """
    parts = [_metrics(result, width), _budget(result, width), _losses(result, width), _completion(result, width)]
    return "\n\n".join(part for part in (*parts, assumed_text(result, width)) if part)


def assumed_text(result: xr.Dataset, width: int = 80) -> str:
    """Return the values that a preset assumed as one paragraph; empty where there are none."""
    values = [line.partition(": assumed")[0] for line in lines_of(result, "assumed")]
    return paragraph(f"Assumed, not observed: {'; '.join(values)}.", width, "  ") if values else ""


def _value(result: xr.Dataset, name: str) -> float:
    return float(result[name].item()) if name in result else math.nan


def _metrics(result: xr.Dataset, width: int) -> str:
    def row(label: str, name: str, show: Callable[[float], str] = share) -> list[str]:
        return _row(result, label, name, show)

    rows = [
        row("ETTR (kept work / elapsed time)", "ettr"),
        row("ETTR while GPUs are held", "ettr_occupied"),
        *(row(*labelled) for labelled in _CORRECT if labelled[1] in result),
        row("ETTR of one timeline: mean", "ettr_timeline_mean"),
        row("  standard deviation", "ettr_timeline_sd"),
        *_spread_rows(result, "", share),
        *_quantile_rows(result, "ettr_timeline_quantile", ("0.05", "0.5", "0.95"), share),
        ["GPUs", number(float(result["gpus"].item())), ""],
        row("Elapsed time", "elapsed", duration),
        *_spread_rows(result, "elapsed_", duration),
        row("GPU-hours held", "gpu_hours", number),
        row("Interruptions", "interruptions", number),
        row("  standard deviation", "interruptions_sd", number),
        *_spread_rows(result, "interruptions_", number),
        row("Checkpoints written", "checkpoints_written", number),
        row("Mean time between failures, at risk", "mttf_s", duration),
        row("Checkpoint interval", "checkpoint_interval", duration),
    ]
    if "spare_wait_probability" in result:
        rows.append(row("Recoveries that find no spare", "spare_wait_probability"))
        rows.append(row("Nodes in repair: mean", "nodes_out_mean", number))
    for name, (title, levels, show) in _QUANTILES.items():
        if name in result:
            rows += [[title, "", ""], *_quantile_rows(result, name, levels, show)]
    if has_work(result):
        rows.append(row("Finished timelines", "finished_fraction"))
    if _value(result, "capped_fraction") > 0:
        rows.append(row("Timelines stopped at the event cap", "capped_fraction"))
    rows.append(["Timelines", f"{int(result['timelines'].item()):,}", ""])
    return text_table(["Metric", "Value", "Std. error"], rows, width)


def _row(result: xr.Dataset, label: str, name: str, show: Callable[[float], str]) -> list[str]:
    error = _value(result, f"{name}_se")
    low, high = _value(result, f"{name}_low"), _value(result, f"{name}_high")
    return [label, bounded(_value(result, name), low, high, show), "" if math.isnan(error) else show(error)]


def _spread_rows(result: xr.Dataset, prefix: str, show: Callable[[float], str]) -> list[list[str]]:
    """Return the rows that tell luck and uncertain rates apart; none where rates are known or nothing varies."""
    kinds = {"run_to_run_sd": "from run to run", "rate_uncertainty_sd": "from uncertain rates"}
    found = [(f"{prefix}{kind}", text) for kind, text in kinds.items() if f"{prefix}{kind}" in result]
    if not any(_value(result, name) for name, _ in found):
        return []
    return [_row(result, f"  standard deviation {text}", name, show) for name, text in found]


def _quantile_rows(
    result: xr.Dataset, name: str, levels: tuple[str, ...], show: Callable[[float], str]
) -> list[list[str]]:
    texts = _quantile_texts(result, name, show)
    return [[f"  quantile {level}", texts[level], ""] for level in levels]


def _quantile_texts(result: xr.Dataset, name: str, show: Callable[[float], str]) -> dict[str, str]:
    """Return quantiles, or what is known of them, by level."""
    columns = [result[column].values.tolist() for column in (name, f"{name}_low", f"{name}_high")]
    texts = [bounded(value, low, high, show) for value, low, high in zip(*columns, strict=True)]
    return dict(zip(labels_of(result, str(result[name].dims[0])), texts, strict=True))


def _budget(result: xr.Dataset, width: int) -> str:
    activities = labels_of(result, "activity")
    hours, gpu_hours = activity_hours(result)[0].tolist(), activity_gpu_hours(result)[0].tolist()
    shares, errors = result["time_fraction"].values.tolist(), result["time_fraction_se"].values.tolist()
    rows = [
        [
            activity,
            share(part),
            share(error),
            number(time),
            "none held" if activity in UNHELD else number(held),
        ]
        for activity, part, error, time, held in zip(activities, shares, errors, hours, gpu_hours, strict=True)
        if part > 0 or math.isnan(part) or activity == "productive"
    ]
    return "Where the time goes\n" + text_table(["Activity", "Share", "Std. error", "Hours", "GPU-hours"], rows, width)


def _losses(result: xr.Dataset, width: int) -> str:
    causes, activities = labels_of(result, "cause"), labels_of(result, "activity")
    lost = result["lost_gpu_hours"].transpose("cause", "activity").values
    used = [j for j in range(len(activities)) if lost[:, j].any()]
    if not used:
        return ""
    rows = []
    for cause, hours in sorted(zip(causes, lost, strict=True), key=lambda pair: -np.nansum(pair[1])):
        if hours.any():
            known = np.nansum(hours)
            rows.append([cause, number(known) if known else "-", *(number(hours[j]) for j in used)])
    rows.append(["total", number(np.nansum(lost)), *(number(np.nansum(lost[:, j])) for j in used)])
    headers = ["Cause", "Total", *(activities[j] for j in used)]
    return "Lost GPU-hours by cause\n" + text_table(headers, rows, width)


def has_work(result: xr.Dataset) -> bool:
    """Return whether the job ends with some work done, rather than at its horizon only."""
    from mcettr.scenario.document import read_yaml

    scenario = read_yaml(json.loads(result.attrs["provenance"])["scenario"], "scenario")
    return "work" in scenario.tree["job"]


def _completion(result: xr.Dataset, width: int) -> str:
    if not has_work(result):
        return ""
    parts = []
    if result.sizes.get("deadline", 0):
        values = (result[f"completion_{name}"].values.tolist() for name in ("probability", "low", "high"))
        rows = [
            [label, share(p), f"{share(low)} to {share(high)}"]
            for label, p, low, high in zip(labels_of(result, "deadline"), *values, strict=True)
        ]
        parts.append("Done by a deadline\n" + text_table(["Deadline", "Probability", "95 % interval"], rows, width))
    times = _quantile_texts(result, "completion_time", duration).items()
    rows = [[f"{float(level):.0%}", text] for level, text in times if level in COMPLETION_LEVELS]
    if rows:
        parts.append("Time until a share of timelines is done\n" + text_table(["Share", "Time"], rows, width))
    return "\n\n".join(parts)
