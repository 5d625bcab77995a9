"""A job and its mechanisms, and the numbers that follow from its parameters: computed once, not every step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mcettr.kernels.events.draws import Request
from mcettr.kernels.events.features import PENDING, Bound, Features
from mcettr.kernels.events.plan import Plan, Times, plan_of
from mcettr.model.counts import Odds, odds_of
from mcettr.model.params import Params

ENDLESS_S = 1e30
"""Work of a job that never ends."""

SNAP = 1e-9
"""Rounding, as a share, that whole numbers of saves are told within."""


class Numbers(NamedTuple):
    """What follows from the parameters, (blocks, 1); None without the mechanism."""

    times: Times
    plan: Plan
    """The schedule of saves at full speed: of all lanes at all times where the job is `steady`."""
    total_s: Any
    """All work."""
    slack_s: Any
    close_s: Any
    """Work by which two saves may differ by rounding, and one from none."""
    nearly_all_s: Any
    """All work less the slack."""
    nearly_done_s: Any
    per_interval: Any
    per_node: Any
    per_repeat_s: dict[int, Any]
    """One over the mean time to a repeat, by cause."""
    per_quick_s: Any
    per_slow_s: Any
    quiet_mean_s: Any
    """Mean time between two incidents."""
    toggles_per_s: Any
    incident_share: Any
    misses: dict[int, Any]
    """Checks in a row that miss a fault, by cause (see `in_a_row`)."""
    bad_in_a_row: Any
    per_permanent: Any
    odds: dict[str, Odds]
    """Of the binomial counts whose chance is a number of the job."""
    slow: dict[int, tuple[Any, Any]]
    """Speed while a slow cause is active, and its reciprocal."""
    without_group: tuple[Any, Any] | None
    """The same while a group is lost."""


class Job:
    """A job and its mechanisms, with the rows of its tables."""

    def __init__(self, params: Params, features: Features, fixed: Numbers) -> None:
        self.params, self.on, self.fixed = params, features, fixed
        n = len(params.causes)
        self.n_rows = n + 4
        self.checkpoint_row, self.planned_row, self.horizon_row = n + 1, n + 2, n + 3
        self.rows_of_lanes = [*range(n + 1), *([self.planned_row] if features.graceful else [])]
        """Rows that stops may have, and what comes before the first."""
        self.requests: list[Request] = []
        """Every draw that a step makes; known once one has been looked at (see `mcettr.kernels.events.loop`)."""
        self.places: list[tuple[int, int]] = []
        """Rows and columns of the table by cause that a step may book to; known then too."""
        self.steady = not (features.slow or features.groups or features.shrink or features.write_law)


def numbers_of(params: Params, on: Features, xp: Any = np) -> Numbers:
    """Return what follows from the parameters of jobs, (blocks, 1), as arrays of NumPy (or of JAX)."""
    with np.errstate(all="ignore"):
        return _numbers(params, on, xp)


def _numbers(params: Params, on: Features, xp: Any) -> Numbers:
    save, recovery = params.checkpoint, params.recovery
    spares, incidents, retention, groups = recovery.spares, params.incidents, save.retention, recovery.replica_groups
    times, full = _times(params, xp), xp.ones_like(params.work_s)
    total_s = xp.minimum(params.work_s, ENDLESS_S)
    slack_s = 1e-9 * xp.minimum(total_s, 1e15)
    quiet_mean_s = toggles_per_s = incident_share = None
    if incidents is not None:
        quiet_mean_s = 1.0 / incidents.rate_per_s
        toggles_per_s = incidents.rate_per_s + 1.0 / incidents.mean_duration_s
        incident_share = incidents.rate_per_s / toggles_per_s
    checked = [(index, cause.caught_in_check) for index, cause in enumerate(params.causes)]
    return Numbers(
        times=times,
        plan=plan_of(times, full, full, xp, two_tiers=on.local, blocking=save.blocking),
        total_s=total_s,
        slack_s=slack_s,
        close_s=SNAP * xp.minimum(times.interval_s, xp.minimum(params.work_s, params.horizon_s)),
        nearly_all_s=total_s - slack_s,
        nearly_done_s=params.work_s * (1.0 - SNAP),
        per_interval=1.0 / times.interval_s,
        per_node=None if params.n_nodes is None else 1.0 / params.n_nodes,
        per_repeat_s={i: 1.0 / c.repeat.mean_time_s for i, c in enumerate(params.causes) if c.repeat is not None},
        per_quick_s=None if spares is None else 1.0 / spares.quick_mean_s,
        per_slow_s=None if spares is None else 1.0 / spares.slow_mean_s,
        quiet_mean_s=quiet_mean_s,
        toggles_per_s=toggles_per_s,
        incident_share=incident_share,
        misses={index: in_a_row(1.0 - p, xp) for index, p in checked if p is not None},
        bad_in_a_row=None if retention is None else in_a_row(retention.bad_probability, xp),
        per_permanent=None if retention is None else 1.0 / retention.permanent_every,
        odds=_odds(params, on, xp),
        slow={index: _with_inverse(1.0 - params.causes[index].slowdown) for index in on.slow},
        # The last group is not lost alone, so that any number will do for one, and 0 would not.
        without_group=None if groups is None else _with_inverse(xp.maximum(groups.count - 1.0, 1.0) / groups.count),
    )


def _with_inverse(value: Any) -> tuple[Any, Any]:
    return value, 1.0 / value


def in_a_row(p: Any, xp: Any) -> Any:
    """Return what a unit exponential is to be multiplied by, for its floor to be how often what has chance p repeats.

    The number is geometric: P(n or more) = p^n, by -log(u) / -log(p).
    """
    inside = -1.0 / xp.log(xp.clip(p, 1e-300, 1.0 - 1e-15))
    return xp.where(p <= 0.0, 0.0, xp.where(p >= 1.0, xp.inf, inside))


def _odds(params: Params, on: Features, xp: Any) -> dict[str, Odds]:
    spares, lemons = params.recovery.spares, params.lemons
    wanted: dict[str, tuple[Bound, Any]] = {
        f"culprits_{index}": (PENDING, params.causes[index].caught_in_preflight) for index in on.repeat
    }
    if spares is not None:
        wanted |= {"quick": (on.quick, spares.quick_share), "bad_repairs": (on.bad_repairs, spares.repair_failure)}
    if lemons is not None:
        wanted["lemons_in"] = on.lemons_in, lemons.fraction
    return {name: odds_of(p, bound.trials, xp) for name, (bound, p) in wanted.items() if p is not None}


def _times(params: Params, xp: Any) -> Times:
    """Return the times of the saves; of one tier, an interval beyond the work is the work itself."""
    save = params.checkpoint
    verify_s = 0.0 if save.verify_s is None else save.verify_s
    most_s = params.work_s if save.local is None else np.inf
    interval_s = xp.minimum(xp.minimum(save.interval_s, most_s), 1e15)
    n = xp.ones_like(interval_s) if save.local is None else save.local.n_a_main
    slowed = 1.0 - save.slowdown
    zero = xp.zeros_like(interval_s)
    times = Times(
        interval_s=interval_s,
        n_others=n - 1.0,
        local_s=interval_s / n,
        per_local=n / interval_s,
        blocked_s=zero,
        write_s=zero,
        background_s=zero,
        background_work_s=zero,
        slowed=slowed,
        per_slowed=1.0 / xp.where(slowed > 0, slowed, 1.0),
        local_stall_s=zero if save.local is None else save.local.stall_s + verify_s,
        local_write_s=zero if save.local is None else save.local.write_time_s + verify_s,
        holds_main=None if save.local is None else save.local.holds_main > 0,
    )
    return times.with_write(save.stall_s + verify_s, save.write_time_s + verify_s, xp, blocking=save.blocking)
