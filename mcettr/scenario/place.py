"""Plain trees of values, and where each value was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mcettr.errors import ScenarioError

Path = tuple[str, ...]
Tree = dict[str, Any]

DEEPEST = 40
"""Values may lie inside this many others."""


@dataclass(frozen=True)
class Position:
    """Where a value was written: a file (or a word for what is none), a line in it, and what kind of thing holds it.

    A preset is sound, so what is wrong with a scenario is never its fault; a change is an override, on top of all.
    """

    file: str
    line: int | None = None
    kind: Literal["preset", "file", "change"] = field(default="file", repr=False)

    def __str__(self) -> str:
        """Return it as ``file:line``."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Document:
    """A tree of plain values (mappings with text keys, lists, numbers, text) and the positions of its paths."""

    tree: Tree
    positions: Mapping[Path, Position] = field(default_factory=dict)

    def position(self, path: Path) -> Position | None:
        """Return where the value at `path`, or else the nearest one around it, was written."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.positions:
                return self.positions[path[:length]]
        return None


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a scenario: the path of the value, and what to do about it."""

    path: Path
    message: str


def plain_tree(source: Mapping[Any, Any]) -> Tree:
    """Return a deep copy with text keys, lists for sequences and Python numbers for NumPy's.

    >>> plain_tree({"uniform": ("1 s", "2 s"), 0.5: {}})
    {'uniform': ['1 s', '2 s'], '0.5': {}}

    Raises
    ------
    ScenarioError
        Values lie too deep inside one another.
    """
    tree: Tree = _plain(source, 0)
    return tree


def plain_value(value: object) -> Any:
    """Return `value` with its mappings, sequences and NumPy scalars made plain."""
    return _plain(value, 0)


def _plain(value: object, depth: int) -> Any:
    if depth > DEEPEST:
        raise ScenarioError("expected a scenario, found very deep nesting; flatten it")
    if isinstance(value, Mapping):
        return {str(key): _plain(child, depth + 1) for key, child in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(item, depth + 1) for item in value]
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value
