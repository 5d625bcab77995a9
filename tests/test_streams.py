"""The random numbers: published answers, one layout in NumPy and JAX, and uniforms that never touch 0 or 1."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mcettr.engine.draws import Draws
from mcettr.kernels import streams
from mcettr.kernels.threefry import threefry2x32, uniform
from mcettr.model.distributions import Distribution, sample, tabulate
from tests.statistical import assert_same_counts, assert_same_distribution

WORDS = st.integers(0, 2**32 - 1)
ALL = 0xFFFFFFFF


PI = (0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344)


# Known answers of Random123 (kat_vectors, threefry2x32)
@pytest.mark.parametrize(
    ("rounds", "counter", "key", "expected"),
    [
        (13, (0, 0), (0, 0), (0x9D1C5EC6, 0x8BD50731)),
        (13, (ALL, ALL), (ALL, ALL), (0xFD36D048, 0x2D17272C)),
        (13, *PI, (0xBA3E4725, 0xF27D669E)),
        (20, (0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        (20, (ALL, ALL), (ALL, ALL), (0x1CB996FC, 0xBB002BE7)),
        (20, *PI, (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers(rounds: int, counter: tuple[int, int], key: tuple[int, int], expected: tuple[int, int]) -> None:
    for xp in (np, jnp):
        pairs = (tuple(xp.asarray([word], dtype="uint32") for word in words) for words in (key, counter))
        assert tuple(int(word[0]) for word in threefry2x32(*pairs, rounds)) == expected


def test_numpy_and_jax_draw_the_same_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    timeline, count = rng.integers(0, 2**32, 10_000, dtype=np.uint32), rng.integers(0, 2**24, 10_000, dtype=np.uint32)
    draw = jax.jit(streams.draw, static_argnums=(2, 4))
    single = (streams.FAILURE, streams.RESTORE, streams.startup_purpose(3), streams.rate_purpose(62))
    for purpose in (*single, streams.LEMON_STRIKE, streams.LEMON_EVICTED):
        key = streams.seed_key(2**63 + purpose)
        ours = streams.draw(key, timeline, purpose, count)
        np.testing.assert_array_equal(ours, np.asarray(draw(key, timeline, purpose, count, jnp)))
        assert ours.dtype == np.float32


def test_uniforms_stay_inside() -> None:
    low, high = uniform(np.array([0, ALL], np.uint32))
    assert (float(low), float(high)) == (2.0**-32, 1.0 - 2.0**-24)
    laws = [
        Distribution("exponential", (10.0,)),
        Distribution("lognormal", (10.0, 2.0)),
        Distribution("weibull", (10.0, 0.7)),
        Distribution("uniform", (1.0, 10.0)),
        Distribution("gamma", (10.0, 0.5)),
        Distribution("quantiles", (-1.0, 0.0, 2.0, 0.0, 2.0, 3.0)),
    ]
    laws.append(Distribution("mixture", (0.4, 0.6), (laws[0], laws[1])))
    for law in map(tabulate, laws):
        for dtype in (np.float32, np.float64):
            ends = sample(law, np.array([low, high], dtype))
            assert np.isfinite(ends).all()
            assert 0.0 <= ends[0] < ends[1]
    assert 16.0 < -np.log(np.float64(low)) < 22.5


@given(WORDS)
@settings(deadline=None)  # the first call takes its time
def test_any_word_gives_a_uniform_inside(word: int) -> None:
    for xp in (np, jnp):
        assert 0.0 < float(uniform(xp.asarray([word], dtype="uint32"), xp)[0]) < 1.0


def test_no_two_draws_share_a_word() -> None:
    purposes = [0, 1, 5, streams.startup_purpose(0), streams.every_purpose(0), streams.rate_purpose(0)]
    counts = np.arange(64, dtype=np.uint32)
    seen = set()
    for seed in (0, 1, 2**32):
        for timeline in (0, 1, 2**32 - 1):
            for purpose in purposes:
                draws = streams.draw(streams.seed_key(seed), np.array([timeline], np.uint32), purpose, counts)
                seen |= set(draws.tolist())
    assert len(seen) >= 3 * 3 * len(purposes) * 64 - 2  # of 3,456 words two may round to one float32


def test_purposes_are_bounded() -> None:
    streams.startup_purpose(63)
    for purpose in (streams.startup_purpose, streams.every_purpose):
        with pytest.raises(ValueError, match="too many"):
            purpose(64)
    with pytest.raises(ValueError, match="too many"):
        streams.rate_purpose(112)
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="seed"):
            streams.seed_key(seed)


@pytest.mark.parametrize("along", ["timelines", "counts", "seeds"])
def test_uniforms_are_uniform_and_independent(along: str) -> None:
    n = 40_000
    index = np.arange(n, dtype=np.uint32)
    if along == "timelines":
        u = streams.draw(streams.seed_key(1), index, streams.FAILURE, np.zeros(1, np.uint32))
    elif along == "counts":
        u = streams.draw(streams.seed_key(1), np.zeros(1, np.uint32), streams.FAILURE, index)
    else:
        u = streams.draw((index, np.uint32(0)), np.zeros(1, np.uint32), streams.FAILURE, np.zeros(1, np.uint32))
    assert_same_distribution(u, stats.uniform.cdf, detectable=0.025, what=f"draws along {along}")
    cells = (u[:-1] * 8).astype(int) * 8 + (u[1:] * 8).astype(int)
    pairs = np.bincount(cells[::2], minlength=64)
    assert_same_counts(pairs, np.ones(64), detectable=0.09, what=f"neighbours along {along}")
    with pytest.raises(AssertionError, match="distance"):
        assert_same_distribution(u**1.1, stats.uniform.cdf, detectable=0.025, what="a planted bias")


def test_draws_of_the_reference_are_the_layout() -> None:
    draws, timeline = Draws(9, 1234), np.array([1234], np.uint32)
    for count in (0, 1, 31, 32, 1000):
        expected = streams.draw(streams.seed_key(9), timeline, streams.QUEUE, np.array([count], np.uint32))[0]
        assert draws.uniform(streams.QUEUE, count) == expected
