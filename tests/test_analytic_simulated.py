"""Closed forms against brute force: saves stepped one by one, failures and restarts drawn, nothing assumed.

Bias that must be seen: 0.3 points of ETTR and 1.2 % of a completion time, at the alpha of `statistical` (1e-7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from mcettr.model import analytic, renewal
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from tests.statistical import assert_ratio, assert_same_mean

Floats = NDArray[np.float64]
Draw = Callable[[int], Floats]
BIAS = 0.003
SCHEDULES = [
    pytest.param(1000.0, 80.0, 80.0, 0.0, id="blocking"),
    pytest.param(1000.0, 50.0, 400.0, 0.0, id="background"),
    pytest.param(600.0, 30.0, 430.0, 0.4, id="slowed"),
    pytest.param(600.0, 0.0, 400.0, 1.0, id="slowed to a halt"),
    pytest.param(200.0, 20.0, 520.0, 0.3, id="stretched"),
    pytest.param(500.0, 100.0, 600.0, 0.0, id="just not stretched"),
]


def simulate_cycles(
    rng: np.random.Generator, n: int, rate: float, schedule: tuple[float, ...], restart: Draw, downtime: Draw
) -> tuple[Floats, Floats, Floats]:
    """Return (elapsed, saved work, time taken by saves) between failures of an endless job, each shape (n,)."""
    interval, stall, write, slowdown = schedule
    down, alive = downtime(n), rng.exponential(1 / rate, n)
    age = alive - restart(n)
    saved, taken, begin, carried = np.zeros(n), np.zeros(n), interval, interval
    while np.any(age > begin):
        saved += np.where(age >= begin + write, carried, 0.0)
        taken += np.clip(age - begin, 0.0, stall) + slowdown * np.clip(age - begin - stall, 0.0, write - stall)
        carried = (1 - slowdown) * (write - stall)
        begin += write
        if carried < interval:
            begin += interval - carried
            carried = interval
    return down + alive, saved, taken


def simulate_jobs(
    rng: np.random.Generator,
    n: int,
    rate: float,
    work: float,
    schedule: tuple[float, ...],
    draws: tuple[Draw, Draw, Draw],
    resumes: bool = False,
) -> Floats:
    """Return the completion times of `n` finite jobs; `draws` of startup, restore and downtime."""
    interval, stall, write, slowdown = schedule
    startup, restore, downtime = draws
    pieces = [interval] * int(work // interval) + ([work % interval] if work % interval else [])
    lengths = np.array([*pieces, np.inf])
    clock, done = np.zeros(n), np.zeros(n, dtype=int)
    while np.any(open_jobs := done < len(pieces)):
        at = np.flatnonzero(open_jobs)
        alive = rng.exponential(1 / rate, at.size)
        start = startup(at.size) + np.where(resumes | (done[at] > 0), restore(at.size), 0.0)
        age, begin = alive - start, lengths[done[at]]
        while np.any(durable := (begin + write <= age) & (done[at] < len(pieces))):
            done[at] += durable
            finished = durable & (done[at] == len(pieces))
            clock[at] += np.where(finished, start + begin + write, 0.0)
            computed = (1 - slowdown) * (write - stall)
            begin = np.where(durable, begin + write + np.maximum(lengths[done[at]] - computed, 0.0), begin)
        lost = done[at] < len(pieces)
        clock[at] += np.where(lost, alive + downtime(at.size), 0.0)
    return clock


def constant(value: float) -> Draw:
    return lambda n: np.full(n, value)


@pytest.mark.parametrize(("interval", "stall", "write", "slowdown"), SCHEDULES)
def test_long_run(interval: float, stall: float, write: float, slowdown: float) -> None:
    rng = np.random.default_rng(11)
    params = Params(
        8.0,
        float("inf"),
        1e9,
        Checkpoint(interval, write, stall, slowdown),
        (Cause("node", 1 / 1500, detection=fixed(90.0)),),
        Recovery(startup=(("start", fixed(150.0)),)),
    )
    elapsed, saved, taken = simulate_cycles(
        rng,
        1_200_000,
        1 / 1500,
        (interval, stall, write, slowdown),
        constant(150.0),
        lambda n: rng.exponential(90.0, n),
    )
    exact = float(analytic.ettr_long_run(params))
    assert_ratio(saved, elapsed, exact, detectable=BIAS, what="long-run ettr")
    share = float(analytic.explain(params)["checkpoint"])
    assert_ratio(taken, elapsed, share, detectable=BIAS, what="share of saves")


def test_long_run_with_random_restarts_drawn_afresh() -> None:
    rng, rate = np.random.default_rng(12), 1 / 900
    recovery = Recovery(
        startup=(("image", Distribution("gamma", (200.0, 1.4))), ("init", Distribution("uniform", (20.0, 180.0)))),
        restore=Distribution("lognormal", (60.0, 1.2)),
    )
    params = Params(8.0, float("inf"), 1e9, Checkpoint(400.0, 40.0, 40.0), (Cause("node", rate),), recovery)

    def restart(n: int) -> Floats:
        image = rng.gamma(1 / 1.96, 200.0 * 1.96, n)
        return image + rng.uniform(20.0, 180.0, n) + rng.lognormal(np.log(60.0), 1.2, n)

    elapsed, saved, _ = simulate_cycles(rng, 1_200_000, rate, (400.0, 40.0, 40.0, 0.0), restart, constant(0.0))
    exact = float(analytic.ettr_long_run(params))
    assert_ratio(saved, elapsed, exact, detectable=BIAS, what="ettr with random restarts")
    assert float(renewal.long_run_ettr(rate, 400.0, stall_s=40.0, restart_s=411.0)) < 0.99 * exact  # means would fail


@pytest.mark.parametrize("work", [2600.0, 3000.0, 2050.0, 700.0], ids=["short last", "whole", "very short last", "one"])
@pytest.mark.parametrize(("interval", "stall", "write", "slowdown"), SCHEDULES[:3])
def test_completion(work: float, interval: float, stall: float, write: float, slowdown: float) -> None:
    rng, rate = np.random.default_rng(13), 1 / 4000
    resumes = work == 3000.0
    draws = (constant(100.0), constant(400.0), lambda n: rng.exponential(300.0, n))
    total = simulate_jobs(rng, 150_000, rate, work, (interval, stall, write, slowdown), draws, resumes)
    exact = float(
        renewal.completion_s(
            rate,
            work,
            interval,
            stall_s=stall,
            write_time_s=write,
            slowdown=slowdown,
            startup_s=100.0,
            restore_s=400.0,
            downtime_s=300.0,
            resumes=float(resumes),
        )
    )
    assert_same_mean(total, exact, detectable=4 * BIAS * exact, what="completion time")


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("last", [600.0, 350.0, 20.0])
@pytest.mark.parametrize(("interval", "stall", "write", "slowdown"), SCHEDULES[:3])
def test_completion_solves_its_recursion(
    n: int, last: float, interval: float, stall: float, write: float, slowdown: float
) -> None:
    """The mean time left with m intervals to do, summed over how many saves the next attempt makes durable."""
    rate, startup, restore, down = 1 / 2000, 100.0, 400.0, 300.0
    start, later = (np.expm1(rate * r) * (1 / rate + down) for r in (startup, startup + restore))
    computed = (1 - slowdown) * (write - stall)
    left_s = [0.0]
    for m in range(1, n + 1):
        lengths = [interval] * (m - 1) + [last]
        durable, begin = [], lengths[0]
        for length in [*lengths[1:], np.inf]:
            durable.append(begin + write)
            begin += write + max(length - computed, 0.0)
        alive = np.exp(-rate * np.array([0.0, *durable]))
        stops = alive[:-1] - alive[1:]  # the attempt ends after 0, 1, ... m - 1 durable saves
        again = [start if m == n and k == 0 else later for k in range(m)]
        known = (1 - alive[-1]) / rate + sum(p * (down + r) for p, r in zip(stops, again, strict=True))
        known += sum(p * left_s[m - k] for k, p in enumerate(stops) if k > 0)
        left_s.append(known / (1 - stops[0]))
    total = renewal.completion_s(
        rate,
        (n - 1) * interval + last,
        interval,
        stall_s=stall,
        write_time_s=write,
        slowdown=slowdown,
        startup_s=startup,
        restore_s=restore,
        downtime_s=down,
    )
    assert total == pytest.approx(start + left_s[n], rel=1e-12)


@pytest.mark.parametrize(
    ("law", "density"),
    [
        (Distribution("exponential", (300.0,)), stats.expon(scale=300.0)),
        (Distribution("gamma", (300.0, 1.7)), stats.gamma(1 / 2.89, scale=300.0 * 2.89)),
        (Distribution("uniform", (100.0, 700.0)), stats.uniform(100.0, 600.0)),
        (Distribution("lognormal", (200.0, 2.17)), stats.lognorm(2.17, scale=200.0)),
        (Distribution("weibull", (300.0, 0.7)), stats.weibull_min(0.7, scale=300.0)),
    ],
)
@pytest.mark.parametrize("rate", [1e-6, 1e-3, 1e-1])
def test_equivalent_duration_is_the_transform(law: Distribution, density: Any, rate: float) -> None:
    value, _ = integrate.quad(lambda p: -np.expm1(-rate * density.ppf(p)), 0.0, 1.0, limit=500, epsabs=1e-12)
    expected = -np.log1p(-value) / rate
    assert renewal.equivalent_s(law, rate) == pytest.approx(expected, rel=2e-5)
    assert renewal.equivalent_s(law, 0.0) == pytest.approx(density.mean(), rel=1e-9)


def test_equivalent_duration_of_composed_laws() -> None:
    pieces = Distribution("quantiles", (-1.0, 0.0, 1.2815515655446004, np.log(100.0), np.log(180.0), np.log(2400.0)))
    short, rate = fixed(30.0), 1e-3
    mixed = Distribution("mixture", (0.7, 0.3), (short, pieces))
    z = (np.arange(2_000_001) + 0.5) / 2_000_001 * 16 - 8
    log_t = np.where(
        z < 0, np.log(180.0) + np.log(1.8) * z, np.log(180.0) + np.log(2400 / 180) / 1.2815515655446004 * z
    )
    weights = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
    part = float(np.sum(weights * np.exp(-rate * np.exp(log_t))))
    assert renewal.equivalent_s(pieces, rate) == pytest.approx(-np.log(part) / rate, rel=1e-4)
    whole = 0.7 * np.exp(-rate * 30) + 0.3 * part
    assert renewal.equivalent_s(mixed, rate) == pytest.approx(-np.log(whole) / rate, rel=1e-4)
    per_cell = renewal.equivalent_s(Distribution("gamma", (np.array([10.0, 300.0]), 0.0)), np.array([[rate], [0.0]]))
    np.testing.assert_allclose(per_cell, [[10.0, 300.0], [10.0, 300.0]], rtol=1e-6)
