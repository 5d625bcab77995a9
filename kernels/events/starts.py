"""The beginning of an attempt: its startup, the save it restores, its write time, and the state of the incidents."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.elementary import exp, where
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.job import SNAP, Job
from mcettr.kernels.events.lanes import AT_RISK, Lanes
from mcettr.kernels.events.ledger import AFTER, Ledger
from mcettr.kernels.events.strikes import work_now
from mcettr.kernels.events.training import NONE, is_less, newest_durable, restart_at


def start(job: Job, lanes: Lanes, draws: Draws, mask: Any, failed_reads_s: Any) -> None:
    """Begin an attempt in the lanes of `mask`."""
    on, recovery = job.on, job.params.recovery
    startup = jnp.zeros_like(lanes.now)
    for index, (_, law) in enumerate(recovery.startup):
        startup = startup + draws.duration(law, streams.startup_purpose(index), "attempt")
    for index, (_, law) in enumerate(recovery.startup_if_replaced, start=len(recovery.startup)):
        length = draws.duration(law, streams.startup_purpose(index), "attempt")
        startup = startup + where(lanes.replaced, length, 0.0)
    if on.start_failure:
        chance = recovery.start_failure.probability  # type: ignore[union-attr]
        lanes.set(mask, start_fails=draws.uniform(streams.START_FAILURE, "attempt") < chance)
    if on.write_law:
        law = job.params.checkpoint.write_time
        assert law is not None
        lanes.set(mask, write_s=draws.duration(law, streams.WRITE_TIME, "attempt"))
    restore = failed_reads_s + _restore_s(job, lanes, draws)
    if on.silent:
        lanes.set(mask & (newest_durable(job, lanes) <= lanes.corrupt_work), corrupt=False)
    lanes.set(mask, phase=AT_RISK, startup_left=startup, restore_left=restore)
    if on.max_attempt or on.lease:
        lanes.set(mask, age=0.0)


def _restore_s(job: Job, lanes: Lanes, draws: Draws) -> Any:
    """Return how long reading the newest save takes; nothing where there is none."""
    recovery = job.params.recovery
    position = newest_durable(job, lanes)
    main_s = draws.duration(recovery.restore, streams.RESTORE, "attempt")
    is_read = is_less(job, 0.0, position) | (job.params.resumes > 0)
    restore = where(is_read, main_s, 0.0)
    if job.on.local:
        local = job.params.checkpoint.local
        assert local is not None
        newest = (lanes.local > NONE) & ~is_less(job, lanes.local, position)
        local_s = draws.duration(local.restore, streams.RESTORE_LOCAL, "attempt")
        restore = where(newest, local_s, restore)
    if recovery.data_fast_forward is not None:
        saved = job.params.saved_before_s + position
        restore = restore + where(is_read, recovery.data_fast_forward * saved, 0.0)
    return restore


def fall_back(job: Job, lanes: Lanes, draws: Draws, mask: Any) -> tuple[Any, Ledger]:
    """Go back to the newest save that is left and can be read; return the time of the reads that failed."""
    ledger, work_s = Ledger(), work_now(job, lanes)
    wasted = _read_in_vain(job, lanes, draws, mask) if job.on.retention else jnp.zeros_like(lanes.now)
    restored = newest_durable(job, lanes)
    ledger.book(AFTER, "rework", where(mask, jnp.maximum(work_s - restored, 0.0), 0.0))
    restart_at(job, lanes, mask, restored)
    return where(mask, wasted, 0.0), ledger


def _read_in_vain(job: Job, lanes: Lanes, draws: Draws, mask: Any) -> Any:
    """Drop the saves that cannot be read; return the time that finding out takes."""
    on, retention = job.on, job.params.checkpoint.retention
    assert retention is not None
    main_s = draws.duration(job.params.recovery.restore, streams.RESTORE, "attempt")
    wasted = jnp.zeros_like(lanes.now)
    tiers = []
    if on.local:
        tiers.append(("local", streams.BAD_LOCAL))
    if on.graceful:
        tiers.append(("graceful", streams.BAD_GRACEFUL))
    extra = jnp.zeros_like(mask)
    # The newer of the two first; whichever it is, the other one is looked at only if it is bad.
    for _ in tiers:
        for name, purpose in tiers:
            newest = mask & ~extra & (lanes[name] > NONE) & ~is_less(job, lanes[name], newest_durable(job, lanes))
            newest = newest & (is_less(job, lanes.base, lanes[name]) | (name == "local"))
            bad = newest & ~lanes[f"{name}_good"]
            bad = bad & (draws.uniform(purpose, "attempt") < retention.bad_probability)
            extra = extra | (newest & ~bad)
            lanes.set(newest & ~bad, **{f"{name}_good": True})
            read_s = main_s
            if name == "local":
                law = job.params.checkpoint.local.restore  # type: ignore[union-attr]
                read_s = draws.duration(law, streams.RESTORE_LOCAL, "attempt")
            wasted = wasted + where(bad, read_s, 0.0)
            lanes.set(bad, **{name: NONE})
    chosen, failed = _main_save(job, lanes, draws)
    main = mask & ~extra
    wasted = wasted + where(main, failed * main_s, 0.0)
    lowest = jnp.minimum(lanes.lowest, chosen)
    lanes.set(main, number=chosen, good=chosen, base=chosen * job.fixed.times.interval_s, lowest=lowest)
    if on.graceful:
        lanes.set(main & is_less(job, lanes.base, lanes.graceful), graceful=NONE)
    if on.local:
        lanes.set(main & is_less(job, lanes.base, lanes.local), local=NONE)
    return wasted


def _main_save(job: Job, lanes: Lanes, draws: Draws) -> tuple[Any, Any]:
    """Return which main save can be read, and how many reads fail before it."""
    retention = job.params.checkpoint.retention
    assert retention is not None
    bad = jnp.floor(draws.exponential(streams.BAD_MAIN, "attempt") * job.fixed.bad_in_a_row)
    top, lowest = lanes.number, lanes.lowest
    known = where(lanes.good <= top, lanes.good, 0.0)
    bad = where(known >= lowest, jnp.minimum(bad, top - known), bad)
    chosen = top - bad
    older = jnp.minimum(top, lowest - 1.0)
    number = jnp.floor(older * job.fixed.per_permanent + SNAP)
    permanent = where(job.fixed.per_permanent > 0.0, number * retention.permanent_every, 0.0)
    reads = chosen >= jnp.maximum(lowest, known)
    failed = where(reads, bad, jnp.maximum(top - jnp.maximum(lowest, 1.0) + 1.0, 0.0))
    return where(reads, chosen, permanent), failed


def see_incidents(job: Job, lanes: Lanes, draws: Draws, mask: Any) -> None:
    """Draw the state of the fleet after the downtime, and how long it lasts."""
    incidents = job.params.incidents
    assert incidents is not None
    share = job.fixed.incident_share
    before = where(lanes.incident, 1.0, 0.0)
    down_s = lanes.now - lanes.down_since
    chance = share + (before - share) * exp(-(job.fixed.toggles_per_s * down_s))
    chance = where(lanes.attempt == 0, share, chance)
    seen = mask & (lanes.redraw | (down_s > 0))
    now_on = draws.uniform(streams.INCIDENT_STATE, "toggle") < chance
    lanes.set(seen, incident=now_on)
    mean_s = where(now_on, incidents.mean_duration_s, job.fixed.quiet_mean_s)
    lanes.set(seen, toggle_left=draws.exponential(streams.INCIDENT_TIME, "toggle") * mean_s)
    lanes.put(n_toggle=lanes.n_toggle + seen.astype(jnp.uint32))
