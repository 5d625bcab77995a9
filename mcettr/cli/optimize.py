"""`mcettr optimize`: the value of one field with the best ETTR."""

from __future__ import annotations

from mcettr.cli import options as o
from mcettr.cli import session as s
from mcettr.cli.answers import check_answer_files, hand_over, warn
from mcettr.cli.progress import progress

EXAMPLE = "Example:  mcettr optimize rsc-1 --set job.gpus=12288 --vary checkpoint.interval"


def optimize(
    scenario: o.ScenarioArgument,
    vary: o.VaryOption,
    set_: o.SetOption = None,
    timelines: o.TimelinesOption = None,
    seed: o.SeedOption = None,
    device: o.DeviceOption = "auto",
    output: o.JsonFileOption = None,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> int:
    """Find the value of one field with the best ETTR and the range within 0.2 points of it (exit code 1: none is)."""
    from mcettr.report.answer_text import optimize_text
    from mcettr.report.text import terminal_width
    from mcettr.sweep.optimize import optimize as search
    from mcettr.sweep.vary import read_vary

    outputs = check_answer_files(output)
    job = s.load_scenario(scenario, set_)
    chosen = s.choose_device(device)
    warn(job, quiet)
    with progress(quiet, chosen) as report:
        found = search(job, vary=vary, timelines=timelines, seed=seed or 0, device=chosen.name, progress=report)
    unit = read_vary(job, vary).unit
    tree = found.to_json() | {"unit": unit, "seed": seed or 0, "scenario": job.to_dict()}
    hand_over(tree, optimize_text(found, unit, terminal_width()), outputs, json)
    return s.exit_code(found.feasible, found.reason, show=json and not quiet)
