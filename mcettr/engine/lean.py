"""Leaves out of a job what no loop would read, so that a mechanism that is off costs nothing, not even a number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mcettr.model.params import Cause, Checkpoint, Params, Recovery


def lean(params: Params) -> Params:
    """Return the job without the numbers and words that its mechanisms do not read (None in their place).

    >>> from mcettr.model.params import Checkpoint
    >>> lean(Params(8.0, 1.0, 1.0, Checkpoint(1.0, 0.0, 0.0))).checkpoint.verify_s is None
    True
    """
    recovery, causes = params.recovery, params.causes
    spares, lemons = recovery.spares, params.lemons
    shrink = spares is not None and spares.when_exhausted == "shrink"
    looked_at = bool(recovery.startup_if_replaced) or params.checkpoint.local is not None
    looked_at = looked_at or spares is not None or lemons is not None
    looked_at = looked_at or any(cause.caught_in_preflight is not None for cause in causes)
    apart = shrink or recovery.replica_groups is not None
    skips_data = _any(recovery.data_fast_forward)
    checked = params.check_every_s is not None and any(cause.caught_in_check is not None for cause in causes)
    return replace(
        params,
        checkpoint=_checkpoint(params.checkpoint),
        causes=tuple(_cause(cause, looked_at, apart, params) for cause in causes),
        recovery=_recovery(recovery, skips_data),
        n_nodes=params.n_nodes if looked_at else None,
        saved_before_s=params.saved_before_s if skips_data else None,
        check_every_s=params.check_every_s if checked else None,
    )


def _any(number: Any) -> bool:
    return number is not None and bool(np.any(np.not_equal(number, 0.0)))


def _checkpoint(save: Checkpoint) -> Checkpoint:
    by_law = save.write_time is not None
    return replace(
        save,
        verify_s=save.verify_s if _any(save.verify_s) else None,
        stall_share=save.stall_share if by_law else None,
        stall_fixed_s=save.stall_fixed_s if by_law else None,
    )


def _recovery(recovery: Recovery, skips_data: bool) -> Recovery:
    spares = recovery.spares
    if spares is not None and spares.when_exhausted != "shrink":
        spares = replace(spares, min_nodes=None)
    return replace(recovery, data_fast_forward=recovery.data_fast_forward if skips_data else None, spares=spares)


def _cause(cause: Cause, looked_at: bool, apart: bool, params: Params) -> Cause:
    return replace(
        cause,
        kind="crash" if cause.kind == "hang" else cause.kind,
        exposure=("job" if cause.exposure == "job" else "node") if apart else "node",
        nodes_lost=cause.nodes_lost if looked_at else None,
        over_evicted=cause.over_evicted if looked_at else None,
        slowdown=cause.slowdown if cause.kind == "slow" else None,
        notice_s=cause.notice_s if cause.kind == "preemption" else None,
        min_lease_s=cause.min_lease_s if cause.kind == "preemption" else None,
        in_incidents=cause.in_incidents and params.incidents is not None,
        by_lemons=cause.by_lemons and params.lemons is not None,
        caught_in_check=None if params.check_every_s is None else cause.caught_in_check,
    )
