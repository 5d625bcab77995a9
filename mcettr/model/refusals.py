"""Mechanisms that contradict each other or are not simulated together: refused, with the reason and what to do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from mcettr.model import renewal
from mcettr.model.cautions import is_false_alarm
from mcettr.model.core import several
from mcettr.model.counts import mean_count
from mcettr.model.distributions import least, mean
from mcettr.model.events import MOST_TOGGLES, toggles_per_s
from mcettr.model.fields import counts
from mcettr.model.mean_rates import incidents_mean
from mcettr.model.params import MOST_NUMBERED, MOST_PHASES, MOST_UNCERTAIN, Cause, Params
from mcettr.model.problems import Cells, Problem, duration_text

_CLOSE = 1e-12


def refusals(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the errors of a job whose numbers are each in range.

    >>> from mcettr.model.params import Checkpoint, Recovery
    >>> from mcettr.model.physics import ReplicaGroups
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (), Recovery(replica_groups=ReplicaGroups(4.0)))
    >>> for problem in refusals(job, Cells(job)):
    ...     print(problem.path, problem.message)
    recovery.replica_groups.count expected at most the nodes of the job (1), found 4
    """
    yield from _too_many(params, see)
    yield from _local(params, see)
    yield from _unsettled_saves(params, see)
    for cause in params.causes:
        yield from _own_law(cause, see)
        yield from _profile(cause, see)
    yield from _counts(params, see)
    yield from _lemons(params, see)
    yield from _spares(params, see)
    yield from _replica_groups(params, see)
    yield from _maintenance(params, see)
    yield from _incidents(params, see)
    yield from _endless_loops(params, see)


def _too_many(params: Params, see: Cells) -> Iterator[Problem]:
    """Refuse what has no random numbers of its own: there are so many for each purpose (`mcettr.kernels.streams`)."""
    n_phases = len(params.recovery.startup) + len(params.recovery.startup_if_replaced)
    yield from see.where(
        "error",
        "recovery.startup",
        n_phases > MOST_PHASES,
        lambda: f"expected at most {MOST_PHASES} startup phases, found {n_phases}: join some of them",
    )
    for number, cause in enumerate(params.causes, start=1):
        uncertain = bool(np.any(np.isfinite(cause.rate_shape)))
        for part, there, most in (
            ("every", cause.every is not None, MOST_NUMBERED),
            ("repeat", cause.repeat is not None, MOST_NUMBERED),
            ("an uncertain rate", uncertain, MOST_UNCERTAIN),
        ):
            yield from see.where(
                "error",
                f"failures.{cause.name}",
                there and number > most,
                lambda number=number, part=part, most=most: (
                    f"expected {part} only in the first {most} causes, found it in number {number}: move the cause up"
                    " in the file, or join some"
                ),
            )


def _local(params: Params, see: Cells) -> Iterator[Problem]:
    save, local = params.checkpoint, params.checkpoint.local
    if local is None:
        return
    each_s = np.divide(save.interval_s, local.n_a_main)
    path, long = "checkpoint.local.interval", 1.0 + _CLOSE
    main_blocked, main_lag = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    _, lag = renewal.blocked_and_lag_s(local.stall_s, local.write_time_s, 0.0)
    # The copy of a main save goes on beside it, and is there before the next local save begins.
    beside_s = local.write_time_s - (main_blocked if save.write_time is None else 0.0)
    lag = np.where(np.greater(local.holds_main, 0.0), np.maximum(lag, beside_s), lag)
    yield from see.where(
        "error",
        "checkpoint.local.stall",
        np.greater(local.stall_s, local.write_time_s),
        lambda stall, write: f"expected at most its write time ({duration_text(write)}), found {duration_text(stall)}",
        local.stall_s,
        local.write_time_s,
    )
    n = local.n_a_main
    whole = np.isfinite(n) & np.greater_equal(n, 1.0) & np.equal(n, np.round(n))
    yield from see.where(
        "error",
        path,
        ~whole | ~np.isfinite(save.interval_s),
        lambda each, interval: (
            f"expected a whole part of the main interval ({duration_text(interval)}), found {duration_text(each)}:"
            " make checkpoint.interval a multiple of it"
        ),
        each_s,
        save.interval_s,
    )
    for name, written_s, advice in (
        ("main", main_lag, "lengthen it, or stall for more of the main write"),
        ("local", lag, "lengthen it, or shorten checkpoint.local.write_time"),
    ):
        yield from see.where(
            "error",
            path,
            whole & np.less(each_s * long, written_s),
            lambda each, written, name=name, advice=advice: (
                f"expected at least the work computed during a {name} write ({duration_text(written)}), found"
                f" {duration_text(each)}: {advice}"
            ),
            each_s,
            written_s,
        )


def _unsettled_saves(params: Params, see: Cells) -> Iterator[Problem]:
    """Refuse saves that may not begin on the grid of intervals, where a mechanism counts them by it."""
    save = params.checkpoint
    silent = any(cause.kind == "silent" for cause in params.causes)
    parts = (("a local tier", save.local), ("unusable saves", save.retention), ("silent corruption", silent or None))
    counted = [name for name, part in parts if part is not None]
    if not counted:
        return
    _, lag = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    stretched = np.less(save.interval_s, lag * (1.0 - _CLOSE)) & np.less(save.interval_s, params.work_s)
    yield from see.where(
        "error",
        "checkpoint.interval",
        stretched & (save.local is None),
        lambda interval, lag: (
            f"expected at least the work computed during a background write ({duration_text(lag)}) together with"
            f" {counted[0]}, found {duration_text(interval)}: lengthen it, or stall for more of the write"
        ),
        save.interval_s,
        lag,
    )
    yield from see.where(
        "error",
        "checkpoint.write_time",
        np.less(save.stall_share, 1.0) & (save.write_time is not None),
        lambda: (
            f"expected a fixed time, or a save that blocks for the whole write, together with {counted[0]}, found a"
            " distribution with a write in the background: it may outlast the interval; make the stall full"
        ),
    )


def _own_law(cause: Cause, see: Cells) -> Iterator[Problem]:
    if cause.every is None:
        return
    parts = (
        ("a profile", cause.profile is not None),
        ("incidents", cause.in_incidents),
        ("lemons", cause.by_lemons),
        ("repeats", cause.repeat is not None),
        (f"kind {cause.kind}", cause.kind in ("silent", "preemption")),
    )
    for name, there in parts:
        yield from see.where(
            "error",
            f"failures.{cause.name}.every",
            there,
            lambda name=name: (
                f"expected a rate together with {name}, found a law of the time between events: a law of its own"
                " cannot be modulated; give rate instead"
            ),
        )


def _profile(cause: Cause, see: Cells) -> Iterator[Problem]:
    if cause.profile is None:
        return
    starts = cause.profile.starts_s
    bad = np.not_equal(starts[0], 0.0)
    for earlier, later in itertools.pairwise(starts):
        bad = bad | np.less_equal(later, earlier)
    yield from see.where(
        "error",
        f"failures.{cause.name}.profile",
        bad,
        lambda *found: (
            f"expected times that ascend from 0, found {', '.join(map(duration_text, found))}: put them in order"
        ),
        *starts,
    )


def _counts(params: Params, see: Cells) -> Iterator[Problem]:
    for path, law in counts(params):
        for value in law.values:
            bad = ~np.isfinite(value) | np.less(value, 0.0) | np.not_equal(value, np.round(value))
            yield from see.where("error", path, bad, lambda x: f"expected a whole number of nodes, found {x:g}", value)
        parts = np.diff(np.stack(np.broadcast_arrays(0.0, *law.cumulative)), axis=0)
        bad = (parts.min(axis=0) < -_CLOSE) | ~(np.abs(parts.sum(axis=0) - 1.0) <= 1e-9)
        yield from see.where(
            "error",
            path,
            bad,
            lambda total: f"expected probabilities that are positive and sum to 1, found a sum of {total:g}",
            law.cumulative[-1],
        )


def _lemons(params: Params, see: Cells) -> Iterator[Problem]:
    if params.lemons is None:
        return
    chosen = [cause for cause in params.causes if cause.by_lemons]
    names = [cause.name for cause in chosen]
    yield from see.where(
        "error",
        "lemons.cause",
        len(chosen) != 1,
        lambda: f"expected one failure cause, found {several(names) if names else 'none'}: name one of failures",
    )
    for cause in chosen:
        sound = cause.kind in ("crash", "hang") and cause.exposure in ("node", "gpu") and cause.every is None
        yield from see.where(
            "error",
            "lemons.cause",
            not sound,
            lambda cause=cause: (
                "expected a crash or hang with a rate per node or GPU, found"
                f" {cause.name} (a {cause.kind} by {cause.exposure}{', every' * (cause.every is not None)}):"
                " name a cause that single nodes bring about"
            ),
        )


def _spares(params: Params, see: Cells) -> Iterator[Problem]:
    spares = params.recovery.spares
    if spares is None:
        return
    yield from see.where(
        "error",
        "recovery.spares.min_nodes",
        np.greater(spares.min_nodes, params.n_nodes) & (spares.when_exhausted == "shrink"),
        lambda least, nodes: f"expected at most the nodes of the job ({nodes:g}), found {least:g}: lower it",
        spares.min_nodes,
        params.n_nodes,
    )
    missing = [c.name for c in params.causes if c.repeat is None and _loses_nodes(c) and not is_false_alarm(c)]
    yield from see.where(
        "error",
        "recovery.spares.repair_failure",
        np.greater(spares.repair_failure, 0.0) & bool(missing),
        lambda chance: (
            f"expected repeat on every cause that loses nodes, as a badly repaired node ({chance:g}) fails by it again,"
            f" found none on {several(missing)}: give failures.{missing[0]}.repeat, or set repair_failure to 0"
        ),
        spares.repair_failure,
    )


def _loses_nodes(cause: Cause) -> bool:
    return any(law is not None and bool(np.any(mean_count(law))) for law in (cause.nodes_lost, cause.over_evicted))


def _replica_groups(params: Params, see: Cells) -> Iterator[Problem]:
    recovery, groups = params.recovery, params.recovery.replica_groups
    if groups is None:
        return
    yield from see.where(
        "error",
        "recovery.replica_groups.count",
        np.greater(groups.count, params.n_nodes),
        lambda count, nodes: f"expected at most the nodes of the job ({nodes:g}), found {count:g}",
        groups.count,
        params.n_nodes,
    )
    yield from see.where(
        "error",
        "recovery.spares.when_exhausted",
        recovery.spares is not None and recovery.spares.when_exhausted == "shrink",
        lambda: "expected wait or queue together with replica groups, found shrink: a lost group comes back whole",
    )
    yield from see.where(
        "error",
        "recovery.start_failure",
        recovery.start_failure is not None,
        lambda: (
            "expected none together with replica groups, found one: how a lost group's start fails is not modelled;"
            " leave out start_failure, or lengthen startup"
        ),
    )


def _maintenance(params: Params, see: Cells) -> Iterator[Problem]:
    planned = params.maintenance
    if planned is None:
        return
    yield from see.where(
        "error",
        "maintenance.duration",
        np.greater_equal(planned.duration_s, planned.every_s),
        lambda duration, every: (
            f"expected less than its period ({duration_text(every)}), found {duration_text(duration)}: nothing would"
            " be left to train in"
        ),
        planned.duration_s,
        planned.every_s,
    )


def _incidents(params: Params, see: Cells) -> Iterator[Problem]:
    """Refuse incidents that come and go too often to follow one by one; they then only act in the mean."""
    incidents = params.incidents
    if incidents is None:
        return
    changes = toggles_per_s(params) * np.minimum(params.work_s, params.horizon_s)
    yield from see.where(
        "error",
        "incidents.rate",
        changes > MOST_TOGGLES,
        lambda changes, each, factor: (
            f"expected at most {MOST_TOGGLES:,} beginnings and ends of incidents in a timeline, found {changes:.3g},"
            f" one every {duration_text(each)}: check the unit, or leave them out and give rates {factor:.3g} x as high"
        ),
        changes,
        np.divide(1.0, toggles_per_s(params)),
        incidents_mean(incidents),
    )


def _endless_loops(params: Params, see: Cells) -> Iterator[Problem]:
    """Refuse a job that would try again and again at one instant, so that no horizon ends it."""
    recovery, failing, save = params.recovery, params.recovery.start_failure, params.checkpoint
    if failing is not None:
        called = np.isfinite(failing.max_attempts) & np.greater(mean(failing.escalation), 0.0)
        at_once = np.equal(sum((mean(law) for _, law in recovery.startup), start=np.float64(0.0)), 0.0)
        yield from see.where(
            "error",
            "recovery.start_failure.probability",
            np.greater_equal(failing.probability, 1.0) & at_once & ~called,
            lambda: (
                "expected less than 1 where a failed start takes no time, found 1: no start ever succeeds; lower it"
            ),
        )
    if recovery.max_attempt_s is not None:
        write_s = save.write_time_s if save.write_time is None else least(save.write_time)
        yield from see.where(
            "error",
            "recovery.max_attempt",
            np.less_equal(recovery.max_attempt_s, write_s) & np.equal(mean(recovery.queue_wait), 0.0),
            lambda longest, write: (
                f"expected more than writing a checkpoint takes ({duration_text(write)}), found"
                f" {duration_text(longest)}: every attempt would end as it begins; lengthen it"
            ),
            recovery.max_attempt_s,
            write_s,
        )
