"""`mcettr sweep`: a labelled grid of scenarios."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcettr.cli import complete
from mcettr.cli import options as o
from mcettr.cli import session as s
from mcettr.cli.answers import check_files, hand_over, keep_inputs
from mcettr.cli.progress import progress
from mcettr.errors import ScenarioError

if TYPE_CHECKING:
    from mcettr.sweep.spec import SweepSpec

EXAMPLE = "Example:  mcettr sweep rsc-1 --axis job.gpus=1024,4096,12288 --axis 'checkpoint.write_time=geom:1s:5min:7'"
SweepArgument = Annotated[
    str,
    typer.Argument(
        metavar="SWEEP", autocompletion=complete.sources, help="A sweep file; with --axis a scenario. - is stdin."
    ),
]
AxisOption = Annotated[
    list[str] | None,
    typer.Option(
        "--axis",
        metavar="PATH=SPEC",
        autocompletion=complete.assignments,
        help="Values as a,b,c or geom:LO:HI:N or lin:LO:HI:N; repeatable.",
    ),
]


def sweep(
    scenario: SweepArgument,
    axis: AxisOption = None,
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
    """Simulate every combination of some fields' values: a labelled grid.

    With --deadline each cell gets at least 1,024 timelines, unless --timelines says otherwise.
    """
    from mcettr.report.files import check_sizes
    from mcettr.report.sweep_text import sweep_summary, sweep_text
    from mcettr.sweep.run import sweep as run_sweep

    outputs = check_files(output, scenario)
    spec = _spec(scenario, axis, set_)
    keep_inputs(outputs, spec.scenario)
    deadlines = deadline or spec.deadlines
    check_sizes(outputs, prod(len(values) for values in spec.axes.values()), len(deadlines))
    own = timelines is not None or precision is not None
    chosen = s.choose_device(device)
    with progress(quiet, chosen) as report:
        result = run_sweep(
            spec.scenario,
            spec.axes,
            timelines=timelines if own else spec.timelines,
            precision=precision if own else spec.precision,
            seed=spec.seed if seed is None else seed,
            device=chosen.name,
            deadlines=deadlines,
            progress=report,
            notes=lambda line: s.notes([line], quiet),
        )
    show = sweep_text if verbose else sweep_summary
    return hand_over(result, outputs, json, lambda width: show(result, width))


def _spec(source: str, axis: list[str] | None, set_: list[str] | None) -> SweepSpec:
    """Return what is to be swept, from a sweep file or from a scenario and the axes on the command line."""
    from mcettr.scenario.document import read_document
    from mcettr.scenario.load import is_file_name
    from mcettr.sweep.spec import SweepSpec, read_sweep

    if axis:
        return SweepSpec(s.load_scenario(source, set_), _axes(axis))
    if source != s.STDIN and not is_file_name(source):
        raise ScenarioError(
            f"{source}: expected a sweep file, or a scenario with --axis, found none; add --axis job.gpus=1024,4096"
        )
    document = s.read_stdin() if source == s.STDIN else read_document(Path(source))
    overrides = s.read_overrides(set_)
    return read_sweep(document, Path(source).parent, overrides, s.origins(overrides))


def _axes(texts: list[str]) -> dict[str, list[Any]]:
    """Return the values of each axis of the command line."""
    from mcettr.sweep.spaced import parse_axis_spec

    axes: dict[str, list[Any]] = {}
    for text in texts:
        path, equals, values = text.partition("=")
        path = path.strip()
        if not equals or not path:
            raise ScenarioError(f"--axis: expected PATH=SPEC, found {text!r}; write it like job.gpus=1024,4096")
        if path in axes:
            raise ScenarioError(f"axis {path}: expected each axis once, found it twice; drop one")
        try:
            axes[path] = parse_axis_spec(values)
        except ScenarioError as error:
            raise error.inside(f"axis {path}") from None
    return axes
