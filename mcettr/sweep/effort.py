"""What every run is told besides the job: how much effort, which dates, and the scenario in any form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mcettr.errors import Mistake, ScenarioError
from mcettr.scenario import Scenario, load
from mcettr.units import parse_duration_s, shown

if TYPE_CHECKING:
    from mcettr.engine.run import Effort
    from mcettr.scenario import Grid

Engine = Literal["jax", "reference"]
AnyScenario = Scenario | str | os.PathLike[str] | Mapping[str, Any]
INTERVAL_TIMELINES, CHECK_TIMELINES = 2**31, 2**30
"""First timelines of the searches for an interval and of the check of an answer, apart from those of estimates."""


@dataclass(frozen=True)
class Deadlines:
    """Dates at which the completion probability is asked for: seconds, and as the user wrote them."""

    seconds: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()


def as_scenario(scenario: AnyScenario) -> Scenario:
    """Return the scenario itself, or the one that a preset name, a path or a mapping stands for."""
    return scenario if isinstance(scenario, Scenario) else load(scenario)


def read_deadlines(deadlines: Sequence[str]) -> Deadlines:
    """Return the dates, each a finite time above 0 that occurs once.

    >>> read_deadlines(["25 d"]).seconds
    (2160000.0,)
    """
    if isinstance(deadlines, str) or not isinstance(deadlines, Sequence):
        raise ScenarioError(f"deadlines: expected a list of times, found {shown(deadlines)}; write it like ['25 d']")
    seconds: list[float] = []
    for given in deadlines:
        try:
            at_s = parse_duration_s(given, "30 d")
        except ScenarioError as error:
            raise error.inside("deadlines") from None
        if not 0.0 < at_s < np.inf:
            raise ScenarioError(
                f"deadlines: expected a finite time above 0, found {shown(given)}; write it like '25 d'"
            )
        if at_s in seconds:
            raise ScenarioError(f"deadlines: expected different times, found {shown(given)} twice; drop one")
        seconds.append(at_s)
    return Deadlines(tuple(seconds), tuple(str(given) for given in deadlines))


def for_deadlines(grid: Grid, deadlines: Deadlines) -> Grid:
    """Return cells that are simulated until the last date at least, where the user gave no horizon.

    Raises
    ------
    ScenarioError
        Some cell cannot answer: it has no work, or a horizon before that.
    """
    from mcettr.model.checks import check

    if not deadlines.seconds:
        return grid
    if not grid.params.horizon_given:
        horizon_s = np.maximum(grid.params.horizon_s, max(deadlines.seconds))[()]
        grid = replace(grid, params=replace(grid.params, horizon_s=horizon_s))
    for problem in check(grid.params, deadlines.seconds):
        if problem.level == "error":
            cell = "" if problem.cells is None or not grid.axes else f" (cell {first_cell(grid, problem.cells)})"
            raise ScenarioError(Mistake(f"{problem.message}{cell}", problem.path))
    return grid


def first_cell(grid: Grid, cells: Any) -> str:
    """Return the labels of the first cell that is marked."""
    index = np.unravel_index(int(np.argmax(np.broadcast_to(cells, grid.shape))), grid.shape)
    return ", ".join(f"{axis.name}={axis.labels[i]}" for axis, i in zip(grid.axes, index, strict=True))


def checked_effort(timelines: int | None, precision: float | None, seed: int, device: str, engine: str) -> Effort:
    """Return the effort of a run, each number in its range."""
    check_effort(timelines, precision, seed, engine, device)
    from mcettr.engine.run import Effort

    return Effort(
        timelines=None if timelines is None else int(timelines),
        precision=None if precision is None else float(precision),
        seed=int(seed),
        device=device,
        engine="jax" if engine == "jax" else "reference",
    )


def check_effort(
    timelines: object, precision: object, seed: object, engine: object = "jax", device: object = "auto"
) -> None:
    """Refuse numbers out of range and words of another type, without loading an engine.

    >>> check_effort(4096, None, 0)
    """
    if timelines is not None and precision is not None:
        raise ScenarioError("timelines: expected timelines or precision, found both; keep one")
    if timelines is not None:
        _check_whole("timelines", timelines, 1, CHECK_TIMELINES, "4096")
    if precision is not None and not (_is_number(precision) and 0.0 < float(precision) < 1.0):  # type: ignore[arg-type]
        raise ScenarioError(
            f"precision: expected a standard error in (0, 1), found {shown(precision)}; write it like 0.001"
        )
    _check_whole("seed", seed, 0, 2**64 - 1, "0")
    if not isinstance(engine, str) or engine not in ("jax", "reference"):
        raise ScenarioError(f"engine: expected jax or reference, found {shown(engine)}; write one of them")
    if not isinstance(device, str):
        raise ScenarioError(f"device: expected auto, cpu, cuda or cuda:i, found {shown(device)}; write one of them")


def check_calls(progress: object, notes: object = None) -> None:
    """Refuse what is given to be called and cannot be.

    >>> check_calls(None, print)
    """
    for name, value in (("progress", progress), ("notes", notes)):
        if value is not None and not callable(value):
            raise ScenarioError(f"{name}: expected a function of one argument, found {shown(value)}; leave it out")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _check_whole(name: str, value: Any, low: int, high: int, example: str) -> None:
    if not (_is_number(value) and low <= value <= high and value == int(value)):
        raise ScenarioError(
            f"{name}: expected a whole number from {low} to {high}, found {shown(value)}; write it like {example}"
        )
