"""Short timelines by hand: jobs, and what is blamed for the time they lose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mcettr.engine.draws import Draws
from mcettr.engine.reference import Timeline, simulate_timeline
from mcettr.engine.timeline.life import Life
from mcettr.engine.timeline.ready import ready
from mcettr.kernels import streams
from mcettr.model.budget import ACTIVITIES, cause_rows
from mcettr.model.counts import ALL, Counts, exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Maintenance,
    Profile,
    Repeat,
    ReplicaGroups,
    Retention,
    Spares,
    StartFailure,
)

INF = float("inf")
EXP = Distribution("exponential", (200.0,))


def at(name: str, every_s: float, **more: Any) -> Cause:
    """Return a cause that strikes whenever this much time at risk has passed."""
    return Cause(name, 0.0, every=fixed(every_s), **more)


def job(
    *causes: Cause, work_s: float = INF, horizon_s: float = 1e9, plan: Checkpoint | None = None, **more: Any
) -> Params:
    names = {"queue_wait", "startup", "restore", *Recovery.__dataclass_fields__}
    recovery = Recovery(**{name: more.pop(name) for name in list(more) if name in names})
    return Params(8.0, work_s, horizon_s, plan or Checkpoint(100.0, 0.0, 0.0), causes, recovery, **more)


def blamed(params: Params, life: Timeline) -> dict[tuple[str, str], float]:
    """Return the lost seconds by (row, activity), where there are any."""
    rows = cause_rows(tuple(cause.name for cause in params.causes))
    assert sum(life.activity_s.values()) == pytest.approx(life.elapsed_s, rel=1e-9)
    return {(rows[i], ACTIVITIES[j]): float(life.lost_s[i, j]) for i, j in zip(*np.nonzero(life.lost_s), strict=True)}


def run(params: Params) -> tuple[Timeline, dict[tuple[str, str], float]]:
    life = simulate_timeline(params, 0, 0)
    return life, blamed(params, life)


def full(rng: np.random.Generator) -> Params:
    """Return a job with many mechanisms at once, busy enough that they meet."""

    def maybe(value: Any, other: Any = None, chance: float = 0.6) -> Any:
        return value if rng.uniform() < chance else other

    groups = rng.uniform() < 0.3
    policy: Any = str(rng.choice(["wait", "queue", *([] if groups else ["shrink"])]))
    spares = maybe(Spares(float(rng.integers(0, 4)), 7.0, 0.6, 900.0, 5000.0, 0.3, 5.0, policy))
    local = maybe(LocalTier(4.0, 10.0, 2.0, fixed(3.0), float(rng.integers(0, 3))), chance=0.5)
    checks = maybe(50.0)
    checks_p = 0.5 if checks else None
    repeat = maybe(Repeat(0.4, 200.0))
    lemons = maybe(Lemons(0.2, 8.0, 0.5, maybe(0.3)))
    incidents = maybe(Incidents(1e-3, 500.0, 5.0))
    nodes = Counts((1.0, 3.0, ALL), (0.8, 0.95, 1.0))
    causes = (
        Cause(
            "node",
            1e-3,
            nodes_lost=nodes,
            over_evicted=Counts((0.0, 2.0), (0.5, 1.0)),
            repeat=repeat,
            detection=EXP,
            caught_in_check=checks_p,
            caught_in_preflight=maybe(0.5),
            in_incidents=incidents is not None,
            by_lemons=lemons is not None,
        ),
        Cause(
            "job", 1e-4, exposure="job", detection=fixed(20.0), profile=maybe(Profile((0.0, 1e3, 3e3), (2.0, 0.0, 1.0)))
        ),
        Cause(
            "sdc",
            6e-4,
            "silent",
            detection=EXP,
            diagnosis=fixed(9.0),
            nodes_lost=exactly(1.0),
            caught_in_check=checks_p,
        ),
        Cause("slow", 5e-4, "slow", detection=EXP, slowdown=0.4, nodes_lost=exactly(1.0), caught_in_check=checks_p),
        Cause(
            "evict",
            3e-4,
            "preemption",
            notice_s=float(rng.choice([0.0, 20.0, INF])),
            min_lease_s=maybe(300.0),
            nodes_lost=exactly(1.0),
        ),
        Cause("drill", 0.0, every=Distribution("weibull", (3e3, 1.5)), nodes_lost=exactly(1.0)),
    )
    plan = Checkpoint(
        100.0,
        20.0,
        4.0,
        0.3,
        False,
        verify_s=float(rng.choice([0.0, 1.0])),
        local=local,
        retention=maybe(Retention(0.3, float(rng.choice([2.0, INF])), float(rng.choice([5.0, INF])))),
    )
    recovery = Recovery(
        EXP,
        (("a", fixed(20.0)), ("b", EXP)),
        fixed(15.0),
        (("image", fixed(30.0)),),
        None if groups else maybe(StartFailure(0.3, 2.0, fixed(100.0))),
        1e-3,
        spares,
        ReplicaGroups(4.0, 5.0, fixed(25.0)) if groups else None,
        maybe(2000.0),
    )
    return Params(
        8.0, 8e3, 4e4, plan, causes, recovery, n_nodes=8.0, saved_before_s=100.0, incidents=incidents, lemons=lemons,
        maintenance=maybe(Maintenance(5000.0, 300.0, float(rng.choice([0.0, 60.0])))), check_every_s=checks,
    )  # fmt: skip


def life_of(params: Params, max_attempts: int = 1000, timeline: int = 0) -> Life:
    life = Life(ready(params), Draws(0, timeline), [1.0] * len(params.causes), max_attempts)
    life.run()
    return life


def repairs(n: int, mean_s: float) -> list[float]:
    """Return the times between completed repairs of `n` nodes that go to repair together, of one branch."""
    draws = Draws(0, 0)
    return [mean_s * draws.exponential(streams.REPAIR_TIME, k) / (n - k) for k in range(n)]


def pool(count: float, when: Any = "wait", **more: Any) -> Spares:
    return Spares(count, 2.0, 1.0, 300.0, 1.0, when_exhausted=when, **more)
