"""The field that a search varies: where it may go, in which unit, and how a number becomes a value of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.errors import ScenarioError
from mcettr.scenario import Grid, Scenario, compile_grid
from mcettr.scenario.catalogue import CAUSE, entries
from mcettr.scenario.merge import unknown_path, value_at
from mcettr.scenario.sections import required
from mcettr.sweep.spaced import end_quantities, in_unit
from mcettr.units import Quantity, UnitError, format_duration, read_quantity, shown, split_number

INTERVAL, LOCAL_INTERVAL = "checkpoint.interval", "checkpoint.local.interval"
_DURATION_S = (1e-3, 86_400.0)
_INTERVAL_S = (1.0, 30.0 * 86_400.0)
_MOST_GPUS = 2.0**20
_WHOLE_FROM = {
    "recovery.spares.count": 0,
    "checkpoint.keep": 1,
    "checkpoint.local.survives_node_losses": 0,
    "failures.*.nodes_lost": 0,
    "failures.*.over_eviction": 0,
}
"""Whole numbers whose default range does not hang on the scenario's own number, and the least value of each."""
_LEAST = (
    "job.gpus",
    "job.horizon",
    "checkpoint.keep",
    "checkpoint.*_bandwidth",
    "checkpoint.local.survives_node_losses",
    "failures.*.mtbf",
    "failures.*.notice",
    "failures.*.min_lease",
    "recovery.read_bandwidth",
    "recovery.max_attempt",
    "recovery.start_failure.max_attempts",
    "recovery.spares.count",
    "lemons.eviction_probability",
    "lemons.screening_sensitivity",
    "maintenance.every",
    "maintenance.notice",
    "health_checks.*.catch_probability.*",
)
"""Fields of which the least value that meets a target is the answer: they cost something, or come seldom. Of all others
(the time that something takes, a rate, an interval, a probability of harm) it is the most that meets it."""
_MOST = 1024
_WIDE = 1000.0
_CHECKS, _HALVINGS = 25, 12
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Vary:
    """A field and the range it may take.

    Parameters
    ----------
    path : str
        Dotted path.
    low, high : float
        Ends of the range, above 0 (of whole numbers from 0 on).
    suffix : str
        What follows a number to make it a value ("s", "/ 1000 node-days", nothing).
    unit : str
        The unit of the numbers, as in datasets ("s", "1 / 1000 node-days", "1").
    step : float
        Values are whole multiples of this; 0 for others.
    parts_of : float
        Values are whole parts of this; 0 for others.
    own : float or None
        The scenario's own number, where it has one in the range.
    """

    path: str
    low: float
    high: float
    suffix: str
    unit: str
    step: float = 0.0
    own: float | None = None
    parts_of: float = 0.0

    @property
    def wants_least(self) -> bool:
        """Whether the least value that meets a target is the answer: of spares, GPUs, bandwidths; else the most."""
        return any(fnmatchcase(self.path, pattern) for pattern in _LEAST)

    @property
    def is_counted(self) -> bool:
        """Whether values are so few that an answer is one of them, found by counting: whole numbers, parts of a time.

        GPUs are none: they come in nodes, and there are many of those.
        """
        return self.step == 1.0 or self.parts_of > 0.0 or (self.step > 0.0 and self.unit == "s")

    def count(self, value: float) -> int:
        """Return which value it is: how many steps it has, or (less than 0) how many parts there are."""
        return -round(self.parts_of / value) if self.parts_of else round(value / self.step)

    def at_count(self, count: int) -> float:
        """Return the value that has a count."""
        return float(f"{self.parts_of / -count if self.parts_of else count * self.step:.12g}")

    def logs(self, values: Array) -> Array:
        """Return the logs on which a search works; for numbers from 0 on those of one more."""
        return np.asarray(np.log(values + (0.0 if self.low > 0 else 1.0)))

    def values(self, logs: Array) -> Array:
        """Return the allowed values nearest to some logs."""
        return self.allowed(self.numbers(logs))

    def spread(self, n: int) -> Array:
        """Return values spread over the whole range, its ends included."""
        ends = self.logs(np.array([self.low, self.high]))
        return self.values(np.linspace(ends[0], ends[1], n))

    def numbers(self, logs: Array) -> Array:
        """Return the numbers that some logs stand for."""
        return np.asarray(np.exp(logs) - (0.0 if self.low > 0 else 1.0))

    def grid(self, scenario: Scenario, numbers: Iterable[float]) -> Grid:
        """Return the scenario's cells at some numbers."""
        try:
            return compile_grid(scenario, {self.path: [in_unit(float(x), self.suffix, 16) for x in numbers]})
        except ScenarioError as error:
            raise error.inside("vary") from None

    def allowed(self, numbers: Array) -> Array:
        """Return the numbers in the range, rounded to 12 digits, steps or parts, sorted and each once."""
        low, high = self.low, self.high
        if self.parts_of:
            least, most = _inside(self.parts_of / high, self.parts_of / low)
            parts = np.clip(np.round(self.parts_of / np.clip(numbers, low, high)), max(least, 1), most)
            return np.unique([self.at_count(-int(n)) for n in parts])
        if self.step:
            low, high = (end * self.step for end in _inside(low / self.step, high / self.step))
            numbers = np.round(numbers / self.step) * self.step
        return np.unique(np.clip([float(f"{x:.12g}") for x in numbers], low, high))

    def rounded_in(self, low: float, high: float) -> tuple[float, float]:
        """Return the least and the greatest allowed value from one to another."""
        if self.parts_of:
            least, most = _inside(self.parts_of / high, self.parts_of / low)
            return self.at_count(-most), self.at_count(-least)
        if self.step:
            least, most = _inside(low / self.step, high / self.step)
            return self.at_count(least), self.at_count(most)
        return low, high

    def text(self, number: float) -> str:
        """Return a number of the field for people."""
        if self.unit == "s":
            text = format_duration(number)
            if not self.is_counted or _is(text, number):
                return text
            return f"{text} ({format_duration(self.parts_of)} / {-self.count(number)})" if self.parts_of else text
        return f"{number:,.0f}" if self.step else str(in_unit(number, self.suffix, 4))


def _inside(low: float, high: float) -> tuple[int, int]:
    """Return the least and the greatest whole number in a range, as far as roundings let it reach."""
    return math.ceil(low * (1.0 - 1e-12)), math.floor(high * (1.0 + 1e-12))


def _is(text: str, number: float) -> bool:
    """Return whether a text says a duration exactly enough for it to be a whole part of another."""
    return math.isclose(float(read_quantity(text).si), number, rel_tol=1e-10)


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
    return _own(scenario, _ranged(scenario, path, span if equals else None))


def _ranged(scenario: Scenario, path: str, span: str | None) -> Vary:
    """Return the field with the range that the user gives, or with the default one."""
    least = next((number for pattern, number in _WHOLE_FROM.items() if fnmatchcase(path, pattern)), None)
    if least is not None:
        return _whole(scenario, path, span, least)
    if span is None:
        return _valid(scenario, _fitting(scenario, _default(scenario, path)))
    ends = [end.strip() for end in span.split(":")]
    if len(ends) != 2 or not all(ends):
        raise ScenarioError(f"vary: {path}: expected LOW:HIGH, found {span!r}; write it like '{path}=1 s:10 min'")
    try:
        first, last = end_quantities(ends[0], ends[1], lowest_is_positive=True)
    except ScenarioError as error:
        raise ScenarioError(f"vary: {path}: {error}") from None
    suffix, low, high = split_number(ends[0])[1], float(first.number), float(last.si / first.factor)
    found = _fitting(scenario, _field(scenario, path, first, suffix, low, high))
    found.grid(scenario, found.allowed(np.array([found.low, found.high])))
    return found


def _fitting(scenario: Scenario, vary: Vary) -> Vary:
    """Return the field with the values that fit the others: a main interval is a multiple of the local one."""
    save = scenario.spec.checkpoint
    main_s, local = (math.inf, None) if save is None else (float(save.interval.value_s), save.local)
    if local is None or vary.path not in (INTERVAL, LOCAL_INTERVAL):
        return vary
    if vary.path == INTERVAL:
        step_s = float(local.interval)
        fitting, least, most = replace(vary, step=step_s), vary.low / step_s, vary.high / step_s
        what = f"a multiple of {LOCAL_INTERVAL} ({format_duration(step_s)})"
    elif math.isfinite(main_s):
        fitting, least, most = replace(vary, parts_of=main_s), main_s / vary.high, main_s / vary.low
        what = f"a whole part of {INTERVAL} ({format_duration(main_s)})"
    else:
        return vary
    low, high = _inside(least, most)
    if max(low, 1) > high:
        found = f"found {format_duration(vary.low)} to {format_duration(vary.high)}"
        raise ScenarioError(f"vary: {vary.path}: expected a range that holds {what}, {found}; widen it")
    return fitting


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


def _whole(scenario: Scenario, path: str, span: str | None, least: int) -> Vary:
    """Return a whole number with its range."""
    spec = scenario.spec.job
    if span is None:
        n_nodes = math.ceil(float(spec.gpus) / float(spec.gpus_per_node))
        ends = [least, n_nodes if path.startswith("failures.") else max(_MOST, n_nodes)]
    else:
        parts = [part.strip() for part in span.split(":")]
        ends = [int(part) for part in parts if part.isdecimal()]
        if len(parts) != 2 or len(ends) != 2 or not least <= ends[0] < ends[1]:
            wanted = f"expected whole numbers LOW:HIGH from {least} on, found {span!r}"
            raise ScenarioError(f"vary: {path}: {wanted}; write it like '{path}={least}:64'")
    found = Vary(path, float(ends[0]), float(ends[1]), "", "1", 1.0)
    found.grid(scenario, [found.low, found.high])
    return found


def _field(scenario: Scenario, path: str, like: Quantity, suffix: str, low: float, high: float) -> Vary:
    step = 0.0
    if _is_whole(path):
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
    low = max(number / _WIDE, 1.0) if _is_whole(path) else number / _WIDE
    return _field(scenario, path, quantity, suffix, low, number * _WIDE)


def _is_whole(path: str) -> bool:
    """Return whether the schema asks for a whole number there."""
    keys = path.split(".")
    for entry in entries():
        if len(entry.path) == len(keys) and all(own in (CAUSE, key) for own, key in zip(entry.path, keys, strict=True)):
            return entry.kind.name.startswith("whole number")
    return False


def _own(scenario: Scenario, vary: Vary) -> Vary:
    """Return the field with the number that the scenario has, where that is one of the range."""
    quantity, zero = _quantity(scenario.text_at(vary.path)), _quantity(str(in_unit(vary.low, vary.suffix, 16)))
    if quantity is None or zero is None or (quantity.dimension, quantity.scope) != (zero.dimension, zero.scope):
        return vary
    number = float(quantity.si) if vary.unit == "s" else vary.low * float(quantity.si) / float(zero.si or 1)
    if vary.low == 0.0:
        number = float(quantity.si)
    return replace(vary, own=number) if vary.low <= number <= vary.high else vary


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
    ends = [_last_valid(scenario, vary, end, bad) for end, bad in _outside(numbers, longest)]
    return replace(vary, low=ends[0], high=ends[1])


def _outside(numbers: Array, good: list[float]) -> list[tuple[float, float]]:
    """Return the ends of a run of valid numbers, each with the first one beyond it (itself where there is none)."""
    first, last = int(np.searchsorted(numbers, good[0])), int(np.searchsorted(numbers, good[-1]))
    return [
        (good[0], float(numbers[max(first - 1, 0)])),
        (good[-1], float(numbers[min(last + 1, numbers.size - 1)])),
    ]


def _last_valid(scenario: Scenario, vary: Vary, good: float, bad: float) -> float:
    """Return the valid number farthest towards an invalid one, as far as halving shows."""
    for _ in range(_HALVINGS):
        if good == bad:
            break
        middle = float(vary.allowed(np.array([math.sqrt(good * bad)]))[0])
        good, bad = (middle, bad) if _fits(scenario, vary, np.array([middle])) else (good, middle)
    return good


def _fits(scenario: Scenario, vary: Vary, numbers: Any) -> bool:
    try:
        vary.grid(scenario, numbers)
    except ScenarioError:
        return False
    return True
