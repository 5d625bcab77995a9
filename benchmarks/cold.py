"""What a user waits for: whole commands in fresh processes, imports and compilation included, and the second time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.cases import Case
from benchmarks.fresh import run_python
from benchmarks.results_file import arguments, write
from benchmarks.timing import spread

_SOLVE = ("solve", "rsc-1", "--set", "job.gpus=12288", "--vary", "checkpoint.write_time", "--target", "ettr=0.9")
COMMANDS: dict[str, tuple[tuple[str, ...], float | None]] = {
    "help": (("--help",), 0.5),
    "check": (("check", "rsc-1"), None),
    "the 12k-GPU answer": (_SOLVE, 10.0),
}
"""Arguments and the goal in seconds, by name."""
AGAIN: dict[str, tuple[tuple[str, ...], float | None]] = {
    "the 12k-GPU answer": (_SOLVE, 1.5),
    "run llama3-405b": (("run", "llama3-405b"), 2.5),
}
"""The same for commands that find the compiled programs of an earlier start."""

N_TIMELINES, PRESET_GOAL_S = 65_536, 30.0


def command_row(name: str, n_runs: int) -> dict[str, Any]:
    """Return the wall-clock seconds of a command."""
    command, goal_s = COMMANDS[name]
    seconds = [run_python("-m", "mcettr", *command).seconds for _ in range(n_runs)]
    return Case(f"cold, {name}", f"mcettr {' '.join(command)}", "one process", "s", goal_s).row(spread(seconds))


def again_row(name: str, n_runs: int) -> dict[str, Any]:
    """Return the wall-clock seconds of a command from the second time on."""
    command, goal_s = AGAIN[name]
    with tempfile.TemporaryDirectory() as folder:
        _, *seconds = [run_python("-m", "mcettr", *command, programs=folder).seconds for _ in range(n_runs + 1)]
    return Case(f"again, {name}", f"mcettr {' '.join(command)}", "one process", "s", goal_s).row(spread(seconds))


def preset_row(preset: str, n_timelines: int, n_runs: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the wall-clock seconds of a preset's whole command, and what its parts take (in processes of their
    own)."""
    command = ("run", preset, "--timelines", str(n_timelines), "--device", "cpu", "--quiet", "--json")
    job = ("-m", "benchmarks.preset_job", preset, str(n_timelines))
    whole_s, parts = [], []
    for _ in range(n_runs):
        whole_s.append(run_python("-m", "mcettr", *command).seconds)
        parts.append(json.loads(run_python(*job).stdout.splitlines()[-1]))
    compile_s, steady_s = (spread([run[part] for run in parts]).median for part in ("compile_s", "steady_s"))
    size = f"{n_timelines:,} timelines; of it compile {compile_s:.2g} s, simulation {steady_s:.2g} s"
    return Case(f"cold, run {preset}", f"mcettr run {preset}", size, "s", PRESET_GOAL_S).row(spread(whole_s)), parts


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and write the result file."""
    from mcettr.scenario import preset_names

    parser = arguments("cold", __doc__)
    parser.add_argument("--runs", type=int, default=5, help="fresh processes each [%(default)s]")
    parser.add_argument("--timelines", type=int, default=N_TIMELINES, help="of each preset [%(default)s]")
    parser.add_argument("--commands", nargs="*", choices=COMMANDS, default=list(COMMANDS), help="[all]")
    parser.add_argument("--again", nargs="*", choices=AGAIN, default=list(AGAIN), help="[all]")
    parser.add_argument("--presets", nargs="*", choices=preset_names(), default=preset_names(), help="[all]")
    given = parser.parse_args(argv)
    rows, details = [command_row(name, given.runs) for name in given.commands], {}
    rows += [again_row(name, given.runs) for name in given.again]
    for preset in given.presets:
        row, details[preset] = preset_row(preset, given.timelines, given.runs)
        rows.append(row)
    write(given.out, "cold", rows, details)


if __name__ == "__main__":
    main()
