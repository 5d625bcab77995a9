"""Which lane runs which timeline: takes the accounts of those that are over, and begins others in their place."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.account import INTERRUPTIONS, Account, Pool
from mcettr.kernels.attempt import Key
from mcettr.kernels.events import draws, strikes
from mcettr.kernels.events.draws import Request
from mcettr.kernels.events.lanes import ENDED, Job, Lanes
from mcettr.kernels.events.submission import submission
from mcettr.kernels.events.training import newest_durable
from mcettr.model.budget import ACTIVITIES, Outcome

_REWORK = ACTIVITIES.index("rework")


class Queue(NamedTuple):
    """The timelines to run: numbers from `first_timeline` (blocks,) on, `n_valid` (blocks,) of them."""

    seed: tuple[Any, Any]
    first_timeline: Any
    n_valid: Any
    cap: Any


class Places(NamedTuple):
    """Which timeline of its block each lane runs, and how many of each block have begun."""

    index: Any
    """(blocks, lanes) int32; the number of timelines a block for none."""
    n_begun: Any
    """(blocks,) int32."""


def first(job: Job, queue: Queue, n_lanes: int, n_timelines: int) -> tuple[dict[str, Any], Places]:
    """Return the first timelines of all blocks at their submission."""
    lane = jnp.broadcast_to(jnp.arange(n_lanes, dtype=jnp.int32), (len(queue.first_timeline), n_lanes))
    begins = lane < queue.n_valid[:, None]
    index = jnp.where(begins, lane, n_timelines)
    return _begin(job, queue, index, begins), Places(index, begins.sum(axis=1, dtype=jnp.int32))


def _begin(job: Job, queue: Queue, index: Any, begins: Any) -> dict[str, Any]:
    """Return timelines number `index` of their blocks at their submission."""
    timeline = queue.first_timeline[:, None] + index.astype(jnp.uint32)
    lemons = None if job.params.lemons is None else job.params.lemons.n_at_start
    n_lemons = None if lemons is None else jnp.take_along_axis(lemons, jnp.minimum(index, lemons.shape[1] - 1), axis=1)
    return submission(job, Key(queue.seed, timeline), begins, queue.cap, n_lemons)


def empty_book(job: Job, n_blocks: int, n_timelines: int) -> Account:
    """Return the accounts of timelines that have yet to run; those that never do have lasted a second."""
    zero = jnp.zeros((n_blocks, n_timelines))
    return Account(
        outcome=jnp.full(zero.shape, Outcome.CAPPED, jnp.int8),
        elapsed_s=jnp.ones(zero.shape),
        activity_s=(zero,) * INTERRUPTIONS,
        n_saves=zero,
        n_failures=zero,
        by_cause=jnp.zeros((n_blocks, job.n_rows, INTERRUPTIONS + 1)),
        longest_stretch_s=zero,
        pool=Pool(zero, zero, zero, zero) if job.on.spares else None,
    )


def change_over(
    job: Job, queue: Queue, places: Places, state: dict[str, Any], book: Account
) -> tuple[dict[str, Any], Places, Account]:
    """Take the accounts of the lanes whose timeline is over, and begin the next ones of their blocks there."""
    n_timelines = book.elapsed_s.shape[1]
    over = (state["phase"] == ENDED) & (places.index < n_timelines)
    book = _take(job, queue, places, state, book, over)
    number = places.n_begun[:, None] + jnp.cumsum(over, axis=1, dtype=jnp.int32) - 1
    begins = over & (number < queue.n_valid[:, None])
    index = jnp.where(begins, number, jnp.where(over, n_timelines, places.index))
    fresh = _begin(job, queue, index, begins)
    state = {name: jnp.where(over, fresh[name], old) if jnp.ndim(old) else old for name, old in state.items()}
    return state, Places(index, places.n_begun + begins.sum(axis=1, dtype=jnp.int32)), book


def _take(job: Job, queue: Queue, places: Places, state: dict[str, Any], book: Account, over: Any) -> Account:
    """Return the book with the accounts of the timelines that are `over`."""
    account, undurable = account_of(job, Lanes(state), Key(queue.seed, state["timeline"]))
    where = jnp.where(over, places.index, book.elapsed_s.shape[1])
    block = jnp.arange(len(where))[:, None]

    def put(old: Any, new: Any) -> Any:
        return old.at[block, where].set(new.astype(old.dtype), mode="drop")

    lost = jnp.where(over, undurable, 0.0).sum(axis=1)
    table = book.by_cause.at[:, job.horizon_row, _REWORK].add(lost)
    return jax.tree.map(put, book._replace(by_cause=None), account)._replace(by_cause=table)


def account_of(job: Job, lanes: Lanes, key: Key) -> tuple[Account, Any]:
    """Return the lanes' accounts (sums by cause left out), and the work that was lost at the horizon."""
    done = lanes.outcome == Outcome.DONE
    productive = jnp.where(done, job.params.work_s, newest_durable(job, lanes))
    undurable = jnp.where(done, 0.0, strikes.work_now(job, lanes) - newest_durable(job, lanes))
    seconds = [lanes[f"seconds_{column}"] for column in range(INTERRUPTIONS)]
    seconds[ACTIVITIES.index("productive")] = productive
    seconds[_REWORK] = seconds[_REWORK] + undurable
    pool = None
    if job.on.spares:
        pool = Pool(lanes.n_swaps, lanes.n_exhausted, _nodes_out(lanes, key), lanes.nodes_out_most)
    account = Account(
        outcome=lanes.outcome,
        elapsed_s=lanes.now,
        activity_s=tuple(seconds),
        n_saves=lanes.n_saves,
        n_failures=lanes[f"seconds_{INTERRUPTIONS}"],
        by_cause=None,
        longest_stretch_s=jnp.maximum(lanes.longest, lanes.now - lanes.last_durable),
        pool=pool,
    )
    return account, undurable


def _nodes_out(lanes: Lanes, key: Key) -> Any:
    """Return the nodes in repair at a random instant, now that the last piece of the timeline is known."""
    u = draws.uniform(Request(streams.POOL_INSTANT, "change"), key, {"change": lanes.n_changes})
    return jnp.where(u * lanes.now < lanes.now - lanes.changed_at, lanes.in_quick + lanes.in_slow, lanes.nodes_out)
