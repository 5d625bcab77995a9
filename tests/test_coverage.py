"""Whether 95 % intervals hold the true value 95 times in 100, for every estimate that is printed with an error.

Repetitions are disjoint ranges of timelines of one simulation, so that a job compiles once. An assertion fails if no
true coverage of `LEAST` or more is compatible with what was seen at `ALPHA`: with 500 repetitions that is below 87 %,
with 2,000 below 89 %. Intervals may be too wide where an estimate rests on events that were hardly seen.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mcettr.engine.estimates import Estimates
from mcettr.model import analytic
from mcettr.model.params import Params
from mcettr.scenario import compile_grid, load
from tests.repeated import Repeated, share_held

ALPHA, LEAST = 1e-6, 0.93
N_BLOCKS, FEW_BLOCKS = 8_000, 2_000
SIZES = ((64, 2_000), (128, 2_000), (1024, 500))
"""Timelines of a run, and repetitions."""

BASE: dict[str, Any] = {
    "job": {"gpus": 512, "work": "5 d"},
    "checkpoint": {"interval": "30 min", "write_time": "2 min"},
    "failures": {
        "node": {"rate": "1 / job-day", "detection": "10 min"},
        "net": {"rate": "0.5 / job-day", "detection": {"exponential": {"mean": "1 h"}}},
    },
    "recovery": {"startup": "10 min", "restore": "2 min"},
}
POOL = {"count": 2, "swap": "2 min", "repair": {"quick": {"share": 0.7, "mean": "6 h"}, "slow": {"mean": "1 d"}}}
JOBS: dict[str, dict[str, Any]] = {
    "plain": BASE,
    "until the horizon": BASE | {"job": {"gpus": 512, "horizon": "10 d"}},
    "spares and hangs": BASE
    | {
        "failures": {
            "node": {"rate": "16 / 1000 node-days", "detection": "10 min"},
            "hang": {"kind": "hang", "rate": "0.5 / job-day", "detection": {"exponential": {"mean": "1 h"}}},
        },
        "recovery": BASE["recovery"] | {"spares": POOL},
    },
}
UNCERTAIN = BASE | {
    "job": {"gpus": 512, "work": "5 d", "horizon": "20 d"},
    "failures": {"node": {"rate": "1 / job-day", "detection": "1 h", "uncertainty": {"cv": 0.5}}},
}
ONE = BASE | {
    "checkpoint": {"interval": "30 min", "write_time": "1 min"},
    "failures": {"node": {"rate": "0.13 / job-day", "detection": "5 min"}},
    "recovery": {"startup": "5 min", "restore": "2 min"},
}


def rare(**cause: Any) -> dict[str, Any]:
    """Return a job with one more cause."""
    return ONE | {"failures": ONE["failures"] | {"rare": cause}}


def found_by(law: Any) -> dict[str, Any]:
    """Return a job whose failures are found after such a time."""
    return ONE | {"failures": {"node": {"rate": "0.13 / job-day", "detection": law}}}


RARE: dict[str, dict[str, Any]] = {
    "a disaster": rare(rate="0.0001 / job-day", detection="1000 d"),
    "0.00002 per day, 100 days": rare(rate="0.00002 / job-day", detection="100 d"),
    "a rare cause of long and short stops": rare(rate="0.002 / job-day", detection={"exponential": {"mean": "10 d"}}),
    "one long detection in 1,000": found_by({"mixture": [[0.999, "5 min"], [0.001, "1000 d"]]}),
    "a long tail": found_by({"lognormal": {"median": "2 min", "sigma": 3.0}}),
}
HARDLY_SEEN: dict[str, dict[str, Any]] = {
    "some are never found": found_by({"mixture": [[0.9995, "5 min"], [0.0005, "never"]]})
    | {"job": {"gpus": 512, "work": "5 d", "horizon": "50 d"}},
    "rare silent corruption": rare(kind="silent", rate="0.004 / job-day", detection="2 d"),
    "rare incidents": ONE | {"incidents": {"rate": "1 / 1000 d", "mean_duration": "3 d", "multiplier": 1000}},
    "rare calls for a human": ONE
    | {
        "recovery": ONE["recovery"]
        | {"start_failure": {"probability": 0.1, "max_attempts": 3, "escalation": {"exponential": {"mean": "5 d"}}}}
    },
}


def params_of(job: dict[str, Any]) -> Params:
    return compile_grid(load(job), {}).params


@cache
def repeated(name: str) -> Repeated:
    every = JOBS | RARE | HARDLY_SEEN | {"uncertain": UNCERTAIN}
    return Repeated(params_of(every[name]), FEW_BLOCKS if name in HARDLY_SEEN else N_BLOCKS)


def assert_covers(held: float, n_repeats: int, what: str, least: float = LEAST) -> None:
    """Fail if intervals that hold the true value with probability `least` would hardly do so as seldom."""
    p_value = float(stats.binom.cdf(round(held * n_repeats), n_repeats, least))
    assert p_value > ALPHA, f"{what}: {held:.1%} of {n_repeats} intervals hold the true value"


def shares(found: Estimates, truth: Estimates) -> dict[str, float]:
    """Return the share of repetitions that hold the true value, for every entry that is given with an error.

    An entry that some repetitions leave out is judged in none: those that show it are not a fair choice.
    """
    result = {}
    for name, values in found.values.items():
        left_out = found.left_out.get(name, np.zeros(values.shape, np.bool_))
        for at in np.ndindex(values.shape[1:]):
            every = (slice(None), *at)
            if not left_out[every].any() and found.se[name][every].any():
                result[f"{name}{list(at)}"] = share_held(
                    values[every], found.se[name][every], truth.values[name][0, *at]
                )
    return result


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", JOBS)
def test_errors_of_every_estimate_cover(name: str) -> None:
    runs = repeated(name)
    truth = runs.estimates(64 * N_BLOCKS, 1)
    for n_timelines, n_repeats in SIZES:
        held = shares(runs.estimates(n_timelines, n_repeats), truth)
        assert {"ettr[]", "interruptions[]", "interruptions_by_cause[0]", "time_fraction[1]", "lost_s[1, 1]"} <= set(
            held
        )
        for what, share in held.items():
            assert_covers(share, n_repeats, f"{what} of {n_timelines} timelines", 0.92 if n_timelines == 64 else LEAST)
    assert 0.93 <= held["interruptions_by_cause[0]"] <= 0.97


def test_errors_by_cause_are_those_of_the_sum() -> None:
    runs = Repeated(params_of(ONE), 2)
    found = runs.estimates(128, 1)
    assert found.se["interruptions_by_cause"][0, 0] == pytest.approx(found.se["interruptions"][0], rel=1e-12)
    assert found.se["lost_s"][0].sum(axis=0)[8] >= found.se["lost_s"][0, 1, 8] > 0.0


def test_errors_of_uncertain_rates_cover() -> None:
    runs = repeated("uncertain")
    elapsed_s = np.sort(runs.batch.elapsed_s.ravel())
    deadlines_s = tuple(np.quantile(elapsed_s, [0.05, 0.5, 0.8, 0.95, 0.98, 0.99]).tolist())
    truth = runs.estimates(64 * N_BLOCKS, 1, deadlines_s)
    for n_timelines, n_repeats in ((256, 2_000), (1024, 500)):
        found = runs.estimates(n_timelines, n_repeats, deadlines_s)
        for what, share in shares(found, truth).items():
            assert_covers(share, n_repeats, f"{what} of {n_timelines} timelines")
        for index, share in enumerate(truth.completion_probability[0]):
            held = (found.completion_low[:, index] <= share) & (share <= found.completion_high[:, index])
            assert_covers(float(held.mean()), n_repeats, f"completion {share:.3f} of {n_timelines} timelines")


@pytest.mark.parametrize("name", RARE)
@pytest.mark.parametrize("n_timelines", [64, 640, 4096])
def test_errors_know_of_what_was_not_seen(name: str, n_timelines: int) -> None:
    runs, n_repeats = repeated(name), min(500, 64 * N_BLOCKS // n_timelines)
    exact = float(analytic.ettr(runs.params)), float(analytic.expected_completion_s(runs.params))
    blind, found = (runs.estimates(n_timelines, n_repeats, foreseen=known) for known in (False, True))
    for metric, truth in zip(("ettr", "elapsed_s"), exact, strict=True):
        share = share_held(found.values[metric], found.se[metric], truth)
        assert_covers(share, n_repeats, f"{metric} of {n_timelines} timelines")
    if n_timelines == 64:
        assert share_held(blind.values["ettr"], blind.se["ettr"], exact[0]) < 0.6  # this is what the spread alone knows


@pytest.mark.parametrize("name", HARDLY_SEEN)
def test_relatives_of_rare_causes_are_known_too(name: str) -> None:
    runs = repeated(name)
    truth = runs.estimates(64 * FEW_BLOCKS, 1)
    for n_timelines, n_repeats in ((64, 500), (128, 500), (640, 200)):
        found = runs.estimates(n_timelines, n_repeats)
        for metric in ("ettr", "ettr_occupied", "elapsed_s", "productive_s", "interruptions", "ettr_timeline_mean"):
            if found.se[metric].any():
                share = share_held(found.values[metric], found.se[metric], float(truth.values[metric][0]))
                assert_covers(share, n_repeats, f"{metric} of {n_timelines} timelines")
