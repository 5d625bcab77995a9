"""From a plain tree to a parsed scenario, or to a list of faults that each name their path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from mcettr.model.metrics import RESULT_NAMES
from mcettr.scenario.advice import nearest
from mcettr.scenario.names import name_faults
from mcettr.scenario.place import Fault, Path, Tree
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.schema_base import ContradictionsError
from mcettr.scenario.sections import known_keys, required
from mcettr.units import shown


def validate(tree: Mapping[str, Any]) -> ScenarioSpec | list[Fault]:
    """Return the parsed scenario, or all that is wrong with it (at least one fault).

    >>> validate({"job": {"gpus": 0, "work": "1 d"}})[0].path
    ('job', 'gpus')
    """
    nulls = _nulls(tree, ())
    faults = [Fault(path, "expected a value, found nothing; add it or delete the line") for path in nulls]
    whole = _without_nulls(tree)
    faults += name_faults(whole, RESULT_NAMES)
    try:
        spec = ScenarioSpec.model_validate(whole)
    except ValidationError as error:
        details = error.errors(include_url=False)
        misspelt = _misspelt(details)
        found = [fault for one in details if tuple(one["loc"]) not in misspelt for fault in _faults(one)]
        faults += [fault for fault in found if not any(path[: len(fault.path)] == fault.path for path in nulls)]
        return faults or found
    return faults or spec


def _misspelt(details: Any) -> set[tuple[str, ...]]:
    """Return the missing keys of which there is a misspelling: that is told, and is one mistake."""
    unknown = [tuple(one["loc"]) for one in details if one["type"] == "extra_forbidden"]
    missing = [tuple(one["loc"]) for one in details if one["type"] == "missing"]
    near = {(*path[:-1], *get_close_matches(str(path[-1])[:80], known_keys(path[:-1]), n=1)) for path in unknown}
    return near & set(missing)


def _nulls(value: object, path: Path) -> list[Path]:
    if isinstance(value, Mapping):
        return [found for key, child in value.items() for found in _nulls(child, (*path, str(key)))]
    return [path] if value is None else []


def _without_nulls(tree: Mapping[str, Any]) -> Tree:
    """Return the tree without the entries that hold nothing, which have faults of their own."""
    return {
        key: _without_nulls(value) if isinstance(value, Mapping) else value
        for key, value in tree.items()
        if value is not None
    }


def _faults(details: Any) -> Iterator[Fault]:
    path: Path = tuple(str(part) for part in details["loc"])
    kind, found = details["type"], details["input"]
    if kind == "value_error":
        error = details["ctx"]["error"]
        for each in error.found if isinstance(error, ContradictionsError) else (error,):
            yield Fault((*path, *getattr(each, "where", ())), str(each))
    elif kind == "extra_forbidden":
        known = known_keys(path[:-1]) + (("extends",) if len(path) == 1 else ())
        yield Fault(path, f"expected a known key, found {shown(path[-1])}; {nearest(path[-1], known)}")
    elif kind == "missing":
        example = required(path[:-1]).get(path[-1])
        yield Fault(path, f"expected a value, found nothing; add '{path[-1]}{f': {example}' if example else ''}'")
    else:
        yield Fault(path, f"expected a mapping of keys, found {shown(found)}; write one key a line below it")
