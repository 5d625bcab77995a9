"""From a plain tree to a parsed scenario, or to a list of faults that each name their path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from mcettr.scenario.document import Path
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.schema_base import Section
from mcettr.units import shown


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a scenario: where, and what to do about it."""

    path: Path
    message: str


def validate(tree: Mapping[str, Any]) -> ScenarioSpec | list[Fault]:
    """Return the parsed scenario, or what is wrong with it (at least one fault).

    >>> validate({"job": {"gpus": 0, "work": "1 d"}})[0].path
    ('job', 'gpus')
    """
    nulls = [Fault(path, "expected a value, found nothing; add it or delete the line") for path in _nulls(tree, ())]
    if nulls:
        return nulls
    try:
        return ScenarioSpec.model_validate(tree)
    except ValidationError as error:
        details = error.errors(include_url=False)
        # an unknown key first: a missing one is often its right spelling
        return [_fault(one) for one in sorted(details, key=lambda one: one["type"] != "extra_forbidden")]


def _nulls(value: object, path: Path) -> list[Path]:
    if isinstance(value, Mapping):
        return [found for key, child in value.items() for found in _nulls(child, (*path, str(key)))]
    return [path] if value is None else []


def _fault(details: Any) -> Fault:
    path: Path = tuple(str(part) for part in details["loc"])
    kind, found = details["type"], details["input"]
    if kind == "value_error":
        error = details["ctx"]["error"]
        return Fault((*path, *getattr(error, "where", ())), str(error))
    if kind == "extra_forbidden":
        known = known_keys(path[:-1]) + (("extends",) if len(path) == 1 else ())
        return Fault(path, f"expected a known key, found {path[-1]!r}; {nearest(path[-1], known)}")
    if kind == "missing":
        example = required(path[:-1]).get(path[-1])
        return Fault(path, f"expected a value, found nothing; add '{path[-1]}{f': {example}' if example else ''}'")
    return Fault(path, f"expected a mapping of keys, found {shown(found)}; write one key a line below it")


def nearest(found: str, known: tuple[str, ...]) -> str:
    """Return advice that names the known word nearest to `found`.

    >>> nearest("gpu", ("gpus", "work"))
    "did you mean 'gpus'?"
    """
    close = get_close_matches(found, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


def known_keys(path: Path) -> tuple[str, ...]:
    """Return the keys that the section at `path` may hold; none where it is no section.

    >>> known_keys(("recovery", "start_failure")), known_keys(("failures", "node", "repeat"))
    (('probability', 'max_attempts', 'escalation'), ('probability', 'mean_time'))
    """
    kind = _kind_at(path)
    return tuple(kind.model_fields) if _is_section(kind) else ()


def required(path: Path) -> dict[str, str]:
    """Return the keys that the section at `path` must hold, each with an example of its value, if there is one.

    >>> required(("recovery", "spares")), required(("recovery",))
    ({'count': '4', 'repair': '1 d'}, {})
    """
    kind = _kind_at(path)
    fields = kind.model_fields.items() if _is_section(kind) else ()
    return {name: (field.examples or [""])[0] for name, field in fields if field.is_required()}


def _kind_at(path: Path) -> Any:
    kind: Any = ScenarioSpec
    for key in path:
        kind = _inner(kind, key)
    return kind


def _inner(kind: Any, key: str) -> Any:
    """Return the model of the section below `key`, the annotation of a mapping of sections, or None."""
    if get_origin(kind) is dict:
        return get_args(kind)[1]
    info = kind.model_fields.get(key) if _is_section(kind) else None
    candidates = (info.annotation, *get_args(info.annotation)) if info is not None else ()
    return next((one for one in candidates if _is_section(one) or get_origin(one) is dict), None)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)
