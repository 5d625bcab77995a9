"""Sweep files: what they hold, checked, with the file and line in every error."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcettr.errors import ScenarioError
from mcettr.scenario import Scenario, compile_grid, load
from mcettr.scenario.document import Document, one_line, read_document
from mcettr.scenario.load import is_file_name
from mcettr.scenario.validate import nearest
from mcettr.scenario.values import read_version
from mcettr.sweep.effort import check_deadlines, check_effort, read_deadlines
from mcettr.sweep.spaced import axis_values

_KEYS = ("schema_version", "scenario", "set", "axes", "deadlines", "precision", "timelines", "seed")


@dataclass(frozen=True)
class SweepSpec:
    """What a sweep file asks for; its fields are arguments of `mcettr.sweep`.

    Parameters
    ----------
    scenario : Scenario
        The scenario with the file's `set` applied.
    axes : mapping of str to list
        Values by dotted path.
    deadlines : tuple of str
        Dates as written.
    precision, timelines : float or None, int or None
        At most one of them is given.
    seed : int
        0 unless given.
    """

    scenario: Scenario
    axes: Mapping[str, list[Any]]
    deadlines: tuple[str, ...] = ()
    precision: float | None = None
    timelines: int | None = None
    seed: int = 0


def load_sweep(path: str | os.PathLike[str], overrides: Mapping[str, object] | None = None) -> SweepSpec:
    """Return what a sweep file (YAML or TOML) asks for, every cell checked.

    Parameters
    ----------
    path : str or path
        The file.
    overrides : mapping, optional
        More values to set in the scenario, by dotted path, after the file's own `set`.

    Raises
    ------
    ScenarioError
        Something in the file is wrong; the message names the file, the line and the field.
    """
    file = Path(path)
    document = read_document(file)
    tree = document.tree
    _check_keys(document)
    if "schema_version" in tree:
        with _at(document, "schema_version"):
            read_version(tree["schema_version"])
    scenario = _scenario(document, file.parent, overrides or {})
    axes = _axes(document)
    with _at(document, "axes"):
        grid = compile_grid(scenario, axes)
    with _at(document, "deadlines"):
        deadlines = read_deadlines(tree.get("deadlines", []))
        check_deadlines(grid, deadlines)
    precision, timelines, seed = _effort(document)
    return SweepSpec(scenario, axes, deadlines.labels, precision, timelines, seed)


def as_sweep_file(source: object) -> SweepSpec:
    """Return what a sweep file asks for, where the source is the name of a file and nothing else.

    Raises
    ------
    ScenarioError
        It is no file name, or something in the file is wrong.
    """
    if not isinstance(source, (str, os.PathLike)) or not (isinstance(source, os.PathLike) or is_file_name(source)):
        found = source if isinstance(source, str) else type(source).__name__
        advice = "add axes={'job.gpus': [1024, 4096]}"
        raise ScenarioError(f"axes: expected axes, or the name of a sweep file alone, found {found}; {advice}")
    return load_sweep(source)


@contextmanager
def _at(document: Document, key: str) -> Iterator[None]:
    """Put file, line and path in front of an error raised inside; `key` is where, unless the text says better."""
    try:
        yield
    except ScenarioError as error:
        text = str(error).removeprefix("override: ")
        path = _named_path(document, text) or (key,)
        shown = "" if path[0] == "axes" or text.startswith(f"{path[-1]}: ") else f"{path[0]}: "
        raise ScenarioError(one_line(f"{document.position(path)}: {shown}{text}")) from None


def _named_path(document: Document, text: str) -> tuple[str, ...] | None:
    """Return the entry of the file that the text of an error begins with."""
    head = text.split(": ")[0].split(",")[0].removeprefix("axis ")
    for section in ("axes", "set"):
        entries = document.tree.get(section)
        named = [key for key in entries if f"{head}.".startswith(f"{key}.")] if isinstance(entries, dict) else []
        if named:
            return section, max(named, key=len)
    return (head,) if head in _KEYS else None


def _check_keys(document: Document) -> None:
    for key in document.tree:
        if key not in _KEYS:
            where = f"{document.position((key,))}: {key}"
            raise ScenarioError(one_line(f"{where}: expected a known key, found {key!r}; {nearest(key, _KEYS)}"))


def _scenario(document: Document, folder: Path, overrides: Mapping[str, object]) -> Scenario:
    source, changes = document.tree.get("scenario"), _changes(document)
    if isinstance(source, dict):
        base = _inline(document, source)
        with _at(document, "set"):
            return base.replace({**changes, **overrides})
    with _at(document, "scenario"):
        if not isinstance(source, str):
            found = "none" if source is None else repr(source)
            raise ScenarioError(f"expected a preset, a file or sections, found {found}; write 'scenario: rsc-1'")
        name = os.path.join(folder, source) if is_file_name(source) else source
        return load(name, {**changes, **overrides})


def _changes(document: Document) -> dict[str, Any]:
    changes, axes = document.tree.get("set", {}), document.tree.get("axes")
    with _at(document, "set"):
        if not isinstance(changes, dict):
            raise ScenarioError(f"expected values by dotted path, found {changes!r}; write '{{job.work: 20 d}}'")
        for path in changes:
            if isinstance(axes, dict) and path in axes:
                raise ScenarioError(f"expected fields that are not swept, found {path}, an axis too; keep one")
    return changes


def _inline(document: Document, source: dict[str, Any]) -> Scenario:
    try:
        return load(source)
    except ScenarioError as error:
        path = ("scenario", *str(error).split(":")[0].split("."))
        raise ScenarioError(f"{document.position(path)}: scenario.{error}") from None


def _axes(document: Document) -> dict[str, list[Any]]:
    axes = document.tree.get("axes")
    if not isinstance(axes, dict) or not axes:
        found = "none" if not axes else repr(axes)
        where = document.position(("axes",))
        advice = "write 'job.gpus: [1024, 4096]' below 'axes:'"
        raise ScenarioError(one_line(f"{where}: axes: expected at least one axis, found {found}; {advice}"))
    return {path: _values(document, path, given) for path, given in axes.items()}


def _values(document: Document, path: str, given: object) -> list[Any]:
    where = f"{document.position(('axes', path))}: axes.{path}"
    try:
        return axis_values(given)
    except ScenarioError as error:
        raise ScenarioError(one_line(f"{where}: {error}")) from None


def _effort(document: Document) -> tuple[float | None, int | None, int]:
    tree = document.tree
    precision, timelines, seed = tree.get("precision"), tree.get("timelines"), tree.get("seed", 0)
    with _at(document, "timelines"):
        check_effort(timelines, precision, seed)
    return precision, timelines, int(seed)
