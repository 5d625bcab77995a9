"""Makes XLA compute several results in one kernel.

XLA on a processor makes a kernel of every result of a fusion, and computes in each again all that the result hangs
on, random blocks included. A reduction, though, may have many results. So values go through one: a sum over an axis of
two whose second half counts as zero. The compiler unrolls the axis and drops the second half, if the kernel is small
(some 300 instructions; beyond that it is neither unrolled nor vectorised, so keep it below). The results are the
values, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mcettr.kernels.elementary import where


class Kernel:
    """One kernel in the making: takes arrays in, and gives the results.

    Parameters
    ----------
    shape : tuple of int
        Of the arrays.
    turn : int32
        The count of the loop around, whatever it is: what does not hang on it XLA would take out of the loop and read
        back from memory, so that the compiler could not see which half it is in.
    """

    def __init__(self, shape: tuple[int, ...], turn: Any) -> None:
        self.shape = shape
        self.first = lax.broadcasted_iota(jnp.int32, (2, *shape), 0) + turn == turn
        self._taken: dict[int, tuple[Any, Any]] = {}

    def take(self, leaf: Any) -> Any:
        """Return lanes as the computation sees them, with one more leading dimension; other shapes pass as they are."""
        if jnp.shape(leaf) != self.shape:
            return leaf
        if id(leaf) not in self._taken:
            # The halves must differ in something, or XLA sees that they are one.
            differs = not self._taken
            halves = jnp.broadcast_to(leaf[None], self.first.shape)
            self._taken[id(leaf)] = (where(self.first, halves, jnp.zeros_like(leaf)) if differs else halves, leaf)
        return self._taken[id(leaf)][0]

    def give(self, results: Any) -> Any:
        """Return a tree of results, elementwise in what was taken, with the leading dimension gone.

        What does not hang on lanes passes as it is.
        """
        all_leaves, structure = jax.tree.flatten(results)
        of_lanes = [jnp.shape(leaf) == self.first.shape for leaf in all_leaves]
        leaves = iter(self._in_one([leaf for leaf, mine in zip(all_leaves, of_lanes, strict=True) if mine]))
        whole = [next(leaves) if mine else leaf for leaf, mine in zip(all_leaves, of_lanes, strict=True)]
        return jax.tree.unflatten(structure, whole)

    def _in_one(self, leaves: list[Any]) -> list[Any]:
        if not leaves:
            return leaves
        if len(leaves) == 1:
            # A reduction with one result would be fused into all that read it, and computed by each of them; a second
            # result that nobody reads would be left out. This one is 1, which the compiler does not see.
            result, one = self._in_one([*leaves, self.first.astype(jnp.int32)])
            return [result & (one > 0) if result.dtype == jnp.bool_ else result * one.astype(result.dtype)]
        flags = [leaf.dtype == jnp.bool_ for leaf in leaves]
        numbers = [leaf.astype(jnp.int32) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)]
        operands = tuple(where(self.first, leaf, jnp.zeros_like(leaf)) for leaf in numbers)

        def combine(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(a + b for a, b in zip(left, right, strict=True))

        zeros = tuple(jnp.zeros((), operand.dtype) for operand in operands)
        sums = lax.reduce(operands, zeros, combine, (0,))
        return [x != 0 if flag else x for x, flag in zip(sums, flags, strict=True)]


def in_one_kernel(compute: Callable[[Any], Any], lanes: Any, turn: Any) -> Any:
    """Return ``compute(lanes)``, computed by one kernel.

    Parameters
    ----------
    compute : callable
        Elementwise: takes `lanes` with one more leading dimension, and returns a tree of arrays of that shape.
    lanes : pytree of arrays
        Of one shape; others pass as they are, to be broadcast to it.
    turn : int32
        See `Kernel`.
    """
    shape = jnp.broadcast_shapes(*(jnp.shape(leaf) for leaf in jax.tree.leaves(lanes)))
    kernel = Kernel(shape, turn)
    return kernel.give(compute(jax.tree.map(kernel.take, lanes)))
