"""From what is wrong with a scenario to what its user is told: which file, line or option is to blame."""

from __future__ import annotations

from collections.abc import Sequence

from mcettr.errors import Mistake
from mcettr.scenario.place import Document, Fault, Path, Position


def mistakes(document: Document, faults: Sequence[Fault], known: Sequence[Fault] = ()) -> tuple[Mistake, ...]:
    """Return a mistake for each fault, in the order of the lines.

    Parameters
    ----------
    document : Document
        The tree and where each value was written, overrides in place.
    faults : sequence of Fault
        What is wrong with it.
    known : sequence of Fault
        What was wrong before the overrides: that is not their fault.
    """
    found = [(place(document, fault.path, is_changed=fault not in known), fault) for fault in faults]
    return tuple(mistake_at(at, fault.path, fault.message) for at, fault in sorted(found, key=_line))


def _line(entry: tuple[Position | None, Fault]) -> int:
    return 0 if entry[0] is None or entry[0].line is None else entry[0].line


def mistake_at(position: Position | None, path: Path, message: str) -> Mistake:
    """Return a mistake with its position."""
    dotted = ".".join(path) or None
    return Mistake(message, dotted) if position is None else Mistake(message, dotted, position.file, position.line)


def place(document: Document, path: Path, *, is_changed: bool) -> Position | None:
    """Return the position that is to blame for what is wrong at `path`.

    An override where `is_changed` and there is one, else the file: never a preset, which is sound by itself. Of several
    the one is taken whose path has most in common with `path`.
    """
    own = document.position(path)
    changes = [(known, at) for known, at in document.positions.items() if at.kind == "change"]
    if is_changed and changes:
        return _most_common(changes, path)
    if own is None or own.kind != "preset":
        return own
    files = [(known, at) for known, at in document.positions.items() if at.kind == "file"]
    return _most_common(files, path) if files else own


def _most_common(candidates: Sequence[tuple[Path, Position]], path: Path) -> Position:
    def in_common(candidate: tuple[Path, Position]) -> tuple[int, int]:
        known = candidate[0]
        n_common = next((i for i, (a, b) in enumerate(zip(known, path, strict=False)) if a != b), None)
        length = min(len(known), len(path)) if n_common is None else n_common
        return length, -len(known)

    return max(reversed(candidates), key=in_common)[1]  # of equals the last
