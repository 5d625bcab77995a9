"""Spares and replica groups of jobs that have an exact value."""

from __future__ import annotations

from mcettr.model.counts import Counts, exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import ReplicaGroups, Spares
from tests.exact_pools import batches_out, out_law, replica_groups, waits
from tests.physics_cases import INF, Case, elapsed, failures, open_job, restarting, seconds

RATE = 1e-4


def spare_job(
    count: float, repair: tuple[float, float, float], horizon_s: float, several: float = 0.0, evicted: float = 0.0
) -> Params:
    """Return a job that loses four nodes with chance `several`, else one, and two more with chance `evicted`."""
    lost, more = Counts((1.0, 4.0), (1.0 - several, 1.0)), Counts((0.0, 2.0), (1.0 - evicted, 1.0))
    cause = Cause("node", RATE, nodes_lost=lost, over_evicted=more)
    recovery = restarting(100.0, 50.0, spares=Spares(count, 0.0, *repair))
    return open_job(cause, horizon_s=horizon_s, recovery=recovery)


def pool_cases() -> dict[str, list[Case]]:
    """Return the cases of spares, batches and replica groups."""
    mean_s, horizon_s = 1.6e4, 2e5
    waiting = spare_job(1.0, (1.0, mean_s, 1.0), horizon_s)
    strikes, exhausted, waited_s = waits(RATE, mean_s, 1, horizon_s)
    branches = (0.7, 1e4, 3e4)
    stationary = out_law(RATE, mean_s, 2)
    long = spare_job(2.0, branches, 4e6)

    batch = (0.6 * 3 + 0.4 * 6, 0.6 * 9 + 0.4 * 36)
    batches = spare_job(INF, branches, horizon_s, several=0.4, evicted=1.0)
    mean, variance = batches_out(RATE, batch, branches, horizon_s)

    grouped = Params(
        8.0,
        INF,
        4e6,
        Checkpoint(1000.0, 0.0, 0.0),
        (Cause("node", RATE, diagnosis=fixed(600.0), nodes_lost=exactly(1.0)),),
        Recovery(replica_groups=ReplicaGroups(4.0, 200.0, fixed(900.0))),
        n_nodes=8.0,
    )
    exact = replica_groups(RATE, 4, 600.0, 900.0, 600.0, 200.0)
    simple = replica_groups(RATE, 4, 600.0, 0.0, 600.0, 100.0)
    each_s = exact["losses_per_s"] + exact["stops_per_s"]
    return {
        "spares": [
            Case(waiting, lambda x: x.n_swaps, strikes, RATE * horizon_s, 0.6),
            Case(waiting, lambda x: x.n_exhausted, exhausted, strikes / 2, 0.3),
            Case(waiting, seconds("spare_wait"), waited_s, exhausted * mean_s, 4e3),
            Case(long, seconds("spare_wait"), float(stationary[-1]), float(out_law(RATE, mean_s, 3)[-1]), 0.02, 0.002,
                 elapsed, 1024),
        ],
        "batches": [
            Case(batches, lambda x: x.nodes_out, mean, mean / 1.4, 0.06 * mean),
            Case(batches, lambda x: (x.nodes_out - mean) ** 2, variance, mean, 0.25 * variance),
        ],
        "replica groups": [
            Case(grouped, seconds("degraded"), exact["degraded"], simple["degraded"], 0.002, 0.0001, elapsed, 1024),
            Case(grouped, seconds("diagnosis"), exact["stopped"], simple["stopped"], 0.002, 0.0001, elapsed, 1024),
            Case(grouped, seconds("startup"), exact["paused"], simple["paused"], 0.002, 0.0001, elapsed, 1024),
            Case(grouped, failures, each_s, RATE, 2e-6, 1e-7, elapsed, 1024),
        ],
    }  # fmt: skip
