"""How one tree changes another: inheritance (`extends`) and overrides by dotted path.

Both follow the same rules. A mapping changes its entries one by one, a law changes as a whole, null removes what is
there, and a value given in one of several exclusive forms removes the other forms.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from mcettr.scenario.advice import nearest
from mcettr.scenario.counts import is_counts_mapping
from mcettr.scenario.laws import ALTERNATIVES, LAW_KINDS, is_law_mapping
from mcettr.scenario.names import LEMON
from mcettr.scenario.phases import PHASE_KEYS
from mcettr.scenario.place import Document, Fault, Path, Position, Tree
from mcettr.scenario.sections import known_keys
from mcettr.units import shown

_MOST_NAMED = 5
_FORMS: dict[str, tuple[frozenset[str], ...]] = {
    "cause": (
        *(frozenset({"rate"}), frozenset({"mtbf"}), frozenset({"count", "exposure"}), frozenset({"every"})),
        frozenset({"lifetime", "fleet_age"}),
    ),
    "checkpoint": (frozenset({"write_time"}), frozenset({"storage_bandwidth", "node_bandwidth", "latency"})),
    "recovery": (frozenset({"restore"}), frozenset({"read_bandwidth"})),
    "phase": (frozenset({"time"}), frozenset({"time_per_1024_nodes"})),
}


def _exclusive_forms(parent: Path) -> Iterator[tuple[frozenset[str], ...]]:
    """Yield the sets of keys below `parent` of which one excludes the others."""
    if len(parent) == 2 and parent[0] == "failures":
        yield _FORMS["cause"]
    elif len(parent) == 3 and parent[:2] == ("recovery", "startup"):
        yield _FORMS["phase"]
    elif parent and parent[-1] in ALTERNATIVES:
        for group in ALTERNATIVES[parent[-1]]:
            yield tuple(frozenset({name}) for name in group)
    elif len(parent) == 1:
        yield _FORMS.get(parent[0], ())


def merged(base: Document, change: Document) -> tuple[Document, frozenset[Path], list[Fault]]:
    """Return `base` with `change` on top, the paths that changed, and the faults found on the way."""
    merge = _Merge(copy.deepcopy(base.tree), dict(base.positions), change)
    merge.combine(merge.tree, change.tree, ())
    return Document(merge.tree, merge.positions), frozenset(merge.touched), merge.faults


@dataclass
class _Merge:
    """A merge under way: the tree and its positions so far, what has changed, what went wrong."""

    tree: Tree
    positions: dict[Path, Position]
    change: Document
    touched: set[Path] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)

    def combine(self, target: Tree, news: Mapping[str, Any], path: Path) -> None:
        """Change `target`, the mapping at `path`, entry by entry."""
        for key, value in news.items():
            inner, old = (*path, key), target.get(key)
            if value is None and key not in target:
                advice = nearest(key, tuple(target)) if target else "delete the line"
                found = f"found none called {shown(key)}; {advice}"
                self.faults.append(Fault(inner, f"expected an entry to remove, {found}"))
            elif value is None:
                self._remove(target, inner)
            elif _is_section(old) and _is_section(value):
                self.combine(old, value, inner)
            else:
                for rival in _rivals(inner) & set(target):
                    self._remove(target, (*path, rival))
                self._put(target, inner, value)

    def _remove(self, target: Tree, path: Path) -> None:
        """Take an entry away; its position is where that was asked for, which is to blame if it is missed."""
        self._forget(path)
        del target[path[-1]]
        if (position := self.change.position(path)) is not None:
            self.positions[path] = position

    def _put(self, target: Tree, path: Path, value: object) -> None:
        self._forget(path)
        target[path[-1]] = copy.deepcopy(value)
        self.positions.update({known: at for known, at in self.change.positions.items() if known[: len(path)] == path})
        position = self.change.position(path)
        if position is not None:
            self.positions.setdefault(path, position)

    def _forget(self, path: Path) -> None:
        self.touched.add(path)
        for known in [known for known in self.positions if known[: len(path)] == path]:
            del self.positions[known]


def _rivals(path: Path) -> set[str]:
    """Return the keys that cannot stand beside the one at `path`."""
    key = path[-1]
    own = [(forms, form) for forms in _exclusive_forms(path[:-1]) for form in forms if key in form]
    return {name for forms, form in own for other in forms if other is not form for name in other}


def _is_section(value: object) -> TypeGuard[Tree]:
    return isinstance(value, dict) and not is_whole(value)


def is_whole(value: object) -> TypeGuard[Tree]:
    """Return whether `value` is a mapping that changes as a whole: a law of times or of counts.

    >>> is_whole({"binomial": {"n": 16, "p": 0.8}}), is_whole({"gpus": 8})
    (True, False)
    """
    return is_law_mapping(value) or is_counts_mapping(value)


def overridden(
    base: Document, overrides: Mapping[Path, object], origins: Mapping[Path, Position]
) -> tuple[Document, frozenset[Path], list[Fault]]:
    """Return `base` with each value set at its path, the paths that changed, and the faults found on the way."""
    document, touched, faults = base, frozenset[Path](), []
    for path, value in overrides.items():
        fault = unknown_path(document.tree, path, value)
        if fault is not None:
            faults.append(fault)
            continue
        document, more, found = merged(document, _single(document, path, value, origins[path]))
        touched, faults = touched | more, faults + found
    for path, value in overrides.items():
        if value is not None and not faults and value_at(document.tree, path) is None:
            faults.append(Fault(path, "expected fields that can stand together, found a rival one set too; keep one"))
    return document, touched, faults


def _single(base: Document, path: Path, value: object, origin: Position) -> Document:
    """Return a document that changes `path` alone; inside a law it holds the whole changed law."""
    for length in range(1, len(path)):
        law = value_at(base.tree, path[:length])
        if is_whole(law):
            kind = next(iter(law))
            numbers = dict(law[kind])
            inside = merged(Document({kind: numbers}), Document(_nested((kind, *path[length + 1 :]), value)))[0]
            return Document(_nested(path[:length], inside.tree), {(): origin})
    return Document(_nested(path, value), {(): origin})


def _nested(path: Path, value: object) -> Tree:
    for key in reversed(path):
        value = {key: value}
    return value  # type: ignore[return-value]


def _last_names(found: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that end in the name that was found."""
    return tuple(path for path in known if path.endswith(f".{found}"))


def value_at(tree: object, path: Path) -> Any:
    """Return the raw value at `path`, or None where there is none."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def unknown_path(tree: Tree, path: Path, value: object) -> Fault | None:
    """Return a fault if nothing can be set at `path`; a whole cause may be new."""
    new_cause = len(path) == 2 and path[0] == "failures" and isinstance(value, dict)
    if new_cause or _is_known(tree, path):
        return None
    dotted, known = ".".join(path), known_paths(tree)
    same = _last_names(dotted, known)
    advice = f"did you mean {' or '.join(map(repr, same))}?" if 0 < len(same) <= _MOST_NAMED else nearest(dotted, known)
    if len(path) > 2 and path[0] == "failures" and value_at(tree, path[:2]) is None:
        advice = f"set a new cause as a whole, '{'.'.join(path[:2])}={{{path[2]}: ...}}'; for a known one, {advice}"
    return Fault(path, f"expected a known field, found {shown(dotted)}; {advice} (`mcettr fields` lists all)")


def _is_known(tree: Tree, path: Path) -> bool:
    """Return whether `path` is one of `known_paths`, without making them all."""
    value: object = tree
    for length, key in enumerate(path):
        if key not in _keys_below(tree, path[:length], value):
            return False
        value = value.get(key) if isinstance(value, dict) else None
    return bool(path)


def known_paths(tree: Tree) -> tuple[str, ...]:
    """Return every dotted path that can be set in `tree`: the fields of the schema and what the tree holds.

    >>> "failures.node.mtbf" in known_paths({"failures": {"node": {"rate": "1 / node-day"}}})
    True
    """
    paths: dict[str, None] = {}

    def add(path: Path, value: object) -> None:
        if path:
            paths[".".join(path)] = None
        for key in _keys_below(tree, path, value):
            add((*path, key), value.get(key) if isinstance(value, dict) else None)

    add((), tree)
    return tuple(paths)


def _keys_below(tree: Tree, path: Path, value: object) -> dict[str, None]:
    """Return the keys that can be set in what stands at `path`, which is `value`."""
    keys = dict.fromkeys(known_keys(path))
    if isinstance(value, dict):
        keys.update(dict.fromkeys(value))
    if path and path[-1] in LAW_KINDS:
        keys.update(dict.fromkeys(name for group in ALTERNATIVES.get(path[-1], ()) for name in group))
    if len(path) == 3 and path[:2] == ("recovery", "startup") and not is_whole(value):
        keys.update(dict.fromkeys(PHASE_KEYS))
    if path and path[-1] == "catch_probability":
        causes = tree.get("failures")
        keys.update(dict.fromkeys((*(causes if isinstance(causes, dict) else ()), LEMON)))
    return keys
