"""Three and more mechanisms at once: the fast engine against the second simulator of the tests.

Hypothesis draws four scenarios of each of six structures; 600 lives of each in the second simulator are compared, all
four together, with 16384 of the fast engine. Each comparison has a false alarm once in ten million times, and sees with
a probability of 99 % at least: of the share of an activity, a bias of half a point and a 20th of it, at most 2 points;
of the failures by cause, saves, swaps, waits for spares and nodes out, 5 %; of a share or count that is not in line
with the others of the same life, a quarter of a point or 4 %; of the time blamed on one cause in one activity, 2
points; a fifth more scatter from life to life; twice as many lives beyond the 5 % quantile at either end as there
should be, and 3.5 times as many beyond the 1 % quantile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mcettr.model.params import Params
from tests import independent, statistical
from tests.independent_compare import (
    MOST,
    POINTS,
    SOME,
    SPREAD,
    TAILS,
    Lives,
    Scenario,
    compare,
    compare_means,
    compare_spreads,
    of_engine,
    of_second,
)
from tests.independent_scenarios import STRUCTURES
from tests.lanes import jax_timelines
from tests.physics_cases_mechanisms import exponential
from tests.statistical import assert_same_tail

pytestmark = pytest.mark.slow

N_SCENARIOS, N_SLOW, N_FAST = 4, 600, 16_384
N_FEWER = 8192
Change = Callable[[Params], Params]


@cache
def jobs_of(structure: str) -> tuple[Params, ...]:
    """Return the scenarios of a structure, drawn by hypothesis (the first one has all numbers at their low ends)."""
    drawn: list[Params] = []

    @settings(max_examples=N_SCENARIOS, derandomize=True, deadline=None, database=None, phases=(Phase.generate,))
    @given(shares=st.lists(st.floats(0.0, 1.0), min_size=16, max_size=16))
    def draw(shares: list[float]) -> None:
        left = iter(shares)
        drawn.append(STRUCTURES[structure](lambda low, high: low + (high - low) * next(left)))

    draw()
    return tuple(drawn)


def seed_of(structure: str, scenario: int) -> int:
    """Return a seed of its own for each scenario, as lives that share their draws would not be independent."""
    return 1007 + 100 * list(STRUCTURES).index(structure) + scenario


@cache
def second_opinion(structure: str) -> tuple[Lives, ...]:
    return tuple(
        of_second(params, independent.simulate(params, N_SLOW, seed=seed_of(structure, number)))
        for number, params in enumerate(jobs_of(structure))
    )


def engine_lives(structure: str, change: Change = lambda params: params, n: int = N_FAST, seed: int = 0) -> list[Lives]:
    return [
        of_engine(params, jax_timelines(change(params), seed + seed_of(structure, number), 0, n))
        for number, params in enumerate(jobs_of(structure))
    ]


@cache
def unchanged(structure: str) -> tuple[Lives, ...]:
    return tuple(engine_lives(structure))


def paired(fast: Any, slow: Any) -> list[Scenario]:
    return [Scenario(a, b) for a, b in zip(fast, slow, strict=True)]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_mechanisms_together(structure: str) -> None:
    compare(paired(unchanged(structure), second_opinion(structure)))


def with_rate(index: int, factor: float) -> Change:
    def change(params: Params) -> Params:
        causes = list(params.causes)
        causes[index] = replace(causes[index], rate_per_s=factor * causes[index].rate_per_s)
        return replace(params, causes=tuple(causes))

    return change


def with_part(part: str, **changes: Any) -> Change:
    """Return a change of the record at a path of names."""

    def change(params: Any, names: tuple[str, ...] = tuple(part.split("."))) -> Any:
        if not names:
            return replace(params, **changes)
        return replace(params, **{names[0]: change(getattr(params, names[0]), names[1:])})

    return change


FAULTS: dict[str, tuple[str, Change]] = {
    "node rate": ("waiting", with_rate(0, 1.05)),
    "rack rate": ("waiting", with_rate(1, 1.05)),
    "incidents": ("waiting", with_part("incidents", multiplier=1.4)),
    "lemons": ("waiting", with_part("lemons", eviction_probability=0.2)),
    "failed repairs": ("waiting", with_part("recovery.spares", repair_failure=0.03)),
    "eviction rate": ("queueing", with_rate(2, 1.05)),
    "queue": ("queueing", with_part("recovery", queue_wait=exponential(1.1e3))),
    "slow rate": ("shrinking", with_rate(2, 1.05)),
    "least nodes": ("shrinking", with_part("recovery.spares", min_nodes=10.0)),
    "regrouping": ("grouped", with_part("recovery.replica_groups", reconfigure_s=0.0)),
    "corruption rate": ("saving", with_rate(2, 1.05)),
    "bad saves": ("saving", with_part("checkpoint.retention", bad_probability=0.2)),
    "saves kept": ("saving", with_part("checkpoint.retention", keep=2.0)),
    "escalation": ("dated", with_part("recovery.start_failure", max_attempts=3.0)),
    "window": ("dated", with_part("maintenance", duration_s=2.8e3)),
    "bad times": ("dated", with_part("incidents", mean_duration_s=4e3)),
}
"""A fault of one number each, and where it shows."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistical, "_spend", lambda alpha: None)  # an alarm is what is wanted
    structure, change = FAULTS[name]
    with pytest.raises(AssertionError, match=r"standard errors|draws in the tail"):
        compare(paired(engine_lives(structure, change, N_FEWER), second_opinion(structure)))


@pytest.mark.parametrize("kind", ["shares", "counts"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_stated_bias_shows_in_each(structure: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put lives of the engine in the second simulator's place, one column of which is off by what must be seen."""
    monkeypatch.setattr(statistical, "_spend", lambda alpha: None)
    other = engine_lives(structure, n=N_SLOW, seed=10_000)
    for name in getattr(other[0], kind):
        column = np.concatenate([getattr(lives, kind)[name] for lives in other])
        if not column.any():
            continue
        bias = SOME * column.mean() if kind == "counts" else min(MOST, POINTS + SOME * column.mean())
        planted = [
            replace(lives, **{kind: getattr(lives, kind) | {name: getattr(lives, kind)[name] + bias}})
            for lives in other
        ]
        with pytest.raises(AssertionError, match=f"{name}: .* standard errors"):
            compare_means(paired(unchanged(structure), planted))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("share", TAILS)
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_tail_shows(structure: str, share: float, upper: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with so many lives more at one end as must be seen there."""
    monkeypatch.setattr(statistical, "_spend", lambda alpha: None)
    n_moved = round(N_SLOW * (TAILS[share] - share) / (1.0 - share))
    planted, others = [], [lives.shares["rework"] for lives in unchanged(structure)]
    for lives in engine_lives(structure, n=N_SLOW, seed=20_000):
        rework = lives.shares["rework"].copy()
        rework[:n_moved] = rework.max() if upper else rework.min()
        planted.append(rework)
    with pytest.raises(AssertionError, match="draws in the tail"):
        assert_same_tail(planted, others, share, detectable=TAILS[share], what="rework", upper=upper)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_more_scatter_shows(structure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistical, "_spend", lambda alpha: None)
    planted = []
    for lives in engine_lives(structure, n=N_SLOW, seed=30_000):
        rework = lives.shares["rework"]
        wider = rework.mean() + (1.0 + SPREAD) * (rework - rework.mean())
        planted.append(replace(lives, shares=lives.shares | {"rework": wider}))
    with pytest.raises(AssertionError, match="spread of rework"):
        compare_spreads(paired(unchanged(structure), planted))
