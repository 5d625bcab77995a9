"""Uncertain rates: one draw of each cause's rate for every group of 16 timelines, by inverse CDF."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.kernels.streams import RATE_GROUP, draw, rate_purpose, seed_key
from mcettr.model.params import Params


def factors(shapes: NDArray[np.float64], seed: int, timelines: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what multiplies the mean rates: gamma with mean 1, the same within a group of timelines.

    Parameters
    ----------
    shapes : ndarray
        Gamma shapes, causes in the last dimension; inf gives 1. Leading dimensions broadcast against `timelines`.
    seed : int
        From 0 to 2^64 - 1.
    timelines : ndarray
        Timeline numbers.

    Returns
    -------
    ndarray
        float64; the broadcast shape, causes last.

    Examples
    --------
    >>> factors(np.array([np.inf, 100.0]), 0, np.array([0, 15, 16])).round(3)
    array([[1.   , 0.923],
           [1.   , 0.923],
           [1.   , 1.11 ]])
    """
    key = seed_key(seed)
    group = (timelines // RATE_GROUP).astype(np.uint32)
    zero = np.zeros(1, np.uint32)
    columns = []
    for cause in range(shapes.shape[-1]):
        shape = shapes[..., cause]
        u = draw(key, group, rate_purpose(cause), zero).astype(np.float64)
        known = np.where(np.isfinite(shape), shape, 1.0)
        columns.append(np.where(np.isfinite(shape), special.gammaincinv(known, u) / known, 1.0))
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def rate_factors(params: Params, seed: int, first_timeline: int, n: int) -> NDArray[np.float64]:
    """Return the factors of `n` timelines of one job from `first_timeline` on, (n, causes)."""
    if not params.causes:
        return np.ones((n, 0))
    shapes = np.array([float(cause.rate_shape) for cause in params.causes])
    return factors(shapes, seed, np.arange(first_timeline, first_timeline + n))
