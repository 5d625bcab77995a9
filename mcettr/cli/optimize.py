"""`mcettr optimize`: the value of one field with the best ETTR."""

from __future__ import annotations

from mcettr.cli import options as o
from mcettr.cli import session as s
from mcettr.cli.answers import check_files, hand_over, keep_inputs
from mcettr.cli.progress import progress

EXAMPLE = "Example:  mcettr optimize rsc-1 --set job.gpus=12288 --vary checkpoint.interval"


def optimize(
    scenario: o.ScenarioArgument,
    vary: o.VaryOption,
    set_: o.SetOption = None,
    timelines: o.TimelinesOption = None,
    seed: o.SeedOption = None,
    device: o.DeviceOption = "auto",
    output: o.OutputOption = None,
    json: o.JsonOption = False,
    verbose: o.VerboseOption = False,
    quiet: o.QuietOption = False,
) -> int:
    """Find the value of one field with the best ETTR and the range within 0.2 points of it (exit code 1: none is)."""
    from mcettr.report.answer_text import optimize_text
    from mcettr.sweep.optimize import optimize as search

    outputs = check_files(output, scenario)
    job = s.load_scenario(scenario, set_)
    keep_inputs(outputs, job)
    chosen = s.choose_device(device)
    with progress(quiet, chosen) as report:
        found = search(
            job,
            vary=vary,
            timelines=timelines,
            seed=seed or 0,
            device=chosen.name,
            progress=report,
            notes=lambda line: s.notes([line], quiet),
        )
    code = hand_over(found, outputs, json, lambda width: optimize_text(found, width, verbose))
    return code or s.exit_code(found.feasible, found.reason, show=json and not quiet)
