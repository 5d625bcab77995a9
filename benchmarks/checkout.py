"""Makes `mcettr.kernels` importable in a source tree that is not installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def use() -> None:
    """Load the folder kernels/ under the name that an installation gives it, where nothing else has.

    >>> use()
    >>> from mcettr.kernels.streams import STREAM_VERSION
    """
    if importlib.util.find_spec("mcettr.kernels") is not None:
        return
    folder = Path(__file__).resolve().parents[1] / "kernels"
    spec = importlib.util.spec_from_file_location(
        "mcettr.kernels", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no kernels in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
