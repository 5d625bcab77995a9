"""Nodes by hand: spares and repairs, lemons, replica groups."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mcettr.engine.draws import Draws
from mcettr.engine.reference import simulate_timeline, simulate_timelines
from mcettr.engine.timeline.life import Life
from mcettr.engine.timeline.ready import ready
from mcettr.kernels import streams
from mcettr.model.counts import exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Recovery
from mcettr.model.physics import (
    Lemons,
    Repeat,
    ReplicaGroups,
    Spares,
)
from tests.physics import at, blamed, job, life_of, pool, repairs, run


def test_phases_for_new_nodes_are_paid_after_replacing_some() -> None:
    # First start 5 + 3; the crash at 20 loses nothing: 5 more; the loss at 30 (in the startup after 25) pays all.
    causes = at("crash", 20.0), at("node", 22.0, nodes_lost=exactly(1.0))
    params = job(*causes, startup=(("s", fixed(5.0)),), startup_if_replaced=(("i", fixed(3.0)),), n_nodes=2.0)
    _, lost = run(replace(params, horizon_s=39.0))
    assert lost["start", "startup"] == 8.0
    assert (lost["crash", "startup"], lost["node", "startup"]) == (2.0, 8.0)


def test_spares_are_swapped_in_without_a_queue() -> None:
    drill = at("drill", 50.0, nodes_lost=exactly(2.0), diagnosis=fixed(1.0))
    params = job(drill, spares=pool(2.0), queue_wait=fixed(6.0), n_nodes=4.0, horizon_s=60.0)
    life, lost = run(params)
    assert lost["drill", "spare_wait"] == 2.0
    assert ("drill", "queue") not in lost
    assert lost["start", "queue"] == 6.0
    assert (life.n_swaps, life.n_exhausted, life.nodes_out_most) == (1, 0, 2.0)


def test_exhausted_spares_are_waited_for() -> None:
    gaps = repairs(3, 300.0)
    wait_s = gaps[0] + gaps[1]
    drill = at("drill", 50.0, nodes_lost=exactly(3.0), diagnosis=fixed(1.0))
    life, lost = run(job(drill, spares=pool(1.0), n_nodes=4.0, horizon_s=51.0 + wait_s + 3.0))
    assert lost["drill", "spare_wait"] == pytest.approx(wait_s + 2.0)
    assert (life.n_swaps, life.n_exhausted) == (1, 1)


def test_exhausted_spares_are_made_up_for_by_the_cluster_and_given_back() -> None:
    drill = at("drill", 50.0, nodes_lost=exactly(3.0))
    params = job(drill, spares=pool(1.0, "queue"), n_nodes=4.0, queue_wait=fixed(6.0), horizon_s=70.0)
    life = life_of(params)
    assert life.books.lost_s[1]["queue"] == 6.0
    assert life.books.lost_s[1]["spare_wait"] == 2.0
    assert (life.nodes.present, life.nodes.lent, life.nodes.in_repair) == (4.0, 2.0, 3.0)
    nodes = life.nodes
    nodes.catch_up(1e9)
    assert (nodes.spares, nodes.lent, nodes.in_repair) == (1.0, 0.0, 0.0)


def test_a_shrunken_job_is_slower_and_less_exposed_until_its_next_restart() -> None:
    drill = at("drill", 50.0, nodes_lost=exactly(2.0))
    params = job(drill, spares=pool(0.0, "shrink", min_nodes=1.0), n_nodes=4.0, horizon_s=90.0)
    _, lost = run(params)
    assert lost["drill", "degraded"] == pytest.approx(20.0)
    assert lost["drill", "rework"] == pytest.approx(50.0)
    assert lost["horizon", "rework"] == pytest.approx(20.0)
    needs_three = replace(params, recovery=Recovery(spares=pool(0.0, "shrink", min_nodes=3.0)), horizon_s=1e3)
    wait_s = repairs(2, 300.0)[0]
    assert run(needs_three)[1]["drill", "spare_wait"] >= wait_s + 2.0


def test_a_node_out_of_repair_may_bring_its_fault_back() -> None:
    drill = at("drill", 50.0, nodes_lost=exactly(2.0), repeat=Repeat(0.0, 1e9))
    life = life_of(job(drill, spares=pool(1.0, repair_failure=1.0), n_nodes=4.0, horizon_s=60.0 + repairs(2, 300.0)[0]))
    assert life.hazards.pending == [1.0]


def test_the_sample_of_nodes_out_is_uniform_in_time() -> None:
    # Two nodes in repair from 100 to the end at 400: three quarters of the time.
    drill = at("drill", 100.0, nodes_lost=exactly(2.0))
    forever = Spares(2.0, 0.0, 1.0, 1e12, 1.0)
    params = job(drill, spares=forever, n_nodes=4.0, horizon_s=199.0)
    lives = simulate_timelines(params, 0, 0, 400)
    assert set(lives.nodes_out.tolist()) == {0.0, 2.0}
    share = float((lives.nodes_out == 2.0).mean())
    assert abs(share - 99.0 / 199.0) < 5.4 * math.sqrt(0.25 / 400)
    assert (lives.nodes_out_most == 2.0).all()


def test_lemons_fail_more_often_and_leave() -> None:
    rate = 1e-2
    lemons = Lemons(1.0, 3.0)
    node = Cause("node", rate, nodes_lost=exactly(1.0), by_lemons=True)
    first_s = Draws(0, 0).exponential(streams.FAILURE, 0) / (3.0 * rate)
    params = job(node, lemons=lemons, n_nodes=4.0)
    life = life_of(replace(params, horizon_s=first_s + 1e-6))
    assert life.lemons is not None
    assert (life.books.interruptions, life.lemons.n) == ([1], 4.0)
    spared = replace(params, recovery=Recovery(spares=pool(9.0)), horizon_s=first_s + 1e-6)
    stays = replace(spared, lemons=replace(lemons, eviction_probability=0.0))
    assert (life_of(spared).nodes.n_swaps, life_of(stays).nodes.n_swaps) == (1, 0)
    # A preflight check that finds every lemon takes them out before the first start.
    draws = [Draws(0, timeline) for timeline in range(50)]
    found = [each.uniform(streams.LEMONS_AT_START, 0) > 0.75**4 for each in draws]
    for timeline, some in enumerate(found):
        few = job(spares=pool(4.0), lemons=Lemons(0.25, 3.0, 1.0, 1.0), n_nodes=4.0, horizon_s=1.0)
        first = life_of(few, timeline=timeline)
        assert (first.nodes.n_swaps > 0) == some


def test_a_healthy_striker_takes_no_lemon_with_it() -> None:
    # One lemon at most among many: a strike of another cause takes it with a chance of 1/N, a healthy striker never.
    node = at("node", 10.0, nodes_lost=exactly(1.0))
    for timeline in range(30):
        life = Life(ready(job(node, lemons=Lemons(0.0, 3.0), n_nodes=4.0)), Draws(0, timeline), [1.0], 10)
        assert life.lemons is not None
        for striker, certain in (("lemon", 1.0), ("healthy", 0.0)):
            life.lemons.n = 2.0
            life.lemons.lose(1.0, 4.0, 1, striker=striker)
            assert life.lemons.n == 2.0 - certain
        life.lemons.n = 2.0
        life.lemons.lose(1.0, 4.0, 1, striker="any")
        assert life.lemons.n == 2.0 - float(life.draws.uniform(streams.LEMONS_LOST, 1) >= 0.5)


def test_a_lost_group_slows_the_job_and_comes_back() -> None:
    # Queue to 5, start to 12, lost at 55, pause to 57; the group is back after 4 + 6 + 5 + 7 + 3 = 25 s, at 80.
    drill = at("drill", 50.0, nodes_lost=exactly(1.0), detection=fixed(4.0), diagnosis=fixed(6.0))
    groups = ReplicaGroups(4.0, 2.0, fixed(3.0))
    params = job(drill, replica_groups=groups, startup=(("s", fixed(7.0)),), queue_wait=fixed(5.0), n_nodes=8.0)
    life, lost = run(replace(params, horizon_s=100.0))
    assert life.interruptions == (1,)
    assert lost == pytest.approx({
        ("start", "queue"): 5.0, ("start", "startup"): 7.0, ("drill", "startup"): 2.0,
        ("drill", "degraded"): 23.0 / 4.0, ("horizon", "rework"): 86.0 - 23.0 / 4.0,
    })  # fmt: skip


def test_a_group_may_be_hit_again_in_its_own_start() -> None:
    # Lost at 50; a strike at 60, in its start of 30 s, hits the same group with a chance of one in four.
    causes, groups = (at("a", 50.0), at("b", 60.0)), ReplicaGroups(4.0, 0.0, fixed(30.0))
    params = job(*causes, replica_groups=groups, n_nodes=8.0, horizon_s=80.0)
    same_group = [Draws(0, timeline).uniform(streams.GROUP, 0) < 0.25 for timeline in range(20)]
    assert 0 < sum(same_group) < 20
    for timeline, again in enumerate(same_group):
        lost = blamed(params, simulate_timeline(params, 0, timeline))
        assert lost.get(("b", "rework"), 0.0) == (0.0 if again else 57.5)
        assert lost.get(("b", "degraded"), 0.0) == (5.0 if again else 0.0)


def test_a_second_group_lost_meanwhile_stops_the_job() -> None:
    causes = at("a", 50.0, detection=fixed(30.0)), at("b", 60.0, diagnosis=fixed(1.0))
    groups = ReplicaGroups(4.0, 0.0, fixed(3.0))
    life, lost = run(job(*causes, replica_groups=groups, n_nodes=8.0, horizon_s=70.0))
    assert life.interruptions == (1, 1)
    assert lost["b", "rework"] == pytest.approx(50.0 + 7.5)
    assert lost["a", "degraded"] == pytest.approx(2.5)
    job_wide = replace(causes[0], exposure="job")
    assert run(job(job_wide, replica_groups=groups, n_nodes=8.0, horizon_s=90.0))[1]["a", "rework"] == 50.0


def test_a_group_waits_for_repairs_while_the_others_train() -> None:
    # The node lost at 50 goes to repair at 51 and comes back at 71; with the swap the group is there again at 73.
    drill = at("drill", 50.0, nodes_lost=exactly(1.0), detection=fixed(1.0))
    spares = Spares(0.0, 2.0, 1.0, 20.0 / Draws(0, 0).exponential(streams.REPAIR_TIME, 0), 1.0)
    groups = ReplicaGroups(4.0)
    params = job(drill, replica_groups=groups, spares=spares, n_nodes=8.0, queue_wait=fixed(3.0), horizon_s=90.0)
    life, lost = run(params)
    assert lost == pytest.approx({
        ("start", "queue"): 3.0, ("drill", "degraded"): 23.0 / 4.0, ("horizon", "rework"): 87.0 - 23.0 / 4.0
    })  # fmt: skip
    assert (life.n_swaps, life.n_exhausted) == (1, 1)


def test_the_first_state_and_the_others_are_what_their_draws_say() -> None:
    starts = [life_of(job(lemons=Lemons(0.5, 1.0), n_nodes=10.0, horizon_s=1.0), timeline=k).lemons for k in range(200)]
    counts = [lemons.n for lemons in starts if lemons is not None]
    assert abs(np.mean(counts) - 5.0) < 5.4 * math.sqrt(2.5 / 200)


def test_the_sample_of_nodes_out_is_replaced_piece_by_piece() -> None:
    # None out until 60, two until 118, three until 119; each piece takes over by its share of the time so far.
    causes = at("a", 60.0, nodes_lost=exactly(2.0)), at("b", 118.0, nodes_lost=exactly(1.0))
    params = job(*causes, spares=Spares(9.0, 0.0, 1.0, 1e15, 1.0), n_nodes=4.0, horizon_s=119.0)
    seen = set()
    for timeline in range(30):
        u = [Draws(0, timeline).uniform(streams.POOL_INSTANT, n) for n in range(3)]
        expected = 3.0 if u[2] < 1.0 / 119.0 else 2.0 if u[1] < 58.0 / 118.0 else 0.0
        assert simulate_timeline(params, 0, timeline).nodes_out == expected
        seen.add(expected)
    assert len(seen) > 1


def test_a_group_that_is_down_does_not_fail() -> None:
    # Lost at 50; three of four groups are exposed for 20 s, then all of them, since the fourth starts.
    drill = at("drill", 50.0, detection=fixed(20.0))
    rate = Draws(0, 0).exponential(streams.FAILURE, 0) / (50.0 + 15.0 + 10.0)
    params = job(drill, Cause("node", rate), replica_groups=ReplicaGroups(4.0, 0.0, fixed(100.0)), n_nodes=8.0)
    assert run(replace(params, horizon_s=79.99))[0].interruptions == (1, 0)
    assert run(replace(params, horizon_s=80.01))[0].interruptions == (1, 1)
