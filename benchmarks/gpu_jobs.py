"""The jobs of the GPU check: they need neither scenario files nor the libraries that read them."""

from __future__ import annotations

import math

from benchmarks import physics_jobs
from benchmarks.workload import DAY_S, MINUTE_S, V1_22
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

HOUR_S = 60.0 * MINUTE_S


def three_causes() -> Params:
    """Return a job with most of what the engine does: three causes, laws of several kinds, saves that run on behind.

    >>> [cause.kind for cause in three_causes().causes]
    ['crash', 'hang', 'crash']
    """
    hours = Distribution("exponential", (3 * HOUR_S,))
    hang_noticed = Distribution("mixture", (0.8, 0.2), (fixed(10 * MINUTE_S), hours))
    image = Distribution("lognormal", (math.log(4 * MINUTE_S), 0.5))
    causes = (
        Cause("node", 8.0 / DAY_S, detection=fixed(MINUTE_S), diagnosis=Distribution("exponential", (5 * MINUTE_S,))),
        Cause("nccl-hang", 1.0 / DAY_S, kind="hang", detection=hang_noticed),
        Cause("software", 0.5 / DAY_S),
    )
    recovery = Recovery(
        queue_wait=Distribution("exponential", (2 * MINUTE_S,)),
        startup=(("image", image), ("communicator", fixed(MINUTE_S))),
        restore=fixed(2 * MINUTE_S),
    )
    checkpoint = Checkpoint(20 * MINUTE_S, 3 * MINUTE_S, 20.0, slowdown=0.05, blocking=False)
    return Params(12_288.0, 10 * DAY_S, 20 * DAY_S, checkpoint, causes, recovery)


JOBS = {"V1.22": V1_22.params, "three causes": three_causes, **physics_jobs.JOBS}
