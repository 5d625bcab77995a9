"""What is told of bad input: all of it, in bounded lines, blamed on what holds it; never a traceback."""

from __future__ import annotations

import io
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import run_here

import mcettr
from mcettr.errors import Mistake, ScenarioError
from mcettr.model.metrics import RESULT_NAMES
from mcettr.scenario import load
from mcettr.sweep.spec import load_sweep
from tests.cli_output import Capture
from tests.scenario_texts import BASE, YAML, refusal, write

_LONG = "x" * 100_000
_MANY_QUANTILES = {"quantiles": {f"0.{i}": f"{i} s" for i in range(10, 99)}}


def told(text: str, folder: Path, name: str = "odd.yaml") -> str:
    """Return what is said of a file, without its name."""
    path = write(folder, name, text)
    return refusal(path).removeprefix(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job: {gpus: !!int 8.5, work: 1 d}", ":1: job.gpus: expected a whole number, found '8.5'"),
        ("job: {gpus: !!float abc, work: 1 d}", ":1: job.gpus: expected a number, found 'abc'"),
        ("job: {gpus: 1_, work: 1 d}", ":1: job.gpus: expected a whole number, found '1_'"),
        ("job: !!map 5", ":1: job: expected a plain value, found '5' with the tag 'map'"),
        ("job: !!seq {gpus: 8}", ":1: job: expected a plain value"),
        ("job: !!set {gpus, work}", ":1: job: expected a plain value, found the tag 'set'"),
        ("job: {gpus: 8, work: 1 d, resumes: !!bool maybe}", "job.resumes: expected a plain value, found 'maybe'"),
        ("job: {gpus: 8, work: 1 d, resumes: !!null 5}", "job.resumes: expected a plain value, found '5'"),
        ("%YAML 1.3\n---\njob: {gpus: 8, work: 1 d}", ":1: expected YAML 1.2, found the directive %YAML 1.3"),
        ("%YAML 1.1\n---\njob: {gpus: 8, work: 12:30}", ":1: expected YAML 1.2, found the directive %YAML 1.1"),
        ("job: {gpus: 12,288, work: 1 d}", "job.gpus: expected a number without a thousands separator, found 12,288"),
        ("job: {gpus: '12,288', work: 1 d}", "write numbers without a thousands separator: '12288'"),
        ("job: {gpus: 8, work: '1,5 d'}", "write a decimal point instead of the comma: '1.5 d'"),
        ("job: {gpus: 8, work: 12:30}", "write '12 h 30 min' or '12 min 30 s'"),
        ("job: {gpus: 8, work: 1e99999999999999999999 d}", ":1: job.work: expected a duration such as '30 d'"),
        ("job: {gpus: 8, work: 9e300 years}", "write one between 1e-300 and 1e300"),
        ("job: {gpus: 8, horizon: 60}", "job.horizon: expected a duration such as '60 d', found 60 without a unit"),
        ("job: {gpus: 8, work: 1 d}\naxes: {job.gpus: [8]}", ":2: expected a scenario, found a sweep file"),
        ("- 1", ": expected a mapping of sections, found a list"),
    ],
)  # fmt: skip
def test_odd_files_are_told_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    found = told(text, tmp_path)
    assert words in found
    assert "\n" not in found


def test_yaml_1_2_by_name_and_anchors_are_read(tmp_path: Path) -> None:
    text = "%YAML 1.2\n---\njob: &a {gpus: 8, work: 1 d}\nfailures: {a: &b {mtbf: 1 h}, c: *b}\n"
    assert list(load(write(tmp_path, "a.yaml", text)).spec.failures) == ["a", "c"]


def test_a_deep_key_of_toml_is_refused(tmp_path: Path) -> None:
    assert "very deep nesting" in told(f"a{'.b' * 500} = 1\n", tmp_path, "deep.toml")


def test_several_mistakes_of_the_text_itself_are_told_together(tmp_path: Path) -> None:
    lines = told("job:\n  gpus: !!int x\n  gpus: 8\n  ? [a]\n  : 3\nfailures: !!set {a}\n", tmp_path).splitlines()
    assert len(lines) == 3 + 1
    assert "duplicated key (line 2)" in lines[1]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0.0065", "write '0.0065 / node-day', or behind it '/ 1000 node-days', '/ gpu-day' or '/ job-day'"),
        ("6.5", "write '6.5 / 1000 node-days', or behind it '/ node-day', '/ gpu-day' or '/ job-day'"),
    ],
)
def test_a_bare_rate_is_asked_per_what_it_is(text: str, advice: str) -> None:
    assert advice in refusal(BASE, {"failures.node.rate": text})


def test_both_forms_of_a_repair_are_shown() -> None:
    for repair in ({"quick": {"share": 0.7, "mean": "1 h"}}, {"mean": "1 d"}, "0 s"):
        text = refusal(BASE, {"recovery.spares": {"count": 3, "repair": repair}})
        assert "'repair: 1 d'" in text
        assert "'repair: {quick: {share: 0.7, mean: 1 h}, slow: {mean: 2 d}}'" in text


_ODD_NAMES = (
    "=1+1",
    "-cmd",
    "a/b",
    "a b",
    "a\nb",
    "\x1b[31m",
    "a\0",
    "",
    " ",
    "a,b",
    "_x",
    "x" * 65,
    '"',
    "../x",
    "é|",
)


@pytest.mark.parametrize("name", _ODD_NAMES, ids=repr)
def test_a_name_that_cannot_stand_everywhere_is_refused(name: str) -> None:
    tree = {**BASE, "failures": {name: {"mtbf": "1 h"}}}
    assert "expected a name of letters, digits, - and _" in refusal(tree)
    phases = {**BASE, "recovery": {"startup": {name: "1 h"}}}
    assert "expected a name of letters, digits, - and _" in refusal(phases)


_TAKEN = ("start", "checkpoint", "planned", "horizon", "health-check", "total", "lemon", "x_se", "x_low")


@pytest.mark.parametrize("name", [*_TAKEN, *sorted(RESULT_NAMES)])
def test_names_of_results_are_refused(name: str) -> None:
    tree = {**BASE, "failures": {name: {"mtbf": "1 h"}}}
    assert f"failures.{name}: expected a name of your own" in refusal(tree)


def test_names_of_letters_digits_and_dashes_are_read() -> None:
    for name in ("node", "nccl-hang", "GPU_2", "8x", "Lüfter", "電源"):
        assert list(load({**BASE, "failures": {name: {"mtbf": "1 h"}}}).spec.failures) == [name]


@pytest.mark.parametrize(
    ("overrides", "where"),
    [
        ({"job.gpus": None}, "override: job.gpus: expected a value"),
        ({"job.work": None}, "override: job: expected work or horizon"),
        ({"failures": 0, "checkpoint.interval": "auto"}, "override: failures: expected a mapping"),
        ({"checkpoint.local": {"interval": "5 min", "write_time": "1 s"}}, "override: checkpoint: expected a fixed"),
    ],
)
def test_overrides_are_blamed_and_not_the_preset(overrides: dict[str, object], where: str) -> None:
    assert refusal("rsc-1", overrides).startswith(where)


def test_the_file_is_blamed_and_not_the_preset(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", "extends: rsc-1\njob:\n  gpus: null\n")
    assert refusal(path).startswith(f"{path}:3: job.gpus: expected a value")
    path = write(tmp_path, "b.yaml", "extends: rsc-1\njob:\n  gpus: 16\n  work: null\n")
    assert refusal(path).startswith(f"{path}:4: job: expected work or horizon")
    path = write(
        tmp_path,
        "c.yaml",
        "extends: rsc-1\nfailures:\n  node: null\nlemons: {cause: node, fraction: 0.1, multiplier: 3}\n",
    )
    assert refusal(path).startswith(f"{path}:4: lemons.cause: expected a cause of failures")
    path = write(tmp_path, "d.yaml", YAML.replace("1024", "-1"))
    assert refusal(path, {"checkpoint.write_time": "70 s"}).startswith(f"{path}:3: job.gpus")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: load({"job": {"gpus": 8, "work": _LONG}}),
        lambda: load({"job": {"gpus": 8, "work": "1 d", _LONG: 3}}),
        lambda: load({"failures": {f"cause-{i}": 3 for i in range(3000)}, "job": {"gpus": 8, "work": "1 d"}}),
        lambda: load({**BASE, "lemons": {"cause": _LONG, "fraction": 0.1, "multiplier": 3}}),
        lambda: load({**BASE, "failures": {_LONG: {"mtbf": "1 h"}}}),
        lambda: load({**BASE, "recovery": {"startup": {"a": {_LONG: 3}}}}),
        lambda: load({**BASE, "recovery": {"restore": {_LONG: {}}}}),
        lambda: load(BASE, {_LONG: 3}),
        lambda: load(BASE, {f"failures.{_LONG}": 3}),
        lambda: load(_LONG),
        lambda: load(f"{_LONG}.yaml"),
        lambda: load({**BASE, "extends": _LONG}),
        lambda: load({**BASE, "job": {"gpus": 10**5000, "work": "1 d"}}),
        lambda: load({**BASE, "job": {"gpus": 8, "work": list(range(100_000))}}),
        lambda: mcettr.sweep(BASE, {"job.gpus": [8, _LONG]}),
        lambda: mcettr.sweep(BASE, {"recovery.restore": ["1 s", _MANY_QUANTILES]}),
        lambda: mcettr.simulate(BASE, deadlines=[_LONG]),
    ],
)  # fmt: skip
def test_every_line_is_bounded(attempt: Any) -> None:
    with pytest.raises(ScenarioError) as caught:
        attempt()
    lines = str(caught.value).splitlines()
    assert len(lines) <= 21
    assert max(map(len, lines)) < 1000


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: load(BASE).replace("job.gpus=8"), "overrides: expected values by dotted path"),  # type: ignore[arg-type]
        (lambda: load(BASE).replace(None), "overrides: expected values by dotted path"),  # type: ignore[arg-type]
        (lambda: load(BASE).replace({1: 2}), "found the path 1"),  # type: ignore[dict-item]
        (lambda: load(BASE).replace({"job.gpus": object()}), "expected a positive whole number"),
        (lambda: load(BASE, overrides="job.gpus=8"), "overrides: expected values by dotted path"),  # type: ignore[arg-type]
        (lambda: load(BASE, overrides=["job.gpus"]), "overrides: expected values by dotted path"),  # type: ignore[arg-type]
        (lambda: load("a\0b.yaml"), "null character"),
        (lambda: load("a\0b"), "expected the name of a preset"),
        (lambda: load({"extends": "a\0b.yaml"}), "expected a file to build on"),
        (lambda: load(b"rsc-1"), "found b'rsc-1' (bytes)"),  # type: ignore[arg-type]
        (lambda: load(None), "found None (NoneType)"),  # type: ignore[arg-type]
        (lambda: load(8), "found 8 (int)"),  # type: ignore[arg-type]
        (lambda: load({"job": {"gpus": {1, 2}, "work": b"1 d"}}), "expected a positive whole number"),
        (lambda: mcettr.sweep(BASE, {1: [2]}), "axes: expected dotted paths"),  # type: ignore[dict-item]
    ],
)
def test_wrong_types_get_an_error_of_ours(attempt: Any, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        attempt()
    assert words in str(caught.value)


def test_a_mapping_inside_itself_is_refused() -> None:
    tree: dict[str, Any] = dict(BASE)
    tree["job"] = tree
    assert "very deep nesting" in refusal(tree)


def test_a_scenario_is_loaded_as_it_is() -> None:
    scenario = load("rsc-1")
    assert load(scenario) == scenario
    assert load(scenario).assumed() == scenario.assumed()
    assert load(scenario, {"job.gpus": 16}).spec.job.gpus == 16.0


def test_all_mistakes_of_a_sweep_file_are_told(tmp_path: Path) -> None:
    text = (
        "scenario: rsc-1\nset: {job.wrk: 3, job.gpus: -1}\naxes:\n  recovery.restore: 3\n  job.horizon: []\nseed: -1\n"
    )
    path = write(tmp_path, "s.yaml", text + "deadlines: [5]\nxx: 1\n")
    with pytest.raises(ScenarioError) as caught:
        load_sweep(path)
    assert [(one.file, one.line) for one in caught.value.errors] == [
        (path, 8), (path, 2), (path, 2), (path, 4), (path, 5), (path, 7), (path, 6)
    ]  # fmt: skip


def test_errors_survive_a_pickle() -> None:
    with pytest.raises(ScenarioError) as caught:
        load({"job": {"gpus": -1, "work": 3}})
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_many_mistakes_are_counted() -> None:
    error = ScenarioError(*(Mistake("expected a number", f"a{i}") for i in range(30)))
    assert str(error).splitlines()[-1] == "and 10 more mistakes"
    assert len(error.errors) == len(error.to_json()["errors"]) == 30


def test_the_command_line_prints_a_line_each_or_json(capsys: Capture, tmp_path: Path) -> None:
    path = write(tmp_path, "bad.yaml", YAML.replace("1024", "-1").replace("60 s", "60"))
    code, out, err = run_here(capsys, "check", path)
    assert (code, out) == (2, "")
    assert [line.split(": ")[:4] for line in err.splitlines()] == [
        ["mcettr", "error", f"{path}:3", "job.gpus"],
        ["mcettr", "error", f"{path}:5", "checkpoint.write_time"],
    ]
    code, out, err = run_here(capsys, "check", path, "--json")
    assert (code, err) == (2, "")
    errors = json.loads(out)["errors"]
    assert [(e["file"], e["line"], e["path"]) for e in errors] == [
        (path, 3, "job.gpus"),
        (path, 5, "checkpoint.write_time"),
    ]
    assert errors[0]["message"] == "expected a positive whole number, found -1; write such a number"


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (("run", "rsc-1", "--deadline", "41"), "--deadline"),
        (("run", "rsc-1", "--timelines", "0"), "--timelines"),
        (("sweep", "rsc-1", "--axis", "job.gpu=8,16"), "--axis job.gpu"),
        (("run", "rsc-1", "--set", "job.gpus=-1"), "job.gpus"),
        (("run", "rsc-1", "--fast"), None),
        (("run",), None),
    ],
)
def test_json_errors_name_the_option(capsys: Capture, argv: tuple[str, ...], path: str | None) -> None:
    code, out, err = run_here(capsys, *argv, "--json")
    assert (code, err) == (2, "")
    (error,) = json.loads(out)["errors"]
    assert error["path"] == path


def test_set_options_are_named_and_all_are_told(capsys: Capture) -> None:
    _, _, err = run_here(capsys, "check", "rsc-1", "--set", "job.gpus=-1", "--set", "job.work=30")
    lines = err.splitlines()
    assert lines[0].startswith("mcettr: error: --set job.gpus=-1: expected a positive whole number")
    assert lines[1].startswith("mcettr: error: --set job.work=30: expected a duration such as '30 d'")
    _, _, err = run_here(capsys, "check", "rsc-1", "--set", "job.work=null")
    assert "--set job.work=null: job: expected work or horizon" in err


def test_the_command_that_fits_is_named(capsys: Capture, tmp_path: Path) -> None:
    sweep = write(tmp_path, "s.yaml", "scenario: rsc-1\naxes: {job.gpus: [8, 16]}\n")
    job = write(tmp_path, "job.yaml", YAML)
    for command in (("check",), ("run",), ("solve", "--vary", "job.gpus", "--target", "ettr=0.9")):
        assert f"run it with `mcettr sweep {sweep}`" in run_here(capsys, command[0], sweep, *command[1:])[2]
    assert f"run it with `mcettr run {job}`" in run_here(capsys, "sweep", job)[2]


def _stdin(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_stdin_is_read(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, YAML.encode())
    code, out, _ = run_here(capsys, "check", "-", "--json")
    assert code == 0
    assert json.loads(out)["gpus"] == 1024
    _stdin(monkeypatch, YAML.replace("1024", "-1").encode())
    assert run_here(capsys, "check", "-")[2].startswith("mcettr: error: stdin:3: job.gpus: expected")
    _stdin(monkeypatch, b"scenario: rsc-1\naxes: {job.gpuss: [8]}\n")
    assert "stdin:2: --axis job.gpuss" in run_here(capsys, "sweep", "-")[2].replace(": axis", ": --axis")
    _stdin(monkeypatch, b"\xff\xfe")
    assert "stdin: expected UTF-8 text" in run_here(capsys, "check", "-")[2]


def test_a_fault_of_the_program_is_not_an_answer(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("mcettr.report.derived.derive", failing)
    code, out, err = run_here(capsys, "check", "rsc-1")
    assert (code, out) == (70, "")
    assert err.splitlines()[-1].startswith("mcettr: error: KeyError: this is a fault of mcettr itself")


@pytest.mark.parametrize(
    "law",
    [
        {"gamma": {"mean": "5 min", "cv": 1e200}},
        {"gamma": {"mean": "5 min", "cv": 1000}},
        {"gamma": {"mean": "5 min", "cv": 1e-9}},
        {"lognormal": {"mean": "5 min", "cv": 1000}},
        {"lognormal": {"median": "5 min", "sigma": 20}},
        {"weibull": {"mean": "5 min", "shape": 0.02}},
        {"weibull": {"mean": "5 min", "shape": 1000}},
        {"weibull": {"scale": "5 min", "shape": 0.02}},
    ],
)
def test_no_exact_answer_is_null(law: dict[str, Any], capsys: Capture) -> None:
    text = json.dumps(law)
    code, out, _ = run_here(capsys, "check", "rsc-1", "--set", f"recovery.startup={text}", "--json", "--quiet")
    if code == 0:
        found = json.loads(out)
        assert not found["exact"] or found["ettr_long_run"] is not None
        assert found["ettr"] is not None or found["simulated"]["ettr"]["value"] is not None
    else:
        assert code == 2
