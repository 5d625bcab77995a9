"""The draws of one attempt: the recovery that leads to it, and when and why it fails."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mcettr.kernels import choice, streams
from mcettr.model.distributions import Distribution, is_fixed
from mcettr.model.params import Params


class Key(NamedTuple):
    """Whose draws: the seed's two words and the timeline numbers (uint32 lanes)."""

    seed: tuple[Any, Any]
    timeline: Any

    def uniform(self, purpose: int, count: Any, dtype: Any) -> Any:
        """Return draw `count` of a purpose for each lane, as `dtype`."""
        return streams.draw(self.seed, self.timeline, purpose, count, jnp).astype(dtype)

    def word(self, purpose: int, count: Any) -> Any:
        """Return the word of draw `count` of a purpose for each lane."""
        return streams.word(self.seed, self.timeline, purpose, count, jnp)


def as_dtype(record: Any, dtype: Any) -> Any:
    """Return the same numbers in another dtype."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype), record)


def total_rate_per_s(params: Params) -> Any:
    """Return the job's hazard from all causes with a rate."""
    if not params.causes:
        return jnp.zeros_like(params.n_gpus)
    return choice.running_sums([cause.rate_per_s for cause in params.causes])[-1]


def mean_time_s(params: Params) -> Any:
    """Return the mean at-risk time between failures of causes with a rate (inf without any)."""
    return 1.0 / total_rate_per_s(params)


def cause_bounds(params: Params) -> list[tuple[Any, Any]] | tuple[Any, Any]:
    """Return for each cause but the last which word is the first beyond it, and whether there is any.

    From float64 rates, so that a cause with a tiny share of them keeps it, first or last. Those of many causes are
    arrays of one more axis.
    """
    if len(params.causes) < 2:
        return []
    reached = choice.running_sums([cause.rate_per_s for cause in params.causes])

    def bound(reached: Any, total: Any) -> tuple[Any, Any]:
        first = jnp.ceil(reached / total * 2.0**32 - 0.5)
        return jnp.clip(first, 0.0, 2.0**32 - 1.0).astype(jnp.uint32), first < 2.0**32

    if isinstance(reached, list):
        return [bound(some, reached[-1]) for some in reached[:-1]]
    return bound(reached[:-1], reached[-1])


def cause_row(bounds: list[tuple[Any, Any]] | tuple[Any, Any], word: Any) -> Any:
    """Return the row (1 + index of the cause, int32) that a random word picks in proportion to the rates."""
    row = jnp.ones_like(word, jnp.int32)
    if isinstance(bounds, list):
        for first, exists in bounds:
            row = row + ((word >= first) & exists).astype(jnp.int32)
        return row
    firsts, exist = (jnp.expand_dims(bound, tuple(range(1, 1 + word.ndim + 1 - bound.ndim))) for bound in bounds)
    return row + jnp.sum((word >= firsts) & exist, axis=0, dtype=jnp.int32)


def duration(law: Distribution, key: Any, purpose: int, count: Any, zero: Any) -> Any:
    """Return durations in seconds, in the shape and dtype of `zero`; a fixed law spends no draw."""
    return duration_of([law], jnp.zeros(zero.shape, jnp.int32), key, purpose, count, zero)


def duration_of(laws: list[Distribution], index: Any, key: Any, purpose: int, count: Any, zero: Any) -> Any:
    """Return durations in seconds, each by the law that `index` (int32 lanes) says; fixed laws spend no draw."""
    u = zero if all(map(is_fixed, laws)) else key.uniform(purpose, count, zero.dtype)
    return choice.duration(laws, index, u)


class Phases(NamedTuple):
    """The phases of a recovery in seconds, each at its full length; sums and clips are up to the caller."""

    detection: Any
    diagnosis: Any
    queue: Any
    startup: Any
    restore: Any

    @property
    def downtime(self) -> Any:
        """Return the time before the start, in which nothing fails."""
        return self.detection + self.diagnosis + self.queue

    @property
    def restart(self) -> Any:
        """Return the time of start and restore, in which failures strike."""
        return self.startup + self.restore


def phases(params: Params, key: Any, count: Any, row: Any, has_save: Any, dtype: Any) -> Phases:
    """Return the recovery before attempt `count` (uint32 lanes) from a failure of cause row `row` (int32 lanes).

    Row 0 is the first submission, which has nothing to detect or diagnose. `has_save` (bool lanes) says whether there
    is a durable save to restore. The key may be None where all laws are fixed.
    """
    zero = jnp.zeros(row.shape, dtype)

    def pick(laws: list[Distribution], purpose: int) -> Any:
        if not laws:
            return zero
        return jnp.where(row > 0, duration_of(laws, jnp.maximum(row - 1, 0), key, purpose, count, zero), zero)

    recovery = params.recovery
    startup = zero
    for index, (_, law) in enumerate(recovery.startup):
        startup = startup + duration(law, key, streams.startup_purpose(index), count, zero)
    return Phases(
        detection=pick([cause.detection for cause in params.causes], streams.DETECTION),
        diagnosis=pick([cause.diagnosis for cause in params.causes], streams.DIAGNOSIS),
        queue=duration(recovery.queue_wait, key, streams.QUEUE, count, zero),
        startup=startup,
        restore=jnp.where(has_save, duration(recovery.restore, key, streams.RESTORE, count, zero), zero),
    )


def unit_exponential(key: Key, count: Any, dtype: Any) -> Any:
    """Return -log of failure draw `count`: the hazard that brings the failure."""
    return -jnp.log(key.uniform(streams.FAILURE, count, dtype))
