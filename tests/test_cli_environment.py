"""The program as a process: what it loads, pipes, encodings, colours, terminals and interruption."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import SHORT_JOB, SMALL, run_apart, run_here

COMMANDS = ("run", "sweep", "solve", "optimize", "check", "presets", "doctor")
HEAVY = ("jax", "xarray", "pandas", "h5netcdf", "xlsxwriter", "rich.console")
LOADED = "import sys; from mcettr.cli import main; main(sys.argv[1:]); print(sorted(sys.modules), file=sys.stderr)"
OPTIONS = "--set --timelines --precision --seed --device --deadline --output --json --verbose --quiet"


@pytest.mark.parametrize(
    ("argv", "more"),
    [
        (["--help"], ("numpy", "scipy", "mcettr.scenario")),
        (["run", "--help"], ("numpy", "scipy", "mcettr.scenario")),
        (["check", "rsc-1"], ()),
        (["presets"], ()),
        (["presets", "rsc-1"], ()),
    ],
)
def test_light_commands_load_nothing_heavy(argv: list[str], more: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, *argv], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stderr.replace("'", "").strip("[]\n").split(", "))
    assert "mcettr.cli" in loaded
    assert loaded.isdisjoint({*HEAVY, *more})


@pytest.mark.parametrize(
    "variables",
    [
        {"GITHUB_ACTIONS": "1"},
        {"FORCE_COLOR": "0"},
        {"FORCE_COLOR": "1"},
        {"NO_COLOR": "1"},
        {"TERM": "dumb"},
        {"COLUMNS": "40"},
        {"COLUMNS": "200"},
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=lambda variables: "=".join(next(iter(variables.items()))),
)
def test_help_and_tables_are_plain_text_everywhere(variables: dict[str, str]) -> None:
    shown = run_apart("run", "--help", **variables)
    text = shown.stdout.decode("ascii")
    assert shown.returncode == 0
    assert "\x1b" not in text
    for option in OPTIONS.split():
        assert option in text
    table = run_apart("check", "rsc-1", **variables)
    assert table.returncode == 0
    assert b"\x1b" not in table.stdout + table.stderr
    assert b"ETTR, exact" in table.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_eighty_columns_and_has_an_example(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run_here(capsys, command, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert f"Example:  mcettr {command}" in out
    assert command in run_here(capsys, "--help")[1]


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "--version")
    assert code == 0
    assert out.startswith("mcettr ")


def test_names_beyond_the_encoding_do_not_end_the_program(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: rsc-1\nfailures:\n  'übel-节点': {rate: 1 / job-day}\n", encoding="utf-8")
    argv = ("run", str(path), *SHORT_JOB, *SMALL, "-o", str(tmp_path / "a.json"), "--verbose")
    done = run_apart(*argv, PYTHONIOENCODING="cp1252")
    assert done.returncode == 0
    assert b"\xfcbel-\\u8282\\u70b9" in done.stdout
    written = (tmp_path / "a.json").read_bytes()
    assert written.isascii()
    assert "übel-节点" in json.loads(written)["lost_gpu_hours"]


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "mcettr", "presets", "llama3-405b"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_an_answer_loads_nothing_that_takes_long_and_is_not_needed() -> None:
    words = ["solve", "rsc-1", *SHORT_JOB, "--vary", "checkpoint.write_time", "--target", "ettr=0.9", *SMALL]
    code = (
        f"import sys; from mcettr.cli import main; main({words!r})\n"
        "slow = ('scipy.stats', 'scipy.optimize', 'xarray', 'pandas', 'h5netcdf', 'xlsxwriter', 'numba')\n"
        "print(*(name for name in slow if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
