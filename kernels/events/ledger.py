"""The time that lanes book in a step, by cause and activity."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mcettr.kernels.account import INTERRUPTIONS
from mcettr.kernels.elementary import where
from mcettr.kernels.fusion import in_one_kernel
from mcettr.model.budget import ACTIVITIES

BEFORE, AFTER = "before", "after"
"""Rows that most of a step's entries have: the lanes' `row` at the beginning of the step, and at its end."""

BOOKED = "booked_"
_PLACES_A_KERNEL = 16


def booked_name(row: int, column: int) -> str:
    """Return the name in the lanes' state of what a timeline has booked to an entry of the table by cause."""
    return f"{BOOKED}{row}_{column}"


@jax.tree_util.register_pytree_node_class
class Ledger:
    """Time booked in one step, by row and activity, all of it in seconds.

    A row is an int where it is fixed, `BEFORE`, `AFTER`, or int32 lanes.
    """

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.amounts: list[Any] = []
        self.kinds: list[tuple[int | str, int]] = []
        """For each amount its row (a number below 0 is a place in `rows`, counted from -1 down) and its column."""

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
        if not isinstance(row, int | str):
            place = next((place for place, known in enumerate(self.rows) if known is row), len(self.rows))
            if place == len(self.rows):
                self.rows.append(row)
            row = -1 - place
        self.kinds.append((row, column))
        self.amounts.append(amount)

    def _entries(self) -> list[tuple[Any, int, Any]]:
        """Return rows (arrays in place of numbers below 0), columns and amounts."""
        kinds = zip(self.kinds, self.amounts, strict=True)
        return [(self._row(row), column, amount) for (row, column), amount in kinds]

    def _row(self, row: int | str) -> Any:
        return self.rows[-1 - row] if isinstance(row, int) and row < 0 else row

    def book(self, row: Any, activity: str, seconds: Any) -> None:
        """Book seconds (lanes, 0 where nothing happens) to a row."""
        self._enter(row, ACTIVITIES.index(activity), seconds)

    def interrupt(self, row: Any, mask: Any) -> None:
        """Count an interruption."""
        self._enter(row, INTERRUPTIONS, mask.astype(jnp.float64))

    def add(self, other: Ledger) -> None:
        """Take over the entries of another ledger."""
        for entry in other._entries():
            self._enter(*entry)

    def settled(self, before: Any, after: Any) -> Ledger:
        """Return the ledger with rows for `BEFORE` and `AFTER`, and entries of one row and column added up."""
        sums: dict[tuple[int | str, int], Any] = {}
        for kind, amount in zip(self.kinds, self.amounts, strict=True):
            sums[kind] = sums[kind] + amount if kind in sums else amount
        ledger = Ledger()
        for (row, column), amount in sums.items():
            ledger._enter({BEFORE: before, AFTER: after}.get(row, self._row(row)), column, amount)  # type: ignore[call-overload]
        return ledger

    def places(self, rows: list[int]) -> list[tuple[int, int]]:
        """Return the rows and columns that the entries of a settled ledger may have, if lanes may have `rows`."""
        found = {(at, column) for row, column, _ in self._entries() for at in ([row] if isinstance(row, int) else rows)}
        return sorted(found)

    def add_up(self, sums: dict[str, Any], rows: list[int], turn: Any) -> dict[str, Any]:
        """Return each lane's sums by row and column with settled ledgers, stacked to (steps, blocks, lanes), added.

        Parameters
        ----------
        sums : dict
            Lanes, by `booked_name`.
        rows : list of int
            Those that lanes may have.
        turn : int32
            See `Kernel`.
        """
        parts: dict[str, Any] = {}
        for row, column, amount in self._entries():
            fixed = isinstance(row, int)
            # Over the steps first: that is done for many lanes at once.
            summed = _sums([amount] if fixed else [where(row == r, amount, 0.0) for r in rows], 10)
            for at, part in zip([row] if fixed else rows, summed, strict=True):
                name = booked_name(at, column)
                parts[name] = parts[name] + part if name in parts else part
        names = list(parts)
        for first in range(0, len(names), _PLACES_A_KERNEL):
            some = names[first : first + _PLACES_A_KERNEL]
            both = ({name: parts[name] for name in some}, {name: sums[name] for name in some})
            sums = sums | in_one_kernel(_add, both, turn)
        return sums


def _add(both: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    return {name: amount + both[1][name] for name, amount in both[0].items()}


def _sums(parts: list[Any], at_once: int) -> list[Any]:
    """Return the sums over the first axis, of `at_once` arrays in one kernel."""

    def add(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(a + b for a, b in zip(left, right, strict=True))

    sums: list[Any] = []
    for first in range(0, len(parts), at_once):
        some = tuple(parts[first : first + at_once])
        sums += lax.reduce(some, tuple(jnp.zeros(()) for _ in some), add, (0,))
    return sums
