"""V1.22's job with mechanisms: four of the dear ones, and everything that can be on together."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.workload import V1_22
from mcettr.model.counts import Counts, exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Maintenance,
    Profile,
    Repeat,
    Retention,
    Spares,
    StartFailure,
)

DAY_S, HOUR_S = 86_400.0, 3_600.0
N_NODES = 1536.0


def _base() -> Params:
    params = V1_22.params()
    causes = tuple(replace(cause, nodes_lost=exactly(1.0)) for cause in params.causes)
    return replace(params, causes=causes, n_nodes=N_NODES)


def four() -> Params:
    """Return the job with incidents, lemons, spares and repeats."""
    params = _base()
    node = replace(params.causes[0], in_incidents=True, by_lemons=True, repeat=Repeat(0.2, 2.0 * HOUR_S))
    return replace(
        params,
        causes=(node,),
        incidents=Incidents(1.0 / (10.0 * DAY_S), DAY_S, 4.0),
        lemons=Lemons(0.01, 20.0, 0.3),
        recovery=replace(params.recovery, spares=Spares(24.0, 120.0, 0.7, HOUR_S, 2.0 * DAY_S, 0.05)),
    )


def everything() -> Params:
    """Return the job with all mechanisms that go together; replica groups and shrinking are their own case."""
    params = four()
    node = replace(params.causes[0], caught_in_check=0.5, caught_in_preflight=0.5)
    hang = Distribution("mixture", (0.8, 0.2), (fixed(600.0), _exponential(3.0 * HOUR_S)))
    brief = Repeat(0.0, HOUR_S)
    losses = Counts((4.0, 8.0), (0.5, 1.0))
    causes = (
        node,
        Cause("rack", 1.0 / (10.0 * DAY_S), nodes_lost=losses, over_evicted=exactly(1.0), repeat=brief),
        Cause("hang", 1.0 / (5.0 * DAY_S), "hang", exposure="job", detection=hang),
        Cause("sdc", 1.0 / (4.0 * DAY_S), "silent", exposure="job", detection=_exponential(4.0 * HOUR_S)),
        Cause(
            "straggler",
            1.0 / (3.0 * DAY_S),
            "slow",
            slowdown=0.25,
            detection=fixed(6.0 * HOUR_S),
            nodes_lost=exactly(1.0),
            repeat=brief,
            caught_in_check=0.5,
        ),
        Cause("eviction", 1.0 / (5.0 * DAY_S), "preemption", exposure="job", notice_s=120.0, min_lease_s=2.0 * HOUR_S),
        Cause("aging", 1.0 / (8.0 * DAY_S), profile=Profile((0.0, DAY_S, 5.0 * DAY_S), (3.0, 2.0, 1.0))),
    )
    save = Checkpoint(
        1800.0,
        60.0,
        20.0,
        0.0,
        blocking=False,
        verify_s=10.0,
        local=LocalTier(6.0, 10.0, 1.0, fixed(30.0), 1.0),
        retention=Retention(0.02, 5.0, 20.0),
    )
    recovery = replace(
        params.recovery,
        queue_wait=_exponential(1800.0),
        startup_if_replaced=(("image", fixed(300.0)),),
        start_failure=StartFailure(0.1, 3.0, _exponential(HOUR_S)),
        data_fast_forward=1e-4,
        max_attempt_s=7.0 * DAY_S,
    )
    return replace(
        params,
        checkpoint=save,
        causes=causes,
        recovery=recovery,
        maintenance=Maintenance(20.0 * DAY_S, 4.0 * HOUR_S, HOUR_S),
        check_every_s=300.0,
    )


def _exponential(mean_s: float) -> Distribution:
    return Distribution("exponential", (mean_s,))


JOBS = {"incidents, lemons, spares, repeats": four, "everything": everything}
