"""What the tests of reports and of the command line share: small results, and a way to run the program."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mcettr
from mcettr.cli import main

Run = Callable[..., tuple[int, str, str]]
SMALL = ("--timelines", "64", "--seed", "3")
SHORT_JOB = ("--set", "job.work=2 d", "--set", "job.horizon=6 d")


@functools.cache
def small_job() -> Any:
    """Return the result of one short job with a deadline."""
    job = mcettr.load("rsc-1").replace({"job.work": "2 d", "job.horizon": "6 d"})
    return mcettr.simulate(job, timelines=64, seed=3, deadlines=["3 d"])


@functools.cache
def small_grid() -> Any:
    """Return the result of a grid with decimals that binary numbers do not hold, and a job that never finishes."""
    job = mcettr.load("rsc-1").replace({"job.work": "2 d", "job.horizon": "6 d"})
    axes = {"job.gpus": [1024, 2_000_000], "checkpoint.write_time": ["0.1 s", "0.3 s", "10 min"]}
    return mcettr.sweep(job, axes, timelines=64, seed=3, deadlines=["3 d", "4 d"])


def run_here(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a command run in this process."""
    code = main(argv)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_apart(*argv: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Return what a command does in a process of its own, with some environment variables."""
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "mcettr", *argv]
    return subprocess.run(command, capture_output=True, env=environment | variables, timeout=120, check=False)
