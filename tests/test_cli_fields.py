"""The commands that tell what can be written, completion by the shell, and help that fits narrow terminals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import run_apart, run_here

from mcettr.cli import app, complete
from mcettr.scenario.catalogue import entries
from mcettr.scenario.json_schema import json_schema
from tests.cli_output import Capture

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]


def test_init_writes_a_scenario_that_check_takes(capsys: Capture, tmp_path: Path) -> None:
    code, out, err = run_here(capsys, "init")
    assert (code, err) == (0, "")
    path = tmp_path / "job.yaml"
    path.write_text(out, encoding="utf-8")
    assert run_here(capsys, "check", str(path))[0] == 0


def test_schema_is_json(capsys: Capture) -> None:
    code, out, _ = run_here(capsys, "schema")
    assert code == 0
    assert json.loads(out) == json_schema()


def test_fields(capsys: Capture) -> None:
    found = json.loads(run_here(capsys, "fields", "--json")[1])["fields"]
    assert [one["path"] for one in found] == [entry.dotted for entry in entries()]
    (stall,) = json.loads(run_here(capsys, "fields", "failures.node.rate", "--json")[1])["fields"]
    assert (stall["default"], stall["required"], stall["example"]) == (None, False, "6.5 / 1000 node-days")
    assert "checkpoint.stall: how much of the write" in run_here(capsys, "fields", "stall")[1]
    assert "ettr_occupied: productive over held time" in run_here(capsys, "fields", "--results", "occupied")[1]
    assert (
        json.loads(run_here(capsys, "fields", "--results", "ettr_occupied", "--json")[1])["results"][0]["unit"] == "1"
    )
    code, out, err = run_here(capsys, "fields", "wriet_time")
    assert (code, out) == (2, "")
    assert "did you mean 'write_time'?" in err


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits(command: str, columns: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = run_here(capsys, command, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= columns


def test_completion() -> None:
    assert complete.sources("rsc-1") == ["rsc-1", "rsc-1-measured"]
    assert "failures.node.rate=" in complete.assignments("failures.node.r")
    words = {"COMP_WORDS": "mcettr run rsc-1 --set job.h", "COMP_CWORD": "4", "_MCETTR_COMPLETE": "complete_bash"}
    done = run_apart(**words)
    assert (done.returncode, done.stdout.split()) == (0, [b"job.horizon="])
