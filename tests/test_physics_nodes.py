"""Nodes of the fast engine, event by event: each is in the job, spare, in repair, or on loan from the cluster."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numpy.typing import NDArray

from mcettr.engine.cells import cells_of
from mcettr.engine.lemons import with_lemons
from mcettr.kernels import pytrees, streams
from mcettr.kernels.attempt import Key
from mcettr.kernels.events.features import features_of
from mcettr.kernels.events.job import Job, numbers_of
from mcettr.kernels.events.lanes import AT_RISK
from mcettr.kernels.events.loop import step
from mcettr.kernels.events.submission import submission
from mcettr.model.counts import ALL, Counts, exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Params
from mcettr.model.physics import Lemons, Maintenance, Repeat, ReplicaGroups, Spares
from tests.physics_cases_mechanisms import DAY, HOUR, exponential, job
from tests.speed import often

N_NODES, N_LANES, N_STEPS, SEED = 64, 128, 500, 3
PLACES = ("present", "failed", "n_spares", "in_quick", "in_slow", "from_cluster", "n_fresh")
OBSERVED = (*PLACES, "nodes_out_most", "phase", "waiting")
assert pytrees  # importing it registers the model's records

Census = dict[str, NDArray[np.float64]]

POOL = Spares(6.0, 120.0, 0.7, 6 * HOUR, 2 * DAY, 0.1)
LOST = Counts((0.0, 1.0, 2.0), (0.1, 0.8, 1.0))
NODE = Cause("node", 1 / HOUR, nodes_lost=LOST, repeat=Repeat(0.3, HOUR), detection=exponential(HOUR / 4))
HALL = Cause("hall", 1 / (12 * HOUR), nodes_lost=Counts((8.0, ALL), (0.8, 1.0)), repeat=Repeat(0.0, HOUR))
EVICTING = replace(HALL, over_evicted=Counts((0.0, 4.0), (0.5, 1.0)))
SLOW = Cause("slow", 1 / (6 * HOUR), "slow", nodes_lost=exactly(1.0), slowdown=0.2, repeat=Repeat(0.0, HOUR))


def pool_job(*causes: Cause, spares: Spares = POOL, more: dict[str, Any] | None = None, **recovery: Any) -> Params:
    return job(*causes, more={"n_nodes": float(N_NODES)} | (more or {}), spares=spares, **recovery)


def jobs() -> dict[str, Params]:
    """Return jobs that lose many nodes, by policy."""
    queue, shrink = replace(POOL, when_exhausted="queue"), replace(POOL, min_nodes=50.0, when_exhausted="shrink")
    checked = replace(NODE, by_lemons=True, caught_in_preflight=0.5)
    lemons, windows = Lemons(0.05, 10.0, 0.5, 0.4), Maintenance(DAY, 2 * HOUR, HOUR)
    groups = ReplicaGroups(4.0, 60.0, fixed(900.0))
    return {
        "wait, preflight": pool_job(checked, EVICTING, more={"lemons": lemons}),
        "queue": pool_job(NODE, EVICTING, spares=queue, more={"maintenance": windows}, queue_wait=exponential(HOUR)),
        "shrink": pool_job(checked, EVICTING, spares=shrink, more={"lemons": lemons, "maintenance": windows}),
        "groups that wait": pool_job(NODE, HALL, SLOW, replica_groups=groups),
        "groups with a queue": pool_job(
            NODE, EVICTING, spares=queue, queue_wait=exponential(HOUR), replica_groups=groups
        ),
    }


JOBS = jobs()


@cache
def program(name: str) -> Any:
    """Return what gives a job's states by its record, seed and the step at which a spare node vanishes (-1: none)."""
    features = features_of(cells_of(JOBS[name]).params)

    def follow(record: Params, seed: Any, lose_at: Any) -> dict[str, Any]:
        work, timelines = (
            Job(record, features, numbers_of(record, features, jnp)),
            jnp.arange(N_LANES, dtype=jnp.uint32)[None, :],
        )
        key, cap = Key((seed[0], seed[1]), timelines), jnp.uint32(10**6)

        def observe(state: dict[str, Any], turn: Any) -> tuple[dict[str, Any], dict[str, Any]]:
            state = step(work, key, state, turn)[0]
            state = state | {"n_spares": state["n_spares"] - (turn == lose_at)}
            names = [*OBSERVED, *(["n_lemons"] if features.lemons else [])]
            return state, {name: state[name] for name in names}

        state = submission(work, key, jnp.ones((1, N_LANES), bool), cap) | {"cap": cap}
        return lax.scan(observe, state, jnp.arange(N_STEPS, dtype=jnp.int32))[1]

    return jax.jit(follow)


@cache
def census(name: str, lose_at: int = -1) -> Census:
    """Return what is observed after each step, (steps, lanes)."""
    record = cells_of(JOBS[name]).take(np.zeros(1, np.int64))
    record = with_lemons(record, SEED, np.arange(N_LANES)[None, :])
    with jax.enable_x64(True):
        seen = program(name)(record, jnp.asarray(streams.seed_key(SEED), jnp.uint32), lose_at)
        return {key: np.asarray(values)[:, 0, :].astype(np.float64) for key, values in seen.items()}


def check(params: Params, seen: Census) -> None:
    """Fail unless every node is somewhere, once, after every step."""
    spares = params.recovery.spares
    assert spares is not None
    out = seen["in_quick"] + seen["in_slow"]
    total = seen["present"] + seen["failed"] + seen["n_spares"] + out - seen["from_cluster"]
    np.testing.assert_array_equal(total, N_NODES + spares.count, err_msg="nodes")
    for name in PLACES:
        assert seen[name].min() >= 0.0, name
    assert not seen["failed"][seen["waiting"] != 0].any()
    assert (seen["present"] <= N_NODES).all()
    assert (seen["n_fresh"] <= seen["n_spares"]).all()
    # More than one change in a step may come and go in between.
    assert (seen["nodes_out_most"] >= np.maximum.accumulate(out)).all()
    if "n_lemons" in seen:
        assert seen["n_lemons"].min() >= 0.0
        assert (seen["n_lemons"] <= seen["present"]).all()
    if params.recovery.replica_groups is None:
        least = spares.min_nodes if spares.when_exhausted == "shrink" else N_NODES
        assert (seen["present"] >= least)[seen["phase"] == AT_RISK].all()
        assert not seen["failed"][seen["phase"] == AT_RISK].any()


@pytest.mark.parametrize("name", often(JOBS, "wait, preflight", "groups with a queue"))
def test_every_node_is_somewhere_after_every_event(name: str) -> None:
    params, seen = JOBS[name], census(name)
    check(params, seen)
    changes = (np.diff(seen["in_quick"] + seen["in_slow"], axis=0) != 0).sum()
    assert changes > 20 * N_LANES
    assert (seen["n_spares"] == 0).any()
    assert (seen["n_fresh"] < seen["n_spares"]).any()
    assert (seen["from_cluster"] > 0).any() == ("queue" in name)
    short = (seen["present"] < N_NODES) & (seen["phase"] == AT_RISK)
    assert short.any() == (name.startswith(("shrink", "groups")))


def test_a_node_that_vanishes_shows() -> None:
    with pytest.raises(AssertionError, match="nodes"):
        check(JOBS["wait, preflight"], census("wait, preflight", lose_at=300))
