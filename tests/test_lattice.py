"""The engines on scenarios whose numbers come from a small lattice, where faults live: event by event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from mcettr.engine.reference import simulate_timelines
from mcettr.kernels.events import race
from mcettr.model import order
from mcettr.model.params import Params
from tests import lanes, lattice
from tests.speed import often
from tests.test_cross_physics import compare
from tests.test_ties import by_twin

N, N_SLOW, N_SECOND = 256, 4096, 200


@pytest.mark.parametrize("structure", often(lattice.STRUCTURES, "plain", "tiers", "stops"))
def test_the_engines_agree(structure: str) -> None:
    assert not lattice.differences(structure, 0, N)


@pytest.mark.slow
@pytest.mark.parametrize("structure", lattice.STRUCTURES)
def test_the_engines_agree_on_many(structure: str) -> None:
    assert not lattice.differences(structure, 10_240, N_SLOW)


def without_chance(params: Params) -> Params:
    """Return the job without what is drawn at random, and with the order of simultaneous events all that is left."""
    plan, recovery = params.checkpoint, params.recovery
    if plan.retention is not None:
        plan = replace(plan, retention=replace(plan.retention, bad_probability=0.0))
    if recovery.start_failure is not None:
        recovery = replace(recovery, start_failure=replace(recovery.start_failure, probability=0.0))
    causes = tuple(replace(cause, rate_per_s=0.0) for cause in params.causes)
    return replace(params, checkpoint=plan, recovery=recovery, causes=causes, maintenance=None)


@pytest.mark.parametrize("structure", ["drilled", "tiers", "stops"])
def test_the_second_simulator_agrees(structure: str) -> None:
    # Sums of whole seconds are exact, so that what coincides on paper coincides. (Which group is hit it draws.)
    with mock.patch.object(lattice, "UNITS", (1.0,)):
        jobs = [without_chance(lattice.drawn(structure, number)) for number in range(N_SECOND)]
    for params in jobs:
        compare(simulate_timelines(params, 0, 0, 1), by_twin(params, 0, 0, 1))


def test_another_order_shows() -> None:
    def late(found: Any) -> Any:
        candidates = order.in_order(found)
        return [one for one in candidates if one.name != "done"] + [one for one in candidates if one.name == "done"]

    with mock.patch.object(race, "in_order", late), mock.patch.object(lanes, "program", lanes.program.__wrapped__):
        assert lattice.differences("drilled", 0, lanes.FEW_BLOCKS)
