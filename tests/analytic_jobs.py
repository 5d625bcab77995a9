"""Small jobs for the tests of the closed forms."""

from __future__ import annotations

from typing import Any

from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

MIN, HOUR, DAY = 60.0, 3600.0, 86400.0
NEVER = fixed(float("inf"))


def job(
    rate_per_s: Any = 1e-4,
    interval_s: Any = 1800.0,
    write_time_s: Any = 60.0,
    stall_s: Any = None,
    slowdown: Any = 0.0,
    recovery: Recovery | None = None,
    work_s: Any = 1e6,
    horizon_s: Any = 1e9,
    horizon_given: bool = False,
    **cause: Any,
) -> Params:
    save = Checkpoint(interval_s, write_time_s, write_time_s if stall_s is None else stall_s, slowdown)
    causes = (Cause("node", rate_per_s, **cause),)
    return Params(8.0, work_s, horizon_s, save, causes, recovery or Recovery(), horizon_given=horizon_given)


def restarting(startup_s: float, restore_s: float = 0.0, queue_s: float = 0.0) -> Recovery:
    return Recovery(fixed(queue_s), (("start", fixed(startup_s)),), fixed(restore_s))
