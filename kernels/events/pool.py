"""The pool: nodes in repair, those that come back, and the spares."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.elementary import where
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.hazards import GROUP_WAITS
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import NODES, Lanes
from mcettr.kernels.events.race import Race


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
    rate = lanes.in_quick * job.fixed.per_quick_s + lanes.in_slow * job.fixed.per_slow_s
    waits = draws.exponential(streams.REPAIR_TIME, "change") / rate
    lanes.set(mask, repaired_at=where(rate > 0, time_s + waits, jnp.inf))


def repair(job: Job, lanes: Lanes, draws: Draws, race: Race) -> tuple[Any, Any]:
    """Bring back a node whose repair has ended; return where, and whether it was a quick one."""
    mask = race.won("repaired", jnp.ones_like(lanes.waiting))
    by_quick = lanes.in_quick * job.fixed.per_quick_s
    rate = by_quick + lanes.in_slow * job.fixed.per_slow_s
    quick = draws.uniform(streams.REPAIR_WHICH, "change") * rate < by_quick
    waits, goes_back = _destination(job, lanes, mask)
    lanes.set(waits, present=lanes.present + 1.0, joined=lanes.joined + 1.0, out_of_repair=lanes.out_of_repair + 1.0)
    lanes.set(goes_back, from_cluster=lanes.from_cluster - 1.0)
    lanes.set(mask & ~waits & ~goes_back, n_spares=lanes.n_spares + 1.0)
    return mask, quick


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
    need = where(mask, job.params.n_nodes - lanes.present, 0.0)
    taken = jnp.minimum(need, lanes.n_spares)
    fresh = jnp.minimum(taken, lanes.n_fresh)
    unlimited = jnp.isinf(lanes.n_spares)
    lanes.put(
        present=lanes.present + taken,
        n_spares=where(unlimited, lanes.n_spares, lanes.n_spares - taken),
        n_fresh=where(unlimited, lanes.n_fresh, lanes.n_fresh - fresh),
        joined=lanes.joined + taken,
        out_of_repair=lanes.out_of_repair + taken - fresh,
        n_swaps=lanes.n_swaps + where(need > 0, 1.0, 0.0),
        n_exhausted=lanes.n_exhausted + where(need > taken, 1.0, 0.0),
    )
    return need, need - taken
