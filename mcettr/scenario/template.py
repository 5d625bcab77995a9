"""The scenario that `mcettr init` writes: what most jobs need with a comment each, the rest ready to be switched on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from mcettr.scenario.catalogue import CAUSE, Chapter, Entry, chapters
from mcettr.scenario.place import Path

_WIDTH = 100
_HEAD = """\
# A scenario for mcettr. Change the values, then
#   mcettr check job.yaml      validates it, and gives what follows at once
#   mcettr run job.yaml        simulates it
# A line that begins with "#-" is off: take the two characters away to switch it on. `mcettr fields PATH`, such as
# `mcettr fields checkpoint.stall`, tells more of a field.
"""
_CAUSE = "node"
_VALUES: Mapping[str, str] = {
    "schema_version": "1",
    "job.gpus": "1024",
    "job.gpus_per_node": "8",
    "job.work": "14 d",
    "job.horizon": "60 d",
    "checkpoint.interval": "auto",
    "checkpoint.write_time": "60 s",
    "checkpoint.stall": "full",
    "failures.CAUSE.rate": "6.5 / 1000 node-days",
    "failures.CAUSE.detection": "5 min",
    "recovery.diagnosis": "0 s",
    "recovery.queue_wait": "0 s",
    "recovery.startup": "3 min",
    "recovery.restore": "2 min",
}
"""The fields that are on, and their values."""


def template() -> str:
    """Return the text of a scenario that runs as it is.

    >>> from mcettr.scenario.document import read_yaml
    >>> read_yaml(template(), "job.yaml").tree["failures"]
    {'node': {'rate': '6.5 / 1000 node-days', 'detection': '5 min'}}
    """
    by_path = {chapter.path: chapter for chapter in chapters()}
    lines = [line for key in _top(by_path) for line in (*key, "")]
    return _HEAD + "\n" + "\n".join(lines).rstrip("\n") + "\n"


def _top(by_path: Mapping[Path, Chapter]) -> Iterator[list[str]]:
    """Yield the lines of each section."""
    yield [line for entry in by_path[()].entries for line in _field(entry, "", is_on=entry.dotted in _VALUES)]
    tops = dict.fromkeys(path[:1] for path in by_path if path)
    for path in tops:
        yield list(_section(by_path, path, ""))


def _section(by_path: Mapping[Path, Chapter], path: Path, indent: str) -> Iterator[str]:
    """Yield the lines of a section and of those inside; the mark of what is off leads each line."""
    name = _CAUSE if path[-1] == CAUSE else path[-1]
    is_on = any(tuple(key.split("."))[: len(path)] == path for key in _VALUES)
    chapter = by_path.get(path)
    yield from _comment(chapter.meaning if chapter is not None else "What makes the job fail, cause by cause", indent)
    yield f"{_mark(is_on)}{indent}{name}:"
    deeper = indent + "  "
    for entry in chapter.entries if chapter is not None else ():
        yield from _field(entry, deeper, is_on=entry.dotted in _VALUES)
    for below in by_path:
        if len(below) == len(path) + 1 and below[: len(path)] == path:
            yield from _section(by_path, below, deeper)


def _field(entry: Entry, indent: str, is_on: bool) -> list[str]:
    """Return the lines of one field: what it means, then its value."""
    value = _VALUES.get(entry.dotted, entry.example)
    return [*_comment(entry.meaning, indent), f"{_mark(is_on)}{indent}{entry.path[-1]}: {value}"]


def _mark(is_on: bool) -> str:
    return "" if is_on else "#-"


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
