"""Ctrl-C and SIGTERM end the program at once, wherever it is, and leave no file half written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LONG = ("run", "rsc-1", "--timelines", "50000000", "-o", "a.nc")
BUSY = """
import os, sys, threading, time
from pathlib import Path
from mcettr import cli
from mcettr.report import files, interim

def write(result, path):
    path.write_text("half", encoding="utf-8")
    Path("started").touch()
    {write}

def work():
    try:
        with files.aside(Path("a.json").absolute()) as place:
            write(None, place)
    except KeyboardInterrupt:
        return 130
    return 0

cli.main = work
sys.exit(cli.program())
"""
# Ctrl-C is heard, as at a terminal: where the tests run in the background it is ignored, and by their children too.
# A program of its own does this: what Popen could call in the child makes it fork, which JAX's threads forbid.
HEARS = "import os, signal, sys; signal.signal(2, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"
SLEEPS = "time.sleep(30)"
SWALLOWS = """
    try:
        time.sleep(30)
    except BaseException:
        pass
"""
DEAF = """
    while True:
        try:
            time.sleep(30)
        except BaseException:
            pass
"""
ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


def interrupted(command: list[str], folder: Path, ready: Path | float, number: int) -> tuple[int, str, str, float]:
    """Return exit code, stdout, stderr and how long the end took, of a program that got a signal when it was ready."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    pipe = subprocess.PIPE
    heard = [sys.executable, "-c", HEARS, *command]
    with subprocess.Popen(heard, stdout=pipe, stderr=pipe, text=True, cwd=folder, env=environment) as process:
        if isinstance(ready, Path):
            end = time.monotonic() + 60.0
            while not ready.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
        else:
            time.sleep(ready)
        began = time.monotonic()
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, out, err, time.monotonic() - began


def test_under_nohup_ctrl_c_stays_ignored(tmp_path: Path) -> None:
    code = "import signal; from mcettr import cli; cli.main = lambda: int(signal.getsignal(2) != signal.SIG_IGN)"
    command = [
        "sh",
        "-c",
        'trap "" INT; exec "$@"',
        "sh",
        sys.executable,
        "-c",
        f"{code}; raise SystemExit(cli.program())",
    ]
    assert subprocess.run(command, cwd=tmp_path, timeout=60, env=os.environ, check=False).returncode == 0


@pytest.mark.parametrize(("number", "code", "cache"), [(*ENDS[0], "off"), (*ENDS[1], "on")])
def test_a_run_ends_while_it_compiles_or_simulates(number: int, code: int, cache: str, tmp_path: Path) -> None:
    variables = ["env", "MCETTR_CACHE=off"] if cache == "off" else ["env"]
    command = [*variables, sys.executable, "-m", "mcettr", *LONG]
    found, out, err, took_s = interrupted(command, tmp_path, 4.0, number)
    assert found == code
    assert out == ""
    assert err.splitlines()[-1] == "mcettr: interrupted; no result was written"
    assert list(tmp_path.iterdir()) == []
    assert took_s < 5.0  # a compilation alone takes longer; idle machines need 0.1 s


@pytest.mark.parametrize(("number", "code"), ENDS)
@pytest.mark.parametrize("write", [SLEEPS, SWALLOWS, DEAF])
def test_no_file_is_left_half_written(number: int, code: int, write: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUSY.format(write=write)]
    found, _, err, took_s = interrupted(command, tmp_path, tmp_path / "started", number)
    assert found == code
    assert took_s < 5.0
    left = {path.name for path in tmp_path.iterdir()} - {"started"}
    if write == SWALLOWS:  # the interrupt was lost, and the file was finished: that is said, and is no success
        assert left == {"a.json"}
        assert "interrupted; written before: " in err
    else:
        assert left == set()
        assert write == SLEEPS or "interrupted; no result was written" in err
