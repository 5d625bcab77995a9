"""From a preset name, a file or a mapping to a checked scenario."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from mcettr.errors import ScenarioError
from mcettr.scenario.document import read_document
from mcettr.scenario.merge import merged
from mcettr.scenario.mistakes import mistake_at, mistakes
from mcettr.scenario.place import Document, Position, plain_tree
from mcettr.scenario.presets import FieldSource, preset_names, read_preset
from mcettr.scenario.scenario import Scenario, apply_overrides, remaining
from mcettr.units import shown

_FILE_ENDINGS = (".yaml", ".yml", ".toml")
_OF_SWEEPS = ("axes", "scenario")
"""Keys at the top that sweep files have and scenarios have not."""
_Resolved = tuple[Document, dict[str, FieldSource]]


def load(
    source: Scenario | str | os.PathLike[str] | Mapping[str, Any], overrides: Mapping[str, object] | None = None
) -> Scenario:
    """Return the scenario that a preset, a file or a mapping describes.

    Parameters
    ----------
    source : Scenario, str, path or mapping
        The name of a preset, a file (ends in .yaml, .yml or .toml, or has a path separator), or the sections
        themselves; a scenario that is loaded already stays what it is.
    overrides : mapping, optional
        Values to set by dotted path, see `Scenario.replace`. They are in place before the scenario is checked, so
        they may supply what it lacks.

    >>> load({"job": {"gpus": 1024, "work": "30 d"}}).spec.job.work.duration_s
    2592000.0

    Raises
    ------
    ScenarioError
        What was found cannot be read; `errors` lists all that is wrong, each with the file, the line and the field.
    """
    return load_at(source, {} if overrides is None else overrides)


def load_at(source: object, overrides: Mapping[str, object], origins: Mapping[str, Position] | None = None) -> Scenario:
    """Return the same; `origins` says where each override was written."""
    if isinstance(source, Scenario):
        resolved: _Resolved = source.document, dict(source.sources)
    elif isinstance(source, Document):
        resolved = _inherit(source, {}, FilePath(), ())
    elif isinstance(source, Mapping):
        resolved = _inherit(Document(plain_tree(source)), {}, FilePath(), ())
    else:
        name = os.fspath(source) if isinstance(source, os.PathLike) else source
        if not isinstance(name, str):
            found = f"{shown(source)} ({type(source).__name__})"
            raise ScenarioError(f"expected a preset name, a file or a mapping, found {found}; give one")
        resolved = _resolve(name if isinstance(source, str) else os.path.join(os.curdir, name), FilePath(), ())
    scenario = apply_overrides(*resolved, overrides, origins)
    if isinstance(scenario, Scenario):
        return scenario
    raise ScenarioError(*scenario)


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
        document = Document(plain_tree(preset.scenario), {(): Position(f"preset {source}", kind="preset")})
        return _inherit(document, dict(preset.fields), FilePath(), (*chain, source))
    path = folder / source
    return _inherit(read_document(path), {}, path.parent, (*chain, os.path.realpath(path)))


def _inherit(
    document: Document, sources: Mapping[str, FieldSource], folder: FilePath, chain: tuple[str, ...]
) -> _Resolved:
    """Return `document` on top of what it extends; `chain` holds the names that led here, its own last."""
    _refuse_sweep(document)
    tree = dict(document.tree)
    if "extends" not in tree:
        return document, dict(sources)
    parent = tree.pop("extends")
    if not isinstance(parent, str):
        raise _of_extends(document, f"expected a preset or a file, found {shown(parent)}; write one name")
    key = os.path.realpath(folder / parent) if is_file_name(parent) and "\0" not in parent else parent
    if key in chain:
        names = " -> ".join(os.path.basename(name) for name in (*chain[chain.index(key) :], key))
        raise _of_extends(document, f"expected a chain that ends, found the circle {names}; remove one extends")
    _check_parent(document, parent, folder)
    base, base_sources = _resolve(parent, folder, chain)
    change = Document(tree, document.positions)
    result, touched, faults = merged(base, change)
    if faults:
        raise ScenarioError(*mistakes(change, faults))
    return result, {**remaining(base_sources, touched), **sources}


def _refuse_sweep(document: Document) -> None:
    """Say which command runs a file that is a sweep."""
    key = next((key for key in _OF_SWEEPS if key in document.tree), None)
    if key is None:
        return
    position = document.position((key,))
    file = position.file if position is not None and position.kind == "file" else "FILE"
    message = f"expected a scenario, found a sweep file (it has {key}); run it with `mcettr sweep {file}`"
    raise ScenarioError(mistake_at(position, (), message))


def _of_extends(document: Document, message: str) -> ScenarioError:
    return ScenarioError(mistake_at(document.position(("extends",)), ("extends",), message))


def _check_parent(document: Document, parent: str, folder: FilePath) -> None:
    """Refuse a parent that is not there, with the line that asks for it."""
    if is_file_name(parent):
        path = folder / parent
        if "\0" in parent or not path.is_file():
            message = f"expected a file to build on, found none at {shown(str(path))[1:-1]}; check the path"
            raise _of_extends(document, message)
    elif parent not in preset_names():
        try:
            read_preset(parent)
        except ScenarioError as error:
            raise _of_extends(document, str(error)) from None
