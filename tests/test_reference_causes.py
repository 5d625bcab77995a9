"""Causes and time structure by hand: slow nodes, preemption, incidents, profiles, planned stops, failed starts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from mcettr.engine.draws import Draws
from mcettr.engine.reference import simulate_timeline
from mcettr.engine.timeline.calendar import IncidentClock
from mcettr.kernels import streams
from mcettr.model.budget import Outcome
from mcettr.model.counts import exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Recovery
from mcettr.model.physics import (
    Incidents,
    Maintenance,
    Profile,
    Repeat,
    StartFailure,
)
from tests.physics import INF, at, job, life_of, run


def test_a_slow_node_is_replaced_after_a_graceful_save() -> None:
    # Half speed from 30 to 50 (work 40), saved at 54, read by 57; slow again at 60.
    slow = at("slow", 30.0, kind="slow", slowdown=0.5, detection=fixed(20.0), nodes_lost=exactly(1.0))
    life, lost = run(job(slow, plan=Checkpoint(100.0, 4.0, 4.0), restore=fixed(3.0), horizon_s=70.0))
    assert lost == {
        ("slow", "degraded"): 15.0,
        ("slow", "checkpoint"): 4.0,
        ("slow", "restore"): 3.0,
        ("horizon", "rework"): 8.0,
    }
    assert (life.interruptions, life.n_saves, life.productive_s) == ((1,), 1, 40.0)
    assert life.longest_stretch_s == 54.0


def test_speeds_multiply_in_the_order_of_the_causes() -> None:
    a = at("a", 10.0, kind="slow", slowdown=0.5, detection=fixed(INF))
    b = at("b", 20.0, kind="slow", slowdown=0.2, detection=fixed(INF))
    _, lost = run(job(a, b, horizon_s=50.0))
    assert lost == pytest.approx({
        ("a", "degraded"): 0.5 * 40.0, ("b", "degraded"): 0.1 * 30.0, ("horizon", "rework"): 10.0 + 5.0 + 0.4 * 30.0
    })  # fmt: skip


@pytest.mark.parametrize("notice_s", [3.9, 4.0])
def test_a_preemption_saves_if_the_notice_is_long_enough(notice_s: float) -> None:
    evict = at("evict", 30.0, kind="preemption", notice_s=notice_s, detection=fixed(2.0))
    params = job(evict, plan=Checkpoint(100.0, 4.0, 4.0), restore=fixed(3.0), queue_wait=fixed(6.0), horizon_s=50.0)
    life, lost = run(params)
    first = {("start", "queue"): 6.0, ("evict", "queue"): 6.0}
    if notice_s < 4.0:
        more = {("evict", "rework"): 30.0, ("evict", "detection"): 2.0, ("horizon", "rework"): 6.0}
    else:
        more = {("evict", "checkpoint"): 4.0, ("evict", "restore"): 3.0, ("horizon", "rework"): 1.0}
    assert lost == first | more
    assert (life.interruptions, life.n_saves) == ((1,), int(notice_s == 4.0))


def test_a_lease_delays_the_hazard() -> None:
    rate = Draws(0, 0).exponential(streams.FAILURE, 0) / 30.0
    evict = Cause("evict", rate, "preemption", min_lease_s=50.0)
    life, _ = run(job(evict, horizon_s=80.1))
    assert life.interruptions == (1,)
    assert run(job(evict, horizon_s=79.9))[0].interruptions == (0,)


def test_a_profile_scales_the_hazard_in_calendar_time() -> None:
    # Hazard 10 s long at double rate until 3, none until 20: 4 to go from there.
    rate = Draws(0, 0).exponential(streams.FAILURE, 0) / 10.0
    cause = Cause("node", rate, profile=Profile((0.0, 3.0, 20.0), (2.0, 0.0, 1.0)))
    assert run(job(cause, horizon_s=24.01))[0].interruptions == (1,)
    assert run(job(cause, horizon_s=23.99))[0].interruptions == (0,)


def test_incidents_multiply_the_hazard_between_their_toggles() -> None:
    draws, incidents = Draws(0, 0), Incidents(1.0 / 50.0, 100.0, 4.0)
    on = draws.uniform(streams.INCIDENT_STATE, 0) < 2.0 / 3.0
    toggle_s = draws.exponential(streams.INCIDENT_TIME, 0) * (100.0 if on else 50.0)
    factors = (4.0, 1.0) if on else (1.0, 4.0)
    strike_s = toggle_s + 7.0
    rate = draws.exponential(streams.FAILURE, 0) / (factors[0] * toggle_s + factors[1] * 7.0)
    assert draws.exponential(streams.INCIDENT_TIME, 1) * 50.0 > 7.0
    cause = Cause("node", rate, in_incidents=True)
    assert run(job(cause, incidents=incidents, horizon_s=strike_s + 0.01))[0].interruptions == (1,)
    assert run(job(cause, incidents=incidents, horizon_s=strike_s - 0.01))[0].interruptions == (0,)


def test_a_missed_culprit_strikes_again() -> None:
    # The first strike is the drill's; its culprit, missed for sure, adds a hazard of one in 40 s.
    wait_s = 40.0 * Draws(0, 0).exponential(streams.FAILURE, 0)
    drill = at("drill", 1000.0, repeat=Repeat(1.0, 40.0), diagnosis=fixed(5.0))
    again, lost = run(job(drill, horizon_s=1005.0 + wait_s + 1.0))
    assert again.interruptions == (2,)
    assert lost["drill", "diagnosis"] == pytest.approx(6.0)
    assert life_of(job(drill, horizon_s=1006.0, n_nodes=4.0)).hazards.pending == [1.0]
    caught = Cause("node", Draws(0, 0).exponential(streams.FAILURE, 0) / 50.0, repeat=Repeat(1.0, 40.0))
    life = life_of(job(replace(caught, caught_in_preflight=1.0), horizon_s=60.0, n_nodes=4.0))
    assert life.books.interruptions[0] > 0
    assert life.hazards.pending == [0.0]
    assert life.replaced is False


def test_failed_starts_are_retried_until_a_human_comes() -> None:
    u = [Draws(0, 0).uniform(streams.START_FAILURE, attempt) for attempt in range(3)]
    failure = StartFailure(math.nextafter(max(u), 1.0), 2.0, fixed(50.0))
    params = job(startup=(("s", fixed(5.0)),), queue_wait=fixed(7.0), start_failure=failure, horizon_s=68.0)
    life, lost = run(params)
    assert lost == {("start", "queue"): 7.0, ("start", "startup"): 11.0, ("start", "diagnosis"): 50.0}
    assert life.interruptions == ()
    capped = simulate_timeline(replace(params, horizon_s=1e9), 0, 0, max_failures=2)
    assert (capped.outcome, capped.elapsed_s) == (Outcome.CAPPED, 17.0)


def test_checks_cap_the_detection() -> None:
    draws = Draws(0, 0)
    hang = at("hang", 30.0, kind="hang", detection=fixed(INF), caught_in_check=0.5)
    n_missed = math.floor(math.log(draws.uniform(streams.CHECK_CATCH, 1)) / math.log(0.5))
    found_s = 10.0 * (draws.uniform(streams.CHECK_PHASE, 1) + n_missed)
    _, lost = run(job(hang, check_every_s=10.0, horizon_s=32.0 + found_s))
    assert lost["hang", "detection"] == pytest.approx(found_s)


def test_the_longest_attempt_ends_with_a_save_and_the_queue() -> None:
    recovery = Recovery(fixed(6.0), (("s", fixed(1.0)),), fixed(3.0), max_attempt_s=34.0)
    _, lost = run(replace(job(plan=Checkpoint(100.0, 4.0, 4.0), horizon_s=75.0), recovery=recovery))
    # Queue to 6, start to 7, work 29 by 36, saved at 40, queue to 46, start and restore to 50, work to 54 at 75.
    assert lost == {
        ("start", "queue"): 6.0,
        ("start", "startup"): 1.0,
        ("planned", "checkpoint"): 4.0,
        ("planned", "queue"): 6.0,
        ("planned", "startup"): 1.0,
        ("planned", "restore"): 3.0,
        ("horizon", "rework"): 25.0,
    }


@pytest.mark.parametrize("notice_s", [3.0, 4.0])
def test_maintenance_with_and_without_room_for_a_save(notice_s: float) -> None:
    phase_s = 1000.0 * Draws(0, 0).uniform(streams.MAINTENANCE_PHASE, 0)
    params = job(
        plan=Checkpoint(10_000.0, 4.0, 4.0), restore=fixed(3.0), queue_wait=fixed(6.0),
        maintenance=Maintenance(1000.0, 20.0, notice_s), horizon_s=phase_s + 20.0 + 8.0,
    )  # fmt: skip
    life, lost = run(params)
    always = {("start", "queue"): 6.0, ("planned", "maintenance"): 20.0}
    if notice_s < 4.0:
        more = {("planned", "rework"): phase_s - 6.0, ("horizon", "rework"): 8.0}
    else:
        more = {("planned", "checkpoint"): 4.0, ("planned", "restore"): 3.0, ("horizon", "rework"): 5.0}
    assert lost == pytest.approx(always | more)
    assert life.productive_s == pytest.approx(0.0 if notice_s < 4.0 else phase_s - 10.0)


def test_a_window_cuts_detection_and_diagnosis_but_not_the_queue() -> None:
    phase_s = 1000.0 * Draws(0, 0).uniform(streams.MAINTENANCE_PHASE, 0)
    drill = at("drill", phase_s - 10.0, detection=fixed(7.0), diagnosis=fixed(100.0))
    params = job(drill, maintenance=Maintenance(1000.0, 20.0), horizon_s=phase_s + 20.0 + 9.0)
    _, lost = run(replace(params, recovery=Recovery(startup=(("s", fixed(2.0)),))))
    assert lost["drill", "detection"] == pytest.approx(7.0)
    assert lost["drill", "diagnosis"] == pytest.approx(3.0)
    assert lost["planned", "maintenance"] == pytest.approx(20.0)
    assert lost["drill", "startup"] == pytest.approx(2.0)


def test_an_incident_lasts_by_its_own_law() -> None:
    clock, draws = IncidentClock(Incidents(1.0 / 50.0, 100.0, 4.0), Draws(0, 0)), Draws(0, 0)
    for number, (on, mean_s) in enumerate(((True, 100.0), (False, 50.0))):
        clock.on = on
        clock.hold(7.0)
        assert clock.toggle_at_s == pytest.approx(7.0 + mean_s * draws.exponential(streams.INCIDENT_TIME, number))


def test_windows_come_at_their_period() -> None:
    phase_s = 1000.0 * Draws(0, 0).uniform(streams.MAINTENANCE_PHASE, 0)
    params = job(maintenance=Maintenance(1000.0, 20.0))
    for horizon_s, windows_s in ((phase_s + 999.0, 20.0), (phase_s + 1010.0, 30.0), (phase_s + 2500.0, 60.0)):
        assert run(replace(params, horizon_s=horizon_s))[1]["planned", "maintenance"] == pytest.approx(windows_s)
