"""Numbers and laws by index: every lane has its cause, and reads the numbers that belong to it.

The laws of all causes are computed once a kind, whatever the number of causes, with each lane's own numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri

from mcettr.kernels.elementary import NAMESPACE, where
from mcettr.model.distributions import Distribution, coefficients, from_coefficients

SELECTS = 16
"""Up to this many numbers are selected from, which is quick to run; more are read from an array, quick to compile."""

_TINY = 2.0**-24


def pick(values: Any, index: Any) -> Any:
    """Return ``values[index]`` in lanes; whole numbers as int32.

    Parameters
    ----------
    values : list or tuple, or array
        Numbers, or arrays of shape (blocks, 1); or all as an array of shape (blocks, entries).
    index : int32 array
        Lanes, (..., blocks, lanes).
    """
    if not isinstance(values, list | tuple):
        return look_up(values, index)
    known = all(isinstance(value, int) for value in values)
    flags = all(isinstance(value, bool) for value in values)
    dtype = (jnp.bool_ if flags else jnp.int32) if known else jnp.result_type(*values)
    if len(values) <= SELECTS:
        result = jnp.broadcast_to(jnp.asarray(values[0], dtype), index.shape)
        for position, value in enumerate(values[1:], start=1):
            result = where(index == position, value, result)
        return result
    if known:
        return jnp.take(jnp.asarray(np.array(values), dtype), index)
    return look_up(_table(values), index)


def _table(values: Sequence[Any]) -> Any:
    """Return numbers, or arrays of shape (blocks, 1), as (blocks, entries); numbers alone have no first axis."""
    rows = jnp.broadcast_shapes(*(jnp.shape(value) for value in values))
    return jnp.concatenate([jnp.broadcast_to(value, rows or (1,)) for value in values], axis=-1)


def running_sums(numbers: Sequence[Any]) -> Any:
    """Return the sums of the first, the first two ... numbers: a list, or of many an array of one more axis."""
    if len(numbers) <= SELECTS:
        return list(accumulate(numbers))
    return jnp.cumsum(jnp.stack(jnp.broadcast_arrays(*numbers)), axis=0)


def look_up(table: Any, index: Any) -> Any:
    """Return the entry of each lane in a table of shape (blocks, entries)."""
    return jnp.take_along_axis(jnp.broadcast_to(table, (*index.shape[:-1], table.shape[-1])), index, axis=-1)


class _Part(NamedTuple):
    """A law without parts, and the share of the uniforms that is its own."""

    law: Distribution
    weight: Any
    is_part: bool


def duration(laws: Sequence[Distribution], index: Any, u: Any) -> Any:
    """Return durations in seconds, each by the law of its lane, in the shape and dtype of `u`.

    Parameters
    ----------
    laws : sequence of Distribution
        Passed through `mcettr.model.distributions.tabulate`; a uniform of a mixture is spent twice: for which part it
        falls in, and where inside that part.
    index : int32 array
        Which law, (..., blocks, lanes).
    u : float array
        Uniforms inside (0, 1).
    """
    by_law = [_parts(law) for law in laws]
    parts = [part for some in by_law for part in some]
    if len(parts) > len(laws):
        weights = [part.weight for part in parts]
        starts, inverses = _stretches([len(some) for some in by_law], weights)
        index = _find([len(some) for some in by_law], starts, index, u)
        inside = (u - pick(starts, index)) * pick(inverses, index)
        inside = jnp.clip(inside.astype(u.dtype), _TINY, 1.0 - _TINY)
        is_part = [part.is_part for part in parts]
        u = inside if all(is_part) else where(pick(is_part, index), inside, u)
    return _by_kind([part.law for part in parts], index, u)


def _parts(law: Distribution, weight: Any = 1.0, *, is_part: bool = False) -> list[_Part]:
    """Return the laws without parts that a law consists of."""
    if law.kind != "mixture":
        return [_Part(law, weight, is_part)]
    shares = zip(law.values, law.components, strict=True)
    return [part for share, some in shares for part in _parts(some, weight * share, is_part=True)]


def _stretches(numbers: list[int], weights: list[Any]) -> tuple[Any, Any]:
    """Return where the parts of each law begin, and 1 / weight; `numbers` says how many parts each law has."""
    firsts = [0, *accumulate(numbers)][:-1]
    if len(weights) <= SELECTS:
        starts: list[Any] = []
        for first, number in zip(firsts, numbers, strict=True):
            starts += accumulate(weights[first : first + number - 1], initial=0.0)
        return starts, [1.0 / where(weight > 0, weight, 1.0) for weight in map(jnp.asarray, weights)]
    table = _table(weights).astype(jnp.float64)
    before = jnp.cumsum(table, axis=-1) - table
    starts_of_laws = before[..., np.array(firsts)]
    return before - starts_of_laws[..., np.repeat(np.arange(len(numbers)), numbers)], 1.0 / where(table > 0, table, 1.0)


def _find(numbers: list[int], starts: Any, law: Any, u: Any) -> Any:
    """Return the part that the uniform falls in, by halving: the last one of the law that begins at `u` or before."""
    lowest = pick([0, *accumulate(numbers)][:-1], law)
    highest = lowest + pick([number - 1 for number in numbers], law)
    for _ in range((max(numbers) - 1).bit_length()):
        middle = (lowest + highest + 1) // 2
        reached = u >= pick(starts, middle)
        lowest, highest = where(reached, middle, lowest), where(reached, highest, jnp.maximum(middle - 1, lowest))
    return lowest


def _by_kind(laws: Sequence[Distribution], index: Any, u: Any) -> Any:
    """Return durations of laws without parts."""
    groups: dict[tuple[str, int], list[int]] = {}
    for number, law in enumerate(laws):
        groups.setdefault((law.kind, len(law.values)), []).append(number)
    result = None
    for (kind, _), members in groups.items():
        some = [laws[number] for number in members]
        if len(groups) == 1:
            return _of_kind(kind, some, index, u)
        places = {number: place for place, number in enumerate(members)}
        length = _of_kind(kind, some, pick([places.get(number, 0) for number in range(len(laws))], index), u)
        mine = pick([number in places for number in range(len(laws))], index)
        result = length if result is None else where(mine, length, result)
    return result


def _of_kind(kind: Any, laws: Sequence[Distribution], place: Any, u: Any) -> Any:
    """Return durations of laws of one kind."""
    xp = NAMESPACE if u.dtype == jnp.float64 else jnp
    if kind == "table":
        tables = [law.values[0] for law in laws]
        rows = jnp.broadcast_shapes(*(table.shape for table in tables))
        whole = jnp.concatenate([jnp.broadcast_to(table, rows) for table in tables], axis=-1)
        return from_coefficients(kind, (whole, place * rows[-1]), u, xp, ndtri)
    columns = zip(*(coefficients(law) for law in laws), strict=True)
    return from_coefficients(kind, tuple(pick(column, place) for column in columns), u, xp, ndtri)
