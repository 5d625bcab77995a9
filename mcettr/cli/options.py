"""Options that several commands take, each defined once."""

from __future__ import annotations

from typing import Annotated

import typer

from mcettr.cli import complete

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", autocompletion=complete.sources, help="A preset, or a .yaml or .toml file. - is stdin."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        autocompletion=complete.assignments,
        help="Another value, as job.gpus=12288; repeatable.",
    ),
]
TimelinesOption = Annotated[
    int | None, typer.Option("--timelines", metavar="N", help="Simulate N timelines (per cell in a sweep).")
]
PrecisionOption = Annotated[
    float | None,
    typer.Option("--precision", metavar="X", help="Stop at this standard error of ettr [default: 0.001]."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", metavar="S", help="Seed of the random draws [default: 0].")]
DeviceOption = Annotated[str, typer.Option("--device", metavar="D", help="auto, cpu, cuda or cuda:I.")]
DeadlineOption = Annotated[
    list[str] | None,
    typer.Option("--deadline", metavar="D", help="Probability to be done by then, as 45d; repeatable."),
]
OutputOption = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write .nc .csv .xlsx .json (.parquet, .zarr need extra packages); repeatable.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Print all there is, not the 15 lines that matter.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No notes and no progress on stderr.")]
VaryOption = Annotated[
    str,
    typer.Option(
        "--vary",
        metavar="PATH[=LO:HI]",
        autocompletion=complete.paths,
        help="The field to vary, and between what values.",
    ),
]
