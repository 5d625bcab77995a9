"""What follows from a scenario without simulation: closed forms, and when they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcettr.model import analytic
from mcettr.model.core import core_numbers, mechanisms
from mcettr.model.distributions import Number
from mcettr.model.mean_rates import incident_share, mean_rate_per_s, nodes_in_repair, nodes_lost_per_s
from mcettr.model.node_losses import mean_nodes_out
from mcettr.model.params import Cause, Params
from mcettr.model.standstill import standstill
from mcettr.scenario import Scenario, compile_grid

_DAY_S = 86_400.0
_LEFT_OUT = {"spares": "waiting for spares", "maintenance": "maintenance", "longest attempt": "longest attempts"}
"""Mechanisms that the nearest job of the core model lacks, and what of them."""
_NO_LOCAL_TIER = "the closed forms know no local tier of saves, without which the job would lose far more"


@dataclass(frozen=True)
class CauseFigures:
    """How often a cause strikes and what it takes: failures a day at risk, nodes a failure (both means)."""

    name: str
    kind: str
    per_day: float
    nodes_lost: float


@dataclass(frozen=True)
class Fleet:
    """What mechanisms of the nodes mean in numbers; None where they are off.

    Parameters
    ----------
    nodes : float
        Nodes of the job.
    nodes_lost_per_day : float or None
        Mean number of nodes that a day at risk costs.
    in_repair : float or None
        Mean number of nodes in repair in the long run, if the job were at risk all the time; inf without any repair.
    spares : float or None
        Spares at the start.
    lemons : float or None
        Mean number of bad nodes in the job at its submission.
    incident_share : float or None
        Share of the time with an incident.
    """

    nodes: float
    nodes_lost_per_day: float | None
    in_repair: float | None
    spares: float | None
    lemons: float | None
    incident_share: float | None


@dataclass(frozen=True)
class Derived:
    """Closed-form answers for one job; times in seconds, None where no closed form applies.

    Parameters
    ----------
    params : Params
        The job, its interval resolved.
    auto_interval : bool
        Whether the interval was left to the program.
    warnings : tuple of str
        What to know before a run.
    reason : str or None
        Why `exact` values are those of a simpler job (the rates known and constant), None where they are exact.
    refused : str or None
        Why not even the simpler job has a closed form, or one worth showing.
    causes : tuple of CauseFigures
        The causes, the most frequent first.
    fleet : Fleet
        What the mechanisms of the nodes mean.
    at_mean, left_out : tuple of str
        Mechanisms that the simpler job has at their mean effect, and what it leaves out.
    mttf_s : float
        Mean time between failures.
    young_interval_s, daly_interval_s, best_interval_s : float or None
        The best intervals by Young (1974), by Daly (2006) and exactly; None where a save costs nothing.
    ettr, ettr_long_run, best_ettr, ceiling : float or None
        Exact values: of the job, if it never ended, at the best interval, and with a free checkpoint.
    completion_s : float or None
        Mean time from submission until the work is done; None for an open-ended job.
    time_fraction : dict of str to float
        Long-run shares of the activities.
    hpca25_ettr : float or None
        The first-order form.
    hpca25_trusted : bool
        Whether that form is within 5 %: rate x (restart + interval / 2) <= 0.25 and save <= interval / 4.
    """

    params: Params
    auto_interval: bool
    warnings: tuple[str, ...]
    reason: str | None
    refused: str | None
    causes: tuple[CauseFigures, ...]
    fleet: Fleet
    at_mean: tuple[str, ...]
    left_out: tuple[str, ...]
    mttf_s: float
    young_interval_s: float | None = None
    daly_interval_s: float | None = None
    best_interval_s: float | None = None
    ettr: float | None = None
    ettr_long_run: float | None = None
    best_ettr: float | None = None
    ceiling: float | None = None
    completion_s: float | None = None
    time_fraction: dict[str, float] | None = None
    hpca25_ettr: float | None = None
    hpca25_trusted: bool = False


def derive(scenario: Scenario) -> Derived:
    """Return what the closed forms say about a scenario, at once and without JAX.

    >>> from mcettr.scenario import load
    >>> round(derive(load("rsc-1")).mttf_s / 3600, 2)
    1.8
    """
    grid = compile_grid(scenario, {})
    params = grid.params
    reason = analytic.core_model_reason(params)
    core = params if reason is None else analytic.at_mean_rates(params)
    refused = analytic.core_model_reason(core) or standstill(params)
    refused = refused or (_NO_LOCAL_TIER if params.checkpoint.local is not None else None)
    beyond = mechanisms(params)
    start = Derived(
        params=params,
        auto_interval=grid.auto_interval,
        warnings=grid.warnings,
        reason=reason,
        refused=refused,
        causes=tuple(sorted((_figures(params, cause) for cause in params.causes), key=lambda found: -found.per_day)),
        fleet=_fleet(params),
        at_mean=tuple(name for name in beyond if name not in _LEFT_OUT),
        left_out=tuple(_LEFT_OUT[name] for name in beyond if name in _LEFT_OUT),
        mttf_s=float(analytic.mttf_s(params)),
    )
    return start if refused else _closed_forms(start, core)


def _figures(params: Params, cause: Cause) -> CauseFigures:
    per_day = float(mean_rate_per_s(params, cause)) * _DAY_S
    return CauseFigures(cause.name, cause.kind, per_day, float(mean_nodes_out(cause, params.n_nodes)))


def _fleet(params: Params) -> Fleet:
    spares, lemons, incidents = params.recovery.spares, params.lemons, params.incidents
    return Fleet(
        nodes=float(params.n_nodes),
        nodes_lost_per_day=None if spares is None else float(nodes_lost_per_s(params)) * _DAY_S,
        in_repair=None if spares is None else float(nodes_in_repair(params)),
        spares=None if spares is None else float(spares.count),
        lemons=None if lemons is None else float(params.n_nodes) * float(lemons.at_start),
        incident_share=None if incidents is None else float(incident_share(incidents)),
    )


def _closed_forms(start: Derived, core: Params) -> Derived:
    with np.errstate(all="ignore"):
        best_s = float(analytic.best_interval_s(core))
        has_best = best_s > 0  # a free save, or no checkpoint section, has no best interval
        open_ended = not np.isfinite(core.work_s) or bool(core_numbers(core).stretched)
        return replace(
            start,
            young_interval_s=_positive(analytic.young_interval_s(core)),
            daly_interval_s=_positive(analytic.daly_interval_s(core)),
            best_interval_s=_positive(best_s),
            ettr=float(analytic.ettr(core)),
            ettr_long_run=float(analytic.ettr_long_run(core)),
            best_ettr=float(analytic.ettr(analytic.with_interval(core, best_s))) if has_best else None,
            ceiling=float(analytic.ceiling(core)),
            completion_s=None if open_ended else float(analytic.expected_completion_s(core)),
            time_fraction={name: float(share) for name, share in analytic.explain(core).items()},
            hpca25_ettr=float(analytic.hpca25_ettr(core)),
            hpca25_trusted=_first_order_holds(core),
        )


def _positive(value: Number) -> float | None:
    return float(value) if value > 0 else None


def _first_order_holds(core: Params) -> bool:
    numbers = core_numbers(core)
    lost_s = float(analytic.mean_restart_s(core)) + float(numbers.downtime) + float(numbers.interval) / 2.0
    return bool(float(numbers.rate) * lost_s <= 0.25 and numbers.blocked <= numbers.interval / 4.0)
