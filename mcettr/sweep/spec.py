"""Sweep files: what they hold, checked, with the file and line in every error."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcettr.errors import Mistake, ScenarioError
from mcettr.scenario import Grid, Scenario, compile_grid
from mcettr.scenario.advice import nearest
from mcettr.scenario.document import read_document
from mcettr.scenario.load import is_file_name, load_at
from mcettr.scenario.mistakes import mistake_at
from mcettr.scenario.place import Document, Position
from mcettr.scenario.values import read_version
from mcettr.sweep.effort import Deadlines, check_effort, for_deadlines, read_deadlines
from mcettr.sweep.spaced import axis_values
from mcettr.units import shown

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
        Something in the file is wrong; `errors` lists all of it, each with the file, the line and the field.
    """
    file = Path(path)
    return read_sweep(read_document(file), file.parent, overrides or {})


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


def read_sweep(
    document: Document,
    folder: Path,
    overrides: Mapping[str, object],
    origins: Mapping[str, Position] | None = None,
) -> SweepSpec:
    """Return what a sweep file asks for that has been read; scenarios that it names are looked for in `folder`.

    `origins` says where each override was written.
    """
    _refuse_scenario(document)
    reading = _Reading(document)
    reading.check_keys()
    scenario = reading.scenario(folder, overrides, origins or {})
    axes = reading.axes()
    grid = None
    if scenario is not None and not reading.mistakes:
        with reading.at("axes"):
            grid = compile_grid(scenario, axes)
    deadlines = reading.deadlines(grid)
    precision, timelines, seed = (document.tree.get(key) for key in ("precision", "timelines", "seed"))
    with reading.at("timelines"):
        check_effort(timelines, precision, 0 if seed is None else seed)
    if reading.mistakes or scenario is None:
        raise ScenarioError(*reading.mistakes)
    return SweepSpec(scenario, axes, deadlines.labels, precision, timelines, int(seed or 0))


def _refuse_scenario(document: Document) -> None:
    """Say which command runs a file that is a scenario."""
    if "axes" in document.tree or "scenario" in document.tree or "job" not in document.tree:
        return
    position = document.position(("job",))
    file = "FILE" if position is None else position.file
    advice = f"run it with `mcettr run {file}`, or add axes as with --axis job.gpus=1024,4096"
    raise ScenarioError(mistake_at(position, (), f"expected a sweep file, found a scenario (it has job); {advice}"))


@dataclass
class _Reading:
    """The reading of one sweep file: what is wrong with it so far."""

    document: Document
    mistakes: list[Mistake] = field(default_factory=list)

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """Note an error raised inside, with file and line; `key` is where, unless the error says better."""
        try:
            yield
        except ScenarioError as error:
            self.mistakes += [self._placed(mistake, key) for mistake in error.errors]

    def _placed(self, mistake: Mistake, key: str) -> Mistake:
        if mistake.file is not None:
            return mistake
        path = self._named(mistake.path or "") or (key,)
        name = (
            mistake.path if path[0] == "axes" or mistake.path == path[-1] else ".".join((path[0], mistake.path or ""))
        )
        position = self.document.position(path)
        file, line = (None, None) if position is None else (position.file, position.line)
        return replace(mistake, path=(name or key).strip("."), file=file, line=line)

    def _named(self, path: str) -> tuple[str, ...] | None:
        """Return the entry of the file that a mistake is about, by its path."""
        head = path.removeprefix("axis ").split(",")[0]
        for section in ("axes", "set"):
            entries = self.document.tree.get(section)
            named = [key for key in entries if f"{head}.".startswith(f"{key}.")] if isinstance(entries, dict) else []
            if named:
                return section, max(named, key=len)
        return (head,) if head in _KEYS else None

    def _wrong(self, path: tuple[str, ...], message: str) -> None:
        self.mistakes.append(mistake_at(self.document.position(path), path, message))

    def check_keys(self) -> None:
        """Note keys that no sweep file has, and a version that is not read."""
        for key in self.document.tree:
            if key not in _KEYS:
                self._wrong((key,), f"expected a known key, found {shown(key)}; {nearest(key, _KEYS)}")
        with self.at("schema_version"):
            read_version(self.document.tree.get("schema_version", 1))

    def scenario(
        self, folder: Path, overrides: Mapping[str, object], origins: Mapping[str, Position]
    ) -> Scenario | None:
        """Return the scenario with the values of `set` and the overrides, or note what is wrong."""
        source, changes = self.document.tree.get("scenario"), self._changes()
        places = {path: self._place(path) for path in changes} | dict(origins)
        if not isinstance(source, (str, dict)):
            found = "none" if source is None else shown(source)
            self._wrong(("scenario",), f"expected a preset, a file or sections, found {found}; write 'scenario: rsc-1'")
            return None
        values = {**changes, **overrides}
        if isinstance(source, dict):
            return self._inline(source, values, places)
        name = os.path.join(folder, source) if is_file_name(source) else source
        with self.at("scenario"):
            if is_file_name(source) and not os.path.isfile(name):
                raise ScenarioError(f"expected a file, found none at {name}; check the path")
            return load_at(name, values, places)
        return None

    def _place(self, path: str) -> Position:
        position = self.document.position(("set", path)) or Position("set")
        return replace(position, kind="change")

    def _inline(
        self, source: dict[str, Any], values: Mapping[str, object], places: Mapping[str, Position]
    ) -> Scenario | None:
        """Return the scenario of the sections inside the file, or note what is wrong, by the path in the file."""
        inside = {path[1:]: at for path, at in self.document.positions.items() if path[:1] == ("scenario",)}
        try:
            return load_at(Document(source, inside), values, places)
        except ScenarioError as error:
            changed = {(place.file, place.line) for place in places.values()}
            for one in error.errors:
                path = one.path if (one.file, one.line) in changed else f"scenario.{one.path or ''}".rstrip(".")
                self.mistakes.append(replace(one, path=path))
        return None

    def _changes(self) -> dict[str, Any]:
        changes, axes = self.document.tree.get("set", {}), self.document.tree.get("axes")
        if not isinstance(changes, dict):
            self._wrong(("set",), f"expected values by dotted path, found {shown(changes)}; write '{{job.work: 20 d}}'")
            return {}
        for path in changes:
            if isinstance(axes, dict) and path in axes:
                self._wrong(("set", path), "expected a field that is not swept, found an axis too; keep one")
        return changes

    def axes(self) -> dict[str, list[Any]]:
        """Return the values of every axis, or note what is wrong with them."""
        axes = self.document.tree.get("axes")
        if not isinstance(axes, dict) or not axes:
            found = "none" if not axes else shown(axes)
            advice = "write 'job.gpus: [1024, 4096]' below 'axes:'"
            self._wrong(("axes",), f"expected at least one axis, found {found}; {advice}")
            return {}
        found_values = {}
        for path, given in axes.items():
            try:
                found_values[path] = axis_values(given)
            except ScenarioError as error:
                self._wrong(("axes", path), str(error))
        return found_values

    def deadlines(self, grid: Grid | None) -> Deadlines:
        """Return the dates, or note what is wrong with them."""
        deadlines = Deadlines()
        with self.at("deadlines"):
            deadlines = read_deadlines(self.document.tree.get("deadlines", []))
            if grid is not None:
                for_deadlines(grid, deadlines)
        return deadlines
