"""Causes that strike: who, and what that does short of stopping the job."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.choice import pick
from mcettr.kernels.elementary import where
from mcettr.kernels.events import hazards
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.finding import SILENT, SLOW, detection_s
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import AT_RISK, Lanes
from mcettr.kernels.events.race import Race, View, silent_parts
from mcettr.kernels.events.stages import Stages, Survey


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
        cause = pick([index for index, _, _ in entries], number)
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


def kind_is(job: Job, cause: Any, wanted: Any) -> Any:
    """Return the lanes whose cause is of a wanted kind; `wanted` maps a `Cause` to a bool."""
    if not job.params.causes:
        return jnp.zeros(cause.shape, bool)
    return pick([bool(wanted(record)) for record in job.params.causes], cause)


def slow_down(job: Job, stages: Stages | Survey, struck: Strike) -> None:
    """Slow the job down where a slow cause strikes that is not active yet."""
    by_rate = [index for index in job.on.slow if index not in job.on.every]
    lengths = {}
    if by_rate:
        lengths = dict.fromkeys(by_rate, detection_s(job, stages, by_rate, struck.cause, SLOW, "hazard"))
    for index in job.on.slow:
        if index in job.on.every:
            lengths[index] = detection_s(job, stages, [index], struck.cause, SLOW, ("event", index))
    stages.run(_slow_down, struck, lengths)


def _slow_down(_: Job, lanes: Lanes, __: Draws, struck: Strike, lengths: dict[int, Any]) -> None:
    for index, length in lengths.items():
        begins = struck.mask & (struck.cause == index) & jnp.isinf(lanes[f"slow_{index}"])
        # A detection that never comes leaves the job slow: it is finite in the slot, beyond any horizon.
        lanes.set(begins, **{f"slow_{index}": jnp.minimum(length, 1e30)})


def turn(job: Job, stages: Stages | Survey, view: View, race: Race) -> None:
    """Let incidents begin and end, and corruption strike."""
    mask, cause = stages.run(_turn, view, race)
    if job.on.silent:
        latency = detection_s(job, stages, job.on.silent, cause, SILENT, "strike")
        stages.run(_corrupt, mask, cause, latency)


def _turn(job: Job, lanes: Lanes, draws: Draws, view: View, race: Race) -> tuple[Any, Any]:
    """Return the lanes in which corruption strikes, and its cause."""
    if job.on.incidents:
        toggle(job, lanes, draws, race)
    mask, cause = jnp.zeros_like(lanes.phase == AT_RISK), jnp.zeros_like(lanes.row)
    if job.on.silent:
        mask = race.won("corruption", lanes.phase == AT_RISK)
        u = draws.fine(streams.SILENT_CAUSE, "strike") if len(job.on.silent) > 1 else jnp.zeros_like(lanes.now)
        cause = pick(list(job.on.silent), hazards.pick(silent_parts(job, lanes), view.silent_rate, u))
    return mask, cause


def _corrupt(job: Job, lanes: Lanes, draws: Draws, mask: Any, cause: Any, latency: Any) -> None:
    """Corrupt the work from here on; the latency begins."""
    work_s = work_now(job, lanes)
    lanes.set(mask, corrupt=True, corrupt_cause=cause, corrupt_work=work_s, latency_left=jnp.minimum(latency, 1e30))
    lanes.set(mask, silent_left=draws.exponential(streams.SILENT_STRIKE, "next_strike"))
    lanes.put(n_silent=lanes.n_silent + mask.astype(jnp.uint32))


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
