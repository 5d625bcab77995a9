"""What the README shows works, run small."""

import re
import shlex
from pathlib import Path

import pytest

from mcettr.cli import main

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.splitlines() if line.startswith("mcettr ")]


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


def test_scenario(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(next(block for kind, block in BLOCKS if kind == "yaml"), encoding="utf-8")
    assert main(["run", str(path), "--timelines", "64", "--quiet"]) == 0


def test_python() -> None:
    names: dict[str, object] = {}
    exec(next(block for kind, block in BLOCKS if kind == "python"), names)
    assert names["surface"].ettr.sizes == {"write_time": 2, "rate": 2}  # type: ignore[attr-defined]
