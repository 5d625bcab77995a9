"""How many lemons each timeline begins with: a binomial count, drawn before the timelines run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.kernels.streams import LEMONS_AT_START, draw, seed_key
from mcettr.model.params import Params


def lemons_at_start(n_nodes: Any, fraction: Any, seed: int, timelines: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the lemons among the nodes of each timeline, in the shape of `timelines`.

    Parameters
    ----------
    n_nodes, fraction : float or ndarray
        Nodes of the job, and the share of lemons; they broadcast against `timelines`.
    seed : int
        From 0 to 2^64 - 1.
    timelines : ndarray
        Timeline numbers.

    >>> lemons_at_start(1000.0, 0.01, 0, np.array([0, 1, 2]))
    array([8., 7., 8.])
    """
    zero = np.zeros(1, np.uint32)
    u = draw(seed_key(seed), timelines.astype(np.uint32), LEMONS_AT_START, zero).astype(np.float64)
    jobs = np.stack(np.broadcast_arrays(np.asarray(n_nodes, np.float64), np.asarray(fraction, np.float64), u))
    result = np.zeros(u.shape)
    for n, p in np.unique(jobs[:2].reshape(2, -1), axis=1).T:
        mine = (jobs[0] == n) & (jobs[1] == p)
        reached = special.bdtr(np.arange(n + 1.0), int(n), p)
        result[mine] = np.minimum(np.searchsorted(reached, u[mine]), n)
    return result


def with_lemons(params: Params, seed: int, timelines: NDArray[np.int64]) -> Params:
    """Return the parameters with each timeline's lemons at its submission, (blocks, lanes), where there are any."""
    lemons = params.lemons
    if lemons is None:
        return params
    n_at_start = lemons_at_start(params.n_nodes, lemons.at_start, seed, timelines)
    return replace(params, lemons=replace(lemons, n_at_start=n_at_start, fraction_at_start=None))
