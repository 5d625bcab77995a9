"""The independent simulator's mechanisms one at a time, against hand-worked timelines and one-line formulas.

A rate of `AT_ONCE` strikes as soon as it may, so that causes that need a rate can be worked by hand too (`SOON` for
those that go on striking).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mcettr.model.counts import ALL, Counts, exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint
from mcettr.model.physics import (
    LocalTier,
    Maintenance,
    ReplicaGroups,
    Retention,
    StartFailure,
)
from tests.independent import simulate
from tests.independent_cases import (
    AT_ONCE,
    INF,
    SOON,
    approx,
    assert_budget_closes,
    blamed,
    blocking,
    drill,
    job,
    life_of,
    open_ended,
    recovering,
    spares,
)
from tests.statistical import assert_same_mean


@pytest.mark.parametrize(
    ("n_lost", "rework_s", "restore_s", "late_s"),
    [pytest.param(1, 4.0, 1.5, 2.5, id="survives"), pytest.param(2, 24.0, 0.0, 4.0, id="lost")],
)
def test_local_tier(n_lost: int, rework_s: float, restore_s: float, late_s: float) -> None:
    # Local saves at work 10 (stall to 10.5) and 20 (stall to 21); struck at 25 with work 24. Restarted at 26 the job
    # reads for 1.5 s or nothing; the third local save is at work 30 or 10; at 40.5 the work is 32.5 or 14.
    plan = Checkpoint(40.0, 4.0, 2.0, 0.0, False, local=LocalTier(4.0, 1.0, 0.5, fixed(1.5), 1.0))
    crash = replace(drill("crash", 25.0, 1.0), nodes_lost=exactly(n_lost))
    lives = life_of(job(1e3, plan, crash, horizon_s=40.5, restore_s=9.0))
    expected = {("crash", "rework"): rework_s, ("crash", "detection"): 1.0, ("crash", "restore"): restore_s}
    late = {("checkpoint", "checkpoint"): 1.5, ("horizon", "rework"): late_s}
    assert blamed(lives) == approx(expected | late)


def test_main_and_local_saves_keep_their_grid() -> None:
    # Local saves of 0.5 s at work 10, 20, 30, 50, 60, 70; main ones of 2 s at 40 and 80; the last one of 4 s at 85.
    plan = Checkpoint(40.0, 4.0, 2.0, 0.0, False, local=LocalTier(4.0, 1.0, 0.5))
    lives = life_of(job(85.0, plan))
    assert (lives.elapsed_s[0], lives.saves[0]) == (85.0 + 6 * 0.5 + 2 * 2.0 + 4.0, 3)
    assert lives.longest_stretch_s[0] == 45.5  # 40 of work, 3 x 0.5 and the write of 4


def test_one_local_write_at_a_time() -> None:
    # Main and local saves of work 40 begin at 41.5, the local one is durable at 47.5; the last save begins at 45.5.
    plan = Checkpoint(40.0, 4.0, 2.0, 0.0, False, local=LocalTier(4.0, 6.0, 0.5))
    assert blamed(life_of(job(41.0, plan, drill("crash", 48.0))))["crash", "rework"] == 1.0


def test_bad_saves_fall_back_to_a_permanent_one() -> None:
    # Saves 1 to 5 at 11 ... 55; struck at 57 with work 52. Saves 5 and 4 are kept but bad, 3 is permanent: 3 reads of 4
    # s and (7 + 30) / 10 of fast-forward, to 72.7. Saves 4 and 5 at 83.7 and 94.7; struck again at 114, 41.3 s later,
    # with work 30 + 38.3: saves 6 and 5 are bad, 4 is gone, and the job reads from 3 again for 15.7 s.
    plan = replace(blocking(10.0, 1.0), retention=Retention(1.0, 2.0, 3.0))
    params = job(INF, plan, drill("crash", 57.0), horizon_s=129.7, restore_s=4.0)
    lives = life_of(recovering(params, data_fast_forward=0.1), saved_before_s=7.0)
    assert blamed(lives)["crash", "rework"] == pytest.approx(22.0 + 38.3)
    assert blamed(lives)["crash", "restore"] == pytest.approx(2 * 15.7)
    assert lives.activity_s["productive"][0] == 30.0


def test_bad_saves_fall_back_to_the_start() -> None:
    plan = replace(blocking(10.0, 1.0), retention=Retention(1.0, 2.0))
    lives = life_of(job(INF, plan, drill("crash", 57.0), horizon_s=65.0, restore_s=4.0))
    assert blamed(lives)["crash", "restore"] == 8.0
    assert lives.activity_s["productive"][0] == 0.0


def test_saves_after_a_fall_to_the_start_count_again() -> None:
    # Every second save is bad on average; far from the start they never all are, unless new saves were forgotten.
    plan = replace(blocking(10.0, 1.0), retention=Retention(0.5, 3.0))
    lives = simulate(job(200.0, plan, drill("crash", 41.0), horizon_s=1e5, restore_s=1.0), 50, seed=0)
    assert lives.finished.all()


def test_verification_finds_corruption() -> None:
    # Benoit et al.: each interval computes until a verification finds it clean (validation value 0.8975).
    rate, n, interval_s, write_s, verify_s, start_s = 1 / 2000.0, 10, 109.5, 5.0, 1.0, 5.0
    plan = replace(blocking(interval_s, write_s), verify_s=verify_s)
    params = job(n * interval_s, plan, Cause("silent", rate, "silent", detection=fixed(INF)), startup_s=start_s)
    lives = simulate(params, 2_000, seed=1)
    tries = math.exp(rate * interval_s)
    expected_s = n * ((interval_s + verify_s) * tries + start_s * (tries - 1) + write_s) + start_s
    assert n * interval_s / (expected_s - start_s) == pytest.approx(0.8975, abs=1e-4)
    assert_same_mean(lives.elapsed_s, expected_s, detectable=0.02 * expected_s, what="elapsed with verification")
    assert_budget_closes(lives)


def test_corruption_is_found_after_its_latency() -> None:
    # Struck at once; found after 25 s of training, with saves at work 10 and 20 and work 23: all of them are corrupt.
    silent = Cause("silent", AT_ONCE, "silent", detection=fixed(25.0), diagnosis=fixed(2.0))
    lives = life_of(job(1e3, blocking(10.0, 1.0), silent, horizon_s=30.0, startup_s=2.0))
    assert blamed(lives) == approx(
        {
            ("start", "startup"): 2.0,
            ("silent", "rework"): 23.0,
            ("silent", "diagnosis"): 2.0,
            ("silent", "startup"): 1.0,
            ("checkpoint", "checkpoint"): 2.0,
        }
    )
    assert lives.interruptions.tolist() == [[1]]


def test_a_slow_node_is_replaced_at_a_graceful_save() -> None:
    # Training from 5; slow at 30 with work 25, known at 40 with work 30, saved at 42; training again from 50 to 55.
    slow = replace(drill("slow", 30.0, 10.0, 99.0), kind="slow", slowdown=0.5)
    lives = life_of(job(1e3, blocking(100.0, 2.0), slow, horizon_s=55.0, startup_s=5.0, restore_s=3.0))
    expected = {("slow", "degraded"): 5.0, ("slow", "checkpoint"): 2.0, ("slow", "startup"): 5.0}
    assert blamed(lives) == expected | {("slow", "restore"): 3.0, ("start", "startup"): 5.0, ("horizon", "rework"): 5.0}
    assert (lives.saves[0], lives.interruptions[0, 0], lives.longest_stretch_s[0]) == (1, 1, 42.0)


@pytest.mark.parametrize("notice_s", [2.0, 1.9])
def test_preemption(notice_s: float) -> None:
    # No preemption in the first 50 s of an attempt, of which 5 are startup.
    cause = Cause("taken", SOON, "preemption", notice_s=notice_s, min_lease_s=50.0, detection=fixed(4.0))
    lives = life_of(job(1e3, blocking(100.0, 2.0), cause, horizon_s=60.0, startup_s=5.0, queue_s=1.0))
    saved = notice_s >= 2.0
    expected = {("start", "startup"): 5.0, ("start", "queue"): 1.0, ("taken", "queue"): 1.0}
    late = {("taken", "checkpoint"): 2.0, ("taken", "startup"): 5.0, ("horizon", "rework"): 1.0}
    crash = {("taken", "rework"): 45.0, ("taken", "detection"): 4.0, ("taken", "startup"): 4.0}
    assert blamed(lives) == approx(expected | (late if saved else crash))


def test_a_failure_in_a_graceful_stop_is_its_own_stop() -> None:
    # Slow at 30, known at 32 with work 31; while it saves, a crash at 33 loses all.
    slow = replace(drill("slow", 30.0, 2.0), kind="slow", slowdown=0.5)
    lives = life_of(job(1e3, blocking(100.0, 2.0), slow, drill("crash", 33.0, 7.0), horizon_s=40.0))
    expected = {("slow", "degraded"): 1.0, ("slow", "checkpoint"): 1.0, ("crash", "rework"): 31.0}
    assert blamed(lives) == expected | {("crash", "detection"): 7.0}
    assert lives.interruptions.tolist() == [[1, 1]]


def test_failed_starts_and_escalation() -> None:
    params = job(1e3, blocking(100.0, 2.0), horizon_s=200.0, startup_s=10.0, queue_s=5.0)
    lives = life_of(recovering(params, start_failure=StartFailure(1.0, 3.0, fixed(100.0))))
    assert blamed(lives) == {("start", "queue"): 5.0, ("start", "startup"): 60.0, ("start", "diagnosis"): 135.0}


@pytest.mark.parametrize("n_lost", [0, 1])
def test_phases_when_a_node_was_replaced(n_lost: int) -> None:
    crash = replace(drill("crash", 30.0), nodes_lost=exactly(n_lost))
    params = job(1e3, blocking(100.0, 2.0), crash, horizon_s=50.0, startup_s=4.0)
    lives = life_of(recovering(params, startup_if_replaced=(("pull", fixed(3.0)),)))
    assert blamed(lives)["start", "startup"] == 7.0
    assert blamed(lives)["crash", "startup"] == 4.0 + 3.0 * n_lost


def test_spares_and_the_queue() -> None:
    # Struck at 37 with work 30; three nodes are lost, one of them evicted in vain: one spare, two from outside.
    crash = replace(drill("crash", 30.0), nodes_lost=exactly(2), over_evicted=exactly(1))
    params = job(1e3, blocking(100.0, 2.0), crash, horizon_s=50.0, queue_s=7.0)
    lives = life_of(recovering(params, spares=spares("queue")))
    waits = {("start", "queue"): 7.0, ("crash", "spare_wait"): 2.0, ("crash", "queue"): 7.0}
    assert blamed(lives) == waits | {("crash", "rework"): 30.0, ("horizon", "rework"): 4.0}
    assert (lives.n_swaps[0], lives.n_exhausted[0], lives.nodes_out_most[0]) == (1, 1, 3)


def test_a_shrunken_job() -> None:
    # With 2 of 4 nodes the next 10 s give 5 s of work.
    crash = replace(drill("crash", 30.0), nodes_lost=Counts((3.0, ALL), (1.0, 1.0)))
    params = job(1e3, blocking(100.0, 2.0), crash, horizon_s=42.0, queue_s=7.0)
    lives = life_of(recovering(params, spares=spares("shrink", min_nodes=2.0), queue_wait=fixed(0.0)))
    late = {("crash", "spare_wait"): 2.0, ("crash", "degraded"): 5.0, ("horizon", "rework"): 5.0}
    assert blamed(lives) == {("crash", "rework"): 30.0} | late


def test_waiting_for_repairs() -> None:
    # The whole job of 4 is lost; 1 spare: the wait is for 3 of 4 repairs.
    mean_s, crash = 60.0, replace(drill("crash", 30.0), nodes_lost=exactly(ALL))
    params = replace(job(29.0, blocking(10.0, 2.0), crash), n_nodes=4.0)
    params = recovering(params, spares=spares("wait", quick_mean_s=mean_s, swap_s=0.0))
    waits_s = simulate(params, 4_000, seed=2).activity_s["spare_wait"]
    expected_s = mean_s * (1 / 4 + 1 / 3 + 1 / 2)
    assert_same_mean(waits_s, expected_s, detectable=0.1 * expected_s, what="wait for repairs")


def test_nodes_out_at_a_random_instant() -> None:
    rate, mean_s, horizon_s = 1 / 50.0, 200.0, 600.0
    crash = Cause("crash", rate, nodes_lost=exactly(1))
    endless = spares("wait", count=INF, swap_s=0.0, quick_share=0.5, quick_mean_s=mean_s, slow_mean_s=mean_s)
    lives = simulate(recovering(open_ended(crash, horizon_s=horizon_s), spares=endless), 1_200, seed=3)
    warming = 1 - mean_s / horizon_s * -math.expm1(-horizon_s / mean_s)
    assert_same_mean(lives.nodes_out, rate * mean_s * warming, detectable=0.5, what="nodes out")


def test_a_lost_replica_group() -> None:
    # Struck at 20 with work 15, paused to 23; detection, diagnosis, startup and rejoin take 12 s from 20 on, so half
    # speed until 32; work 19.5 then, and 24.5 at 37.
    params = job(1e3, blocking(100.0, 2.0), drill("crash", 20.0, 4.0, 1.0), horizon_s=37.0, startup_s=5.0)
    lives = life_of(recovering(params, replica_groups=ReplicaGroups(2.0, 3.0, fixed(2.0))))
    expected = {("crash", "startup"): 3.0, ("crash", "degraded"): 4.5, ("horizon", "rework"): 24.5}
    assert blamed(lives) == {("start", "startup"): 5.0} | expected
    assert lives.interruptions.tolist() == [[1]]


def test_losing_a_second_group_stops_the_job() -> None:
    # The first one is still searched for at 40: work 15 + 17/2.
    params = job(1e3, blocking(100.0, 2.0), drill("crash", 20.0, 30.0), horizon_s=41.0, startup_s=5.0)
    lives = life_of(recovering(params, replica_groups=ReplicaGroups(2.0, 3.0)))
    expected = {("crash", "startup"): 3.0, ("crash", "degraded"): 8.5, ("crash", "rework"): 23.5}
    assert blamed(lives) == {("start", "startup"): 5.0, ("crash", "detection"): 1.0} | expected


def test_a_cause_of_the_whole_job_stops_all_groups() -> None:
    crash = replace(drill("crash", 20.0, 30.0), exposure="job")
    params = recovering(job(1e3, blocking(100.0, 2.0), crash, horizon_s=41.0), replica_groups=ReplicaGroups(2.0, 3.0))
    assert blamed(life_of(params)) == {("crash", "rework"): 20.0, ("crash", "detection"): 21.0}


def test_longest_attempt() -> None:
    # Stopped at 48 s at risk to save until 50; queue to 57, startup to 62, 3 s of restore, then 5 s of work.
    params = job(1e3, blocking(100.0, 2.0), horizon_s=77.0, startup_s=5.0, restore_s=3.0, queue_s=7.0)
    lives = life_of(recovering(params, max_attempt_s=50.0))
    ends = {("planned", "checkpoint"): 2.0, ("planned", "queue"): 7.0, ("planned", "startup"): 5.0}
    expected = {("start", "queue"): 7.0, ("start", "startup"): 5.0, ("planned", "restore"): 3.0}
    assert blamed(lives) == expected | ends | {("horizon", "rework"): 77.0 - 57.0 - 7.0 - 8.0}


@pytest.mark.parametrize("notice_s", [2.0, 0.0])
def test_maintenance(notice_s: float) -> None:
    # About 10 windows of 5 s, each with 3 s of startup; each loses up to 100 s of work, or else 2 s for a save.
    params = job(INF, blocking(INF, 2.0), horizon_s=1e3, startup_s=3.0)
    lives = simulate(replace(params, maintenance=Maintenance(100.0, 5.0, notice_s)), 20, seed=0)
    table = dict(zip(lives.labels, lives.by_cause_s.transpose(1, 2, 0), strict=True))["planned"]
    rework_s, checkpoint_s, maintenance_s = table[1], table[2], table[10]
    n_windows = maintenance_s / 5.0
    assert set(np.round(n_windows)) <= {9.0, 10.0}
    if notice_s:
        np.testing.assert_allclose(checkpoint_s, 2.0 * np.ceil(n_windows), atol=2.0)
        np.testing.assert_allclose(rework_s, 0.0, atol=1e-6)
    else:
        assert (rework_s > 92.0 * 8.9).all()
    assert_budget_closes(lives)


def test_a_window_ends_a_hang_that_nobody_finds() -> None:
    # Then nobody looks for the culprit.
    params = job(INF, blocking(INF, 2.0), drill("hang", 30.0, INF, 9.0), horizon_s=400.0, queue_s=1.0, startup_s=4.0)
    lives = simulate(replace(params, maintenance=Maintenance(300.0, 5.0)), 30, seed=0)
    assert lives.interruptions.max() >= 2
    assert not lives.activity_s["diagnosis"].any()
