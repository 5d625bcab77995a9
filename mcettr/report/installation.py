"""What is installed: versions, devices, optional libraries and how to get them."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mcettr.errors import BackendError, DeviceError
from mcettr.report.text import paragraph, text_table

_NEEDED = (
    *("mcettr", "numpy", "scipy", "jax", "jaxlib", "xarray", "h5netcdf", "h5py"),
    *("pydantic", "ruamel.yaml", "typer", "rich", "XlsxWriter"),
)
_OPTIONAL = {
    "openpyxl": ("reading .xlsx results", "pip install openpyxl"),
    "pyarrow": ("writing .parquet", "pip install pyarrow"),
    "zarr": ("writing .zarr", "pip install zarr"),
}
_CUDA = ("running on an NVIDIA GPU (--device cuda)", "pip install 'jax[cuda12]' on a machine with an NVIDIA driver")


def inspect_installation() -> dict[str, Any]:
    """Return versions, devices and what is missing; loads JAX."""
    packages = {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
    devices, trouble = _devices() if packages["jax"] else ([], None)
    missing = [
        {"name": name, "for": "mcettr itself", "install": f"pip install {name}"}
        for name in _NEEDED
        if packages[name] is None
    ]
    missing += [
        {"name": name, "for": use, "install": command}
        for name, (use, command) in _OPTIONAL.items()
        if packages[name] is None
    ]
    if not any(device["name"].startswith("cuda") for device in devices):
        missing.append({"name": "a CUDA device", "for": _CUDA[0], "install": _CUDA[1]})
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": _n_cpus(),
        "devices": devices,
        "device_trouble": trouble,
        "compiled_programs": _compiled_programs(),
        "packages": packages,
        "missing": missing,
    }


def _compiled_programs() -> dict[str, Any]:
    """Return where compiled programs are kept, how much there is of them, or why none are."""
    from mcettr.engine.program_store import MOST_BYTES, open_store

    store = open_store()
    folder = None if store.folder is None else str(store.folder)
    return {"folder": folder, "bytes": store.n_bytes(), "most_bytes": MOST_BYTES, "trouble": store.trouble}


def _n_cpus() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _devices() -> tuple[list[dict[str, str]], str | None]:
    """Return the devices that can run, and why JAX would not choose among them by itself, if so."""
    from mcettr.engine.device import resolve

    found, trouble = [], None
    for name in ("auto", "cuda", "cpu"):  # with "cpu" last, which may change what JAX looks for
        try:
            device = resolve(name)
        except BackendError as error:
            trouble = trouble or str(error)
        except DeviceError:
            continue
        else:
            found += [{"name": device.name, "description": device.description}] if name != "auto" else []
    return found[::-1], trouble


def installation_text(found: dict[str, Any], width: int = 80) -> str:
    """Return what `inspect_installation` found as text."""
    lines = [paragraph(f"Python {found['python']} on {found['platform']}, {found['cpus']} processors", width, "  ")]
    lines += [paragraph(f"Device {each['name']}: {each['description']}", width, "  ") for each in found["devices"]]
    if found["device_trouble"]:
        lines.append(paragraph(f"Note: {found['device_trouble']}", width, "  "))
    lines.append(paragraph(_kept_text(found["compiled_programs"]), width, "  "))
    rows = [[name, number or "not installed"] for name, number in found["packages"].items()]
    lines += ["", text_table(["Package", "Version"], rows), ""]
    lines += ["Missing:"] if found["missing"] else ["Nothing is missing."]
    missing = (f"  {item['name']}, for {item['for']}: {item['install']}" for item in found["missing"])
    lines += [paragraph(text, width, "    ") for text in missing]
    return "\n".join(lines)


def _kept_text(kept: dict[str, Any]) -> str:
    if kept["folder"] is None:
        return f"Note: {kept['trouble']}" if kept["trouble"] else "Compiled programs: not kept (MCETTR_CACHE=off)"
    sizes = f"{kept['bytes'] / 1e6:.1f} MB, at most {kept['most_bytes'] / 1e6:.0f} MB"
    return f"Compiled programs: {kept['folder']} ({sizes}; MCETTR_CACHE=DIR or off changes that)"
