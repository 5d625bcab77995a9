"""The house has one direction: a layer imports from layers below it only, and the engine runs on a bare machine."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEVELS = {
    "errors": 0,
    "units": 0,
    "text": 0,
    "model": 1,
    "kernels": 2,
    "engine": 3,
    "scenario": 3,
    "sweep": 4,
    "report": 5,
    "cli": 6,
}
"""Packages on one level do not import one another; `errors`, `units` and `text` are all ground floor."""


def room(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return "kernels" if relative.parts[0] == "kernels" else relative.with_suffix("").parts[1]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found |= {name.split(".")[1] for name in names if name.startswith("mcettr.")}
    return found & set(LEVELS)


FILES = [path for folder in ("mcettr", "kernels") for path in sorted((ROOT / folder).rglob("*.py"))]
FILES = [path for path in FILES if room(path) in LEVELS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    here = room(path)
    for there in imports(path) - {here}:
        assert LEVELS[there] < LEVELS[here] or LEVELS[here] == 0, f"{here} imports {there}"


def test_no_room_is_left_out() -> None:
    rooms = {room(path) for path in (ROOT / "mcettr").rglob("*.py")}
    assert rooms - set(LEVELS) == {"__init__", "__main__"}


@pytest.mark.parametrize(
    ("module", "banned"),
    [
        ("mcettr.engine.run", "pydantic ruamel typer rich xarray pandas h5netcdf xlsxwriter plotly dask"),
        ("mcettr.kernels.timeline", "pydantic ruamel typer rich xarray pandas"),
        ("mcettr.model.analytic", "jax xarray pydantic pandas"),
        ("mcettr.scenario", "jax xarray pandas"),
        ("mcettr.cli", "jax xarray pandas numpy pydantic"),
    ],
)
def test_heavy_libraries_stay_out(module: str, banned: str) -> None:
    code = f"import sys, {module}; print(*(set({banned.split()!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
