"""Exit codes, and errors in one line."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from cli_support import run_here

from mcettr.errors import DeviceError
from tests.cli_output import Capture


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("run rsc-9", "preset 'rsc-9': expected the name of a preset"),
        ("run none.yaml", "none.yaml: expected a readable file"),
        ("run rsc-1 --set job.gpu=8", "did you mean 'job.gpus'?"),
        ("run rsc-1 --set job.gpus=-8", "job.gpus"),
        ("run rsc-1 --set job.gpus", "--set: expected PATH=VALUE"),
        ("run rsc-1 --set checkpoint.write_time=10", "without a unit"),
        ("run rsc-1 --timelines 0", "timelines: expected a whole number from 1"),
        ("run rsc-1 --timelines many", "--timelines"),
        ("run rsc-1 --precision 1", "precision: expected a standard error"),
        ("run rsc-1 --precision nan", "precision: expected a standard error"),
        ("run rsc-1 --timelines 8 --precision 0.1", "found both"),
        ("run rsc-1 --seed -1", "seed: expected"),
        ("run rsc-1 --seed 18446744073709551616", "seed: expected"),
        ("run rsc-1 --set job.horizon=40d --deadline 41d", "expected at most the horizon"),
        ("run rsc-1 --deadline 41", "--deadline: expected a duration"),
        ("run rsc-1 --device cuda:99", "--device"),
        ("run rsc-1 --device tpu", "--device: expected auto, cpu, cuda"),
        ("run rsc-1 -o a.html", "a.html: expected a file ending in"),
        ("run rsc-1 -o nowhere/a.nc", "expected an existing folder"),
        ("run", "Missing argument"),
        ("run rsc-1 --fast", "No such option"),
        ("simulate rsc-1", "No such command"),
        ("sweep rsc-1", "add --axis"),
        ("sweep rsc-1 --axis job.gpus", "--axis: expected PATH=SPEC"),
        ("sweep rsc-1 --axis job.gpus=", "at least one value"),
        ("sweep rsc-1 --axis job.gpus=8,16 --axis job.gpus=8", "found it twice"),
        ("sweep rsc-1 --axis job.gpus=lin:8:16", "expected lin:LOW:HIGH:N"),
        ("sweep rsc-1 --axis job.gpu=8,16", "job.gpu"),
        ("sweep rsc-1 --axis checkpoint.interval=auto,1h", "--axis checkpoint.interval: expected a value of its own"),
        ("sweep rsc-1 --axis checkpoint.stall=1s,10min", "cell stall=10min"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=1.5", "target: ettr"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=0.9 -o a.html", "expected a file ending in .nc"),
        ("solve rsc-1 --vary job.nodes --target ettr=0.9", "--vary: job.nodes"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=0.9 --confidence 2", "--confidence: expected a"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=0.9 --confidence 0.9", "expected uncertain rates"),
        ("solve rsc-1 --vary checkpoint.keep=0:8 --target ettr=0.5", "expected whole numbers LOW:HIGH from 1"),
        ("optimize rsc-1 --vary checkpoint.interval=1h:1s", "vary"),
        ("check rsc-1 --set failures.node.rate=6.5", "without a unit"),
        ("presets --yaml", "--yaml: expected one preset"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    argv: str, expected: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run_here(capsys, *argv.split())
    assert (code, out) == (2, "")
    assert err.startswith("mcettr: error: ")
    assert err.count("\n") == 1
    assert expected in err
    assert list(tmp_path.iterdir()) == []


def test_errors_of_files_name_the_line(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: rsc-1\njob:\n  gpus: 8\n  work: 30\n", encoding="utf-8")
    code, _, err = run_here(capsys, "check", str(path))
    assert code == 2
    assert f"{path}:4: job.work: expected" in err


def test_a_backend_that_fails_is_exit_code_3(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    module = importlib.import_module("mcettr.sweep.run")
    for error in (jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory"), DeviceError("the device is gone")):

        def failing(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(module, "simulate", failing)
        code, out, err = run_here(capsys, "run", "rsc-1")
        assert (code, out) == (3, "")
        assert err.count("\n") == 1
        assert err.startswith("mcettr: error: ")
