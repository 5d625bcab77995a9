"""`mcettr run`: simulate one scenario."""

from __future__ import annotations

from mcettr.cli import options as o
from mcettr.cli import session as s
from mcettr.cli.answers import check_files, hand_over, keep_inputs
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
    verbose: o.VerboseOption = False,
    quiet: o.QuietOption = False,
) -> int:
    """Simulate one scenario: ETTR, where the time goes, what each cause costs, completion; with standard errors."""
    from mcettr.report.files import check_sizes
    from mcettr.report.run_text import run_text
    from mcettr.report.summary import run_summary
    from mcettr.sweep.run import simulate

    outputs = check_files(output, scenario)
    check_sizes(outputs, 1, len(deadline or ()))
    job = s.load_scenario(scenario, set_)
    keep_inputs(outputs, job)
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
    show = run_text if verbose else run_summary
    return hand_over(result, outputs, json, lambda width: show(result, width))
