"""Jobs with one mechanism each, and with many: for comparing the engines event by event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mcettr.model.counts import Counts, exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
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

HOUR, DAY = 3600.0, 86_400.0
INF = float("inf")
ONE = exactly(1.0)
CRASH = Cause("crash", 1 / (2 * HOUR), detection=fixed(300.0), nodes_lost=ONE)
RACK = Cause("rack", 1 / DAY, nodes_lost=Counts((8.0, 16.0), (0.5, 1.0)))
PLAN = Checkpoint(1800.0, 60.0, 60.0)
LOCAL = LocalTier(6.0, 10.0, 1.0, fixed(30.0), 1.0)
POOL = Spares(2.0, 120.0, 0.7, HOUR, 2 * DAY)
PLENTY = replace(POOL, count=8.0)
LAWS = (
    Distribution("exponential", (300.0,)),
    Distribution("gamma", (2.0, 200.0)),
    Distribution("mixture", (0.7, 0.3), (fixed(60.0), Distribution("exponential", (900.0,)))),
    Distribution("weibull", (300.0, 0.7)),
    Distribution("exponential", (1200.0,)),
)
"""Several causes with laws of their own share a draw."""


def exponential(mean_s: float) -> Distribution:
    return Distribution("exponential", (mean_s,))


def job(*causes: Cause, plan: Checkpoint = PLAN, more: dict[str, Any] | None = None, **recovery: Any) -> Params:
    """Return five days of work on 1536 nodes; `recovery` and `more` are fields of `Recovery` and `Params`."""
    common: dict[str, Any] = {"startup": (("start", fixed(400.0)),), "restore": fixed(200.0)}
    numbers: dict[str, Any] = {"work_s": 5 * DAY, "horizon_s": 20 * DAY, "n_nodes": 1536.0} | (more or {})
    return Params(8.0, checkpoint=plan, causes=causes or (CRASH,), recovery=Recovery(**common | recovery), **numbers)


def of_saves() -> dict[str, Params]:
    """Return jobs with a mechanism of saves each."""
    sdc = Cause("sdc", 1 / (6 * HOUR), "silent", detection=exponential(2 * HOUR))
    by_law = Checkpoint(1800.0, 60.0, 20.0, 0.2, False, write_time=exponential(60.0), stall_share=0.3)
    return {
        "local tier": job(CRASH, replace(RACK, nodes_lost=exactly(2.0)), plan=replace(PLAN, local=LOCAL)),
        "bad saves": job(plan=replace(PLAN, retention=Retention(0.3, 3.0, 10.0))),
        "silent": job(CRASH, sdc),
        "verified": job(CRASH, sdc, plan=replace(PLAN, verify_s=20.0)),
        "write times by a law": job(plan=by_law),
    }


def of_causes() -> dict[str, Params]:
    """Return jobs with a mechanism of failures each."""
    slow = Cause("slow", 1 / (6 * HOUR), "slow", slowdown=0.3, detection=exponential(2 * HOUR))
    evicted = Cause("evicted", 1 / (6 * HOUR), "preemption", notice_s=120.0, min_lease_s=2 * HOUR)
    late = replace(evicted, name="late", notice_s=20.0, min_lease_s=600.0)
    checked = replace(CRASH, detection=exponential(HOUR), caught_in_check=0.3)
    lemons = Lemons(0.01, 20.0, 0.3)
    return {
        "repeats": job(replace(CRASH, repeat=Repeat(0.3, 2 * HOUR))),
        "incidents": job(replace(CRASH, in_incidents=True), more={"incidents": Incidents(1 / DAY, DAY / 4, 4.0)}),
        "profile": job(replace(CRASH, profile=Profile((0.0, DAY, 5 * DAY), (3.0, 2.0, 0.5)))),
        "lemons": job(replace(CRASH, by_lemons=True), RACK, more={"lemons": lemons}),
        "preflight": job(
            replace(CRASH, by_lemons=True), RACK, more={"lemons": replace(lemons, caught_in_preflight=0.4)}
        ),
        "slow": job(CRASH, slow, replace(slow, name="slower", rate_per_s=1 / (9 * HOUR), slowdown=0.1)),
        "preemption": job(CRASH, evicted, late),
        "checks": job(checked, more={"check_every_s": 300.0}),
        "events of its own": job(CRASH, Cause("drill", 0.0, every=Distribution("weibull", (9e3, 1.5)))),
    }


def of_recovery() -> dict[str, Params]:
    """Return jobs with a mechanism of the recovery each."""
    failing = StartFailure(0.4, 3.0, exponential(HOUR))
    groups = ReplicaGroups(4.0, 60.0, fixed(100.0))
    stopped = Cause("bug", 1 / (12 * HOUR), exposure="job")
    return {
        "spares": job(spares=POOL),
        "queue": job(spares=replace(POOL, when_exhausted="queue"), queue_wait=exponential(HOUR)),
        "shrink": job(spares=replace(POOL, min_nodes=1534.0, when_exhausted="shrink")),
        "failed starts": job(
            start_failure=failing, startup_if_replaced=(("image", fixed(300.0)),), data_fast_forward=1e-3
        ),
        "maintenance": job(more={"maintenance": Maintenance(DAY, 2 * HOUR, HOUR)}),
        "unannounced": job(more={"maintenance": Maintenance(DAY, 2 * HOUR)}, spares=replace(POOL, count=1.0)),
        "longest attempt": job(queue_wait=exponential(600.0), max_attempt_s=DAY / 4),
        "replica groups": job(CRASH, stopped, replica_groups=groups),
        "replica groups with spares": job(CRASH, stopped, replica_groups=groups, spares=POOL),
    }


NODE = replace(CRASH, rate_per_s=1 / (4 * HOUR), in_incidents=True, by_lemons=True, repeat=Repeat(0.2, 2 * HOUR))
HALL = Cause("hall", 1 / (3 * DAY), nodes_lost=Counts((8.0, 16.0), (0.5, 1.0)), exposure="domain")
SDC = Cause("sdc", 1 / (12 * HOUR), "silent", exposure="job", detection=exponential(4 * HOUR))
SLOW = Cause("slow", 1 / (9 * HOUR), "slow", slowdown=0.25, detection=fixed(6 * HOUR), nodes_lost=ONE)
EVICTED = Cause("evicted", 1 / (12 * HOUR), "preemption", exposure="job", notice_s=120.0, min_lease_s=2 * HOUR)
OLD = Cause("old", 1 / (12 * HOUR), nodes_lost=ONE, profile=Profile((0.0, DAY, 5 * DAY), (3.0, 2.0, 1.0)))
TIERS = Checkpoint(1800.0, 60.0, 20.0, 0.3, False, verify_s=10.0, local=LOCAL, retention=Retention(0.1, 4.0, 20.0))
LEMONS = Lemons(0.01, 20.0, 0.3)
INCIDENTS = Incidents(1 / DAY, DAY / 4, 4.0)
MAINTENANCE = Maintenance(2 * DAY, 2 * HOUR, HOUR)


def everything() -> Params:
    """Return a job with all that goes together with spares."""
    hang = Cause(
        "hang",
        1 / (2 * DAY),
        "hang",
        exposure="job",
        detection=Distribution("mixture", (0.8, 0.2), (fixed(600.0), exponential(3 * HOUR))),
    )
    missed = Repeat(0.0, HOUR)
    causes = (
        replace(NODE, caught_in_check=0.5, caught_in_preflight=0.5),
        replace(HALL, over_evicted=Counts((0.0, 4.0), (0.5, 1.0)), diagnosis=exponential(600.0), repeat=missed),
        hang,
        SDC,
        replace(SLOW, repeat=missed, caught_in_check=0.5),
        EVICTED,
        replace(OLD, repeat=Repeat(0.1, HOUR)),
    )
    world = {"incidents": INCIDENTS, "lemons": replace(LEMONS, caught_in_preflight=0.5), "maintenance": MAINTENANCE}
    return job(
        *causes,
        plan=TIERS,
        more=world | {"check_every_s": 300.0},
        queue_wait=exponential(1800.0),
        startup=(("load", fixed(200.0)), ("warm up", exponential(100.0))),
        startup_if_replaced=(("image", fixed(300.0)),),
        start_failure=StartFailure(0.1, 3.0, exponential(HOUR)),
        data_fast_forward=1e-4,
        spares=replace(PLENTY, repair_failure=0.05),
        max_attempt_s=1.5 * DAY,
    )


def together() -> dict[str, Params]:
    """Return jobs with many mechanisms each."""
    by_law = Checkpoint(1800.0, 60.0, 20.0, 0.2, False, write_time=exponential(60.0), stall_share=0.3)
    stops = {"max_attempt_s": DAY / 2, "queue_wait": exponential(600.0)}
    plain_node = replace(NODE, by_lemons=False)
    return {
        "everything, waiting": everything(),
        "a pool with a queue": job(
            NODE, replace(HALL, repeat=Repeat(0.0, HOUR)), EVICTED,
            more={"incidents": INCIDENTS, "lemons": LEMONS, "maintenance": MAINTENANCE}, queue_wait=exponential(HOUR),
            spares=replace(PLENTY, repair_failure=0.1, when_exhausted="queue"), **{"max_attempt_s": DAY},
        ),
        "a job that shrinks": job(
            replace(NODE, in_incidents=False), HALL, SLOW, replace(SDC, exposure="node"),
            more={"lemons": LEMONS, "maintenance": MAINTENANCE},
            spares=replace(PLENTY, min_nodes=1530.0, when_exhausted="shrink"),
        ),
        "replica groups": job(
            replace(plain_node, in_incidents=False), HALL, replace(SDC, exposure="node"), SLOW, EVICTED,
            plan=TIERS, more={"maintenance": MAINTENANCE}, replica_groups=ReplicaGroups(4.0, 60.0, fixed(900.0)),
            spares=PLENTY, startup_if_replaced=(("image", fixed(300.0)),),
        ),
        "groups with lemons": job(
            replace(CRASH, by_lemons=True, rate_per_s=1 / HOUR), more={"lemons": Lemons(0.05, 20.0, 0.5)},
            replica_groups=ReplicaGroups(8.0, 10.0, fixed(60.0)),
        ),
        "groups out of repair": job(
            replace(CRASH, repeat=Repeat(0.1, HOUR), rate_per_s=1 / HOUR),
            replica_groups=ReplicaGroups(8.0, 10.0, fixed(60.0)), spares=replace(PLENTY, repair_failure=0.3),
        ),
        "laws of one draw": job(
            *(replace(SLOW, name=f"slow {law.kind}", detection=law) for law in LAWS),
            *(replace(CRASH, name=f"crash {law.kind}", detection=law, diagnosis=law) for law in LAWS),
        ),
        "all saves": job(CRASH, HALL, SDC, SLOW, EVICTED, plan=TIERS, **stops),
        "calendar": job(
            replace(plain_node, repeat=None), OLD, EVICTED,
            more={"incidents": INCIDENTS, "maintenance": MAINTENANCE}, **stops,
        ),
        "write times by a law, stops": job(
            CRASH, SLOW, EVICTED, plan=by_law, more={"maintenance": MAINTENANCE},
            start_failure=StartFailure(0.2, 2.0, fixed(HOUR)), **stops,
        ),
    }  # fmt: skip
