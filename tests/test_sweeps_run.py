"""The sweep files that ship, run small: each answers the question at its top."""

from pathlib import Path

import numpy as np
import pytest

import mcettr
from mcettr.sweep.spec import load_sweep

FILES = sorted((Path(__file__).parents[1] / "sweeps").glob("*.yaml"))


def run(path: Path):
    spec = load_sweep(path)
    return mcettr.sweep(spec.scenario, spec.axes, deadlines=spec.deadlines, timelines=64, seed=spec.seed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_runs_and_labels(path: Path) -> None:
    result = run(path)
    assert result.ettr.dims == tuple(axis.rsplit(".", 1)[-1] for axis in load_sweep(path).axes)
    assert ((result.ettr > 0) & (result.ettr < 1)).all()
    assert (result.timelines == 64).all()


def test_trade_off_has_its_best_interval_inside() -> None:
    ettr = run(next(path for path in FILES if path.stem == "checkpoint_interval")).ettr
    best = ettr.argmax("interval")
    assert ((best > 0) & (best < ettr.sizes["interval"] - 1)).any()


def test_longer_writes_cost() -> None:
    ettr = run(next(path for path in FILES if path.stem == "write_time_12k")).ettr
    assert (np.diff(ettr) < 0).all()
    assert ettr.sel(write_time=1.0) > 0.9 > ettr.sel(write_time=600.0)


def test_surface_falls_along_every_axis_and_keeps_dates() -> None:
    result = run(next(path for path in FILES if path.stem == "surface"))
    for axis in ("gpus", "write_time", "rate"):
        assert float(result.ettr.isel({axis: 0}).mean()) > float(result.ettr.isel({axis: -1}).mean())
    assert result.completion_high.where(result.completion_probability.isnull()).min() < 0.06  # none of 64 in time
    assert float(result.completion_probability.max()) == 1.0
    chance = result.completion_probability.fillna(0.0)
    assert (chance.isel(deadline=1) >= chance.isel(deadline=0)).all()


def test_spares_shorten_waits_and_slow_repairs_lengthen_them() -> None:
    result = run(next(path for path in FILES if path.stem == "spares"))
    waits = result.spare_wait_probability.fillna(result.spare_wait_probability_high)
    dates = result.completion_probability.fillna(0.0)
    few, many = waits.isel(count=0), waits.isel(count=-1)
    assert (few > 0.2).all()
    assert (many < 0.05).all()
    assert (np.diff(few.transpose("mean")) > 0).all()
    assert (dates.isel(count=-1) >= dates.isel(count=0)).all()
    assert (result.nodes_out_quantile.sel(quantile=0.5, mean=8 * 86_400) >= 1).all()


def test_checks_have_a_best_strictness_inside() -> None:
    ettr = run(next(path for path in FILES if path.stem == "health_checks")).ettr
    diagonal = np.diag(ettr.transpose("duration", "node"))
    assert 0 < int(diagonal.argmax()) < diagonal.size - 1
    assert (ettr.isel(node=0).argmax("duration") == 0).all()
    assert ettr.isel(duration=0).argmax("node") == ettr.sizes["node"] - 1


def test_lemons_make_jobs_fail() -> None:
    on_time = run(next(path for path in FILES if path.stem == "lemons_512")).completion_probability.squeeze("deadline")
    assert float(on_time.sel(fraction=0.012, multiplier=240)) < float(on_time.sel(fraction=0, multiplier=240))
