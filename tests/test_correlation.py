"""Failures that come together, at one mean rate: the best interval hardly notices, the spares notice very much."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mcettr.engine.reference import Timelines
from mcettr.model.analytic import best_interval_s
from mcettr.model.counts import Counts, exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import Incidents, Spares
from tests.lanes import jax_timelines
from tests.statistical import assert_same_mean

DAY_S = 86_400.0
NODES_A_DAY = 12.0
REPAIR_DAYS = 1.0
HORIZON_DAYS = 30.0
SAVE_S, START_S = 60.0, 300.0
N = 3072
ALIKE = 0.002
"""Intervals within this ETTR of the best are as good as it."""
SURE = 6.0
"""Standard errors on top of every margin: once in a billion by chance."""
NEARBY = (0.5, 2**0.5, 2.0)
"""Intervals looked at, as multiples of the best one for independent failures."""


def job(*causes: Cause, incidents: Incidents | None = None) -> Params:
    """Return an open-ended job of 512 nodes that is at risk all the time, with more spares than it can need."""
    spares = Spares(math.inf, 0.0, 0.0, REPAIR_DAYS * DAY_S, REPAIR_DAYS * DAY_S)
    recovery = Recovery(startup=(("startup", fixed(START_S)),), spares=spares)
    plan = Checkpoint(math.inf, SAVE_S, SAVE_S)
    return Params(4096.0, math.inf, HORIZON_DAYS * DAY_S, plan, causes, recovery, n_nodes=512.0, incidents=incidents)


def cause(name: str, a_day: float, lost: Counts, **more: object) -> Cause:
    return Cause(name, a_day / DAY_S, nodes_lost=lost, **more)  # type: ignore[arg-type]


ALONE = job(cause("node", NODES_A_DAY, exactly(1.0)))
RACKS = job(
    cause("node", 8.75, exactly(1.0), over_evicted=Counts((0.0, 8.0), (0.99, 1.0))),
    cause("rack", 2.55 / 32.0, exactly(32.0)),
)
"""A fifth of the nodes lost go by domains of 32, and one failure in a hundred evicts eight healthy nodes."""
STORMY = job(
    cause("node", NODES_A_DAY / (1.0 + 7.0 / 11.0), exactly(1.0), in_incidents=True),
    incidents=Incidents(0.1 / DAY_S, DAY_S, 8.0),
)
"""One day in eleven has eight times the failures."""
TOGETHER = {"racks and over-eviction": RACKS, "incidents": STORMY}


@cache
def best_alone_s() -> float:
    """Return the exact best interval for independent failures."""
    return float(best_interval_s(replace(ALONE, recovery=replace(ALONE.recovery, spares=None))))


@cache
def lives_of(name: str, factor: float = 1.0) -> Timelines:
    params = TOGETHER.get(name, ALONE)
    plan = replace(params.checkpoint, interval_s=factor * best_alone_s())
    return jax_timelines(replace(params, checkpoint=plan), 7, 0, N)


def ettr(name: str, factor: float) -> NDArray[np.float64]:
    lives = lives_of(name, factor)
    return np.asarray(lives.productive_s / lives.elapsed_s)


def mean_out() -> float:
    """Return the exact mean of the nodes in repair, from none at the start, at a random instant."""
    lives = HORIZON_DAYS / REPAIR_DAYS
    return NODES_A_DAY * REPAIR_DAYS * (1.0 + math.expm1(-lives) / lives)


def exceeded_alone(count: int) -> float:
    """Return the exact chance that more than some nodes are in repair at a random instant: Poisson at each time."""
    ages = (np.arange(4000) + 0.5) / 4000 * HORIZON_DAYS
    means = -NODES_A_DAY * REPAIR_DAYS * np.expm1(-ages / REPAIR_DAYS)
    return float(stats.poisson.sf(count, means).mean())


@pytest.mark.parametrize("name", ["alone", *TOGETHER])
def test_the_same_number_of_nodes_is_lost(name: str) -> None:
    assert_same_mean(lives_of(name).nodes_out, mean_out(), detectable=2.0, what=f"nodes out, {name}")


def test_independent_losses_have_the_law_of_poisson() -> None:
    out = lives_of("alone").nodes_out
    assert_same_mean(out > 15, exceeded_alone(15), detectable=0.08, what="more than 15 nodes out")
    with pytest.raises(AssertionError, match="is not"):
        assert_same_mean(out > 15, exceeded_alone(12), detectable=0.08, what="more than 15 nodes out, wrongly")


@pytest.mark.parametrize("name", TOGETHER)
def test_spares_that_last_for_independent_losses_do_not_last_for_joint_ones(name: str) -> None:
    enough = next(count for count in range(100) if exceeded_alone(count) < 0.01)
    short = lives_of(name).nodes_out > enough
    error = math.sqrt(float(short.mean() * (1.0 - short.mean())) / N)
    assert short.mean() - SURE * error > 5.0 * 0.01
    assert np.quantile(lives_of(name).nodes_out, 0.99) > 1.7 * enough


@pytest.mark.parametrize("name", TOGETHER)
def test_the_best_interval_hardly_moves(name: str) -> None:
    at_best_alone = ettr(name, 1.0)
    for factor in NEARBY:
        gain = ettr(name, factor) - at_best_alone
        error = float(gain.std(ddof=1)) / math.sqrt(N)
        assert SURE * error < ALIKE, "too few timelines to tell"
        assert gain.mean() + SURE * error < ALIKE
    for factor in (NEARBY[0], NEARBY[-1]):
        loss = at_best_alone - ettr(name, factor)
        assert loss.mean() > ALIKE + SURE * float(loss.std(ddof=1)) / math.sqrt(N)
