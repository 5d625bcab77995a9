"""What `mcettr check` answers, as text and as an object for JSON."""

from __future__ import annotations

from typing import Any

from mcettr.model import renewal
from mcettr.model.analytic import mean_restart_s
from mcettr.model.distributions import mean
from mcettr.model.params import Params
from mcettr.report.derived import Derived
from mcettr.report.text import duration, number, paragraph, share, text_table
from mcettr.scenario import Scenario

_HOUR_S = 3600.0


def check_text(scenario: Scenario, derived: Derived, width: int = 80) -> str:
    """Return the closed-form answers for a scenario as text."""
    parts = [_job(derived, width), _causes(derived, width), _fleet(derived, width)]
    if derived.refused:
        parts.append(paragraph(f"No exact ETTR: {derived.refused}; `mcettr run` simulates it.", width))
    else:
        if derived.reason:
            parts.append(_approximate(derived, width))
        parts += [_ratios(derived, width), _budget(derived, width), _first_order(derived, width)]
    if assumed := scenario.assumed():
        parts.append("Assumed, not observed:\n" + "\n".join(
            paragraph(f"  {path} = {value}: {reason}", width, "    ") for path, value, reason in assumed
        ))  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def _approximate(derived: Derived, width: int) -> str:
    """Say which simpler job the closed forms are about."""
    beyond = (*derived.at_mean, *derived.left_out)
    alone = derived.reason is None or (beyond and derived.reason.startswith("the core model has no"))
    parts = ["Approximate" + ("." if alone else f": {derived.reason}.")]
    if derived.at_mean:
        parts.append(f"Taken at their mean effect: {', '.join(derived.at_mean)}.")
    if derived.left_out:
        parts.append(f"Left out: {', '.join(derived.left_out)}.")
    parts.append(
        "The values below take every rate as constant at its mean; `mcettr run` simulates the scenario as it is."
    )
    return paragraph(" ".join(parts), width)


def _causes(derived: Derived, width: int) -> str:
    """Return how often each cause strikes, where that takes more than the mean time between failures to say."""
    if len(derived.causes) < 2:
        return ""
    with_nodes = any(cause.nodes_lost > 0 for cause in derived.causes)
    rows = [
        [cause.name, cause.kind, number(cause.per_day), *([number(cause.nodes_lost)] if with_nodes else [])]
        for cause in derived.causes
    ]
    headers = ["Cause", "Kind", "A day at risk", *(["Nodes lost"] if with_nodes else [])]
    return "Failures, in the mean\n" + text_table(headers, rows, width, n_fixed=2)


def _fleet(derived: Derived, width: int) -> str:
    fleet = derived.fleet
    values = (
        ("Spares", fleet.spares, "unlimited"),
        ("Nodes lost a day at risk", fleet.nodes_lost_per_day, "-"),
        ("Nodes in repair in the long run, at most", fleet.in_repair, "all that were lost"),
        ("Lemons in the job at submission", fleet.lemons, "-"),
        ("Share of time with an incident", fleet.incident_share, "-"),
    )
    rows = [
        [label, number(value) if value < float("inf") else endless]
        for label, value, endless in values
        if value is not None
    ]
    return text_table(["Mean number", "Value"], rows, width) if rows else ""


def _job(derived: Derived, width: int) -> str:
    job, save = derived.params, derived.params.checkpoint
    blocked, _ = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    rows = [
        ["GPUs", number(float(job.n_gpus))],
        ["Nodes", number(derived.fleet.nodes)],
        *_work_rows(job),
        ["Mean time between failures, at risk", duration(derived.mttf_s)],
        *_restart_rows(job),
        ["Checkpoint interval" + " (auto)" * derived.auto_interval, _schedule(job)],
    ]
    if float(save.write_time_s) > 0:
        rows.append(["Time that a save costs", duration(float(blocked) + float(save.verify_s))])
        rows.append(["Time until it is durable", duration(float(save.write_time_s))])
    for name, value in (
        ("exact" if derived.reason is None else "at mean rates", derived.best_interval_s),
        ("Young (1974)", derived.young_interval_s),
        ("Daly (2006)", derived.daly_interval_s),
    ):
        if value is not None:
            rows.append([f"Best interval, {name}", _interval(value)])
    table = text_table(["Quantity", "Value"], rows, width)
    if float(job.checkpoint.interval_s) < float(job.work_s) or not job.causes:
        return table
    return table + "\n\n" + paragraph("No checkpoints: every failure restarts the whole job.", width)


def _work_rows(job: Params) -> list[list[str]]:
    """Return how much is to be done; none where the job trains until the horizon."""
    work_s, horizon_s = float(job.work_s), float(job.horizon_s)
    rows = [["Horizon", duration(horizon_s)]] if job.horizon_given else []
    if work_s == float("inf"):
        return rows
    return [["Work", duration(work_s)], ["  in GPU-hours", number(work_s * float(job.n_gpus) / _HOUR_S)], *rows]


def _restart_rows(job: Params) -> list[list[str]]:
    """Return how long a restart takes; none where it takes no time."""
    phases = job.recovery.startup_if_replaced
    values = (
        ("Startup and restore", float(mean_restart_s(job))),
        ("  more where a node was replaced", sum(float(mean(law)) for _, law in phases)),
    )
    return [[label, duration(value)] for label, value in values if value > 0]


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
    names = {"queue": "queue or swap"} if derived.params.recovery.spares is not None else {}
    rows = [
        [names.get(name, name), share(value)] for name, value in shares.items() if value > 0 or name == "productive"
    ]
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
        "nodes": derived.fleet.nodes,
        "mttf_s": derived.mttf_s,
        "causes": {
            cause.name: {"kind": cause.kind, "per_day_at_risk": cause.per_day, "nodes_lost": cause.nodes_lost}
            for cause in derived.causes
        },
        "nodes_lost_per_day": derived.fleet.nodes_lost_per_day,
        "nodes_in_repair": derived.fleet.in_repair,
        "lemons_at_start": derived.fleet.lemons,
        "incident_share": derived.fleet.incident_share,
        "checkpoint_interval_s": derived.params.checkpoint.interval_s,
        "interval_is_auto": derived.auto_interval,
        "best_interval_s": derived.best_interval_s,
        "young_interval_s": derived.young_interval_s,
        "daly_interval_s": derived.daly_interval_s,
        "exact": derived.reason is None,
        "reason": derived.refused or derived.reason,
        "at_mean_effect": derived.at_mean,
        "left_out": derived.left_out,
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
