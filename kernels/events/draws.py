"""The uniforms of one step, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from mcettr.kernels import choice, streams
from mcettr.kernels.choice import pick
from mcettr.kernels.elementary import NAMESPACE, minus_log_of_uniform
from mcettr.model.counts import Counts, exactly, is_exactly, sample_count
from mcettr.model.distributions import Distribution, is_fixed

UNIT = Distribution("exponential", (1.0,))
"""Stands for -log(u), the hazard that brings an event."""
UNIT_TIME = Distribution("exponential", (1.0,))
"""Stands for -log(1 - u), the time of an exponential law with mean 1."""
FINE = Distribution("fine", ())
"""Stands for the uniform itself in float64, to the last bit of its word."""


@dataclass(frozen=True)
class Request:
    """A draw, and the law it is put through (compared by identity).

    `count` names the counter that numbers the draw: "attempt" to come, attempt of the lost "group", "hazard" before and
    "next_hazard" after a strike, corruption's "strike" and "next_strike", "toggle" of the incidents, "change" of the
    pool, ("event", i) and ("next_event", i) of cause i; "first".
    """

    purpose: int
    count: Any
    law: Distribution | None = None

    def __hash__(self) -> int:
        return hash((self.purpose, self.count, id(self.law)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Request)
            and (self.purpose, self.count) == (other.purpose, other.count)
            and self.law is other.law
        )


class Draws:
    """Hands out the draws that a stage asks for; the first time round it only notes what they are."""

    def __init__(self, shape: tuple[int, ...], known: Callable[[Request], Any] | None = None) -> None:
        self.shape, self.known = shape, known
        self.requests: dict[Request, None] = {}

    def _get(self, request: Request) -> Any:
        if self.known is not None:
            return self.known(request)
        self.requests[request] = None
        return jnp.full(self.shape, 0.5, jnp.float64 if request.law is not None else jnp.float32)

    def uniform(self, purpose: int, count: Any) -> Any:
        """Return a uniform of a purpose."""
        return self._get(Request(purpose, count)).astype(jnp.float64)

    def fine(self, purpose: int, count: Any) -> Any:
        """Return a uniform of a purpose to the last bit of its word, for choices of which one may be rare."""
        return self._get(Request(purpose, count, FINE))

    def exponential(self, purpose: int, count: Any) -> Any:
        """Return a unit exponential."""
        return self._get(Request(purpose, count, UNIT))

    def duration(self, law: Distribution, purpose: int, count: Any) -> Any:
        """Return a duration in seconds; a fixed one spends no draw."""
        if is_fixed(law):
            return law.values[0] + jnp.zeros(self.shape)
        return self._get(Request(purpose, count, law))

    def number(self, laws: list[Counts | None], index: Any, purpose: int, count: Any) -> Any:
        """Return a number of nodes, by the law that `index` says; None is 0."""
        some = [exactly(0.0) if law is None else law for law in laws]
        if all(map(is_exactly, some)):
            return pick([law.values[0] for law in some], index)
        n = max(len(law.values) for law in some)
        values = zip(*((*law.values, *law.values[-1:] * (n - len(law.values))) for law in some), strict=True)
        reached = zip(*((*law.cumulative, *(1.0,) * (n - len(law.values))) for law in some), strict=True)
        mine = Counts(*(tuple(pick(column, index) for column in columns) for columns in (values, reached)))
        return sample_count(mine, self.uniform(purpose, count), NAMESPACE)


def uniform(request: Request, key: Any, counts: dict[Any, Any]) -> Any:
    """Return the draw itself, float32."""
    return streams.draw(key.seed, key.timeline, request.purpose, counts[request.count], jnp)


def follows(law: Distribution | None, u: Any) -> Any:
    """Return the seconds that a law makes of a uniform, float64."""
    assert law is not None
    if law is UNIT:
        return minus_log_of_uniform(u)
    return choice.duration([law], jnp.zeros(u.shape, jnp.int32), u.astype(jnp.float64))


def has_table(law: Distribution | None) -> bool:
    """Return whether a law is looked up in a table, which no kernel of lanes can do."""
    if law is None:
        return False
    return law.kind == "table" or len(law.components) > choice.SELECTS or any(map(has_table, law.components))
