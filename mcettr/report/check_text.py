"""What `mcettr check` answers, as text and as an object for JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcettr.model import renewal
from mcettr.model.analytic import mean_restart_s
from mcettr.model.budget import ACTIVITIES
from mcettr.model.distributions import mean
from mcettr.model.measures import Measured
from mcettr.model.params import Params
from mcettr.report.derived import Derived
from mcettr.report.text import duration, number, paragraph, share, text_table
from mcettr.scenario import Scenario

_HOUR_S = 3600.0


def check_text(scenario: Scenario, derived: Derived, width: int = 80) -> str:
    """Return the answers for a scenario as text: closed forms where they are exact, what a pilot measures elsewhere."""
    parts = [_job(derived, width), _causes(derived, width), _fleet(derived, width)]
    if derived.reason is None:
        parts += [_ratios(derived, width), _budget(derived, width), _first_order(derived, width)]
    if derived.ettr is None:
        parts.append(_simulated(derived, width))
    if assumed := scenario.assumed():
        parts.append("Assumed, not observed:\n" + "\n".join(
            paragraph(f"  {path} = {value}: {reason}", width, "    ") for path, value, reason in assumed
        ))  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def _simulated(derived: Derived, width: int) -> str:
    """Return what the pilot measured, with how much it is worth."""
    found = derived.simulated
    n = int(found.n_timelines[0])
    name, part, later = "ETTR", "", ""
    if found.until_s is not None:
        name, part = "ETTR of that part", f"the first {duration(found.until_s)} of "
        later = " What adds up later, such as nodes in repair or corrupt checkpoints, is not in it."
    why = f" No closed form is exact for it: {derived.reason}." if derived.reason else ""
    title = paragraph(
        f"Simulated: {part}{n} timelines.{why} `mcettr run` gives all metrics, more precisely.{later}", width
    )
    rows = [[name, *_with_interval(found.ettr.at(0))]]
    for index, name in enumerate(ACTIVITIES):
        if name != "productive" and found.time_fraction.value[0, index] > 0:
            rows.append([f"  lost to {name}", *_with_interval(found.time_fraction.at(0, index))])
    if found.no_spare is not None and found.no_spare.value[0] > 0:
        rows.append(["P(no spare when needed)", *_with_interval(found.no_spare.at(0))])
    if found.until_s is None:
        rows.append(["Elapsed time", *_with_interval(found.elapsed_s.at(0), duration)])
        rows.append(["Failures", *_with_interval(found.failures.at(0), number)])
        if float(derived.params.work_s) < float("inf"):
            rows.append(["Finished timelines", *_with_interval(found.finished.at(0))])
    return f"{title}\n" + text_table(["Quantity", "Value", "95 % interval"], rows, width)


def _with_interval(found: Measured, show: Callable[[float], str] = share) -> list[str]:
    low, high = max(found.low, 0.0), min(found.high, 1.0) if show is share else found.high
    exact = low == high
    return [show(found.value), "" if exact else f"{show(low)} to {show(high)}"]


def _causes(derived: Derived, width: int) -> str:
    """Return how often each cause strikes, where that takes more than the mean time between failures to say."""
    if len(derived.causes) < 2:
        return ""
    with_nodes = any(cause.nodes_lost > 0 for cause in derived.causes)
    rows = [
        [cause.name, cause.kind, number(cause.per_day), *([number(cause.nodes_lost)] if with_nodes else [])]
        for cause in derived.causes
    ]
    headers = ["Cause", "Kind", "Per day at risk", *(["Nodes lost"] if with_nodes else [])]
    return "Expected failures, at the rates given\n" + text_table(headers, rows, width, n_fixed=2)


def _fleet(derived: Derived, width: int) -> str:
    fleet = derived.fleet
    values = (
        ("Spares", fleet.spares, "unlimited"),
        ("Nodes lost per day at risk, at the rates given", fleet.nodes_lost_per_day, "-"),
        ("Lemons in the job at submission, on average", fleet.lemons, "-"),
        ("Share of time with an incident, in the long run", fleet.incident_share, "-"),
    )
    rows = [
        [label, number(value) if value < float("inf") else endless]
        for label, value, endless in values
        if value is not None
    ]
    return text_table(["Fleet", "Value"], rows, width) if rows else ""


def _job(derived: Derived, width: int) -> str:
    job, save = derived.params, derived.params.checkpoint
    blocked, _ = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    rows = [
        ["GPUs", number(float(job.n_gpus))],
        ["Nodes", number(derived.fleet.nodes)],
        *_work_rows(job),
        ["Mean time between failures, at risk", _mttf(derived)],
        *_restart_rows(job),
        ["Checkpoint interval" + " (auto)" * derived.auto_interval, _schedule(job)],
    ]
    if float(save.write_time_s) > 0:
        rows.append(["Overhead per checkpoint", duration(float(blocked) + float(save.verify_s))])
        rows.append(["Time until it is durable", duration(float(save.write_time_s))])
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


def _work_rows(job: Params) -> list[list[str]]:
    """Return how much is to be done; none where the job trains until the horizon."""
    work_s, horizon_s = float(job.work_s), float(job.horizon_s)
    rows = [["Horizon", duration(horizon_s)]] if job.horizon_given else []
    if work_s == float("inf"):
        return rows
    return [["Work", duration(work_s)], ["  in GPU-hours", number(work_s * float(job.n_gpus) / _HOUR_S)], *rows]


def _mttf(derived: Derived) -> str:
    given = derived.reason is not None and derived.params.causes
    return duration(derived.mttf_s) + (" (at the rates given)" if given else "")


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
    values = [
        ("ETTR, exact", derived.ettr),
        ("ETTR in the long run, exact", derived.ettr_long_run if derived.ettr is None else None),
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
    title = paragraph("Where the time goes in the long run (without the first start and the last checkpoint)", width)
    return f"{title}\n" + text_table(["Activity", "Share"], rows, width)


def _first_order(derived: Derived, width: int) -> str:
    if derived.hpca25_ettr is None or not derived.ettr_long_run:
        return ""
    off = 100.0 * (derived.hpca25_ettr / derived.ettr_long_run - 1.0)
    value = f"{derived.hpca25_ettr:.4f}" if derived.hpca25_ettr >= 0.0 else "below 0"
    against = f"{abs(off):.2g} % {'above' if off > 0 else 'below'} the exact value in the long run"
    trust = "" if derived.hpca25_trusted else ": not to be trusted here"
    return paragraph(f"First-order formula (HPCA 2025): ETTR {value}, {against}{trust}.", width)


def check_object(scenario: Scenario, derived: Derived) -> dict[str, Any]:
    """Return the answers for a scenario as an object for JSON; null where no closed form is exact."""
    return {
        "gpus": derived.params.n_gpus,
        "nodes": derived.fleet.nodes,
        "mttf_s": derived.mttf_s,
        "causes": {
            cause.name: {"kind": cause.kind, "per_day_at_risk": cause.per_day, "nodes_lost": cause.nodes_lost}
            for cause in derived.causes
        },
        "nodes_lost_per_day": derived.fleet.nodes_lost_per_day,
        "lemons_at_start": derived.fleet.lemons,
        "incident_share": derived.fleet.incident_share,
        "checkpoint_interval_s": derived.params.checkpoint.interval_s,
        "interval_is_auto": derived.auto_interval,
        "best_interval_s": derived.best_interval_s,
        "young_interval_s": derived.young_interval_s,
        "daly_interval_s": derived.daly_interval_s,
        "exact": derived.reason is None,
        "reason": derived.reason,
        "ettr": derived.ettr,
        "ettr_long_run": derived.ettr_long_run,
        "best_ettr": derived.best_ettr,
        "ceiling": derived.ceiling,
        "completion_s": derived.completion_s,
        "time_fraction": derived.time_fraction,
        "hpca25": {"ettr": derived.hpca25_ettr, "trusted": derived.hpca25_trusted},
        "simulated": _simulated_object(derived),
        "warnings": derived.warnings,
        "warning_details": [notice.to_dict() for notice in derived.warnings],
        "assumed": [{"path": path, "value": value, "reason": reason} for path, value, reason in scenario.assumed()],
        "scenario": scenario.to_dict(),
    }


def _simulated_object(derived: Derived) -> dict[str, Any]:
    found = derived.simulated

    def parts(measured: Measured) -> dict[str, float]:
        return {"value": measured.value, "low": measured.low, "high": measured.high}

    return {
        "timelines": int(found.n_timelines[0]),
        "until_s": found.until_s,
        "ettr": parts(found.ettr.at(0)),
        "time_fraction": {name: parts(found.time_fraction.at(0, i)) for i, name in enumerate(ACTIVITIES)},
        "elapsed_s": parts(found.elapsed_s.at(0)),
        "interruptions": parts(found.failures.at(0)),
        "finished_fraction": parts(found.finished.at(0)) if found.until_s is None else None,
        "spare_wait_probability": None if found.no_spare is None else parts(found.no_spare.at(0)),
    }
