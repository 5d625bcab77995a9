"""The reference engine: traces by hand, a second simulator on any numbers, and what must hold whatever the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcettr.engine.rates import rate_factors
from mcettr.engine.reference import Timeline, simulate_timeline, simulate_timelines
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.distributions import Distribution, fixed, scaled
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from tests import independent, jobs

INF = float("inf")
SEEDS = st.integers(0, 2**32)


def drill(name: str, every_s: float, detection_s: float = 0.0, diagnosis_s: float = 0.0) -> Cause:
    return Cause(name, 0.0, every=fixed(every_s), detection=fixed(detection_s), diagnosis=fixed(diagnosis_s))


def job(
    work_s: float,
    plan: Checkpoint,
    *causes: Cause,
    horizon_s: float = 1e9,
    start_s: float = 0.0,
    restore_s: float = 0.0,
) -> Params:
    recovery = Recovery(startup=(("start", fixed(start_s)),), restore=fixed(restore_s))
    return Params(8.0, work_s, horizon_s, plan, causes, recovery)


def blamed(params: Params, life: Timeline) -> dict[tuple[str, str], float]:
    """Return the lost seconds by (label, activity), where there are any."""
    labels = ("start", *(cause.name for cause in params.causes), "checkpoint", "planned", "horizon")
    cells = zip(*np.nonzero(life.lost_s), strict=True)
    return {(labels[i], ACTIVITIES[j]): float(life.lost_s[i, j]) for i, j in cells}


# Startup to 10, work 10 at 20, stall to 22, half speed to 26 (durable, work 12), work 20 at 34, last save to 40.
@pytest.mark.parametrize(
    ("strike_s", "rework_s", "checkpoint_s", "restore_s", "undurable_s"),
    [
        pytest.param(17.0, 7.0, 0.0, 0.0, 2.0, id="computing"),
        pytest.param(21.5, 10.0, 1.5, 0.0, 2.0, id="stall"),
        pytest.param(24.0, 11.0, 3.0, 0.0, 2.0, id="background"),
        pytest.param(26.0, 2.0, 4.0, 2.0, 0.0, id="durable at that instant"),
        pytest.param(28.0, 4.0, 4.0, 2.0, 0.0, id="durable"),
        pytest.param(37.0, 10.0, 7.0, 2.0, 0.0, id="last save"),
    ],
)
def test_a_save_in_flight_is_lost(
    strike_s: float, rework_s: float, checkpoint_s: float, restore_s: float, undurable_s: float
) -> None:
    params = job(20.0, Checkpoint(10.0, 6.0, 2.0, 0.5, False), drill("drill", strike_s), horizon_s=strike_s + 12.0)
    params = replace(params, recovery=Recovery(startup=(("start", fixed(10.0)),), restore=fixed(4.0)))
    life = simulate_timeline(params, 0, 0)
    expected = {
        ("drill", "rework"): rework_s,
        ("drill", "startup"): 10.0,
        ("drill", "restore"): restore_s,
        ("start", "startup"): 10.0,
        ("checkpoint", "checkpoint"): checkpoint_s,
        ("horizon", "rework"): undurable_s,
    }
    assert blamed(params, life) == pytest.approx({key: value for key, value in expected.items() if value})
    assert (life.outcome, life.elapsed_s) == (Outcome.HORIZON, strike_s + 12.0)
    assert (life.n_saves, life.productive_s) == ((1, 10.0) if restore_s else (0, 0.0))


def test_a_failure_in_a_restart_begins_the_chain_anew() -> None:
    # At risk 0-12; a; startup 17-21; b (16 s at risk); startup 22-30; a again (24 s at risk); startup from 36, cut.
    causes = drill("a", 12.0, detection_s=4.0, diagnosis_s=1.0), drill("b", 16.0, detection_s=1.0)
    params = job(1e3, Checkpoint(50.0, 1.0, 1.0), *causes, horizon_s=40.0, start_s=10.0)
    life = simulate_timeline(params, 0, 0)
    assert blamed(params, life) == {
        ("a", "rework"): 2.0,
        ("a", "detection"): 8.0,
        ("a", "diagnosis"): 2.0,
        ("a", "startup"): 9.0,
        ("b", "detection"): 1.0,
        ("b", "startup"): 8.0,
        ("start", "startup"): 10.0,
    }
    assert life.interruptions == (2, 1)


@pytest.mark.parametrize(("horizon_s", "outcome"), [(103.0, Outcome.DONE), (102.9, Outcome.HORIZON)])
def test_done_at_the_very_horizon_is_done(horizon_s: float, outcome: Outcome) -> None:
    assert simulate_timeline(job(100.0, Checkpoint(40.0, 1.0, 1.0), horizon_s=horizon_s), 0, 0).outcome == outcome


def test_a_failure_as_the_last_save_is_durable_comes_too_late() -> None:
    assert simulate_timeline(job(100.0, Checkpoint(40.0, 1.0, 1.0), drill("a", 103.0)), 0, 0).interruptions == (0,)
    assert simulate_timeline(job(100.0, Checkpoint(40.0, 1.0, 1.0), drill("a", 102.9)), 0, 0).interruptions == (1,)


def test_resuming_pays_a_restore_at_the_first_start() -> None:
    params = replace(job(100.0, Checkpoint(40.0, 1.0, 1.0), restore_s=5.0), resumes=1.0)
    assert blamed(params, simulate_timeline(params, 0, 0))["start", "restore"] == 5.0


def test_found_by_nobody() -> None:
    params = job(100.0, Checkpoint(40.0, 1.0, 1.0), drill("hang", 30.0, INF), horizon_s=500.0)
    assert blamed(params, simulate_timeline(params, 0, 0)) == {("hang", "rework"): 30.0, ("hang", "detection"): 470.0}


def test_the_cap_stops_at_a_failure() -> None:
    life = simulate_timeline(job(1e3, Checkpoint(50.0, 1.0, 1.0), drill("a", 60.0, 5.0)), 0, 0, max_failures=3)
    assert (life.outcome, life.elapsed_s, life.interruptions) == (Outcome.CAPPED, 190.0, (3,))
    assert life.productive_s == 150.0


@pytest.mark.parametrize(("startup_s", "ettr"), [(600.0, 480 / 1080), (180.0, 900 / 1080)])
def test_a_stop_every_18_minutes(startup_s: float, ettr: float) -> None:
    params = job(INF, Checkpoint(1.0, 0.0, 0.0), drill("stop", 1080.0), horizon_s=20 * 1080.0, start_s=startup_s)
    life = simulate_timeline(params, 0, 0)
    assert life.productive_s / life.elapsed_s == pytest.approx(ettr)


@pytest.mark.parametrize("interval_s", [0.1, 0.3, 1 / 7])
def test_work_in_whole_intervals_has_no_empty_last_save(interval_s: float) -> None:
    assert simulate_timeline(job(7 * interval_s, Checkpoint(interval_s, 0.01, 0.01)), 0, 0).n_saves == 7


def _any_job(seed: int) -> Params:
    """Return a job without a random duration, of any schedule: both simulators must give the same life."""
    rng = np.random.default_rng(seed)
    interval_s, stall_s, background_s, start_s, restore_s, detection_s, queue_s = 10.0 ** rng.uniform(-0.5, 1.5, 7)
    background_s *= rng.integers(0, 2)
    slowdown = float(rng.choice([0.0, 1.0, rng.uniform()]))
    plan = Checkpoint(interval_s, stall_s + background_s, stall_s, slowdown, blocking=background_s == 0.0)
    causes = (drill("a", 10.0 ** rng.uniform(1.3, 2.5), detection_s), drill("b", 10.0 ** rng.uniform(1.3, 3.0)))
    recovery = Recovery(fixed(queue_s), (("one", fixed(start_s)), ("two", fixed(0.4 * start_s))), fixed(restore_s))
    work_s = rng.choice([interval_s * rng.integers(1, 9), rng.uniform(0.1, 9.0) * interval_s, INF])
    return Params(8.0, float(work_s), 10.0 ** rng.uniform(1.5, 3.2), plan, causes, recovery, float(rng.integers(0, 2)))


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_a_second_simulator_agrees(seed: int) -> None:
    params = _any_job(seed)
    life, other = simulate_timeline(params, 0, 0), independent.simulate(params, 1, seed=0)
    assert (life.outcome == Outcome.DONE) == other.finished[0]
    assert life.interruptions == tuple(other.interruptions[0])
    assert (life.n_saves, life.elapsed_s) == (other.saves[0], pytest.approx(other.elapsed_s[0], rel=1e-9))
    theirs = {
        (label, activity): other.by_cause_s[0, i, j]
        for i, label in enumerate(other.labels)
        for j, activity in enumerate(independent.ACTIVITIES)
        if other.by_cause_s[0, i, j] > 1e-9
    }
    ours = {key: value for key, value in blamed(params, life).items() if value > 1e-9}
    assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-7)


STRUCTURES: list[Any] = [jobs.three_smooth, jobs.three_composed]


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(STRUCTURES), st.floats(1e2, 1e5), st.floats(1.0, 1e3), st.floats(1e3, 1e7))
def test_the_budget_closes(seed: int, make: Any, interval_s: float, write_s: float, horizon_s: float) -> None:
    params = make(interval_s=interval_s, write_s=write_s, horizon_s=horizon_s)
    life = simulate_timeline(params, seed, 3, max_failures=300)
    assert sum(life.activity_s.values()) == pytest.approx(life.elapsed_s, rel=1e-9)
    assert life.lost_s.min() >= 0.0
    assert 0.0 <= life.productive_s <= life.elapsed_s
    assert set(life.activity_s) == set(ACTIVITIES)


@pytest.mark.parametrize("factor", [60.0, 1e-3])
def test_the_unit_of_time_does_not_matter(factor: float) -> None:
    params = jobs.drills(jobs.WEIBULL, 5e-5)
    drill_, crash = params.causes
    assert drill_.every is not None
    causes = (
        replace(drill_, every=scaled(drill_.every, factor), detection=scaled(drill_.detection, factor)),
        replace(crash, rate_per_s=crash.rate_per_s / factor, diagnosis=scaled(crash.diagnosis, factor)),
    )
    recovery = Recovery(startup=(("start", fixed(120.0 * factor)),), restore=fixed(80.0 * factor))
    plan = Checkpoint(900.0 * factor, 500.0 * factor, 60.0 * factor, 0.2, blocking=False)
    other = Params(8.0, 2e5 * factor, 1e9 * factor, plan, causes, recovery)
    a, b = (simulate_timelines(p, 1, 0, 8) for p in (params, other))
    np.testing.assert_allclose(b.lost_s, a.lost_s * factor, rtol=1e-9, atol=1e-9 * factor)
    np.testing.assert_array_equal(a.n_saves, b.n_saves)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from(["write_s", "startup_s", "restore_s", "detection_s", "queue_s"]), st.floats(1.0, 600.0))
def test_every_timeline_is_later_with_a_longer(seed: int, name: str, more_s: float) -> None:
    numbers = {"work_s": 5e4, "interval_s": 1e3, "write_s": 60.0, "startup_s": 90.0, "restore_s": 30.0}
    numbers |= {"detection_s": 20.0, "queue_s": 10.0, "horizon_s": 1e7}
    longer = numbers | {name: numbers[name] + more_s}
    a, b = (simulate_timelines(jobs.plain(2e-4, **n), seed, 0, 4) for n in (numbers, longer))
    assert (b.elapsed_s >= a.elapsed_s * (1.0 - 1e-12)).all()


def test_timelines_do_not_depend_on_one_another() -> None:
    params = jobs.three_smooth(rate_shapes=(2.0, INF, 10.0))
    together, alone = simulate_timelines(params, 5, 10, 12), simulate_timeline(params, 5, 17)
    assert alone.elapsed_s == together.elapsed_s[7]
    np.testing.assert_array_equal(alone.lost_s, together.lost_s[7])
    assert (simulate_timelines(params, 6, 10, 12).elapsed_s != together.elapsed_s).all()


def test_uncertain_rates_are_shared_by_16_timelines() -> None:
    params = jobs.three_smooth(rate_shapes=(2.0, INF, 10.0))
    factors = rate_factors(params, 5, 10, 40)
    same = (factors[1:] == factors[:-1]).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~same) + 11, [16, 32, 48])
    assert (factors[:, 1] == 1.0).all()
    many = rate_factors(params, 5, 0, 16 * 20_000)[::16]
    np.testing.assert_allclose(many.mean(axis=0), 1.0, atol=0.03)
    np.testing.assert_allclose(many.var(axis=0), [0.5, 0.0, 0.1], rtol=0.1, atol=1e-12)


def test_laws_may_come_tabulated_and_numbers_as_arrays() -> None:
    from mcettr.engine.cells import cells_of

    params = jobs.three_smooth()
    one_cell = cells_of(params).take(np.zeros(1, np.int64))
    np.testing.assert_array_equal(
        simulate_timelines(params, 0, 0, 3).elapsed_s, simulate_timelines(one_cell, 0, 0, 3).elapsed_s
    )


def test_an_impossible_law_is_refused() -> None:
    cause = Cause("a", 1e-3, detection=Distribution("cauchy", (1.0,)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cauchy"):
        simulate_timeline(job(1e5, Checkpoint(50.0, 1.0, 1.0), cause), 0, 0)
