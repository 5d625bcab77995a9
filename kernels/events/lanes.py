"""The lanes of one step: their state by name, and the time they book."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mcettr.kernels.account import INTERRUPTIONS
from mcettr.kernels.events.features import Features
from mcettr.kernels.events.plan import Times, plan_of
from mcettr.model.budget import ACTIVITIES
from mcettr.model.params import Params

AT_RISK, NODES, ENDED = 0, 1, 2
"""Phases: starting or training; between a stop and the next start; over."""


class Job:
    """A job and its mechanisms, with the rows of its tables, and what the loop would else compute again every step."""

    def __init__(self, params: Params, features: Features) -> None:
        self.params, self.on = params, features
        n = len(params.causes)
        self.n_rows = n + 4
        self.checkpoint_row, self.planned_row, self.horizon_row = n + 1, n + 2, n + 3
        self.times = _times(params)
        self.local_s = self.times.interval_s / self.times.n_a_main
        self.per_interval, self.per_local = 1.0 / self.times.interval_s, 1.0 / self.local_s
        self.per_node = None if params.n_nodes is None else 1.0 / params.n_nodes
        self.per_repeat_s = [None if c.repeat is None else 1.0 / c.repeat.mean_time_s for c in params.causes]
        spares, incidents = params.recovery.spares, params.incidents
        if spares is not None:
            self.per_quick_s, self.per_slow_s = 1.0 / spares.quick_mean_s, 1.0 / spares.slow_mean_s
        if incidents is not None:
            self.quiet_mean_s = 1.0 / incidents.rate_per_s
            self.toggles_per_s = incidents.rate_per_s + 1.0 / incidents.mean_duration_s
            self.incident_share = incidents.rate_per_s / self.toggles_per_s
        self.steady = not (features.slow or features.groups or features.shrink or features.write_law)
        save, full = params.checkpoint, jnp.ones_like(params.n_gpus)
        self.plan = plan_of(self.times, full, save.slowdown, two_tiers=features.local, blocking=save.blocking)
        """The schedule of saves at full speed: of all lanes at all times where the job is `steady`."""


def _times(params: Params) -> Times:
    """Return the times of the saves; an interval beyond the work is the work itself."""
    save = params.checkpoint
    verify_s = 0.0 if save.verify_s is None else save.verify_s
    return Times(
        interval_s=jnp.minimum(jnp.minimum(save.interval_s, params.work_s), 1e15),
        blocked_s=save.stall_s + verify_s,
        write_s=save.write_time_s + verify_s,
        n_a_main=1.0 if save.local is None else save.local.n_a_main,
        local_stall_s=0.0 if save.local is None else save.local.stall_s,
        local_write_s=0.0 if save.local is None else save.local.write_time_s,
    )


class Lanes:
    """State by name; `set` changes it where a mask says so. Lives for the length of a step, or of a stage of one.

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
        return self.changes[name] if name in self.changes else self._read(self._state[name])

    @property
    def state(self) -> dict[str, Any]:
        """Return the state with its changes."""
        return self._state | self.changes

    def set(self, mask: Any, **values: Any) -> None:
        """Replace entries where `mask`."""
        for name, value in values.items():
            old = self[name]
            self.changes[name] = jnp.where(mask, jnp.asarray(value).astype(old.dtype), old)

    def put(self, **values: Any) -> None:
        """Replace entries everywhere."""
        self.changes.update(values)


def _total(amounts: list[Any]) -> Any:
    result = amounts[0]
    for amount in amounts[1:]:
        result = result + amount
    return result


@jax.tree_util.register_pytree_node_class
class Ledger:
    """Time booked in one step, by row and activity, all of it in seconds."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.amounts: list[Any] = []
        self.kinds: list[tuple[int, int]] = []
        """For each amount its row (an index into `rows`, or -1 - row where that is fixed) and its column."""

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Return the arrays, and what is fixed."""
        return (tuple(self.rows), tuple(self.amounts)), tuple(self.kinds)

    @classmethod
    def tree_unflatten(cls, kinds: Any, arrays: Any) -> Ledger:
        """Return the ledger of some arrays."""
        ledger = cls()
        ledger.rows, ledger.amounts, ledger.kinds = list(arrays[0]), list(arrays[1]), list(kinds)
        return ledger

    def _enter(self, row: Any, column: int, amount: Any) -> None:
        number = -1 - row if isinstance(row, int) else next((i for i, r in enumerate(self.rows) if r is row), None)
        if number is None:
            number = len(self.rows)
            self.rows.append(row)
        self.kinds.append((number, column))
        self.amounts.append(amount)

    def book(self, row: Any, activity: str, seconds: Any) -> None:
        """Book seconds (lanes, 0 where nothing happens) to a row (int32 lanes, or an int)."""
        self._enter(row, ACTIVITIES.index(activity), seconds)

    def interrupt(self, row: Any, mask: Any) -> None:
        """Count an interruption."""
        self._enter(row, INTERRUPTIONS, mask.astype(jnp.float64))

    def add(self, other: Ledger) -> None:
        """Take over the entries of another ledger."""
        for (number, column), amount in zip(other.kinds, other.amounts, strict=True):
            self._enter(other.rows[number] if number >= 0 else -1 - number, column, amount)

    def by_column(self) -> dict[int, Any]:
        """Return the sum of each column that has entries, in lanes."""
        sums: dict[int, Any] = {}
        for (_, column), amount in zip(self.kinds, self.amounts, strict=True):
            sums[column] = amount if column not in sums else sums[column] + amount
        return sums

    def by_cause(self, n_rows: int) -> Any:
        """Return the sums by row and column, (blocks, rows, 12), of ledgers stacked to (steps, blocks, lanes)."""
        n_steps, n_blocks, n_lanes = jnp.broadcast_shapes(*(amount.shape for amount in self.amounts))
        table = jnp.zeros((n_blocks, n_rows, INTERRUPTIONS + 1))
        ones = jnp.ones((n_steps, n_lanes))
        for number in sorted({number for number, _ in self.kinds}):
            mine = [(c, a) for (n, c), a in zip(self.kinds, self.amounts, strict=True) if n == number]
            columns = sorted({column for column, _ in mine})
            stacked = jnp.stack([_total([a for c, a in mine if c == column]) for column in columns])
            if number < 0:
                sums = jnp.einsum("asbl,sl->ba", stacked, ones)
                table = table.at[:, -1 - number, jnp.array(columns)].add(sums)
                continue
            row = self.rows[number]
            hit = (row == jnp.arange(n_rows, dtype=row.dtype)[:, None, None, None]).astype(jnp.float64)
            table = table.at[:, :, jnp.array(columns)].add(jnp.einsum("rsbl,asbl->bra", hit, stacked))
        return table
