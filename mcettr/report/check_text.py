"""What `mcettr check` answers, as text and as an object for JSON."""

from __future__ import annotations

from typing import Any

from mcettr.model.params import Params
from mcettr.report.derived import Derived
from mcettr.report.text import duration, number, paragraph, share, text_table
from mcettr.scenario import Scenario


def check_text(scenario: Scenario, derived: Derived, width: int = 80) -> str:
    """Return the closed-form answers for a scenario as text."""
    parts = [_intervals(derived, width)]
    if derived.refused:
        parts.append(paragraph(f"No exact ETTR: {derived.refused}; `mcettr run` simulates it.", width))
    else:
        if derived.reason:
            parts.append(
                paragraph(
                    f"Approximate: {derived.reason}. The values below take every rate as constant at its mean; "
                    "`mcettr run` simulates the scenario as it is.",
                    width,
                )
            )
        parts += [_ratios(derived, width), _budget(derived, width), _first_order(derived, width)]
    if assumed := scenario.assumed():
        parts.append("Assumed, not observed:\n" + "\n".join(
            paragraph(f"  {path} = {value}: {reason}", width, "    ") for path, value, reason in assumed
        ))  # fmt: skip
    return "\n\n".join(parts)


def _intervals(derived: Derived, width: int) -> str:
    job = derived.params
    rows = [
        ["GPUs", number(float(job.n_gpus))],
        ["Mean time between failures", duration(derived.mttf_s)],
        ["Checkpoint interval" + " (auto)" * derived.auto_interval, _schedule(job)],
    ]
    for name, value in (
        ("exact", derived.best_interval_s),
        ("Young (1974)", derived.young_interval_s),
        ("Daly (2006)", derived.daly_interval_s),
    ):
        if value is not None:
            rows.append([f"Best interval, {name}", _interval(value)])
    table = text_table(["Quantity", "Value"], rows, width)
    if float(job.checkpoint.interval_s) < float(job.work_s) or not job.causes:
        return table
    return table + "\n\n" + paragraph("No checkpoints: every failure restarts the whole job.", width)


def _schedule(job: Params) -> str:
    interval_s = float(job.checkpoint.interval_s)
    if interval_s < float(job.work_s):
        return duration(interval_s)
    return "no checkpoints"


def _interval(seconds: float) -> str:
    return "no checkpoints" if seconds == float("inf") else duration(seconds)


def _ratios(derived: Derived, width: int) -> str:
    word = "exact" if derived.reason is None else "approximate"
    values = [
        (f"ETTR, {word}", derived.ettr),
        ("  at the best interval", derived.best_ettr),
        ("  with a free checkpoint (the ceiling)", derived.ceiling),
    ]
    rows = [[label, share(value)] for label, value in values if value is not None]
    if derived.completion_s is not None:
        rows.append(["Mean time until the work is done", duration(derived.completion_s)])
    return text_table(["Closed form", "Value"], rows, width)


def _budget(derived: Derived, width: int) -> str:
    shares = derived.time_fraction or {}
    rows = [[name, share(value)] for name, value in shares.items() if value > 0 or name == "productive"]
    title = paragraph("Where the time goes in the long run (without the first start and the last save)", width)
    return f"{title}\n" + text_table(["Activity", "Share"], rows, width)


def _first_order(derived: Derived, width: int) -> str:
    if derived.hpca25_ettr is None:
        return ""
    trust = "within 5 % here" if derived.hpca25_trusted else "not to be trusted here"
    rule = "it is within 5 % while rate x (restart + interval / 2) <= 0.25 and save <= interval / 4"
    value = f"{derived.hpca25_ettr:.4f}" if derived.hpca25_ettr >= 0.0 else "below 0"
    return paragraph(f"First-order formula (HPCA 2025): ETTR {value}, {trust}; {rule}.", width)


def check_object(scenario: Scenario, derived: Derived) -> dict[str, Any]:
    """Return the closed-form answers for a scenario as an object for JSON; null where there is none."""
    return {
        "gpus": derived.params.n_gpus,
        "mttf_s": derived.mttf_s,
        "checkpoint_interval_s": derived.params.checkpoint.interval_s,
        "interval_is_auto": derived.auto_interval,
        "best_interval_s": derived.best_interval_s,
        "young_interval_s": derived.young_interval_s,
        "daly_interval_s": derived.daly_interval_s,
        "exact": derived.reason is None,
        "reason": derived.refused or derived.reason,
        "ettr": derived.ettr,
        "ettr_long_run": derived.ettr_long_run,
        "best_ettr": derived.best_ettr,
        "ceiling": derived.ceiling,
        "completion_s": derived.completion_s,
        "time_fraction": derived.time_fraction,
        "hpca25": {"ettr": derived.hpca25_ettr, "trusted": derived.hpca25_trusted},
        "warnings": derived.warnings,
        "assumed": [{"path": path, "value": value, "reason": reason} for path, value, reason in scenario.assumed()],
        "scenario": scenario.to_dict(),
    }
