"""Causes that strike: who, and what that does short of stopping the job."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.elementary import where
from mcettr.kernels.events import hazards
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import AT_RISK, Lanes
from mcettr.kernels.events.race import Race, View, silent_parts


class Strike(NamedTuple):
    """A cause striking in some lanes."""

    mask: Any
    cause: Any
    """Its index, int32."""
    repeated: Any
    """Whether it is a missed culprit's."""


def strike(job: Job, lanes: Lanes, draws: Draws, view: View, race: Race) -> Strike:
    """Return who strikes, and let the hazards and clocks that brought it draw anew."""
    at_risk = lanes.phase == AT_RISK
    mask = race.won("strike", at_risk)
    entries = hazards.entries(job, lanes)
    cause = jnp.zeros_like(lanes.row)
    repeated = jnp.zeros_like(mask)
    if entries:
        u = draws.fine(streams.CAUSE, "hazard") if len(entries) > 1 else jnp.zeros_like(lanes.now)
        number = hazards.pick([part for _, _, part in entries], view.hazard, u)
        cause = _of(number, [index for index, _, _ in entries])
        repeated = mask & (number >= sum(not again for _, again, _ in entries))
        for index in job.on.repeat:
            lanes.set(repeated & (cause == index), **{f"pending_{index}": lanes[f"pending_{index}"] - 1.0})
        n_hazard = lanes.n_hazard + mask.astype(jnp.uint32)
        lanes.set(mask, hazard_left=draws.exponential(streams.FAILURE, "next_hazard"))
        lanes.put(n_hazard=n_hazard)
    for index in job.on.every:
        mine = race.won(f"event_{index}", at_risk)
        law = job.params.causes[index].every
        assert law is not None
        next_s = draws.duration(law, streams.every_purpose(index), ("next_event", index))
        lanes.set(mine, **{f"event_{index}": next_s, f"n_event_{index}": lanes[f"n_event_{index}"] + 1})
        cause, mask = where(mine, index, cause), mask | mine
    return Strike(mask, cause, repeated)


def _of(number: Any, values: list[int]) -> Any:
    """Return values[number] for int32 lanes."""
    if values == list(range(len(values))):
        return number
    result = jnp.full_like(number, values[0])
    for position, value in enumerate(values[1:], start=1):
        result = where(number == position, value, result)
    return result


def kind_is(job: Job, cause: Any, wanted: Any) -> Any:
    """Return the lanes whose cause is of a wanted kind; `wanted` maps a `Cause` to a bool."""
    chosen = [index for index, record in enumerate(job.params.causes) if wanted(record)]
    if len(chosen) == len(job.params.causes):
        return jnp.ones_like(cause, bool)
    hit = jnp.zeros_like(cause, bool)
    for index in chosen:
        hit = hit | (cause == index)
    return hit


def slow_down(job: Job, lanes: Lanes, draws: Draws, struck: Strike) -> None:
    """Slow the job down where a slow cause strikes that is not active yet."""
    for index in job.on.slow:
        cause = job.params.causes[index]
        count = ("event", index) if index in job.on.every else "hazard"
        length = draws.duration(cause.detection, streams.SLOW_DETECTION, count)
        if cause.caught_in_check is not None:
            purposes = streams.SLOW_CHECK_PHASE, streams.SLOW_CHECK_CATCH
            length = jnp.minimum(length, check_s(job, draws, index, purposes, count))
        begins = struck.mask & (struck.cause == index) & jnp.isinf(lanes[f"slow_{index}"])
        # A detection that never comes leaves the job slow: it is finite in the slot, beyond any horizon.
        lanes.set(begins, **{f"slow_{index}": jnp.minimum(length, 1e30)})


def check_s(job: Job, draws: Draws, cause: int, purposes: tuple[int, int], count: Any) -> Any:
    """Return when a periodic check finds the fault of a cause."""
    missed = jnp.floor(draws.exponential(purposes[1], count) * job.fixed.misses[cause])
    return job.params.check_every_s * (draws.uniform(purposes[0], count) + missed)


def corrupt(job: Job, lanes: Lanes, draws: Draws, view: View, race: Race) -> None:
    """Corrupt the work from here on where a corruption strikes; the latency begins."""
    mask = race.won("corruption", lanes.phase == AT_RISK)
    u = draws.fine(streams.SILENT_CAUSE, "strike") if len(job.on.silent) > 1 else jnp.zeros_like(lanes.now)
    cause = _of(hazards.pick(silent_parts(job, lanes), view.silent_rate, u), list(job.on.silent))
    latency = jnp.zeros_like(lanes.now)
    for index in job.on.silent:
        record = job.params.causes[index]
        length = draws.duration(record.detection, streams.SILENT_LATENCY, "strike")
        if record.caught_in_check is not None:
            purposes = streams.SILENT_CHECK_PHASE, streams.SILENT_CHECK_CATCH
            length = jnp.minimum(length, check_s(job, draws, index, purposes, "strike"))
        latency = where(cause == index, length, latency)
    work_s = work_now(job, lanes)
    lanes.set(mask, corrupt=True, corrupt_cause=cause, corrupt_work=work_s, latency_left=jnp.minimum(latency, 1e30))
    lanes.set(mask, silent_left=draws.exponential(streams.SILENT_STRIKE, "next_strike"))
    lanes.put(n_silent=lanes.n_silent + mask.astype(jnp.uint32))


def turn(job: Job, lanes: Lanes, draws: Draws, view: View, race: Race) -> None:
    """Let incidents begin and end, and corruption strike."""
    if job.on.incidents:
        toggle(job, lanes, draws, race)
    if job.on.silent:
        corrupt(job, lanes, draws, view, race)


def work_now(job: Job, lanes: Lanes) -> Any:
    """Return the work computed so far."""
    work_s = lanes.start + lanes.sub
    if job.on.local:
        work_s = work_s + lanes.sub_number * job.fixed.times.local_s
    return work_s


def toggle(job: Job, lanes: Lanes, draws: Draws, race: Race) -> None:
    """Begin or end an incident."""
    mask = race.won("toggle", lanes.phase == AT_RISK)
    incidents = job.params.incidents
    assert incidents is not None
    begins = mask & ~lanes.incident
    mean_s = where(begins, incidents.mean_duration_s, job.fixed.quiet_mean_s)
    lanes.set(mask, toggle_left=draws.exponential(streams.INCIDENT_TIME, "toggle") * mean_s, incident=begins)
    lanes.put(n_toggle=lanes.n_toggle + mask.astype(jnp.uint32))


def miss(job: Job, lanes: Lanes, draws: Draws, mask: Any, cause: Any) -> None:
    """Note the culprits that were missed."""
    for index in job.on.repeat:
        repeat = job.params.causes[index].repeat
        assert repeat is not None
        missed = mask & (cause == index) & (draws.uniform(streams.REPEAT, "attempt") < repeat.probability)
        lanes.set(missed, **{f"pending_{index}": lanes[f"pending_{index}"] + 1.0})
