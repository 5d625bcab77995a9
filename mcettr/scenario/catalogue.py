"""Every field of a scenario as its schema tells it: what it means, how it is written, what holds without it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from mcettr.scenario import kinds
from mcettr.scenario.kinds import Kind
from mcettr.scenario.place import Path
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.schema_base import Section
from mcettr.scenario.sections import section_of

CAUSE = "CAUSE"
"""Stands for the name of a cause in paths."""


@dataclass(frozen=True)
class Entry:
    """One field.

    Parameters
    ----------
    path : tuple of str
        Where it stands; the name of a cause is CAUSE.
    kind : Kind
        How its values are written.
    required : bool
        Whether its section must hold it.
    default : str
        What holds without it, as the user would write it; nothing where it is then off.
    meaning : str
        What it says.
    example : str
        A value, as the user would write it.
    """

    path: Path
    kind: Kind
    required: bool
    default: str
    meaning: str
    example: str

    @property
    def dotted(self) -> str:
        """The path with dots."""
        return ".".join(self.path)


@dataclass(frozen=True)
class Chapter:
    """One section: where it stands, what it is about, and its own fields."""

    path: Path
    meaning: str
    entries: tuple[Entry, ...]


def chapters() -> tuple[Chapter, ...]:
    """Return all sections with their fields, in the order of the schema; the first is the top of the file.

    >>> [".".join(chapter.path) for chapter in chapters()][:4]
    ['', 'job', 'checkpoint', 'checkpoint.local']
    """
    return tuple(_chapters(ScenarioSpec, ()))


def entries() -> tuple[Entry, ...]:
    """Return all fields, in the order of the schema.

    >>> next(entry.example for entry in entries() if entry.dotted == "failures.CAUSE.rate")
    '6.5 / 1000 node-days'
    """
    return tuple(entry for chapter in chapters() for entry in chapter.entries)


def _chapters(model: type[Section], path: Path) -> Iterator[Chapter]:
    inner = {key: section_of(model, key) for key in model.model_fields}
    own = tuple(
        _entry((*path, key), info)
        for key, info in model.model_fields.items()
        if inner[key] is None
    )  # fmt: skip
    yield Chapter(path, _first_paragraph(model), own)
    for key, below in inner.items():
        if get_origin(below) is dict:
            yield from _chapters(get_args(below)[1], (*path, key, CAUSE))
        elif below is not None:
            yield from _chapters(below, (*path, key))


def _first_paragraph(model: type[Section]) -> str:
    text = (inspect.getdoc(model) or "").split("\n\n")[0]
    return " ".join(text.split())


def _entry(path: Path, info: FieldInfo) -> Entry:
    kind = _kind(info)
    default = "" if info.is_required() or info.default is None else kind.text(info.default)
    example = str((info.examples or [""])[0])
    return Entry(path, kind, info.is_required(), default, info.description or "", example)


def _kind(info: FieldInfo) -> Kind:
    """Return the kind that a field's type names, alone or in a union with None."""
    marks = [*info.metadata]
    for one in get_args(info.annotation):
        marks += getattr(one, "__metadata__", ())
    found: Any = next((mark for mark in marks if isinstance(mark, Kind)), None)
    if found is None:
        return kinds.FLAG if info.annotation is bool else kinds.ANY
    return found  # type: ignore[no-any-return]
