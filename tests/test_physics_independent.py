"""Three and more mechanisms at once: the fast engine against the second simulator of the tests.

Hypothesis draws the numbers of six structures (each is one program of the fast engine). What is seen: 7 percentage
points of the share of an activity, 15 % of the failures and of the counts of a pool plus 1. A job that fails often
shows that a wrong rate of 5 % is noticed there, and a mechanism that was left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mcettr.engine.reference import Timelines
from mcettr.model.budget import ACTIVITIES
from mcettr.model.counts import Counts, exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Maintenance,
    Profile,
    Repeat,
    ReplicaGroups,
    Retention,
    Spares,
    StartFailure,
)
from tests import independent
from tests.lanes import jax_timelines
from tests.physics_cases_mechanisms import INF, exponential
from tests.statistical import assert_same_mean, assert_same_ratio

N_SLOW, N_FAST = 224, 2048
POINTS, SOME, ONE = 0.07, 0.15, 1.0
HORIZON_S = 1.5e5
Numbers = Callable[[float, float], float]

NODE = Cause("node", 2e-4, detection=exponential(200.0), nodes_lost=exactly(1.0))
RACK = Cause("rack", 4e-5, nodes_lost=Counts((2.0, 3.0), (0.5, 1.0)), exposure="domain", diagnosis=fixed(300.0))
SLOW = Cause("slow", 5e-5, "slow", slowdown=0.3, detection=exponential(4e3), nodes_lost=exactly(1.0))
EVICTED = Cause("evicted", 5e-5, "preemption", exposure="job", notice_s=100.0, min_lease_s=3e3)
SDC = Cause("sdc", 4e-5, "silent", detection=exponential(3e3), diagnosis=fixed(100.0))
PLAN = Checkpoint(2400.0, 60.0, 20.0, 0.2, blocking=False)


def job(*causes: Cause, plan: Checkpoint = PLAN, more: dict[str, Any] | None = None, **recovery: Any) -> Params:
    common: dict[str, Any] = {"startup": (("start", fixed(200.0)),), "restore": fixed(60.0)}
    return Params(8.0, INF, HORIZON_S, plan, causes, Recovery(**common | recovery), n_nodes=12.0, **more or {})


def waiting(x: Numbers) -> Params:
    node = replace(NODE, by_lemons=True, in_incidents=True, repeat=Repeat(x(0.1, 0.4), x(1e3, 5e3)))
    node = replace(node, rate_per_s=x(1e-4, 2e-4), caught_in_preflight=x(0.2, 0.8))
    spares = Spares(float(round(x(2, 5))), 60.0, 0.6, x(3e3, 9e3), 2e4, x(0.05, 0.3))
    world = {
        "incidents": Incidents(5e-5, 5e3, x(2.0, 5.0)),
        "lemons": Lemons(x(0.05, 0.2), 6.0, x(0.3, 1.0), x(0.1, 0.5)),
    }
    return job(node, replace(RACK, repeat=Repeat(0.0, 1e3)), more=world, spares=spares)


def queueing(x: Numbers) -> Params:
    node = replace(NODE, by_lemons=True, in_incidents=True, rate_per_s=x(1.5e-4, 3e-4))
    spares = Spares(float(round(x(1, 3))), 60.0, 0.6, x(3e3, 9e3), 2e4, when_exhausted="queue")
    world = {
        "incidents": Incidents(5e-5, 5e3, x(2.0, 5.0)),
        "lemons": Lemons(x(0.05, 0.2), 6.0, x(0.3, 1.0)),
        "maintenance": Maintenance(x(5.8e4, 6.2e4), 3e3, 200.0),
    }
    evicted = replace(EVICTED, rate_per_s=1.5e-4)
    return job(node, RACK, evicted, more=world, spares=spares, queue_wait=exponential(x(500.0, 2e3)))


def shrinking(x: Numbers) -> Params:
    spares = Spares(float(round(x(0, 2))), 60.0, 0.6, x(5e3, 1e4), 2e4, min_nodes=9.0, when_exhausted="shrink")
    world = {"maintenance": Maintenance(x(5.8e4, 6.2e4), 3e3, 200.0)}
    slow = replace(SLOW, slowdown=x(0.1, 0.6), rate_per_s=8e-5)
    return job(replace(NODE, rate_per_s=x(1e-4, 2e-4)), RACK, slow, more=world, spares=spares)


def grouped(x: Numbers) -> Params:
    bug = Cause("bug", 5e-5, exposure="job", detection=fixed(100.0))
    spares = Spares(float(round(x(1, 4))), 60.0, 0.6, x(3e3, 9e3), 2e4)
    groups = ReplicaGroups(4.0, x(30.0, 200.0), fixed(x(200.0, 900.0)))
    slow = replace(SLOW, slowdown=x(0.1, 0.6), rate_per_s=8e-5)
    return job(replace(NODE, rate_per_s=x(1e-4, 3e-4)), bug, slow, spares=spares, replica_groups=groups)


def saving(x: Numbers) -> Params:
    local = LocalTier(3.0, 15.0, 3.0, fixed(20.0), float(round(x(0, 2))))
    plan = replace(PLAN, verify_s=x(5.0, 40.0), local=local, retention=Retention(x(0.05, 0.4), 3.0, 8.0))
    sdc = replace(SDC, rate_per_s=x(5e-5, 1e-4))
    return job(NODE, RACK, sdc, SLOW, plan=plan, max_attempt_s=x(1e4, 3e4))


def dated(x: Numbers) -> Params:
    by_law = replace(PLAN, write_time=exponential(60.0), stall_share=0.3)
    node = replace(NODE, rate_per_s=x(3e-4, 6e-4), in_incidents=True)
    node = replace(node, profile=Profile((0.0, 5e4, 1e5), (x(1.5, 3.0), 1.0, 0.7)))
    world = {"incidents": Incidents(5e-5, 5e3, x(1.5, 3.0)), "maintenance": Maintenance(x(5.8e4, 6.2e4), 3e3, 200.0)}
    failing = StartFailure(x(0.1, 0.4), 2.0, exponential(600.0))
    return job(node, EVICTED, plan=by_law, more=world, start_failure=failing, queue_wait=exponential(100.0))


STRUCTURES = {build.__name__: build for build in (waiting, queueing, shrinking, grouped, saving, dated)}


def clipped(fast: Any, slow: Any) -> tuple[Any, Any]:
    """Return both samples without their tails, which are too skewed for a test of means.

    The bounds are the slow sample's own; that moves its mean by less than a tenth of its standard error.
    """
    bounds = np.quantile(slow, (0.1, 0.9))
    return np.clip(fast, *bounds), np.clip(slow, *bounds)


def same(fast: Any, slow: Any, what: str) -> None:
    a, b = clipped(fast, slow)
    assert_same_mean(a, b, detectable=SOME * b.mean() + ONE, what=what)


def split(fast: NDArray[Any], slow: NDArray[Any], least: float) -> list[tuple[Any, Any, str]]:
    """Return pairs of columns of mean `least` or more, by number, and the sum of all others."""
    common = [column for column in range(fast.shape[1]) if fast[:, column].mean() >= least]
    rest = [column for column in range(fast.shape[1]) if column not in common]
    pairs = [(fast[:, column], slow[:, column], str(column)) for column in common]
    return [*pairs, (fast[:, rest].sum(axis=1), slow[:, rest].sum(axis=1), "rest")]


def compare(params: Params, slow: independent.Timelines, fast: Timelines) -> None:
    """Fail where the two differ by what matters."""
    lost, other = fast.lost_s.sum(axis=1), np.stack([slow.activity_s[name] for name in ACTIVITIES], axis=1)
    lost[:, 0], other[:, 0] = fast.productive_s, slow.activity_s["productive"]
    elapsed, elapsed_slow = fast.elapsed_s, slow.elapsed_s
    for a, b, number in split(lost, other, 0.03 * float(elapsed.mean())):
        name = number if number == "rest" else ACTIVITIES[int(number)]
        a, b = clipped(a, b)
        assert_same_ratio(a, elapsed, b, elapsed_slow, detectable=POINTS, what=f"share of {name}")
    for a, b, number in split(fast.interruptions, slow.interruptions, 10.0):
        name = number if number == "rest" else params.causes[int(number)].name
        if b.any():
            same(a, b, f"failures of {name}")
    same(fast.n_saves, slow.saves, "saves")
    if params.recovery.spares is not None:
        same(fast.n_swaps, slow.n_swaps, "swaps")
        same(fast.n_exhausted, slow.n_exhausted, "waits")
        same(fast.nodes_out, slow.nodes_out, "nodes out")


@pytest.mark.parametrize("name", STRUCTURES)
@settings(max_examples=2, derandomize=True, deadline=None, database=None, phases=(Phase.generate,))
@given(shares=st.lists(st.floats(0.0, 1.0), min_size=16, max_size=16))
def test_mechanisms_together(name: str, shares: list[float]) -> None:
    left = iter(shares)
    params = STRUCTURES[name](lambda low, high: low + (high - low) * next(left))
    compare(params, independent.simulate(params, N_SLOW, seed=1), jax_timelines(params, 2, 0, N_FAST))


def often() -> Params:
    """Return a job that fails nearly two hundred times."""
    params = dated(lambda low, high: high)
    assert params.incidents is not None
    causes = (replace(params.causes[0], rate_per_s=9e-4), params.causes[1])
    return replace(params, causes=causes, incidents=replace(params.incidents, multiplier=1.4))


@cache
def second_opinion() -> independent.Timelines:
    return independent.simulate(often(), 360, seed=3)


@pytest.mark.parametrize("bias", ["none", "rate", "incidents", "failed starts", "profile", "maintenance"])
def test_a_bias_shows(bias: str) -> None:
    params = often()
    node, evicted = params.causes
    assert params.incidents is not None
    assert params.recovery.start_failure is not None
    changes: dict[str, dict[str, Any]] = {
        "none": {},
        "rate": {"causes": (replace(node, rate_per_s=1.05 * node.rate_per_s), evicted)},
        "incidents": {"incidents": replace(params.incidents, multiplier=1.0)},
        "failed starts": {
            "recovery": replace(params.recovery, start_failure=replace(params.recovery.start_failure, probability=0.0))
        },
        "profile": {"causes": (replace(node, profile=Profile((0.0, 5e4, 1e5), (1.0, 1.0, 1.0))), evicted)},
        "maintenance": {"maintenance": Maintenance(1e15, 3e3, 200.0)},
    }
    fast = jax_timelines(replace(params, **changes[bias]), 4, 0, N_FAST)
    if bias == "none":
        compare(params, second_opinion(), fast)
        return
    with pytest.raises(AssertionError, match="standard errors"):
        compare(params, second_opinion(), fast)
