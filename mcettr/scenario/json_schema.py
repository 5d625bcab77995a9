"""The JSON Schema of scenarios and sweep files, with which editors complete and check YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcettr.scenario.catalogue import CAUSE, Chapter, Entry, chapters
from mcettr.scenario.document import parse_scalar
from mcettr.scenario.kinds import SHARED, Schema
from mcettr.scenario.place import Path

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NAME = r"^[^\W_][\w-]*$"
_ANYTHING: Schema = {}
_EXTENDS: Schema = {"type": "string", "description": "a preset, or a file, that this one changes"}
_OFF: Schema = {"type": "null"}


def json_schema() -> dict[str, Any]:
    """Return the schema of a file for mcettr: a sweep where it has axes or a scenario, else a scenario.

    >>> sorted(json_schema()["$defs"])
    ['distribution', 'scenario', 'sweep']
    """
    has_axes = {"anyOf": [{"required": ["axes"]}, {"required": ["scenario"]}]}
    return {
        "$schema": _DRAFT,
        "title": "A scenario or a sweep file of mcettr",
        "type": "object",
        "if": has_axes,
        "then": {"$ref": "#/$defs/sweep"},
        "else": {"$ref": "#/$defs/scenario"},
        "$defs": {**SHARED, "scenario": _scenario(), "sweep": _sweep()},
    }


def _scenario() -> dict[str, Any]:
    """Return the schema of a scenario; what it must hold may come from what it extends."""
    by_path = {chapter.path: chapter for chapter in chapters()}
    top = _section(by_path, ())
    top["properties"] = {**top["properties"], "extends": _EXTENDS}
    return {**top, "if": {"not": {"required": ["extends"]}}, "then": _needs(by_path, ())}


def _section(by_path: Mapping[Path, Chapter], path: Path) -> dict[str, Any]:
    chapter = by_path[path]
    properties: dict[str, Any] = {entry.path[-1]: _field(entry) for entry in chapter.entries}
    for below in _below(by_path, path):
        name = below[len(path)]
        inner = {"anyOf": [_section(by_path, below), _OFF]}
        properties[name] = _by_name(inner) if below[-1] == CAUSE else {**inner, "description": by_path[below].meaning}
    return {
        "type": "object",
        "description": chapter.meaning,
        "properties": properties,
        "additionalProperties": False,
    }


def _by_name(inner: Schema) -> dict[str, Any]:
    return {
        "description": "one entry for each cause of failure, under a name of your own",
        "anyOf": [
            {"type": "object", "patternProperties": {_NAME: inner}, "additionalProperties": False},
            _OFF,
        ],
    }


def _below(by_path: Mapping[Path, Chapter], path: Path) -> list[Path]:
    """Return the paths of the sections right below one: those of a cause have a name between."""
    steps = {len(path) + 1, len(path) + 2}
    found = [p for p in by_path if len(p) in steps and p[: len(path)] == path]
    return [p for p in found if len(p) == len(path) + 1 or p[-1] == CAUSE]


def _field(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"description": entry.meaning, "anyOf": [entry.kind.schema, _OFF]}
    if entry.default and entry.default != "no limit":
        found["default"] = parse_scalar(entry.default)
    return {**found, "examples": [parse_scalar(entry.example)]}


def _needs(by_path: Mapping[Path, Chapter], path: Path) -> dict[str, Any]:
    """Return what a section must hold that extends nothing, and those below it."""
    needed = [entry.path[-1] for entry in by_path[path].entries if entry.required]
    if path == ():
        needed.append("job")
    found: dict[str, Any] = {"required": needed} if needed else {}
    inner = {below: _needs(by_path, below) for below in _below(by_path, path)}
    properties = {
        below[len(path)]: {"additionalProperties": needs} if below[-1] == CAUSE else needs
        for below, needs in inner.items()
        if needs
    }
    return {**found, **({"properties": properties} if properties else {})}


def _sweep() -> dict[str, Any]:
    axis = {
        "anyOf": [
            {"type": "array", "minItems": 1},
            *(
                {
                    "type": "object",
                    "properties": {kind: {"type": "array", "minItems": 3, "maxItems": 3}},
                    "required": [kind],
                    "additionalProperties": False,
                }
                for kind in ("lin", "geom")
            ),
        ],
        "examples": [["10 s", "60 s"], {"geom": ["1 s", "10 min", 13]}],
    }
    time = {"type": "string"}
    properties = {
        "schema_version": {"const": 1},
        "scenario": {
            "description": "a preset, a file, or the sections themselves",
            "anyOf": [{"type": "string"}, {"$ref": "#/$defs/scenario"}],
        },
        "set": {"description": "values by dotted path, the same in all cells", **_paths(_ANYTHING)},
        "axes": {"description": "the swept fields: a list of values, or a spacing", **_paths(axis), "minProperties": 1},
        "deadlines": {"description": "times whose completion probability is wanted", "type": "array", "items": time},
        "precision": {"description": "standard error of ettr at which a cell is done", "type": "number"},
        "timelines": {"description": "timelines of each cell; instead of precision", "type": "integer", "minimum": 1},
        "seed": {"description": "seed of the random draws", "type": "integer", "minimum": 0},
    }
    required = ["scenario", "axes"]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _paths(value: Schema) -> dict[str, Any]:
    """Return the schema of a mapping by dotted paths, with the fields for completion."""
    fields = [
        entry for chapter in chapters() for entry in chapter.entries if CAUSE not in entry.path and entry.path[1:]
    ]
    return {
        "type": "object",
        "properties": {entry.dotted: {"description": entry.meaning, **value} for entry in fields},
        "additionalProperties": value,
    }
