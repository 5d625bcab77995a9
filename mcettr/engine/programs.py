"""Compiled programs: each made once, by this process or by an earlier one that kept it on disk.

A program that was kept is not even traced again: its key is everything that tracing and compiling read.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jaxlib.version
import numpy as np
import scipy

import mcettr
from mcettr.engine.device import Device
from mcettr.engine.program_store import Store, open_store
from mcettr.kernels.events.features import Features
from mcettr.kernels.moments import Batch
from mcettr.kernels.timeline import compiled

_UNUSABLE = b"unusable"
"""Kept in place of a program that cannot be loaded on this machine: it is not tried again."""
_SOURCES = ("kernels", "model", "errors.py", "units.py")
"""What the programs are made of."""


@dataclass(frozen=True)
class Recipe:
    """What decides how a program is computed, besides the shapes of its arguments; see `kernels.timeline.compiled`."""

    n_lanes: int
    grouped: bool
    features: Features
    options: tuple[tuple[str, Any], ...]
    n_timelines: int | None

    def lowered(self, args: tuple[Any, ...]) -> Any:
        """Return the program for such arguments, traced."""
        made = compiled(self.n_lanes, self.grouped, self.features, self.options, self.n_timelines)
        return made.lower(*args)


@dataclass
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    program: Any = None


_slots: dict[Any, _Slot] = {}
_slots_lock = threading.Lock()


def program(recipe: Recipe, args: tuple[Any, ...], device: Device) -> Callable[..., Batch]:
    """Return the compiled program for arguments of these shapes; safe to call from threads, of which one compiles.

    To be called, as the program itself, with JAX's 64-bit numbers on and `device` as its default device.

    Parameters
    ----------
    recipe : Recipe
        What is computed.
    args : tuple
        Arguments of `kernels.timeline.simulate`: NumPy arrays, of which only structure, shapes and dtypes matter.
    device : Device
        Where it will run.
    """
    leaves, structure = jax.tree.flatten(args)
    shapes = tuple((leaf.shape, leaf.dtype.str) for leaf in leaves)
    with _slots_lock:
        slot = _slots.setdefault((recipe, structure, shapes, device.name), _Slot())
    with slot.lock:
        if slot.program is None:
            slot.program = _made(recipe, args, device, f"{structure} {shapes}")
        made: Callable[..., Batch] = slot.program
    return made


def _made(recipe: Recipe, args: tuple[Any, ...], device: Device, shapes: str) -> Any:
    circumstances = _circumstances() if device.name == "cpu" else None
    if circumstances is None:
        return _compiled(recipe, args)
    store, key = open_store(), json.dumps([circumstances, repr(recipe), shapes])
    kept = store.read(key)
    if kept is not None and kept != _UNUSABLE:
        found = _loaded(kept, args, device)
        if found is not None:
            return found
        store.write(key, _UNUSABLE)
    made = _compiled(recipe, args)
    if kept is None:
        _keep(store, key, made)
    return made


def _compiled(recipe: Recipe, args: tuple[Any, ...]) -> Any:
    return recipe.lowered(args).compile()


def _keep(store: Store, key: str, made: Any) -> None:
    from jax.experimental.serialize_executable import serialize

    try:
        content, _, out_tree = serialize(made)
    except Exception:  # whatever a release of JAX cannot write down is compiled anew next time
        return
    results = jax.tree.unflatten(out_tree, [True] * out_tree.num_leaves)
    store.write(key, json.dumps([part is not None for part in results]).encode() + b"\n" + content)


def _loaded(kept: bytes, args: tuple[Any, ...], device: Device) -> Any:
    """Return the program that was kept, or None if JAX does not take it."""
    from jax.experimental.serialize_executable import deserialize_and_load

    present, _, content = kept.partition(b"\n")
    try:
        results = Batch(*(0 if there else None for there in json.loads(present)))
        trees = jax.tree.structure((args, {})), jax.tree.structure(results)
        return deserialize_and_load(content, *trees, execution_devices=[device.handle])
    except Exception:  # of whatever kind: it comes out of a file, and can be made anew
        return None


@cache
def _circumstances() -> str | None:
    """Return all that compiled code hangs on besides its recipe, as text; None where that cannot be known."""
    sources, processor = _digest_of_sources(), _processor()
    if sources is None or processor is None:
        return None
    return json.dumps(
        {
            "sources": sources,
            "versions": [sys.version, jax.__version__, jaxlib.version.__version__, np.__version__, scipy.__version__],
            "processor": processor,
            "n_processors": len(os.sched_getaffinity(0)),
            "environment": sorted(item for item in os.environ.items() if item[0].startswith(("XLA_", "JAX_"))),
        }
    )


def _processor() -> list[str] | None:
    """Return model and abilities of the processor, or None where the system does not tell (only Linux does)."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    first = text.partition("\n\n")[0].splitlines()
    told = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features", "CPU part")
    return [platform.system(), platform.machine(), *(line for line in first if line.partition("\t")[0].strip() in told)]


def _digest_of_sources() -> str | None:
    """Return a digest of the sources that were imported; None if one was changed since, for then nobody knows them."""
    root, digest = Path(mcettr.__file__).parent, hashlib.sha256()
    for name in _SOURCES:
        path = root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.stat().st_mtime > mcettr._IMPORTED_S:
                return None
            digest.update(f"{file.relative_to(root)}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
