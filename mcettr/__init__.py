"""mcettr: how much of a training cluster's time becomes kept work.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcettr import errors as errors
    from mcettr.errors import ScenarioError as ScenarioError
    from mcettr.errors import ScenarioWarning as ScenarioWarning
    from mcettr.model import analytic as analytic
    from mcettr.report.face import check as check
    from mcettr.report.face import presets as presets
    from mcettr.report.files import read_result as read_result
    from mcettr.report.files import write_result as write_result
    from mcettr.scenario.load import load as load
    from mcettr.scenario.scenario import Scenario as Scenario
    from mcettr.sweep.optimize import optimize as optimize
    from mcettr.sweep.run import simulate as simulate
    from mcettr.sweep.run import sweep as sweep
    from mcettr.sweep.solve import solve as solve

    __version__: str

_IMPORTED_S = time.time()
"""When the sources were read, or a little before: see `mcettr.engine.programs`."""

_HOMES = {
    "Scenario": "mcettr.scenario.scenario",
    "ScenarioError": "mcettr.errors",
    "ScenarioWarning": "mcettr.errors",
    "analytic": "mcettr.model.analytic",
    "check": "mcettr.report.face",
    "errors": "mcettr.errors",
    "load": "mcettr.scenario.load",
    "optimize": "mcettr.sweep.optimize",
    "presets": "mcettr.report.face",
    "read_result": "mcettr.report.files",
    "simulate": "mcettr.sweep.run",
    "solve": "mcettr.sweep.solve",
    "sweep": "mcettr.sweep.run",
    "write_result": "mcettr.report.files",
}
_GIVE_DATASETS = ("simulate", "sweep", "read_result")
"""Names after whose use datasets know `ds.mcettr`."""

__all__ = ["__version__", *_HOMES]

# A package puts each subpackage under its name when that is first imported. `sweep` is the function: so the subpackage
# (an empty module) is imported now and its name given back to the table above; imports of it still work.
importlib.import_module("mcettr.sweep")
globals().pop("sweep", None)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("mcettr")
        except PackageNotFoundError:  # a source tree that is not installed
            return "unknown"
    if name not in _HOMES:
        raise AttributeError(f"module 'mcettr' has no attribute {name!r}")
    if name in _GIVE_DATASETS:
        importlib.import_module("mcettr.report.accessor")
    module = importlib.import_module(_HOMES[name])
    value = module if _HOMES[name].endswith(f".{name}") and not hasattr(module, name) else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
