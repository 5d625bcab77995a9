"""Files to plain trees that remember the line of every value: YAML 1.2 and TOML."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from mcettr.errors import Mistake, ScenarioError
from mcettr.scenario.place import DEEPEST, Document, Path, Position, Tree
from mcettr.scenario.toml_text import read_toml

_TAG = "tag:yaml.org,2002:"
_MOST_VALUES = 100_000
_LONGEST_NUMBER = 300
_DIRECTIVE = re.compile(r"%YAML[ \t]+(\S+)")
_FLAGS = {"true": True, "false": False}
_NULLS = ("", "~", "null")
_ODD_TEXT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What the YAML reader raises, besides its own errors, on text that nobody should write."""


def read_document(path: FilePath) -> Document:
    """Return what a YAML or TOML file (by its ending) holds.

    Raises
    ------
    ScenarioError
        The file cannot be read, is not text, breaks the rules of its language or is no mapping.
    """
    text = _read_text(path)
    return read_toml(text, str(path)) if path.suffix.lower() == ".toml" else read_yaml(text, str(path))


def _read_text(path: FilePath) -> str:
    file = str(path)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"expected a readable file, found {reason!r}; check the path"
    except UnicodeDecodeError as error:
        found = f"found byte {error.object[error.start]:#04x} at offset {error.start}"
        message = f"expected UTF-8 text, {found}; save the file as UTF-8"
    except ValueError:  # a null character in the name
        message = "expected the name of a file, found one with a null character; correct it"
    raise ScenarioError(Mistake(message, file=file))


def read_yaml(text: str, file: str) -> Document:
    """Return the mapping that a YAML 1.2 text holds.

    >>> read_yaml("job: {gpus: 8}", "a.yaml").position(("job", "gpus"))
    Position(file='a.yaml', line=1)
    """
    node = _compose(text, file)
    reader = _Reader(file)
    tree = reader.plain(node, ()) if node is not None else None
    if reader.mistakes:
        raise ScenarioError(*reader.mistakes)
    if not isinstance(tree, dict):
        found = "an empty file" if tree is None else f"a {'list' if isinstance(tree, list) else type(tree).__name__}"
        message = f"expected a mapping of sections, found {found}; begin it with 'job:'"
        raise ScenarioError(Mistake(message, file=file))
    return Document(tree, reader.positions)


def parse_scalar(text: str) -> object:
    """Return what `text` means as a YAML 1.2 value: a number, a flag, text, or a flow mapping or list.

    >>> parse_scalar("12288"), parse_scalar("10 min"), parse_scalar("no")
    (12288, '10 min', 'no')
    """
    try:
        node = _compose(text, "value")
        reader = _Reader("value")
        value = text if node is None else reader.plain(node, ())
    except ScenarioError:
        return text
    return text if reader.mistakes else value


def _compose(text: str, file: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    _check_version(text, file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an anchor that is used twice
            return YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = " ".join((getattr(error, "problem", None) or str(error)).split())
        line = mark.line + 1 if mark is not None else None
        message = f"expected YAML, found an error: {problem}; correct it"
    except RecursionError:
        line, message = None, "expected a scenario, found very deep nesting; flatten it"
    except _ODD_TEXT:
        line, message = None, "expected YAML, found what its reader cannot make sense of; write it in a plainer way"
    raise ScenarioError(Mistake(message, file=file, line=line))


def _check_version(text: str, file: str) -> None:
    """Refuse a directive that asks for another YAML: in version 1.1 `12:30` is a number and `no` a flag."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith(("%", "#")):
            return
        match = _DIRECTIVE.match(line)
        if match and match[1] != "1.2":
            message = f"expected YAML 1.2, found the directive %YAML {match[1]}; remove the line"
            raise ScenarioError(Mistake(message, file=file, line=number))


@dataclass
class _Reader:
    """The reading of one YAML text: where its values are, and what is wrong with them."""

    file: str
    positions: dict[Path, Position] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def plain(self, node: Any, path: Path) -> Any:
        """Return the plain value of a YAML node, and note the position of everything inside."""
        from ruamel.yaml.nodes import MappingNode, SequenceNode

        line = node.start_mark.line + 1
        self.positions.setdefault(path, Position(self.file, line))
        if len(path) > DEEPEST or len(self.positions) > _MOST_VALUES:  # an anchor inside itself, or a bomb of them
            message = "expected a scenario, found very deep nesting; flatten it"
            raise ScenarioError(Mistake(message, file=self.file, line=line))
        tag = str(node.tag).removeprefix(_TAG)
        if isinstance(node, MappingNode) and tag == "map":
            return self._mapping(node, path)
        if isinstance(node, SequenceNode) and tag == "seq":
            return [self.plain(child, (*path, str(i))) for i, child in enumerate(node.value)]
        if isinstance(node.value, str):
            try:
                return _scalar(node.value, tag)
            except ScenarioError as error:
                return self._wrong(str(error), path, line)
        return self._wrong(f"expected a plain value, found the tag {tag!r}; remove it", path, line)

    def _wrong(self, message: str, path: Path, line: int) -> None:
        self.mistakes.append(Mistake(message, ".".join(path) or None, self.file, line))

    def _mapping(self, node: Any, path: Path) -> Tree:
        tree: Tree = {}
        for key_node, child in node.value:
            line, key = key_node.start_mark.line + 1, key_node.value
            if not isinstance(key, str):
                self._wrong("expected a word as a key, found a list or mapping; write 'key: value'", path, line)
                continue
            inner = (*path, key)
            if key in tree:
                first, noun = self.positions[inner].line, "cause" if path == ("failures",) else "key"
                found = f"found a duplicated {noun} (line {first}); keep one"
                self._wrong(f"expected each {noun} once, {found}", inner, line)
                continue
            if node.flow_style and key.isdecimal() and child.value == "" and tree:
                before = list(tree)[-1]
                message = f"expected a number without a thousands separator, found {tree[before]},{key}"
                self._wrong(f"{message}; write {tree[before]}{key}", (*path, before), line)
                continue
            self.positions[inner] = Position(self.file, line)
            tree[key] = self.plain(child, inner)
        return tree


def _scalar(text: str, tag: str) -> Any:
    """Return the value of a scalar with its tag, which may be one that the user wrote (`!!int 8.5`)."""
    if tag in ("str", "timestamp", "merge"):
        return text
    if tag == "null" and text.lower() in _NULLS:
        return None
    if tag == "bool" and text.lower() in _FLAGS:
        return _FLAGS[text.lower()]
    if tag in ("int", "float") and len(text) > _LONGEST_NUMBER:
        raise ScenarioError(f"expected a number, found one of {len(text)} digits; shorten it")
    try:
        if tag == "int":
            return int(text, 0) if text.lstrip("+-").lower().startswith(("0x", "0o", "0b")) else int(text)
        if tag == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        noun = "a whole number" if tag == "int" else "a number"
        raise ScenarioError(f"expected {noun}, found {text!r}; correct it, or remove its tag") from None
    raise ScenarioError(f"expected a plain value, found {text!r} with the tag {tag!r}; remove the tag")
