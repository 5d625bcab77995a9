"""What `check` knows of a scenario: closed forms where they are exact, and what a pilot measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcettr.model import analytic, renewal
from mcettr.model.core import inexact_reason
from mcettr.model.distributions import Number, mean
from mcettr.model.mean_rates import incident_share
from mcettr.model.measured_cautions import measured_warnings
from mcettr.model.node_losses import mean_nodes_out
from mcettr.model.params import Cause, Params
from mcettr.model.problems import Notice
from mcettr.scenario import Scenario, compile_grid
from mcettr.scenario.compile import notices

if TYPE_CHECKING:
    from mcettr.model.measures import Measures

_DAY_S = 86_400.0
_CLOSE = 0.05
_FINITE = ("ettr", "ettr_long_run", "best_ettr", "ceiling", "hpca25_ettr")


@dataclass(frozen=True)
class CauseFigures:
    """How often a cause strikes at the rate given, and what it takes: failures per day at risk, nodes a failure."""

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
        Mean number of nodes that a day at risk costs, at the rates given.
    spares : float or None
        Spares at the start.
    lemons : float or None
        Mean number of bad nodes in the job at its submission.
    incident_share : float or None
        Share of the time with an incident, in the long run.
    """

    nodes: float
    nodes_lost_per_day: float | None
    spares: float | None
    lemons: float | None
    incident_share: float | None


@dataclass(frozen=True)
class Derived:
    """Answers for one job; times in seconds, None where no closed form is exact.

    Parameters
    ----------
    params : Params
        The job, its interval resolved.
    auto_interval : bool
        Whether the interval was left to the program.
    warnings : tuple of Notice
        What to know before a run.
    simulated : Measures
        What a pilot measured.
    reason : str or None
        Why closed forms are not exact for this job; None where they are.
    causes : tuple of CauseFigures
        The causes, the most frequent first.
    fleet : Fleet
        What the mechanisms of the nodes mean.
    mttf_s : float
        Mean time at risk between failures, at the rates given.
    young_interval_s, daly_interval_s : float or None
        The best intervals by Young (1974) and by Daly (2006) at that rate; None where a checkpoint costs nothing.
    best_interval_s : float or None
        The best interval exactly.
    ettr : float or None
        Of the job, its first start and last checkpoint included; None without work, or where the horizon may cut it.
    ettr_long_run, best_ettr, ceiling : float or None
        If the job never ended, at the best interval, and with a free checkpoint.
    completion_s : float or None
        Mean time from submission until the work is done.
    time_fraction : dict of str to float
        Long-run shares of the activities.
    hpca25_ettr : float or None
        The first-order form.
    """

    params: Params
    auto_interval: bool
    warnings: tuple[Notice, ...]
    simulated: Measures
    reason: str | None
    causes: tuple[CauseFigures, ...]
    fleet: Fleet
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

    @property
    def hpca25_trusted(self) -> bool:
        """Return whether the first-order form is within 5 % of the exact long-run value."""
        if self.hpca25_ettr is None or self.ettr_long_run is None:
            return False
        return abs(self.hpca25_ettr - self.ettr_long_run) <= _CLOSE * self.ettr_long_run


def derive(scenario: Scenario) -> Derived:
    """Return what closed forms and a pilot say about a scenario, in a fraction of a second and without JAX.

    >>> from mcettr.scenario import load
    >>> round(derive(load("rsc-1")).mttf_s / 3600, 2)
    1.8
    """
    from mcettr.engine.pilot import pilot

    grid = compile_grid(scenario, {})
    params = grid.params
    found = pilot(params)
    measured = notices(scenario, (), (), measured_warnings(params, found))
    save = params.checkpoint
    rate = analytic.failure_rate_per_s(params)
    blocked_s, _ = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    start = Derived(
        params=params,
        auto_interval=grid.auto_interval,
        warnings=(*grid.warnings, *measured),
        simulated=found,
        reason=inexact_reason(params),
        causes=tuple(sorted((_figures(params, cause) for cause in params.causes), key=lambda found: -found.per_day)),
        fleet=_fleet(params),
        mttf_s=float(analytic.mttf_s(params)),
        young_interval_s=_positive(renewal.young_interval_s(rate, blocked_s)),
        daly_interval_s=_positive(renewal.daly_interval_s(rate, blocked_s)),
    )
    if start.reason:
        return start
    exact = closed_forms(params)
    return (
        replace(start, reason="the closed form has no finite value here") if exact is None else replace(start, **exact)
    )


def _figures(params: Params, cause: Cause) -> CauseFigures:
    per_s = float(cause.rate_per_s) if cause.every is None else 1.0 / float(mean(cause.every))
    return CauseFigures(cause.name, cause.kind, per_s * _DAY_S, float(mean_nodes_out(cause, params.n_nodes)))


def _fleet(params: Params) -> Fleet:
    spares, lemons, incidents = params.recovery.spares, params.lemons, params.incidents
    lost = sum(found.per_day * found.nodes_lost for found in (_figures(params, cause) for cause in params.causes))
    return Fleet(
        nodes=float(params.n_nodes),
        nodes_lost_per_day=None if spares is None else lost,
        spares=None if spares is None else float(spares.count),
        lemons=None if lemons is None else float(params.n_nodes) * float(lemons.at_start),
        incident_share=None if incidents is None else float(incident_share(incidents)),
    )


def closed_forms(params: Params) -> dict[str, Any] | None:
    """Return the exact values of a job of the core model by the name in `Derived`; None where one is not finite."""
    with np.errstate(all="ignore"):
        best_s = float(analytic.best_interval_s(params))
        has_best = best_s > 0  # a free checkpoint, or no checkpoint section, has no best interval
        ends = bool(analytic.ends_in_time(params))
        found: dict[str, Any] = {
            "best_interval_s": _positive(best_s),
            "ettr": float(analytic.ettr_of_job(params)) if ends else None,
            "ettr_long_run": float(analytic.ettr_long_run(params)),
            "best_ettr": float(analytic.ettr(analytic.with_interval(params, best_s))) if has_best else None,
            "ceiling": float(analytic.ceiling(params)),
            "completion_s": float(analytic.expected_completion_s(params)) if ends else None,
            "time_fraction": {name: float(share) for name, share in analytic.explain(params).items()},
            "hpca25_ettr": float(analytic.hpca25_ettr(params)),
        }
    values = [*found["time_fraction"].values(), *(found[name] for name in _FINITE if found[name] is not None)]
    return found if np.all(np.isfinite(values)) else None


def _positive(value: Number) -> float | None:
    return float(value) if value > 0 else None
