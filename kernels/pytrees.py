"""Teaches JAX the model's records: numbers are leaves, structure is static, names are nothing to a compiler."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax

from mcettr.kernels.training import Schedule
from mcettr.model import physics
from mcettr.model.counts import Counts
from mcettr.model.distributions import Distribution
from mcettr.model.params import Cause, Checkpoint, Params, Recovery

_STATIC = {
    "Distribution": ("kind",),
    "Cause": ("kind", "exposure", "in_incidents", "by_lemons"),
    "Checkpoint": ("blocking",),
    "Schedule": ("blocking",),
    "Spares": ("when_exhausted", "requeues"),
}
"""Structure: it decides what is computed."""

_LABELS = {
    "Cause": {"name": "", "rate_shape": float("inf")},
    "Params": {"horizon_given": True, "rate_shape": float("inf")},
}
"""Fields that no loop reads, and what stands in for them."""

_PHASES = ("startup", "startup_if_replaced")


def _register(cls: type) -> None:
    labels: dict[str, Any] = _LABELS.get(cls.__name__, {})
    static = _STATIC.get(cls.__name__, ())
    fields = [field.name for field in dataclasses.fields(cls)]
    numbers = [name for name in fields if name not in static and name not in labels]

    def flatten(record: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        leaves = (getattr(record, name) for name in numbers)
        return tuple(leaves), tuple(getattr(record, name) for name in static)

    def unflatten(values: tuple[Any, ...], leaves: Any) -> Any:
        known = dict(zip(static, values, strict=True)) | dict(zip(numbers, leaves, strict=True))
        return cls(**known, **labels)

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)


def _flatten_recovery(recovery: Recovery) -> tuple[tuple[Any, ...], None]:
    phases = (tuple(law for _, law in getattr(recovery, name)) for name in _PHASES)
    others = (getattr(recovery, f.name) for f in dataclasses.fields(Recovery) if f.name not in _PHASES)
    return (*phases, *others), None


def _unflatten_recovery(_: None, leaves: Any) -> Recovery:
    phases = {name: tuple(("", law) for law in laws) for name, laws in zip(_PHASES, leaves, strict=False)}
    others = [f.name for f in dataclasses.fields(Recovery) if f.name not in _PHASES]
    return Recovery(**phases, **dict(zip(others, leaves[len(_PHASES) :], strict=True)))


_MECHANISMS = (
    physics.LocalTier,
    physics.Retention,
    physics.Profile,
    physics.Repeat,
    physics.Incidents,
    physics.Lemons,
    physics.StartFailure,
    physics.Spares,
    physics.ReplicaGroups,
    physics.Maintenance,
)
for _cls in (Distribution, Counts, Checkpoint, Cause, Params, Schedule, *_MECHANISMS):
    _register(_cls)
jax.tree_util.register_pytree_node(Recovery, _flatten_recovery, _unflatten_recovery)
