"""Where a result comes from, as one JSON text that any file format can carry."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mcettr.engine.run import Effort
    from mcettr.model.params import Params
    from mcettr.scenario import Scenario

RESULT_VERSION = 1
"""Version of the layout of datasets and of the identity of their content."""


def package_version() -> str:
    """Return the version of this package."""
    try:
        return version("mcettr")
    except PackageNotFoundError:  # a source tree on the path, not installed
        return "unknown"


def source_commit() -> str | None:
    """Return the git commit of the source tree that runs, None where it is installed apart from one."""
    root = Path(__file__).resolve().parents[2]
    if not ((root / ".git").exists() and (root / "pyproject.toml").exists()):
        return None
    try:
        command = ["git", "-C", str(root), "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=5.0, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def entries(scenario: Scenario, effort: Effort, wall_time_s: float, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every result says of its origin: the program, the scenario, the draws, the machine; and `more`."""
    from mcettr.engine.device import Device, resolve
    from mcettr.kernels.streams import STREAM_VERSION

    is_fast = effort.engine == "jax"  # the reference engine needs no device of JAX
    device = resolve(effort.device) if is_fast else Device("cpu", "processor", chosen=False, handle=None)
    return {
        "schema_version": RESULT_VERSION,
        "package_version": package_version(),
        "commit": source_commit(),
        "scenario": scenario.to_yaml(),
        **more,
        "seed": effort.seed,
        "stream_version": STREAM_VERSION,
        "timelines": effort.timelines,
        "precision": effort.precision,
        "engine": effort.engine,
        "device": device.name,
        "device_description": device.description,
        "wall_time_s": round(wall_time_s, 3),
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def content_id(params: Params, effort: Effort, deadlines_s: Sequence[float]) -> str:
    """Return a hash of everything that the numbers of a result depend on.

    The jobs, the dates, the seed and its stream, and how many timelines are run; not the device, the engine, or how
    the values were written.
    """
    from mcettr.kernels.streams import STREAM_VERSION

    digest = hashlib.sha256()
    limits = None if effort.timelines is not None else (effort.min_timelines, effort.max_timelines)
    run = (RESULT_VERSION, STREAM_VERSION, effort.seed, effort.timelines, effort.precision, limits)
    _feed(digest, (run, effort.first_timeline, tuple(deadlines_s), params))
    return digest.hexdigest()[:32]


def _feed(digest: Any, value: Any) -> None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        _feed(digest, tuple((item.name, getattr(value, item.name)) for item in dataclasses.fields(value)))
    elif isinstance(value, (tuple, list)):
        digest.update(b"(")
        for item in value:
            _feed(digest, item)
        digest.update(b")")
    elif isinstance(value, (float, np.floating, np.ndarray)):
        array = np.asarray(value, dtype="<f8")
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    else:
        digest.update(f"{type(value).__name__}:{value!r};".encode())
