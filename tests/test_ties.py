"""What happens at one moment, by hand, in every engine; and the small inputs of tests/cases about ties and two tiers.

The order is that of `mcettr.model.order.EVENTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.model.budget import ACTIVITIES, Outcome, cause_rows
from mcettr.model.counts import exactly
from mcettr.model.distributions import fixed
from mcettr.model.order import EVENTS, MOMENT, in_order
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import LocalTier
from mcettr.model.problems import Cells
from mcettr.model.refusals import refusals
from mcettr.scenario import load
from mcettr.scenario.compile import compile_params
from tests import independent
from tests.lanes import jax_timelines
from tests.physics import INF
from tests.statistical import assert_ratio, assert_same_mean
from tests.test_cross_physics import compare

CASES = Path(__file__).parent / "cases"
UNITS = (1.0, 0.1, 1.0 / 3.0, 3600.0 / 7.0)
"""Seconds; sums of multiples of the others round."""


def by_twin(params: Params, seed: int, first: int, n: int) -> Timelines:
    """Return timelines of the second simulator as the engines give them; a clock that rounds it knows nothing of."""
    lives = independent.simulate(params, n, seed + first)
    rows = cause_rows(tuple(cause.name for cause in params.causes))
    lost_s = lives.by_cause_s[:, [lives.labels.index(row) for row in rows]]
    lost_s = lost_s[:, :, [independent.ACTIVITIES.index(activity) for activity in ACTIVITIES]]
    zero = np.zeros(n)
    return Timelines(
        np.where(lives.finished, Outcome.DONE, Outcome.HORIZON).astype(np.int8),
        lives.elapsed_s,
        lives.activity_s["productive"],
        lost_s,
        lives.interruptions,
        lives.saves,
        zero,
        zero,
        zero,
        zero,
        lives.longest_stretch_s,
        zero,
    )


ENGINES: dict[str, Callable[..., Timelines]] = {
    "reference": simulate_timelines,
    "fast": jax_timelines,
    "second": by_twin,
}


class Tie(NamedTuple):
    """A job whose events coincide, in units, and what it leaves."""

    job: Callable[[float], Params]
    elapsed: float
    productive: float
    lost: dict[tuple[str, str], float]
    is_done: bool = False


def drill(name: str, every_s: float, **more: Any) -> Cause:
    return Cause(name, 0.0, every=fixed(every_s), **more)


def job(
    u: float, plan: tuple[float, float, float], *causes: Cause, work: float = INF, horizon: float = 1e6, **more: Any
) -> Params:
    """Return a job whose saves come every plan[0] and are durable after plan[1], of which plan[2] block."""
    interval, write, stall = plan
    lengths = {name: more.pop(name, 0.0) * u for name in ("startup", "restore", "queue")}
    recovery = Recovery(fixed(lengths["queue"]), (("start", fixed(lengths["startup"])),), fixed(lengths["restore"]))
    recovery = replace(recovery, **more.pop("recovery", {}))
    saves = Checkpoint(interval * u, write * u, stall * u, blocking=False, **more.pop("saves", {}))
    return Params(8.0, work * u, horizon * u, saves, causes, recovery, n_nodes=8.0, **more)


def slow(name: str, u: float, every: float, found: float) -> Cause:
    return drill(name, every * u, kind="slow", slowdown=0.5, detection=fixed(found * u))


TIES = {
    "done at a failure": Tie(lambda u: job(u, (1, 0, 0), drill("a", 24 * u), work=24), 24, 24, {}, is_done=True),
    "done at the horizon": Tie(
        lambda u: job(u, (7, 2, 1), work=21, horizon=25), 25, 21, {("checkpoint", "checkpoint"): 4.0}, is_done=True
    ),
    "durable at a failure": Tie(
        # Blocked from 7 to 9; struck at 9, when the save is durable.
        lambda u: job(u, (7, 2, 2), drill("a", 9 * u), horizon=10),
        10,
        7,
        {("checkpoint", "checkpoint"): 2, ("horizon", "rework"): 1},
    ),
    "durable behind, at a failure": Tie(
        lambda u: job(u, (7, 3, 1), drill("a", 10 * u), horizon=11),
        11,
        7,
        {("checkpoint", "checkpoint"): 1, ("a", "rework"): 2, ("horizon", "rework"): 1},
    ),
    "durable at the horizon": Tie(
        lambda u: job(u, (7, 3, 1), horizon=10), 10, 7, {("checkpoint", "checkpoint"): 1, ("horizon", "rework"): 2}
    ),
    "a failure at the end of startup": Tie(
        # The start of 3 + 2 went well, so that the next one pays 3 only: to 8, and then the job trains.
        lambda u: job(
            u,
            (100, 0, 0),
            drill("a", 5 * u),
            startup=3,
            horizon=9,
            recovery={"startup_if_replaced": (("image", fixed(2 * u)),)},
        ),
        9,
        0,
        {("start", "startup"): 5, ("a", "startup"): 3, ("horizon", "rework"): 1},
    ),
    "a failure at the end of restore": Tie(
        # The second node is lost at 22, when the restore has ended: the local save of 10 survives one loss at a time.
        lambda u: job(
            u,
            (100, 0, 0),
            drill("a", 11 * u, nodes_lost=exactly(1.0)),
            startup=10,
            horizon=23,
            saves={"local": LocalTier(100.0, 0.0, 0.0, fixed(1 * u), 1.0)},
        ),
        23,
        1,
        {("start", "startup"): 10, ("a", "startup"): 11, ("a", "restore"): 1},
    ),
    "two failures at once": Tie(
        # Both strike at 6: the first in the file first, the other one at once in the startup after it.
        lambda u: job(
            u, (4, 0, 0), drill("b", 6 * u, detection=fixed(2 * u)), drill("a", 6 * u, detection=fixed(u)), horizon=10
        ),
        10,
        4,
        {("b", "rework"): 2, ("b", "detection"): 2, ("a", "detection"): 1, ("horizon", "rework"): 1},
    ),
    "the longest attempt and a failure": Tie(
        # The planned stop after 5 at risk, with work 4, comes first, and its save takes no time; the failure strikes
        # the next start.
        lambda u: job(
            u,
            (100, 0, 0),
            drill("a", 5 * u, detection=fixed(u)),
            startup=1,
            horizon=9,
            queue=1,
            recovery={"max_attempt_s": 5 * u},
        ),
        9,
        4,
        {
            ("start", "queue"): 1,
            ("start", "startup"): 1,
            ("planned", "queue"): 1,
            ("a", "detection"): 1,
            ("a", "queue"): 1,
        },
    ),
    "a slow node is found as a save is due": Tie(
        # Slow at 6 with work 6, found at 10 with work 8, when a save of 8 takes no time.
        lambda u: job(u, (8, 0, 0), slow("a", u, 6, 4), horizon=11),
        11,
        8,
        {("a", "degraded"): 2, ("horizon", "rework"): 1},
    ),
    "a write ends as the next save begins": Tie(
        # Written from 5 to 10, when the next save begins; struck then.
        lambda u: job(u, (5, 5, 0), drill("a", 10 * u), horizon=11),
        11,
        5,
        {("a", "rework"): 5, ("horizon", "rework"): 1},
    ),
    "detection ends at the horizon": Tie(
        lambda u: job(u, (4, 0, 0), drill("a", 6 * u, detection=fixed(4 * u)), horizon=10),
        10,
        4,
        {("a", "rework"): 2, ("a", "detection"): 4},
    ),
}


def lost(params: Params, lives: Timelines) -> dict[tuple[str, str], float]:
    """Return the first timeline's lost seconds by (row, activity), where there are any."""
    rows, table = cause_rows(tuple(cause.name for cause in params.causes)), lives.lost_s[0]
    some = zip(*np.nonzero(np.abs(table) > 1e-9 * lives.elapsed_s[0]), strict=True)
    return {(rows[i], ACTIVITIES[j]): float(table[i, j]) for i, j in some}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TIES)
def test_ties(name: str, engine: str) -> None:
    tie = TIES[name]
    for unit_s in UNITS if engine != "second" else UNITS[:1]:
        params = tie.job(unit_s)
        assert not [problem for problem in refusals(params, Cells(params)) if problem.level == "error"]
        lives = ENGINES[engine](params, 0, 0, 1)
        assert lost(params, lives) == pytest.approx({key: value * unit_s for key, value in tie.lost.items()})
        assert lives.elapsed_s[0] == pytest.approx(tie.elapsed * unit_s)
        assert lives.productive_s[0] == pytest.approx(tie.productive * unit_s, abs=1e-9)
        assert (lives.outcome[0] == Outcome.DONE) == tie.is_done


@pytest.mark.parametrize("engine", ["reference", "fast"])
def test_times_further_apart_than_roundings_are_two_moments(engine: str) -> None:
    # The save of work 7 is durable at 10, just after the failure.
    params = job(1.0, (7, 3, 1), drill("a", 10.0 * (1.0 - 10.0 * MOMENT)), horizon=11)
    assert ENGINES[engine](params, 0, 0, 1).productive_s[0] == 0.0


def test_the_order_is_that_of_the_documentation() -> None:
    text = (CASES.parents[1] / "docs" / "model.md").read_text()
    paragraph = " ".join(text[text.index("**Simultaneous events.**") :].split("\n\n")[0].split())
    places = [paragraph.find(event.what) for event in EVENTS]
    assert -1 not in places
    assert places == sorted(places)


def test_an_event_without_a_place_is_refused() -> None:
    with pytest.raises(KeyError, match="eclipse"):
        in_order({"failure": [1], "eclipse": [2]})


def case(name: str, **changes: Any) -> Params:
    return compile_params(load(CASES / f"{name}.yaml").replace(changes))


WITHOUT = {"checkpoint.local.holds_main": False}
BY_HAND: dict[str, tuple[Params, float, float]] = {
    # ETTR and hours: all work is durable at the very failure.
    "ties": (case("ties"), 1.0, 24.0),
    # The save of work 20 min begins at 20 min 1 s, and its copy is there at the strike at 22 min. It is read in a
    # second and saved again at once (stall 1 s), until 31 min 1 s; then the last save takes 9 min.
    "local_equals_main_every": (case("local_equals_main_every"), 1500.0 / 2401.0, 2401.0 / 3600.0),
    # Without copies each attempt but the first begins at work 10 min, and loses what it does.
    "local_equals_main_every, no copies": (case("local_equals_main_every", **WITHOUT), 600.0 / 18_000.0, 5.0),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", BY_HAND)
def test_cases_by_hand(name: str, engine: str) -> None:
    params, ettr, hours = BY_HAND[name]
    lives = ENGINES[engine](params, 0, 0, 1)
    assert lives.elapsed_s[0] / 3600.0 == pytest.approx(hours)
    assert lives.productive_s[0] / lives.elapsed_s[0] == pytest.approx(ettr)


MEANS = {
    # Steps in NumPy gave these, with standard errors of 0.0005 to 0.002; the first is the second simulator's.
    "local_equals_main": (case("local_equals_main"), 0.970),
    "local_equals_main, no copies": (case("local_equals_main", **WITHOUT), 0.8973),
    "main_save_passes_memory": (case("main_save_passes_memory"), 0.965),
    "main_save_passes_memory, no copies": (case("main_save_passes_memory", **WITHOUT), 0.941),
    "verify_with_local": (case("verify_with_local"), 0.955),
}


@pytest.mark.parametrize("name", MEANS)
def test_cases_on_average(name: str) -> None:
    params, expected = MEANS[name]
    fast = jax_timelines(params, 3, 0, 256)
    compare(simulate_timelines(params, 3, 0, 2), _first(fast, 2))
    assert_ratio(fast.productive_s, fast.elapsed_s, expected, detectable=0.004, slack=0.002, what=f"ETTR of {name}")


@pytest.mark.slow
@pytest.mark.parametrize("name", MEANS)
def test_cases_by_the_second_simulator(name: str) -> None:
    params, _ = MEANS[name]
    fast, second = jax_timelines(params, 3, 0, 512), by_twin(params, 4, 0, 64)
    shares = [lives.productive_s / lives.elapsed_s for lives in (second, fast)]
    assert_same_mean(*shares, detectable=0.012, what=f"ETTR of {name}")


def _first(lives: Timelines, n: int) -> Timelines:
    return Timelines(**{name: getattr(lives, name)[:n] for name in Timelines.__dataclass_fields__})
