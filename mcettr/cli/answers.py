"""How results and answers leave the program: files first, then a table or JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcettr.cli import session as s
from mcettr.errors import OutputError

if TYPE_CHECKING:
    from mcettr.report.files import Result
    from mcettr.scenario import Scenario

NOT_WRITTEN = OutputError.exit_code


def check_files(names: Sequence[str] | None, source: str) -> tuple[Path, ...]:
    """Return the paths of the files to write, once each can be written and none of them is the source."""
    from mcettr.report.files import check_outputs

    return check_outputs(names or (), [source])


def keep_inputs(outputs: Sequence[Path], job: Scenario) -> None:
    """Refuse to overwrite a file that the scenario was read from."""
    from mcettr.report.files import keep_inputs

    keep_inputs(outputs, sorted({place.file for place in job.document.positions.values()}))


def hand_over(result: Result, outputs: Sequence[Path], json: bool, text: Callable[[int], str]) -> int:
    """Write the files of a result, print it as JSON or as text, and return the exit code.

    A file that cannot be written costs neither the other files nor what is printed.

    Parameters
    ----------
    result : Dataset, SolveResult or OptimizeResult
        What was found.
    outputs : sequence of Path
        Files to write.
    json : bool
        Whether to print JSON.
    text : callable
        Gives the text for people in a width.
    """
    from mcettr.report.files import result_pieces, write_result
    from mcettr.report.text import terminal_width

    code = 0
    for path in outputs:
        try:
            write_result(result, path)
        except OutputError as error:
            s.note(f"error: {error}")
            code = NOT_WRITTEN
    s.emit(*(result_pieces(result) if json else [text(terminal_width())]))
    return code
