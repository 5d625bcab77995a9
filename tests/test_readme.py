"""What the README shows works, run small; the numbers it shows are those that the program gives."""

import re
import shlex
from pathlib import Path

import pytest

import mcettr
from mcettr.cli import main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.splitlines() if line.startswith("mcettr ")]
SHOWN = [block for kind, block in BLOCKS if not kind]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = shlex.split(line, comments=True)[1:]
    argv = [str(ROOT / word) if word.startswith("sweeps/") else word for word in argv]
    if argv[0] in ("run", "sweep", "optimize"):
        argv += ["--timelines", "64"]
    if argv[0] == "solve":
        argv += ["--timelines", "256"]
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 0
    assert all((tmp_path / argv[at + 1]).is_file() for at, word in enumerate(argv) if word == "-o")


def test_the_matrix_is_that_of_its_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    at = next(i for i, block in enumerate(SHOWN) if block.startswith("mcettr sweep rsc-1"))
    assert main(shlex.split(SHOWN[at])[1:]) == 0
    printed = capsys.readouterr().out.splitlines()
    shown = SHOWN[at + 1].splitlines()
    assert printed[1:3] == shown[:2]
    for line, wanted in zip(printed[3:], shown[2:], strict=False):
        label, *values = wanted.split()
        assert line.split()[0] == label
        # both are simulated to a standard error of 0.001
        assert [float(value) for value in line.split()[1:]] == pytest.approx([float(v) for v in values], abs=0.004)


def test_the_answer_is_that_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    at = next(i for i, block in enumerate(SHOWN) if "mcettr solve" in block)
    words = shlex.split(SHOWN[at])
    assert main(words[words.index(".venv/bin/mcettr") + 1 :]) == 0
    pattern = r"checkpoint\.write_time = ([\d.]+) s \(95 % interval: ([\d.]+) s to ([\d.]+) s\)"
    shown, printed = (re.search(pattern, text) for text in (SHOWN[at + 1], capsys.readouterr().out))
    assert shown is not None
    assert printed is not None
    assert [float(value) for value in printed.groups()] == pytest.approx([float(v) for v in shown.groups()], abs=0.3)


def test_scenario(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(next(block for kind, block in BLOCKS if kind == "yaml"), encoding="utf-8")
    assert main(["run", str(path), "--timelines", "64", "--quiet"]) == 0


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(next(block for kind, block in BLOCKS if kind == "python"), names)
    surface = mcettr.read_result(tmp_path / "surface.nc")
    assert surface.ettr.sizes == {"write_time": 2, "rate": 2}
    ettr, probability = (float(word) for word in capsys.readouterr().out.split())
    assert ettr == float(surface.ettr.sel(write_time=10, rate=6.5))
    assert 0.9 < ettr < 0.93
    assert 0.0 <= probability <= 1.0
