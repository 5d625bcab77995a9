"""`mcettr run`: simulate one scenario."""

from __future__ import annotations

from mcettr.cli import options as o
from mcettr.cli import session as s
from mcettr.cli.answers import hand_over_result
from mcettr.cli.progress import progress

EXAMPLE = "Example:  mcettr run rsc-1 --set job.gpus=12288 --set job.horizon=60d --deadline 45d"


def run(
    scenario: o.ScenarioArgument,
    set_: o.SetOption = None,
    timelines: o.TimelinesOption = None,
    precision: o.PrecisionOption = None,
    seed: o.SeedOption = None,
    device: o.DeviceOption = "auto",
    deadline: o.DeadlineOption = None,
    output: o.OutputOption = None,
    json: o.JsonOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Simulate one scenario: all metrics with standard errors, losses by cause, completion."""
    from mcettr.report.files import check_outputs
    from mcettr.report.run_text import run_text
    from mcettr.sweep.run import simulate

    outputs = check_outputs(output or ())
    job = s.load_scenario(scenario, set_)
    chosen = s.choose_device(device)
    with progress(quiet, chosen) as report:
        result = simulate(
            job,
            timelines=timelines,
            precision=precision,
            seed=seed or 0,
            device=chosen.name,
            deadlines=deadline or (),
            progress=report,
            notes=lambda line: s.notes([line], quiet),
        )
    hand_over_result(result, outputs, json, run_text)
