"""The lanes' state at the submission of the job."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.elementary import minus_log, where
from mcettr.kernels.events import draws
from mcettr.kernels.events.draws import Request
from mcettr.kernels.events.hazards import NO_GROUP
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import ENDED, NODES, flags_as_int8
from mcettr.kernels.events.ledger import booked_name
from mcettr.kernels.events.training import NONE
from mcettr.model.budget import Outcome
from mcettr.model.distributions import is_fixed


def submission(job: Job, key: Any, valid: Any, cap: Any, n_lemons: Any = None) -> dict[str, Any]:
    """Return the lanes' state at the submission; `n_lemons` if not those of the parameters."""
    shape = valid.shape
    zero, no = jnp.zeros(shape), jnp.zeros(shape, bool)
    none, never = jnp.full(shape, NONE), jnp.full(shape, jnp.inf)
    first = jnp.zeros(shape, jnp.uint32)
    whole, on = jnp.zeros(shape, jnp.int32), job.on

    def uniform(purpose: int) -> Any:
        return draws.uniform(Request(purpose, "first"), key, {"first": first}).astype(jnp.float64)

    state: dict[str, Any] = {
        "timeline": key.timeline,
        "now": zero,
        "phase": where(valid, NODES, ENDED).astype(jnp.int32),
        "outcome": jnp.full(shape, Outcome.CAPPED, jnp.int32),
        "attempt": first,
        "cap": jnp.asarray(cap, jnp.uint32),
        "row": whole,
        "start": zero,
        "base": zero,
        "write_left": zero,
        "sub": zero,
        "startup_left": zero,
        "restore_left": zero,
        "hazard_left": minus_log(uniform(streams.FAILURE)),
        "n_hazard": first,
        "queue_due": ~no,
        "redraw": ~no,
        "down_since": zero,
        "n_saves": zero,
        "longest": zero,
        "last_durable": zero,
    }
    optional = [
        (on.local, {"sub_number": zero, "local": none, "local_left": zero, "local_good": no, "local_work": zero}),
        (on.graceful, {"graceful": none, "graceful_good": no, "stop_left": never, "stop_queues": no}),
        (on.graceful, {"stop_row": whole - 1}),
        (on.indexed, {"number": zero, "lowest": -never, "good": zero}),
        (bool(on.silent), {"corrupt": no, "corrupt_cause": whole, "corrupt_work": zero, "latency_left": never}),
        (bool(on.silent), {"silent_left": minus_log(uniform(streams.SILENT_STRIKE)), "n_silent": first + 1}),
        (on.max_attempt or on.lease, {"age": zero}),
        (on.write_law, {"write_s": zero}),
        (on.incidents, {"incident": no, "toggle_left": never, "n_toggle": first}),
        (on.start_failure, {"start_fails": no, "tries": zero}),
        (on.replaced, {"replaced": ~no}),
        (on.nodes_lost, {"lost_in_chain": zero}),
        (on.lemons, {"n_lemons": _lemons(job, n_lemons)}),
        (on.lemons or on.spares, {"joined": zero}),
        (on.spares, _pool(job, zero, first, no)),
        (on.shrink, {"shrink_row": whole}),
        (on.maintenance, {"window": _first_window(job, uniform)}),
        (on.groups, {"group": whole + NO_GROUP, "group_left": never, "group_row": whole, "group_replaced": no}),
        (on.groups, {"pause_left": zero}),
    ]
    for wanted, entries in optional:
        state |= entries if wanted else {}
    for index in on.every:
        law = job.params.causes[index].every
        assert law is not None
        u = uniform(streams.every_purpose(index))
        state[f"event_{index}"] = (law.values[0] if is_fixed(law) else draws.follows(law, u)) + zero
        state[f"n_event_{index}"] = first
    state |= {booked_name(*place): zero for place in job.places}
    state |= {f"slow_{index}": never for index in on.slow} | {f"pending_{index}": zero for index in on.repeat}
    return flags_as_int8(state)


def _lemons(job: Job, given: Any) -> Any:
    """Return the lemons at the beginning, which the engine draws: they come as a number of each timeline."""
    return given if given is not None or job.params.lemons is None else job.params.lemons.n_at_start


def _pool(job: Job, zero: Any, first: Any, no: Any) -> dict[str, Any]:
    spares = job.params.recovery.spares
    if spares is None:
        return {}
    counts = "failed in_quick in_slow from_cluster out_of_repair nodes_out nodes_out_most n_swaps n_exhausted"
    state = dict.fromkeys([*counts.split(), "changed_at"], zero)
    state |= {"present": job.params.n_nodes + zero, "n_spares": spares.count + zero, "n_fresh": spares.count + zero}
    state |= {"repaired_at": zero + jnp.inf, "waiting": no}
    return state | {"n_changes": first}


def _first_window(job: Job, uniform: Any) -> Any:
    if job.params.maintenance is None:
        return None
    return job.params.maintenance.every_s * uniform(streams.MAINTENANCE_PHASE)
