"""Quantiles and spreads: what histograms hide, the extremes and the exact zeros put right."""

import numpy as np
import pytest

from mcettr.engine.estimates import QUANTILES
from mcettr.engine.run import Effort, estimate
from tests import jobs
from tests.lanes import jax_timelines

WORK_S = 1e5


def test_a_job_without_chance_has_one_life() -> None:
    result = estimate(jobs.plain(0.0, work_s=WORK_S, interval_s=1e3, write_s=10.0), Effort(timelines=64))
    assert np.ptp(result.ettr_timeline_quantile) == 0.0
    assert result.ettr_timeline_quantile[0, 0] == pytest.approx(1e3 / 1010.0, rel=1e-12)
    assert result.completion_time_s[0, 0] == pytest.approx(101e3, rel=1e-12)
    assert result.interruptions_sd[0] == 0.0


def test_what_never_progresses_is_zero() -> None:
    params = jobs.plain(1e-2, work_s=WORK_S, interval_s=WORK_S, write_s=0.0, horizon_s=1e6)
    result = estimate(params, Effort(timelines=64))
    assert (result.ettr_timeline_quantile == 0.0).all()
    assert np.isinf(result.completion_time_s).all()


def test_zeros_are_counted_and_the_rest_interpolated() -> None:
    # Work of 5 mean times to failure, nothing saved before the end (V1.25): most lives end with nothing.
    params = jobs.plain(5.0 / WORK_S, work_s=WORK_S, interval_s=WORK_S, write_s=0.0, horizon_s=50.0 * WORK_S / 5.0)
    result = estimate(params, Effort(timelines=8192))
    share_done = float(result.finished_fraction[0])
    quantile = dict(zip(QUANTILES, result.ettr_timeline_quantile[0], strict=True))
    assert share_done == pytest.approx(0.274, abs=0.03)
    assert quantile[0.5] == 0.0
    lives = jax_timelines(params, 0, 0, 8192)
    exact = np.quantile(lives.productive_s / lives.elapsed_s, [0.8, 0.95], method="inverted_cdf")
    assert [quantile[0.8], quantile[0.95]] == pytest.approx(exact, abs=1e-3)
    assert result.interruptions_sd[0] == pytest.approx(lives.interruptions.sum(axis=1).std(ddof=1), rel=1e-9)
