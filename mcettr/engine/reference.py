"""The reference engine: one timeline, step by step and save by save, in the order in which things happen.

It is the specification that the fast engine is held to: slow, in float64, and short enough to read. Time goes on to
whatever comes first, of the steps of training and of each mechanism that can interrupt it; `mcettr.engine.timeline` has
a file for each. It takes the same draws as the fast engine, so both see the same failures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mcettr.engine.draws import Draws
from mcettr.engine.rates import rate_factors
from mcettr.engine.timeline.life import Life
from mcettr.engine.timeline.ready import ready
from mcettr.kernels import streams
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.params import Params


@dataclass(frozen=True)
class Timeline:
    """What happened in one life of the job.

    Parameters
    ----------
    outcome : Outcome
        How it ended.
    elapsed_s : float
        Wall-clock length.
    productive_s : float
        Work that was durable at the end.
    lost_s : ndarray, shape (causes + 4, activities)
        All other time, by what is to blame (`mcettr.model.budget.cause_rows`) and by activity.
    interruptions : tuple of int
        Failures of each cause.
    n_saves : int
        Main and graceful saves that became durable.
    n_swaps, n_exhausted : int
        Times that the job needed nodes from the spares, and those of them at which there were too few.
    nodes_out : float
        Nodes in repair at one uniformly random instant.
    nodes_out_most : float
        Most nodes in repair at any time.
    longest_stretch_s : float
        Longest time without a newly durable main or graceful save.
    corrupt_s : float
        Work that was durable at the end, and computed after a silent corruption that was not found.
    """

    outcome: Outcome
    elapsed_s: float
    productive_s: float
    lost_s: NDArray[np.float64]
    interruptions: tuple[int, ...]
    n_saves: int
    n_swaps: int
    n_exhausted: int
    nodes_out: float
    nodes_out_most: float
    longest_stretch_s: float
    corrupt_s: float

    @property
    def activity_s(self) -> dict[str, float]:
        """Return the seconds of each activity."""
        seconds = dict(zip(ACTIVITIES, self.lost_s.sum(axis=0).tolist(), strict=True))
        return seconds | {"productive": self.productive_s}


@dataclass(frozen=True)
class Timelines:
    """The fields of `Timeline` for n of them, as arrays whose first dimension is the timeline."""

    outcome: NDArray[np.int8]
    elapsed_s: NDArray[np.float64]
    productive_s: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    interruptions: NDArray[np.int64]
    n_saves: NDArray[np.int64]
    n_swaps: NDArray[np.int64]
    n_exhausted: NDArray[np.int64]
    nodes_out: NDArray[np.float64]
    nodes_out_most: NDArray[np.float64]
    longest_stretch_s: NDArray[np.float64]
    corrupt_s: NDArray[np.float64]


def simulate_timelines(
    params: Params,
    seed: int,
    first_timeline: int,
    n: int,
    *,
    factors: NDArray[np.float64] | None = None,
    max_failures: int = streams.MAX_COUNT,
) -> Timelines:
    """Return `n` timelines from number `first_timeline` on.

    Parameters
    ----------
    params : Params
        One job; its numbers are floats or arrays of one element, its laws may be passed through `tabulate` or not.
    seed : int
        From 0 to 2^64 - 1.
    first_timeline, n : int
        Which timelines.
    factors : ndarray, shape (n, causes), optional
        What multiplies the causes' rates in each timeline; by default drawn as the causes' `rate_shape` says.
    max_failures : int
        A timeline is stopped at this failure (or other reason to start anew).

    Examples
    --------
    >>> from mcettr.model.params import Cause, Checkpoint
    >>> job = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0), (Cause("node", 1e-4),))
    >>> simulate_timelines(job, seed=0, first_timeline=0, n=3).n_saves
    array([100, 100, 100])
    """
    if factors is None:
        factors = rate_factors(params, seed, first_timeline, n)
    job = ready(params)
    lives = [_simulate(job, seed, first_timeline + index, factors[index].tolist(), max_failures) for index in range(n)]
    return Timelines(
        outcome=np.array([life.outcome for life in lives], np.int8),
        elapsed_s=np.array([life.elapsed_s for life in lives], np.float64),
        productive_s=np.array([life.productive_s for life in lives], np.float64),
        lost_s=np.array([life.lost_s for life in lives], np.float64).reshape(n, len(job.causes) + 4, len(ACTIVITIES)),
        interruptions=np.array([life.interruptions for life in lives], np.int64).reshape(n, len(job.causes)),
        n_saves=np.array([life.n_saves for life in lives], np.int64),
        n_swaps=np.array([life.n_swaps for life in lives], np.int64),
        n_exhausted=np.array([life.n_exhausted for life in lives], np.int64),
        nodes_out=np.array([life.nodes_out for life in lives], np.float64),
        nodes_out_most=np.array([life.nodes_out_most for life in lives], np.float64),
        longest_stretch_s=np.array([life.longest_stretch_s for life in lives], np.float64),
        corrupt_s=np.array([life.corrupt_s for life in lives], np.float64),
    )


def simulate_timeline(params: Params, seed: int, timeline: int, *, max_failures: int = streams.MAX_COUNT) -> Timeline:
    """Return timeline number `timeline`; parameters as in `simulate_timelines`.

    >>> from mcettr.model.params import Cause, Checkpoint
    >>> job = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0), (Cause("node", 1e-4),))
    >>> life = simulate_timeline(job, seed=0, timeline=0)
    >>> life.outcome.name, life.n_saves, round(life.activity_s["productive"], 6)
    ('DONE', 100, 100000.0)
    """
    factors = rate_factors(params, seed, timeline, 1)[0].tolist()
    return _simulate(ready(params), seed, timeline, factors, max_failures)


def _simulate(job: Params, seed: int, timeline: int, factors: list[float], max_failures: int) -> Timeline:
    life = Life(job, Draws(seed, timeline), factors, max_failures)
    outcome, books, nodes = life.run(), life.books, life.nodes
    return Timeline(
        outcome,
        life.now_s,
        life.saves.newest_s,
        np.array([list(row.values()) for row in books.lost_s]),
        tuple(books.interruptions),
        books.n_saves,
        nodes.n_swaps,
        nodes.n_exhausted,
        nodes.sample,
        nodes.most,
        books.longest_stretch_s,
        life.corrupt_s,
    )
