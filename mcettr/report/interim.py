"""Files under way: what an interrupted program has to remove, and what it had written before."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

written: list[Path] = []
"""Files that have their names, since the program began."""

_folders: set[Path] = set()


def make_folder(beside: Path) -> Path:
    """Return a new folder in the folder `beside`, for a file that is not whole yet."""
    folder = Path(tempfile.mkdtemp(prefix=".mcettr-", dir=beside))
    _folders.add(folder)
    return folder


def remove_folder(folder: Path) -> None:
    """Remove a folder of `make_folder` with all that is left in it."""
    shutil.rmtree(folder, ignore_errors=True)
    _folders.discard(folder)


def remove_all() -> None:
    """Remove the folders of all files under way."""
    for folder in tuple(_folders):
        remove_folder(folder)
