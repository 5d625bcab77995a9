"""The schema as a tree: which keys each section may and must hold, and what each field is."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from mcettr.scenario.place import Path
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.schema_base import Section


def known_keys(path: Path) -> tuple[str, ...]:
    """Return the keys that the section at `path` may hold; none where it is no section.

    >>> known_keys(("recovery", "start_failure")), known_keys(("failures", "node", "repeat"))
    (('probability', 'max_attempts', 'escalation'), ('probability', 'mean_time'))
    """
    kind = _kind_at(path)
    return tuple(kind.model_fields) if is_section(kind) else ()


def required(path: Path) -> dict[str, str]:
    """Return the keys that the section at `path` must hold, each with an example of its value, if there is one.

    >>> required(("recovery", "spares")), required(("recovery",))
    ({'count': '4', 'repair': '1 d'}, {})
    """
    kind = _kind_at(path)
    fields = kind.model_fields.items() if is_section(kind) else ()
    return {name: (field.examples or [""])[0] for name, field in fields if field.is_required()}


def _kind_at(path: Path) -> Any:
    kind: Any = ScenarioSpec
    for key in path:
        kind = get_args(kind)[1] if get_origin(kind) is dict else section_of(kind, key)
    return kind


def section_of(kind: Any, key: str) -> Any:
    """Return the model of the section below `key`, the annotation of a mapping of sections, or None."""
    info = kind.model_fields.get(key) if is_section(kind) else None
    candidates = (info.annotation, *get_args(info.annotation)) if info is not None else ()
    return next((one for one in candidates if is_section(one) or get_origin(one) is dict), None)


def is_section(kind: Any) -> bool:
    """Return whether a type is the model of a section."""
    return isinstance(kind, type) and issubclass(kind, Section)
