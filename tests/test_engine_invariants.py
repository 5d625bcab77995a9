"""What holds for the fast engine whatever the numbers, and what its results may not depend on."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from mcettr.engine import jax_engine, programs
from mcettr.engine.estimates import Estimates
from mcettr.engine.jax_engine import N_LANES
from mcettr.engine.reference import Timelines
from mcettr.engine.run import Effort, estimate, paired_blocks
from mcettr.errors import ScenarioError
from mcettr.model.budget import ACTIVITIES
from mcettr.model.distributions import fixed
from mcettr.model.params import Params
from tests import jobs
from tests.lanes import jax_timelines

ROUNDING = 1e-9
"""Sums may be added up in another order when a lane has other company."""

BASE: dict[str, float] = {
    "work_s": 2e5,
    "interval_s": 1e3,
    "write_s": 60.0,
    "startup_s": 90.0,
    "restore_s": 30.0,
    "detection_s": 20.0,
    "queue_s": 10.0,
}


def grid() -> Params:
    """Return 3 x 2 cells: write times by rates."""
    return jobs.plain(np.array([1e-5, 1e-4]), **(BASE | {"write_s": np.array([[1.0], [60.0], [300.0]])}))  # type: ignore[arg-type]


def same(a: Estimates, b: Estimates) -> bool:
    """Return whether two estimates are equal to the bit."""

    def equal(left: Any, right: Any) -> bool:
        if isinstance(left, dict):
            return all(equal(left[key], right[key]) for key in left)
        if left is None or isinstance(left, tuple):
            return bool(left == right)
        return np.array_equal(left, right, equal_nan=True)

    return all(equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(Estimates))


@pytest.mark.parametrize(
    ("params", "tolerance"),
    [
        (jobs.plain(1e-4, **BASE), 1e-6),
        (jobs.three_smooth(), 1e-6),
        (jobs.three_composed(work_s=jobs.INF, horizon_s=3e5), 1e-6),
        (jobs.background(2e-4, work_s=1e5, interval_s=300.0, write_s=700.0, stall_s=60.0, slowdown=0.3), 1e-6),
        (jobs.drills(jobs.WEIBULL, 5e-5), 1e-9),
    ],
    ids=["plain", "smooth", "composed", "background", "drills"],
)
def test_the_budget_closes(params: Params, tolerance: float) -> None:
    lives = jax_timelines(params, 3, 0, 1024)
    total = lives.lost_s.sum(axis=(1, 2)) + lives.productive_s
    np.testing.assert_allclose(total, lives.elapsed_s, rtol=tolerance)
    assert lives.lost_s.min() >= 0.0
    assert (lives.productive_s >= 0.0).all()
    assert (lives.productive_s <= lives.elapsed_s).all()
    assert (lives.lost_s[:, :, ACTIVITIES.index("productive")] == 0.0).all()
    assert (lives.elapsed_s <= params.horizon_s).all()


def test_the_estimates_are_those_of_the_timelines() -> None:
    params = jobs.plain(1e-4, **BASE)
    result, lives = estimate(params, Effort(timelines=1000, seed=4), (2.2e5, 1e6)), jax_timelines(params, 4, 0, 1000)
    elapsed_s, lost_s = lives.elapsed_s.mean(), lives.lost_s.mean(axis=0)
    queue_s = lives.lost_s[:, :, ACTIVITIES.index("queue")].sum(axis=1).mean()
    expected = {
        "ettr": lives.productive_s.mean() / elapsed_s,
        "ettr_occupied": lives.productive_s.mean() / (elapsed_s - queue_s),
        "ettr_timeline_mean": (lives.productive_s / lives.elapsed_s).mean(),
        "elapsed_s": elapsed_s,
        "held_s": elapsed_s - queue_s,
        "interruptions": lives.interruptions.sum(axis=1).mean(),
        "checkpoints_written": lives.n_saves.mean(),
    }
    for name, value in expected.items():
        assert result.values[name][0] == pytest.approx(value, rel=1e-6), name
    np.testing.assert_allclose(result.values["lost_s"][0], lost_s, rtol=1e-6, atol=1e-6 * elapsed_s)
    fractions = lost_s.sum(axis=0) / elapsed_s
    fractions[ACTIVITIES.index("productive")] = expected["ettr"]
    np.testing.assert_allclose(result.values["time_fraction"][0], fractions, rtol=1e-6, atol=1e-9)
    assert result.values["time_fraction"][0].sum() == pytest.approx(1.0, abs=1e-6)
    by_then = [(lives.elapsed_s <= deadline_s).mean() for deadline_s in (2.2e5, 1e6)]
    np.testing.assert_allclose(result.completion_probability[0], by_then)
    error = np.std(lives.productive_s - expected["ettr"] * lives.elapsed_s, ddof=1) / elapsed_s / np.sqrt(1000)
    assert result.se["ettr"][0] == pytest.approx(error, rel=1e-6)
    assert result.n_timelines[0] == 1000


def test_scaling_all_times_by_a_power_of_two_changes_nothing_else() -> None:
    scale = 1024.0
    a = jax_timelines(jobs.plain(1e-4, **BASE), 3, 0, 1024)
    b = jax_timelines(jobs.plain(1e-4 / scale, **{name: value * scale for name, value in BASE.items()}), 3, 0, 1024)
    np.testing.assert_array_equal(a.n_saves, b.n_saves)
    np.testing.assert_allclose(b.elapsed_s, a.elapsed_s * scale, rtol=1e-6)
    np.testing.assert_allclose(b.lost_s, a.lost_s * scale, rtol=1e-5, atol=1e-6 * b.elapsed_s.max())


@pytest.mark.parametrize("name", ["write_s", "startup_s", "restore_s", "detection_s", "queue_s"])
def test_every_timeline_is_later_with_a_longer(name: str) -> None:
    before: Timelines | None = None
    for factor in (0.0, 0.5, 1.0, 3.0, 10.0):
        lives = jax_timelines(jobs.plain(1e-4, **(BASE | {name: factor * BASE[name]})), 3, 0, 2048)
        if before is not None:
            assert (lives.elapsed_s >= before.elapsed_s * (1.0 - 1e-6)).all()
            assert lives.elapsed_s.mean() > before.elapsed_s.mean()
        before = lives


def test_more_failures_are_worse_in_the_mean() -> None:
    result = estimate(grid(), Effort(timelines=2048, seed=1))
    ettr = result.values["ettr"].reshape(3, 2)
    assert (np.diff(ettr, axis=0) < 0).all()
    assert (np.diff(ettr, axis=1) < 0).all()


def test_cells_do_not_depend_on_one_another() -> None:
    together = estimate(grid(), Effort(timelines=700, seed=1))
    alone = estimate(jobs.plain(1e-4, **(BASE | {"write_s": 300.0})), Effort(timelines=700, seed=1))
    for name, values in alone.values.items():
        np.testing.assert_allclose(values[0], together.values[name][5], rtol=ROUNDING, err_msg=name)


def test_results_do_not_depend_on_threads_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    effort = Effort(timelines=3000, seed=1)
    first = estimate(grid(), effort)
    for n_workers in (1, 4):
        monkeypatch.setattr(jax_engine, "_n_processors", lambda n=n_workers: n)
        assert same(estimate(grid(), effort), first)
    assert not same(estimate(grid(), replace(effort, seed=2)), first)


def test_lanes_do_not_depend_on_their_company() -> None:
    params = jobs.plain(1e-4, **BASE)
    many, late = jax_timelines(params, 3, 0, 2048), jax_timelines(params, 3, 1000, 500)
    for f in fields(Timelines):
        if f.name in ("outcome", "interruptions", "n_saves"):
            np.testing.assert_array_equal(getattr(late, f.name), getattr(many, f.name)[1000:1500])
        else:
            np.testing.assert_allclose(getattr(late, f.name), getattr(many, f.name)[1000:1500], rtol=1e-6, atol=1e-3)


def test_the_first_timelines_of_a_longer_run_are_the_same() -> None:
    short, long = (paired_blocks(grid(), Effort(timelines=n, seed=1)) for n in (5 * N_LANES, 40 * N_LANES))
    np.testing.assert_allclose(short.elapsed_s, long.elapsed_s[:, :5], rtol=ROUNDING)
    np.testing.assert_allclose(short.productive_s, long.productive_s[:, :5], rtol=ROUNDING)
    late = paired_blocks(grid(), Effort(timelines=5 * N_LANES, seed=1, first_timeline=5 * N_LANES))
    np.testing.assert_allclose(late.elapsed_s, long.elapsed_s[:, 5:10], rtol=ROUNDING)


def test_cells_share_their_draws() -> None:
    blocks = paired_blocks(grid(), Effort(timelines=200 * N_LANES, seed=1))
    assert np.corrcoef(blocks.elapsed_s[1::2])[0, 1] > 0.8  # 1 s and 60 s of write at one rate


def test_values_never_recompile() -> None:
    estimate(jobs.plain(1e-4, **BASE), Effort(timelines=64))
    before = len(programs._slots)
    rng = np.random.default_rng(0)
    for _ in range(5):
        numbers = {name: value * rng.uniform(0.5, 2.0, (4, 1)) for name, value in BASE.items()}
        estimate(jobs.plain(np.array([1e-5, 2e-4]), **numbers), Effort(timelines=64))
    estimate(grid(), Effort(precision=0.01, min_timelines=64))
    estimate(
        jobs.plain(1e-4, **(BASE | {"interval_s": jobs.INF, "horizon_s": 1e6, "resumes": 1.0})), Effort(timelines=99)
    )
    assert len(programs._slots) == before
    other = jobs.plain(1e-4, **BASE)
    other = replace(other, causes=(replace(other.causes[0], every=fixed(5.123e3), in_incidents=False),) * 2)
    estimate(other, Effort(timelines=64))
    assert len(programs._slots) == before + 1  # the count does see a new structure


def test_precision_is_reached() -> None:
    result = estimate(grid(), Effort(precision=0.0005, min_timelines=64, seed=1))
    assert (result.se["ettr"] <= 0.0005).all()
    assert (result.n_timelines % N_LANES == 0).all()
    assert len(set(result.n_timelines)) > 1


def test_progress_grows_to_the_end() -> None:
    seen: list[float] = []
    estimate(grid(), Effort(timelines=30_000, seed=1), progress=seen.append)
    assert seen
    assert (np.diff(seen) >= 0.0).all()
    assert seen[0] >= 0.0
    assert seen[-1] <= 1.0


@pytest.mark.parametrize(
    "bad",
    [{"timelines": 0}, {"timelines": 5, "precision": 0.1}, {"precision": 0.0}, {"seed": -1}, {"seed": 2**64}],
    ids=str,
)
def test_bad_efforts_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError):
        Effort(**bad)


@pytest.mark.parametrize(
    "numbers",
    [
        {"interval_s": 1e-3, "write_s": 0.0},
        {"write_s": 1e6},
        {"startup_s": 1e7, "horizon_s": 1e8},
        {"detection_s": jobs.INF, "horizon_s": 1e8},
        {"work_s": 1e-3, "interval_s": 1e-3},
        {"horizon_s": 1e-3},
        {"queue_s": 1e12},
    ],
    ids=str,
)
def test_extreme_numbers_stay_numbers(numbers: dict[str, float]) -> None:
    for rate in (0.0, 1e-12, 1e-4, 1.0):
        lives = jax_timelines(jobs.plain(rate, **(BASE | numbers)), 3, 0, 64, max_failures=513)
        for f in fields(Timelines):
            assert np.isfinite(getattr(lives, f.name)).all(), f.name
        assert (lives.productive_s <= lives.elapsed_s * (1.0 + 1e-9)).all()
