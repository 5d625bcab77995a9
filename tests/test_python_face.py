"""What a person meets in Python: names, reprs, warnings, selection by what was typed, files of every kind."""

from __future__ import annotations

import functools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from cli_support import SHORT_JOB, SMALL, run_here, small_grid, small_job

import mcettr
from mcettr.errors import OutputError, ScenarioError
from mcettr.report.text import text_table
from tests.cli_output import Capture, parsed

ROOT = Path(__file__).parents[1]
NAMES = {
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "__version__",
    "analytic",
    "check",
    "errors",
    "load",
    "optimize",
    "presets",
    "read_result",
    "simulate",
    "solve",
    "sweep",
    "write_result",
}
JOB = {
    "job": {"gpus": 12288, "work": "10 d"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days"}},
    "checkpoint": {"interval": "auto", "write_time": "1 min"},
    "recovery": {"startup": "5 min"},
}


@functools.cache
def answer(with_date: bool = False) -> Any:
    target = {"completion@12 d": 0.5} if with_date else {"ettr": 0.9}
    return mcettr.solve(JOB, vary="checkpoint.write_time", target=target, timelines=256)


@functools.cache
def best() -> Any:
    return mcettr.optimize(JOB, vary="checkpoint.interval", timelines=64)


def test_the_public_names_are_pinned() -> None:
    assert set(mcettr.__all__) == NAMES
    assert all(getattr(mcettr, name) is not None for name in NAMES)


def test_reprs_are_short() -> None:
    scenario = mcettr.load("llama3-405b")
    assert repr(scenario).startswith("<Scenario: 16384 GPUs, horizon 54 d, ")
    assert "failures: gpu, " in repr(scenario)
    assert "schema_version" in scenario._repr_html_()
    assert repr(answer()).startswith("<SolveResult: checkpoint.write_time = ")
    assert repr(best()).startswith("<OptimizeResult: checkpoint.interval = ")
    for thing in (scenario, answer(), best()):
        assert len(repr(thing)) < 250
        assert "\n" not in repr(thing)
    for found in (answer(), best()):
        assert found._repr_html_().count("<tr>") == 1 + min(5, len(found.table))
    assert "probability" in answer(True)._repr_html_()


def test_html_holds_no_markup_of_the_user() -> None:
    job = mcettr.load({**JOB, "failures": {"node": {"rate": "1 / job-day", "detection": "1 min"}}})
    assert "<pre>" in job._repr_html_()
    assert small_job().mcettr._repr_html_().startswith("<pre>ETTR 0.")
    assert "&gt;=" in answer()._repr_html_()


def test_the_accessor_shows_what_the_command_prints(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = repr(small_job().mcettr)
    assert text.startswith("ETTR 0.")
    assert small_job().mcettr.text(verbose=True).startswith("Metric")
    assert repr(small_grid().mcettr).startswith("ETTR by job.gpus (down)")
    assert small_grid().mcettr.at(gpus=1024).mcettr.text().startswith("By checkpoint.write_time")
    assert repr(xr.Dataset({"a": 1.0}).mcettr).startswith("<mcettr: text: expected a whole result")
    code, out, _ = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *SMALL, "--deadline", "3 d", "--quiet")
    assert (code, out.rstrip("\n")) == (0, text)


@pytest.mark.parametrize(
    "where",
    [
        {"gpus": 1024, "write_time": "0.3 s", "deadline": "4 d"},
        {"gpus": "1024", "write_time": "300 ms", "deadline": "96 h"},
        {"gpus": np.int64(1024), "write_time": 0.1 + 0.2, "deadline": 4 * 86400},
        {"job.gpus": 1024.0, "checkpoint.write_time": 0.3, "deadline": "4 d"},
    ],
)
def test_values_are_selected_as_they_are_typed(where: dict[str, Any]) -> None:
    grid = small_grid()
    wanted = grid.isel(gpus=0, write_time=1, deadline=1)
    xr.testing.assert_identical(grid.mcettr.at(**where), wanted)
    xr.testing.assert_identical(grid.completion_low.mcettr.at(**where), wanted.completion_low)


def test_lists_keep_the_dimension_and_words_are_labels() -> None:
    grid = small_grid()
    assert grid.mcettr.at(write_time=["10 min", "0.1 s"]).write_time.values.tolist() == [600.0, 0.1]
    assert float(grid.mcettr.at(quantile=0.95)["quantile"]) == 0.95
    assert grid.mcettr.at(cause="node", activity="rework").lost_gpu_hours.dims == ("gpus", "write_time")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"write_times": "10 s"}, "did you mean 'write_time'"),
        ({"write_time": "11 min"}, "expected a value that was run, found '11 min'; near it are 0.1 s, 0.3 s, 10 min"),
        ({"write_time": "10"}, "without a unit"),
        ({"write_time": "10 GB"}, "expected a duration"),
        ({"gpus": "1024 s"}, "expected a number without unit"),
        ({"gpus": None}, "expected a value like those of the axis"),
        ({"gpus": True}, "expected a value like those of the axis"),
        ({"cause": "nodes"}, "near it are start, node"),
    ],
)
def test_what_was_not_run_is_refused(where: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as caught:
        small_grid().mcettr.at(**where)
    assert "\n" not in str(caught.value)


def test_warnings_are_those_of_python_at_the_callers_line() -> None:
    odd = mcettr.load(JOB).replace({"failures.node.rate": "0.0065 / 1000 node-days"})
    calls = (
        lambda: mcettr.check(odd),
        lambda: mcettr.simulate(odd, timelines=64),
        lambda: mcettr.sweep(odd, {"job.gpus": [1024]}, timelines=64),
        lambda: mcettr.solve(odd, vary="checkpoint.write_time", target="ettr=0.9", timelines=64),
        lambda: mcettr.optimize(odd, vary="checkpoint.interval", timelines=64),
    )
    for call in calls:
        with pytest.warns(mcettr.ScenarioWarning, match="implausibly low") as caught:
            call()
        assert {Path(warning.filename).name for warning in caught} == {"test_python_face.py"}
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mcettr.simulate(odd, timelines=64, notes=told.append)
    assert any("implausibly low" in line for line in told)


def test_a_sweep_file_runs_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "surface.yaml"
    path.write_text(
        "scenario: rsc-1\nset: {job.work: 2 d, job.horizon: 6 d}\naxes: {job.gpus: [1024, 4096]}\n"
        "deadlines: [3 d]\ntimelines: 64\nseed: 3\n",
        encoding="utf-8",
    )
    for source in (str(path), path):
        result = mcettr.sweep(source)
        assert (result.timelines.values.tolist(), result.sizes["deadline"]) == ([64, 64], 1)
        assert json.loads(result.attrs["provenance"])["seed"] == 3
    other = mcettr.sweep(path, timelines=128, seed=4, deadlines=["4 d", "5 d"])
    assert (other.timelines.values.tolist(), other.sizes["deadline"]) == ([128, 128], 2)
    with pytest.raises(ScenarioError, match="axes: expected axes, or the name of a sweep file"):
        mcettr.sweep("rsc-1")


def test_presets_and_check_answer_in_python() -> None:
    titles = mcettr.presets()
    assert len(titles) == 8
    assert "16,384 H100" in titles["llama3-405b"]
    assert mcettr.presets("rsc-1").fields["failures.node.rate"].status == "published"
    checked = mcettr.check("rsc-1")
    assert "Mean time between failures" in repr(checked)
    assert checked._repr_html_().startswith("<pre>")
    assert checked.to_json()["exact"] is True


@pytest.mark.parametrize("ending", [".nc", ".json", ".csv", ".xlsx"])
@pytest.mark.parametrize("kind", ["ettr", "completion", "optimize"])
def test_answers_are_written_in_every_format(kind: str, ending: str, tmp_path: Path) -> None:
    import openpyxl
    import pandas as pd

    found = best() if kind == "optimize" else answer(kind == "completion")
    path = tmp_path / f"a{ending}"
    mcettr.write_result(found, path)
    name = found.vary.split(".")[-1]
    if ending == ".csv":
        frame = pd.read_csv(path)
        assert all(dtype.kind in "fi" for dtype in frame.dtypes)
        assert frame.columns[0] == f"{name} [s]"
        (row,) = frame[frame["is_answer"] == 1].to_dict("records")
        assert row[f"{name} [s]"] == found.value.estimate
        assert row["ettr"] == found.achieved.ettr
        assert len(frame) == len(found.table) + 1
    elif ending == ".xlsx":
        book = openpyxl.load_workbook(path)
        assert book.sheetnames == ["results", "provenance"]
        assert "answer" in [row[0] for row in book["provenance"].iter_rows(values_only=True)]
    else:
        back = mcettr.read_result(path)
        assert json.loads(back.attrs["answer"])["value"]["estimate"] == found.value.estimate
        assert mcettr.load(_yaml(json.loads(back.attrs["provenance"])["scenario"], tmp_path)) == mcettr.load(JOB)
        assert ("completion_low" in back) == (kind == "completion")


def _yaml(text: str, folder: Path) -> str:
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    return str(folder / "job.yaml")


def test_a_part_of_a_result_is_written_too(tmp_path: Path) -> None:
    part = small_grid()[["ettr"]].isel(gpus=0)
    for ending in (".nc", ".json"):
        mcettr.write_result(part, tmp_path / f"a{ending}")
        xr.testing.assert_identical(mcettr.read_result(tmp_path / f"a{ending}"), part)
    assert set(parsed((tmp_path / "a.json").read_text())) == {"dataset"}


STRANGE: tuple[Any, ...] = (
    None,
    5,
    -1.5,
    "",
    "x y",
    b"rsc-1",
    [],
    [None],
    {},
    {1: 2},
    object(),
    np.zeros(3),
    True,
    print,
)
COMMON = {"seed": 0, "device": "cpu", "engine": "jax", "progress": None, "notes": None, "precision": None}
FINE = {"timelines": (5, None), "seed": (5,), "precision": (None,), "progress": (None, print), "notes": (None, print)}
RUN = {"timelines": 16, "deadlines": [], **COMMON}
CALLS: dict[str, tuple[Any, dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    # the function, arguments that are good, and by argument which of the strange values are no mistake
    "simulate": (mcettr.simulate, {"scenario": JOB, **RUN}, FINE | {"deadlines": ([],)}),
    "sweep": (
        mcettr.sweep,
        {"scenario": JOB, "axes": {"job.gpus": [1024]}, **RUN},
        FINE | {"deadlines": ([],), "seed": (5, None)},
    ),
    "solve": (
        mcettr.solve,
        {"scenario": JOB, "vary": "checkpoint.write_time", "target": "ettr=0.9", "confidence": None, "timelines": 64}
        | COMMON,
        FINE | {"confidence": (None,)},
    ),
    "optimize": (
        mcettr.optimize,
        {"scenario": JOB, "vary": "checkpoint.interval", "timelines": 64, **COMMON},
        FINE,
    ),
    "load": (mcettr.load, {"source": JOB, "overrides": {}}, {"overrides": (None, {})}),
    "replace": (mcettr.load("rsc-1").replace, {"overrides": {}}, {"overrides": ({},)}),
    "check": (mcettr.check, {"scenario": JOB}, {}),
    "presets": (mcettr.presets, {"name": "rsc-1"}, {"name": (None,)}),
    "read_result": (mcettr.read_result, {"path": "a.nc"}, {}),
    "write_result": (mcettr.write_result, {"result": None, "path": "a.nc"}, {}),
}


def _cases() -> list[Any]:
    cases = []
    for name, (_, good, fine) in CALLS.items():
        for argument in good:
            allowed = fine.get(argument, ())
            for value in STRANGE:
                if not any(value is one or (type(value) is type(one) and value == one) for one in allowed):
                    cases.append(pytest.param(name, argument, value, id=f"{name}-{argument}-{str(value)[:12]!r}"))
    return cases


@pytest.mark.parametrize(("name", "argument", "value"), _cases())
def test_wrong_values_are_one_line_of_ours(
    name: str, argument: str, value: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    function, good, _ = CALLS[name]
    arguments = good | ({"result": small_job()} if name == "write_result" else {})
    with pytest.raises(mcettr.errors.McettrError) as caught:
        function(**arguments | {argument: value})
    message = str(caught.value)
    assert message
    assert len(message) < 4_000
    assert len(message.splitlines()) == len(caught.value.errors)


def test_every_public_function_meets_wrong_values() -> None:
    found = {name: getattr(mcettr, name) for name in NAMES}
    functions = {name for name, value in found.items() if callable(value) and not isinstance(value, type)}
    assert functions <= set(CALLS)


def test_wrong_values_inside_mappings_are_refused_too() -> None:
    for axes in ({1: [2]}, {"job.gpus": 5}, {"job.gpus": [[1]]}, {"job.gpus": [object()]}, {"job.gpus": {"geom": 5}}):
        with pytest.raises(ScenarioError):
            mcettr.sweep(JOB, axes, timelines=16)
    for target in ({"ettr": None}, {"ettr": [1]}, {1: 0.5}, {"ettr": 0.5, "x": 1}, {"completion@": 0.5}):
        with pytest.raises(ScenarioError):
            mcettr.solve(JOB, vary="checkpoint.write_time", target=target)
    for deadlines in ([5], [None], [{}], ["x"], {"25 d": 1}, "25 d"):
        with pytest.raises(ScenarioError):
            mcettr.simulate(JOB, timelines=16, deadlines=deadlines)
    with pytest.raises(OutputError, match="expected a result of simulate"):
        mcettr.write_result(xr.Dataset({"a": 1.0}), "a.nc")


def test_a_label_wider_than_the_room_goes_on_below() -> None:
    text = text_table(["Metric", "Value"], [["Mean time between failures, at risk", "2.4 h"]], 40)
    assert max(map(len, text.splitlines())) <= 40
    assert "2.4 h" in text.splitlines()[-1]
