"""How a caller hears what it should know about a scenario: a function of its own, or Python's warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence

from mcettr.errors import ScenarioError, ScenarioWarning
from mcettr.scenario import Scenario, compile_grid

Notes = Callable[[str], None]
_PACKAGE = __name__.split(".")[0]


def tell(lines: Sequence[str], notes: Notes | None) -> None:
    """Give each line to `notes`; without one, warn at the line of the caller that is not in this package."""
    for line in lines:
        if notes is not None:
            notes(line)
        else:
            warnings.warn(line, ScenarioWarning, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """Return the `stacklevel`, for a call of `warnings.warn` in `tell`, of the first frame outside this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    return level


def scenario_warnings(scenario: Scenario) -> tuple[str, ...]:
    """Return what to know about a scenario before a search; nothing where it lacks the very field that is varied."""
    try:
        return compile_grid(scenario, {}).warnings
    except ScenarioError:  # the search says what is wrong
        return ()
