"""The fast engine against the second simulator of the tests, which shares no code, no draws and no sampling with it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from mcettr.engine.reference import Timelines
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.params import Params
from tests import independent, jobs
from tests.lanes import jax_timelines
from tests.speed import often
from tests.statistical import assert_same_counts, assert_same_mean, assert_same_ratio

N_SLOW, N_FAST = 1_200, 16 * 1024

CASES = {
    "three causes, smooth laws": jobs.three_smooth(work_s=5e4),
    "three causes, composed laws, a horizon": jobs.three_composed(work_s=5e4, horizon_s=6.9e4),
    "stretched background saves": jobs.background(
        3e-4,
        work_s=2e4,
        interval_s=333.0,
        write_s=700.0,
        stall_s=60.0,
        slowdown=0.3,
        startup_s=90.0,
        restore_s=200.0,
    ),
    "drills": jobs.drills(jobs.WEIBULL, 1e-4, work_s=4e4),
}


@cache
def second_opinion(name: str) -> independent.Timelines:
    """Return the other simulator's timelines of a case."""
    return independent.simulate(CASES[name], N_SLOW, seed=1)


def compare(params: Params, slow: independent.Timelines, fast: Timelines) -> None:
    """Fail where a mean of the two differs by what matters (see `detectable`)."""
    ours, theirs = fast.elapsed_s, slow.elapsed_s
    assert_same_mean(ours, theirs, detectable=0.05 * theirs.mean(), what="elapsed")
    assert_same_ratio(fast.productive_s, ours, slow.activity_s["productive"], theirs, detectable=0.03, what="ettr")
    for index, cause in enumerate(params.causes):
        a, b = fast.interruptions[:, index], slow.interruptions[:, index]
        assert_same_mean(a, b, detectable=0.2 * b.mean() + 0.1, what=f"failures of {cause.name}")
    lost = fast.lost_s.sum(axis=1)
    cut = not slow.finished.all()
    # few jobs that are cut lack saves, which is too skewed for a test of means
    for activity in ("rework", "diagnosis", "startup", *(() if cut else ("checkpoint",))):
        a, b = lost[:, ACTIVITIES.index(activity)], slow.activity_s[activity]
        if b.any():
            assert_same_mean(a, b, detectable=0.03 * theirs.mean(), what=activity)
    done = np.array([(fast.outcome == Outcome.DONE).sum(), (fast.outcome != Outcome.DONE).sum()])
    if cut:
        assert_same_counts(
            [slow.finished.sum(), (~slow.finished).sum()], done, detectable=0.25, what="done before the horizon"
        )


@pytest.mark.parametrize("name", often(CASES, "three causes, smooth laws"))
def test_agrees(name: str) -> None:
    compare(CASES[name], second_opinion(name), jax_timelines(CASES[name], 2, 0, N_FAST))


def test_agrees_with_uncertain_rates() -> None:
    params = jobs.plain(1e-4, work_s=1e4, interval_s=1e3, write_s=60.0, startup_s=200.0, rate_shape=16.0)
    slow, fast = independent.simulate(params, 300 * 16, seed=1, n_nodes=1), jax_timelines(params, 2, 0, 2048 * 16)
    for name in ("interruptions", "elapsed_s"):
        a, b = (getattr(lives, name).reshape(-1, 16).mean(axis=1) for lives in (fast, slow))
        assert_same_mean(a, b, detectable=0.2 * b.mean(), what=f"{name} of a group")


@pytest.mark.parametrize(
    "bias",
    [{"interval_s": 1.3e3}, {"write_s": 120.0}, {"rates_per_s": (1e-4, 7e-5, 2e-5)}],
    ids=lambda bias: str([*bias]),
)
def test_a_bias_shows(bias: dict[str, object]) -> None:
    name = "three causes, smooth laws"
    fast = jax_timelines(jobs.three_smooth(work_s=5e4, **bias), 2, 0, N_FAST)
    with pytest.raises(AssertionError, match="standard errors"):
        compare(CASES[name], second_opinion(name), fast)
