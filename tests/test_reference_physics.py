"""All mechanisms of the reference engine together, and where each of them is off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mcettr.engine.reference import Timelines, simulate_timeline, simulate_timelines
from mcettr.engine.timeline.nodes import Nodes
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.counts import exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params
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
from tests.physics import EXP, INF, full, job

NODE = Cause("node", 2e-4, detection=EXP, nodes_lost=exactly(1.0))
OTHER = Cause("other", 1e-4, diagnosis=EXP)
PLAN = Checkpoint(900.0, 60.0, 20.0, 0.3, blocking=False)
LOCAL = LocalTier(3.0, 30.0, 5.0, fixed(11.0), 1.0)


@pytest.mark.parametrize("seed", range(40))
def test_the_budget_closes_and_no_node_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    params = full(np.random.default_rng(seed))
    seen = 0
    check = Nodes._check

    def watched(nodes: Nodes) -> None:
        nonlocal seen
        seen += 1
        check(nodes)

    monkeypatch.setattr(Nodes, "_check", watched)
    lives = simulate_timelines(params, seed, 0, 4, max_failures=400)
    np.testing.assert_allclose(lives.productive_s + lives.lost_s.sum(axis=(1, 2)), lives.elapsed_s, rtol=1e-9)
    assert lives.lost_s.min() >= -1e-9
    assert (lives.longest_stretch_s <= lives.elapsed_s).all()
    assert (lives.nodes_out <= lives.nodes_out_most).all()
    assert (lives.n_exhausted <= lives.n_swaps).all()
    assert (seen > 0) == (params.recovery.spares is not None)


def test_the_event_cap_ends_a_life_of_toggles() -> None:
    life = simulate_timeline(job(incidents=Incidents(1.0, 1.0, 1.0), horizon_s=1e6), 0, 0, max_failures=2)
    assert life.outcome == Outcome.CAPPED
    assert sum(life.activity_s.values()) == pytest.approx(life.elapsed_s)


def same(a: Timelines, b: Timelines, *, pools: bool = True, causes: int | None = None) -> None:
    """Two runs are one, event by event; `causes` for only the first so many."""
    for name in ("outcome", "elapsed_s", "productive_s", "n_saves", "longest_stretch_s"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-9, err_msg=name)
    np.testing.assert_array_equal(a.interruptions, b.interruptions[:, :causes])
    np.testing.assert_allclose(b.lost_s.sum(axis=1), a.lost_s.sum(axis=1), rtol=1e-9, atol=1e-4)
    if pools:
        np.testing.assert_array_equal(a.n_swaps, b.n_swaps)


def plain(*causes: Cause, plan: Checkpoint = PLAN, **more: Any) -> Params:
    usual: dict[str, Any] = {"work_s": 1e5, "startup": (("s", EXP),), "restore": fixed(40.0), "n_nodes": 8.0}
    return job(*(causes or (NODE, OTHER)), plan=plan, **usual | more)


def with_node(**more: Any) -> Params:
    return plain(replace(NODE, **more), OTHER)


def limits() -> Iterator[Any]:
    local = replace(PLAN, local=LOCAL)
    none_lost = plain(replace(NODE, nodes_lost=None), OTHER, plan=local)
    many = plain(plan=replace(PLAN, local=replace(LOCAL, survives_node_losses=INF)))
    yield pytest.param(none_lost, many, id="local saves survive any loss")
    yield pytest.param(plain(), plain(plan=replace(PLAN, retention=Retention(0.0))), id="no bad saves")
    yield pytest.param(plain(), plain(spares=Spares(INF, 0.0, 0.5, 1e3, 1e4)), id="endless spares")
    yield pytest.param(plain(), replace(with_node(in_incidents=True), incidents=Incidents(1e-3, 500.0, 1.0)), id="calm")
    yield pytest.param(plain(), replace(with_node(by_lemons=True), lemons=Lemons(0.3, 1.0)), id="good lemons")
    yield pytest.param(plain(), with_node(repeat=Repeat(0.0, 100.0)), id="no repeats")
    yield pytest.param(
        with_node(kind="preemption"), plain(replace(NODE, kind="preemption", min_lease_s=0.0), OTHER), id="no lease"
    )
    yield pytest.param(plain(), with_node(profile=Profile((0.0, 2e4, 3e4), (1.0, 1.0, 1.0))), id="flat profile")
    yield pytest.param(plain(), replace(with_node(caught_in_check=0.0), check_every_s=10.0), id="blind checks")
    yield pytest.param(plain(), with_node(caught_in_preflight=0.5), id="nothing to catch")
    yield pytest.param(plain(), plain(replica_groups=ReplicaGroups(1.0, 9.0, EXP)), id="one group")
    yield pytest.param(plain(), plain(start_failure=StartFailure(0.0)), id="starts never fail")
    yield pytest.param(plain(), plain(max_attempt_s=INF), id="endless attempts")
    yield pytest.param(plain(), plain(maintenance=Maintenance(1e15, 1.0)), id="no maintenance")
    yield pytest.param(plain(), plain(data_fast_forward=0.0, saved_before_s=1e6), id="no data to skip")
    blocking = replace(PLAN, stall_s=60.0, slowdown=0.0, blocking=True)
    yield pytest.param(plain(plan=blocking), plain(plan=replace(PLAN, slowdown=1.0)), id="slowed down to nothing")
    by_law = replace(PLAN, write_time=fixed(60.0), stall_share=0.0, stall_fixed_s=20.0)
    yield pytest.param(plain(), plain(plan=by_law), id="fixed law of the write time")


@pytest.mark.parametrize(("params", "variant"), list(limits()))
def test_a_mechanism_that_is_off_changes_nothing(params: Params, variant: Params) -> None:
    a, b = (simulate_timelines(each, 7, 0, 6) for each in (params, variant))
    assert a.interruptions.sum() > 60
    same(a, b, pools=False)
    assert (b.n_exhausted == 0).all()


def test_false_positives_that_never_come_change_nothing() -> None:
    false_positive = Cause("false positive", 0.0, "preemption", notice_s=INF, nodes_lost=exactly(1.0))
    a, b = (simulate_timelines(each, 7, 0, 6) for each in (plain(), plain(NODE, OTHER, false_positive)))
    same(a, b, causes=2)


def test_a_slowdown_of_nothing_costs_the_stalls_only() -> None:
    quiet = plain(Cause("none", 0.0), plan=replace(PLAN, slowdown=0.0))
    n_saves = simulate_timelines(quiet, 0, 0, 1).n_saves[0]
    lost = simulate_timelines(quiet, 0, 0, 1).lost_s[0, 2, ACTIVITIES.index("checkpoint")]
    assert lost == pytest.approx(20.0 * n_saves + 40.0)


def test_saves_that_are_all_bad_lead_back_to_the_start() -> None:
    free = Checkpoint(900.0, 0.0, 0.0, retention=Retention(1.0))
    bad, none = (plain(plan=plan, work_s=1e4, restore=fixed(0.0)) for plan in (free, Checkpoint(INF, 0.0, 0.0)))
    a, b = (simulate_timelines(each, 7, 0, 6) for each in (bad, none))
    np.testing.assert_allclose(a.elapsed_s, b.elapsed_s, rtol=1e-9)
    np.testing.assert_array_equal(a.interruptions, b.interruptions)
    assert a.interruptions.sum() > 20
    kept = replace(bad, checkpoint=replace(free, retention=Retention(1.0, 1.0, 1.0)))
    assert simulate_timelines(kept, 7, 0, 6).elapsed_s.mean() < 0.5 * a.elapsed_s.mean()
