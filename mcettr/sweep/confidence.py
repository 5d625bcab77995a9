"""Rates as bad as with some probability they are: what a search looks at to meet its target with that confidence.

What a job loses to failures is, to first order, a sum over the causes of rate times cost. The rates that matter for a
confidence of 0.9 are then those whose sum is the 0.9 quantile over their posterior; where several are uncertain, their
means given that sum. With one uncertain factor (one cause, or one factor that all rates share) this is exact, as more
failures are worse in the mean: the target is met with probability 0.9 if it is met at the 0.9 quantile of the factor.
With several, what is lost is of second order: how much the metric still varies between rates of one and the same sum.

Simulation at known rates then answers, so that no run-to-run noise is mistaken for uncertainty: the spread between
groups of 16 timelines that share a draw would hold both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.errors import ScenarioError
from mcettr.model.params import Params
from mcettr.sweep.interval import uncertain
from mcettr.sweep.target import Target

Array = NDArray[np.float64]
_DRAWS = 8192
_BAND = 0.01
"""Share of the draws, around the quantile, that stand for it."""
_BUMP = 1.01


def check_confidence(confidence: float | None, params: Params) -> None:
    """Refuse a confidence out of range, or for rates that are known.

    Raises
    ------
    ScenarioError
        It has no meaning.
    """
    if confidence is None:
        return
    if not isinstance(confidence, (int, float)) or not 0.0 < confidence < 1.0:
        raise ScenarioError(f"confidence: expected a probability inside (0, 1), found {confidence}; write one like 0.9")
    if not uncertain(params):
        raise ScenarioError(
            "confidence: expected uncertain rates, found all of them known; give a count with its exposure, or an "
            "uncertainty, or leave it out"
        )


def at_confidence(params: Params, confidence: float) -> Params:
    """Return the jobs at known rates that are worse than the uncertain ones with probability `confidence`.

    Parameters
    ----------
    params : Params
        Jobs with uncertain rates.
    confidence : float
        Inside (0, 1).

    >>> from mcettr.model.params import Cause, Checkpoint
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (Cause("node", 1e-4, rate_shape=4.0),))
    >>> round(float(at_confidence(job, 0.9).causes[0].rate_per_s / 1e-4), 2)
    1.67
    """
    shape = np.broadcast_shapes(*(np.shape(c.rate_per_s) for c in params.causes))
    means = np.stack([_flat(cause.rate_per_s, shape) for cause in params.causes])
    costs = _costs(params, shape)
    factors = _factors(params, shape)
    scaled = np.empty_like(means)
    for cell in range(means.shape[1]):
        weights = means[:, cell] * costs[:, cell]
        drawn = np.stack([values[min(cell, len(values) - 1)] for values in factors])
        scaled[:, cell] = means[:, cell] * _typical(drawn, weights, confidence)
    causes = tuple(
        replace(cause, rate_per_s=rates.reshape(shape)[()], rate_shape=np.inf)
        for cause, rates in zip(params.causes, scaled, strict=True)
    )
    return replace(params, causes=causes, rate_shape=np.inf)


def _typical(drawn: Array, weights: Array, confidence: float) -> Array:
    """Return the mean factors (causes,) of the draws (causes, n) whose weighted sum is near its quantile."""
    sums = weights @ drawn
    if not sums.any():
        return np.ones(len(drawn))
    order, n = np.argsort(sums), sums.size
    middle, half = confidence * n, 0.5 * _BAND * n * min(1.0, 2.0 * confidence, 2.0 * (1.0 - confidence))
    near = order[max(int(middle - half), 0) : max(int(middle + half), int(middle - half) + 1)]
    mean = drawn[:, near].mean(axis=1)
    return np.asarray(mean * np.quantile(sums, confidence) / (weights @ mean))


def _factors(params: Params, shape: tuple[int, ...]) -> list[Array]:
    """Return draws of what multiplies each cause's rate, each (1 or cells, draws): one row where all cells share it."""
    posteriors = [params.rate_shape, *(cause.rate_shape for cause in params.causes)]
    rng, levels = np.random.default_rng(0), (np.arange(_DRAWS) + 0.5) / _DRAWS  # a Latin hypercube
    shared, *own = (_gamma(_flat(k, shape), rng.permutation(levels)) for k in posteriors)
    return [values * shared for values in own]


def _gamma(shapes: Array, u: Array) -> Array:
    """Return gamma factors of mean 1, (1 or cells, draws)."""
    k = (shapes[:1] if (shapes == shapes[0]).all() else shapes)[:, None]
    known = np.where(np.isfinite(k), k, 1.0)
    return np.where(np.isfinite(k), special.gammaincinv(known, u) / known, 1.0)


def _costs(params: Params, shape: tuple[int, ...]) -> Array:
    """Return what a failure of each cause costs, (causes, cells), up to a factor: from closed forms, at mean rates."""
    foreseen = Target(0.5).foreseen

    def with_rate(index: int) -> Params:
        causes = list(params.causes)
        causes[index] = replace(causes[index], rate_per_s=causes[index].rate_per_s * _BUMP)
        return replace(params, causes=tuple(causes))

    base = foreseen(params)
    falls = np.stack([_flat(base - foreseen(with_rate(i)), shape) for i in range(len(params.causes))])
    rates = np.stack([_flat(cause.rate_per_s, shape) for cause in params.causes])
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = np.where(rates > 0, falls / rates, 0.0)
    known = np.isfinite(costs).all(axis=0) & (costs > 0).any(axis=0)
    return np.where(known, np.maximum(costs, 0.0), 1.0)


def _flat(value: Any, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), shape).reshape(-1)
