"""TOML to plain trees that remember the line of every value."""

from __future__ import annotations

import re
import tomllib

from mcettr.errors import Mistake, ScenarioError
from mcettr.scenario.place import Document, Path, Position, plain_tree


def read_toml(text: str, file: str) -> Document:
    """Return the mapping that a TOML text holds.

    >>> read_toml("[job]\\ngpus = 8", "a.toml").position(("job", "gpus"))
    Position(file='a.toml', line=2)
    """
    try:
        tree = plain_tree(tomllib.loads(text))
    except ValueError as error:  # also a whole number of thousands of digits
        match = re.search(r"\(at line (\d+), column \d+\)", str(error))
        problem = re.sub(r"\s*\(at .*\)", "", str(error))
        message = f"expected TOML, found an error: {problem}; correct it"
        raise ScenarioError(Mistake(message, file=file, line=int(match[1]) if match else None)) from None
    except (RecursionError, ScenarioError):
        message = "expected a scenario, found very deep nesting; flatten it"
        raise ScenarioError(Mistake(message, file=file)) from None
    return Document(tree, {(): Position(file), **_positions(text, file)})


def _positions(text: str, file: str) -> dict[Path, Position]:
    """Return the lines of tables and of keys at the start of a line (keys of inline tables share their line)."""
    positions: dict[Path, Position] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        entry = re.match(r"""\s*([\w"'. \t-]+?)\s*=""", line)
        if header:
            table = _key(header[1])
        path = table if header else (*table, *_key(entry[1])) if entry else ()
        for length in range(1, len(path) + 1):
            positions.setdefault(path[:length], Position(file, number))
    return positions


def _key(text: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in text.split("."))
