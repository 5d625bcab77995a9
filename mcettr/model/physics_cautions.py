"""Warnings about the optional mechanisms, each with its consequence in numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mcettr.model import renewal
from mcettr.model.distributions import Number, as_array, exceedance
from mcettr.model.mean_rates import (
    incident_share,
    incidents_mean,
    lemons_mean,
    mean_rate_per_s,
    nodes_lost_per_s,
    strikes_a_culprit,
)
from mcettr.model.node_losses import chance_clipped, mean_nodes_out
from mcettr.model.params import Cause, Params
from mcettr.model.problems import Cells, Problem, duration_text
from mcettr.model.standstill import standstill_warnings
from mcettr.model.waiting import waiting_warnings

_WORTH_SAYING = 1e-6
"""A failure with a consequence rarer than this goes without one."""
_NEVER_NOTICED, _ENDLESS_S = 1e-3, 1e15
"""The share of failures that the horizon ends from which on it is worth a word, and what stands for no horizon."""
_NEVER_FOUND = 0.01
"""The share of corruptions that outlast the job from which on it is worth a word."""
_AND_ALSO = {"culprits missed": ", and repairs that failed,", "nodes badly repaired": ", and culprits missed,"}
_AFTER_EXHAUSTION = {
    "wait": "the job waits for repairs",
    "queue": "nodes come through the queue",
    "shrink": "the job shrinks",
}


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
            yield from _never_found(params, cause, see)
        if cause.kind in ("crash", "hang"):
            yield from _hangs_on(params, cause, see)
        if cause.kind == "preemption":
            yield from _too_late(params, f"failures.{cause.name}.notice", cause.notice_s, see)
        yield from _more_than_present(params, cause, see)
        yield from _repeats(params, cause, see)
        if cause.by_lemons:
            yield from _lemons(params, cause, see)
    yield from _incidents(params, see)
    if params.maintenance is not None:
        yield from _too_late(params, "maintenance.notice", params.maintenance.notice_s, see)
    yield from waiting_warnings(params, see)
    yield from standstill_warnings(params, see)
    yield from _hardly_repaired(params, see)


def _outlives_retention(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    save, kept = params.checkpoint, params.checkpoint.retention
    if kept is None:
        return
    blocked, _ = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    with np.errstate(invalid="ignore"):
        covered_s = as_array(np.multiply(kept.keep, np.add(save.interval_s, blocked)))
    chance = np.maximum(_found_after(params, cause, covered_s) - _found_after(params, cause, _whole_s(params)), 0.0)
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


def _never_found(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    """Warn of corruption that outlasts the job: the account takes it for kept work."""
    whole_s = _whole_s(params)
    chance = np.where(np.greater(params.checkpoint.verify_s, 0.0), 0.0, _found_after(params, cause, whole_s))
    corrupt = -np.expm1(-np.multiply(mean_rate_per_s(params, cause), whole_s) * chance)
    yield from see.where(
        "warning",
        f"failures.{cause.name}.detection",
        (chance > _NEVER_FOUND) & (corrupt > _WORTH_SAYING),
        lambda chance, whole, corrupt: (
            f"{100.0 * chance:.3g} % of its corruptions are not found in {duration_text(whole)} of training, and cost"
            f" nothing: {100.0 * corrupt:.3g} % of the timelines end with corrupt work counted as kept; give a"
            " detection, checkpoint.verify or a periodic check that finds them"
        ),
        chance,
        whole_s,
        corrupt,
    )


def _hangs_on(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    """Warn of a failure that nobody notices before the horizon (see `cautions` for a job without one)."""
    if not params.horizon_given:
        return
    end_s = np.minimum(params.horizon_s, _ENDLESS_S)
    chance = as_array(exceedance(cause.detection, end_s) * _missed_by_checks(params, cause, end_s))
    stuck = -np.expm1(-np.multiply(mean_rate_per_s(params, cause), _whole_s(params)) * chance)
    yield from see.where(
        "warning",
        f"failures.{cause.name}.detection",
        (chance > _NEVER_NOTICED) & (stuck > _WORTH_SAYING),
        lambda chance, stuck: (
            f"{100.0 * chance:.3g} % of its failures are not noticed before the horizon: until then the job stands"
            f" still, in {100.0 * stuck:.3g} % of the timelines; give a time after which somebody looks, or a periodic"
            " check"
        ),
        chance,
        stuck,
    )


def _whole_s(params: Params) -> Number:
    return np.minimum(params.work_s, params.horizon_s)


def _found_after(params: Params, cause: Cause, t_s: Number) -> Number:
    """Return the chance that corruption is not found within `t_s` of training, verifications left out."""
    return as_array(exceedance(cause.detection, t_s) * _missed_by_checks(params, cause, t_s))


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
    spares, chance = params.recovery.spares, cause.repeat.probability
    badly = np.float64(0.0)
    if spares is not None:
        badly = np.multiply(spares.repair_failure, mean_nodes_out(cause, params.n_nodes))
    for path, why, mostly in (
        (f"failures.{cause.name}.repeat.probability", "culprits missed", np.greater_equal(chance, badly)),
        ("recovery.spares.repair_failure", "nodes badly repaired", np.less(chance, badly)),
    ):
        yield from see.where(
            "warning",
            path,
            mostly & np.greater(factor, 1.0) & np.greater(cause.rate_per_s, 0.0),
            lambda factor, chance, other, why=why: (
                f"{why} with {100.0 * chance:.3g} %{_AND_ALSO[why] * (other > 0.0)} strike again: {cause.name} fails"
                f" {'hundreds of times' if factor > 500.0 else f'{factor:.3g} x'} as often as"
                f" failures.{cause.name}.rate says, which is that of new faults"
            ),
            factor,
            chance if why == "culprits missed" else (0.0 if spares is None else spares.repair_failure),
            badly if why == "culprits missed" else chance,
        )


def _lemons(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    lemons = params.lemons
    if lemons is None:
        return
    factor = lemons_mean(params, cause)
    yield from see.where(
        "warning",
        "lemons.multiplier",
        np.not_equal(factor, 1.0),
        lambda factor, fraction, multiplier: (
            f"{100.0 * fraction:.3g} % of nodes at {multiplier:g} x the rate: nodes fail by {cause.name} at"
            f" {factor:.3g} x failures.{cause.name}.rate in the mean"
        ),
        factor,
        lemons.at_start,
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


def _hardly_repaired(params: Params, see: Cells) -> Iterator[Problem]:
    """Warn of a repair that outlasts the job, so that spares are only used up."""
    spares = params.recovery.spares
    if spares is None:
        return
    per_s, whole_s = nodes_lost_per_s(params), as_array(_whole_s(params))
    quick, slow_s = spares.quick_share, spares.slow_mean_s
    out = per_s * (_still_out_s(spares.quick_mean_s, whole_s) * quick + _still_out_s(slow_s, whole_s) * (1.0 - quick))
    yield from see.where(
        "warning",
        "recovery.spares.repair",
        np.greater(slow_s, whole_s) & np.less(quick, 1.0) & (out > spares.count),
        lambda slow, whole, lost, out, count: (
            f"{duration_text(slow)} is longer than the whole job ({duration_text(whole)}): of {lost:.3g} nodes lost"
            f" until then {out:.3g} are still in repair, with {count:g} spares; once they are used up"
            f" {_AFTER_EXHAUSTION[spares.when_exhausted]}; check the unit"
        ),
        slow_s,
        whole_s,
        per_s * whole_s,
        out,
        spares.count,
    )


def _still_out_s(mean_s: Number, whole_s: Number) -> Number:
    """Return how many nodes are in repair at the end, for one lost a second."""
    known = np.where(np.isfinite(whole_s), whole_s, 0.0)
    return as_array(mean_s * -np.expm1(-known / mean_s))
