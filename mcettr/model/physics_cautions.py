"""Warnings about the optional mechanisms, each with its consequence in numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mcettr.model import renewal
from mcettr.model.core import as_array
from mcettr.model.distributions import Number, exceedance, mean
from mcettr.model.mean_rates import incident_share, incidents_mean, lemons_mean, strikes_a_culprit
from mcettr.model.node_losses import chance_clipped
from mcettr.model.params import Cause, Params
from mcettr.model.problems import Cells, Problem, duration_text

_WORTH_SAYING = 1e-6
"""A failure with a consequence rarer than this goes without one."""


def physics_warnings(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the warnings of a job without errors.

    >>> from mcettr.model.params import Checkpoint
    >>> from mcettr.model.physics import Lemons
    >>> causes = (Cause("node", 1e-5, by_lemons=True),)
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), causes, lemons=Lemons(0.012, 30.0))
    >>> for problem in physics_warnings(job, Cells(job)):
    ...     print(problem.path, problem.message)
    lemons.multiplier 1.2 % of nodes at 30 x the rate: nodes fail by node at 1.35 x failures.node.rate in the mean
    """
    for cause in params.causes:
        if cause.kind == "silent":
            yield from _outlives_retention(params, cause, see)
        if cause.kind == "preemption":
            yield from _too_late(params, f"failures.{cause.name}.notice", cause.notice_s, see)
        yield from _more_than_present(params, cause, see)
        yield from _repeats(params, cause, see)
        if cause.by_lemons:
            yield from _lemons(params, cause, see)
    yield from _incidents(params, see)
    if params.maintenance is not None:
        yield from _too_late(params, "maintenance.notice", params.maintenance.notice_s, see)
    yield from _never_trains(params, see)


def _outlives_retention(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    save, kept = params.checkpoint, params.checkpoint.retention
    if kept is None:
        return
    blocked, _ = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    with np.errstate(invalid="ignore"):
        covered_s = as_array(np.multiply(kept.keep, np.add(save.interval_s, blocked)))
    chance = exceedance(cause.detection, covered_s) * _missed_by_checks(params, cause, covered_s)
    # A verification finds corruption before the next save is written: that one is never bad.
    chance = np.where(np.greater(save.verify_s, 0.0) | np.isinf(covered_s), 0.0, chance)

    def say(chance: float, covered: float, keep: float, permanent: float) -> str:
        back = f"the last of every {permanent:g} saves" if np.isfinite(permanent) else "the start"
        return (
            f"{100.0 * chance:.3g} % of its corruptions are found after more than the {duration_text(covered)} that"
            f" {keep:g} kept saves cover: no clean one is left, and the job falls back to {back}; raise checkpoint.keep"
        )

    path = f"failures.{cause.name}.detection"
    struck = chance * np.greater(cause.rate_per_s, 0.0)
    yield from see.where(
        "warning", path, struck > _WORTH_SAYING, say, chance, covered_s, kept.keep, kept.permanent_every
    )


def _missed_by_checks(params: Params, cause: Cause, t_s: Number) -> Number:
    """Return the chance that no periodic check finds a fault within `t_s`; the first comes after a uniform phase."""
    if cause.caught_in_check is None or params.check_every_s is None:
        return np.float64(1.0)
    missed = 1.0 - as_array(cause.caught_in_check)
    with np.errstate(invalid="ignore"):
        checks = np.where(np.isfinite(t_s), np.divide(t_s, params.check_every_s), 0.0)
    whole = np.floor(checks)
    return missed ** (whole + 1.0) + missed**whole * (1.0 - missed) * (1.0 - (checks - whole))


def _too_late(params: Params, path: str, notice_s: Number, see: Cells) -> Iterator[Problem]:
    """Warn of a notice that leaves no time for a save; no notice at all is no slip."""
    save = params.checkpoint
    law = save.write_time
    never = np.where(np.greater(save.write_time_s, notice_s), 1.0, 0.0)
    chance = never if law is None else exceedance(law, notice_s)
    yield from see.where(
        "warning",
        path,
        np.greater(notice_s, 0.0) & (chance > _WORTH_SAYING),
        lambda chance, notice, write: (
            f"{duration_text(notice)} is shorter than a save ({duration_text(write)})"
            f"{'' if chance == 1.0 else f' in {100.0 * chance:.3g} % of the attempts'}: no save is made then, and the"
            " stop costs rework like a crash"
        ),
        chance,
        notice_s,
        save.write_time_s,
    )


def _more_than_present(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    chance = chance_clipped(cause, params.n_nodes)
    yield from see.where(
        "warning",
        f"failures.{cause.name}.nodes_lost",
        chance > 0.0,
        lambda chance, nodes: (
            f"{100.0 * chance:.3g} % of its failures take out more nodes than the {nodes:g} of the job: they are"
            " counted as all of them"
        ),
        chance,
        params.n_nodes,
    )


def _repeats(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    if cause.repeat is None:
        return
    factor = strikes_a_culprit(params, cause)
    yield from see.where(
        "warning",
        f"failures.{cause.name}.repeat.probability",
        np.greater(factor, 1.0) & np.greater(cause.rate_per_s, 0.0),
        lambda factor, chance: (
            f"culprits missed with {100.0 * chance:.3g} %, and repairs that failed, strike again: {cause.name} fails"
            f" {'hundreds of times' if factor > 500.0 else f'{factor:.3g} x'} as often as failures.{cause.name}.rate"
            " says, which is that of new faults"
        ),
        factor,
        cause.repeat.probability,
    )


def _lemons(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    lemons = params.lemons
    if lemons is None:
        return
    factor = lemons_mean(lemons)
    yield from see.where(
        "warning",
        "lemons.multiplier",
        np.not_equal(factor, 1.0),
        lambda factor, fraction, multiplier: (
            f"{100.0 * fraction:.3g} % of nodes at {multiplier:g} x the rate: nodes fail by {cause.name} at"
            f" {factor:.3g} x failures.{cause.name}.rate in the mean"
        ),
        factor,
        lemons.fraction,
        lemons.multiplier,
    )


def _incidents(params: Params, see: Cells) -> Iterator[Problem]:
    incidents = params.incidents
    names = [cause.name for cause in params.causes if cause.in_incidents]
    if incidents is None or not names:
        return
    factor = incidents_mean(incidents)
    yield from see.where(
        "warning",
        "incidents.multiplier",
        np.not_equal(factor, 1.0),
        lambda factor, share, multiplier: (
            f"{100.0 * share:.3g} % of the time at {multiplier:g} x: {_listed(names)} at {factor:.3g} x the rate given,"
            " which is that of quiet times, in the mean"
        ),
        factor,
        incident_share(incidents),
        incidents.multiplier,
    )


def _listed(names: list[str]) -> str:
    return f"{names[0]} strikes" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} strike"


def _never_trains(params: Params, see: Cells) -> Iterator[Problem]:
    recovery, longest = params.recovery, params.recovery.max_attempt_s
    if longest is None:
        return
    start_s = sum((mean(law) for _, law in recovery.startup), start=mean(recovery.restore))
    needed_s = as_array(start_s + params.checkpoint.write_time_s)
    yield from see.where(
        "warning",
        "recovery.max_attempt",
        np.less_equal(longest, needed_s),
        lambda longest, needed: (
            f"{duration_text(longest)} is no longer than startup, restore and a save ({duration_text(needed)} in the"
            " mean): an attempt ends before it trains, and the job makes no progress"
        ),
        longest,
        needed_s,
    )
