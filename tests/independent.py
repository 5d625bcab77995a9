"""A second simulator of the job, for tests only: SimPy processes that step node by node and save by save.

It follows the written model and shares no code with the engines, their random numbers or their sampling of
durations; clarity comes before speed (a few thousand events a timeline, so small jobs only). Its parts are the
modules `tests.independent_*`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mcettr.model.params import Params
from tests.independent_life import Life
from tests.independent_world import ACTIVITIES

__all__ = ["ACTIVITIES", "GROUP", "Timelines", "simulate"]

GROUP = 16
"""Timelines that share one draw of uncertain rates."""


@dataclass(frozen=True)
class Timelines:
    """What happened in each timeline.

    Parameters
    ----------
    elapsed_s : ndarray, shape (timeline,)
        Wall-clock length.
    finished : ndarray of bool, shape (timeline,)
        Whether all work was durable before the horizon.
    finish_s : ndarray, shape (timeline,)
        When it was; inf where it never was.
    activity_s : dict of str to ndarray, shape (timeline,)
        Seconds of each of `ACTIVITIES`; they sum to `elapsed_s`.
    interruptions : ndarray of int, shape (timeline, cause)
        Failures of each cause of the parameters, in their order.
    saves : ndarray of int, shape (timeline,)
        Main and graceful saves that became durable, the last one included.
    labels : tuple of str
        The causes of the parameters, then ``start``, ``checkpoint``, ``planned``, ``horizon``.
    by_cause_s : ndarray, shape (timeline, label, activity)
        The seconds of `activity_s` except the productive ones, by what they are blamed on.
    n_swaps, n_exhausted : ndarray of int, shape (timeline,)
        Recoveries that needed a node, and those of them that found too few spares.
    nodes_out : ndarray of int, shape (timeline,)
        Nodes in repair at one uniformly random instant.
    nodes_out_mean : ndarray, shape (timeline,)
        Their mean over time, which has the same expectation.
    nodes_out_most : ndarray of int, shape (timeline,)
        Most nodes in repair at any time.
    longest_stretch_s : ndarray, shape (timeline,)
        Longest wall-clock time in which no main or graceful save became durable.
    corrupt_s : ndarray, shape (timeline,)
        Durable work at the end from beyond a corruption that was not found.
    """

    elapsed_s: NDArray[np.float64]
    finished: NDArray[np.bool_]
    finish_s: NDArray[np.float64]
    activity_s: dict[str, NDArray[np.float64]]
    interruptions: NDArray[np.int64]
    saves: NDArray[np.int64]
    labels: tuple[str, ...]
    by_cause_s: NDArray[np.float64]
    n_swaps: NDArray[np.int64]
    n_exhausted: NDArray[np.int64]
    nodes_out: NDArray[np.int64]
    nodes_out_mean: NDArray[np.float64]
    nodes_out_most: NDArray[np.int64]
    longest_stretch_s: NDArray[np.float64]
    corrupt_s: NDArray[np.float64]


def simulate(params: Params, n_timelines: int, seed: int, n_nodes: int | None = None) -> Timelines:
    """Return `n_timelines` lives of the job of `params`, whose rates are split evenly over its nodes.

    Parameters
    ----------
    params : Params
        One job (scalars only).
    n_timelines : int
        How many lives.
    seed : int
        Seed of NumPy's own generator; not comparable with an engine's.
    n_nodes : int or None
        Nodes, each with a clock of its own for every cause that has a rate; None for those of `params`.

    Examples
    --------
    >>> from mcettr.model.params import Checkpoint
    >>> lives = simulate(Params(8, 100.0, 1e9, Checkpoint(40.0, 1.0, 1.0)), n_timelines=1, seed=0)
    >>> float(lives.elapsed_s[0]), int(lives.saves[0])
    (103.0, 3)
    """
    n = int(params.n_nodes) if n_nodes is None else n_nodes
    lives = [_live(params, timeline, seed, n) for timeline in range(n_timelines)]
    by_cause = np.array([life.world.booked_s for life in lives])
    seconds = dict(zip(ACTIVITIES, by_cause.sum(axis=1).T, strict=True))
    seconds["productive"] = np.array([life.store.newest_s for life in lives])
    elapsed = np.array([life.env.now for life in lives], dtype=np.float64)
    finished = np.array([life.finished for life in lives])
    instants = np.random.default_rng([seed, 2]).uniform(0.0, elapsed)
    return Timelines(
        elapsed_s=elapsed,
        finished=finished,
        finish_s=np.where(finished, elapsed, np.inf),
        activity_s=seconds,
        interruptions=np.array([life.world.interruptions for life in lives], dtype=np.int64),
        saves=np.array([life.world.n_saves for life in lives]),
        labels=(*(cause.name for cause in params.causes), "start", "checkpoint", "planned", "horizon"),
        by_cause_s=by_cause,
        n_swaps=np.array([life.pool.n_swaps for life in lives]),
        n_exhausted=np.array([life.pool.n_exhausted for life in lives]),
        nodes_out=np.array([life.pool.nodes_out(at_s) for life, at_s in zip(lives, instants, strict=True)]),
        nodes_out_mean=np.array([life.pool.nodes_out_mean(at_s) for life, at_s in zip(lives, elapsed, strict=True)]),
        nodes_out_most=np.array([life.pool.nodes_out_most for life in lives]),
        longest_stretch_s=np.array([life.world.longest_stretch_s for life in lives]),
        corrupt_s=np.maximum(0.0, seconds["productive"] - np.array([life.corruption.position_s for life in lives])),
    )


def _live(params: Params, timeline: int, seed: int, n_nodes: int) -> Life:
    group_rng = np.random.default_rng([seed, 0, timeline // GROUP])
    shapes = [float(params.rate_shape), *(float(cause.rate_shape) for cause in params.causes)]
    common, *own = [1.0 if math.isinf(shape) else group_rng.gamma(shape) / shape for shape in shapes]
    rng = np.random.default_rng([seed, 1, timeline])
    life = Life(params, [common * factor for factor in own], rng, n_nodes)
    life.env.run(until=life.process)
    return life
