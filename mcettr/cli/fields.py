"""`mcettr fields`: what a scenario may say, and what results are called."""

from __future__ import annotations

from typing import Annotated

import typer

from mcettr.cli import complete
from mcettr.cli import options as o
from mcettr.cli import session as s

EXAMPLE = "Example:  mcettr fields checkpoint.stall"
WordArgument = Annotated[
    str | None,
    typer.Argument(metavar="[PATH|WORD]", autocompletion=complete.paths, help="A field, a section, or a word."),
]
ResultsOption = Annotated[bool, typer.Option("--results", help="The names in results instead.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print all as docs/scenario.md.")]


def fields(
    word: WordArgument = None,
    results: ResultsOption = False,
    markdown: MarkdownOption = False,
    json: o.JsonOption = False,
) -> None:
    """List the fields of scenarios: meaning, unit, default and an example of each.

    Of few fields, all ways to write their values are shown.
    """
    from mcettr.report import fields_text as text
    from mcettr.report.text import terminal_width

    if markdown:
        from mcettr.report.scenario_page import scenario_page

        s.emit(scenario_page().rstrip("\n"))
    elif results:
        names = text.result_names(word)
        if json:
            s.emit_json(text.results_object(names))
        else:
            s.emit(text.results_text(names, terminal_width()))
    else:
        found = text.found_chapters(word)
        if json:
            s.emit_json(text.fields_object(found))
        else:
            s.emit(text.fields_text(found, terminal_width()))
