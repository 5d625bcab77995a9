"""A surface of 8,000 cells: engine time to a standard error in every cell, the whole command, and memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import Case
from benchmarks.fresh import MB, run_python
from benchmarks.results_file import arguments, write
from benchmarks.timing import spread

SWEEP = """\
schema_version: 1
scenario: rsc-1
set: {{job.work: 1000 d, job.horizon: 30 d}}
axes:
  job.gpus: {{geom: [512, 131072, {n}]}}
  checkpoint.write_time: {{geom: [1 s, 600 s, {n}]}}
  failures.node.rate: {{lin: [1 / 1000 node-days, 10 / 1000 node-days, {n}]}}
precision: {precision}
"""
"""The interval is left to the preset (auto); the work is so long that every timeline runs into the horizon."""

N = 20
"""Values an axis; the goals are for this size."""

ENGINE_GOALS_S = {0.001: 5.0, 0.0002: 60.0}
COMMAND_GOAL_S = 15.0
_SCENARIO = "rsc-1, 30 d horizon"


def write_sweep(folder: Path, n: int, precision: float) -> Path:
    """Write the sweep file of a surface of n x n x n cells."""
    path = folder / f"surface_{n}.yaml"
    path.write_text(SWEEP.format(n=n, precision=precision), encoding="utf-8")
    return path


def engine_runs(n: int, precision: float, n_runs: int) -> list[dict[str, Any]]:
    """Return what fresh processes took for a surface, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(write_sweep(Path(folder), n, precision))
        command = ("-m", "benchmarks.surface_job", file, repr(precision))
        return [json.loads(run_python(*command).stdout.splitlines()[-1]) for _ in range(n_runs)]


def command_seconds(n: int, precision: float, n_runs: int) -> list[float]:
    """Return wall-clock seconds of the whole command, from a cold process to the file."""
    with tempfile.TemporaryDirectory() as folder:
        file, output = write_sweep(Path(folder), n, precision), Path(folder) / "surface.nc"
        command = ("-m", "mcettr", "sweep", str(file), "--device", "cpu", "--quiet", "-o", str(output))
        seconds = [run_python(*command).seconds for _ in range(n_runs)]
        if not output.stat().st_size:
            raise AssertionError("the command wrote nothing")
        return seconds


def measure(
    n: int, precisions: Sequence[float], memory_sizes: Sequence[int], n_runs: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return rows and details: a surface of n x n x n cells, and peak memory at some other sizes."""
    cells, rows, details = f"{n**3:,} cells", list[dict[str, Any]](), dict[str, Any]()
    for precision in precisions:
        runs = details[f"engine {precision:g}"] = engine_runs(n, precision, n_runs)
        size = f"{cells}, {runs[0]['timelines']:,} timelines, {runs[0]['failures']:.3g} failures"
        engine = Case(f"surface to {precision:g}", _SCENARIO, size, "s", _goal(ENGINE_GOALS_S.get(precision), n))
        rows += [
            engine.row(spread([run["seconds"] for run in runs])),
            Case(f"surface to {precision:g}, failures", _SCENARIO, cells, "failures/s").row(
                spread([run["failures_per_s"] for run in runs])
            ),
        ]
    compiling = [run["compile_s"] for precision in precisions for run in details[f"engine {precision:g}"]]
    rows.append(Case("surface, compile", _SCENARIO, "one job", "s").row(spread(compiling)))
    command = details["command_s"] = command_seconds(n, precisions[0], n_runs)
    name = f"surface to {precisions[0]:g}, whole command"
    case = Case(name, "mcettr sweep FILE -o surface.nc", cells, "s", _goal(COMMAND_GOAL_S, n))
    rows.append(case.row(spread(command)))
    memory = details["memory"] = [engine_runs(size, precisions[0], 1)[0] for size in memory_sizes]
    rows += _memory_rows([*memory, *(run for precision in precisions for run in details[f"engine {precision:g}"])])
    return rows, details


def _goal(goal: float | None, n: int) -> float | None:
    return goal if n == N else None


def _memory_rows(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    by_cells: dict[int, list[float]] = {}
    for run in runs:
        by_cells.setdefault(run["cells"], []).append(run["peak_bytes"] / MB)
    before = Case("memory after importing JAX", "no simulation", "one process", "MB")
    rows = [before.row(spread([run["baseline_bytes"] / MB for run in runs]))]
    for cells, peaks in sorted(by_cells.items()):
        case = Case(f"peak memory, {cells:,} cells", _SCENARIO, "to the first precision or finer", "MB")
        rows.append(case.row(spread(peaks)))
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and write the result file."""
    parser = arguments("surface", __doc__)
    parser.add_argument("--runs", type=int, default=3, help="fresh processes each [%(default)s]")
    parser.add_argument("--n", type=int, default=N, help="values an axis [%(default)s]")
    parser.add_argument("--precisions", type=float, nargs="+", default=list(ENGINE_GOALS_S), help="[0.001 0.0002]")
    parser.add_argument("--memory-sizes", type=int, nargs="*", default=[10, 30], help="values an axis [10 30]")
    given = parser.parse_args(argv)
    rows, details = measure(given.n, given.precisions, given.memory_sizes, given.runs)
    write(given.out, "surface", rows, details)


if __name__ == "__main__":
    main()
