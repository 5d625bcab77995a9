"""Runs a step as a row of stages, each one kernel with many results; see `mcettr.kernels.fusion`.

XLA on a processor would make a kernel of every entry of the state, and compute in each again whatever it hangs on: a
step with all mechanisms grows twenty-fold. A stage is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri

from mcettr.kernels import streams
from mcettr.kernels.events.draws import Draws, Request, follows, has_table, uniform
from mcettr.kernels.events.features import Bound
from mcettr.kernels.events.lanes import Job, Lanes, Ledger
from mcettr.kernels.fusion import Kernel, in_one_kernel
from mcettr.model.counts import binomial_begin, binomial_beyond, binomial_steps

_BLOCKS_A_KERNEL, _LAWS_A_KERNEL = 2, 3
_FIRST_STEPS, _STEPS_A_KERNEL = 8, 16


def _add_up(lanes: Lanes, result: Any) -> None:
    """Add what a stage has booked to the lanes' own sums."""
    parts = result if isinstance(result, tuple) else (result,)
    for ledger in (part for part in parts if isinstance(part, Ledger)):
        for column, amount in ledger.by_column().items():
            lanes.put(**{f"seconds_{column}": lanes[f"seconds_{column}"] + amount})


class Survey:
    """Runs stages only to see which draws they ask for."""

    def __init__(self, job: Job, lanes: Lanes) -> None:
        self.job, self.lanes = job, lanes
        self.draws = Draws(lanes.now.shape)

    def run(self, stage: Callable[..., Any], *args: Any) -> Any:
        """Run the stage with draws of 1/2."""
        result = stage(self.job, self.lanes, self.draws, *args)
        _add_up(self.lanes, result)
        return result

    def binomial(self, n: Any, p: Any, purpose: int, count: str, bound: Bound) -> Any:
        """Return counts of 0."""
        if bound.steps:
            self.draws.uniform(purpose, count)
        return jnp.zeros_like(n)


class Stages:
    """The stages of one step.

    Parameters
    ----------
    job : Job
        What runs.
    key : Key
        Seed and timelines.
    lanes : Lanes
        The state; stages change it.
    counts : dict
        The lanes' counters, by the names that `mcettr.kernels.events.draws.Request` gives.
    turn : int32
        Number of the step.
    requests : list of Request
        Every draw that the step makes.
    """

    def __init__(
        self, job: Job, key: Any, lanes: Lanes, counts: dict[Any, Any], turn: Any, requests: list[Request]
    ) -> None:
        self.job, self.lanes, self.turn = job, lanes, turn
        self.known = self._draw(key, counts, requests)

    def run(self, stage: Callable[..., Any], *args: Any) -> Any:
        """Run ``stage(job, lanes, draws, *args)``, and return what it returns (a tree of lanes)."""
        shape = self.lanes.now.shape
        kernel = Kernel(shape, self.turn)
        view = Lanes(self.lanes.state, kernel.take)
        draws = Draws(shape, lambda request: kernel.take(self.known[request]))
        result = stage(self.job, view, draws, *jax.tree.map(kernel.take, args))
        _add_up(view, result)
        changes, result = kernel.give((view.changes, result))
        self.lanes.put(**changes)
        return result

    def binomial(self, n: Any, p: Any, purpose: int, count: str, bound: Bound) -> Any:
        """Return binomial counts of lanes, by as many kernels as their largest count takes."""
        if not bound.steps:
            return jnp.zeros_like(n)
        u = self.known[Request(purpose, count)]
        at: Any = None
        for first in (0, *range(_FIRST_STEPS, bound.steps, _STEPS_A_KERNEL)):
            some = range(first, min(first + (_STEPS_A_KERNEL if first else _FIRST_STEPS), bound.steps))

            def compute(inputs: Any, some: range = some) -> Any:
                at, n, p, u = inputs
                u = u.astype(jnp.float64)
                begun = binomial_begin(n, p, u, jnp) if at is None else at
                return binomial_steps(begun, n, p, u, some, jnp)

            last = some.stop == bound.steps
            at = compute((at, n, p, u)) if last else in_one_kernel(compute, (at, n, p, u), self.turn)
        if not bound.beyond:
            return jnp.minimum(at.count, n)
        return binomial_beyond(n, p, u.astype(jnp.float64), at.count, jnp, ndtri)

    def _draw(self, key: Any, counts: dict[Any, Any], requests: list[Request]) -> dict[Request, Any]:
        """Make the draws, a few in a kernel, paired ones together; then put through their laws those that have one."""
        blocks: dict[Any, list[Request]] = {}
        for request in dict.fromkeys(Request(r.purpose, r.count) for r in requests):
            pair = request.purpose // 2 if streams.is_paired(request.purpose) else -request.purpose
            blocks.setdefault((pair, request.count), []).append(request)
        known: dict[Request, Any] = {}
        for some in _shared_out(list(blocks.values()), _BLOCKS_A_KERNEL):
            wanted = [request for block in some for request in block]
            names = list(dict.fromkeys(request.count for request in wanted))

            def compute(inputs: Any, wanted: list[Request] = wanted, names: list[Any] = names) -> Any:
                timeline, values = inputs
                mine = dict(zip(names, values, strict=True))
                return [uniform(request, key._replace(timeline=timeline), mine) for request in wanted]

            inputs = (key.timeline, [counts[name] for name in names])
            known.update(zip(wanted, in_one_kernel(compute, inputs, self.turn), strict=True))
        by_law = [request for request in requests if request.law is not None]
        for laws in _shared_out([r for r in by_law if not has_table(r.law)], _LAWS_A_KERNEL):

            def follow(us: Any, laws: list[Request] = laws) -> Any:
                return [follows(request.law, u) for request, u in zip(laws, us, strict=True)]

            us = [known[Request(r.purpose, r.count)] for r in laws]
            known.update(zip(laws, in_one_kernel(follow, us, self.turn), strict=True))
        return known | {r: follows(r.law, known[Request(r.purpose, r.count)]) for r in by_law if has_table(r.law)}


def _shared_out(things: list[Any], most: int) -> list[list[Any]]:
    """Return the things in groups of nearly equal size, at most `most`."""
    n_groups = -(-len(things) // most)
    bounds = [round(index * len(things) / n_groups) for index in range(n_groups + 1)] if n_groups else [0]
    return [things[begin:end] for begin, end in pairwise(bounds)]
