"""How results and answers leave the program: warnings, files, then a table or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcettr.cli import session as s
from mcettr.errors import ScenarioError

if TYPE_CHECKING:
    import xarray as xr

    from mcettr.scenario import Scenario


def check_answer_files(names: Sequence[str] | None) -> tuple[Path, ...]:
    """Return the paths of the answer's files, all of them .json, once each can be written."""
    from mcettr.report.files import check_outputs

    return check_outputs(names or (), (".json",))


def warn(job: Scenario, quiet: bool) -> None:
    """Print what to know about the scenario before a search."""
    from mcettr.scenario import compile_grid

    try:
        s.notes(compile_grid(job, {}).warnings, quiet)
    except ScenarioError:  # may be for want of the very field that is varied: the search says what is wrong
        return


def hand_over_result(
    result: xr.Dataset, outputs: Sequence[Path], json: bool, render: Callable[[xr.Dataset, int], str]
) -> None:
    """Write the files of a simulation, and print it as JSON or as `render` shows it."""
    from mcettr.report.files import write_result
    from mcettr.report.objects import result_json
    from mcettr.report.text import terminal_width

    for path in outputs:
        write_result(result, path)
    if json:
        s.emit(*result_json(result))
    else:
        s.emit(render(result, terminal_width()))


def hand_over(tree: Mapping[str, Any], text: str, outputs: Sequence[Path], json: bool) -> None:
    """Write an answer to its files and print it."""
    from mcettr.report.files import write_aside
    from mcettr.report.objects import to_json

    for path in outputs:
        write_aside(path, lambda aside: _write_text(aside, to_json(tree) + "\n"))
    if json:
        s.emit_json(tree)
    else:
        s.emit(text)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
