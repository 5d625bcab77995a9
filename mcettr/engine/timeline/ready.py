"""A job as the reference engine reads it: plain floats, laws that can be sampled, no number left out."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from mcettr.engine.cells import map_params, tabulated
from mcettr.model.distributions import Distribution
from mcettr.model.params import Params


def ready(params: Params) -> Params:
    """Return one job, whose numbers may be arrays of one element, with laws passed through `tabulate` or not.

    Numbers that were left out since nothing reads them take their neutral values.

    >>> from mcettr.model.params import Checkpoint
    >>> job = ready(Params(8.0, np.ones((1, 1)), 1e8, Checkpoint(1e3, 10.0, 10.0, verify_s=None)))
    >>> job.work_s, job.checkpoint.verify_s
    (1.0, 0.0)
    """
    plain = map_params(tabulated(params), lambda leaf: float(np.asarray(leaf).item()), np.ravel)
    if plain.n_nodes is None:
        plain = replace(plain, n_nodes=math.inf)
    filled: Params = _filled(plain)
    return filled


def _filled(value: Any) -> Any:
    """Return a nested record with the default of every number that is None."""
    if isinstance(value, tuple):
        return tuple(_filled(item) for item in value)
    if not is_dataclass(value) or isinstance(value, (type, Distribution)):
        return value
    changed = {
        item.name: item.default if here is None and isinstance(item.default, float) else _filled(here)
        for item in fields(value)
        for here in [getattr(value, item.name)]
    }
    return replace(value, **changed)
