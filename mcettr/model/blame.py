"""Which number of a job makes a rate as high, or as low, as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mcettr.model.core import failure_rate_per_s
from mcettr.model.distributions import Number, as_array
from mcettr.model.params import Cause, Params

RATES = ""
"""The path of the rates themselves."""


def is_false_alarm(cause: Cause) -> bool:
    """Return whether the cause is a health check stopping a healthy job: an announced stop, no fault to repeat."""
    return cause.kind == "preemption" and bool(np.all(np.isinf(cause.notice_s)))


def blamed(params: Params, bad: Callable[[Number], Any]) -> list[tuple[str, Any]]:
    """Return where the job's rate is bad, by the path of the number that makes it so.

    Parameters
    ----------
    params : Params
        The job.
    bad : callable
        Whether a rate a second is bad, cell by cell.

    Returns
    -------
    list of (str, ndarray of bool)
        `RATES` where the rates given are bad by themselves; elsewhere the part without which the rate would change
        most.

    >>> from mcettr.model.params import Checkpoint
    >>> from mcettr.model.physics import Repeat
    >>> causes = (Cause("node", 1e-5, repeat=Repeat(0.999, 60.0)),)
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), causes)
    >>> [path for path, cells in blamed(job, lambda rate: rate > 1e-3) if cells.any()]
    ['failures.node.repeat.probability']
    """
    total = as_array(failure_rate_per_s(params))
    parts, alone = _parts(params), as_given(params)
    given = bad(as_array(failure_rate_per_s(alone)))
    if not parts:
        return [(RATES, np.asarray(bad(total)))]
    with np.errstate(divide="ignore", invalid="ignore"):
        change = [np.abs(np.log(total / failure_rate_per_s(without))) for _, without in parts]
    most = np.argmax(np.stack(np.broadcast_arrays(*(np.nan_to_num(np.asarray(c), posinf=1e9) for c in change))), axis=0)
    found = [(RATES, np.asarray(bad(total) & given))]
    return found + [(path, bad(total) & ~given & (most == index)) for index, (path, _) in enumerate(parts)]


def as_given(params: Params) -> Params:
    """Return the job whose rates are as given, without false alarms.

    >>> from mcettr.model.params import Checkpoint
    >>> from mcettr.model.physics import Incidents
    >>> as_given(Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), incidents=Incidents(1e-6, 1e5, 8.0))).incidents
    """
    causes = tuple(replace(cause, profile=None, repeat=None) for cause in params.causes if not is_false_alarm(cause))
    return replace(params, causes=causes, incidents=None, lemons=None)


def _parts(params: Params) -> list[tuple[str, Params]]:
    """Return the path of each number that changes the rates, and the job without its effect."""

    def changed(cause: Cause, **values: Any) -> Params:
        return replace(params, causes=tuple(replace(c, **values) if c is cause else c for c in params.causes))

    found = []
    if params.incidents is not None:
        found.append(("incidents.multiplier", replace(params, incidents=None)))
    if params.lemons is not None:
        found.append(("lemons.multiplier", replace(params, lemons=None)))
    for cause in params.causes:
        if cause.profile is not None:
            found.append((f"failures.{cause.name}.profile", changed(cause, profile=None)))
        if cause.repeat is not None:
            once = replace(cause.repeat, probability=0.0)
            found.append((f"failures.{cause.name}.repeat.probability", changed(cause, repeat=once)))
        if is_false_alarm(cause):
            found.append(("health_checks.periodic.false_positive_rate", changed(cause, rate_per_s=0.0)))
    spares = params.recovery.spares
    if spares is not None and np.any(np.greater(spares.repair_failure, 0.0)):
        sound = replace(params.recovery, spares=replace(spares, repair_failure=0.0))
        found.append(("recovery.spares.repair_failure", replace(params, recovery=sound)))
    return found
