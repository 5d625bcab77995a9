"""Replica groups: losing one slows the job down; it recovers beside the others."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.elementary import where
from mcettr.kernels.events import nodes
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.hazards import GROUP_COMES, GROUP_DOWN, GROUP_STARTS, GROUP_WAITS, NO_GROUP
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import AT_RISK, Lanes
from mcettr.kernels.events.ledger import Ledger
from mcettr.kernels.events.pool import take
from mcettr.kernels.events.race import Race
from mcettr.kernels.events.stages import Stages, Survey
from mcettr.kernels.events.strikes import Strike, kind_is


def hit(job: Job, lanes: Lanes, draws: Draws, struck: Strike) -> Any:
    """Return the lanes in which a crash hits a group that can be lost; their recovery has the next number."""
    groups = job.params.recovery.replica_groups
    assert groups is not None
    inside = kind_is(job, struck.cause, lambda record: record.exposure != "job" and record.kind == "crash")
    same = draws.uniform(streams.GROUP, "hazard") * groups.count < 1.0
    trains = (lanes.startup_left <= 0) & (lanes.restore_left <= 0)
    if job.on.graceful:
        trains = trains & (lanes.stop_row < 0)
    mask = struck.mask & inside & trains & ((lanes.group == NO_GROUP) | ((lanes.group == GROUP_STARTS) & same))
    mask = mask & (groups.count > 1.0)
    # One that reaches the cap on attempts stops the job.
    mask = mask & (lanes.attempt + jnp.uint32(1) < lanes.cap)
    lanes.put(attempt=lanes.attempt + mask.astype(jnp.uint32))
    return mask


def begin(job: Job, lanes: Lanes, _: Draws, struck: Strike, mask: Any, lost: Any, found_s: Any) -> Ledger:
    """Begin the recovery of a lost group, of which `lost` nodes are gone; its cause is known after `found_s`; the
    others pause."""
    ledger = Ledger()
    ledger.interrupt(struck.cause + 1, mask)
    groups = job.params.recovery.replica_groups
    assert groups is not None
    lanes.set(
        mask,
        group=GROUP_DOWN,
        group_left=found_s,
        group_row=struck.cause + 1,
        pause_left=where(lanes.group == NO_GROUP, groups.reconfigure_s, lanes.pause_left),
        group_replaced=lost > 0,
    )
    return ledger


def go_on(job: Job, stages: Stages | Survey, race: Race) -> None:
    """Move the lost group to its next stage, where the present one has ended, or its nodes have come."""
    comes, queue_due = stages.run(_look_for_nodes, race)
    swap_s = 0.0
    if job.on.spares:
        swap_s = where(stages.lanes.joined > 0, job.params.recovery.spares.swap_s, 0.0)  # type: ignore[union-attr]
    nodes.welcome(job, stages, comes, stages.lanes.group_row, "group")
    stages.run(_next_stage, race, comes, queue_due, swap_s + jnp.zeros_like(stages.lanes.now))


def _look_for_nodes(job: Job, lanes: Lanes, _: Draws, race: Race) -> tuple[Any, Any]:
    """Return the groups that have their nodes now, and for which of them the queue is due."""
    found = race.won("group", lanes.phase == AT_RISK) & (lanes.group == GROUP_DOWN)
    spares = job.params.recovery.spares
    if spares is None:
        return found, found
    _, short = take(job, lanes, found)
    if spares.when_exhausted == "queue":
        lanes.put(present=lanes.present + short, joined=lanes.joined + short, from_cluster=lanes.from_cluster + short)
        return found, found if spares.requeues else short > 0
    lanes.set(found & (short > 0), group=GROUP_WAITS)
    came = (lanes.phase == AT_RISK) & (lanes.group == GROUP_WAITS) & (lanes.present >= job.params.n_nodes)
    comes = (found & (short <= 0)) | came
    return comes, comes & spares.requeues


def _next_stage(job: Job, lanes: Lanes, draws: Draws, race: Race, comes: Any, queue_due: Any, swap_s: Any) -> None:
    recovery = job.params.recovery
    due = race.won("group", lanes.phase == AT_RISK)
    lanes.set(due & (lanes.group == GROUP_STARTS), group=NO_GROUP)
    startup = draws.duration(recovery.replica_groups.rejoin, streams.REJOIN, "group")  # type: ignore[union-attr]
    for index, (_, law) in enumerate(recovery.startup):
        startup = startup + draws.duration(law, streams.startup_purpose(index), "group")
    for index, (_, law) in enumerate(recovery.startup_if_replaced, start=len(recovery.startup)):
        length = draws.duration(law, streams.startup_purpose(index), "group")
        startup = startup + where(lanes.group_replaced, length, 0.0)
    lanes.set(due & (lanes.group == GROUP_COMES), group=GROUP_STARTS, group_left=startup)
    queue_s = draws.duration(recovery.queue_wait, streams.QUEUE, "group")
    lanes.set(comes, group=GROUP_COMES, group_left=swap_s + where(queue_due, queue_s, 0.0))
