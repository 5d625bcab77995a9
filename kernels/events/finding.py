"""How long it takes to find a fault, and then its cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.choice import pick
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.stages import Stages, Survey
from mcettr.model.distributions import fixed

CRASH = streams.DETECTION, streams.CHECK_PHASE, streams.CHECK_CATCH
SLOW = streams.SLOW_DETECTION, streams.SLOW_CHECK_PHASE, streams.SLOW_CHECK_CATCH
SILENT = streams.SILENT_LATENCY, streams.SILENT_CHECK_PHASE, streams.SILENT_CHECK_CATCH
"""Purposes of the draws: detection, and a periodic check's phase and how often it misses."""


def detection_s(
    job: Job, stages: Stages | Survey, some: Sequence[int], cause: Any, purposes: tuple[int, int, int], count: Any
) -> Any:
    """Return the detection time in seconds of each lane's cause, by itself or in a periodic check.

    Parameters
    ----------
    some : sequence of int
        The causes that may be meant; for others the time is 0.
    cause : int32 array
        Lanes; anything where it does not matter.
    purposes : tuple of int
        `CRASH`, `SLOW` or `SILENT`.
    count : str or tuple
        The counter that numbers the draws.
    """
    causes = job.params.causes
    cause = jnp.clip(cause, 0, len(causes) - 1)
    laws = [record.detection if index in some else fixed(0.0) for index, record in enumerate(causes)]
    length = stages.durations(laws, cause, purposes[0], count)
    if not any(index in job.fixed.misses for index in some):
        return length
    chances = [job.fixed.misses.get(index, jnp.inf) if index in some else jnp.inf for index in range(len(causes))]
    missed = jnp.floor(stages.exponential(purposes[2], count) * pick(chances, cause))
    phase = stages.uniform(purposes[1], count).astype(jnp.float64)
    return jnp.minimum(length, job.params.check_every_s * (phase + missed))


def find_out(job: Job, stages: Stages | Survey, cause: Any) -> tuple[Any, Any]:
    """Return how long detection and diagnosis of each lane's cause take, under the number of the attempt to come."""
    causes = job.params.causes
    if not causes:
        return jnp.zeros(cause.shape), jnp.zeros(cause.shape)
    loud = [index for index, record in enumerate(causes) if record.kind not in ("silent", "slow")]
    detection = detection_s(job, stages, loud, cause, CRASH, "attempt")
    cause = jnp.clip(cause, 0, len(causes) - 1)
    return detection, stages.durations([c.diagnosis for c in causes], cause, streams.DIAGNOSIS, "attempt")
