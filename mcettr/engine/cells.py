"""A grid of jobs as the engine reads it: any few cells at a time, whatever the size of the grid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.engine.lean import lean
from mcettr.model.distributions import Distribution, map_values, tabulate
from mcettr.model.params import Params
from mcettr.model.records import map_leaves


@dataclass(frozen=True)
class Cells:
    """Jobs that differ in numbers only; cell numbers run through the grid in C order.

    `params` holds compact leaves (length 1 along axes on which they do not vary) with laws ready to sample; a table
    has its knots in one more, last, dimension.
    """

    params: Params
    shape: tuple[int, ...]
    rate_shapes: tuple[NDArray[np.float64], ...] | None
    """Gamma shapes of the causes' rates (inf where exact), compact like the rest; None when all are exact."""
    shared_rate_shape: NDArray[np.float64] | None
    """Gamma shape of the factor that all rates share, compact; None when there is none."""

    @property
    def uncertain(self) -> bool:
        """Return whether some rate is a draw."""
        return self.rate_shapes is not None or self.shared_rate_shape is not None

    @property
    def n(self) -> int:
        """Return the number of cells."""
        return int(np.prod(self.shape, dtype=np.int64))

    def take(self, cells: NDArray[np.int64]) -> Params:
        """Return the parameters of some cells: leaves float64 of shape (len(cells), 1), tables (len(cells), knots)."""
        where = np.unravel_index(cells, self.shape) if self.shape else ()

        def pick(leaf: Any) -> Any:
            return _pick(leaf, where, len(cells))[:, None]

        def pick_table(leaf: Any) -> Any:
            return _pick(leaf, where, len(cells))

        return map_params(self.params, pick, pick_table)

    def take_rate_shapes(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the gamma shapes of some cells, (len(cells), causes)."""
        if self.rate_shapes is None:
            return np.full((len(cells), len(self.params.causes)), np.inf)
        where = np.unravel_index(cells, self.shape) if self.shape else ()
        return np.stack([_pick(leaf, where, len(cells)) for leaf in self.rate_shapes], axis=-1)

    def take_shared_rate_shape(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the gamma shape of the factor that all rates of a cell share, (len(cells),)."""
        if self.shared_rate_shape is None:
            return np.full(len(cells), np.inf)
        where = np.unravel_index(cells, self.shape) if self.shape else ()
        return _pick(self.shared_rate_shape, where, len(cells))


def cells_of(params: Params) -> Cells:
    """Return the grid of cells of a `Params` whose array leaves broadcast together."""
    shapes: list[tuple[int, ...]] = []

    def note(leaf: Any) -> Any:
        shapes.append(np.shape(leaf))
        return leaf

    map_params(params, note, note)
    beliefs = [note(cause.rate_shape) for cause in params.causes]
    note(params.rate_shape)
    shape = np.broadcast_shapes(*shapes)
    compact = map_params(params, lambda leaf: _compact(leaf, len(shape)), lambda leaf: leaf)
    rate_shapes = tuple(_compact(leaf, len(shape)) for leaf in beliefs)
    exact = all(np.isinf(leaf).all() for leaf in rate_shapes)
    shared = _compact(params.rate_shape, len(shape))
    return Cells(
        tabulated(lean(compact)), shape, None if exact else rate_shapes, None if np.isinf(shared).all() else shared
    )


def map_params(params: Params, number: Any, table: Any) -> Params:
    """Return `params` with `number` applied to every leaf, and `table` to those of laws already tabulated."""

    def law(record: Distribution) -> Distribution:
        parts = tuple(law(part) for part in record.components)
        change = table if record.kind == "table" else number
        return replace(map_values(replace(record, components=()), change), components=parts)

    mapped: Params = map_leaves(params, number, law)
    return mapped


def tabulated(params: Params) -> Params:
    """Return the same job with laws that can be sampled."""
    job: Params = map_leaves(params, lambda leaf: leaf, tabulate)
    return job


def _compact(leaf: Any, n_axes: int) -> NDArray[np.float64]:
    """Return the leaf with `n_axes` axes, and length 1 along those on which it is one value repeated."""
    array = np.asarray(leaf, dtype=np.float64)
    array = array.reshape((1,) * (n_axes - array.ndim) + array.shape)
    repeated = tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)
    return array[repeated]


def _pick(leaf: NDArray[np.float64], where: tuple[Any, ...], n: int) -> NDArray[np.float64]:
    """Return the leaf's entries at the grid indices `where`; axes beyond the grid's are kept."""
    n_axes = len(where)
    zero = np.zeros(n, np.int64)
    index = tuple(at if size > 1 else zero for at, size in zip(where, leaf.shape[:n_axes], strict=True))
    return leaf[index] if n_axes else np.broadcast_to(leaf, (n, *leaf.shape))
