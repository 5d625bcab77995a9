"""`import mcettr` works wherever Python starts, however it was installed, and everything is in the archives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.speed import often

ROOT = Path(__file__).parents[1]
NOT_SOURCES = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "*.egg-info"
)
USE = """
import mcettr, mcettr.kernels.timeline
job = {"job": {"gpus": 8, "work": "2 h"}, "checkpoint": {"interval": "1 h", "write_time": "0 s"}}
assert float(mcettr.simulate(job, timelines=1, engine="reference").ettr) == 1.0
assert len(mcettr.presets()) >= 8, mcettr.presets()
print(mcettr.__file__)
"""


def run(*words: str | Path, cwd: Path) -> str:
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    done = subprocess.run([*map(str, words)], cwd=cwd, env=alone, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sources, since an installation leaves its traces in them."""
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("tree") / "mcettr", symlinks=True, ignore=NOT_SOURCES))


@pytest.fixture(scope="module")
def archives(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the archive of the sources, and the wheel that is made from it."""
    folder = tmp_path_factory.mktemp("archives")
    build = "from setuptools import build_meta; print(build_meta.build_{}({!r}))"
    sdist = folder / run(sys.executable, "-c", build.format("sdist", str(folder)), cwd=tree).splitlines()[-1]
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    wheel = folder / run(sys.executable, "-c", build.format("wheel", str(folder)), cwd=unpacked).splitlines()[-1]
    return {"sdist": sdist, "wheel": wheel}


def environment(folder: Path, *what: str | Path) -> Path:
    """Return the Python of a new environment into which one thing is installed; what it needs is that of this one."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder.parent))
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, *what, cwd=folder.parent)
    return python


@pytest.mark.parametrize("how", often(["ordinary", "editable", "sdist", "wheel"], "ordinary"))
def test_it_is_found_in_the_root_of_the_sources_and_elsewhere(
    how: str, tree: Path, archives: dict[str, Path], tmp_path: Path
) -> None:
    what: dict[str, tuple[str | Path, ...]] = {
        "ordinary": (tree,),
        "editable": ("--editable", tree),
        **{name: (path,) for name, path in archives.items()},
    }
    python = environment(tmp_path / "venv", *what[how])
    in_root, elsewhere = (Path(run(python, "-c", USE, cwd=place)) for place in (tree, tmp_path))
    assert in_root.is_relative_to(tree)
    assert elsewhere.is_relative_to(tree if how == "editable" else tmp_path / "venv")
    assert run(tmp_path / "venv" / "bin" / "mcettr", "--version", cwd=tmp_path).startswith("mcettr ")


def test_every_file_that_is_no_test_is_in_the_archives(tree: Path, archives: dict[str, Path]) -> None:
    files = {str(path.relative_to(tree)) for path in (tree / "mcettr").rglob("*") if path.is_file()}
    files |= {f"mcettr/{path.relative_to(tree)}" for path in (tree / "kernels").rglob("*.py")}
    files = {name for name in files if "__pycache__" not in name}
    assert {"mcettr/py.typed", "mcettr/kernels/plain.py", "mcettr/scenario/presets/rsc-1.yaml"} <= files
    in_wheel = set(zipfile.ZipFile(archives["wheel"]).namelist())
    with tarfile.open(archives["sdist"]) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    assert files <= in_wheel
    assert files <= in_sdist
    assert not [name for name in in_wheel if name.startswith(("tests", "benchmarks", "kernels"))]
