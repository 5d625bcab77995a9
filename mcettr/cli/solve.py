"""`mcettr solve`: the value of one field that meets a target."""

from __future__ import annotations

from typing import Annotated

import typer

from mcettr.cli import options as o
from mcettr.cli import session as s
from mcettr.cli.answers import check_files, hand_over, keep_inputs
from mcettr.cli.progress import progress

EXAMPLE = "Example:  mcettr solve rsc-1 --set job.gpus=12288 --vary checkpoint.write_time --target ettr=0.9"
TargetOption = Annotated[
    str, typer.Option("--target", metavar="NAME=X", help="ettr=0.9, or completion@45d=0.95 (done by then).")
]
ConfidenceOption = Annotated[
    float | None,
    typer.Option("--confidence", metavar="P", help="Meet the target with this probability over uncertain rates."),
]


def solve(
    scenario: o.ScenarioArgument,
    vary: o.VaryOption,
    target: TargetOption,
    confidence: ConfidenceOption = None,
    set_: o.SetOption = None,
    timelines: o.TimelinesOption = None,
    precision: o.PrecisionOption = None,
    seed: o.SeedOption = None,
    device: o.DeviceOption = "auto",
    output: o.OutputOption = None,
    json: o.JsonOption = False,
    verbose: o.VerboseOption = False,
    quiet: o.QuietOption = False,
) -> int:
    """Find the value of one field that meets a target, with its interval; or say why none does (exit code 1)."""
    from mcettr.report.answer_text import solve_text
    from mcettr.sweep.solve import solve as search

    outputs = check_files(output, scenario)
    job = s.load_scenario(scenario, set_)
    keep_inputs(outputs, job)
    chosen = s.choose_device(device)
    with progress(quiet, chosen) as report:
        found = search(
            job,
            vary=vary,
            target=target,
            confidence=confidence,
            timelines=timelines,
            precision=precision,
            seed=seed or 0,
            device=chosen.name,
            progress=report,
            notes=lambda line: s.notes([line], quiet),
        )
    code = hand_over(found, outputs, json, lambda width: solve_text(found, width, verbose))
    return code or s.exit_code(found.feasible, found.reason, show=json and not quiet)
