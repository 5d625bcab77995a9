"""Nodes: those that failures and checks take, those that join; and which of them are lemons."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.elementary import where
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.features import PENDING
from mcettr.kernels.events.hazards import GROUP_DOWN, n_present
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import AT_RISK, NODES, Lanes
from mcettr.kernels.events.ledger import Ledger
from mcettr.kernels.events.passing import pass_down, serve_window
from mcettr.kernels.events.pool import change_pool, repair, take
from mcettr.kernels.events.race import Race
from mcettr.kernels.events.stages import Stages, Survey
from mcettr.kernels.events.training import NONE


class Trials(NamedTuple):
    """Of `n` nodes each is something with chance `p`; `u` decides of how many that is true."""

    n: Any
    p: Any
    u: Any


class Loss(NamedTuple):
    """Nodes that a failure takes out of the job."""

    n: Any
    first_lemon: Any
    """1 where the first of them is a lemon."""
    others: Trials
    """Lemons among the nodes besides a first one that is known to be a lemon, or not to be."""


class Looks(NamedTuple):
    """Lanes whose failed nodes go to repair now, if there are any."""

    any: Any
    group: Any
    """Those of a lost replica group."""


def lose(job: Job, lanes: Lanes, draws: Draws, mask: Any, cause: Any, repeated: Any) -> Loss:
    """Return the nodes that a failure costs."""
    present = n_present(job, lanes)
    causes, lost = job.params.causes, jnp.zeros_like(lanes.now)
    if causes:
        cause = jnp.clip(cause, 0, len(causes) - 1)
        lost = draws.number([record.nodes_lost for record in causes], cause, streams.NODES_LOST, "attempt")
        lost = lost + draws.number([record.over_evicted for record in causes], cause, streams.OVER_EVICTED, "attempt")
    lost = where(mask, jnp.minimum(lost, present), 0.0)
    if not job.on.lemons:
        zero = jnp.zeros_like(lost)
        return Loss(lost, zero, Trials(zero, zero, zero))
    return _of_lemons(job, lanes, draws, (mask, cause, repeated), lost, present)


def _of_lemons(job: Job, lanes: Lanes, draws: Draws, strike: tuple[Any, Any, Any], lost: Any, present: Any) -> Loss:
    """Decide whether a lemon struck, and whether it is evicted."""
    mask, cause, repeated = strike
    lemons = job.params.lemons
    assert lemons is not None
    weight = lemons.multiplier * lanes.n_lemons
    theirs = jnp.zeros_like(mask)
    for index, record in enumerate(job.params.causes):
        if record.by_lemons:
            theirs = mask & (cause == index)
    u = draws.uniform(streams.LEMON_STRIKE, "attempt")
    struck = theirs & ~repeated & (u * (present - lanes.n_lemons + weight) < weight)
    evicted = draws.uniform(streams.LEMON_EVICTED, "attempt") < lemons.eviction_probability
    lost = where(struck & ~evicted, 0.0, lost)
    first = where(theirs & (lost > 0), 1.0, 0.0)
    known = where(struck, first, 0.0)
    share = jnp.maximum(lanes.n_lemons - known, 0.0) / jnp.maximum(present - first, 1.0)
    u = draws.uniform(streams.LEMONS_LOST, "attempt") if job.on.lemons_lost else share
    return Loss(lost, known, Trials(lost - first, jnp.minimum(share, 1.0), u))


def leave(job: Job, lanes: Lanes, lost: Any, lemons: Any, in_chain: bool = True) -> None:
    """Take nodes (lanes, 0 for none) out of the job; so many of them are lemons."""
    if job.on.lemons:
        left = lanes.n_lemons - jnp.minimum(lemons, lanes.n_lemons)
        lanes.put(n_lemons=where(lost > 0, jnp.minimum(left, n_present(job, lanes) - lost), left))
        if not job.on.spares:
            lanes.put(joined=lanes.joined + lost)
    if in_chain:
        lanes.put(lost_in_chain=lanes.lost_in_chain + lost)
        if job.on.local:
            survives = job.params.checkpoint.local.survives_node_losses  # type: ignore[union-attr]
            lanes.set((lost > 0) & (lanes.lost_in_chain > survives), local=NONE)
    if job.on.replaced:
        lanes.set(lost > 0, replaced=True)
    if job.on.spares:
        lanes.put(present=lanes.present - lost, failed=lanes.failed + lost)


def lose_of_group(job: Job, stages: Stages | Survey, mask: Any, cause: Any, repeated: Any) -> Any:
    """Take the nodes that a failure costs out of the lost group; return how many."""
    loss = stages.run(lose, mask, cause, repeated)
    lemons = loss.first_lemon + stages.binomial(*loss.others, job.on.lemons_lost)
    stages.run(_leave_group, loss.n, lemons)
    return loss.n


def _leave_group(job: Job, lanes: Lanes, _: Draws, lost: Any, lemons: Any) -> None:
    leave(job, lanes, lost, lemons, in_chain=False)


def move(job: Job, stages: Stages | Survey, race: Race, stopped: tuple[Any, Any, Any], fresh: Any) -> Any:
    """Let nodes go and come.

    Nodes leave that failures cost, and those that the checks before a start catch; failed ones go to repair once the
    job looks for others; repaired ones come back. The pool of a lane changes at most once a step.

    Parameters
    ----------
    job : Job
        What runs.
    stages : Stages or Survey
        The step.
    race : Race
        What has come.
    stopped : tuple
        Lanes that a cause stops, which one, and whether it was a missed culprit's.
    fresh : array
        Lanes that were between a stop and a start already before this step.

    Returns
    -------
    array
        Lanes that have been checked before their start.
    """
    on = job.on
    loss, checked, trials, looks = stages.run(_lose_or_check, race, stopped, fresh)
    found = stages.binomial(*trials, on.lemons_lost | on.lemons_caught)
    culprits = _culprits(job, stages, checked)
    n_caught = found
    for n in culprits.values():
        n_caught = n_caught + n
    lost = where(checked, jnp.minimum(n_caught, n_present(job, stages.lanes)), loss.n) if on.preflight else loss.n
    to_repair = quick = jnp.zeros_like(lost)
    if on.spares:
        u = stages.uniform(streams.REPAIR_BRANCH, "attempt")
        if on.preflight:
            u = where(checked, stages.uniform(streams.REPAIR_BRANCH_CAUGHT, "attempt"), u)
        if on.groups:
            u = where(looks.group, stages.uniform(streams.REPAIR_BRANCH, "group"), u)
        to_repair = where(looks.any, stages.lanes.failed + lost, 0.0)
        quick = stages.binomial(to_repair, job.fixed.odds["quick"], u, on.quick)
    stages.run(_leave_or_return, race, lost, loss.first_lemon + found, (quick, to_repair - quick), culprits)
    return checked


def _lose_or_check(
    job: Job, lanes: Lanes, draws: Draws, race: Race, stopped: tuple[Any, Any, Any], fresh: Any
) -> tuple[Loss, Any, Trials, Looks]:
    """Return what failures cost, the lanes that are checked before their start, who of either is a lemon, and the
    lanes that look for nodes."""
    loss, looks = lose(job, lanes, draws, *stopped), _look_for_others(job, lanes, race, fresh)
    n, chance, u = loss.others
    if not job.on.preflight:
        return loss._replace(others=None), jnp.zeros_like(fresh), loss.others, looks
    checked = fresh & (lanes.phase == NODES)
    if job.on.spares:
        checked = checked & looks.any & (lanes.failed <= 0)
    lemons = job.params.lemons
    if lemons is not None and lemons.caught_in_preflight is not None:
        n = where(checked, lanes.n_lemons, n)
        chance = where(checked, lemons.caught_in_preflight, chance)
        u = where(checked, draws.uniform(streams.PREFLIGHT_LEMONS, "attempt"), u)
    return loss._replace(others=None), checked, Trials(n, chance, u), looks


def _look_for_others(job: Job, lanes: Lanes, race: Race, like: Any) -> Looks:
    """Return the lanes in which nodes may go to repair: detection and diagnosis are over, as are all repairs until now.

    Those of a lost group are when it looks for nodes, or with the others if the whole job stops before.
    """
    none = jnp.zeros_like(like)
    if not job.on.spares:
        return Looks(none, none)
    job_looks = (lanes.phase == NODES) & ~lanes.waiting & (lanes.repaired_at > lanes.now) & ~race.won("repaired", ~none)
    if not job.on.groups:
        return Looks(job_looks, none)
    group_looks = race.won("group", lanes.phase == AT_RISK) & (lanes.group == GROUP_DOWN)
    return Looks(job_looks | group_looks, group_looks)


def _culprits(job: Job, stages: Stages | Survey, checked: Any) -> dict[int, Any]:
    """Return how many missed culprits the checks catch, by cause."""
    caught = {}
    for index in job.on.repeat:
        if job.params.causes[index].caught_in_preflight is not None:
            pending = where(checked, stages.lanes[f"pending_{index}"], 0.0)
            u = stages.uniform(streams.every_purpose(index), "attempt")
            caught[index] = stages.binomial(pending, job.fixed.odds[f"culprits_{index}"], u, PENDING)
    return caught


def _leave_or_return(
    job: Job,
    lanes: Lanes,
    draws: Draws,
    race: Race,
    lost: Any,
    lemons: Any,
    to_repair: tuple[Any, Any],
    culprits: dict[int, Any],
) -> None:
    leave(job, lanes, lost, lemons)
    for index, n in culprits.items():
        lanes.put(**{f"pending_{index}": lanes[f"pending_{index}"] - n})
    if job.on.spares:
        quick, slow = to_repair
        goes = quick + slow > 0
        lanes.set(goes, failed=0.0)
        repaired, by_quick = repair(job, lanes, draws, race)
        time_s = where(repaired, lanes.repaired_at, lanes.now)
        minus_quick, minus_slow = where(by_quick, -1.0, 0.0), where(by_quick, 0.0, -1.0)
        more_quick = where(repaired, minus_quick, quick)
        more_slow = where(repaired, minus_slow, slow)
        change_pool(job, lanes, draws, goes | repaired, time_s, more_quick, more_slow)


def go_in(job: Job, lanes: Lanes, draws: Draws, starts: Any) -> tuple[Any, Ledger]:
    """Let swap and queue pass; return the lanes that start."""
    ledger, lengths = Ledger(), []
    if job.on.spares:
        swap_s = job.params.recovery.spares.swap_s  # type: ignore[union-attr]
        lengths.append(("spare_wait", where(lanes.joined > 0, swap_s, 0.0)))
    queue_s = draws.duration(job.params.recovery.queue_wait, streams.QUEUE, "attempt")
    lengths.append(("queue", where(lanes.queue_due, queue_s, 0.0)))
    pass_down(job, lanes, ledger, starts, lengths)
    return starts & (lanes.phase == NODES), ledger


def welcome(job: Job, stages: Stages | Survey, mask: Any, row: Any, number: str = "attempt") -> None:
    """Let the nodes that joined show what they bring: lemons, and failed repairs."""
    on, lanes = job.on, stages.lanes
    if not (on.lemons or on.spares):
        return
    lemons = bad = jnp.zeros_like(lanes.now)
    if on.lemons:
        u = stages.uniform(streams.LEMONS_IN, number)
        lemons = stages.binomial(lanes.joined, job.fixed.odds["lemons_in"], u, on.lemons_in)
    if on.spares and on.repeat:
        u = stages.uniform(streams.REPAIR_FAILURE, number)
        bad = stages.binomial(lanes.out_of_repair, job.fixed.odds["bad_repairs"], u, on.bad_repairs)
    stages.run(_join, mask, row, lemons, bad)


def _join(job: Job, lanes: Lanes, _: Draws, mask: Any, row: Any, lemons: Any, bad: Any) -> None:
    if job.on.lemons:
        lanes.set(mask, n_lemons=lanes.n_lemons + lemons)
    lanes.set(mask, joined=0.0)
    if job.on.spares:
        lanes.set(mask, out_of_repair=0.0)
        for index in job.on.repeat:
            lanes.set(mask & (row == index + 1), **{f"pending_{index}": lanes[f"pending_{index}"] + bad})


def look_for_nodes(job: Job, lanes: Lanes, _: Draws, race: Race, ready: Any) -> tuple[Any, Ledger]:
    """Fill up the lanes that are `ready` to look, or let them wait; return those that have enough nodes."""
    ledger = Ledger()
    spares = job.params.recovery.spares
    assert spares is not None
    _, short = take(job, lanes, ready)
    n_nodes = job.params.n_nodes
    policy = spares.when_exhausted
    if policy == "queue":
        lanes.put(present=lanes.present + short, joined=lanes.joined + short, from_cluster=lanes.from_cluster + short)
        lanes.set(short > 0, queue_due=True)
        return ready, ledger
    least = spares.min_nodes if policy == "shrink" else n_nodes
    waits = ready & (lanes.present < least)
    lanes.set(waits, waiting=True)
    if policy == "shrink":
        lanes.set(ready, shrink_row=lanes.row)
    served = race.won("window", lanes.waiting & ~waits)
    if job.on.maintenance:
        serve_window(job, lanes, ledger, served)
    enough = lanes.waiting & (lanes.phase == NODES) & (lanes.present >= least)
    lanes.set(enough, waiting=False)
    return (ready & ~waits) | enough, ledger
