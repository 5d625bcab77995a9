"""Axes of a sweep: their values checked one by one, and the coordinates that a reader selects by."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from mcettr.errors import Mistake, ScenarioError
from mcettr.model.counts import mean_count
from mcettr.model.distributions import mean
from mcettr.scenario.counts import compiled, is_counts_mapping, read_counts
from mcettr.scenario.laws import is_law_mapping, parse_law
from mcettr.scenario.leaves import MixedError, overlay
from mcettr.scenario.merge import is_whole, unknown_path, value_at
from mcettr.scenario.place import Path
from mcettr.scenario.scenario import Scenario, apply_overrides, plain_override
from mcettr.scenario.schema import ScenarioSpec
from mcettr.units import Quantity, UnitError, read_quantity, shown, value_text

_ENDLESS = {"never": "duration", "unlimited": "number"}
"""Words for values without end, by the dimension of those with one."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One swept field.

    Parameters
    ----------
    path : str
        Dotted path of the field.
    name : str
        Its short name, unlike that of any other axis: the last part of the path, with the part before it (cause or
        section) in front where two would be the same.
    values : ndarray of float64, shape (n,)
        Coordinates from the user's own decimals: seconds for durations, the mean in seconds for laws, otherwise the
        number in front of the unit.
    unit : str
        Unit of the coordinates: "s", "1", or the user's own, such as "1 / 1000 node-days".
    labels : tuple of str
        The values as the user wrote them.
    """

    path: str
    name: str
    values: NDArray[np.float64]
    unit: str
    labels: tuple[str, ...]


def read_axes(scenario: Scenario, axes: Mapping[str, Sequence[object]]) -> tuple[ScenarioSpec, tuple[Axis, ...]]:
    """Return the parsed scenario with an array in place of each swept number, and the axes.

    The arrays broadcast against each other: an axis of n values varies along its own dimension only.

    Raises
    ------
    ScenarioError
        An axis is empty, repeats a value, names no field or mixes kinds, or one of its values is wrong.
    """
    values = {path: _plain_values(path, given) for path, given in axes.items()}
    _refuse_nested(tuple(values))
    base = scenario
    for path, given in values.items():
        if fault := unknown_path(base.document.tree, _split(path), given[0]):
            raise ScenarioError(f"axis {path}: {fault.message}")
        base = _replaced(base, {path: given[0]})
    for path in values:
        if value_at(base.document.tree, _split(path)) is None:
            raise ScenarioError(f"axis {path}: expected a field that can stand with the other axes; remove one of them")
    groups = _groups(base, tuple(values))
    variants = [_variants(base, values, group) for group in groups]
    names = _short_names(tuple(values))
    made = tuple(_axis(path, name, values[path]) for path, name in zip(values, names, strict=True))
    spec = base.spec
    for group, specs in zip(groups, variants, strict=True):
        spec = _vary(spec, specs, made, group)
    return spec, made


def _split(path: str) -> Path:
    return tuple(path.split("."))


def _plain_values(path: str, given: object) -> list[Any]:
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence):
        raise ScenarioError(
            f"axis {path}: expected a list of values, found {shown(given)}; write it like ['10 s', '60 s']"
        )
    if not given:
        raise ScenarioError(f"axis {path}: expected at least one value, found none; add one or remove the axis")
    values = [plain_override(value) for value in given]
    if None in values:
        raise ScenarioError(f"axis {path}: expected values, found nothing (null); remove it")
    return values


def _refuse_nested(paths: tuple[str, ...]) -> None:
    for outer, inner in itertools.permutations(paths, 2):
        if inner.startswith(f"{outer}."):
            raise ScenarioError(f"axis {inner}: expected independent axes, found {outer}, which holds it; remove one")


def _replaced(base: Scenario, overrides: Mapping[str, object]) -> Scenario:
    """Return the scenario with some swept values, or name the value and the axis that it breaks."""
    result = apply_overrides(base.document, base.sources, overrides)
    if isinstance(result, Scenario):
        return result
    raise ScenarioError(*(_of_axis(mistake, overrides) for mistake in result))


def _of_axis(mistake: Mistake, overrides: Mapping[str, object]) -> Mistake:
    dotted = mistake.path or ""
    named = ((p, v) for p, v in overrides.items() if dotted.startswith(p))
    axis, value = next(named, next(iter(overrides.items())))
    inside = "" if dotted == axis else f"{dotted}: "
    return Mistake(inside + mistake.message, f"axis {axis}, value {shown(value_text(value))[1:-1]}")


def _short_names(paths: tuple[str, ...]) -> list[str]:
    parts = [_split(path) for path in paths]
    lengths = [1] * len(parts)
    names = [path[-1] for path in parts]
    while len(set(names)) < len(names):
        for i, name in enumerate(names):
            if names.count(name) > 1:
                lengths[i] = min(lengths[i] + 1, len(parts[i]))
        names = ["_".join(path[-length:]) for path, length in zip(parts, lengths, strict=True)]
    return names


def _groups(base: Scenario, paths: tuple[str, ...]) -> list[list[int]]:
    """Return the indices of the axes, together where several sweep numbers of one law."""
    groups: dict[Path, list[int]] = {}
    for index, path in enumerate(paths):
        keys = _split(path)
        laws = (keys[:n] for n in range(1, len(keys)) if is_whole(value_at(base.document.tree, keys[:n])))
        groups.setdefault(next(laws, keys), []).append(index)
    return list(groups.values())


def _variants(base: Scenario, values: Mapping[str, list[Any]], group: list[int]) -> list[ScenarioSpec]:
    """Return the parsed scenario for every combination of the values of a group of axes, each checked."""
    paths = [list(values)[i] for i in group]
    combinations = itertools.product(*(values[path] for path in paths))
    return [_variant(base, dict(zip(paths, combination, strict=True))) for combination in combinations]


def _variant(base: Scenario, overrides: Mapping[str, Any]) -> ScenarioSpec:
    """Return the parsed scenario with some swept values; one in place of another needs no merging."""
    tree: Any = base.document.tree
    for path, value in overrides.items():
        keys = _split(path)
        if isinstance(value, (Mapping, list)) or isinstance(value_at(tree, keys), (Mapping, list)):
            return _replaced(base, overrides).spec
        tree = _with_value(tree, keys, value)
    try:
        return ScenarioSpec.model_validate(tree)
    except ValidationError:  # let the merge say what is wrong
        return _replaced(base, overrides).spec


def _with_value(tree: Mapping[str, Any], keys: Path, value: Any) -> dict[str, Any]:
    below = tree.get(keys[0])
    inside = _with_value(below, keys[1:], value) if len(keys) > 1 and isinstance(below, Mapping) else value
    return {**tree, keys[0]: inside}


def _vary(spec: ScenarioSpec, variants: list[ScenarioSpec], axes: tuple[Axis, ...], group: list[int]) -> ScenarioSpec:
    """Return `spec` with arrays along the dimensions of a group of axes."""
    shape = tuple(len(axis.values) if i in group else 1 for i, axis in enumerate(axes))
    try:
        varied: ScenarioSpec = overlay(spec, variants, shape)
    except MixedError as error:
        where = f"axis {axes[group[0]].path}"
        raise ScenarioError(f"{where}: expected values of one kind, found {error}; make one sweep of each") from None
    return varied


def _axis(path: str, name: str, values: list[Any]) -> Axis:
    labels = tuple(value_text(value) for value in values)
    coordinates, unit = _coordinates(path, values)
    seen: dict[float, str] = {}
    for coordinate, label in zip(coordinates, labels, strict=True):
        if coordinate in seen:
            raise ScenarioError(
                f"axis {path}: expected different values, found {seen[coordinate]} and {label}; drop one"
            )
        seen[coordinate] = label
    return Axis(path, name, np.array(coordinates, dtype=np.float64), unit, labels)


def _coordinates(path: str, values: list[Any]) -> tuple[list[float], str]:
    if all(is_law_mapping(value) for value in values):
        return [float(mean(parse_law(value, allow_never=True))) for value in values], "s"
    if all(is_counts_mapping(value) for value in values):
        return [float(mean_count(compiled(read_counts(value)))) for value in values], "1"
    quantities = [_quantity(path, value) for value in values]
    first = next((q for q in quantities if isinstance(q, Quantity)), None)
    if first is None:  # nothing but one of the endless words
        return [math.inf], "s" if quantities[0] == "duration" else "1"
    for quantity, value in zip(quantities, values, strict=True):
        if not _like(quantity, first):
            found = f"{value_text(values[0])} and {value_text(value)}"
            raise ScenarioError(
                f"axis {path}: expected values of one kind, found {found}; write all in one kind of unit"
            )
    factor, unit = (Fraction(1), "s") if first.dimension == "duration" else (first.factor, first.unit)
    return [float(q.si / factor) if isinstance(q, Quantity) else math.inf for q in quantities], unit


def _like(quantity: Quantity | str, other: Quantity) -> bool:
    if isinstance(quantity, str):
        return quantity == other.dimension
    return (quantity.dimension, quantity.scope) == (other.dimension, other.scope)


def _quantity(path: str, value: object) -> Quantity | str:
    """Return the quantity of one coordinate; for a word without end its dimension."""
    if isinstance(value, str) and value in _ENDLESS:
        return _ENDLESS[value]
    if isinstance(value, bool):
        value = int(value)
    try:
        return read_quantity(value if isinstance(value, str) else repr(value))
    except UnitError:
        message = f"expected numbers with their unit, found {value_text(value)}; set it for the whole sweep instead"
        raise ScenarioError(f"axis {path}: {message}") from None
