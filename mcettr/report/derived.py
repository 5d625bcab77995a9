"""What follows from a scenario without simulation: closed forms, and when they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mcettr.model import analytic
from mcettr.model.core import core_numbers
from mcettr.model.distributions import Number
from mcettr.model.params import Params
from mcettr.scenario import Scenario, compile_grid


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
        Why not even the simpler job has a closed form.
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
    refused = analytic.core_model_reason(core)
    start = Derived(params, grid.auto_interval, grid.warnings, reason, refused, float(analytic.mttf_s(params)))
    return start if refused else _closed_forms(start, core)


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
