"""Files to plain trees that remember the line of every value: YAML 1.2 and TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from mcettr.errors import ScenarioError

Path = tuple[str, ...]
Tree = dict[str, Any]

_TAG = "tag:yaml.org,2002:"
_DEEPEST = 40
_MOST_VALUES = 100_000
_LONGEST_NUMBER = 300


@dataclass(frozen=True)
class Position:
    """Where a value was written: a file (or a word for what is none) and a line in it."""

    file: str
    line: int | None = None

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


def read_document(path: FilePath) -> Document:
    """Return what a YAML or TOML file (by its ending) holds.

    Raises
    ------
    ScenarioError
        The file cannot be read, is not text, breaks the rules of its language or is no mapping.
    """
    text = _read_text(path)
    return _read_toml(text, str(path)) if path.suffix.lower() == ".toml" else read_yaml(text, str(path))


def _read_text(path: FilePath) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ScenarioError(f"{path}: expected a readable file, found {reason!r}; check the path") from None
    except UnicodeDecodeError as error:
        message = f"expected UTF-8 text, found byte {error.object[error.start]:#04x} at offset {error.start}"
        raise ScenarioError(f"{path}: {message}; save the file as UTF-8") from None


def read_yaml(text: str, file: str) -> Document:
    """Return the mapping that a YAML 1.2 text holds.

    >>> read_yaml("job: {gpus: 8}", "a.yaml").position(("job", "gpus"))
    Position(file='a.yaml', line=1)
    """
    node = _compose(text, file)
    positions: dict[Path, Position] = {}
    tree = _plain(node, (), positions, file) if node is not None else None
    return Document(_mapping(tree, file), positions)


def _mapping(tree: object, file: str) -> Tree:
    if not isinstance(tree, dict):
        found = "an empty file" if tree is None else f"a {'list' if isinstance(tree, list) else type(tree).__name__}"
        raise ScenarioError(f"{file}: expected a mapping of sections, found {found}; begin it with 'job:'")
    return tree


def one_line(text: str) -> str:
    """Return `text` with what a terminal would not print written out, so that an error is one line.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def parse_scalar(text: str) -> object:
    """Return what `text` means as a YAML 1.2 value: a number, a flag, text, or a flow mapping or list.

    >>> parse_scalar("12288"), parse_scalar("10 min"), parse_scalar("no")
    (12288, '10 min', 'no')
    """
    try:
        node = _compose(text, "value")
        return text if node is None else _plain(node, (), {}, "value")
    except ScenarioError:
        return text


def _compose(text: str, file: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = Position(file, mark.line + 1 if mark is not None else None)
        problem = getattr(error, "problem", None) or str(error)
        raise ScenarioError(
            f"{where}: expected YAML, found an error: {' '.join(problem.split())}; correct it"
        ) from None
    except RecursionError:
        raise ScenarioError(f"{file}: expected a scenario, found very deep nesting; flatten it") from None


def _plain(node: Any, path: Path, positions: dict[Path, Position], file: str) -> Any:
    """Return the plain value of a YAML node, and note the position of everything inside."""
    position = Position(file, node.start_mark.line + 1)
    positions.setdefault(path, position)
    if len(path) > _DEEPEST or len(positions) > _MOST_VALUES:  # an anchor inside itself, or a bomb of them
        raise ScenarioError(f"{position}: expected a scenario, found very deep nesting; flatten it")
    tag = str(node.tag).removeprefix(_TAG)
    if tag == "map":
        return _plain_mapping(node, path, positions, file)
    if tag == "seq":
        return [_plain(child, (*path, str(i)), positions, file) for i, child in enumerate(node.value)]
    return _plain_scalar(node.value, tag, position)


def _plain_mapping(node: Any, path: Path, positions: dict[Path, Position], file: str) -> Tree:
    tree: Tree = {}
    for key_node, child in node.value:
        position = Position(file, key_node.start_mark.line + 1)
        if not isinstance(key_node.value, str):
            raise ScenarioError(f"{position}: expected a word as a key, found a list or mapping; write 'key: value'")
        key = key_node.value
        inner = (*path, key)
        if key in tree:
            first, noun = positions[inner].line, "cause" if path == ("failures",) else "key"
            where = f"{position}: {one_line('.'.join(inner))}"
            raise ScenarioError(
                f"{where}: expected each {noun} once, found a duplicated {noun} (line {first}); keep one"
            )
        positions[inner] = position
        tree[key] = _plain(child, inner, positions, file)
    return tree


def _plain_scalar(text: str, tag: str, position: Position) -> Any:
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() == "true"
    if tag in ("int", "float") and len(text) > _LONGEST_NUMBER:
        raise ScenarioError(f"{position}: expected a number, found one of {len(text)} digits; shorten it")
    if tag == "int":
        return int(text, 0) if text.lstrip("+-").lower().startswith(("0x", "0o", "0b")) else int(text)
    if tag == "float":
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if tag in ("str", "timestamp", "merge"):
        return text
    raise ScenarioError(f"{position}: expected a plain value, found the tag {tag!r}; remove it")


def _read_toml(text: str, file: str) -> Document:
    try:
        tree = tomllib.loads(text)
    except ValueError as error:  # also a whole number of thousands of digits
        match = re.search(r"\(at line (\d+), column \d+\)", str(error))
        where = Position(file, int(match[1]) if match else None)
        problem = re.sub(r"\s*\(at .*\)", "", str(error))
        raise ScenarioError(f"{where}: expected TOML, found an error: {problem}; correct it") from None
    except RecursionError:
        raise ScenarioError(f"{file}: expected a scenario, found very deep nesting; flatten it") from None
    return Document(plain_tree(tree), {(): Position(file), **_toml_positions(text, file)})


def _toml_positions(text: str, file: str) -> dict[Path, Position]:
    """Return the lines of tables and of keys at the start of a line (keys of inline tables share their line)."""
    positions: dict[Path, Position] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        entry = re.match(r"""\s*([\w"'. \t-]+?)\s*=""", line)
        if header:
            table = _toml_key(header[1])
        path = table if header else (*table, *_toml_key(entry[1])) if entry else ()
        for length in range(1, len(path) + 1):
            positions.setdefault(path[:length], Position(file, number))
    return positions


def _toml_key(text: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def plain_tree(source: Mapping[Any, Any]) -> Tree:
    """Return a deep copy with text keys, lists for sequences and Python numbers for NumPy's.

    >>> plain_tree({"uniform": ("1 s", "2 s"), 0.5: {}})
    {'uniform': ['1 s', '2 s'], '0.5': {}}
    """
    return {str(key): plain_value(value) for key, value in source.items()}


def plain_value(value: object) -> Any:
    """Return `value` with its mappings, sequences and NumPy scalars made plain."""
    if isinstance(value, Mapping):
        return plain_tree(value)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain_value(item) for item in value]
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "ndim", None) == 0 else value
