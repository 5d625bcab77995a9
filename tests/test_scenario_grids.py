"""Grids of scenarios as arrays, and errors that name the axis or the cell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mcettr.errors import ScenarioError
from mcettr.scenario import compile_grid, compile_params, load
from mcettr.scenario.leaves import map_numbers
from tests.scenario_numbers import BASE, leaves


def refusal(axes: dict[str, Any], **overrides: object) -> str:
    scenario = load(BASE).replace({path.replace("__", "."): value for path, value in overrides.items()})
    with pytest.raises(ScenarioError) as caught:
        compile_grid(scenario, axes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_grid_is_the_scenarios_of_its_cells() -> None:
    axes = {
        "job.gpus": [1000, 16_384],
        "recovery.restore.lognormal.mean": ["1 min", "2 min", "5 min"],
        "recovery.restore.lognormal.cv": [0.5, 2],
        "failures.node.rate": ["1 / 1000 node-days", "6.5 / 1000 node-days"],
        "job.resumes": [False, True],
    }
    scenario = load(BASE).replace({"recovery.restore": {"lognormal": {"median": "1 min", "sigma": 1}}})
    scenario = scenario.replace(
        {"recovery.restore": {"lognormal": {"mean": "1 min", "cv": 1}}, "checkpoint.interval": "auto"}
    )
    grid = compile_grid(scenario, axes)
    assert grid.shape == (2, 3, 2, 2, 2)
    for index in np.ndindex(grid.shape):
        cell = {path: values[i] for (path, values), i in zip(axes.items(), index, strict=True)}
        alone = compile_params(scenario.replace(cell))
        assert leaves(map_numbers(grid.params, lambda leaf, index=index: float(leaf[index]))) == leaves(alone)


def test_grid_leaves_share_memory_and_have_the_grids_shape() -> None:
    grid = compile_grid(load(BASE), {"job.gpus": [8, 16, 32], "checkpoint.write_time": ["1 s", "2 s"]})
    assert {np.shape(leaf) for leaf in leaves(grid.params)} == {(3, 2)}
    assert grid.params.checkpoint.write_time_s.strides[0] == 0
    assert grid.params.checkpoint.interval_s.strides == (0, 0)
    assert all(leaf.dtype == np.float64 for leaf in leaves(grid.params))


def test_a_surface_validates_values_and_not_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcettr.scenario import axes as module

    calls = []
    real = module.apply_overrides
    monkeypatch.setattr(module, "apply_overrides", lambda *args: calls.append(1) or real(*args))
    spans = {
        "job.gpus": [512 * (i + 1) for i in range(20)],
        "checkpoint.write_time": [f"{i + 1} s" for i in range(20)],
        "failures.node.rate": [f"{1 + 0.45 * i:g} / 1000 node-days" for i in range(20)],
    }
    assert compile_grid(load(BASE), spans).shape == (20, 20, 20)
    assert len(calls) <= 63


def axis(path: str, values: list[Any], **overrides: object) -> tuple[list[float], str, str]:
    scenario = load(BASE).replace({path.replace("__", "."): value for path, value in overrides.items()})
    (made,) = compile_grid(scenario, {path: values}).axes
    assert made.values.dtype == np.float64
    return made.values.tolist(), made.unit, made.name


def test_coordinates_are_the_users_decimals() -> None:
    assert axis("checkpoint.write_time", ["0.1 s", "1 min"]) == ([0.1, 60.0], "s", "write_time")
    assert axis("checkpoint.write_time", ["1.1 ms"])[0] == [0.0011]
    rates = ["0.1 / 1000 node-days", "6.5/1000 node-days", "0.007 / node-day"]
    assert axis("failures.node.rate", rates) == ([0.1, 6.5, 7.0], "1 / 1000 node-days", "rate")
    assert axis("job.gpus", ["8", 16.0, np.int64(32)]) == ([8.0, 16.0, 32.0], "1", "gpus")
    assert axis("job.work", ["1e6 gpu-hours"]) == ([1e6], "gpu-hours", "work")
    assert axis("checkpoint.stall", ["10 %", "20 %"]) == ([10.0, 20.0], "%", "stall")
    assert axis("checkpoint.interval", ["1 h", "never"])[0] == [3600.0, math.inf]
    assert axis("failures.node.mtbf", ["1.8 h"]) == ([6480.0], "s", "mtbf")
    assert axis("job.resumes", [True, False])[0] == [1.0, 0.0]
    laws = [{"gamma": {"mean": "5 min", "cv": 1}}, {"gamma": {"mean": "7 min", "cv": 1}}]
    assert axis("recovery.restore", laws) == ([300.0, 420.0], "s", "restore")


def test_names_of_axes_differ() -> None:
    scenario = load(BASE).replace({"failures.gpu": {"rate": "1 / 1000 gpu-days"}})
    spans = {"failures.node.rate": ["1 / node-day"], "failures.gpu.rate": ["1 / gpu-day"], "job.gpus": [8]}
    assert [made.name for made in compile_grid(scenario, spans).axes] == ["node_rate", "gpu_rate", "gpus"]


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"job.gpus": []}, "axis job.gpus: expected at least one value"),
        ({"job.gpus": "8"}, "expected a list"),
        ({"job.gpus": [8, "8"]}, "expected different values, found 8 and 8"),
        ({"checkpoint.write_time": ["60 s", "1 min"]}, "expected different values, found 60 s and 1 min"),
        ({"job.gpu": [8]}, "did you mean 'job.gpus'?"),
        ({"failures.nod.rate": ["1 / node-day"]}, "did you mean 'failures.node.rate'?"),
        ({"job.gpus": [8, 8.5]}, "axis job.gpus, value 8.5: expected a positive whole number"),
        ({"job.gpus": [8, None]}, "null"),
        ({"checkpoint.write_time": ["5 s", 10]}, "axis checkpoint.write_time, value 10: expected a duration"),
        ({"checkpoint.interval": ["30 min", "0 s"]}, "value 0 s: expected an interval above 0"),
        ({"checkpoint.interval": ["auto", "5 min"]}, "found auto"),
        ({"checkpoint.stall": ["5 s", "5 %"]}, "one kind"),
        ({"failures.node.rate": ["1 / node-day", "1 / gpu-day"]}, "one kind"),
        ({"failures.node.rate": ["1 / job-day"], "failures.node.mtbf": ["1 h"]}, "other axes"),
        ({"failures.node.kind": ["crash", "hang"]}, "expected numbers"),
        ({"recovery.restore": ["5 min", {"exponential": {"mean": "5 min"}}]}, "expected numbers"),
        ({"recovery.restore": [{"exponential": {"mean": "5 min"}}, {"gamma": {"mean": "6 min", "cv": 1}}]}, "one kind"),
        ({"recovery": [{}], "recovery.restore": ["5 min"]}, "expected"),
        ({"checkpoint.write_time": ["100 s", "10 s", "1 s"], "job.gpus": [8, 16]},
         "found 60 s (cell write_time=10 s, gpus=8; 4 of 6 cells)"),
    ],
)  # fmt: skip
def test_axes_refused(axes: dict[str, Any], words: str) -> None:
    overrides = {"checkpoint__stall": "60 s"} if "cell" in words else {}
    assert words in refusal(axes, **overrides)


def test_a_cell_with_company_counts_it() -> None:
    axes = {"checkpoint.write_time": ["100 s", "10 s", "1 s"], "job.gpus": [8, 16]}
    assert refusal(axes, checkpoint__stall="60 s").endswith("(cell write_time=10 s, gpus=8; 4 of 6 cells)")
