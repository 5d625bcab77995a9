"""What all commands share: reading the scenario, choosing the device, and what goes to stdout and to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcettr.errors import DeviceError, Mistake, OutputError, ScenarioError, shortened

if TYPE_CHECKING:
    from mcettr.engine.device import Device
    from mcettr.scenario import Scenario
    from mcettr.scenario.place import Document, Position


NO_ANSWER = 1
STDIN = "-"
_LONGEST_VALUE = 60


def read_overrides(assignments: Sequence[str] | None) -> dict[str, object]:
    """Return values by dotted path from texts such as ``job.gpus=12288``.

    >>> read_overrides(["job.gpus=12288"])
    {'job.gpus': '12288'}
    """
    from mcettr.units import shown

    found: dict[str, object] = {}
    wrong = []
    for text in assignments or ():
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            wrong.append(f"--set: expected PATH=VALUE, found {shown(text)}; write it like job.gpus=12288")
        found[path.strip()] = value.strip()
    if wrong:
        raise ScenarioError(*wrong)
    return found


def origins(overrides: Mapping[str, object]) -> dict[str, Position]:
    """Return where each `--set` value was written."""
    from mcettr.scenario.place import Position

    return {
        path: Position(f"--set {path}={shortened(str(value), _LONGEST_VALUE)}", kind="change")
        for path, value in overrides.items()
    }


def read_stdin() -> Document:
    """Return the YAML mapping on stdin, which ``-`` stands for."""
    from mcettr.scenario.document import read_yaml

    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(Mistake("expected UTF-8 text, found other bytes; convert it", file="stdin")) from None
    return read_yaml(text, "stdin")


def load_scenario(source: str, assignments: Sequence[str] | None) -> Scenario:
    """Return the scenario of a command, its `--set` values in place."""
    from mcettr.scenario.load import load_at

    overrides = read_overrides(assignments)
    return load_at(read_stdin() if source == STDIN else source, overrides, origins(overrides))


def choose_device(name: str) -> Device:
    """Return the device to run on."""
    from mcettr.engine.device import resolve

    try:
        return resolve(name)
    except DeviceError as error:  # asking for what is not there is bad input; exit code 3 is for what fails later
        raise ScenarioError(str(error)) from None


def note(text: str) -> None:
    """Print a line for people on stderr; where that is full or gone, the result still counts."""
    with contextlib.suppress(OSError):
        print(f"mcettr: {text}", file=sys.stderr, flush=True)


def notes(lines: Sequence[str], quiet: bool) -> None:
    """Print warnings on stderr, unless the user wants none."""
    for line in () if quiet else lines:
        note(f"warning: {line}")


def exit_code(feasible: bool, reason: str, show: bool) -> int:
    """Return the exit code of a search, after saying why it has no answer where stdout does not show it to people."""
    if not feasible and show:
        note(f"no answer: {reason}")
    return 0 if feasible else NO_ANSWER


def emit(*pieces: str) -> None:
    """Print a result on stdout; a reader that has gone away, as `head` does, is no error.

    Raises
    ------
    StdoutError
        Stdout cannot be written to: its disk is full.
    """
    try:
        print(*pieces, sep="", flush=True)
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        raise stdout_failed(error) from None


class StdoutError(OutputError):
    """Stdout cannot be written to: what is wrong can only be said on stderr."""


def stdout_failed(error: OSError) -> StdoutError:
    """Return the error of a stdout that cannot be written to, after making sure that it stays the only one."""
    from mcettr.text import reason

    _silence_stdout()
    return StdoutError(f"stdout: expected to print there, found {reason(error)}; send it to another place")


def _silence_stdout() -> None:
    """Let what the interpreter flushes at its end go nowhere: it would fail once more, with a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_json(tree: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout."""
    from mcettr.report.objects import to_json

    emit(to_json(tree))
