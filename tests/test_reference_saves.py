"""Saves by hand: two tiers, silent corruption, unreadable saves, write times by a law."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcettr.engine.draws import Draws
from mcettr.engine.timeline.life import Life
from mcettr.engine.timeline.ready import ready
from mcettr.engine.timeline.saves import Extra, Saves
from mcettr.kernels import streams
from mcettr.model.counts import exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint
from mcettr.model.physics import (
    LocalTier,
    Retention,
)
from tests.physics import INF, at, job, run


# Interval 100 in four parts: local saves (stall 1, durable after 3) begin at 25 and 51; work 58 at the strike at 60.
@pytest.mark.parametrize("survives", [0.0, 1.0])
@pytest.mark.parametrize("n_lost", [0.0, 1.0])
def test_local_saves_survive_few_lost_nodes(survives: float, n_lost: float) -> None:
    plan = Checkpoint(100.0, 6.0, 2.0, local=LocalTier(4.0, 3.0, 1.0, fixed(5.0), survives))
    drill = at("drill", 60.0, nodes_lost=exactly(n_lost))
    life, lost = run(job(drill, plan=plan, restore=fixed(7.0), horizon_s=100.0, n_nodes=4.0))
    if n_lost <= survives:
        expected = {("drill", "rework"): 8.0, ("drill", "restore"): 5.0, ("horizon", "rework"): 9.0}
        assert life.productive_s == 75.0
    else:
        expected = {("drill", "rework"): 58.0, ("horizon", "rework"): 14.0}
        assert life.productive_s == 25.0
    assert lost == expected | {("checkpoint", "checkpoint"): 3.0}
    assert (life.n_saves, life.longest_stretch_s) == (0, 100.0)


TIERS = Checkpoint(40.0, 8.0, 4.0, 0.5, False, verify_s=2.0, local=LocalTier(2.0, 3.0, 1.0))


def test_saves_of_both_tiers_are_verified() -> None:
    # Saves begin at work 20 (local), 40 (main, slowed down to half for 4 s), 60 (local), 80 and 90 (main).
    life, lost = run(job(work_s=90.0, plan=TIERS))
    assert life.n_saves == 3
    assert lost == {("checkpoint", "checkpoint"): (2.0 + 1.0) + (6.0 + 2.0) + (2.0 + 1.0) + (6.0 + 2.0) + 10.0}


@pytest.mark.parametrize(
    ("holds_main", "struck_s", "kept_s"), [(1.0, 47.0, 20.0), (1.0, 48.0, 40.0), (0.0, 48.0, 20.0), (0.0, 53.0, 40.0)]
)
def test_a_main_save_leaves_a_local_copy(holds_main: float, struck_s: float, kept_s: float) -> None:
    # The local save of work 20 is durable at 25. The main one of work 40 is verified from 43 to 45, durable at 53, and
    # its copy at 48.
    assert TIERS.local is not None
    plan = replace(TIERS, local=replace(TIERS.local, holds_main=holds_main))
    life, _ = run(job(at("drill", struck_s), plan=plan, horizon_s=struck_s + 1.0))
    assert life.productive_s == kept_s


def test_local_saves_keep_to_the_grid_after_a_restart_from_a_graceful_save() -> None:
    # The planned stop at 33 saves work 32 in a second; the next local save is at work 40 (t = 42), the main one at 60.
    plan = Checkpoint(60.0, 1.0, 1.0, local=LocalTier(3.0, 1.0, 1.0))
    life, lost = run(job(plan=plan, max_attempt_s=34.0, horizon_s=63.5))
    assert lost == {("planned", "checkpoint"): 1.0, ("checkpoint", "checkpoint"): 2.5, ("horizon", "rework"): 20.0}
    assert (life.productive_s, life.n_saves) == (40.0, 1)


def silent(position_s: float, **more: Any) -> Cause:
    """Return a cause that corrupts the work at this position in timeline 0 of seed 0."""
    return Cause("sdc", Draws(0, 0).exponential(streams.SILENT_STRIKE, 0) / position_s, "silent", **more)


def test_silent_corruption_is_found_after_its_latency() -> None:
    sdc = silent(130.0, detection=fixed(100.0), diagnosis=fixed(9.0))
    life, lost = run(job(sdc, restore=fixed(5.0), horizon_s=250.0))
    assert lost == pytest.approx({
        ("sdc", "rework"): 130.0, ("sdc", "diagnosis"): 9.0, ("sdc", "restore"): 5.0, ("horizon", "rework"): 6.0
    })  # fmt: skip
    assert (life.interruptions, life.productive_s) == ((1,), 100.0)


def test_silent_corruption_is_found_by_the_next_verification() -> None:
    sdc = silent(130.0, detection=fixed(INF))
    plan = Checkpoint(100.0, 10.0, 10.0, verify_s=2.0)
    life, lost = run(job(sdc, plan=plan, restore=fixed(5.0), horizon_s=225.0))
    assert lost == pytest.approx({
        ("sdc", "rework"): 100.0, ("sdc", "restore"): 5.0, ("checkpoint", "checkpoint"): 14.0,
        ("horizon", "rework"): 6.0,
    })  # fmt: skip
    assert life.interruptions == (1,)


@pytest.mark.parametrize(("crash_s", "n_found"), [(140.0, 0), (210.0, 1)])
def test_a_crash_forgets_corruption_unless_it_restores_it(crash_s: float, n_found: int) -> None:
    sdc = silent(130.0, detection=fixed(100.0))
    life, lost = run(job(sdc, at("crash", crash_s), restore=fixed(5.0), horizon_s=crash_s + 25.5))
    assert life.interruptions == (n_found, 1)
    # 80 of the latency had passed at 210; the 20 that were left begin after the restore.
    assert lost.get(("sdc", "rework"), 0.0) == pytest.approx(120.0 * n_found)


def test_silent_corruption_strikes_by_work_and_not_by_time() -> None:
    plan = Checkpoint(100.0, 50.0, 50.0)
    life, _ = run(job(silent(130.0, detection=fixed(10.0)), plan=plan, horizon_s=190.5))
    assert life.interruptions == (1,)
    assert life.lost_s[-1].sum() == pytest.approx(0.5)


def test_write_times_by_a_law_hold_for_an_attempt() -> None:
    draws, law = Draws(0, 0), Distribution("exponential", (10.0,))
    first_s, second_s = (draws.duration(law, streams.WRITE_TIME, attempt) for attempt in (0, 1))
    plan = Checkpoint(50.0, 10.0, 10.0, write_time=law)
    strike_s = 110.0 + 2.0 * first_s
    _, lost = run(job(at("drill", strike_s), plan=plan, horizon_s=strike_s + 51.0 + second_s))
    assert lost["checkpoint", "checkpoint"] == pytest.approx(2.0 * first_s + second_s)
    assert lost["drill", "rework"] == pytest.approx(10.0)


def test_the_data_loader_skips_what_was_saved() -> None:
    params = job(at("drill", 130.0), data_fast_forward=0.1, saved_before_s=30.0, restore=fixed(2.0), horizon_s=150.0)
    assert run(params)[1]["drill", "restore"] == pytest.approx(2.0 + 0.1 * 130.0)
    assert ("drill", "restore") not in run(replace(params, checkpoint=Checkpoint(INF, 0.0, 0.0)))[1]


def restored(retention: Retention, index: int, good: int = 0) -> tuple[float, int]:
    """Return the seconds of reading (1 each) and the save reached from `index` saves in timeline 0 of seed 0."""
    life = Life(ready(job(plan=Checkpoint(100.0, 0.0, 0.0, retention=retention))), Draws(0, 0), [], 10)
    for number in range(index):
        life.saves.add_main(100.0 * (number + 1))
    life.saves.good = good
    seconds, _ = life.saves.restore(life.draws, 1, 1.0, 1.0)
    assert life.saves.base_s == 100.0 * life.saves.index
    return seconds, life.saves.index


@pytest.mark.parametrize(
    ("retention", "good", "seconds", "reached"),
    [
        (Retention(0.0, 3.0), 0, 1.0, 7),
        (Retention(1.0, 3.0), 0, 3.0, 0),
        (Retention(1.0, 3.0), 5, 3.0, 5),
        (Retention(1.0, 3.0), 4, 3.0, 0),
        (Retention(1.0, 3.0, 2.0), 0, 4.0, 4),
        (Retention(1.0, 3.0, 3.0), 0, 4.0, 3),
        (Retention(1.0), 0, 7.0, 0),
        (Retention(1.0), 2, 6.0, 2),
    ],
)
def test_unreadable_saves_are_fallen_back_from(retention: Retention, good: int, seconds: float, reached: int) -> None:
    # Seven saves; with keep 3 those are 5, 6 and 7. The read that succeeds costs too, unless the start is reached.
    assert restored(retention, 7, good) == (seconds, reached)


def test_a_bad_graceful_save_falls_back_to_the_main_one() -> None:
    plan = Checkpoint(50.0, 1.0, 1.0, retention=Retention(1.0))
    params = job(plan=plan, max_attempt_s=81.0, restore=fixed(4.0), horizon_s=85.0)
    # Work 79 is saved at 81; neither it nor the main save of work 50 can be read: two reads of four seconds, work 0.
    _, lost = run(replace(params, horizon_s=90.0))
    assert lost["planned", "restore"] == 8.0
    assert lost["planned", "rework"] == 79.0


def test_an_older_extra_save_is_not_read() -> None:
    saves = Saves(ready(job()))
    saves.local = Extra(50.0)
    saves.add_main(100.0)
    assert saves.restore(Draws(0, 0), 1, 7.0, 1.0) == (7.0, True)
    assert (saves.newest_s, saves.local) == (100.0, Extra(50.0))
