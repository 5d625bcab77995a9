"""What ships: scenarios of published runs, with the status and the source of every value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal

from mcettr.errors import ScenarioError
from mcettr.units import shown

Status = Literal["published", "derived", "assumed"]


@dataclass(frozen=True)
class FieldSource:
    """Where one value of a preset comes from.

    Parameters
    ----------
    status : {"published", "derived", "assumed"}
        Stated by the operator, computed from what was stated, or chosen for this preset.
    source : str
        The document, with the words "as quoted" where it was read in a secondary source only; for an assumed value
        the reason.
    note : str or None
        A condition or a caveat.
    """

    status: Status
    source: str
    note: str | None = None


@dataclass(frozen=True)
class Preset:
    """A scenario that ships with the package.

    Parameters
    ----------
    name : str
        What the user writes.
    title : str
        One line: whose run, how large, what it shows.
    scenario : mapping
        The scenario as a scenario file would hold it, not validated here.
    fields : mapping of str to FieldSource
        One entry for every value of `scenario`, by dotted path.
    notes : tuple of str
        Sentences a reader of the numbers should know, conflicts between sources first of all.
    """

    name: str
    title: str
    scenario: Mapping[str, Any]
    fields: Mapping[str, FieldSource]
    notes: tuple[str, ...]


def _folder() -> Traversable:
    return files("mcettr.scenario").joinpath("presets")


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets, sorted; nothing is parsed.

    >>> "rsc-1" in preset_names()
    True
    """
    suffix = ".yaml"
    return tuple(sorted(item.name.removesuffix(suffix) for item in _folder().iterdir() if item.name.endswith(suffix)))


def read_preset(name: str) -> Preset:
    """Return the preset called `name`.

    >>> read_preset("rsc-1").fields["failures.node.rate"].status
    'published'

    Raises
    ------
    ScenarioError
        No preset has that name.
    """
    if name not in preset_names():
        raise ScenarioError(_unknown(name))
    from ruamel.yaml import YAML  # slow to import, and not needed to list the names

    text = _folder().joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    content = YAML(typ="safe", pure=True).load(text)  # pure: the C loader reads YAML 1.1
    fields = {path: FieldSource(**entry) for path, entry in content["fields"].items()}
    return Preset(name, content["title"], content["scenario"], fields, tuple(content["notes"]))


def _unknown(name: str) -> str:
    near = get_close_matches(name[:80], preset_names(), n=1, cutoff=0.4)
    advice = f"did you mean {near[0]!r}? " if near else ""
    found = f"found none so called; {advice}`mcettr presets` lists them"
    return f"preset {shown(name)}: expected the name of a preset, {found}"
