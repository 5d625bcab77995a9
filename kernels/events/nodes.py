"""Nodes: lost, repaired, taken from the spares; and which of them are lemons."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.features import Bound
from mcettr.kernels.events.hazards import GROUP_WAITS, n_present
from mcettr.kernels.events.lanes import NODES, Job, Lanes, Ledger
from mcettr.kernels.events.passing import pass_down, serve_window
from mcettr.kernels.events.race import Race
from mcettr.kernels.events.stages import Stages, Survey
from mcettr.kernels.events.training import NONE

_MOST_PENDING = 16


class Loss(NamedTuple):
    """Nodes that a failure takes out of the job."""

    n: Any
    first_lemon: Any
    """1 where the first of them is a lemon."""
    others: Any
    """Nodes besides a first one that is known to be a lemon, or not to be."""
    lemon_share: Any
    """Share of lemons among those."""


def lose(job: Job, lanes: Lanes, draws: Draws, mask: Any, cause: Any, repeated: Any) -> Loss:
    """Return the nodes that a failure costs."""
    present = n_present(job, lanes)
    lost = jnp.zeros_like(lanes.now)
    for index, record in enumerate(job.params.causes):
        n = draws.number(record.nodes_lost, streams.NODES_LOST, "attempt")
        n = n + draws.number(record.over_evicted, streams.OVER_EVICTED, "attempt")
        lost = jnp.where(cause == index, n, lost)
    lost = jnp.where(mask, jnp.minimum(lost, present), 0.0)
    if not job.on.lemons:
        return Loss(lost, jnp.zeros_like(lost), lost, jnp.zeros_like(lost))
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
    lost = jnp.where(struck & ~evicted, 0.0, lost)
    first = jnp.where(theirs & (lost > 0), 1.0, 0.0)
    known = jnp.where(struck, first, 0.0)
    share = jnp.maximum(lanes.n_lemons - known, 0.0) / jnp.maximum(present - first, 1.0)
    return Loss(lost, known, lost - first, jnp.minimum(share, 1.0))


def leave(job: Job, lanes: Lanes, draws: Draws, lost: Any, lemons: Any, quick: Any, in_chain: bool = True) -> None:
    """Send nodes (lanes, 0 for none) to repair; so many of them are lemons, and so many repairs are quick."""
    if job.on.lemons:
        left = lanes.n_lemons - jnp.minimum(lemons, lanes.n_lemons)
        lanes.put(n_lemons=jnp.where(lost > 0, jnp.minimum(left, n_present(job, lanes) - lost), left))
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
        lanes.put(present=lanes.present - lost)
        change_pool(job, lanes, draws, lost > 0, lanes.now, quick, lost - quick)


def lose_nodes(job: Job, stages: Stages | Survey, mask: Any, cause: Any, repeated: Any, in_chain: bool = True) -> Any:
    """Take the nodes that a failure costs out of the lanes' jobs; return how many."""
    on = job.on
    loss = stages.run(lose, mask, cause, repeated)
    lemons = loss.first_lemon
    if on.lemons and on.lemons_lost:
        more = stages.binomial(loss.others, loss.lemon_share, streams.LEMONS_LOST, "attempt", on.lemons_lost)
        lemons = lemons + more
    quick = jnp.zeros_like(loss.n)
    if on.spares:
        share = job.params.recovery.spares.quick_share  # type: ignore[union-attr]
        quick = stages.binomial(loss.n, share, streams.REPAIR_BRANCH, "attempt", on.quick)
    stages.run(_leaving(in_chain), loss.n, lemons, quick)
    return loss.n


def _leaving(in_chain: bool) -> Any:
    def stage(job: Job, lanes: Lanes, draws: Draws, lost: Any, lemons: Any, quick: Any) -> None:
        leave(job, lanes, draws, lost, lemons, quick, in_chain)

    return stage


def change_pool(job: Job, lanes: Lanes, draws: Draws, mask: Any, time_s: Any, quick: Any, slow: Any) -> None:
    """Add to the nodes in repair at `time_s`, and draw when the next of them is repaired."""
    spares = job.params.recovery.spares
    assert spares is not None
    out = lanes.in_quick + lanes.in_slow
    u = draws.uniform(streams.POOL_INSTANT, "change")
    lanes.set(mask & (u * time_s < time_s - lanes.changed_at), nodes_out=out)
    lanes.set(mask, in_quick=lanes.in_quick + quick, in_slow=lanes.in_slow + slow, changed_at=time_s)
    lanes.put(n_changes=lanes.n_changes + mask.astype(jnp.uint32))
    lanes.put(nodes_out_most=jnp.maximum(lanes.nodes_out_most, lanes.in_quick + lanes.in_slow))
    rate = lanes.in_quick * job.per_quick_s + lanes.in_slow * job.per_slow_s
    waits = draws.exponential(streams.REPAIR_TIME, "change") / rate
    lanes.set(mask, repaired_at=jnp.where(rate > 0, time_s + waits, jnp.inf))


def repair(job: Job, lanes: Lanes, draws: Draws, race: Race) -> None:
    """Bring back a node whose repair has ended."""
    spares = job.params.recovery.spares
    assert spares is not None
    mask = race.won("repaired", jnp.ones_like(lanes.waiting))
    date = lanes.repaired_at
    by_quick = lanes.in_quick * job.per_quick_s
    rate = by_quick + lanes.in_slow * job.per_slow_s
    quick = draws.uniform(streams.REPAIR_WHICH, "change") * rate < by_quick
    waits, goes_back = _destination(job, lanes, mask)
    lanes.set(waits, present=lanes.present + 1.0, joined=lanes.joined + 1.0, out_of_repair=lanes.out_of_repair + 1.0)
    lanes.set(goes_back, from_cluster=lanes.from_cluster - 1.0)
    lanes.set(mask & ~waits & ~goes_back, n_spares=lanes.n_spares + 1.0)
    minus_quick, minus_slow = jnp.where(quick, -1.0, 0.0), jnp.where(quick, 0.0, -1.0)
    change_pool(job, lanes, draws, mask, date, minus_quick, minus_slow)


def _destination(job: Job, lanes: Lanes, mask: Any) -> tuple[Any, Any]:
    """Return which repaired nodes go to a waiting job, and which back to the cluster."""
    waits = mask & (lanes.phase == NODES) & lanes.waiting
    if job.on.groups:
        waits = waits | (mask & (lanes.phase != NODES) & (lanes.group == GROUP_WAITS))
    spares = job.params.recovery.spares
    assert spares is not None
    back = mask & ~waits & (lanes.from_cluster > 0) & (lanes.n_spares >= spares.count)
    return waits, back


def take(job: Job, lanes: Lanes, mask: Any) -> tuple[Any, Any]:
    """Fill the job up from the spares; return how many it needed, and how many it is still short of (lanes)."""
    need = jnp.where(mask, job.params.n_nodes - lanes.present, 0.0)
    taken = jnp.minimum(need, lanes.n_spares)
    fresh = jnp.minimum(taken, lanes.n_fresh)
    unlimited = jnp.isinf(lanes.n_spares)
    lanes.put(
        present=lanes.present + taken,
        n_spares=jnp.where(unlimited, lanes.n_spares, lanes.n_spares - taken),
        n_fresh=jnp.where(unlimited, lanes.n_fresh, lanes.n_fresh - fresh),
        joined=lanes.joined + taken,
        out_of_repair=lanes.out_of_repair + taken - fresh,
        n_swaps=lanes.n_swaps + jnp.where(need > 0, 1.0, 0.0),
        n_exhausted=lanes.n_exhausted + jnp.where(need > taken, 1.0, 0.0),
    )
    return need, need - taken


def go_in(job: Job, lanes: Lanes, draws: Draws, starts: Any) -> tuple[Any, Ledger]:
    """Let swap and queue pass; return the lanes that start."""
    ledger, lengths = Ledger(), []
    if job.on.spares:
        swap_s = job.params.recovery.spares.swap_s  # type: ignore[union-attr]
        lengths.append(("spare_wait", jnp.where(lanes.joined > 0, swap_s, 0.0)))
    queue_s = draws.duration(job.params.recovery.queue_wait, streams.QUEUE, "attempt")
    lengths.append(("queue", jnp.where(lanes.queue_due, queue_s, 0.0)))
    pass_down(job, lanes, ledger, starts, lanes.row, lengths)
    return starts & (lanes.phase == NODES), ledger


def welcome(job: Job, stages: Stages | Survey, mask: Any, row: Any, number: str = "attempt") -> None:
    """Let the nodes that joined show what they bring: lemons, and failed repairs."""
    on, lanes, params = job.on, stages.lanes, job.params
    if not (on.lemons or on.spares):
        return
    lemons = bad = jnp.zeros_like(lanes.now)
    if on.lemons:
        fraction = params.lemons.fraction  # type: ignore[union-attr]
        lemons = stages.binomial(lanes.joined, fraction, streams.LEMONS_IN, number, on.lemons_in)
    if on.spares and on.repeat:
        chance = params.recovery.spares.repair_failure  # type: ignore[union-attr]
        bad = stages.binomial(lanes.out_of_repair, chance, streams.REPAIR_FAILURE, number, on.bad_repairs)
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


def preflight(job: Job, stages: Stages | Survey, ready: Any) -> None:
    """Take out what the checks before the start catch: lemons, and missed culprits."""
    lanes, on = stages.lanes, job.on
    lemons = jnp.zeros_like(lanes.now)
    if job.params.lemons is not None and job.params.lemons.caught_in_preflight is not None:
        n_lemons = jnp.where(ready, lanes.n_lemons, 0.0)
        chance = job.params.lemons.caught_in_preflight
        lemons = stages.binomial(n_lemons, chance, streams.PREFLIGHT_LEMONS, "attempt", on.lemons_caught)
    culprits = jnp.zeros_like(lanes.now)
    for index in on.repeat:
        chance = job.params.causes[index].caught_in_preflight
        if chance is not None:
            pending = jnp.where(ready, lanes[f"pending_{index}"], 0.0)
            bound = Bound(_MOST_PENDING, beyond=False)
            caught = stages.binomial(pending, chance, streams.every_purpose(index), "attempt", bound)
            lanes.put(**{f"pending_{index}": lanes[f"pending_{index}"] - caught})
            culprits = culprits + caught
    lost = stages.run(_caught, lemons + culprits)
    quick = jnp.zeros_like(lost)
    if on.spares:
        share = job.params.recovery.spares.quick_share  # type: ignore[union-attr]
        quick = stages.binomial(lost, share, streams.REPAIR_BRANCH_CAUGHT, "attempt", on.caught_quick)
    stages.run(leave, lost, lemons, quick)


def _caught(job: Job, lanes: Lanes, _: Draws, n: Any) -> Any:
    return jnp.minimum(n, n_present(job, lanes))
