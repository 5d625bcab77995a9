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
    chance = result.completion_probability
    assert float(chance.min()) == 0.0
    assert float(chance.max()) == 1.0
    assert (chance.isel(deadline=1) >= chance.isel(deadline=0)).all()
