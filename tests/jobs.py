"""Jobs for the engine tests. They come in a few structures only, since the fast engine compiles each of them anew."""

from __future__ import annotations

import numpy as np

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

MIN, HOUR, DAY = 60.0, 3600.0, 86400.0
INF = float("inf")

NEVER_OR_SOON = Distribution("mixture", (0.3, 0.7), (fixed(60.0), Distribution("exponential", (400.0,))))
QUANTILES = Distribution("quantiles", (-1.0, 0.0, 2.0, np.log(30.0), np.log(200.0), np.log(3000.0)))


def plain(
    rate_per_s: float,
    *,
    work_s: float = INF,
    interval_s: float = INF,
    write_s: float = 0.0,
    detection_s: float = 0.0,
    startup_s: float = 0.0,
    restore_s: float = 0.0,
    queue_s: float = 0.0,
    horizon_s: float = 1e15,
    resumes: float = 0.0,
    rate_shape: float = INF,
) -> Params:
    """Return a job with one cause, blocking saves and fixed durations: one structure whatever the numbers."""
    cause = Cause("node", rate_per_s, rate_shape=rate_shape, detection=fixed(detection_s))
    recovery = Recovery(fixed(queue_s), (("start", fixed(startup_s)),), fixed(restore_s))
    return Params(8.0, work_s, horizon_s, Checkpoint(interval_s, write_s, write_s), (cause,), recovery, resumes)


def background(
    rate_per_s: float,
    *,
    work_s: float = INF,
    interval_s: float = INF,
    write_s: float = 0.0,
    stall_s: float = 0.0,
    slowdown: float = 0.0,
    startup_s: float = 0.0,
    restore_s: float = 0.0,
    horizon_s: float = 1e15,
) -> Params:
    """Return a job with one cause, saves written in the background and fixed durations."""
    recovery = Recovery(startup=(("start", fixed(startup_s)),), restore=fixed(restore_s))
    plan = Checkpoint(interval_s, write_s, stall_s, slowdown, blocking=False)
    return Params(8.0, work_s, horizon_s, plan, (Cause("node", rate_per_s),), recovery)


def three_causes(
    detections: tuple[Distribution, Distribution, Distribution],
    *,
    queue: Distribution,
    startup: Distribution,
    restore: Distribution,
    rates_per_s: tuple[float, float, float] = (1e-4, 5e-5, 2e-5),
    work_s: float = 2e5,
    interval_s: float = 1e3,
    write_s: float = 60.0,
    horizon_s: float = 1e9,
    rate_shapes: tuple[float, float, float] = (INF, INF, INF),
) -> Params:
    """Return a job with three causes, blocking saves and two startup phases, one of them fixed."""
    causes = tuple(
        Cause(name, rate, rate_shape=shape, detection=law, diagnosis=fixed(30.0 * number))
        for number, (name, rate, shape, law) in enumerate(
            zip(("crash", "hang", "human"), rates_per_s, rate_shapes, detections, strict=True)
        )
    )
    recovery = Recovery(queue, (("image", startup), ("init", fixed(60.0))), restore)
    return Params(8.0, work_s, horizon_s, Checkpoint(interval_s, write_s, write_s), causes, recovery)


def three_smooth(**numbers: object) -> Params:
    """Return three causes with exponential, lognormal and gamma laws."""
    return three_causes(
        (
            Distribution("exponential", (300.0,)),
            Distribution("lognormal", (200.0, 1.0)),
            Distribution("gamma", (600.0, 0.5)),
        ),
        queue=Distribution("exponential", (90.0,)),
        startup=fixed(150.0),
        restore=fixed(100.0),
        **numbers,  # type: ignore[arg-type]
    )


def three_composed(**numbers: object) -> Params:
    """Return three causes with mixture, quantiles, weibull and uniform laws."""
    return three_causes(
        (NEVER_OR_SOON, QUANTILES, Distribution("weibull", (300.0, 0.8))),
        queue=fixed(90.0),
        startup=fixed(150.0),
        restore=Distribution("uniform", (50.0, 150.0)),
        **numbers,  # type: ignore[arg-type]
    )


def drills(
    every: Distribution,
    rate_per_s: float,
    *,
    work_s: float = 2e5,
    plan: Checkpoint | None = None,
    startup_s: float = 120.0,
    restore_s: float = 80.0,
    horizon_s: float = 1e9,
) -> Params:
    """Return a job with background saves, a cause with a law of its own and one with a rate."""
    causes = (
        Cause("drill", 0.0, every=every, detection=QUANTILES),
        Cause("crash", rate_per_s, diagnosis=Distribution("gamma", (100.0, 0.7))),
    )
    recovery = Recovery(startup=(("start", fixed(startup_s)),), restore=fixed(restore_s))
    plan = plan or Checkpoint(900.0, 500.0, 60.0, 0.2, blocking=False)
    return Params(8.0, work_s, horizon_s, plan, causes, recovery)


WEIBULL = Distribution("weibull", (9e3, 1.5))
