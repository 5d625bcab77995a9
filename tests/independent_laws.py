"""Sampling for the second simulator: by NumPy's generators rather than by inverse distribution functions."""

from __future__ import annotations

import bisect
import math

import numpy as np
from numpy.typing import NDArray

from mcettr.model.counts import Counts
from mcettr.model.distributions import Distribution
from mcettr.model.params import Cause, Params


def draw_duration(law: Distribution, rng: np.random.Generator) -> float:
    """Return one duration in seconds.

    >>> draw_duration(Distribution("fixed", (5.0,)), np.random.default_rng(0))
    5.0
    """
    values = [float(value) for value in law.values]
    match law.kind, values:
        case "fixed", [value]:
            return value
        case "exponential", [mean]:
            return rng.exponential(mean)
        case "lognormal", [median, sigma]:
            return rng.lognormal(math.log(median), sigma)
        case "gamma", [mean, cv]:
            return rng.gamma(1 / cv**2, mean * cv**2)
        case "weibull", [scale, shape]:
            return scale * rng.weibull(shape)
        case "uniform", [low, high]:
            return rng.uniform(low, high)
        case "quantiles", _:
            return math.exp(_extended_line(rng.standard_normal(), *np.split(np.array(values), 2)))
        case "mixture", _:
            return draw_duration(law.components[rng.choice(len(values), p=values)], rng)
    raise ValueError(f"the independent simulator knows no {law.kind} law")


def _extended_line(x: float, knots: NDArray[np.float64], heights: NDArray[np.float64]) -> float:
    """Return the broken line through the knots at `x`; its first and last pieces go on beyond them."""
    piece = int(np.searchsorted(knots[1:-1], x))
    share = (x - knots[piece]) / (knots[piece + 1] - knots[piece])
    return float(heights[piece] * (1 - share) + heights[piece + 1] * share)


def draw_count(law: Counts | None, rng: np.random.Generator) -> int:
    """Return one count; 0 without a law.

    >>> draw_count(Counts((3.0,), (1.0,)), np.random.default_rng(0))
    3
    """
    if law is None:
        return 0
    return int(law.values[bisect.bisect(law.cumulative[:-1], rng.random())])


def draw_detection(params: Params, cause: Cause, rng: np.random.Generator) -> float:
    """Return the seconds until `cause` is known: by itself, or by the first periodic check that finds it."""
    itself_s = draw_duration(cause.detection, rng)
    if params.check_every_s is None or not cause.caught_in_check:
        return itself_s
    period_s, n_until_found = float(params.check_every_s), int(rng.geometric(float(cause.caught_in_check)))
    return min(itself_s, period_s * (rng.random() + n_until_found - 1))


def happens(probability: float, rng: np.random.Generator) -> bool:
    """Return whether something with that chance happens."""
    return bool(rng.random() < probability)
