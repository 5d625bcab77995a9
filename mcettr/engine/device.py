"""Where the engine runs: chosen once, from `auto`, `cpu` or `cuda[:i]`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from mcettr.errors import BackendError, DeviceError, ScenarioError

_NO_BACKEND = (RuntimeError, AssertionError)
"""JAX's answers where a platform is not there, or where none of those that JAX_PLATFORMS names is."""

_jax_runs_here = False
_is_forked = False


def _after_fork() -> None:
    global _is_forked
    _is_forked = _jax_runs_here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True)
class Device:
    """A device that can run.

    `name` is ``cpu`` or ``cuda:i``; `description` is for people; `chosen` says that the user left the choice to us;
    `handle` is JAX's own object.
    """

    name: str
    description: str
    chosen: bool
    handle: Any


def resolve(name: str = "auto") -> Device:
    """Return the device of that name, loading JAX.

    Parameters
    ----------
    name : str
        ``auto`` (the first CUDA device, else the processor), ``cpu``, ``cuda`` or ``cuda:i``.

    Raises
    ------
    ScenarioError
        The name is none of these.
    DeviceError
        The device asked for is not there.
    BackendError
        JAX cannot run: in a process forked after it had started, or with a JAX_PLATFORMS that names none here.
    """
    match = re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", name)
    if match is None:
        raise ScenarioError(f"--device: expected auto, cpu, cuda or cuda:i, found {name!r}")
    _refuse_fork()
    import jax

    if name == "cpu":
        _allow_processor(jax)
        return _processor(jax, chosen=False)
    cuda = _cuda_devices(jax)
    if name == "auto":
        return _graphics(cuda[0], chosen=True) if cuda else _processor(jax, chosen=True)
    index = int(match.group(1) or 0)
    if index >= len(cuda):
        found = f"{len(cuda)} CUDA device(s)" if cuda else "no CUDA device"
        raise DeviceError(
            f"--device: expected a device JAX can use, found {found} for {name!r}; use --device cpu, or install "
            "jax[cuda12] on a machine with an NVIDIA driver"
        )
    return _graphics(cuda[index], chosen=False)


def _refuse_fork() -> None:
    """Say that JAX's threads do not live on in a forked process, where a first computation would wait for ever."""
    global _jax_runs_here
    if _is_forked:
        raise BackendError(
            "expected a process of its own, found one forked after a simulation had run, where JAX cannot compute; "
            "start processes with multiprocessing.get_context('spawn') or 'forkserver', or simulate in them only"
        )
    _jax_runs_here = True


def _allow_processor(jax: Any) -> None:
    """Let JAX use the processor although JAX_PLATFORMS leaves it out; it can no longer once it has started."""
    named = jax.config.jax_platforms
    if named and "cpu" not in named.split(","):
        for platforms in (f"{named},cpu", "cpu"):
            jax.config.update("jax_platforms", platforms)
            try:
                jax.devices("cpu")
            except _NO_BACKEND:
                continue
            return


def _cuda_devices(jax: Any) -> list[Any]:
    try:
        return list(jax.devices("cuda"))
    except _NO_BACKEND:
        return []


def _processor(jax: Any, chosen: bool) -> Device:
    try:
        handle = jax.devices("cpu")[0]
    except _NO_BACKEND:
        named = jax.config.jax_platforms
        raise BackendError(
            f"JAX_PLATFORMS: expected platforms that JAX can use here, found {named!r}; unset it, or use --device cpu"
        ) from None
    return Device("cpu", "processor", chosen, handle)


def _graphics(handle: Any, chosen: bool) -> Device:
    return Device(f"cuda:{handle.id}", handle.device_kind, chosen, handle)
