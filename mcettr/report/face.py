"""`mcettr.check` and `mcettr.presets`: what the commands of these names answer, for Python."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

from mcettr.errors import ScenarioError
from mcettr.report.check_text import check_object, check_text
from mcettr.report.derived import Derived, derive
from mcettr.report.text import terminal_width
from mcettr.scenario import Preset, Scenario, preset_names, read_preset
from mcettr.sweep.effort import AnyScenario, as_scenario
from mcettr.sweep.notes import tell
from mcettr.units import shown


@dataclass(frozen=True, repr=False)
class Checked:
    """What closed forms say about a scenario; its `repr` is what `mcettr check` prints.

    Parameters
    ----------
    scenario : Scenario
        What was checked.
    derived : Derived
        The numbers behind the text.
    """

    scenario: Scenario
    derived: Derived

    def to_json(self) -> dict[str, Any]:
        """Return what ``mcettr check --json`` prints."""
        return check_object(self.scenario, self.derived)

    def __repr__(self) -> str:
        """Return the text that `mcettr check` prints."""
        return check_text(self.scenario, self.derived, terminal_width())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def check(scenario: AnyScenario) -> Checked:
    """Return what follows from a scenario without simulation, after warning of what looks wrong in it.

    Parameters
    ----------
    scenario : Scenario, str, path or mapping
        A loaded scenario, or what `load` takes.

    >>> round(check("rsc-1").derived.mttf_s / 3600, 2)
    1.8

    Raises
    ------
    ScenarioError
        The scenario is wrong.
    """
    job = as_scenario(scenario)
    derived = derive(job)
    tell(derived.warnings, None)
    return Checked(job, derived)


@overload
def presets(name: None = None) -> Mapping[str, str]: ...
@overload
def presets(name: str) -> Preset: ...
def presets(name: str | None = None) -> Mapping[str, str] | Preset:
    """Return the titles of the presets by name, or one preset with status and source of every value.

    >>> "rsc-1" in presets(), presets("rsc-1").fields["failures.node.rate"].status
    (True, 'published')

    Raises
    ------
    ScenarioError
        No preset has that name.
    """
    if name is None:
        return {each: read_preset(each).title for each in preset_names()}
    if not isinstance(name, str):
        raise ScenarioError(f"name: expected the name of a preset, found {shown(name)}; `mcettr.presets()` lists them")
    return read_preset(name)
