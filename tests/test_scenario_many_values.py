"""Long axes: each value is checked as `Scenario.replace` checks it, without merging the scenario again."""

from typing import Any

import pytest

from mcettr.errors import ScenarioError
from mcettr.scenario import axes, compile_grid, load
from mcettr.scenario.document import parse_scalar
from mcettr.scenario.scenario import plain_override

LAW = {"lognormal": {"mean": "10 min", "cv": 1.5}}


@pytest.mark.parametrize(
    "text", ["10 s", "6.5 / 1000 node-days", "1e-3 / job-day", "8.8e6 gpu-hours", "5 %", "100 GB/s"]
)
def test_a_quantity_is_the_text_that_yaml_reads(text: str) -> None:
    assert plain_override(text) == parse_scalar(text) == text


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("checkpoint.write_time", ["1 s", "10.5 s", "1 min", "5 min"]),
        ("job.gpus", [8, 1024, 16384]),
        ("failures.node.rate", ["1 / 1000 node-days", "6.5 / 1000 node-days"]),
        ("recovery.queue_wait.lognormal.mean", ["1 min", "10 min"]),
        ("recovery.queue_wait", [LAW, {"lognormal": {"mean": "1 h", "cv": 1.0}}]),
        ("checkpoint.interval", ["10 min", "never", "1 h"]),
    ],
)
def test_values_are_read_as_one_by_one(path: str, values: list[Any]) -> None:
    job = load("rsc-1").replace({"recovery.queue_wait": LAW})
    grid = compile_grid(job, {path: values}).params
    for index, value in enumerate(values):
        alone = compile_grid(job.replace({path: value}), {}).params
        assert alone.checkpoint.write_time_s == grid.checkpoint.write_time_s[index]
        assert alone.checkpoint.interval_s == grid.checkpoint.interval_s[index]
        assert alone.causes[0].rate_per_s == grid.causes[0].rate_per_s[index]
        assert alone.recovery.queue_wait.values[0] == grid.recovery.queue_wait.values[0][index]


def test_a_long_axis_merges_once(monkeypatch: pytest.MonkeyPatch) -> None:
    merged = []
    original = axes.apply_overrides
    monkeypatch.setattr(axes, "apply_overrides", lambda *given: merged.append(given) or original(*given))
    values = [f"{n} ms" for n in range(1, 1001)]
    grid = compile_grid(load("rsc-1"), {"checkpoint.write_time": values})
    assert grid.shape == (1000,)
    assert len(merged) == 1


def test_a_wrong_value_among_many_is_named() -> None:
    values = [*(f"{n} s" for n in range(1, 100)), "100 parsecs"]
    with pytest.raises(ScenarioError, match=r"axis checkpoint.write_time, value 100 parsecs: expected"):
        compile_grid(load("rsc-1"), {"checkpoint.write_time": values})
