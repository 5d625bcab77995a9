"""A sound job for the tests of the cross-field checks, and what they say of one that is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

DAY = 86400.0
NODE_RATE = 6.5 / 1000 / DAY


def job(**change: Any) -> Params:
    """A sound job of 1,500 nodes, with fields of the job or of its checkpoint replaced."""
    save = {name: change.pop(name) for name in Checkpoint.__dataclass_fields__ if name in change}
    base = Params(
        n_gpus=12_000.0,
        work_s=30 * DAY,
        horizon_s=90 * DAY,
        checkpoint=Checkpoint(1800.0, 60.0, 60.0),
        causes=(Cause("node", 1500 * NODE_RATE, detection=fixed(300.0)),),
        recovery=Recovery(startup=(("start", fixed(180.0)),), restore=fixed(120.0)),
    )
    return replace(base, checkpoint=replace(base.checkpoint, **save), **change)
