"""Runs grids of jobs until each cell has the timelines, or the standard error, asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mcettr.engine.cells import Cells, cells_of
from mcettr.engine.device import resolve
from mcettr.engine.estimates import Estimates, Gathered, estimates_of, ettr_error
from mcettr.engine.jax_engine import N_LANES, Blocks, JaxEngine
from mcettr.engine.tallies import Array, Scale, Tally, add_batch
from mcettr.engine.unseen import Foreseen
from mcettr.errors import ScenarioError
from mcettr.kernels.moments import Batch
from mcettr.kernels.plain import LEG
from mcettr.kernels.streams import MAX_TIMELINE, RATE_GROUP
from mcettr.model import analytic
from mcettr.model.budget import Outcome
from mcettr.model.events import MOST_WITHOUT_HORIZON, events_by_kind, most_attempts
from mcettr.model.params import Params

Progress = Callable[[float], None]

DEFAULT_PRECISION = 0.001
_CHUNK_CELLS = 512
_CAP_ROOM = 1.5
_HOPELESS, _HOPELESS_CAP = 10.0, 10_000
"""How far beyond the most attempts all cells are without any hope of an end, and the cap that will do then."""
_PILOT_FAILURES, _PILOT_MOST, _PILOT_GROUPS = 400, 4_096, 16
_SAFETY, _MOST_GROWTH, _LEAST_GROWTH = 1.03, 16.0, 1.1


@dataclass(frozen=True)
class Effort:
    """How much to simulate, and how.

    With `timelines` every cell gets that many (rounded up to groups of 16 with uncertain rates); otherwise each goes
    on until the standard error of its ettr is at most `precision` (default 0.001), in whole blocks of 64 timelines,
    between `min_timelines` and `max_timelines`. By default a single job gets at least 4,096, a cell of a grid a pilot
    that sees some 400 failures (64 to 4,096 timelines): 8,000 cells of 4,096 would simulate 33 million to no purpose.
    The first timeline is number `first_timeline`; `engine` is ``jax``, or ``reference`` (slow, readable).
    """

    timelines: int | None = None
    precision: float | None = None
    min_timelines: int | None = None
    max_timelines: int = 1_048_576
    seed: int = 0
    device: str = "auto"
    first_timeline: int = 0
    engine: Literal["jax", "reference"] = "jax"

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if self.timelines is not None and self.precision is not None:
            raise ScenarioError("timelines, precision: expected one of the two, found both; leave one out")
        if self.timelines is not None and not 1 <= self.timelines <= MAX_TIMELINE - self.first_timeline:
            raise ScenarioError(f"timelines: expected a whole number from 1 to 4294967295, found {self.timelines}")
        if self.precision is not None and not 0 < self.precision < 1:
            raise ScenarioError(f"precision: expected a standard error between 0 and 1, found {self.precision:g}")
        if self.first_timeline % N_LANES:
            raise ScenarioError(f"first_timeline: expected a multiple of {N_LANES}, found {self.first_timeline}")
        if not 0 <= self.seed < 2**64:
            raise ScenarioError(f"seed: expected a whole number from 0 to 2^64 - 1, found {self.seed}")


@dataclass(frozen=True)
class PairedBlocks:
    """Sums over blocks of 64 timelines, the same timelines in every cell: (cells, blocks) float64 seconds.

    With uncertain rates they are scaled so that their ratio is the mean over rate draws.
    """

    productive_s: Array
    elapsed_s: Array


def estimate(
    params: Params, effort: Effort, deadlines_s: Sequence[float] = (), progress: Progress | None = None
) -> Estimates:
    """Return estimates of every cell of `params`, whose array leaves broadcast to the grid.

    Parameters
    ----------
    params : Params
        One job or a grid of them.
    effort : Effort
        How much to simulate.
    deadlines_s : sequence of float
        Wall-clock times in seconds whose completion shares are wanted.
    progress : callable, optional
        Called from this thread with the fraction done, 0 to 1.
    """
    cells = cells_of(params)
    engine = _engine(cells, params, effort, effort.timelines or 0)
    scale = _scale(cells, params, tuple(deadlines_s))
    weight = _flat(cells, analytic.expected_events(params))
    hopeless = _flat(cells, events_by_kind(params).attempts) > most_attempts(params)
    order = np.argsort(weight, kind="stable")
    names = tuple(cause.name for cause in params.causes)
    result = Gathered(cells.n)
    for start in range(0, cells.n, _CHUNK_CELLS):
        chunk = order[start : start + _CHUNK_CELLS]
        report = _share(progress, start / cells.n, min(start + _CHUNK_CELLS, cells.n) / cells.n)
        part_scale = replace(scale, work_s=scale.work_s[chunk], horizon_s=scale.horizon_s[chunk])
        tally = Tally.empty(len(chunk), len(names), len(deadlines_s))
        foreseen = Foreseen(params, cells.shape, chunk)
        attempts = weight[chunk], hopeless[chunk]
        _run_chunk(engine, chunk, attempts, foreseen, tally, part_scale, effort, report)
        result.put(chunk, estimates_of(tally, names, part_scale, foreseen))
    assert result.whole is not None
    return result.whole


def paired_blocks(params: Params, effort: Effort, progress: Progress | None = None) -> PairedBlocks:
    """Return block sums of productive and elapsed time for `effort.timelines` timelines of every cell."""
    if effort.timelines is None:
        raise ScenarioError("timelines: expected a number for paired comparisons, found none")
    cells = cells_of(params)
    engine = _engine(cells, params, effort)
    n_blocks = -(-effort.timelines // N_LANES)
    productive_s, elapsed_s = np.zeros((cells.n, n_blocks)), np.zeros((cells.n, n_blocks))
    none, all_ = np.zeros(cells.n, np.int64), np.full(cells.n, effort.timelines)
    work = _Work(np.arange(cells.n), none, all_, effort.first_timeline, engine.block)
    for blocks, batch in _in_order(engine, work, progress):
        column = (blocks.first_timeline - effort.first_timeline) // N_LANES
        productive_s[blocks.cell, column] = batch.mean_numerator[:, 0] * batch.n_units
        elapsed_s[blocks.cell, column] = batch.mean_denominator[:, 0] * batch.n_units
    return PairedBlocks(productive_s, elapsed_s)


class _Engine(Protocol):
    """What runs blocks of timelines."""

    block: int
    """Timelines of a block."""
    blocks_a_call: int
    n_workers: int

    def run(self, blocks: Blocks) -> Batch:
        """Return the statistics of at most `blocks_a_call` blocks."""


def _engine(cells: Cells, params: Params, effort: Effort, n_timelines: int = 0) -> _Engine:
    if effort.engine == "reference":
        from mcettr.engine.reference_engine import ReferenceEngine

        return ReferenceEngine(cells, effort.seed, _cap(params))
    return JaxEngine(cells, effort.seed, resolve(effort.device), _cap(params), n_timelines)


def _cap(params: Params) -> int:
    """Return the event cap: some 100,000 attempts, or enough to reach a horizon the user set, up to 1,000,000."""
    expected, most = np.asarray(events_by_kind(params).attempts), most_attempts(params)
    if np.all(expected > _HOPELESS * most):
        return _whole_legs(_HOPELESS_CAP)
    likely = float(np.max(expected, where=expected <= most, initial=0.0))
    return _whole_legs(min(max(MOST_WITHOUT_HORIZON, 1_000 + _CAP_ROOM * likely), most))


def _whole_legs(n_attempts: float) -> int:
    """Return a cap at which the plain loop can stop: one more than a multiple of its legs."""
    return int(-(-int(n_attempts) // LEG) * LEG + 1)


def _scale(cells: Cells, params: Params, deadlines_s: tuple[float, ...]) -> Scale:
    silent = any(cause.kind == "silent" for cause in params.causes)
    return Scale(_flat(cells, params.work_s), _flat(cells, params.horizon_s), deadlines_s, cells.uncertain, silent)


def _flat(cells: Cells, number: object) -> Array:
    return np.broadcast_to(np.asarray(number, dtype=np.float64), cells.shape).ravel()


def _run_chunk(
    engine: _Engine,
    chunk: NDArray[np.int64],
    attempts: tuple[Array, NDArray[np.bool_]],
    foreseen: Foreseen,
    tally: Tally,
    scale: Scale,
    effort: Effort,
    progress: Progress | None,
) -> None:
    """Add timelines to the tally until every cell of the chunk has enough, or all of its timelines were capped.

    `attempts` are the events of a timeline in each cell, and whether they are beyond the cap: such a cell begins with
    one block. All cells stop with the call after which they have all been capped, for the rest could only be the same.
    """
    weight, hopeless = attempts
    have = np.zeros(len(chunk), np.int64)
    goal = _first_round(weight, len(chunk), effort, scale.grouped)
    want = np.where(hopeless, np.minimum(goal, engine.block), goal)
    expected, done_work = want, 0.0
    while (want > have).any():
        cells = np.flatnonzero(want > have)
        row_of = np.full(int(chunk.max()) + 1, -1)
        row_of[chunk] = np.arange(len(chunk))
        target = np.maximum(want, expected)
        all_work = max(float(((target - have) * (1.0 + weight)).sum()) + done_work, 1.0)
        work = _Work(chunk[cells], have[cells], want[cells], effort.first_timeline, engine.block)
        for blocks, batch in _in_order(engine, work, None):
            row = row_of[blocks.cell]
            add_batch(tally, batch, row, blocks.n_valid, scale)
            done_work += float((blocks.n_valid * (1.0 + weight[row])).sum())
            if progress is not None:
                progress(min(done_work / all_work, 1.0))
            if _all_capped(tally).all():
                return
        have = want
        expected = _next_round(tally, foreseen, have, effort)
        want = np.where(_all_capped(tally), have, np.maximum(goal, expected))


def _all_capped(tally: Tally) -> NDArray[np.bool_]:
    """Return which cells have timelines, all of them stopped at the cap."""
    capped: NDArray[np.bool_] = tally.outcomes[:, Outcome.CAPPED] == tally.n_timelines
    return capped & (tally.n_timelines > 0)


def _first_round(weight: Array, n_cells: int, effort: Effort, grouped: bool) -> NDArray[np.int64]:
    """Return the timelines to begin with: all, or a pilot that sees enough failures to judge the error by."""
    if effort.timelines is not None:
        unit = RATE_GROUP if grouped else 1
        return np.full(n_cells, -(-effort.timelines // unit) * unit, np.int64)
    least = effort.min_timelines
    if least is None:
        least = _PILOT_MOST if n_cells == 1 else N_LANES
    pilot = np.clip(_PILOT_FAILURES / np.maximum(weight, 1e-9), max(least, N_LANES), max(least, _PILOT_MOST))
    if grouped:
        pilot = np.maximum(pilot, _PILOT_GROUPS * RATE_GROUP)
    return np.minimum(_whole_blocks(pilot), effort.max_timelines)


def _next_round(tally: Tally, foreseen: Foreseen, have: NDArray[np.int64], effort: Effort) -> NDArray[np.int64]:
    """Return the timelines that every cell needs as far as can be told from those it has."""
    if effort.timelines is not None or not have.any():
        return have
    precision = DEFAULT_PRECISION if effort.precision is None else effort.precision
    error = ettr_error(tally, foreseen)
    excess = np.nan_to_num(error / precision, nan=1.0)
    growth = np.where(excess > 1.0, np.clip(np.square(excess) * _SAFETY, _LEAST_GROWTH, _MOST_GROWTH), 1.0)
    return np.where(growth > 1.0, np.minimum(_whole_blocks(have * growth), effort.max_timelines), have)


def _whole_blocks(n: NDArray[Any]) -> NDArray[np.int64]:
    return (np.ceil(n / N_LANES) * N_LANES).astype(np.int64)


@dataclass(frozen=True)
class _Work:
    """Blocks of timelines, cell by cell, cut out when they are due: a grid may have 10^9 of them."""

    cells: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    """Each cell goes from timeline `begin` up to `end`."""
    first_timeline: int
    block: int

    def in_parts(self, n_blocks: int) -> Iterator[tuple[float, Blocks]]:
        """Yield the blocks, at most `n_blocks` at a time, each part with the share of the work before it."""
        count = -(-(self.end - self.begin) // self.block)
        last = np.cumsum(count)
        total = int(last[-1]) if len(last) else 0
        for start in range(0, total, n_blocks):
            block = np.arange(start, min(start + n_blocks, total))
            which = np.searchsorted(last, block, side="right")
            first = self.begin[which] + (block - (last - count)[which]) * self.block
            n_valid = np.minimum(self.end[which] - first, self.block)
            yield start / total, Blocks(self.cells[which], first + self.first_timeline, n_valid)


def _in_order(engine: _Engine, work: _Work, progress: Progress | None) -> Iterator[tuple[Blocks, Batch]]:
    """Yield the work call by call, in order whatever the number of threads, with few results waiting.

    Who is interrupted, as by Ctrl-C, does not wait for calls under way.
    """
    waiting: deque[tuple[Blocks, Future[Batch]]] = deque()
    pool = ThreadPoolExecutor(engine.n_workers)
    try:
        for share, part in work.in_parts(engine.blocks_a_call):
            waiting.append((part, pool.submit(engine.run, part)))
            if len(waiting) > 2 * engine.n_workers:
                yield _pop(waiting)
            if progress is not None:
                progress(share)
        while waiting:
            yield _pop(waiting)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pop(waiting: deque[tuple[Blocks, Future[Batch]]]) -> tuple[Blocks, Batch]:
    blocks, future = waiting.popleft()
    return blocks, future.result()


def _share(progress: Progress | None, start: float, end: float) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction: progress(start + fraction * (end - start))
