"""Jobs with three and more mechanisms at once, numbers left open: what the engines and the second simulator share.

Each structure is one program of the fast engine. The rates are such that every cause strikes about ten times in a life
and no activity is rare, because what is rare needs many lives to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcettr.model.counts import Counts, exactly
from mcettr.model.distributions import fixed
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
from tests.physics_cases_mechanisms import INF, exponential

HORIZON_S = 1.5e5
Numbers = Callable[[float, float], float]
"""Gives a number between two."""

NODE = Cause("node", 2e-4, detection=exponential(200.0), nodes_lost=exactly(1.0))
RACK = Cause("rack", 1.5e-4, nodes_lost=Counts((2.0, 3.0), (0.5, 1.0)), exposure="domain", diagnosis=fixed(300.0))
SLOW = Cause("slow", 2e-4, "slow", slowdown=0.3, detection=exponential(2e3), nodes_lost=exactly(1.0))
EVICTED = Cause("evicted", 2e-4, "preemption", exposure="job", notice_s=100.0, min_lease_s=1e3)
SDC = Cause("sdc", 1e-4, "silent", detection=exponential(3e3), diagnosis=fixed(300.0))
PLAN = Checkpoint(2400.0, 90.0, 40.0, 0.3, blocking=False)


def job(*causes: Cause, plan: Checkpoint = PLAN, more: dict[str, Any] | None = None, **recovery: Any) -> Params:
    common: dict[str, Any] = {"startup": (("start", fixed(200.0)),), "restore": fixed(60.0)}
    return Params(8.0, INF, HORIZON_S, plan, causes, Recovery(**common | recovery), n_nodes=12.0, **more or {})


def waiting(x: Numbers) -> Params:
    node = replace(NODE, by_lemons=True, in_incidents=True, repeat=Repeat(x(0.1, 0.4), x(1e3, 5e3)))
    node = replace(node, rate_per_s=x(0.8e-4, 1.5e-4), caught_in_preflight=x(0.2, 0.8))
    spares = Spares(float(round(x(3, 5))), 60.0, 0.6, x(3e3, 6e3), 1e4, x(0.05, 0.3))
    world = {
        "incidents": Incidents(1e-4, 5e3, x(1.5, 3.0)),
        "lemons": Lemons(x(0.05, 0.2), 6.0, x(0.3, 1.0), x(0.1, 0.5)),
    }
    return job(node, replace(RACK, repeat=Repeat(0.0, 1e3)), more=world, spares=spares)


def queueing(x: Numbers) -> Params:
    node = replace(NODE, by_lemons=True, in_incidents=True, rate_per_s=x(1e-4, 2e-4))
    spares = Spares(float(round(x(1, 3))), 60.0, 0.6, x(3e3, 9e3), 2e4, when_exhausted="queue")
    world = {
        "incidents": Incidents(1e-4, 5e3, x(1.5, 3.0)),
        "lemons": Lemons(x(0.05, 0.2), 6.0, x(0.3, 1.0)),
        "maintenance": Maintenance(x(4.2e4, 4.8e4), 3e3, 200.0),
    }
    return job(node, RACK, EVICTED, more=world, spares=spares, queue_wait=exponential(x(500.0, 2e3)))


def shrinking(x: Numbers) -> Params:
    spares = Spares(float(round(x(1, 3))), 60.0, 0.6, x(4e3, 8e3), 1.5e4, min_nodes=9.0, when_exhausted="shrink")
    world = {"maintenance": Maintenance(x(4.2e4, 4.8e4), 3e3, 200.0)}
    slow = replace(SLOW, slowdown=x(0.1, 0.6))
    return job(replace(NODE, rate_per_s=x(1.3e-4, 2e-4)), RACK, slow, more=world, spares=spares)


def grouped(x: Numbers) -> Params:
    bug = Cause("bug", 1.2e-4, exposure="job", detection=fixed(300.0))
    spares = Spares(float(round(x(1, 3))), 60.0, 0.6, x(3e3, 6e3), 1e4)
    groups = ReplicaGroups(4.0, x(30.0, 200.0), fixed(x(200.0, 900.0)))
    slow = replace(SLOW, slowdown=x(0.1, 0.6))
    return job(replace(NODE, rate_per_s=x(1e-4, 2e-4)), bug, slow, spares=spares, replica_groups=groups)


def saving(x: Numbers) -> Params:
    local = LocalTier(2.0, 15.0, 3.0, fixed(20.0), float(round(x(0, 2))))
    plan = replace(PLAN, verify_s=x(5.0, 40.0), local=local, retention=Retention(x(0.05, 0.4), 3.0, 8.0))
    sdc = replace(SDC, rate_per_s=x(1e-4, 2e-4))
    node = replace(NODE, rate_per_s=1e-4)
    return job(node, RACK, sdc, SLOW, plan=plan, max_attempt_s=x(1e4, 3e4))


def dated(x: Numbers) -> Params:
    by_law = replace(PLAN, write_time=exponential(60.0), stall_share=0.3)
    node = replace(NODE, rate_per_s=x(1.5e-4, 3e-4), in_incidents=True)
    node = replace(node, profile=Profile((0.0, 5e4, 1e5), (x(1.5, 3.0), 1.0, 0.7)))
    world = {"incidents": Incidents(1e-4, 5e3, x(1.5, 3.0)), "maintenance": Maintenance(x(4.2e4, 4.8e4), 3e3, 200.0)}
    failing = StartFailure(x(0.2, 0.4), 2.0, exponential(600.0))
    return job(node, EVICTED, plan=by_law, more=world, start_failure=failing, queue_wait=exponential(x(100.0, 300.0)))


STRUCTURES = {build.__name__: build for build in (waiting, queueing, shrinking, grouped, saving, dated)}
