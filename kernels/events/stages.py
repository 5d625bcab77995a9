"""Runs a step as a row of stages, each one kernel with many results; see `mcettr.kernels.fusion`.

XLA on a processor would make a kernel of every entry of the state, and compute in each again whatever it hangs on: a
step with all mechanisms grows twenty-fold. A stage is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import ndtri

from mcettr.kernels import choice
from mcettr.kernels.elementary import NAMESPACE, where
from mcettr.kernels.events.drawing import draws_of_step
from mcettr.kernels.events.draws import UNIT, UNIT_TIME, Draws, Request, has_table
from mcettr.kernels.events.features import Bound
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import Lanes, flags_as_int8
from mcettr.kernels.fusion import Kernel, in_one_kernel
from mcettr.model.counts import Odds, Reached, binomial_begin, binomial_beyond, binomial_steps, odds_of, steps_from
from mcettr.model.distributions import Distribution, is_fixed

_FIRST_STEPS, _STEPS_A_ROUND = 12, 12


def _simple(laws: list[Distribution]) -> bool:
    """Return whether the durations are numbers, or multiples of one exponential time."""
    return all(law.kind in ("fixed", "exponential") for law in laws)


class Survey:
    """Runs stages only to see which draws they ask for."""

    def __init__(self, job: Job, lanes: Lanes) -> None:
        self.job, self.lanes = job, lanes
        self.draws = Draws(lanes.now.shape)

    def run(self, stage: Callable[..., Any], *args: Any) -> Any:
        """Run the stage with draws of 1/2."""
        return stage(self.job, self.lanes, self.draws, *args)

    def uniform(self, purpose: int, count: Any) -> Any:
        """Return a half."""
        return self.draws.uniform(purpose, count)

    def exponential(self, purpose: int, count: Any) -> Any:
        """Return the exponential time of a half."""
        return self.draws.exponential(purpose, count)

    def durations(self, laws: list[Distribution], index: Any, purpose: int, count: Any) -> Any:
        """Return what the laws give at a half."""
        if not all(map(is_fixed, laws)):
            self.draws.duration(UNIT_TIME, purpose, count) if _simple(laws) else self.draws.uniform(purpose, count)
        return jnp.zeros(index.shape)

    def binomial(self, n: Any, p: Any, u: Any, bound: Bound) -> Any:
        """Return counts of 0."""
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
        self.known = draws_of_step(key, counts, requests, turn)

    def run(self, stage: Callable[..., Any], *args: Any) -> Any:
        """Run ``stage(job, lanes, draws, *args)``, and return what it returns (a tree of lanes)."""
        shape = self.lanes.now.shape
        kernel = Kernel(shape, self.turn)
        view = Lanes(self.lanes.state, kernel.take)
        draws = Draws(shape, lambda request: kernel.take(self.known[request]))
        result = stage(self.job, view, draws, *jax.tree.map(kernel.take, args))
        changes = flags_as_int8(view.changes)
        whole = {name: jnp.broadcast_to(value, kernel.first.shape) for name, value in changes.items()}
        changes, result = kernel.give((whole, result))
        self.lanes.put(**changes)
        return result

    def uniform(self, purpose: int, count: Any) -> Any:
        """Return a draw."""
        return self.known[Request(purpose, count)]

    def exponential(self, purpose: int, count: Any) -> Any:
        """Return a unit exponential."""
        return self.known[Request(purpose, count, UNIT)]

    def durations(self, laws: list[Distribution], index: Any, purpose: int, count: Any) -> Any:
        """Return durations in seconds, each by the law that `index` says, in lanes; fixed laws spend no draw."""
        if all(map(is_fixed, laws)):
            return choice.pick([law.values[0] for law in laws], index)
        if _simple(laws):
            unit = self.known[Request(purpose, count, UNIT_TIME)]
            times = where(choice.pick([is_fixed(law) for law in laws], index), 1.0, unit)
            return choice.pick([law.values[0] for law in laws], index) * times

        def follow(lanes: Any) -> Any:
            index, u = lanes
            return choice.duration(laws, index, u.astype(jnp.float64))

        lanes = index, self.uniform(purpose, count)
        if len(laws) > choice.SELECTS or any(map(has_table, laws)):
            return follow(lanes)
        return in_one_kernel(follow, lanes, self.turn)

    def binomial(self, n: Any, p: Any, u: Any, bound: Bound) -> Any:
        """Return the binomial(n, p) counts of lanes at `u`, in as many rounds as the largest of them takes.

        `p` comes as the `Odds` of a number of the job, or in lanes.
        """
        if not bound:
            return jnp.zeros_like(n)

        def known(p: Any) -> Odds:
            return p if isinstance(p, Odds) else odds_of(p, bound.trials, NAMESPACE)

        first = steps_from(0, min(_FIRST_STEPS, bound.steps))

        def begin(inputs: Any) -> Reached:
            n, p, u = inputs
            u = u.astype(jnp.float64)
            odds = known(p)
            return binomial_steps(binomial_begin(n, odds, u, NAMESPACE), n, odds, u, first, NAMESPACE)

        def count_at_once(inputs: Any) -> Any:
            return jnp.minimum(begin(inputs).count, inputs[0])

        if bound.steps <= _FIRST_STEPS and not bound.beyond:
            return in_one_kernel(count_at_once, (n, p, u), self.turn)
        at = self._further(in_one_kernel(begin, (n, p, u), self.turn), n, known(p), u, bound)
        if not bound.beyond:
            return jnp.minimum(at.count, n)
        return binomial_beyond(n, known(p), u.astype(jnp.float64), at.count, NAMESPACE, ndtri)

    def _further(self, at: Reached, n: Any, odds: Odds, u: Any, bound: Bound) -> Reached:
        """Look at more counts, a few in a round, as long as any lane's may be among them."""

        def going(carry: tuple[Any, Reached]) -> Any:
            k, at = carry
            return (k < bound.steps) & jnp.any((u >= at.total) & (k < n))

        def look(carry: tuple[Any, Reached]) -> tuple[Any, Reached]:
            k, at = carry

            def compute(inputs: Any) -> Reached:
                at, n, odds, u = inputs
                steps = [(some[0, i], some[1, i]) for i in range(_STEPS_A_ROUND)]
                return binomial_steps(at, n, odds, u.astype(jnp.float64), steps, NAMESPACE)

            some = k + jnp.arange(float(_STEPS_A_ROUND))
            some = jnp.stack([some, 1.0 / (some + 1.0)])
            return k + _STEPS_A_ROUND, in_one_kernel(compute, (at, n, odds, u), self.turn)

        return lax.while_loop(going, look, (jnp.float64(_FIRST_STEPS), at))[1]
