"""Laws chosen by index: each lane's duration is that of its own law, and the program does not grow with the laws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mcettr.engine.reference import simulate_timelines
from mcettr.kernels import choice
from mcettr.model.distributions import Distribution, fixed, map_values, sample, tabulate
from mcettr.model.params import Cause, Params
from tests import jobs
from tests.lanes import jax_timelines
from tests.test_cross_engine import SINGLE, compare


@pytest.fixture(autouse=True)
def in_float64() -> Iterator[None]:
    """Let JAX compute in float64."""
    with jax.enable_x64(True):
        yield


def law(number: int) -> Distribution:
    """Return one of six kinds of laws, each number with its own parameters."""
    size = 60.0 + number
    return (
        fixed(size),
        Distribution("exponential", (size,)),
        Distribution("lognormal", (size, 0.5 + 0.01 * number)),
        Distribution("weibull", (size, 0.7 + 0.01 * number)),
        Distribution("uniform", (size, 2.0 * size)),
        Distribution("gamma", (size, 0.4 + 0.01 * number)),
        Distribution("quantiles", (-1.0, 0.5, 1.0 + 0.1 * number, np.log(10.0), np.log(size), np.log(9.0 * size))),
        mixture(number % 3 + 2),
    )[number % 8]


def mixture(n_parts: int) -> Distribution:
    """Return a mixture of exponential and fixed laws, the second part with weight 0."""
    weights = np.arange(1.0, n_parts + 1.0)
    weights[1] = 0.0
    parts = tuple(Distribution("exponential", (9.0 * n,)) if n % 2 else fixed(9.0 * n) for n in range(n_parts))
    return Distribution("mixture", tuple(weights / weights.sum()), parts)


@pytest.mark.parametrize("n_laws", [1, 3, choice.SELECTS, choice.SELECTS + 1, 60])
def test_durations_are_those_of_each_lane_s_law(n_laws: int) -> None:
    laws = [tabulate(law(number + (n_laws == 1) * 7)) for number in range(n_laws)]
    rng = np.random.default_rng(5)
    index, u = rng.integers(0, n_laws, (2, 500)), rng.uniform(size=(2, 500))
    wanted = np.vectorize(lambda i, x: float(np.ravel(sample(laws[i], np.asarray(x)[None]))[0]))(index, u)
    in_blocks = [map_values(one, _in_blocks) for one in laws]
    found = jax.jit(lambda i, x: choice.duration(in_blocks, i, x))(index.astype(np.int32), u)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def _in_blocks(value: Any) -> Any:
    row = np.atleast_1d(np.asarray(value, dtype=np.float64))
    return jnp.broadcast_to(jnp.asarray(row), (2, row.size))


@pytest.mark.parametrize("n_parts", [2, choice.SELECTS + 1, 200])
def test_a_mixture_gives_the_parts_of_the_reference(n_parts: int) -> None:
    mixed = mixture(n_parts)
    u = (np.arange(4096.0) + 0.5) / 4096.0
    wanted = [float(sample(mixed, np.float64(x))) for x in u]
    np.testing.assert_allclose(sample(mixed, u), wanted, rtol=1e-12)
    blocks = map_values(mixed, lambda value: jnp.full((1, 1), value))
    found = jax.jit(lambda i, x: choice.duration([blocks], i, x))(np.zeros((1, u.size), np.int32), u[None])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-9)


def many(n: int) -> Params:
    """Return a job with many causes, of all kinds of laws."""
    base = jobs.three_composed()
    rates = [2e-4 / n * (1.0 + number % 3) for number in range(n)]
    causes = tuple(Cause(f"c{i}", rate, detection=law(i), diagnosis=law(i + 1)) for i, rate in enumerate(rates))
    return replace(base, causes=causes)


@pytest.mark.slow
def test_same_events_with_forty_causes() -> None:
    params = many(40)
    compare(params, simulate_timelines(params, 7, 16, 32), jax_timelines(params, 7, 16, 32), SINGLE)


def test_same_events_with_forty_causes_one_event_at_a_time() -> None:
    params = many(40)
    params = replace(params, recovery=replace(params.recovery, max_attempt_s=40_000.0))
    compare(params, simulate_timelines(params, 7, 16, 32), jax_timelines(params, 7, 16, 32), 1e-9)


def test_the_program_hardly_grows_with_the_laws() -> None:
    def n_operations(n_laws: int) -> int:
        laws = [Distribution("lognormal", (jnp.full((2, 1), 60.0 + n), jnp.full((2, 1), 0.5))) for n in range(n_laws)]
        index, u = np.zeros((2, 64), np.int32), np.full((2, 64), 0.5)
        text = jax.jit(lambda laws, i, x: choice.duration(laws, i, x)).lower(laws, index, u).as_text()
        return text.count("stablehlo.multiply") + text.count("stablehlo.select")

    assert n_operations(200) <= n_operations(choice.SELECTS) + 50
