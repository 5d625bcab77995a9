"""The exceptions a caller may catch; the command line turns each into lines and an exit code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

_LONGEST_MESSAGE, _LONGEST_PATH, _LONGEST_FILE = 600, 200, 300
_MOST_LINES = 20
_NAMED = re.compile(r"((?:axis )?-{0,2}[A-Za-z][\w.\-]*): (expected .*)", re.DOTALL)


def one_line(text: str) -> str:
    """Return `text` with what a terminal would not print written out, so that an error is one line.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def shortened(text: str, longest: int) -> str:
    """Return `text`, with its middle left out where it is too long: the end of a message says what to do.

    >>> shortened("a" * 50, 11)
    'aaaaaa...aa'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 3
    return f"{text[: longest - 3 - tail]}...{text[len(text) - tail :]}"


@dataclass(frozen=True)
class Mistake:
    """One thing wrong with the input.

    Parameters
    ----------
    message : str
        What was expected, what was found, and what to do, in one line of at most 600 characters.
    path : str or None
        Dotted path of the field, or the name of the argument or option.
    file : str or None
        What holds it: a file, ``stdin``, ``preset NAME`` or ``--set PATH=VALUE``.
    line : int or None
        Line in the file, from 1 on.
    """

    message: str
    path: str | None = None
    file: str | None = None
    line: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shortened(one_line(self.message), _LONGEST_MESSAGE))
        if self.path is not None:
            object.__setattr__(self, "path", shortened(one_line(self.path), _LONGEST_PATH))

    def __str__(self) -> str:
        """Return ``file:line: path: message``, as far as they are known."""
        file = None if self.file is None else shortened(one_line(self.file), _LONGEST_FILE)
        place = file if file is None or self.line is None else f"{file}:{self.line}"
        path = None if file is not None and file.startswith(f"--set {self.path}=") else self.path
        return ": ".join(part for part in (place, path, self.message) if part)


class McettrError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line ends with.

    `errors` lists what is wrong; the text of the error has a line for each.
    """

    exit_code = 2
    errors: tuple[Mistake, ...]

    def __init__(self, *mistakes: str | Mistake) -> None:
        self.errors = tuple(self._mistake(one) if isinstance(one, str) else one for one in mistakes)
        more = len(self.errors) - _MOST_LINES
        lines = [str(one) for one in self.errors[:_MOST_LINES]]
        super().__init__("\n".join([*lines, f"and {more:,} more mistakes"] if more > 0 else lines))

    def to_json(self) -> dict[str, Sequence[dict[str, Any]]]:
        """Return what `--json` prints.

        >>> ScenarioError("seed: expected a number").to_json()["errors"][0]["path"]
        'seed'
        """
        keys = ("file", "line", "path", "message")
        return {"errors": [{key: asdict(one)[key] for key in keys} for one in self.errors]}

    @staticmethod
    def _mistake(text: str) -> Mistake:
        return Mistake(text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make a copy, in another process too, that keeps the list."""
        return _rebuilt, (type(self), self.errors, self.__dict__)


def _rebuilt(kind: type[McettrError], mistakes: tuple[Mistake, ...], more: dict[str, Any]) -> McettrError:
    error = kind.__new__(kind)
    McettrError.__init__(error, *mistakes)
    error.__dict__.update(more)
    return error


class ScenarioError(McettrError):
    """Bad input in a scenario, sweep file, option or argument (exit code 2)."""

    def inside(self, name: str) -> ScenarioError:
        """Return the same error, told of an argument, an option or a section called `name`.

        >>> print(ScenarioError("expected a number").inside("seed"))
        seed: expected a number
        """
        return ScenarioError(*(Mistake(str(one), name) for one in self.errors))

    @staticmethod
    def _mistake(text: str) -> Mistake:
        """Return the mistake that a text tells; the name of a field or an argument in front is its path."""
        named = _NAMED.fullmatch(text)
        return Mistake(text) if named is None else Mistake(named[2], named[1])


class OutputError(McettrError):
    """A result cannot be written or read (exit code 2)."""


class DeviceError(McettrError):
    """The device asked for cannot run (exit code 3)."""

    exit_code = 3


class BackendError(McettrError):
    """JAX cannot start, or cannot run in this process (exit code 3)."""

    exit_code = 3


class AnalyticError(McettrError):
    """A closed form was asked for where its assumptions do not hold."""


class ScenarioWarning(UserWarning):
    """Something about a scenario or its result that its reader should know; the calculation goes on."""
