"""The fast engine against the reference, timeline by timeline, on the same draws.

Where the fast engine computes durations in float32 its times are right to 1e-6 of the elapsed time (measured: 2e-7),
and a rounding can move the instant of a failure across the instant at which a save is durable, or across the border
between two causes. `FLIP` is how often, for each save of a stretch of training and each border; a test measures it. The
number of timelines that differ may not pass what a Poisson law of twice the computed mean exceeds with probability
1e-7.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.kernels import streams
from mcettr.kernels.plain import LEG
from mcettr.kernels.training import Stretch, schedule, stretch
from mcettr.model.distributions import Distribution
from mcettr.model.params import Checkpoint, Params
from tests import jobs
from tests.lanes import jax_timelines
from tests.speed import often

FLIP = 1.0e-7
SINGLE, DOUBLE = 1e-6, 1e-9
N = 128


def compare(params: Params, reference: Timelines, fast: Timelines, tolerance: float) -> None:
    """Fail unless both saw the same events, in times relative to the elapsed time."""
    same = (
        (reference.outcome == fast.outcome)
        & (reference.interruptions == fast.interruptions).all(axis=1)
        & (reference.n_saves == fast.n_saves)
    )
    n_borders = reference.n_saves.sum() + reference.interruptions.sum() * len(params.causes)
    mean = 2.0 * FLIP * float(n_borders) if tolerance > DOUBLE else 0.0
    allowed = stats.poisson.isf(1e-7, mean) if mean else 0
    assert (~same).sum() <= allowed, f"{(~same).sum()} of {same.size} timelines differ; {allowed:g} may"
    scale = reference.elapsed_s[same]
    for name in ("elapsed_s", "productive_s", "lost_s"):
        off = np.abs(getattr(reference, name)[same] - getattr(fast, name)[same])
        worst = (off.reshape(scale.size, -1).max(axis=1) / scale).max()
        assert worst <= tolerance, f"{name} off by {worst:.2g} of the elapsed time"
    lost = fast.lost_s.sum(axis=(1, 2))
    np.testing.assert_allclose(lost + fast.productive_s, fast.elapsed_s, rtol=tolerance)


STRETCHED = {"interval_s": 333.0, "write_s": 700.0, "stall_s": 60.0, "slowdown": 0.3}
SINGLE_JOBS = {
    "one cause": jobs.plain(1e-4, work_s=2e5, interval_s=1e3, write_s=60.0, detection_s=90.0, startup_s=200.0),
    "restore": jobs.plain(1e-4, work_s=2e5, interval_s=1e3, write_s=60.0, startup_s=50.0, restore_s=500.0),
    "resumes": jobs.plain(1e-4, work_s=2e5, interval_s=5e4, startup_s=50.0, restore_s=2e3, resumes=1.0),
    "short last interval": jobs.plain(2e-4, work_s=2.3e4, interval_s=1e4, write_s=900.0, startup_s=50.0),
    "no checkpoint": jobs.plain(2e-4, work_s=2e4, startup_s=50.0),
    "free saves": jobs.plain(2e-4, work_s=2e5, interval_s=100.0, startup_s=50.0),
    "open end": jobs.plain(1e-4, interval_s=1e3, write_s=60.0, queue_s=40.0, horizon_s=1e6),
    "cut": jobs.plain(1e-4, work_s=1e6, interval_s=1e3, write_s=60.0, queue_s=40.0, startup_s=99.0, horizon_s=5e5),
    "cut at once": jobs.plain(1e-4, work_s=1e6, interval_s=1e3, queue_s=40.0, startup_s=99.0, horizon_s=41.0),
    "found by nobody": jobs.plain(1e-5, work_s=2e5, interval_s=1e3, write_s=60.0, detection_s=jobs.INF, horizon_s=1e6),
    "no rate": jobs.plain(0.0, work_s=2e5, interval_s=999.0, write_s=60.0, startup_s=9.0),
    "seconds of years": jobs.plain(1e-8, work_s=3e9, interval_s=1e7, write_s=1e5, startup_s=1e6),
    "milliseconds": jobs.plain(20.0, work_s=1.0, interval_s=5e-3, write_s=1e-4, detection_s=1e-2, startup_s=1e-3),
    "uncertain": jobs.plain(1e-4, work_s=2e5, interval_s=1e3, write_s=60.0, startup_s=200.0, rate_shape=3.0),
    "background": jobs.background(
        1e-4, work_s=2e5, interval_s=1e3, write_s=360.0, stall_s=60.0, startup_s=200.0, restore_s=90.0
    ),
    "slowed": jobs.background(1e-4, work_s=2e5, interval_s=1e3, write_s=800.0, stall_s=60.0, slowdown=0.4),
    "halted": jobs.background(1e-4, work_s=2e5, interval_s=1e3, write_s=300.0, stall_s=60.0, slowdown=1.0),
    "stretched": jobs.background(1e-4, work_s=2e5, startup_s=200.0, **STRETCHED),
    "end in the background": jobs.background(5e-4, work_s=2.5e3, startup_s=20.0, **STRETCHED),
    "one background save": jobs.background(5e-4, work_s=2.5e3, write_s=600.0, stall_s=60.0),
    "background, cut": jobs.background(5e-4, horizon_s=1e5, **STRETCHED),
    "smooth laws": jobs.three_smooth(),
    "smooth laws, uncertain": jobs.three_smooth(rate_shapes=(2.0, jobs.INF, 10.0)),
    "smooth laws, a cause without a rate": jobs.three_smooth(rates_per_s=(0.0, 1e-4, 0.0)),
    "composed laws": jobs.three_composed(),
    "composed laws, cut": jobs.three_composed(work_s=jobs.INF, horizon_s=3e5),
    "no causes": replace(
        jobs.plain(0.0, work_s=2.5e3, interval_s=1e3, write_s=9.0, startup_s=3.0, queue_s=1.0), causes=()
    ),
}

OFTEN = (
    "one cause", "restore", "short last interval", "no checkpoint", "free saves", "open end", "uncertain", "background",
    "end in the background", "composed laws", "no causes",
)  # fmt: skip
"""Jobs that run each time."""


@pytest.mark.parametrize("name", often(SINGLE_JOBS, *OFTEN))
def test_same_events(name: str) -> None:
    params = SINGLE_JOBS[name]
    compare(params, simulate_timelines(params, 7, 16, N), jax_timelines(params, 7, 16, N), SINGLE)


DOUBLE_JOBS = {
    "drills": jobs.drills(jobs.WEIBULL, 5e-5),
    "only drills": jobs.drills(jobs.WEIBULL, 0.0),
    "regular drills": jobs.drills(
        Distribution("weibull", (7e3, 40.0)), 1e-4, plan=Checkpoint(333.0, 700.0, 60.0, 0.3, blocking=False)
    ),
    "drills, cut": jobs.drills(jobs.WEIBULL, 5e-5, work_s=jobs.INF, horizon_s=2e5),
}


@pytest.mark.parametrize("name", DOUBLE_JOBS)
def test_same_events_in_float64(name: str) -> None:
    params = DOUBLE_JOBS[name]
    compare(params, simulate_timelines(params, 7, 16, N), jax_timelines(params, 7, 16, N), DOUBLE)


def test_any_numbers() -> None:
    rng = np.random.default_rng(3)
    for _ in range(25):
        interval_s, stall_s, write_s, background_s, startup_s, restore_s, detection_s = 10.0 ** rng.uniform(0, 3.5, 7)
        common = {"work_s": float(10.0 ** rng.uniform(3, 5)), "interval_s": interval_s, "startup_s": startup_s}
        common |= {"restore_s": restore_s, "horizon_s": float(10.0 ** rng.uniform(4, 6))}
        rate = float(10.0 ** rng.uniform(-5, -3))
        slowdown = float(rng.uniform())
        for params in (
            jobs.plain(rate, write_s=write_s, detection_s=detection_s, **common),
            jobs.background(rate, stall_s=stall_s, write_s=stall_s + background_s, slowdown=slowdown, **common),
        ):
            compare(params, simulate_timelines(params, 1, 0, 12), jax_timelines(params, 1, 0, 12), SINGLE)


@pytest.mark.parametrize("period_s", [49.0, 103.0, 107.0, 161.0, 187.0, 197.0])
def test_durable_at_the_very_horizon(period_s: float) -> None:
    # times the reciprocal of these numbers, they are less than 1
    for n_saves in (1.0, 2.0, 4.0):
        params = jobs.plain(0.0, interval_s=period_s - 9.0, write_s=9.0, horizon_s=n_saves * period_s)
        compare(params, simulate_timelines(params, 1, 0, 2), jax_timelines(params, 1, 0, 2), DOUBLE)


@pytest.mark.parametrize("writes", [3, 6, 7, 12, 14, 24, 25, 28, 29])
def test_work_that_ends_with_a_write(writes: int) -> None:
    # Writes of 11 s every 7 s of work are back to back; then there is nothing to wait for before the last save.
    for interval_s, write_s in ((7.0, 11.0), (60.0, 100.0), (49.0, 103.0), (1.1, 1.3)):
        params = jobs.background(0.0, work_s=interval_s + writes * write_s, interval_s=interval_s, write_s=write_s)
        compare(params, simulate_timelines(params, 1, 0, 2), jax_timelines(params, 1, 0, 2), DOUBLE)


@pytest.mark.parametrize("cap", [1, 1 + LEG])
def test_same_cap(cap: int) -> None:
    params = jobs.plain(1e-4, work_s=4e5, interval_s=1e3, write_s=60.0, detection_s=90.0, startup_s=200.0)
    pair = (
        simulate_timelines(params, 7, 0, N, max_failures=cap),
        jax_timelines(params, 7, 0, N, max_failures=cap),
    )
    compare(params, *pair, SINGLE)
    assert pair[0].interruptions.max() == cap


@pytest.mark.parametrize("bias", ["draws", "durations", "saves"])
def test_a_difference_shows(bias: str) -> None:
    numbers = {"work_s": 2e5, "interval_s": 1e3, "write_s": 60.0, "startup_s": 200.0}
    params = jobs.plain(1e-4, **numbers)
    other = jobs.plain(
        1e-4, **(numbers | {"durations": {"startup_s": 200.1}, "saves": {"interval_s": 1001.0}}.get(bias, {}))
    )
    fast = jax_timelines(other, 8 if bias == "draws" else 7, 0, N)
    with pytest.raises(AssertionError, match=r"differ|off by"):
        compare(params, simulate_timelines(params, 7, 0, N), fast, SINGLE)


@pytest.mark.parametrize("saves_a_stretch", [10.0, 1000.0])
def test_how_often_a_rounding_flips_a_save(saves_a_stretch: float) -> None:
    n, mean_s = 4_000_000, 1e4
    plan = Checkpoint(mean_s / saves_a_stretch - 1.37, 1.37, 1.37)
    timelines = np.arange(n, dtype=np.uint32)
    u = streams.draw(streams.seed_key(5), timelines, streams.FAILURE, np.zeros(1, np.uint32))
    exact_s = -np.log(u.astype(np.float64)) * mean_s
    exact: Stretch = stretch(schedule(plan, 1e7), exact_s)
    narrow = schedule(Checkpoint(*(np.float32(x) for x in (plan.interval_s, 1.37, 1.37))), np.float32(1e7))
    fast = stretch(narrow, np.asarray(-jnp.log(u) * np.float32(mean_s)))
    flips, n_saves = int((fast.n_saves != exact.n_saves).sum()), float(exact.n_saves.sum())
    assert flips <= 2.0 * FLIP * n_saves
    assert saves_a_stretch < 100.0 or flips >= 0.1 * FLIP * n_saves  # the bound says something
