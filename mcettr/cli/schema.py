"""`mcettr schema`: the JSON Schema of scenarios and sweep files."""

from __future__ import annotations

from mcettr.cli import session as s

EXAMPLE = "Example:  mcettr schema > mcettr.json"


def schema() -> None:
    """Print the JSON Schema with which editors complete and check scenarios and sweep files.

    VS Code (YAML extension) takes it from a first line
    "# yaml-language-server: $schema=./mcettr.json".
    """
    from mcettr.scenario.json_schema import json_schema

    s.emit_json(json_schema())
