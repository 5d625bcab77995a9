"""Small jobs for the tests of the second simulator, and what they look at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import Spares
from tests.independent import ACTIVITIES, Timelines, simulate

INF = float("inf")
AT_ONCE, SOON = 1e9, 1e4
NEVER_S = 1e15


def job(
    work_s: float,
    plan: Checkpoint,
    *causes: Cause,
    horizon_s: float = INF,
    queue_s: float = 0.0,
    startup_s: float = 0.0,
    restore_s: float = 0.0,
) -> Params:
    phases = ("first", fixed(0.25 * startup_s)), ("second", fixed(0.75 * startup_s))
    recovery = Recovery(fixed(queue_s), phases, fixed(restore_s))
    return Params(32.0, work_s, horizon_s, plan, causes, recovery)


def blocking(interval_s: float, write_s: float) -> Checkpoint:
    return Checkpoint(interval_s, write_s, write_s)


def drill(name: str, every_s: float, detection_s: float = 0.0, diagnosis_s: float = 0.0) -> Cause:
    return Cause(name, 0.0, every=fixed(every_s), detection=fixed(detection_s), diagnosis=fixed(diagnosis_s))


def blamed(lives: Timelines) -> dict[tuple[str, str], float]:
    """Return the first timeline's lost seconds by (label, activity), where there are any."""
    table = lives.by_cause_s[0]
    return {(lives.labels[i], ACTIVITIES[j]): float(table[i, j]) for i, j in zip(*np.nonzero(table), strict=True)}


def assert_budget_closes(lives: Timelines) -> None:
    total = sum(lives.activity_s.values())
    np.testing.assert_allclose(total, lives.elapsed_s, rtol=1e-9)
    lost = lives.by_cause_s.sum(axis=(1, 2))
    np.testing.assert_allclose(lost, lives.elapsed_s - lives.activity_s["productive"], rtol=1e-9, atol=1e-6)


def life_of(params: Params, **changes: Any) -> Timelines:
    """Return one life of a job of four nodes, in some respects changed."""
    lives = simulate(replace(params, n_nodes=4.0, **changes), 1, seed=0)
    assert_budget_closes(lives)
    return lives


def recovering(params: Params, **changes: Any) -> Params:
    return replace(params, recovery=replace(params.recovery, **changes))


def open_ended(*causes: Cause, horizon_s: float = 1e4, **changes: Any) -> Params:
    """Return a job that is always at risk: it neither saves nor needs any time to restart."""
    return replace(job(INF, blocking(INF, 1.0), *causes, horizon_s=horizon_s), n_nodes=4.0, **changes)


def approx(seconds: dict[tuple[str, str], float]) -> Any:
    return pytest.approx({key: value for key, value in seconds.items() if value}, abs=2e-3)


def spares(policy: Any, **changes: Any) -> Spares:
    return replace(Spares(1.0, 2.0, 1.0, NEVER_S, NEVER_S, when_exhausted=policy), **changes)
