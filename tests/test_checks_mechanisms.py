"""The cross-field checks of the optional mechanisms: what they refuse, and what they warn of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mcettr.model.checks import check
from mcettr.model.counts import ALL, Counts, exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Params, Recovery
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Maintenance,
    Profile,
    Repeat,
    ReplicaGroups,
    Retention,
    Spares,
    StartFailure,
)
from tests.check_jobs import DAY, NODE_RATE, job

STARTS = (("start", fixed(180.0)),)
SDC = Cause("sdc", 1e-5, "silent", detection=Distribution("exponential", (3600.0,)))


def one(**change: Any) -> Params:
    """The sound job with another cause: `failures.x`."""
    numbers = {"name": "x", "rate_per_s": 1500 * NODE_RATE} | change
    return job(n_nodes=1500.0, causes=(Cause(**numbers),))


def recovering(**change: Any) -> Params:
    return job(n_nodes=1500.0, recovery=Recovery(startup=STARTS, restore=fixed(120.0), **change))


def spared(**change: Any) -> Params:
    return recovering(spares=replace(Spares(16.0, 60.0, 0.7, 3600.0, 2 * DAY), **change))


def local(n_a_main: Any = 6.0, write_time_s: float = 10.0, stall_s: float = 1.0, **change: Any) -> Params:
    return job(local=LocalTier(n_a_main, write_time_s, stall_s, fixed(30.0)), **change)


NAN, INF = np.nan, np.inf
OUT_OF_RANGE = [
    (job(verify_s=-1.0), "checkpoint.verify", "at least 0 and finite, found -1 s"),
    (job(retention=Retention(1.1)), "checkpoint.bad_probability", "expected at most 1, found 1.1"),
    (job(retention=Retention(0.1, keep=0.0)), "checkpoint.keep", "expected at least 1, found 0"),
    (job(retention=Retention(0.1, keep=2.5)), "checkpoint.keep", "expected a whole number, found 2.5"),
    (local(write_time_s=-1.0, stall_s=-2.0), "checkpoint.local.write_time", "found -1 s"),
    (one(kind="slow", slowdown=1.0), "failures.x.slowdown", "expected less than 1, found 1: a node that stops the job"),
    (one(kind="preemption", notice_s=-1.0), "failures.x.notice", "expected at least 0, found -1 s"),
    (one(kind="preemption", min_lease_s=-1.0), "failures.x.min_lease", "expected at least 0, found -1 s"),
    (one(repeat=Repeat(1.5, 60.0)), "failures.x.repeat.probability", "expected at most 1, found 1.5"),
    (one(repeat=Repeat(0.5, 0.0)), "failures.x.repeat.mean_time", "expected more than 0 and finite, found 0 s"),
    (one(profile=Profile((0.0,), (-1.0,))), "failures.x.profile", "at least 0 and finite, found -1"),
    (one(caught_in_check=2.0), "health_checks.periodic.catch_probability.x", "at most 1, found 2"),
    (one(caught_in_preflight=NAN), "health_checks.preflight.catch_probability.x", "found nan"),
    (job(incidents=Incidents(1e-6, 0.0, 8.0)), "incidents.mean_duration", "more than 0"),
    (job(incidents=Incidents(1e-6, 1e3, -8.0)), "incidents.multiplier", "found -8"),
    (job(maintenance=Maintenance(0.0, 0.0)), "maintenance.every", "more than 0, found 0 s"),
    (job(check_every_s=0.0), "health_checks.periodic.every", "more than 0, found 0 s"),
    (job(saved_before_s=-1.0), "job.saved", "found -1 s"),
    (job(rate_shape=0.0), "uncertainty.cv", "more than 0"),
    (job(n_nodes=0.5), "job.nodes", "at least 1"),
    (recovering(data_fast_forward=-0.1), "recovery.data_fast_forward", "found -0.1"),
    (recovering(max_attempt_s=0.0), "recovery.max_attempt", "more than 0"),
    (recovering(start_failure=StartFailure(-0.1)), "recovery.start_failure.probability", "at least 0"),
    (recovering(start_failure=StartFailure(0.1, 0.0)), "recovery.start_failure.max_attempts", "at least 1"),
    (recovering(replica_groups=ReplicaGroups(0.0)), "recovery.replica_groups.count", "at least 1"),
    (spared(count=1.5), "recovery.spares.count", "expected a whole number, found 1.5"),
    (spared(quick_share=1.2), "recovery.spares.repair.quick.share", "at most 1"),
    (spared(slow_mean_s=0.0), "recovery.spares.repair.slow.mean", "more than 0"),
    (spared(min_nodes=0.0, when_exhausted="shrink"), "recovery.spares.min_nodes", "at least 1 and finite, found 0"),
]
REFUSED = [
    (local(stall_s=20.0), "checkpoint.local.stall", "at most its write time (10 s), found 20 s"),
    (local(2.5), "checkpoint.local.interval", "a whole part of the main interval (30 min), found 12 min"),
    (local(interval_s=INF), "checkpoint.local.interval", "a whole part of the main interval (never)"),
    (local(write_time_s=400.0), "checkpoint.local.interval", "computed during a local write (6.65 min), found 5 min"),
    (
        job(local=LocalTier(6.0, 10.0, 1.0), write_time_s=600.0, stall_s=0.0, slowdown=0.2),
        "checkpoint.local.interval",
        "computed during a main write (8 min), found 5 min",
    ),
    (
        job(causes=(SDC,), write_time_s=3600.0, stall_s=0.0, horizon_s=1e8),
        "checkpoint.interval",
        "computed during a background write (60 min) together with silent corruption, found 30 min",
    ),
    (
        job(retention=Retention(), write_time=Distribution("uniform", (0.0, 120.0)), stall_share=0.5, stall_s=30.0),
        "checkpoint.write_time",
        "together with unusable saves",
    ),
    (one(every=fixed(9e3), profile=Profile((0.0,), (2.0,))), "failures.x.every", "a rate together with a profile"),
    (one(every=fixed(9e3), in_incidents=True), "failures.x.every", "together with incidents"),
    (one(every=fixed(9e3), repeat=Repeat(0.1, 60.0)), "failures.x.every", "together with repeats"),
    (one(every=fixed(9e3), kind="silent"), "failures.x.every", "together with kind silent"),
    (one(every=fixed(9e3), kind="preemption"), "failures.x.every", "together with kind preemption"),
    (one(profile=Profile((5.0, 9.0), (2.0, 1.0))), "failures.x.profile", "ascend from 0, found 5 s, 9 s"),
    (one(profile=Profile((0.0, 9.0, 9.0), (2.0, 1.0, 3.0))), "failures.x.profile", "ascend from 0"),
    (one(nodes_lost=exactly(1.5)), "failures.x.nodes_lost", "a whole number of nodes, found 1.5"),
    (one(over_evicted=exactly(-1.0)), "failures.x.over_evicted", "found -1"),
    (one(nodes_lost=Counts((0.0, 1.0), (0.5, 0.9))), "failures.x.nodes_lost", "sum to 1, found a sum of 0.9"),
    (one(nodes_lost=Counts((0.0, 1.0), (1.2, 1.0))), "failures.x.nodes_lost", "positive"),
    (job(lemons=Lemons(0.01, 30.0)), "lemons.cause", "expected one failure cause, found none"),
    (replace(one(kind="silent", by_lemons=True), lemons=Lemons(0.01, 9.0)), "lemons.cause", "(a silent by node)"),
    (replace(one(exposure="job", by_lemons=True), lemons=Lemons(0.01, 9.0)), "lemons.cause", "(a crash by job)"),
    (spared(min_nodes=1501.0, when_exhausted="shrink"), "recovery.spares.min_nodes", "(1500), found 1501: lower it"),
    (
        replace(spared(repair_failure=0.05), causes=(Cause("gpu", 1e-4, nodes_lost=exactly(1.0)),)),
        "recovery.spares.repair_failure",
        "found none on gpu: give failures.gpu.repeat",
    ),
    (recovering(replica_groups=ReplicaGroups(1501.0)), "recovery.replica_groups.count", "(1500), found 1501"),
    (
        recovering(replica_groups=ReplicaGroups(2.0), start_failure=StartFailure(0.1)),
        "recovery.start_failure",
        "together with replica groups",
    ),
    (
        recovering(replica_groups=ReplicaGroups(2.0), spares=Spares(1.0, 0.0, 1.0, 60.0, 60.0, 0.0, 9.0, "shrink")),
        "recovery.spares.when_exhausted",
        "found shrink",
    ),
    (job(maintenance=Maintenance(DAY, DAY)), "maintenance.duration", "less than its period (24 h), found 24 h"),
    (job(rate_shape=25.0, horizon_given=False), "job.horizon", "all rates share an uncertain factor"),
]


@pytest.mark.parametrize(("params", "path", "message"), OUT_OF_RANGE + REFUSED)
def test_errors_of_mechanisms(params: Params, path: str, message: str) -> None:
    problem = next(p for p in check(params))
    assert (problem.level, problem.path) == ("error", path)
    assert message in problem.message.replace("1 d)", "24 h)").replace("found 1 d", "found 24 h")


def test_neighbours_of_refused_jobs_pass() -> None:
    false_alarms = Cause("alarm", 1e-6, "preemption", notice_s=INF, nodes_lost=exactly(1.0))
    repeating = Cause("gpu", 1e-5, nodes_lost=exactly(1.0), repeat=Repeat(0.1, 3600.0))
    sound = (
        local(),
        local(3.0),
        local(write_time_s=301.0, stall_s=1.0),
        job(causes=(SDC,), verify_s=30.0),
        job(retention=Retention(1.0), write_time=Distribution("uniform", (0.0, 120.0))),
        one(every=fixed(9e3), kind="slow", slowdown=0.9),
        one(profile=Profile((0.0, DAY), (3.0, 1.0))),
        spared(count=INF),
        spared(min_nodes=1500.0, when_exhausted="shrink"),
        replace(spared(repair_failure=0.05), causes=(repeating, false_alarms)),
        recovering(replica_groups=ReplicaGroups(1500.0)),
        job(maintenance=Maintenance(DAY, DAY - 3600.0)),
        recovering(max_attempt_s=INF, start_failure=StartFailure(0.5, 3.0)),
    )
    for params in sound:
        assert [p for p in check(params) if p.level == "error"] == []


@pytest.mark.parametrize(
    ("params", "path", "message"),
    [
        (
            one(nodes_lost=Counts((1.0, 1600.0), (0.9, 1.0))),
            "failures.x.nodes_lost",
            "10 % of its failures take out more",
        ),
        (
            one(kind="preemption", notice_s=30.0),
            "failures.x.notice",
            "30 s is shorter than writing a checkpoint takes (60 s)",
        ),
        (job(maintenance=Maintenance(9 * DAY, 3600.0, 30.0)), "maintenance.notice", "30 s is shorter than"),
    ],
)
def test_warnings_of_mechanisms(params: Params, path: str, message: str) -> None:
    (problem,) = (p for p in check(params) if p.path == path)
    assert problem.level == "warning"
    assert message in problem.message
    assert "\n" not in problem.message


def test_what_goes_without_warning() -> None:
    quiet = (
        job(causes=(SDC,), retention=Retention(keep=2.0), verify_s=10.0),
        job(causes=(SDC,), retention=Retention(keep=100.0)),
        one(nodes_lost=exactly(ALL)),
        one(kind="preemption", notice_s=0.0),
        job(
            causes=(replace(SDC, detection=fixed(INF)),), horizon_given=False, horizon_s=1000 * 30 * DAY, verify_s=10.0
        ),
    )
    for params in quiet:
        assert check(params) == []
