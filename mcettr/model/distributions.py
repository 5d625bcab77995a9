"""Duration laws: what they are, their means, and how one uniform becomes one duration.

A law is a tagged frozen record whose numbers may be scalars or arrays (one entry a sweep cell), so that the same
code serves one scenario and a surface. Sampling is by inverse CDF only: one uniform, one duration, monotone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import special

Kind = Literal["fixed", "exponential", "lognormal", "gamma", "weibull", "uniform", "quantiles", "mixture", "table"]
Number = Any
"""A float, or a float64 array with one entry a sweep cell."""

PARAMETERS: dict[str, tuple[str, ...]] = {
    "fixed": ("value_s",),
    "exponential": ("mean_s",),
    "lognormal": ("median_s", "sigma"),
    "gamma": ("mean_s", "cv"),
    "weibull": ("scale_s", "shape"),
    "uniform": ("low_s", "high_s"),
}

TABLE_LOW, TABLE_HIGH, TABLE_KNOTS = -6.5, 5.5, 1025
_TABLE_STEP = (TABLE_HIGH - TABLE_LOW) / (TABLE_KNOTS - 1)


@dataclass(frozen=True)
class Distribution:
    """A law of durations in seconds.

    Parameters
    ----------
    kind : str
        Which law; `PARAMETERS` names its numbers. ``quantiles`` holds the normal scores of its n knots and then the
        natural log of the seconds at them (2 n numbers). ``mixture`` holds the weights of its `components` (summing
        to 1). ``table`` is what `tabulate` makes of a gamma law: log-seconds on a fixed grid of normal scores.
    values : tuple of float or ndarray
        The numbers of the law; seconds, or none for shapes. ``fixed`` at inf means never.
    components : tuple of Distribution
        The parts of a mixture, otherwise empty.
    """

    kind: Kind
    values: tuple[Number, ...]
    components: tuple[Distribution, ...] = ()


def fixed(value_s: Number) -> Distribution:
    """Return the law that always gives `value_s` seconds.

    >>> float(mean(fixed(5.0)))
    5.0
    """
    return Distribution("fixed", (value_s,))


def is_fixed(law: Distribution) -> bool:
    """Return whether the law has no spread by construction."""
    return law.kind == "fixed"


def map_values(law: Distribution, change: Callable[[Number], Number]) -> Distribution:
    """Return the same law with `change` applied to every number of it and of its parts."""
    parts = tuple(map_values(part, change) for part in law.components)
    return replace(law, values=tuple(change(value) for value in law.values), components=parts)


def scaled(law: Distribution, factor: Number) -> Distribution:
    """Return the law of `factor` times the duration.

    >>> float(mean(scaled(Distribution("gamma", (10.0, 0.5)), 3.0)))
    30.0
    """
    kind, values = law.kind, law.values
    if kind == "mixture":
        return replace(law, components=tuple(scaled(part, factor) for part in law.components))
    if kind in ("quantiles", "table"):
        n_scores = len(values) // 2 if kind == "quantiles" else 0
        logs = tuple(value + np.log(factor) for value in values[n_scores:])
        return replace(law, values=values[:n_scores] + logs)
    n_times = 2 if kind == "uniform" else 1 if kind != "fixed" else len(values)
    return replace(law, values=tuple(v * factor for v in values[:n_times]) + values[n_times:])


def as_array(value: Number) -> Number:
    """Return the number as float64 scalar or array."""
    return np.asarray(value, dtype=np.float64)[()]


def mean(law: Distribution) -> Number:
    """Return the mean in seconds (float64; inf for never).

    ``quantiles`` is integrated in closed form piece by piece: on a piece log t = a + b z, and
    E[t; z1 < z < z2] = exp(a + b^2 / 2) (Phi(z2 - b) - Phi(z1 - b)).

    >>> round(float(mean(Distribution("lognormal", (222.0, 2.17)))))
    2338
    """
    return _moment(law, 1)


def least(law: Distribution) -> Number:
    """Return the shortest duration that the law gives, in seconds.

    >>> float(least(Distribution("uniform", (3.0, 12.0)))), float(least(Distribution("exponential", (60.0,))))
    (3.0, 0.0)
    """
    if law.kind in ("fixed", "uniform"):
        return np.asarray(law.values[0], dtype=np.float64)[()]
    if law.kind == "mixture":
        parts = zip(law.values, law.components, strict=True)
        lowest = [np.where(np.greater(weight, 0.0), least(part), np.inf) for weight, part in parts]
        return np.min(np.stack(np.broadcast_arrays(*lowest)), axis=0)[()]
    return np.float64(0.0)


def variance(law: Distribution) -> Number:
    """Return the variance in seconds squared (inf where the law has none, nan for never).

    >>> float(variance(Distribution("uniform", (0.0, 12.0))))
    12.0
    """
    return _moment(law, 2) - np.square(_moment(law, 1))


def exceedance(law: Distribution, t_s: Number) -> Number:
    """Return the probability that the duration is longer than `t_s` seconds.

    >>> float(exceedance(Distribution("uniform", (0.0, 10.0)), 7.5))
    0.25
    """
    kind, v = law.kind, [np.asarray(x, dtype=np.float64) for x in law.values]
    t = np.maximum(np.asarray(t_s, dtype=np.float64), 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if kind == "fixed":
            return np.where(v[0] > t, 1.0, 0.0)[()]
        if kind == "exponential":
            return np.where(v[0] > 0, np.exp(-t / v[0]), 0.0)[()]
        if kind == "weibull":
            return np.where(v[0] > 0, np.exp(-np.power(t / v[0], v[1])), 0.0)[()]
        if kind == "gamma":
            shape = 1.0 / np.maximum(np.square(v[1]), 1e-12)
            return special.gammaincc(shape, shape * t / v[0])[()]
        if kind == "uniform":
            return np.where(v[1] > v[0], np.clip((v[1] - t) / (v[1] - v[0]), 0.0, 1.0), v[0] > t)[()]
        if kind == "mixture":
            return sum(w * exceedance(part, t) for w, part in zip(v, law.components, strict=True))
        if kind == "lognormal":
            return _beyond(np.log(v[0]), v[1], np.log(t), -np.inf, np.inf)[()]
        if kind == "quantiles":
            return sum(_beyond(intercept, slope, np.log(t), *ends) for intercept, slope, *ends in _pieces(v))
    raise ValueError(f"no probabilities for a {kind} law; take them before tabulate()")


def _beyond(intercept: Any, slope: Any, log_t: Any, low: Any, high: Any) -> Any:
    """Return the chance that the normal score lies between `low` and `high`, and the line above `log_t` there."""
    level = np.where(log_t < intercept, -np.inf, np.inf)
    crossing = np.where(slope > 0, (log_t - intercept) / np.where(slope > 0, slope, 1.0), level)
    return special.ndtr(-np.clip(crossing, low, high)) - special.ndtr(-high)


def _moment(law: Distribution, order: int) -> Number:
    kind, v, k = law.kind, [np.asarray(x, dtype=np.float64) for x in law.values], order
    if kind == "fixed":
        return v[0] ** k
    if kind == "exponential":
        return special.gamma(k + 1.0) * v[0] ** k
    if kind == "lognormal":
        return v[0] ** k * np.exp(0.5 * (k * v[1]) ** 2)
    if kind == "gamma":
        return v[0] ** k * (1.0 if k == 1 else 1.0 + v[1] ** 2)
    if kind == "weibull":
        return v[0] ** k * special.gamma(1.0 + k / v[1])
    if kind == "uniform":
        low, high = v
        return 0.5 * (low + high) if k == 1 else (low * low + low * high + high * high) / 3.0
    if kind == "mixture":
        return sum(w * _moment(part, k) for w, part in zip(v, law.components, strict=True))
    if kind == "quantiles":
        return sum(_piece_moment(*piece, k) for piece in _pieces(v))
    raise ValueError(f"no moments for a {kind} law; take them before tabulate()")


def _pieces(v: list[Any]) -> list[tuple[Any, Any, Any, Any]]:
    """Return (intercept, slope, z_low, z_high) of each straight piece of log t against the normal score z."""
    n = len(v) // 2
    z, log_t = v[:n], v[n:]
    slopes = [(log_t[i + 1] - log_t[i]) / (z[i + 1] - z[i]) for i in range(n - 1)]
    pieces = []
    for i, slope in enumerate(slopes):
        low = -np.inf if i == 0 else z[i]
        high = np.inf if i == n - 2 else z[i + 1]
        pieces.append((log_t[i] - slope * z[i], slope, low, high))
    return pieces


def _piece_moment(intercept: Any, slope: Any, low: Any, high: Any, k: int) -> Any:
    weight = special.ndtr(high - k * slope) - special.ndtr(low - k * slope)
    return np.exp(k * intercept + 0.5 * (k * slope) ** 2) * weight


def tabulate(law: Distribution) -> Distribution:
    """Return an equivalent law that `sample` can draw from with elementary functions.

    A gamma law becomes its quantile function on 1,025 normal scores, linear in log time between them (relative
    error of the mean below 1e-5 for cv up to 2). The table of an array of laws gets a trailing axis of knots.
    """
    if law.kind == "mixture":
        return replace(law, components=tuple(tabulate(part) for part in law.components))
    if law.kind != "gamma":
        return law
    mean_s, cv = (np.asarray(v, dtype=np.float64)[..., None] for v in law.values)
    shape = 1.0 / np.square(cv)
    z = np.linspace(TABLE_LOW, TABLE_HIGH, TABLE_KNOTS)
    upper = special.gammainccinv(shape, special.ndtr(-z))
    quantile = np.where(z > 0, upper, special.gammaincinv(shape, special.ndtr(z)))
    log_t = np.log(np.maximum(quantile / shape, 1e-300)) + np.log(mean_s)
    return Distribution("table", (log_t,))


def sample(law: Distribution, u: Any, xp: Any = np, ndtri: Any = special.ndtri) -> Any:
    """Return the duration in seconds at probability `u`, by the inverse of the law's distribution function.

    Parameters
    ----------
    law : Distribution
        A law passed through `tabulate`; array values must broadcast against `u`.
    u : float or ndarray
        Uniforms strictly inside (0, 1); the result has their shape and dtype.
    xp, ndtri
        Array namespace and its inverse normal distribution function (NumPy, or JAX's).
    """
    if law.kind == "mixture":
        return _sample_mixture(law, u, xp, ndtri)
    return from_coefficients(law.kind, coefficients(law), u, xp, ndtri)


def coefficients(law: Distribution) -> tuple[Any, ...]:
    """Return the numbers that `from_coefficients` needs of a law without parts; as many for each law of a kind.

    Those of ``quantiles`` with n knots are the first normal score and its log-seconds, the slope, and for each knot
    inside its normal score and the change of slope there. A ``table`` has its knots and 0, the place of the first one.
    """
    kind, v = law.kind, law.values
    if kind == "weibull":
        return v[0], 1.0 / v[1]
    if kind == "uniform":
        return v[0], v[1] - v[0]
    if kind == "table":
        return v[0], 0
    if kind != "quantiles":
        return v
    n = len(v) // 2
    slopes = [(v[n + i + 1] - v[n + i]) / (v[i + 1] - v[i]) for i in range(n - 1)]
    bends = [number for i in range(1, n - 1) for number in (v[i], slopes[i] - slopes[i - 1])]
    return (v[0], v[n], slopes[0], *bends)


def from_coefficients(kind: str, c: Sequence[Any], u: Any, xp: Any = np, ndtri: Any = special.ndtri) -> Any:
    """Return the duration in seconds at probability `u`, by the `coefficients` of a law; see `sample`."""
    if kind == "fixed":
        return c[0] + xp.zeros_like(u)
    if kind == "exponential":
        return c[0] * -xp.log1p(-u)
    if kind == "lognormal":
        return c[0] * xp.exp(c[1] * ndtri(u))
    if kind == "weibull":
        return c[0] * xp.power(-xp.log1p(-u), c[1])
    if kind == "uniform":
        return c[0] + c[1] * u
    if kind == "table":
        return xp.exp(_look_up(c[0], c[1], ndtri(u), xp))
    if kind == "quantiles":
        z = ndtri(u)
        log_t = c[1] + c[2] * (z - c[0])
        for score, change in zip(c[3::2], c[4::2], strict=True):
            log_t = log_t + change * xp.maximum(z - score, 0.0)
        return xp.exp(log_t)
    raise ValueError(f"cannot sample a {kind} law; pass it through tabulate() first")


def _look_up(table: Any, first: Any, z: Any, xp: Any) -> Any:
    position = (z - TABLE_LOW) / _TABLE_STEP
    index = xp.clip(xp.floor(position), 0, TABLE_KNOTS - 2)
    fraction = position - index
    index = index.astype("int32") + first
    if table.ndim == 1:
        low, high = xp.take(table, index), xp.take(table, index + 1)
    else:
        table = xp.broadcast_to(table, (*z.shape[:-1], table.shape[-1]))
        low = xp.take_along_axis(table, index, axis=-1)
        high = xp.take_along_axis(table, index + 1, axis=-1)
    return low + fraction * (high - low)


def _sample_mixture(law: Distribution, u: Any, xp: Any, ndtri: Any) -> Any:
    """Spend one uniform twice: which part it falls in, and where inside that part."""
    tiny = 2.0**-24
    start: Any = 0.0
    result = xp.zeros_like(u)
    last = len(law.values) - 1
    one = not any(map(np.ndim, (u, *law.values)))
    for index, (weight, part) in enumerate(zip(law.values, law.components, strict=True)):
        # One number spends no time on the parts that it does not fall in.
        if not one or index == last or u < start + weight:
            inside = xp.clip((u - start) * (1.0 / xp.where(weight > 0, weight, 1.0)), tiny, 1.0 - tiny)
            value = sample(part, inside, xp, ndtri)
            if one:
                return value
            result = value if index == 0 else xp.where(u >= start, value, result)
        start = start + weight
    return result
