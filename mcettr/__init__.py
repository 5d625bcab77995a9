"""mcettr: how much of a training cluster's time becomes kept work.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcettr import errors as errors
    from mcettr.model import analytic as analytic
    from mcettr.scenario.load import load as load
    from mcettr.sweep.optimize import optimize as optimize
    from mcettr.sweep.run import simulate as simulate
    from mcettr.sweep.run import sweep as sweep
    from mcettr.sweep.solve import solve as solve

    __version__: str

_IMPORTED_S = time.time()
"""When the sources were read, or a little before: see `mcettr.engine.programs`."""

_HOMES = {
    "analytic": "mcettr.model.analytic",
    "errors": "mcettr.errors",
    "load": "mcettr.scenario.load",
    "optimize": "mcettr.sweep.optimize",
    "simulate": "mcettr.sweep.run",
    "solve": "mcettr.sweep.solve",
    "sweep": "mcettr.sweep.run",
}

__all__ = ["__version__", "analytic", "errors", "load", "optimize", "simulate", "solve", "sweep"]

# A package puts each subpackage under its name when that is first imported. `sweep` is the function: so the subpackage
# (an empty module) is imported now and its name given back to the table above; imports of it still work.
importlib.import_module("mcettr.sweep")
globals().pop("sweep", None)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("mcettr")
    if name not in _HOMES:
        raise AttributeError(f"module 'mcettr' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    value = module if _HOMES[name].endswith(f".{name}") and not hasattr(module, name) else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
