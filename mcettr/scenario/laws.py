"""Duration laws as the user writes them: "5 min", `{lognormal: {mean: 10 min, cv: 1.5}}`, and their like."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import TypeVar

from mcettr.model.distributions import Distribution, fixed
from mcettr.scenario.advice import nearest_of
from mcettr.units import LARGEST_NUMBER, UnitError, parse_duration_s, parse_fraction, shown

LAW_KINDS = ("lognormal", "exponential", "gamma", "weibull", "uniform", "quantiles", "mixture")
ALTERNATIVES: dict[str, tuple[tuple[str, ...], ...]] = {
    "lognormal": (("mean", "median"), ("cv", "sigma")),
    "exponential": (("mean",),),
    "gamma": (("mean",), ("cv",)),
    "weibull": (("mean", "scale"), ("shape",)),
}
"""For each law of named numbers, its numbers; of the names in one inner tuple exactly one is given."""

_SHAPES = {"cv": (1e-9, 1000.0), "sigma": (1e-9, 20.0), "shape": (0.02, 1000.0)}
"""The least and the largest width of a distribution: beyond, means and tables of it lose all digits."""
_WEIGHT_TOLERANCE = 1e-9
_T = TypeVar("_T")


class InnerError(UnitError):
    """Part of a value cannot be read; `where` is the path inside the value."""

    def __init__(self, message: str, where: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


def is_law_mapping(value: object) -> bool:
    """Return whether `value` is a mapping that names a law.

    >>> is_law_mapping({"gamma": {"mean": "5 min", "cv": 1}}), is_law_mapping({"image": "450 s"})
    (True, False)
    """
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in LAW_KINDS


def parse_law(value: object, *, allow_never: bool = False) -> Distribution:
    """Return the law of a duration in seconds.

    Parameters
    ----------
    value : str or mapping
        A unit string, or a mapping with the name of one law.
    allow_never : bool
        Whether "never" makes sense here.

    >>> parse_law({"uniform": ["45 min", "75 min"]}).values
    (2700.0, 4500.0)
    """
    if not isinstance(value, Mapping):
        return fixed(_duration(value, (), allow_never=allow_never))
    if len(value) != 1:
        found = "an empty mapping" if not value else ", ".join(str(key) for key in value)
        raise InnerError(f"expected the name of one distribution ({', '.join(LAW_KINDS)}), found {found}; keep one")
    kind, body = next(iter(value.items()))
    if kind not in LAW_KINDS:
        raise InnerError(f"expected a distribution, found {shown(kind)}{nearest_of(str(kind), LAW_KINDS)}")
    try:
        if kind == "mixture":
            return _mixture(body, allow_never=allow_never)
        return _uniform(body) if kind == "uniform" else _quantiles(body) if kind == "quantiles" else _named(kind, body)
    except InnerError as error:
        raise InnerError(str(error), (kind, *error.where)) from None


def inside(where: tuple[str, ...], read: Callable[[object], _T], value: object) -> _T:
    """Return `read(value)`, telling where in the law it failed."""
    try:
        return read(value)
    except InnerError as error:
        raise InnerError(str(error), (*where, *error.where)) from None
    except UnitError as error:
        raise InnerError(str(error), where) from None


def _duration(value: object, where: tuple[str, ...], *, allow_never: bool = False, positive: bool = False) -> float:
    duration_s = inside(where, parse_duration_s, value)
    if math.isinf(duration_s) and not allow_never:
        raise InnerError("expected a duration such as '5 min', found 'never'; only a detection may take forever", where)
    if positive and duration_s == 0:
        raise InnerError(
            f"expected a duration above 0, found {shown(value)}; write a small one, or 0 s as the whole value", where
        )
    return duration_s


def _number(value: object, where: tuple[str, ...]) -> float:
    """Return a positive finite number without a unit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LARGEST_NUMBER:
        raise InnerError(f"expected a number above 0 without a unit, found {shown(value)}; write it like 1.5", where)
    return float(value)


def _shape(value: object, name: str) -> float:
    """Return a number that says how wide a distribution is, within what can be computed."""
    number, (low, high) = _number(value, (name,)), _SHAPES[name]
    if not low <= number <= high:
        raise InnerError(f"expected {low:g} to {high:g}, found {shown(value)}; write such a number", (name,))
    return number


def _named(kind: str, body: object) -> Distribution:
    names = ALTERNATIVES[kind]
    known = tuple(name for group in names for name in group)
    wanted = " and ".join(" or ".join(group) for group in names)
    if not isinstance(body, Mapping):
        raise InnerError(
            f"expected a mapping with {wanted}, found {shown(body)}; write {{{kind}: {{{known[0]}: 5 min}}}}"
        )
    for key in body:
        if key not in known:
            raise InnerError(f"expected {wanted}, found {shown(key)}{nearest_of(str(key), known)}", (str(key),))
    for group in names:
        given = [name for name in group if name in body]
        if len(given) != 1:
            found = " and ".join(given) or "neither" if len(group) > 1 else "nothing"
            raise InnerError(f"expected {' or '.join(group)} (one of them), found {found}; give {wanted}")
    times = {n: _duration(body[n], (n,), positive=True) for n in ("mean", "median", "scale") if n in body}
    shapes = {n: _shape(body[n], n) for n in ("cv", "sigma", "shape") if n in body}
    try:
        return _from_numbers(kind, times, shapes)
    except OverflowError:
        message = f"expected numbers whose moments a computer can hold, found {shown(body)}; write less extreme ones"
        raise InnerError(message) from None


def _from_numbers(kind: str, times: Mapping[str, float], shapes: Mapping[str, float]) -> Distribution:
    if kind == "exponential":
        return Distribution("exponential", (times["mean"],))
    if kind == "gamma":
        return Distribution("gamma", (times["mean"], shapes["cv"]))
    if kind == "weibull":
        shape = shapes["shape"]
        scale_s = times["scale"] if "scale" in times else times["mean"] / math.gamma(1.0 + 1.0 / shape)
        return Distribution("weibull", (scale_s, shape))
    sigma = shapes["sigma"] if "sigma" in shapes else math.sqrt(math.log1p(shapes["cv"] ** 2))
    median_s = times["median"] if "median" in times else times["mean"] * math.exp(-0.5 * sigma**2)
    return Distribution("lognormal", (median_s, sigma))


def _uniform(body: object) -> Distribution:
    if not isinstance(body, Sequence) or isinstance(body, str) or len(body) != 2:
        raise InnerError(
            f"expected two durations such as [45 min, 75 min], found {shown(body)}; give the lowest and highest"
        )
    low_s, high_s = (_duration(body[i], (str(i),)) for i in range(2))
    if not low_s < high_s:
        raise InnerError(
            f"expected the lower duration first, found {body[0]} and {body[1]}; swap them or write one value"
        )
    return Distribution("uniform", (low_s, high_s))


def _quantiles(body: object) -> Distribution:
    if not isinstance(body, Mapping) or len(body) < 2:
        raise InnerError(
            f"expected at least two quantiles such as {{0.5: 3 min, 0.9: 40 min}}, found {shown(body)}; add some"
        )
    knots = sorted((_probability(key), _duration(value, (str(key),), positive=True)) for key, value in body.items())
    for (p_low, low_s), (p_high, high_s) in pairwise(knots):
        if not (p_low < p_high and low_s < high_s):
            raise InnerError(
                f"expected durations that grow with the probability, found {low_s:g} s at {p_low:g} and {high_s:g} s "
                f"at {p_high:g}; check the order"
            )
    scores = tuple(NormalDist().inv_cdf(p) for p, _ in knots)
    return Distribution("quantiles", scores + tuple(math.log(value_s) for _, value_s in knots))


def _probability(key: object) -> float:
    try:
        p = parse_fraction(str(key))
    except UnitError:
        p = math.nan
    if not 0 < p < 1:
        raise InnerError(f"expected a probability between 0 and 1, found {shown(key)}; write it like 0.9", (str(key),))
    return p


def _mixture(body: object, *, allow_never: bool) -> Distribution:
    if not isinstance(body, Sequence) or isinstance(body, str) or not body:
        raise InnerError(
            f"expected pairs such as [[0.9, 30 s], [0.1, 1 h]], found {shown(body)}; list [weight, time] pairs"
        )
    weights, parts = [], []
    for index, pair in enumerate(body):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InnerError(f"expected [weight, time], found {shown(pair)}; write it like [0.9, 30 s]", (str(index),))
        weights.append(inside((str(index), "0"), parse_fraction, pair[0]))
        parts.append(inside((str(index), "1"), lambda law: parse_law(law, allow_never=allow_never), pair[1]))
    total = math.fsum(weights)
    if abs(total - 1.0) > _WEIGHT_TOLERANCE:
        raise InnerError(f"expected weights that sum to 1, found {total:g}; change the weights")
    return Distribution("mixture", tuple(weight / total for weight in weights), tuple(parts))
