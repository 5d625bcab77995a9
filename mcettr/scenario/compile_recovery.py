"""From the recovery of a parsed scenario to SI numbers."""

from __future__ import annotations

import numpy as np

from mcettr.model.distributions import Distribution, Number, fixed, scaled
from mcettr.model.params import Recovery
from mcettr.model.physics import ReplicaGroups, Spares, StartFailure
from mcettr.scenario.phases import PREFLIGHT, Phase
from mcettr.scenario.schema import ScenarioSpec
from mcettr.scenario.schema_job import CheckpointSpec
from mcettr.scenario.schema_recovery import SparesSpec, StartFailureSpec

_NODES = 1024.0


def recovery(spec: ScenarioSpec, n_nodes: Number) -> Recovery:
    """Return what follows a failure."""
    found, restore = spec.recovery, spec.recovery.restore
    if found.read_bandwidth is not None and spec.checkpoint is not None:
        restore = fixed(transfer_s(spec.checkpoint, found.read_bandwidth, n_nodes))
    groups, preflight = found.replica_groups, spec.health_checks.preflight
    always, replaced = (
        tuple((name, _phase(phase, n_nodes)) for name, phase in found.startup if phase.when == when)
        for when in ("always", "replaced")
    )
    return Recovery(
        queue_wait=found.queue_wait,
        startup=always if preflight is None else (*always, (PREFLIGHT, preflight.duration)),
        restore=fixed(0.0) if restore is None else restore,
        startup_if_replaced=replaced,
        start_failure=None if found.start_failure is None else _start_failure(found.start_failure),
        data_fast_forward=found.data_fast_forward,
        spares=None if found.spares is None else _spares(found.spares, requeues=found.requeue == "always"),
        replica_groups=None if groups is None else ReplicaGroups(groups.count, groups.reconfigure, groups.rejoin),
        max_attempt_s=found.max_attempt,
    )


def transfer_s(save: CheckpointSpec, shared_bytes_per_s: Number | None, n_nodes: Number) -> Number:
    """Return how long the whole state takes through the storage and through the nodes' links, whichever is slower.

    >>> from mcettr.scenario import load
    >>> save = {"interval": "1 h", "parameters": 1e9, "bytes_per_parameter": 12, "node_bandwidth": "2 GB/s"}
    >>> float(transfer_s(load({"job": {"gpus": 8, "work": "1 d"}, "checkpoint": save}).spec.checkpoint, None, 1.0))
    6.0
    """
    parameters: Number = save.parameters
    bytes_each: Number = save.bytes_per_parameter
    size_bytes = np.multiply(parameters, bytes_each)
    bandwidth: Number = np.inf if shared_bytes_per_s is None else shared_bytes_per_s
    if save.node_bandwidth is not None:
        bandwidth = np.minimum(bandwidth, np.multiply(n_nodes, save.node_bandwidth))
    return np.add(np.divide(size_bytes, bandwidth), 0.0 if save.latency is None else save.latency)


def _phase(phase: Phase, n_nodes: Number) -> Distribution:
    return phase.law if phase.scale == "once" else scaled(phase.law, np.divide(n_nodes, _NODES))


def _start_failure(failure: StartFailureSpec) -> StartFailure:
    return StartFailure(failure.probability, failure.max_attempts, failure.escalation)


def _spares(spares: SparesSpec, *, requeues: bool) -> Spares:
    return Spares(
        count=spares.count,
        swap_s=spares.swap,
        quick_share=spares.repair.quick_share,
        quick_mean_s=spares.repair.quick_mean_s,
        slow_mean_s=spares.repair.slow_mean_s,
        repair_failure=spares.repair_failure,
        min_nodes=spares.min_nodes,
        when_exhausted=spares.when_exhausted,
        requeues=requeues,
    )
