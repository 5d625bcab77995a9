"""Uncertain rates: one draw of each for every group of 16 timelines, by inverse CDF.

A rate's factor is the product of its cause's own one and of one that all causes share.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.engine.cells import Cells
from mcettr.kernels.streams import RATE_GROUP, SHARED_RATE, draw, rate_purpose, seed_key
from mcettr.model.params import Params


def factors(
    shapes: NDArray[np.float64],
    seed: int,
    timelines: NDArray[np.int64],
    shared_shape: NDArray[np.float64] | float = np.inf,
) -> NDArray[np.float64]:
    """Return what multiplies the mean rates: gamma with mean 1, the same within a group of timelines.

    Parameters
    ----------
    shapes : ndarray
        Gamma shapes, causes in the last dimension; inf gives 1. Leading dimensions broadcast against `timelines`.
    seed : int
        From 0 to 2^64 - 1.
    timelines : ndarray
        Timeline numbers.
    shared_shape : ndarray or float
        Gamma shape of the factor that all causes share; broadcasts against `timelines`.

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

    def factor(shape: NDArray[np.float64], purpose: int) -> NDArray[np.float64]:
        u = draw(key, group, purpose, np.zeros(1, np.uint32)).astype(np.float64)
        known = np.where(np.isfinite(shape), shape, 1.0)
        return np.where(np.isfinite(shape), special.gammaincinv(known, u) / known, 1.0)

    shared = factor(np.asarray(shared_shape), SHARED_RATE)
    known = np.ones(np.broadcast_shapes(shapes.shape[:-1], group.shape))
    own = [
        factor(shapes[..., cause], rate_purpose(cause)) if np.isfinite(shapes[..., cause]).any() else known
        for cause in range(shapes.shape[-1])
    ]
    if not own:
        return np.ones((*shared.shape, 0))
    return np.stack(np.broadcast_arrays(*own), axis=-1) * shared[..., None]


def rate_factors(params: Params, seed: int, first_timeline: int, n: int) -> NDArray[np.float64]:
    """Return the factors of `n` timelines of one job from `first_timeline` on, (n, causes)."""
    shapes = np.array([float(np.asarray(cause.rate_shape).item()) for cause in params.causes])
    timelines = np.arange(first_timeline, first_timeline + n)
    return factors(shapes, seed, timelines, float(np.asarray(params.rate_shape).item()))


def cell_factors(
    cells: Cells, which: NDArray[np.int64], seed: int, timelines: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the factors of timelines (len(which), n) of the cells numbered `which`, (len(which), n, causes)."""
    shapes, shared = cells.take_rate_shapes(which), cells.take_shared_rate_shape(which)
    return factors(shapes[:, None, :], seed, timelines, shared[:, None])
