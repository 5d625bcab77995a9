"""The small inputs of tests/cases about nodes, notices and corruption: right by hand, and the same in both engines."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.model.counts import exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import Maintenance, ReplicaGroups, Spares
from mcettr.scenario import load
from mcettr.scenario.compile import compile_params
from tests.lanes import jax_timelines
from tests.physics import at, job
from tests.statistical import assert_ratio, assert_same_mean
from tests.test_cross_physics import compare

CASES = Path(__file__).parent / "cases"
HOUR, DAY, INF = 3600.0, 86_400.0, float("inf")
SEED = 5
SPARE_WAIT = 6
"""Column of the lost time."""


def case(name: str, **changes: Any) -> Params:
    return compile_params(load(CASES / f"{name}.yaml").replace(changes))


@cache
def fast(params: Params, n: int) -> Timelines:
    return jax_timelines(params, SEED, 0, n)


def same(params: Params, n: int) -> None:
    """Fail unless the engines agree on `n` timelines."""
    compare(simulate_timelines(params, SEED, 0, n), jax_timelines(params, SEED, 0, n))


def test_a_repair_begins_when_the_node_is_known() -> None:
    params = case("repair_begins")
    same(params, 8)
    lives = fast(params, 1024)
    waited_s = lives.lost_s[:, 1, SPARE_WAIT]
    assert_ratio(waited_s, lives.n_swaps, 48 * HOUR, detectable=4 * HOUR, what="wait for the repaired node")


def test_a_repair_goes_on_in_the_wait_that_the_horizon_cuts() -> None:
    # Three nodes fail after 100 s, are known at 150, and are in repair for 80 s on average while the swap goes on.
    drill = at("drill", 100.0, nodes_lost=exactly(3.0), detection=fixed(20.0), diagnosis=fixed(30.0))
    params = job(drill, spares=Spares(9.0, 1e6, 1.0, 80.0, 1.0), n_nodes=9.0, horizon_s=400.0)
    same(params, 8)
    mean = 3.0 * 80.0 * -math.expm1(-250.0 / 80.0) / 400.0
    assert_same_mean(fast(params, 8192).nodes_out, mean, detectable=0.08, what="nodes out")


def test_nodes_of_a_failure_that_nobody_finds_never_go_to_repair() -> None:
    params = case("nodes_out", **{"failures.node.detection": "never"})
    same(params, 8)
    lives = fast(params, 128)
    assert lives.interruptions.sum() > 100
    assert (lives.nodes_out_most == 0).all()
    assert (lives.nodes_out == 0).all()


def test_nodes_out_where_a_hundredth_of_the_failures_is_never_found() -> None:
    same(case("nodes_out"), 48)


@pytest.mark.parametrize("policy", ["wait", "queue", "groups"])
def test_a_chain_that_windows_and_failures_cut_is_the_same_in_both(policy: Any) -> None:
    slow = Distribution("mixture", (0.9, 0.1), (Distribution("exponential", (2 * HOUR,)), fixed(INF)))
    causes = (
        Cause("node", 1 / (3 * HOUR), nodes_lost=exactly(2.0), detection=slow, diagnosis=fixed(600.0)),
        Cause("rest", 1 / (9 * HOUR), exposure="job", detection=fixed(900.0), nodes_lost=exactly(1.0)),
    )
    groups = ReplicaGroups(4.0, 60.0, fixed(600.0)) if policy == "groups" else None
    spares = Spares(6.0, 120.0, 0.7, 6 * HOUR, 2 * DAY, when_exhausted="queue" if policy == "queue" else "wait")
    recovery = Recovery(fixed(300.0), (("start", fixed(1800.0)),), fixed(60.0), spares=spares, replica_groups=groups)
    params = Params(
        8.0, INF, 6 * DAY, Checkpoint(1800.0, 60.0, 60.0), causes, recovery, n_nodes=32.0,
        maintenance=Maintenance(DAY / 2, 2 * HOUR),
    )  # fmt: skip
    same(params, 24)
    lives = fast(params, 128)
    assert (lives.nodes_out_most > 2).mean() > 0.5
    assert np.ptp(lives.nodes_out) > 0
