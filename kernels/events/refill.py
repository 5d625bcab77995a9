"""Which lane runs which timeline: takes the accounts of those that are over, and begins others in their place."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mcettr.kernels import streams
from mcettr.kernels.account import INTERRUPTIONS, Account, ByCause, Pool
from mcettr.kernels.attempt import Key
from mcettr.kernels.elementary import where
from mcettr.kernels.events import draws, strikes
from mcettr.kernels.events.draws import Request
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import ENDED, Lanes, is_over
from mcettr.kernels.events.ledger import booked_name
from mcettr.kernels.events.submission import submission
from mcettr.kernels.events.training import newest_durable
from mcettr.kernels.fusion import in_one_kernel
from mcettr.model.budget import ACTIVITIES, Outcome

_LEAVES_A_KERNEL = 16
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


def nobody(job: Job, queue: Queue, n_lanes: int, n_timelines: int) -> tuple[dict[str, Any], Places]:
    """Return lanes that run nothing yet."""
    shape = len(queue.first_timeline), n_lanes
    index = jnp.full(shape, n_timelines, jnp.int32)
    like = jax.eval_shape(lambda: _begin(job, queue, index, index < 0))
    state = {name: jnp.zeros(leaf.shape, leaf.dtype) for name, leaf in like.items()}
    state |= {"phase": jnp.full(shape, ENDED, jnp.int32), "cap": queue.cap}
    if job.on.spares:
        state["repaired_at"] = jnp.full(shape, jnp.inf)
    return state, Places(index, index[:, 0] * 0)


def one_a_block(job: Job, queue: Queue) -> dict[str, Any]:
    """Return the first timeline of each block at its submission."""
    index = jnp.zeros((len(queue.first_timeline), 1), jnp.int32)
    return _begin(job, queue, index, index == 0)


def _begin(job: Job, queue: Queue, index: Any, begins: Any) -> dict[str, Any]:
    """Return timelines number `index` of their blocks at their submission."""
    timeline = queue.first_timeline[:, None] + index.astype(jnp.uint32)
    lemons = None if job.params.lemons is None else job.params.lemons.n_at_start
    n_lemons = None if lemons is None else jnp.take_along_axis(lemons, jnp.minimum(index, lemons.shape[1] - 1), axis=1)
    return submission(job, Key(queue.seed, timeline), begins, queue.cap, n_lemons)


class Book(NamedTuple):
    """The accounts so far."""

    numbers: Any
    """(blocks, timelines, numbers): those of an `Account`, in its order."""


def empty_book(job: Job, n_blocks: int, n_timelines: int) -> Book:
    """Return the accounts of timelines that have yet to run; those that never do have lasted a second."""
    numbers = jnp.array(jax.tree.leaves(_never_run(job)))
    return Book(jnp.broadcast_to(numbers, (n_blocks, n_timelines, len(numbers))))


def _never_run(job: Job) -> Account:
    table = dict.fromkeys(_table_places(job), 0.0)
    return Account(
        outcome=float(Outcome.CAPPED),
        elapsed_s=1.0,
        activity_s=(0.0,) * INTERRUPTIONS,
        n_saves=0.0,
        n_failures=0.0,
        by_cause=table,  # type: ignore[arg-type]
        longest_stretch_s=0.0,
        pool=Pool(0.0, 0.0, 0.0, 0.0) if job.on.spares else None,
        corrupt_s=0.0 if job.on.silent else None,
    )


def _table_places(job: Job) -> list[tuple[int, int]]:
    """Return the entries of the table by cause that can differ from 0, sorted."""
    return sorted({*job.places, (job.horizon_row, _REWORK)})


def accounts_of(job: Job, book: Book) -> Account:
    """Return the accounts in a book."""
    structure = jax.tree.structure(_never_run(job))
    account = jax.tree.unflatten(structure, list(jnp.moveaxis(book.numbers, -1, 0)))
    rows, columns = zip(*_table_places(job), strict=True)
    table = ByCause(rows, columns, jnp.stack(list(account.by_cause.values())))
    return account._replace(outcome=account.outcome.astype(jnp.int8), by_cause=table)


def change_over(
    job: Job, queue: Queue, places: Places, state: dict[str, Any], book: Book, turn: Any
) -> tuple[dict[str, Any], Places, Book]:
    """Take the accounts of the lanes whose timeline is over, and begin the next ones of their blocks there."""
    n_timelines = book.numbers.shape[1]
    idle = is_over(state)
    book = _take(job, queue, places, state, book, idle & (places.index < n_timelines))
    number = places.n_begun[:, None] + jnp.cumsum(idle, axis=1, dtype=jnp.int32) - 1
    begins = idle & (number < queue.n_valid[:, None])
    index = where(begins, number, where(idle, n_timelines, places.index))
    fresh = _begin(job, queue, index, begins)
    names = [name for name in state if jnp.ndim(state[name])]
    for first in range(0, len(names), _LEAVES_A_KERNEL):
        some = names[first : first + _LEAVES_A_KERNEL]

        def choose(inputs: Any) -> Any:
            idle, fresh, old = inputs
            return {name: where(idle, fresh[name], old[name]) for name in old}

        inputs = (idle, {name: fresh[name] for name in some}, {name: state[name] for name in some})
        state = state | in_one_kernel(choose, inputs, turn)
    return state, Places(index, places.n_begun + begins.sum(axis=1, dtype=jnp.int32)), book


def _take(job: Job, queue: Queue, places: Places, state: dict[str, Any], book: Book, over: Any) -> Book:
    """Return the book with the accounts of the timelines that are `over`."""
    account = account_of(job, Lanes(state), Key(queue.seed, state["timeline"]))
    new = jnp.stack([leaf.astype(jnp.float64) for leaf in jax.tree.leaves(account)], axis=-1)
    at = where(over, places.index, book.numbers.shape[1])
    block = jnp.arange(len(at))[:, None]
    return Book(book.numbers.at[block, at].set(new, mode="drop"))


def account_of(job: Job, lanes: Lanes, key: Key) -> Account:
    """Return the lanes' accounts, with the table by cause as lanes by place."""
    done = lanes.outcome == Outcome.DONE
    productive = where(done, job.params.work_s, newest_durable(job, lanes))
    undurable = where(done, 0.0, strikes.work_now(job, lanes) - newest_durable(job, lanes))
    table = {place: lanes[booked_name(*place)] for place in job.places}
    lost = job.horizon_row, _REWORK
    table[lost] = table[lost] + undurable if lost in table else undurable
    totals = [jnp.zeros_like(lanes.now)] * (INTERRUPTIONS + 1)
    for (_, column), amount in table.items():
        totals[column] = totals[column] + amount
    totals[ACTIVITIES.index("productive")] = productive
    pool = None
    if job.on.spares:
        pool = Pool(lanes.n_swaps, lanes.n_exhausted, _nodes_out(lanes, key), lanes.nodes_out_most)
    return Account(
        outcome=lanes.outcome,
        elapsed_s=lanes.now,
        activity_s=tuple(totals[:INTERRUPTIONS]),
        n_saves=lanes.n_saves,
        n_failures=totals[INTERRUPTIONS],
        by_cause=table,  # type: ignore[arg-type]
        longest_stretch_s=jnp.maximum(lanes.longest, lanes.now - lanes.last_durable),
        pool=pool,
        corrupt_s=_corrupt(lanes, productive) if job.on.silent else None,
    )


def _corrupt(lanes: Lanes, productive: Any) -> Any:
    """Return the work that is kept, and was computed after the corruption that nobody has found."""
    return where(lanes.corrupt, jnp.maximum(productive - lanes.corrupt_work, 0.0), 0.0)


def _nodes_out(lanes: Lanes, key: Key) -> Any:
    """Return the nodes in repair at a random instant, now that the last piece of the timeline is known."""
    u = draws.uniform(Request(streams.POOL_INSTANT, "change"), key, {"change": lanes.n_changes})
    return where(u * lanes.now < lanes.now - lanes.changed_at, lanes.in_quick + lanes.in_slow, lanes.nodes_out)
