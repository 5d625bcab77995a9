"""Health checks as a policy: how strict is best; and what lemons must be to explain what an operator reports."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import mcettr
from mcettr.scenario import Scenario, compile_params
from mcettr.scenario.document import read_yaml
from mcettr.sweep.spec import load_sweep
from tests.lanes import jax_timelines
from tests.statistical import assert_same_mean

ROOT = Path(__file__).parents[1]
DURATION = "health_checks.preflight.duration"
CATCH = "health_checks.preflight.catch_probability.node"
SURE = 6.0
"""Standard errors by which a paired difference must exceed its margin: once in a billion by chance."""


@cache
def checks() -> tuple[Scenario, tuple[tuple[str, float], ...]]:
    """Return the scenario of the sweep file, shortened, and its diagonal: the policies that one check allows."""
    spec = load_sweep(ROOT / "sweeps" / "health_checks.yaml")
    short = spec.scenario.replace({"job.work": "4 d"})
    return short, tuple(zip(spec.axes[DURATION], spec.axes[CATCH], strict=True))


@cache
def elapsed_s(duration: str, catch: float) -> NDArray[np.float64]:
    job = checks()[0].replace({DURATION: duration, CATCH: catch})
    return jax_timelines(compile_params(job), 5, 0, 1024).elapsed_s


def assert_longer(policy: tuple[str, float], other: tuple[str, float], by: float) -> None:
    """Fail unless the job takes longer under a policy than under another, by more than a share of the time."""
    more = elapsed_s(*policy) - (1.0 + by) * elapsed_s(*other)
    error = float(more.std(ddof=1)) / math.sqrt(more.size)
    assert more.mean() > SURE * error, f"{policy} against {other}: {more.mean():.4g} s, standard error {error:.3g} s"


def test_one_check_has_one_chance_to_catch() -> None:
    for duration, catch in checks()[1]:
        minutes = float(duration.split()[0])
        assert catch == pytest.approx(1.0 - math.exp(-minutes / 3.0), abs=1e-4)


def test_the_best_strictness_lies_inside() -> None:
    policies = checks()[1]
    best = min(policies, key=lambda policy: float(elapsed_s(*policy).mean()))
    assert best[0] in ("3 min", "5 min")
    for policy in (policies[0], policies[-1]):
        assert_longer(policy, best, by=0.03)
    assert_longer(("1 min", 0.2835), best, by=0.005)
    assert_longer(("8 min", 0.9305), best, by=0.005)


def test_a_check_that_costs_nothing_is_the_better_the_more_it_catches() -> None:
    catches = [catch for _, catch in checks()[1]]
    for less, more in ((catches[0], catches[2]), (catches[2], catches[-1])):
        assert_longer(("0 s", less), ("0 s", more), by=0.01)


NODES, SHARE, REPORTED, WITHOUT = 64, 0.012, 0.14, 0.04
RATE_PER_MIN = 6.5e-3 / 1440.0
MINUTES = 141.0
"""At risk: for how long the healthy rate gives the 4 % (to the minute)."""


def chance_interrupted(multiplier: float) -> float:
    """Return the chance that a job of 64 nodes, each a lemon with the share reported, is hit at all."""
    hit = -math.expm1(-(multiplier - 1.0) * RATE_PER_MIN * MINUTES)
    return 1.0 - math.exp(-NODES * RATE_PER_MIN * MINUTES) * (1.0 - SHARE * hit) ** NODES


def fitted() -> float:
    """Return the multiplier that gives the reported share."""
    survives = (1.0 - REPORTED) / (1.0 - chance_interrupted(1.0))
    hit = (1.0 - survives ** (1.0 / NODES)) / SHARE
    return 1.0 - math.log1p(-hit) / (RATE_PER_MIN * MINUTES)


def lemons_job() -> Scenario:
    text = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    block = next(b for b in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "gpus: 512," in b)
    return mcettr.load(dict(read_yaml(block, "docs/model.md").tree))


def test_the_fitted_multiplier_is_the_one_that_is_documented() -> None:
    text = " ".join((ROOT / "docs" / "model.md").read_text(encoding="utf-8").split())
    assert f"multiplier comes out as {fitted():.0f} " in text
    first_order = 1.0 + (math.log(1.0 - REPORTED) / math.log(1.0 - WITHOUT) - 1.0) / SHARE
    assert f"= {first_order:.0f})" in text
    assert f"would explain a fall from {100 * chance_interrupted(30.0):.1f} % to 4 % only" in text
    assert chance_interrupted(1.0) == pytest.approx(WITHOUT, abs=2e-4)


@pytest.mark.parametrize(("fraction", "expected"), [(SHARE, REPORTED), (0.0, WITHOUT)])
def test_simulated_jobs_fail_as_often_as_reported(fraction: float, expected: float) -> None:
    job = lemons_job().replace({"lemons.multiplier": fitted(), "lemons.fraction": fraction})
    lives = jax_timelines(compile_params(job), 11, 0, 16_384)
    hit = lives.interruptions.sum(axis=1) > 0
    assert_same_mean(hit, expected, detectable=0.025, what=f"failed jobs, {fraction:g} lemons", slack=2e-4)
    with pytest.raises(AssertionError, match="is not"):
        assert_same_mean(hit, expected - 0.03, detectable=0.025, what="failed jobs, wrongly")


def test_solve_finds_the_multiplier() -> None:
    found = mcettr.solve(
        lemons_job(), vary="lemons.multiplier=10:1000", target=f"completion@150min={1.0 - REPORTED}", timelines=4096
    )
    assert found.value is not None
    assert found.value.low < fitted() < found.value.high
    assert found.value.high - found.value.low < 0.4 * fitted()
