"""Solvers that the exact values of the tests share: races against failures, and counts of marked transitions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """A fixed time at risk that ends in the next stage, unless a failure comes first.

    Parameters
    ----------
    length_s : float
        How long it lasts.
    then : hashable or None
        The stage after it; None is the end.
    failures : tuple of (float, float, hashable)
        Rate per second, failure-free time after it, and the stage that it leads to.
    """

    length_s: float
    then: Hashable | None
    failures: tuple[tuple[float, float, Hashable], ...]


def mean_time_s(stages: Mapping[Hashable, Stage], start: Hashable) -> float:
    """Return the mean time from the beginning of stage `start` to the end: a linear equation a stage.

    >>> once = Stage(5.0, None, ((1.0, 0.0, "again"),))
    >>> round(mean_time_s({"again": once}, "again"), 1)
    147.4
    """
    names = list(stages)
    matrix, known = np.eye(len(names)), np.zeros(len(names))
    for row, stage in enumerate(stages.values()):
        rate = sum(each for each, _, _ in stage.failures)
        survives = math.exp(-rate * stage.length_s)
        known[row] = (1.0 - survives) / rate if rate else stage.length_s
        if stage.then is not None:
            matrix[row, names.index(stage.then)] -= survives
        for each, down_s, target in stage.failures:
            chance = (1.0 - survives) * each / rate if rate else 0.0
            known[row] += chance * down_s
            matrix[row, names.index(target)] -= chance
    return float(np.linalg.solve(matrix, known)[names.index(start)])


def count_moments(silent: ArrayLike, marked: ArrayLike, start: ArrayLike, t_s: float) -> tuple[float, float]:
    """Return mean and variance of the number of marked transitions of a Markov chain by the time `t_s`.

    The generating function is start exp((D0 + z D1) t) 1; its first two derivatives at z = 1 are the blocks beside the
    diagonal of the exponential of a block triangular matrix (Van Loan 1978).

    Parameters
    ----------
    silent, marked : array_like, shape (state, state)
        Rates per second of the transitions that do not count (the diagonal is ignored), and of those that do (a
        marked one may stay in its state).
    start : array_like, shape (state,)
        Probabilities at 0.
    t_s : float
        Time in seconds.

    >>> mean, variance = count_moments([[0.0]], [[0.5]], [1.0], 10.0)
    >>> round(mean, 9), round(variance, 9)
    (5.0, 5.0)
    """
    quiet, counted = np.array(silent, dtype=np.float64), np.array(marked, dtype=np.float64)
    np.fill_diagonal(quiet, 0.0)
    whole = quiet + counted - np.diag((quiet + counted).sum(axis=1))
    n, zero = len(whole), np.zeros_like(whole)
    block = expm(t_s * np.block([[whole, counted, zero], [zero, whole, counted], [zero, zero, whole]]))
    p = np.array(start, dtype=np.float64)
    mean = float((p @ block[:n, n : 2 * n]).sum())
    pairs = 2.0 * float((p @ block[:n, 2 * n :]).sum())
    return mean, pairs + mean - mean**2


def average_law(generator: ArrayLike, start: ArrayLike, t_s: float) -> Floats:
    """Return the law of a Markov chain at a uniformly random instant of [0, t].

    >>> average_law([[-1.0, 1.0], [0.0, 0.0]], [1.0, 0.0], 1.0).round(4)
    array([0.6321, 0.3679])
    """
    q = np.array(generator, dtype=np.float64)
    zero = np.zeros_like(q)
    block = expm(t_s * np.block([[q, np.eye(len(q))], [zero, zero]]))
    return np.asarray(start, dtype=np.float64) @ block[: len(q), len(q) :] / t_s
