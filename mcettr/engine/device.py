"""Where the engine runs: chosen once, from `auto`, `cpu` or `cuda[:i]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mcettr.errors import DeviceError, ScenarioError


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
    """
    match = re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", name)
    if match is None:
        raise ScenarioError(f"--device: expected auto, cpu, cuda or cuda:i, found {name!r}")
    import jax

    if name == "cpu":
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


def _cuda_devices(jax: Any) -> list[Any]:
    try:
        return list(jax.devices("cuda"))
    except RuntimeError:  # JAX's answer when it has no such backend
        return []


def _processor(jax: Any, chosen: bool) -> Device:
    return Device("cpu", "processor", chosen, jax.devices("cpu")[0])


def _graphics(handle: Any, chosen: bool) -> Device:
    return Device(f"cuda:{handle.id}", handle.device_kind, chosen, handle)
