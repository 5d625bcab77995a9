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


def in_one_kernel(compute: Callable[[Any], Any], lanes: Any, turn: Any) -> Any:
    """Return ``compute(lanes)``, computed by one kernel.

    Parameters
    ----------
    compute : callable
        Elementwise: takes `lanes` with one more leading dimension, and returns a tree of arrays of that shape.
    lanes : pytree of arrays
        All of one shape; scalars pass as they are.
    turn : int32
        The count of the loop around, whatever it is: what does not hang on it XLA would take out of the loop and read
        back from memory, so that the compiler could not see which half it is in.
    """
    arrays = [leaf for leaf in jax.tree.leaves(lanes) if jnp.ndim(leaf)]
    first = lax.broadcasted_iota(jnp.int32, (2, *arrays[0].shape), 0) + turn == turn

    def doubled(leaf: Any) -> Any:
        if not jnp.ndim(leaf):
            return leaf
        # The halves must differ in something, or XLA sees that they are one.
        if leaf is arrays[0]:
            return jnp.where(first, leaf[None], jnp.zeros_like(leaf))
        return jnp.broadcast_to(leaf[None], first.shape)

    leaves, structure = jax.tree.flatten(compute(jax.tree.map(doubled, lanes)))
    operands = tuple(jnp.where(first, leaf, jnp.zeros_like(leaf)) for leaf in leaves)

    def combine(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(a + b for a, b in zip(left, right, strict=True))

    zeros = tuple(jnp.zeros((), operand.dtype) for operand in operands)
    return jax.tree.unflatten(structure, lax.reduce(operands, zeros, combine, (0,)))
