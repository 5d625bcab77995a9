"""The scenario as the rest of the package sees it: parsed values next to the user's own text."""

from __future__ import annotations

import copy
import html
import io
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcettr.errors import Mistake, ScenarioError
from mcettr.scenario.document import parse_scalar
from mcettr.scenario.merge import overridden
from mcettr.scenario.mistakes import mistake_at, mistakes
from mcettr.scenario.place import Document, Path, Position, Tree, plain_value
from mcettr.scenario.presets import FieldSource
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.validate import validate
from mcettr.scenario.values import SCHEMA_VERSION
from mcettr.units import shown, value_text

_OVERRIDE = Position("override", kind="change")
_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)? [a-zA-Z%/][a-zA-Z0-9 %/-]*")
"""What YAML reads as text whatever it is: a number, a space and a unit. A hundred thousand of them need no parser."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """One job, checked field by field; equal to another where both describe the same job.

    Parameters
    ----------
    spec : ScenarioSpec
        Parsed values, in SI units.
    document : Document
        The user's own text, inheritance and overrides applied, and where each value was written.
    sources : mapping of str to FieldSource
        Status and source of the values that still are a preset's, by dotted path.
    """

    spec: ScenarioSpec
    document: Document = field(repr=False)
    sources: Mapping[str, FieldSource] = field(default_factory=dict, repr=False)

    def _content(self) -> tuple[Hashable, ...]:
        spec = self.spec
        around = spec.uncertainty, spec.incidents, spec.lemons, spec.maintenance, spec.health_checks
        return spec.job, spec.checkpoint, tuple(spec.failures.items()), spec.recovery, *around

    def __eq__(self, other: object) -> bool:
        """Return whether both describe the same job, however written ("60 s" is "1 min")."""
        return isinstance(other, Scenario) and self._content() == other._content()

    def __hash__(self) -> int:
        """Return a hash of the parsed content."""
        return hash(self._content())

    def __repr__(self) -> str:
        """Return the size of the job and what strikes it, on one line."""
        parts = [
            f"{name} {text}" if name else f"{text} GPUs"
            for name, path in (
                ("", "job.gpus"),
                ("work", "job.work"),
                ("horizon", "job.horizon"),
                ("checkpoint every", "checkpoint.interval"),
                ("write time", "checkpoint.write_time"),
            )
            if (text := self.text_at(path)) is not None
        ]
        names = list(self.document.tree.get("failures", {}))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        parts += [f"failures: {', '.join(names[:3])}{more}"] if names else ["no failures"]
        return f"<Scenario: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.to_yaml())}</pre>"

    def to_dict(self) -> Tree:
        """Return the scenario as a plain mapping of the user's own text, inheritance resolved."""
        return {"schema_version": SCHEMA_VERSION, **copy.deepcopy(self.document.tree)}

    def to_yaml(self) -> str:
        """Return the scenario as a YAML text that `load` reads back to an equal scenario."""
        from ruamel.yaml import YAML

        writer = YAML()
        writer.default_flow_style = None  # leaves on one line, sections on several
        writer.width = 4096
        stream = io.StringIO()
        writer.dump(self.to_dict(), stream)
        return stream.getvalue()

    def text_at(self, path: str) -> str | None:
        """Return the user's own text of the value at a dotted path; None where there is none.

        >>> from mcettr.scenario import load
        >>> load({"job": {"gpus": 8, "work": "30 d"}}).text_at("job.work")
        '30 d'
        """
        value: Any = self.document.tree
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return None if value is None else value_text(value)

    def assumed(self) -> list[tuple[str, str, str]]:
        """Return (path, value, reason) of every value that a preset assumed and nobody has replaced."""
        return [
            (path, self.text_at(path) or "", source.note or source.source)
            for path, source in self.sources.items()
            if source.status == "assumed"
        ]

    def replace(self, overrides: Mapping[str, object]) -> Scenario:
        """Return the scenario with other values at some dotted paths.

        Parameters
        ----------
        overrides : mapping
            New values by dotted path; text is read as YAML would, None removes the field. A value in one of several
            exclusive forms (`rate` or `mtbf`) takes the place of the others.

        >>> from mcettr.scenario import load
        >>> load({"job": {"gpus": 8, "work": "30 d"}}).replace({"job.gpus": 16}).spec.job.gpus
        16.0

        Raises
        ------
        ScenarioError
            A path does not exist, or the result is no valid scenario.
        """
        changed = apply_overrides(self.document, self.sources, overrides)
        if isinstance(changed, Scenario):
            return changed
        raise ScenarioError(*changed)


def apply_overrides(
    base: Document,
    sources: Mapping[str, FieldSource],
    overrides: Mapping[str, object],
    origins: Mapping[str, Position] | None = None,
) -> Scenario | tuple[Mistake, ...]:
    """Return the checked scenario with the overrides, or all that is wrong with it.

    `origins` says where each override was written; "override" where it does not.
    """
    values = {tuple(path.split(".")): plain_override(value) for path, value in _checked(overrides).items()}
    places = {tuple(path.split(".")): place for path, place in (origins or {}).items()}
    places = {path: places.get(path, _OVERRIDE) for path in values}
    document, touched, faults = overridden(base, values, places)
    spec = validate(document.tree)
    if isinstance(spec, ScenarioSpec) and not faults:
        return Scenario(spec, document, remaining(sources, touched))
    refused = tuple(mistake_at(places[_override_of(fault.path, places)], fault.path, fault.message) for fault in faults)
    if isinstance(spec, ScenarioSpec):
        return refused
    known = validate(base.tree) if values else ()
    return refused + mistakes(document, spec, known if isinstance(known, list) else ())


def _checked(overrides: object) -> Mapping[str, object]:
    """Return the overrides, if they are values by dotted path."""
    wanted = "expected values by dotted path, such as {'job.gpus': 8}"
    if not isinstance(overrides, Mapping):
        raise ScenarioError(Mistake(f"{wanted}, found {shown(overrides)}; write them like that", "overrides"))
    for path in overrides:
        if not isinstance(path, str):
            raise ScenarioError(Mistake(f"{wanted}, found the path {shown(path)}; write it as text", "overrides"))
    return overrides


def _override_of(path: Path, places: Mapping[Path, Position]) -> Path:
    """Return the path of the override that a fault at `path` is about."""
    return next((given for given in places if path[: len(given)] == given), next(iter(places)))


def plain_override(value: object) -> Any:
    """Return what an override means: text is read as a YAML value."""
    if isinstance(value, str):
        return value if _QUANTITY.fullmatch(value) else plain_value(parse_scalar(value))
    return plain_value(value)


def remaining(sources: Mapping[str, FieldSource], touched: frozenset[Path]) -> dict[str, FieldSource]:
    """Return the sources of the values that no change touched, from above or from inside."""

    def untouched(path: Path) -> bool:
        return not any(path[: len(other)] == other[: len(path)] for other in touched)

    return {path: source for path, source in sources.items() if untouched(tuple(path.split(".")))}
