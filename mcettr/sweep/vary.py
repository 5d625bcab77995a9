"""The field that a search varies: where it may go, in which unit, and how a number becomes a value of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.errors import ScenarioError
from mcettr.scenario import Grid, Scenario, compile_grid
from mcettr.scenario.merge import unknown_path, value_at
from mcettr.scenario.sections import required
from mcettr.sweep.spaced import end_quantities, in_unit
from mcettr.units import Quantity, UnitError, format_duration, read_quantity, shown, split_number

INTERVAL = "checkpoint.interval"
_DURATION_S = (1e-3, 86_400.0)
_INTERVAL_S = (1.0, 30.0 * 86_400.0)
_MOST_GPUS = 2.0**20
_COUNTS = ("gpus", "gpus_per_node", "nodes_per_domain", "count")
_RISING = {
    "recovery.spares.count": 0,
    "checkpoint.keep": 1,
    "checkpoint.local.survives_node_losses": 0,
    "recovery.start_failure.max_attempts": 1,
}
"""Whole numbers of which more is always better, and the least value of each."""
_MOST = 1024
_WIDE = 1000.0
_CHECKS = 25
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Vary:
    """A field and the range it may take.

    Parameters
    ----------
    path : str
        Dotted path.
    low, high : float
        Ends of the range, above 0 (`rising` ones from 0 on).
    suffix : str
        What follows a number to make it a value ("s", "/ 1000 node-days", nothing).
    unit : str
        The unit of the numbers, as in datasets ("s", "1 / 1000 node-days", "1").
    step : float
        Values are whole multiples of this; 0 for real numbers.
    rising : bool
        Whether more is always better: then the smallest number that meets a target is looked for, from `start` on.
    start : int
        The scenario's own number, if it has one.
    """

    path: str
    low: float
    high: float
    suffix: str
    unit: str
    step: float = 0.0
    rising: bool = False
    start: int = 0

    def grid(self, scenario: Scenario, numbers: Iterable[float]) -> Grid:
        """Return the scenario's cells at some numbers."""
        try:
            return compile_grid(scenario, {self.path: [in_unit(float(x), self.suffix, 16) for x in numbers]})
        except ScenarioError as error:
            raise error.inside("vary") from None

    def allowed(self, numbers: Array) -> Array:
        """Return the numbers in the range, rounded to 12 digits or to whole steps, sorted and each once."""
        low, high = self.low, self.high
        if self.step:
            low, high = math.ceil(low / self.step - 1e-9) * self.step, math.floor(high / self.step + 1e-9) * self.step
            numbers = np.round(numbers / self.step) * self.step
        return np.unique(np.clip([float(f"{x:.12g}") for x in numbers], low, high))

    def text(self, number: float) -> str:
        """Return a number of the field for people."""
        if self.unit == "s":
            return format_duration(number)
        return str(in_unit(number, self.suffix, 7 if self.step else 4))


def read_vary(scenario: Scenario, vary: str) -> Vary:
    """Return the field that ``PATH`` or ``PATH=LO:HI`` names, with its range.

    Without a range: 1 ms to 1 day for durations, 1 s to 30 days for the interval, one node to 1,048,576 GPUs, up to
    the job's number of nodes (or 1,024) for numbers of which more is always better, such as spares, and a factor of
    1,000 both ways for anything else; as far as the scenario is valid.

    >>> from mcettr.scenario import load
    >>> read_vary(load("rsc-1"), "checkpoint.write_time=1 s:10 min").high
    600.0
    """
    if not isinstance(vary, str) or not vary.strip():
        raise ScenarioError(f"vary: expected PATH or PATH=LOW:HIGH, found {shown(vary)}; write it like 'job.gpus'")
    path, equals, span = vary.strip().partition("=")
    path = path.strip()
    fault = unknown_path(scenario.document.tree, tuple(path.split(".")), 0)
    if fault is not None:
        raise ScenarioError(f"vary: {path}: {fault.message}")
    _check_section(scenario, path)
    if path in _RISING:
        return _rising(scenario, path, span if equals else None)
    if not equals:
        return _valid(scenario, _default(scenario, path))
    ends = [end.strip() for end in span.split(":")]
    if len(ends) != 2 or not all(ends):
        raise ScenarioError(f"vary: {path}: expected LOW:HIGH, found {span!r}; write it like '{path}=1 s:10 min'")
    try:
        first, last = end_quantities(ends[0], ends[1], lowest_is_positive=True)
    except ScenarioError as error:
        raise ScenarioError(f"vary: {path}: {error}") from None
    found = _field(scenario, path, first, split_number(ends[0])[1], float(first.number), float(last.si / first.factor))
    found.grid(scenario, found.allowed(np.array([found.low, found.high])))
    return found


def _check_section(scenario: Scenario, path: str) -> None:
    """Refuse a field of a section that is not there and needs more than the field, and say how to give it."""
    keys = tuple(path.split("."))
    for length in range(1, len(keys)):
        section, needed = keys[:length], required(keys[:length])
        if value_at(scenario.document.tree, section) is None and needed.keys() - {keys[length]}:
            name = ".".join(section)
            example = ", ".join(f"{key}: {value}" for key, value in needed.items())
            message = f"expected a section {name}, found none; give it, as with --set '{name}={{{example}}}'"
            raise ScenarioError(f"vary: {path}: {message}")


def _rising(scenario: Scenario, path: str, span: str | None) -> Vary:
    """Return a field of which more is better, with its range and where to start."""
    least, spec = _RISING[path], scenario.spec.job
    if span is None:
        ends = [least, max(_MOST, math.ceil(float(spec.gpus) / float(spec.gpus_per_node)))]
    else:
        parts = [part.strip() for part in span.split(":")]
        ends = [int(part) for part in parts if part.isdecimal()]
        if len(parts) != 2 or len(ends) != 2 or not least <= ends[0] < ends[1]:
            wanted = f"expected whole numbers LOW:HIGH from {least} on, found {span!r}"
            raise ScenarioError(f"vary: {path}: {wanted}; write it like '{path}={least}:64'")
    own = _quantity(scenario.text_at(path))
    start = ends[0] if own is None or own.dimension != "number" else int(min(max(float(own.si), ends[0]), ends[1]))
    found = Vary(path, float(ends[0]), float(ends[1]), "", "1", 1.0, rising=True, start=start)
    found.grid(scenario, [float(start)])
    return found


def _field(scenario: Scenario, path: str, like: Quantity, suffix: str, low: float, high: float) -> Vary:
    step = 0.0
    if path.split(".")[-1] in _COUNTS:
        step = scenario.spec.job.gpus_per_node if path == "job.gpus" else 1.0
        if high - low < step:
            found = f"found {low:g} to {high:g}"
            raise ScenarioError(f"vary: {path}: expected a range of at least {step:g}, {found}; widen it")
    if like.dimension == "duration":
        return Vary(path, low * float(like.factor), high * float(like.factor), "s", "s")
    return Vary(path, low, high, suffix, like.unit, step)


def _default(scenario: Scenario, path: str) -> Vary:
    text = scenario.text_at(path)
    if path == "job.gpus":
        step = scenario.spec.job.gpus_per_node
        return Vary(path, step, max(_MOST_GPUS, step), "", "1", step)
    if path == INTERVAL:
        return Vary(path, *_INTERVAL_S, "s", "s")
    quantity = _quantity(text)
    if quantity is None or (quantity.number <= 0 and quantity.dimension != "duration"):
        found = "nothing" if text is None else text
        raise ScenarioError(f"vary: {path}: expected a number to start from, found {found}; give '{path}=LOW:HIGH'")
    number = float(quantity.number)
    if quantity.dimension == "duration" and not path.startswith("job."):
        own_s = float(quantity.si) or _DURATION_S[0]
        return Vary(path, min(_DURATION_S[0], own_s / 10.0), max(_DURATION_S[1], own_s * 10.0), "s", "s")
    suffix = split_number(str(text))[1]
    low = max(number / _WIDE, 1.0) if path.split(".")[-1] in _COUNTS else number / _WIDE
    return _field(scenario, path, quantity, suffix, low, number * _WIDE)


def _quantity(text: str | None) -> Quantity | None:
    try:
        return None if text is None else read_quantity(text)
    except UnitError:
        return None


def _valid(scenario: Scenario, vary: Vary) -> Vary:
    """Return the field with its range cut to the values that give a valid scenario, those around the present one."""
    numbers = vary.allowed(np.geomspace(vary.low, vary.high, _CHECKS))
    if _fits(scenario, vary, numbers):
        return vary
    fits = [_fits(scenario, vary, numbers[i : i + 1]) for i in range(numbers.size)]
    runs: list[list[float]] = [[]]
    for number, good in zip(numbers, fits, strict=True):
        if good:
            runs[-1].append(float(number))
        elif runs[-1]:
            runs.append([])
    longest = max(runs, key=len)
    if len(longest) < 2:
        raise ScenarioError(f"vary: {vary.path}: expected valid values, found hardly any; give '{vary.path}=LOW:HIGH'")
    return replace(vary, low=longest[0], high=longest[-1])


def _fits(scenario: Scenario, vary: Vary, numbers: Any) -> bool:
    try:
        vary.grid(scenario, numbers)
    except ScenarioError:
        return False
    return True
