"""Values of an axis from a short spec: lists, and evenly spaced ranges in nice decimals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from mcettr.errors import ScenarioError
from mcettr.scenario.document import parse_scalar
from mcettr.units import Quantity, UnitError, read_quantity, shown, split_number

Spacing = Literal["lin", "geom"]
SPACINGS: tuple[Spacing, ...] = get_args(Spacing)
_MOST_VALUES = 100_000
_AXIS_FORMS = "[1 s, 10 s], {geom: [1 s, 10 min, 13]} or {lin: [1 s, 10 s, 4]}"
_WHOLE_FROM = 100
"""Bare whole ends of at least this stand for counts (of GPUs), so the values between are whole too."""


def parse_axis_spec(text: str) -> list[Any]:
    """Return the values that ``a,b,c``, ``geom:LO:HI:N`` or ``lin:LO:HI:N`` stands for.

    >>> parse_axis_spec("10 s, 60 s"), parse_axis_spec("geom:1 s:100 s:3")
    (['10 s', '60 s'], ['1 s', '10 s', '100 s'])

    Raises
    ------
    ScenarioError
        The text is none of these.
    """
    kind, colon, rest = text.strip().partition(":")
    if colon and kind in SPACINGS:
        parts = [part.strip() for part in rest.split(":")]
        if len(parts) != 3:
            raise ScenarioError(f"expected {kind}:LOW:HIGH:N, found {shown(text)}; write it like 'geom:1 s:10 min:13'")
        return spaced(kind, [parts[0], parts[1], parse_scalar(parts[2])])
    return [parse_scalar(part) for part in _split(text) if part]


def _split(text: str) -> list[str]:
    """Return the parts between the commas that stand outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def axis_values(given: object) -> list[Any]:
    """Return the values of an axis from a list, or from a spacing such as ``{"geom": ["1 s", "10 min", 13]}``.

    >>> axis_values({"lin": [1, 3, 3]}), axis_values(["1 s"])
    ([1, 2, 3], ['1 s'])
    """
    if isinstance(given, Mapping) and len(given) == 1 and (kind := next(iter(given))) in SPACINGS:
        return spaced(kind, given[kind])
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ScenarioError(f"expected a list or a spacing, found {shown(given)}; write {_AXIS_FORMS}")
    values = list(given)
    if not values:
        raise ScenarioError("expected at least one value, found none; add one or remove the axis")
    if any(isinstance(value, str) and value.strip() == "auto" for value in values):
        raise ScenarioError("expected a value of its own in each cell, found auto; set it in the scenario instead")
    return values


def read_axis_values(axes: Mapping[str, object]) -> dict[str, list[Any]]:
    """Return the values of every axis by dotted path; see `axis_values`.

    >>> read_axis_values({"job.gpus": [1024]})
    {'job.gpus': [1024]}
    """
    if not isinstance(axes, Mapping) or not axes:
        found = shown(axes) if not isinstance(axes, Mapping) and axes is not None else "none"
        raise ScenarioError(f"axes: expected at least one axis, found {found}; write {{'job.gpus': [1024, 4096]}}")
    values = {}
    for path, given in axes.items():
        if not isinstance(path, str):
            raise ScenarioError(f"axes: expected dotted paths, found {shown(path)}; write {{'job.gpus': [1024, 4096]}}")
        try:
            values[path] = axis_values(given)
        except ScenarioError as error:
            raise error.inside(f"axis {path}") from None
    return values


def spaced(kind: Spacing, given: object) -> list[Any]:
    """Return evenly spaced values, linearly or in ratio, in the unit of the first end.

    Parameters
    ----------
    kind : {"lin", "geom"}
        Equal steps or equal ratios.
    given : sequence
        Both ends, as the user wrote them, and the number of values. The ends come back as they are; what is between
        is rounded to 12 digits, and to whole numbers where both ends are whole counts (without a unit, from 100).

    >>> spaced("lin", ["1 / 1000 node-days", "10 / 1000 node-days", 4])[1:3]
    ['4 / 1000 node-days', '7 / 1000 node-days']
    >>> spaced("geom", [512, 131072, 4])
    [512, 3251, 20643, 131072]
    """
    example = f"write it like '{kind}: [1 s, 10 min, 13]'"
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 3:
        raise ScenarioError(f"expected {kind}: [LOW, HIGH, N], found {shown(given)}; {example}")
    low, high, n = given
    if isinstance(n, bool) or not isinstance(n, int) or not 2 <= n <= _MOST_VALUES:
        raise ScenarioError(f"expected 2 to {_MOST_VALUES} values, found {shown(n)}; {example}")
    first, last = end_quantities(low, high, lowest_is_positive=kind == "geom")
    start, stop = float(first.number), float(last.si / first.factor)
    whole = first.dimension == "number" and stop >= _WHOLE_FROM and first.number.denominator == 1 == last.si.denominator
    numbers = (_between(kind, start, stop, i / (n - 1)) for i in range(1, n - 1))
    unit = split_number(low)[1] if isinstance(low, str) else ""
    return [_plain(low), *(in_unit(round(x) if whole else x, unit) for x in numbers), _plain(high)]


def end_quantities(low: object, high: object, *, lowest_is_positive: bool) -> tuple[Quantity, Quantity]:
    """Return both ends of a range as quantities of one kind, the low one first.

    >>> [float(q.si) for q in end_quantities("1 s", "10 min", lowest_is_positive=True)]
    [1.0, 600.0]
    """
    first, last = (_end(end) for end in (low, high))
    if (first.dimension, first.scope) != (last.dimension, last.scope):
        raise ScenarioError(f"expected both ends in one kind of unit, found {low} and {high}; write both in one")
    if not first.si < last.si:
        raise ScenarioError(f"expected the lower end first, found {low} and {high}; swap or change them")
    if first.si < 0 or (lowest_is_positive and first.si == 0):
        raise ScenarioError(f"expected a lower end above 0, found {low}; raise it")
    return first, last


def _end(end: object) -> Quantity:
    if isinstance(end, bool) or not isinstance(end, (str, int, float)):
        raise ScenarioError(f"expected a number with its unit, found {shown(end)}; write it like '10 s'")
    try:
        return read_quantity(end if isinstance(end, str) else repr(end))
    except UnitError as error:
        raise ScenarioError(str(error)) from None


def _between(kind: Spacing, start: float, stop: float, share: float) -> float:
    if kind == "lin":
        return start + (stop - start) * share
    return math.exp(math.log(start) + math.log(stop / start) * share)


def _plain(value: Any) -> Any:
    return parse_scalar(value) if isinstance(value, str) else value


def in_unit(number: float, unit: str, digits: int = 12) -> Any:
    """Return a number with its unit as the user would write it; a bare number without one.

    >>> in_unit(6.5, "/ 1000 node-days"), in_unit(8.0, "")
    ('6.5 / 1000 node-days', 8)
    """
    text = f"{number:.{digits}g}"
    return f"{text} {unit}" if unit else parse_scalar(text)
