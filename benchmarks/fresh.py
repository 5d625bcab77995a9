"""Fresh processes: nothing is warm but the files that the operating system keeps in memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MB = 1e6


@dataclass(frozen=True)
class Fresh:
    """Wall-clock seconds of a process from start to end, and what it printed."""

    seconds: float
    stdout: str


def run_python(*arguments: str, programs: str = "off") -> Fresh:
    """Run this Python in a new process from the repository's root.

    Parameters
    ----------
    arguments : str
        Of Python.
    programs : str
        Folder in which compiled programs are kept; without it each process compiles all it runs.

    >>> run_python("-c", "print(6 * 7)").stdout
    '42\\n'

    Raises
    ------
    RuntimeError
        The process failed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment["MCETTR_CACHE"] = programs
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return Fresh(seconds, done.stdout)


def peak_bytes() -> int:
    """Return the most memory this process has held so far.

    Linux's own record of the process comes first: getrusage also counts what the parent held when it started it.

    >>> peak_bytes() > 1_000_000
    True
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_bytes
