"""How many nodes a failure takes, as the user writes it: 4, all, `{values: {0: 0.5, 1: 0.5}}`, `{binomial: {n, p}}`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from mcettr.model.counts import ALL, Counts
from mcettr.model.distributions import Number
from mcettr.scenario.advice import nearest_of
from mcettr.scenario.laws import InnerError
from mcettr.scenario.values import read_count
from mcettr.units import UnitError, parse_fraction, shown

COUNT_LAWS = ("values", "binomial")
MOST_TRIALS = 256
_NEGLIGIBLE = 1e-12
_WEIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Listed:
    """Some counts, ascending, and the chance of each; a fixed count is one with chance 1."""

    values: tuple[Number, ...]
    weights: tuple[Number, ...]


@dataclass(frozen=True)
class Binomial:
    """How many of `n` nodes a failure takes when each goes with chance `p`."""

    n: Number
    p: Number


def is_counts_mapping(value: object) -> bool:
    """Return whether `value` is a mapping that names a law of counts.

    >>> is_counts_mapping({"binomial": {"n": 16, "p": 0.8}}), is_counts_mapping({"values": "3 min"})
    (True, False)
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    name, body = next(iter(value.items()))
    return name in COUNT_LAWS and isinstance(body, Mapping)


def read_counts(value: object) -> Listed | Binomial:
    """Return a law of counts.

    >>> read_counts({"values": {"1": 0.25, "0": 0.75}})
    Listed(values=(0.0, 1.0), weights=(0.75, 0.25))
    """
    if not isinstance(value, Mapping):
        return Listed((_count(value, ()),), (1.0,))
    if len(value) != 1:
        found = ", ".join(str(key) for key in value) or "an empty mapping"
        raise InnerError(f"expected one of {', '.join(COUNT_LAWS)}, found {found}; keep one")
    name, body = next(iter(value.items()))
    if name not in COUNT_LAWS:
        advice = nearest_of(str(name), COUNT_LAWS)
        raise InnerError(f"expected a whole number, all, values or binomial, found {shown(name)}{advice}", (str(name),))
    example = "{values: {0: 0.5, 1: 0.5}}" if name == "values" else "{binomial: {n: 16, p: 0.8}}"
    if not isinstance(body, Mapping) or not body:
        raise InnerError(f"expected a mapping, found {shown(body)}; write it like {example}", (name,))
    return _listed(body) if name == "values" else _binomial(body)


def _count(value: object, where: tuple[str, ...]) -> float:
    if value == "all":
        return ALL
    try:
        return min(read_count(value), ALL)
    except UnitError:
        message = f"expected a whole number of nodes or 'all', found {shown(value)}; write it like 4"
        raise InnerError(message, where) from None


def _listed(body: Mapping[object, object]) -> Listed:
    chances: dict[float, float] = {}
    for key, value in body.items():
        where = ("values", str(key))
        text = str(key)
        count = _count(int(text) if text.isdecimal() and len(text) < 12 else key, where)
        if count in chances:
            raise InnerError(f"expected each count once, found {shown(key)} again; keep one", where)
        chances[count] = _chance(value, where)
    total = math.fsum(chances.values())
    if abs(total - 1.0) > _WEIGHT_TOLERANCE:
        raise InnerError(f"expected chances that sum to 1, found {total:g}; change them", ("values",))
    pairs = sorted(chances.items())
    return Listed(tuple(count for count, _ in pairs), tuple(chance / total for _, chance in pairs))


def _chance(value: object, where: tuple[str, ...]) -> float:
    try:
        return parse_fraction(value)
    except UnitError as error:
        raise InnerError(str(error), where) from None


def _binomial(body: Mapping[object, object]) -> Binomial:
    for key in body:
        if key not in ("n", "p"):
            raise InnerError(f"expected n and p, found {shown(key)}; write {{n: 16, p: 0.8}}", ("binomial", str(key)))
    if len(body) < 2:
        raise InnerError("expected n and p, found one of them; write {n: 16, p: 0.8}", ("binomial",))
    n = _count(body["n"], ("binomial", "n"))
    if n > MOST_TRIALS:
        advice = f"found {body['n']}; write the counts as values, or a fixed number"
        raise InnerError(f"expected at most {MOST_TRIALS} nodes that go by chance, {advice}", ("binomial", "n"))
    return Binomial(n, _chance(body["p"], ("binomial", "p")))


def compiled(law: Listed | Binomial) -> Counts:
    """Return the law with cumulative probabilities; counts with next to no chance are left out.

    >>> [float(p) for p in compiled(Binomial(2.0, 0.5)).cumulative]
    [0.25, 0.75, 1.0]
    """
    if isinstance(law, Listed):
        below = [sum(law.weights[: i + 1], start=np.float64(0.0)) for i in range(len(law.weights) - 1)]
        return Counts(law.values, (*below, 1.0))
    most = int(np.max(law.n))
    above = [np.maximum(np.subtract(law.n, k), 1.0) for k in range(most + 1)]
    at_most = (special.betainc(left, k + 1.0, np.subtract(1.0, law.p)) for k, left in enumerate(above))
    reached = [np.where(np.less_equal(law.n, k), 1.0, chance) for k, chance in enumerate(at_most)]
    kept = [
        k
        for k in range(most + 1)
        if np.max(reached[k]) > _NEGLIGIBLE and (k == 0 or np.min(reached[k - 1]) < 1.0 - _NEGLIGIBLE)
    ]
    return Counts(tuple(float(k) for k in kept), (*(reached[k][()] for k in kept[:-1]), 1.0))
