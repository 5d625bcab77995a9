"""Sweep files and axis specs: what they mean, and errors with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcettr.errors import ScenarioError
from mcettr.sweep.spaced import parse_axis_spec, spaced
from mcettr.sweep.spec import load_sweep

GOOD = """schema_version: 1
scenario: rsc-1
set: {job.work: 20 d, job.horizon: 40 d}
axes:
  job.gpus: [1024, 4096]
  checkpoint.write_time: {geom: [1 s, 10 min, 3]}
  failures.node.rate: {lin: [1 / 1000 node-days, 10 / 1000 node-days, 4]}
deadlines: [25 d]
precision: 0.001
seed: 7
"""


def _write(folder: Path, text: str, name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_sweep_file(tmp_path: Path) -> None:
    found = load_sweep(_write(tmp_path, GOOD), {"job.gpus_per_node": 4})
    assert found.axes["job.gpus"] == [1024, 4096]
    assert found.axes["checkpoint.write_time"] == ["1 s", "24.4948974278 s", "10 min"]
    assert found.axes["failures.node.rate"][1] == "4 / 1000 node-days"
    assert (found.deadlines, found.precision, found.timelines, found.seed) == (("25 d",), 0.001, None, 7)
    assert found.scenario.text_at("job.work") == "20 d"
    assert found.scenario.text_at("job.gpus_per_node") == "4"


def test_scenarios_beside_the_file_and_inside_it(tmp_path: Path) -> None:
    _write(tmp_path, "job: {gpus: 64, work: 3 d}\n", "mine.yaml")
    beside = load_sweep(_write(tmp_path, "scenario: mine.yaml\naxes: {job.gpus: [8, 16]}\n"))
    inline = load_sweep(_write(tmp_path, "scenario: {job: {gpus: 64, work: 3 d}}\naxes: {job.gpus: [8, 16]}\n"))
    assert beside.scenario == inline.scenario
    assert beside.seed == 0
    toml = 'scenario = "rsc-1"\n[axes]\n"job.gpus" = [8, 16]\n'
    assert load_sweep(_write(tmp_path, toml, "s.toml")).axes == {"job.gpus": [8, 16]}


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("seed: 7", "sead: 7", 10, "did you mean 'seed'?"),
        ("seed: 7", "timelines: 5", 10, "found both"),
        ("seed: 7", "seed: -1", 10, "whole number"),
        ("0.001", "2", 9, "precision: expected"),
        ("version: 1", "version: 2", 1, "schema_version: expected 1"),
        ("rsc-1", "rsc-9", 2, "did you mean"),
        ("rsc-1", "none.yaml", 2, "none.yaml"),
        ("rsc-1", "3", 2, "a preset, a file or sections"),
        ("rsc-1", "{job: {gpus: 8.5}}", 2, "scenario.job.gpus"),
        ("job.work:", "job.wrk:", 3, "did you mean 'job.work'?"),
        ("job.work: 20 d", "job.work: 20", 3, "job.work: expected a duration"),
        ("{job.work: 20 d, job.horizon: 40 d}", "5", 3, "values by dotted path"),
        ("job.work: 20 d", "job.gpus: 8", 3, "an axis too"),
        ("[1024, 4096]", "[]", 5, "axes.job.gpus: expected at least one value"),
        ("[1024, 4096]", "1024", 5, "a list or a spacing"),
        ("[1024, 4096]", "[1024, -1]", 5, "axis job.gpus, value -1"),
        ("job.gpus:", "job.gpuss:", 5, "did you mean 'job.gpus'?"),
        ("[1 s, 10 min, 3]", "[0 s, 10 min, 3]", 6, "above 0"),
        ("[1 s, 10 min, 3]", "[1 s, 10 min, 1]", 6, "2 to"),
        ("[1 s, 10 min, 3]", "[10 min, 1 s, 3]", 6, "lower end first"),
        ("[1 s, 10 min, 3]", "[1 s, 10 GB, 3]", 6, "one kind of unit"),
        ("[1 s, 10 min, 3]", "[1 s, 10 min]", 6, "LOW, HIGH, N"),
        ("[25 d]", "[50 d]", 8, "at most the horizon"),
        ("[25 d]", "[25]", 8, "without a unit"),
        ("job.work: 20 d,", "checkpoint.stall: 30 s, job.work: 20 d,", 3, "cell gpus=1024, write_time=1 s"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    assert old in GOOD
    path = _write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ScenarioError) as caught:
        load_sweep(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}: ")
    assert words in text
    assert "\n" not in text


@pytest.mark.parametrize(("text", "words"), [("scenario: rsc-1\n", "at least one axis"), ("- 1\n", "found a list")])
def test_files_without_axes_or_sections(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        load_sweep(_write(tmp_path, text))


def test_axis_specs() -> None:
    assert parse_axis_spec("1024,4096, 12288") == [1024, 4096, 12288]
    assert parse_axis_spec("{uniform: [1 s, 2 s]}, 5 s") == [{"uniform": ["1 s", "2 s"]}, "5 s"]
    assert parse_axis_spec("lin:0:1:3") == [0, 0.5, 1]
    assert parse_axis_spec("geom:1 s:10 min:2") == ["1 s", "10 min"]
    assert spaced("geom", [512, 131072, 9]) == [512 * 2**i for i in range(9)]
    for bad in ("geom:1 s:10 min", "lin:1 s:2 s:x", "geom:0:1:3"):
        with pytest.raises(ScenarioError):
            parse_axis_spec(bad)


def test_the_sweeps_that_ship() -> None:
    files = sorted((Path(__file__).parents[1] / "sweeps").glob("*.yaml"))
    assert files
    for path in files:
        assert load_sweep(path).axes
