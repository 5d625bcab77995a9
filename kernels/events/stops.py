"""What the event that came does: strikes, planned stops, and the stop of the job that may follow."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.choice import pick
from mcettr.kernels.elementary import where
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.hazards import NO_GROUP
from mcettr.kernels.events.job import SNAP, Job
from mcettr.kernels.events.lanes import AT_RISK, ENDED, NODES, Lanes
from mcettr.kernels.events.ledger import AFTER, Ledger
from mcettr.kernels.events.passing import pass_down, serve_window
from mcettr.kernels.events.race import Race, View
from mcettr.kernels.events.strikes import Strike, kind_is, miss, work_now
from mcettr.kernels.events.training import NONE, gives_time, is_less, newest_durable, restart_at, write_time_s
from mcettr.model.budget import Outcome
from mcettr.model.order import is_before
from mcettr.model.params import Cause


class Stop(NamedTuple):
    """Which lanes stop in this step, and how."""

    any: Any
    row: Any
    """Row of what stopped them (int32)."""
    crash: Any
    found: Any
    failed_start: Any
    queues: Any
    """Whether the queue is due although there are spares."""
    repeated: Any
    """Whether a missed culprit struck."""


def apply_event(
    job: Job, lanes: Lanes, _: Draws, view: View, race: Race, struck: Strike, grouped: Any
) -> tuple[Stop, Ledger]:
    """Apply what came to the lanes (`grouped`: lost a group only); return the stops it leads to."""
    on, ledger = job.on, Ledger()
    at_risk = lanes.phase == AT_RISK
    never = jnp.zeros_like(at_risk)
    crash = struck.mask & kind_is(job, struck.cause, _crashes) & ~grouped
    row = where(struck.mask, struck.cause + 1, lanes.row)
    graceful, found, failed_start, queues = never, never, never, never
    trains = (lanes.startup_left <= 0) & (lanes.restore_left <= 0)
    for index in on.slow:
        due = race.won(f"slow_{index}", at_risk)
        lanes.set(due, **{f"slow_{index}": 1e30})
        graceful, row = graceful | due, where(due, index + 1, row)
    if on.preemption:
        preempted = struck.mask & kind_is(job, struck.cause, lambda c: c.kind == "preemption")
        notice_s = _picked(job, struck.cause, "notice_s")
        in_time = gives_time(notice_s, write_time_s(job, lanes))
        crash = crash | (preempted & ~in_time)
        graceful = graceful | (preempted & in_time & ~view.stopping)
        queues = queues | preempted
    if on.start_failure:
        failed_start = race.won("start_failed", at_risk)
    if on.silent:
        found = race.won("latency", at_risk) | race.won("verified", at_risk)
        row = where(found, lanes.corrupt_cause + 1, row)
    # A stop that is announced has its own row until it comes.
    ledger.interrupt(row if on.graceful else AFTER, crash | graceful | found)
    stopped = crash | found | failed_start
    if on.graceful:
        stopped, row, queues = _planned(job, lanes, view, race, (stopped, row, queues), graceful, trains)
    _end(job, lanes, race)
    return Stop(stopped & (lanes.phase == AT_RISK), row, crash, found, failed_start, queues, never), ledger


def _crashes(cause: Cause) -> bool:
    return cause.kind in ("crash", "hang")


def _picked(job: Job, cause: Any, name: str) -> Any:
    """Return a number of the striking cause, or 0 if it has none."""
    numbers = [getattr(record, name) for record in job.params.causes]
    return pick([0.0 if number is None else number for number in numbers], cause)


def _planned(
    job: Job,
    lanes: Lanes,
    view: View,
    race: Race,
    stops: tuple[Any, Any, Any],
    graceful: Any,
    trains: Any,
) -> tuple[Any, Any, Any]:
    """Begin and end planned stops: at once outside training, else once their save is durable."""
    on = job.on
    stopped, row, queues = stops
    at_risk = lanes.phase == AT_RISK
    length = write_time_s(job, lanes)
    if on.max_attempt:
        over = race.won("max_attempt", at_risk)
        graceful, queues = graceful | over, queues | over
        row = where(over, job.planned_row, row)
    begins = graceful & trains
    lanes.set(begins, stop_row=row, stop_left=length, stop_queues=queues)
    if on.verify:
        _give_up_verifying(job, lanes, begins | race.won("prepare", at_risk), length)
    if on.groups:
        lanes.set(begins | race.won("prepare", at_risk), pause_left=0.0)
    stopped = stopped | (graceful & ~trains)
    ends = race.won("stopped", at_risk)
    row = where(ends, lanes.stop_row, row)
    queues = where(ends, lanes.stop_queues, queues)
    if on.maintenance:
        lanes.set(race.won("prepare", at_risk), stop_row=job.planned_row, stop_left=jnp.inf, stop_queues=False)
        window = race.won("window", at_risk)
        row = where(window, job.planned_row, row)
        queues = queues & ~window
        stopped = stopped | window
    _save_gracefully(job, lanes, ends)
    return stopped | ends, row, queues


def _give_up_verifying(job: Job, lanes: Lanes, mask: Any, write_s: Any) -> None:
    """Forget a save that is being verified, since it has not begun: the one before the stop takes its place."""
    verifying = is_before(write_s, lanes.write_left, lanes.now)
    lanes.set(mask & verifying, write_left=0.0)
    if job.on.local:
        local_s = job.params.checkpoint.local.write_time_s  # type: ignore[union-attr]
        lanes.set(mask & is_before(local_s, lanes.local_left, lanes.now), local_left=0.0)


def _save_gracefully(job: Job, lanes: Lanes, ends: Any) -> None:
    """Make the work so far durable; if it is all of it, the job is done."""
    work_s = work_now(job, lanes)
    lanes.set(
        ends,
        graceful=work_s,
        longest=jnp.maximum(lanes.longest, lanes.now - lanes.last_durable),
        last_durable=lanes.now,
        n_saves=lanes.n_saves + 1.0,
    )
    if job.on.retention:
        lanes.set(ends, graceful_good=False)
    done = ends & (work_s >= job.fixed.nearly_done_s)
    lanes.set(done, phase=ENDED, outcome=Outcome.DONE)


def _end(job: Job, lanes: Lanes, race: Race) -> None:
    """End the lanes that are done or have met the horizon."""
    done = race.won("done", lanes.phase == AT_RISK)
    counted = lanes.stop_row >= 0 if job.on.graceful else jnp.zeros_like(done)
    lanes.set(
        done,
        phase=ENDED,
        outcome=Outcome.DONE,
        n_saves=lanes.n_saves + where(counted, 0.0, 1.0),
        longest=jnp.maximum(lanes.longest, lanes.now - lanes.last_durable),
        last_durable=lanes.now,
    )
    over = race.won("horizon", lanes.phase != ENDED)
    lanes.set(over, phase=ENDED, outcome=Outcome.HORIZON)


def roll_back(job: Job, lanes: Lanes, _: Draws, stop: Stop) -> tuple[Any, Ledger]:
    """Roll the stopped lanes back to their newest durable save; return those that a cause stopped."""
    mask, on, ledger = stop.any, job.on, Ledger()
    lanes.put(attempt=lanes.attempt + mask.astype(jnp.uint32))
    lanes.set(mask, phase=NODES, row=stop.row, down_since=lanes.now)
    work_s = work_now(job, lanes)
    if on.silent:
        _before_corruption(job, lanes, stop.found)
    durable = newest_durable(job, lanes)
    ledger.book(AFTER, "rework", where(mask, work_s - durable, 0.0))
    restart_at(job, lanes, mask, durable)
    for index in on.slow:
        lanes.set(mask, **{f"slow_{index}": jnp.inf})
    if on.graceful:
        lanes.set(mask, stop_row=-1, stop_left=jnp.inf)
    if on.groups:
        lanes.set(mask, group=NO_GROUP, pause_left=0.0)
    lanes.set(mask & (lanes.attempt >= lanes.cap), phase=ENDED, outcome=Outcome.CAPPED)
    if on.start_failure:
        lanes.put(tries=lanes.tries + stop.failed_start.astype(jnp.float64))
    window = _is_window(job, stop)
    queue_due = stop.queues if on.spares and not on.requeues else ~stop.failed_start & ~window
    lanes.set(mask, queue_due=queue_due, redraw=~stop.failed_start)
    by_cause = (lanes.phase == NODES) & mask & ~stop.failed_start
    return by_cause & (stop.row >= 1) & (stop.row <= len(job.params.causes)), ledger


def _is_window(job: Job, stop: Stop) -> Any:
    if not job.on.maintenance:
        return jnp.zeros_like(stop.any)
    return (stop.row == job.planned_row) & ~stop.queues & ~stop.failed_start


def _before_corruption(job: Job, lanes: Lanes, found: Any) -> None:
    """Drop the saves that hold the corruption."""
    at = lanes.corrupt_work
    if job.on.graceful:
        lanes.set(found & is_less(job, at, lanes.graceful), graceful=NONE)
    if job.on.local:
        lanes.set(found & is_less(job, at, lanes.local), local=NONE)
    clean = jnp.floor(at * job.fixed.per_interval + SNAP)
    number = jnp.minimum(lanes.number, clean)
    lanes.set(found, number=number, base=number * job.fixed.times.interval_s, corrupt=False)


def downtime(job: Job, lanes: Lanes, draws: Draws, stop: Stop, by_cause: Any, detection: Any, diagnosis: Any) -> Ledger:
    """Let detection and diagnosis pass, or the wait for a human, or the maintenance that stopped the job.

    A culprit may be missed in the lanes that a cause stops (`by_cause`).
    """
    miss(job, lanes, draws, by_cause, stop.row - 1)
    detection = where(stop.crash, detection, 0.0)
    diagnosis = where(stop.crash | stop.found, diagnosis, 0.0)
    ledger, mask = Ledger(), stop.any & (lanes.phase == NODES)
    if job.on.start_failure:
        failure = job.params.recovery.start_failure
        assert failure is not None
        human = mask & stop.failed_start & (lanes.tries >= failure.max_attempts)
        lanes.set(human, tries=0.0, redraw=True)
        diagnosis = where(human, draws.duration(failure.escalation, streams.ESCALATION, "attempt"), diagnosis)
    if job.on.maintenance:
        serve_window(job, lanes, ledger, mask & _is_window(job, stop))
        mask = mask & (lanes.phase == NODES)
    pass_down(job, lanes, ledger, mask, [("detection", detection), ("diagnosis", diagnosis)])
    return ledger
