"""Result files: rows of the table, the details behind them, and the machine that gave them."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("mcettr", "numpy", "scipy", "jax", "jaxlib", "xarray", "numba", "simpy")


def arguments(driver: str, summary: str | None) -> argparse.ArgumentParser:
    """Return a parser with what every driver takes: where to write."""
    first_line = (summary or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{driver}", description=first_line)
    parser.add_argument("--out", type=Path, default=RESULTS / f"{driver}.json", help="result file [%(default)s]")
    return parser


def write(path: Path, driver: str, rows: Sequence[dict[str, Any]], details: dict[str, Any]) -> None:
    """Write a result file and print its rows."""
    result = {
        "driver": driver,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "rows": list(rows),
        "details": details,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for row in rows:
        verdict = "met" if row["met"] else "MISSED"
        goal = "" if row["goal"] is None else f"; goal {row['goal_is']} {row['goal']:g}, {verdict}"
        print(f"{row['name']}: {row['median']:.4g} {row['unit']} ({row['min']:.4g} to {row['max']:.4g}){goal}")
    print(f"wrote {path}")


def machine() -> dict[str, Any]:
    """Return what the timings depend on.

    >>> machine()["cores"] >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpu": _cpu(), "cores": cores, "platform": platform.system(), "python": platform.python_version()}


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
