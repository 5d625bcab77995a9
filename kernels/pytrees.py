"""Teaches JAX the model's records: numbers are leaves, structure is static, names are nothing to a compiler."""

from __future__ import annotations

from typing import Any

import jax

from mcettr.kernels.training import Schedule
from mcettr.model.distributions import Distribution
from mcettr.model.params import Cause, Checkpoint, Params, Recovery


def _register(cls: type, numbers: tuple[str, ...], static: tuple[str, ...] = ()) -> None:
    def flatten(record: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(record, name) for name in numbers), tuple(getattr(record, name) for name in static)

    def unflatten(values: tuple[Any, ...], leaves: Any) -> Any:
        return cls(**dict(zip(static, values, strict=True)), **dict(zip(numbers, leaves, strict=True)))

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)


def _flatten_cause(cause: Cause) -> tuple[tuple[Any, ...], None]:
    return (cause.rate_per_s, cause.every, cause.detection, cause.diagnosis), None


def _unflatten_cause(_: None, leaves: Any) -> Cause:
    rate_per_s, every, detection, diagnosis = leaves
    return Cause("", rate_per_s, every=every, detection=detection, diagnosis=diagnosis)


def _flatten_recovery(recovery: Recovery) -> tuple[tuple[Any, ...], None]:
    return (recovery.queue_wait, tuple(law for _, law in recovery.startup), recovery.restore), None


def _unflatten_recovery(_: None, leaves: Any) -> Recovery:
    queue_wait, laws, restore = leaves
    return Recovery(queue_wait, tuple(("", law) for law in laws), restore)


_register(Distribution, ("values", "components"), ("kind",))
_register(Checkpoint, ("interval_s", "write_time_s", "stall_s", "slowdown"), ("blocking",))
_register(Params, ("n_gpus", "work_s", "horizon_s", "checkpoint", "causes", "recovery", "resumes"))
_register(
    Schedule,
    ("interval_s", "write_s", "stall_s", "slowdown", "cost_s", "period_s", "periods_per_s", "step", "n_intervals"),
    ("blocking",),
)
jax.tree_util.register_pytree_node(Cause, _flatten_cause, _unflatten_cause)
jax.tree_util.register_pytree_node(Recovery, _flatten_recovery, _unflatten_recovery)
