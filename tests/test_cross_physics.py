"""The fast engine against the reference with the optional mechanisms on: timeline by timeline, on the same draws.

With a mechanism on both compute in float64, so that every count is the same and times differ by roundings (measured:
5e-15 of the elapsed time).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params
from tests.lanes import jax_timelines
from tests.physics_cases_mechanisms import of_causes, of_recovery, of_saves, together
from tests.speed import often

CLOSE = 1e-10
"""Largest difference of a time, relative to the elapsed time."""
COUNTS = ("outcome", "interruptions", "n_saves", "n_swaps", "n_exhausted", "nodes_out", "nodes_out_most")
TIMES = ("elapsed_s", "productive_s", "lost_s", "longest_stretch_s", "corrupt_s")
SEED, FIRST, N = 7, 16, 24

ALONE = of_saves() | of_causes() | of_recovery()
TOGETHER = together()


def compare(reference: Timelines, fast: Timelines) -> None:
    """Fail unless both saw the same events, and the fast engine's budget closes."""
    assert {*COUNTS, *TIMES} == {*Timelines.__dataclass_fields__}
    for name in COUNTS:
        same = np.asarray(getattr(reference, name) == getattr(fast, name)).reshape(len(fast.elapsed_s), -1).all(axis=1)
        assert same.all(), f"{name} differs in timelines {np.flatnonzero(~same).tolist()}"
    for name in TIMES:
        off = np.abs(getattr(reference, name) - getattr(fast, name)).reshape(len(fast.elapsed_s), -1).max(axis=1)
        worst = (off / reference.elapsed_s).max()
        assert worst <= CLOSE, f"{name} off by {worst:.2g} of the elapsed time"
    total_s = fast.productive_s + fast.lost_s.sum(axis=(1, 2))
    np.testing.assert_allclose(total_s, fast.elapsed_s, rtol=CLOSE, err_msg="the budget does not close")
    assert fast.lost_s.min() >= -CLOSE * fast.elapsed_s.max()


@cache
def both(name: str) -> tuple[Timelines, Timelines]:
    """Return a job's timelines by both engines."""
    params = (ALONE | TOGETHER)[name]
    return simulate_timelines(params, SEED, FIRST, N), jax_timelines(params, SEED, FIRST, N)


@pytest.mark.parametrize("name", ALONE)
def test_same_events_with_one_mechanism(name: str) -> None:
    reference, fast = both(name)
    assert reference.interruptions.sum() > 50 * N
    compare(reference, fast)


@pytest.mark.parametrize("name", often(TOGETHER, "everything, waiting", "all saves", "a pool with a queue"))
def test_same_events_with_many(name: str) -> None:
    reference, fast = both(name)
    assert (reference.interruptions.sum(axis=0) > 0).all()
    compare(reference, fast)


def jittered(params: Params, rng: np.random.Generator) -> Params:
    """Return the job with other rates, intervals, restarts and spares, of the same structure."""

    def factor(spread: float = 0.4) -> float:
        return float(10.0 ** rng.uniform(-spread, spread))

    causes = tuple(replace(cause, rate_per_s=cause.rate_per_s * factor()) for cause in params.causes)
    plan = replace(params.checkpoint, interval_s=1800.0 * factor(), slowdown=float(rng.uniform()))
    startup = tuple((name, fixed(400.0 * factor())) for name, _ in params.recovery.startup)
    spares = params.recovery.spares
    if spares is not None:
        spares = replace(spares, count=float(rng.integers(1, 9)), slow_mean_s=86_400.0 * factor())
    recovery = replace(params.recovery, startup=startup, restore=fixed(200.0 * factor()), spares=spares)
    return replace(params, causes=causes, checkpoint=plan, recovery=recovery, work_s=2e5 * factor(), horizon_s=1e6)


@pytest.mark.parametrize("name", ["a pool with a queue", "replica groups", "all saves"])
def test_same_events_whatever_the_numbers(name: str) -> None:
    rng = np.random.default_rng(4)
    for seed in range(4):
        params = jittered(TOGETHER[name], rng)
        compare(simulate_timelines(params, seed, 0, 6), jax_timelines(params, seed, 0, 6))


@pytest.mark.parametrize("cap", [1, 33])
def test_same_cap_on_attempts(cap: int) -> None:
    params = TOGETHER["a pool with a queue"]
    pair = [simulator(params, SEED, 0, N, max_failures=cap) for simulator in (simulate_timelines, jax_timelines)]
    compare(*pair)
    assert (pair[0].outcome == 2).sum() > N / 2


def test_the_last_save_ends_the_job_although_it_is_stopping() -> None:
    # All work is computed at 1000; at 1010 a slow node is found, and a stop begins beside the last save.
    slow = Cause("slow", 0.0, "slow", every=fixed(1010.0), slowdown=0.5)
    params = Params(8.0, 1000.0, 1e9, Checkpoint(float("inf"), 60.0, 60.0), (slow,))
    reference, fast = simulate_timelines(params, 0, 0, 1), jax_timelines(params, 0, 0, 1)
    assert (reference.elapsed_s[0], reference.n_saves[0]) == (1060.0, 1)
    compare(reference, fast)


@pytest.mark.parametrize("name", COUNTS + TIMES)
def test_a_difference_of_one_field_shows(name: str) -> None:
    reference, fast = both("a pool with a queue")
    changed: Any = np.array(getattr(fast, name), copy=True)
    changed[(3,) + (0,) * (changed.ndim - 1)] += 1 if name in COUNTS else 1e-8 * fast.elapsed_s[3]
    with pytest.raises(AssertionError, match=f"{name} (differs|off)"):
        compare(reference, replace(fast, **{name: changed}))


@pytest.mark.parametrize("what", ["draws", "spares", "incidents", "repeats", "repairs"])
def test_another_job_shows(what: str) -> None:
    params, n = TOGETHER["a pool with a queue"], 12
    fast = both("a pool with a queue")[1]
    fast = Timelines(**{field: getattr(fast, field)[:n] for field in Timelines.__dataclass_fields__})
    spares, incidents, node = params.recovery.spares, params.incidents, params.causes[0]
    assert spares is not None
    assert incidents is not None
    assert node.repeat is not None
    changes: dict[str, Any] = {
        "draws": {},
        "spares": {"recovery": replace(params.recovery, spares=replace(spares, swap_s=spares.swap_s + 0.1))},
        "incidents": {"incidents": replace(incidents, multiplier=incidents.multiplier * 1.001)},
        "repeats": {"causes": (replace(node, repeat=replace(node.repeat, mean_time_s=7300.0)), *params.causes[1:])},
        "repairs": {"recovery": replace(params.recovery, spares=replace(spares, quick_share=0.72))},
    }
    other = simulate_timelines(replace(params, **changes[what]), SEED + (what == "draws"), FIRST, n)
    with pytest.raises(AssertionError, match=r"differs|off by"):
        compare(other, fast)
