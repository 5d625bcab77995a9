"""The lanes of one step: their state by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from mcettr.kernels.elementary import where

AT_RISK, NODES, ENDED = 0, 1, 2
"""Phases: starting or training; between a stop and the next start; over."""


def is_over(state: dict[str, Any]) -> Any:
    """Return the lanes that nothing more happens in: their timeline has ended, and every repair up to its end is done.

    The last stretch of downtime may reach beyond repairs, which are completed one a step.
    """
    over = state["phase"] == ENDED
    return over & (state["repaired_at"] > state["now"]) if "repaired_at" in state else over


def flags_as_int8(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state with int8 in place of bool."""
    return {name: leaf.astype(jnp.int8) if leaf.dtype == jnp.bool_ else leaf for name, leaf in state.items()}


class Lanes:
    """State by name; `set` changes it where a mask says so. Lives for the length of a step, or of a stage of one.

    What is true or false is int8 in the state (XLA would compute a bool that a kernel gives in one more of its own),
    and bool to who reads it here.

    Parameters
    ----------
    state : dict
        Arrays by name.
    read : callable
        What makes of an array the one to compute with.
    """

    def __init__(self, state: dict[str, Any], read: Callable[[Any], Any] = lambda array: array) -> None:
        self._state, self._read = state, read
        self.changes: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._state:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        value = self.changes[name] if name in self.changes else self._read(self._state[name])
        return value != 0 if value.dtype == jnp.int8 else value

    @property
    def state(self) -> dict[str, Any]:
        """Return the state with its changes."""
        return self._state | flags_as_int8(self.changes)

    def set(self, mask: Any, **values: Any) -> None:
        """Replace entries where `mask`."""
        for name, value in values.items():
            old = self[name]
            self.changes[name] = where(mask, jnp.asarray(value).astype(old.dtype), old)

    def put(self, **values: Any) -> None:
        """Replace entries everywhere."""
        self.changes.update(values)
