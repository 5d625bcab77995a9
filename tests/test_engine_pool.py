"""From accounts with spares to estimates: shares, quantiles of whole numbers, longest stretches, uncertain factors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from mcettr.engine.estimates import QUANTILES, Estimates, estimates_of
from mcettr.engine.rates import factors, rate_factors
from mcettr.engine.run import Effort, estimate
from mcettr.engine.tallies import Scale, Tally, add_batch
from mcettr.kernels.account import Account, ByCause, Pool
from mcettr.kernels.moments import Batch, summarise
from mcettr.kernels.streams import SHARED_RATE, draw, seed_key
from mcettr.model.budget import ACTIVITIES
from tests import jobs


@partial(jax.jit, static_argnums=3)
def summarised(lives: Account, amounts: Any, valid: Any, grouped: bool) -> Batch:
    """Return the statistics of accounts without a table by cause, with this table of 5 rows."""
    rows, columns = np.indices((5, 12)).reshape(2, -1).tolist()
    return summarise(lives._replace(by_cause=ByCause(rows, columns, amounts)), valid, grouped)


N_LANES, N_BLOCKS = 64, 8
LAST = 50
"""Timelines of the last block that count."""


def account(rng: np.random.Generator, *, pool: bool) -> Account:
    """Return a made-up account of 8 blocks with one cause."""
    shape = (N_BLOCKS, N_LANES)
    activity_s = rng.uniform(1.0, 100.0, (len(ACTIVITIES), *shape))
    n_swaps = rng.poisson(0.7, shape).astype(float)
    nodes_out = rng.poisson(9.0, shape).astype(float)
    parts = Pool(n_swaps, rng.binomial(n_swaps.astype(int), 0.3).astype(float), nodes_out, nodes_out + 2.0)
    return Account(
        outcome=np.ones(shape, np.int8),
        elapsed_s=activity_s.sum(axis=0),
        activity_s=activity_s,
        n_saves=rng.poisson(50.0, shape).astype(float),
        n_failures=rng.poisson(5.0, shape).astype(float),
        by_cause=ByCause(*np.indices((5, 12)).reshape(2, -1).tolist(), rng.uniform(0.0, 1e3, (60, *shape))),
        longest_stretch_s=10.0 ** rng.uniform(0.5, 6.0, shape),
        pool=parts if pool else None,
    )


def estimated(lives: Account, *, grouped: bool = False, at_once: int = N_BLOCKS) -> Estimates:
    """Return the estimates of one cell, its blocks added some at a time; the last block is not full."""
    tally, scale = Tally.empty(1, 1, 0), Scale(np.ones(1), np.full(1, 1e6), (), grouped)
    n_valid = np.full(N_BLOCKS, N_LANES)
    n_valid[-1] = LAST if not grouped else 48
    for start in range(0, N_BLOCKS, at_once):
        at = slice(start, start + at_once)
        valid = np.arange(N_LANES) < n_valid[at, None]
        with jax.enable_x64(True):
            part = lives._replace(by_cause=None, activity_s=None)  # type: ignore[arg-type]
            cut: Any = jax.tree.map(lambda lanes, at=at: jnp.asarray(lanes[at]), part)
            amounts, activity_s = (jnp.asarray(values[:, at]) for values in (lives.by_cause.amounts, lives.activity_s))
            found = summarised(cut._replace(activity_s=activity_s), amounts, jnp.asarray(valid), grouped)
            batch = Batch(*(None if x is None else np.asarray(x) for x in found))
        add_batch(tally, batch, np.zeros(valid.shape[0], np.int64), n_valid[at], scale)
    return estimates_of(tally, ("node",), scale)


def counted(values: Any, n_last: int = LAST) -> Any:
    """Return the lanes that count, flat."""
    return np.asarray(values).reshape(*np.shape(values)[:-2], -1)[..., : (N_BLOCKS - 1) * N_LANES + n_last]


@pytest.mark.parametrize("at_once", [8, 3])
def test_estimates_are_those_of_the_lanes(at_once: int) -> None:
    lives = account(np.random.default_rng(0), pool=True)
    found, pool = estimated(lives, at_once=at_once), Pool(*map(counted, lives.pool or ()))
    elapsed_s, activity_s = counted(lives.elapsed_s), counted(lives.activity_s)
    n = elapsed_s.size
    share = pool.n_exhausted.sum() / pool.n_swaps.sum()
    error = np.std(pool.n_exhausted - share * pool.n_swaps, ddof=1) / pool.n_swaps.mean() / np.sqrt(n)
    assert found.values["spare_wait_probability"][0] == pytest.approx(share, rel=1e-12)
    assert found.se["spare_wait_probability"][0] == pytest.approx(error, rel=1e-9)
    np.testing.assert_allclose(found.values["time_fraction"][0], activity_s.sum(axis=1) / elapsed_s.sum())
    held_s = elapsed_s - activity_s[ACTIVITIES.index("queue")] - activity_s[ACTIVITIES.index("maintenance")]
    assert found.values["ettr_occupied"][0] == pytest.approx(activity_s[0].sum() / held_s.sum(), rel=1e-12)
    assert found.values["productive_s"][0] == pytest.approx(activity_s[0].mean(), rel=1e-12)
    assert found.values["nodes_out_mean"][0] == pytest.approx(pool.nodes_out.mean(), rel=1e-12)
    table = counted(lives.by_cause.amounts).reshape(5, 12, n)
    np.testing.assert_allclose(found.values["lost_s"][0], table.mean(axis=2)[:, :11])
    np.testing.assert_allclose(found.values["interruptions_by_cause"][0], table.mean(axis=2)[1:2, 11])
    error = table.std(axis=2, ddof=1) / np.sqrt(n)
    np.testing.assert_allclose(found.se["lost_s"][0], error[:, :11], rtol=1e-9)
    np.testing.assert_allclose(found.se["interruptions_by_cause"][0], error[1:2, 11], rtol=1e-9)


def test_quantiles_of_whole_numbers_are_whole_numbers() -> None:
    lives = account(np.random.default_rng(0), pool=True)
    found = estimated(lives)
    for name, given in (("nodes_out_quantile", "nodes_out"), ("nodes_out_most_quantile", "nodes_out_most")):
        exact = np.quantile(counted(getattr(lives.pool, given)), QUANTILES, method="inverted_cdf")
        np.testing.assert_array_equal(getattr(found, name)[0], exact)
    assert QUANTILES[-1] == 0.999


def test_more_nodes_than_bins_are_the_last_bin() -> None:
    lives = account(np.random.default_rng(0), pool=True)
    assert lives.pool is not None
    many = lives._replace(pool=lives.pool._replace(nodes_out=lives.pool.nodes_out + 1e6))
    assert (estimated(many).nodes_out_quantile == 4095.0).all()  # type: ignore[union-attr]


def test_longest_stretches_are_right_to_half_a_percent() -> None:
    lives = account(np.random.default_rng(0), pool=True)
    exact = np.quantile(counted(lives.longest_stretch_s), QUANTILES, method="inverted_cdf")
    np.testing.assert_allclose(estimated(lives).longest_stretch_quantile_s[0], exact, rtol=0.006)  # type: ignore[index]


def test_what_a_job_has_not_is_none() -> None:
    bare = account(np.random.default_rng(0), pool=False)._replace(longest_stretch_s=None)
    found = estimated(bare)
    assert found.longest_stretch_quantile_s is found.nodes_out_quantile is found.nodes_out_most_quantile is None
    assert not {"spare_wait_probability", "nodes_out_mean"} & set(found.values)


def test_a_job_that_never_needs_a_node_has_no_probability_to_wait() -> None:
    lives = account(np.random.default_rng(0), pool=True)
    assert lives.pool is not None
    none = np.zeros((N_BLOCKS, N_LANES))
    found = estimated(lives._replace(pool=lives.pool._replace(n_swaps=none, n_exhausted=none)))
    assert np.isnan(found.values["spare_wait_probability"][0])
    assert found.values["nodes_out_mean"][0] > 0


def test_groups_are_the_units_of_a_share_of_swaps() -> None:
    lives = account(np.random.default_rng(0), pool=True)
    found = estimated(lives, grouped=True)
    swaps, waits = (counted(part, 48).reshape(-1, 16).sum(axis=1) for part in (lives.pool or ())[:2])
    share = waits.sum() / swaps.sum()
    assert swaps.size == 31  # so few that errors are those of Student's distribution
    wider = special.stdtrit(30, 0.975) / special.ndtri(0.975)
    error = np.std(waits - share * swaps, ddof=1) / swaps.mean() / np.sqrt(swaps.size) * wider
    assert found.values["spare_wait_probability"][0] == pytest.approx(share, rel=1e-12)
    assert found.se["spare_wait_probability"][0] == pytest.approx(error, rel=1e-9)
    elapsed_s = counted(lives.elapsed_s, 48).reshape(-1, 16)
    kept_s = counted(lives.activity_s[0], 48).reshape(-1, 16)
    assert found.values["ettr"][0] == pytest.approx((kept_s.sum(axis=1) / elapsed_s.sum(axis=1)).mean(), rel=1e-12)
    table = counted(lives.by_cause.amounts, 48).reshape(5, 12, -1, 16).mean(axis=3)
    np.testing.assert_allclose(found.values["lost_s"][0], table.mean(axis=2)[:, :11])
    error = table.std(axis=2, ddof=1) / np.sqrt(table.shape[2]) * wider
    np.testing.assert_allclose(found.se["lost_s"][0], error[:, :11], rtol=1e-9)
    assert found.run_to_run_sd is not None
    within = np.sqrt(elapsed_s.var(axis=1, ddof=1).mean())
    assert found.run_to_run_sd["elapsed_s"][0] == pytest.approx(within, rel=1e-9)


def test_a_shared_factor_is_one_draw_for_all_causes() -> None:
    known = jobs.three_smooth(rate_shapes=(jobs.INF, jobs.INF, 7.0))
    drawn = rate_factors(replace(known, rate_shape=4.0), 3, 0, 64)
    own = rate_factors(known, 3, 0, 64)
    u = draw(seed_key(3), np.arange(4, dtype=np.uint32), SHARED_RATE, np.zeros(1, np.uint32)).astype(np.float64)
    shared = np.repeat(special.gammaincinv(4.0, u) / 4.0, 16)
    np.testing.assert_allclose(drawn, own * shared[:, None], rtol=1e-12)
    assert (own[:, :2] == 1.0).all()
    assert len(np.unique(own[:, 2])) == 4
    assert factors(np.empty((0,)), 3, np.arange(5), 4.0).shape == (5, 0)


def test_a_shared_factor_multiplies_every_rate() -> None:
    params = jobs.plain(1e-4, work_s=1e5, interval_s=1e3, write_s=60.0, startup_s=90.0)
    drawn = estimate(replace(params, rate_shape=4.0), Effort(timelines=16, seed=3))
    factor = float(rate_factors(replace(params, rate_shape=4.0), 3, 0, 1)[0, 0])
    causes = tuple(replace(cause, rate_per_s=cause.rate_per_s * factor) for cause in params.causes)
    known = estimate(replace(params, causes=causes), Effort(timelines=16, seed=3))
    for name, values in known.values.items():
        np.testing.assert_allclose(drawn.values[name], values, rtol=1e-6, err_msg=name)
    assert factor != pytest.approx(1.0, abs=0.05)
    assert known.run_to_run_sd is known.rate_uncertainty_sd is None
    assert (
        set(drawn.run_to_run_sd or ()) == set(drawn.rate_uncertainty_sd or ()) == {"ettr", "interruptions", "elapsed_s"}
    )
