"""What `mcettr fields` answers: fields of scenarios and names of results, as text and as objects for JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mcettr.errors import ScenarioError
from mcettr.model.metrics import COORDINATES, MEANINGS
from mcettr.report.text import paragraph
from mcettr.scenario.advice import nearest
from mcettr.scenario.catalogue import CAUSE, Chapter, Entry, chapters
from mcettr.scenario.document import parse_scalar
from mcettr.units import shown

_INDENT, _DEEPER = "  ", "    "
_FEW = 3


def found_chapters(word: str | None) -> list[Chapter]:
    """Return the sections with the fields at a path, or else with those whose path or meaning holds a word.

    >>> [entry.dotted for chapter in found_chapters("failures.node.rate") for entry in chapter.entries]
    ['failures.CAUSE.rate']

    Raises
    ------
    ScenarioError
        There is no such field; the message names the nearest.
    """
    everything = chapters()
    if word is None:
        return list(everything)
    keys = tuple(word.strip().split("."))
    if len(keys) > 1 and keys[0] == "failures":
        keys = ("failures", CAUSE, *keys[2:])
    at_path = _some(everything, lambda entry: entry.path[: len(keys)] == keys)
    named = at_path or _some(everything, lambda entry: word.lower() in entry.dotted.lower())
    found = named or _some(everything, lambda entry: word.lower() in entry.meaning.lower())
    if not found:
        known = [entry.dotted for chapter in everything for entry in chapter.entries]
        advice = _near(word, known)
        raise ScenarioError(f"fields: expected a field, a section or a word, found none for {shown(word)}; {advice}")
    return found


def _near(word: str, known: Sequence[str]) -> str:
    last = {path.split(".")[-1]: path for path in known}
    return nearest(word.split(".")[-1], list(last))


def _some(everything: Sequence[Chapter], chosen: Callable[[Entry], bool]) -> list[Chapter]:
    kept = [Chapter(c.path, c.meaning, tuple(e for e in c.entries if chosen(e))) for c in everything]
    return [chapter for chapter in kept if chapter.entries]


def fields_text(found: Sequence[Chapter], width: int) -> str:
    """Return fields as text, by section; all forms of their values where they are few."""
    is_detailed = sum(len(chapter.entries) for chapter in found) <= _FEW
    return "\n\n".join(_chapter_text(chapter, width, is_detailed) for chapter in found if chapter.entries)


def _chapter_text(chapter: Chapter, width: int, is_detailed: bool) -> str:
    title = ".".join(chapter.path)
    head = paragraph(f"{title}: {chapter.meaning}" if title else "At the top of the file", width, _INDENT)
    return "\n".join([head, *(_entry_text(entry, width, is_detailed) for entry in chapter.entries)])


def _entry_text(entry: Entry, width: int, is_detailed: bool) -> str:
    name = entry.dotted if is_detailed else entry.path[-1]
    lines = [
        paragraph(f"{_INDENT}{name}: {entry.meaning}", width, _DEEPER),
        paragraph(f"{_DEEPER}{_written(entry)}", width, _DEEPER),
    ]
    if is_detailed and len(entry.kind.forms) > 1:
        lines.append(f"{_DEEPER}written as")
        lines += [paragraph(f"{_DEEPER}{_INDENT}{form}", width, _DEEPER * 2) for form in entry.kind.forms]
    return "\n".join(lines)


def _written(entry: Entry) -> str:
    return f"{entry.kind.name}; {_default(entry)}; for example {entry.example}"


def _default(entry: Entry) -> str:
    """Return what holds without the field."""
    if entry.required:
        return "required"
    return f"default {entry.default}" if entry.default else "off by default"


def fields_object(found: Sequence[Chapter]) -> dict[str, Any]:
    """Return fields as an object for JSON."""
    return {
        "fields": [
            {
                "path": entry.dotted,
                "meaning": entry.meaning,
                "kind": entry.kind.name,
                "forms": list(entry.kind.forms),
                "required": entry.required,
                "default": parse_scalar(entry.default) if entry.default else None,
                "example": parse_scalar(entry.example),
            }
            for chapter in found
            for entry in chapter.entries
        ]
    }


def result_names(word: str | None) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of each variable and coordinate of a result, or of those that hold a word."""
    everything = {**MEANINGS, **COORDINATES}
    if word is None:
        return everything
    found = {n: text for n, text in everything.items() if word.lower() in n.lower() or word.lower() in text[1].lower()}
    if not found:
        advice = nearest(word, list(everything))
        raise ScenarioError(f"fields: expected the name of a result or a word, found none for {shown(word)}; {advice}")
    return found


def results_text(found: dict[str, tuple[str, str]], width: int) -> str:
    """Return names of results as text."""
    lines = [paragraph(f"{name}: {meaning} [{unit}]", width, _DEEPER) for name, (unit, meaning) in found.items()]
    note = "An estimate X has its standard error beside it, as X_se. [1] is a bare number, [s] are seconds."
    return "\n".join([*lines, "", paragraph(note, width)])


def results_object(found: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Return names of results as an object for JSON."""
    return {"results": [{"name": name, "unit": unit, "meaning": meaning} for name, (unit, meaning) in found.items()]}
