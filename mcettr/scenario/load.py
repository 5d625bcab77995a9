"""From a preset name, a file or a mapping to a checked scenario."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from mcettr.errors import ScenarioError
from mcettr.scenario.document import Document, Position, one_line, plain_tree, read_document
from mcettr.scenario.merge import merged
from mcettr.scenario.presets import FieldSource, preset_names, read_preset
from mcettr.scenario.scenario import Scenario, apply_overrides, remaining, report
from mcettr.units import shown

_FILE_ENDINGS = (".yaml", ".yml", ".toml")
_Resolved = tuple[Document, dict[str, FieldSource]]


def load(source: str | os.PathLike[str] | Mapping[str, Any], overrides: Mapping[str, object] | None = None) -> Scenario:
    """Return the scenario that a preset, a file or a mapping describes.

    Parameters
    ----------
    source : str, path or mapping
        The name of a preset, a file (ends in .yaml, .yml or .toml, or has a path separator), or the sections
        themselves.
    overrides : mapping, optional
        Values to set by dotted path, see `Scenario.replace`. They are in place before the scenario is checked, so
        they may supply what it lacks.

    >>> load({"job": {"gpus": 1024, "work": "30 d"}}).spec.job.work.duration_s
    2592000.0

    Raises
    ------
    ScenarioError
        What was found cannot be read; the one-line message names the file, the line and the field.
    """
    if isinstance(source, Mapping):
        document, sources = _inherit(Document(plain_tree(source)), {}, FilePath(), ())
    else:
        if not isinstance(source, (str, os.PathLike)):
            found = f"{shown(source)} ({type(source).__name__})"
            raise ScenarioError(one_line(f"expected a preset name, a file or a mapping, found {found}; give one"))
        name = source if isinstance(source, str) else os.path.join(os.curdir, os.fspath(source))
        document, sources = _resolve(name, FilePath(), ())
    scenario = apply_overrides(document, sources, overrides or {})
    if isinstance(scenario, Scenario):
        return scenario
    raise ScenarioError(report(*scenario))


def is_file_name(source: str) -> bool:
    """Return whether `source` names a file rather than a preset.

    >>> is_file_name("rsc-1"), is_file_name("mine.yaml"), is_file_name("runs/mine")
    (False, True, True)
    """
    separators = [separator for separator in (os.sep, os.altsep, "/") if separator]
    return source.lower().endswith(_FILE_ENDINGS) or any(separator in source for separator in separators)


def _resolve(source: str, folder: FilePath, chain: tuple[str, ...]) -> _Resolved:
    """Return the document called `source`, seen from `folder`, with everything it inherits."""
    if not is_file_name(source):
        preset = read_preset(source)
        document = Document(plain_tree(preset.scenario), {(): Position(f"preset {source}")})
        return _inherit(document, dict(preset.fields), FilePath(), (*chain, source))
    path = folder / source
    return _inherit(read_document(path), {}, path.parent, (*chain, os.path.realpath(path)))


def _inherit(
    document: Document, sources: Mapping[str, FieldSource], folder: FilePath, chain: tuple[str, ...]
) -> _Resolved:
    """Return `document` on top of what it extends; `chain` holds the names that led here, its own last."""
    tree = dict(document.tree)
    if "extends" not in tree:
        return document, dict(sources)
    parent = tree.pop("extends")
    where = ": ".join(str(part) for part in (document.position(("extends",)), "extends") if part)
    if not isinstance(parent, str):
        raise ScenarioError(f"{where}: expected a preset or a file, found {shown(parent)}; write one name")
    key = os.path.realpath(folder / parent) if is_file_name(parent) else parent
    if key in chain:
        names = " -> ".join(os.path.basename(name) for name in (*chain[chain.index(key) :], key))
        raise ScenarioError(f"{where}: expected a chain that ends, found the circle {names}; remove one extends")
    _check_parent(parent, folder, where)
    base, base_sources = _resolve(parent, folder, chain)
    result, touched, faults = merged(base, Document(tree, document.positions))
    if faults:
        raise ScenarioError(report(Document(tree, document.positions), faults))
    return result, {**remaining(base_sources, touched), **sources}


def _check_parent(parent: str, folder: FilePath, where: str) -> None:
    """Refuse a parent that is not there, with the line that asks for it."""
    if is_file_name(parent):
        if not (folder / parent).is_file():
            raise ScenarioError(
                f"{where}: expected a file to build on, found none at {folder / parent}; check the path"
            )
    elif parent not in preset_names():
        try:
            read_preset(parent)
        except ScenarioError as error:
            raise ScenarioError(f"{where}: {error}") from None
