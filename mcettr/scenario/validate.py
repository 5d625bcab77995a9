"""From a plain tree to a parsed scenario, or to a list of faults that each name their path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from mcettr.scenario.document import Path
from mcettr.scenario.schema import CauseSpec, ScenarioSpec, Section

LATER = ", not in this version; remove it"
_LATER: dict[str, tuple[str, ...]] = {
    "": ("uncertainty", "incidents", "lemons", "maintenance", "health_checks", "spares", "replica_groups"),
    "job": ("saved",),
    "checkpoint": ("verify", "bad_probability", "keep", "permanent_every", "local"),
    "failures": (
        *("nodes_lost", "slowdown", "notice", "min_lease", "uncertainty", "profile", "repeat", "lifetime"),
        "fleet_age",
    ),
    "recovery": ("start_failure", "data_fast_forward", "spares", "replica_groups", "max_attempt"),
}
"""Names that the schema keeps for later versions, by section ("failures": below a cause)."""


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
        advice = f"; {nearest(path[-1], known)}" if not is_later(path) else LATER
        return Fault(path, f"expected a known key, found {path[-1]!r}{advice}")
    if kind == "missing":
        return Fault(path, f"expected a value, found nothing; add {path[-1]!r}")
    return Fault(path, f"expected a mapping of keys, found {found!r}; write one key a line below it")


def is_later(path: Path) -> bool:
    """Return whether the key at `path`, or one around it, is reserved for a later version.

    >>> is_later(("incidents", "rate")), is_later(("failures", "incidents"))
    (True, False)
    """
    if len(path) == 0:
        return False
    if path[0] == "failures":
        return len(path) > 2 and path[2] in _LATER["failures"]
    return path[0] in _LATER[""] or (len(path) > 1 and path[1] in _LATER.get(path[0], ()))


def nearest(found: str, known: tuple[str, ...]) -> str:
    """Return advice that names the known word nearest to `found`.

    >>> nearest("gpu", ("gpus", "work"))
    "did you mean 'gpus'?"
    """
    close = get_close_matches(found, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


def known_keys(path: Path) -> tuple[str, ...]:
    """Return the keys that the section at `path` may hold; none where it is no section.

    >>> known_keys(("recovery",))
    ('diagnosis', 'queue_wait', 'startup', 'restore', 'read_bandwidth')
    """
    section = _section(path)
    return tuple(section.model_fields) if section is not None else ()


def _section(path: Path) -> type[BaseModel] | None:
    if path == ():
        return ScenarioSpec
    if path[0] == "failures":
        return CauseSpec if len(path) == 2 else None
    sections = _sections()
    return sections.get(path[0]) if len(path) == 1 else None


def _sections() -> dict[str, type[BaseModel]]:
    """Return the models of the top-level sections, found in the annotations of `ScenarioSpec`."""
    found: dict[str, type[BaseModel]] = {}
    for name, info in ScenarioSpec.model_fields.items():
        for candidate in (info.annotation, *getattr(info.annotation, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, Section):
                found[name] = candidate
    return found
