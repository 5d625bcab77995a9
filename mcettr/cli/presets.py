"""`mcettr presets`: what ships, with the source of every value."""

from __future__ import annotations

from typing import Annotated

import typer

from mcettr.cli import options as o
from mcettr.cli import session as s

EXAMPLE = "Example:  mcettr presets rsc-1 --yaml > mine.yaml"
NameArgument = Annotated[str | None, typer.Argument(help="One preset, with the source of each value.")]
YamlOption = Annotated[bool, typer.Option("--yaml", help="Print the preset as a scenario file, ready to change.")]


def presets(
    name: NameArgument = None, yaml: YamlOption = False, json: o.JsonOption = False, quiet: o.QuietOption = False
) -> None:
    """List the presets, or show one with status and source of every value."""
    from mcettr.errors import ScenarioError
    from mcettr.report import presets_text as text
    from mcettr.report.text import terminal_width
    from mcettr.scenario import preset_names, read_preset

    if yaml and (json or name is None):
        found = "--json too" if json else "no name"
        raise ScenarioError(f"--yaml: expected one preset and nothing else, found {found}; write: presets NAME --yaml")
    if yaml:
        s.emit(text.preset_yaml(read_preset(str(name))).rstrip("\n"))
        return
    chosen = [read_preset(each) for each in (preset_names() if name is None else (name,))]
    if json:
        objects = [text.preset_object(preset) for preset in chosen]
        s.emit_json({"presets": objects} if name is None else objects[0])
    else:
        show = text.list_text if name is None else text.preset_text
        s.emit(show(chosen, terminal_width()))
