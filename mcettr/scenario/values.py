"""How each value of a scenario is read: from the user's text to numbers in SI, laws and words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import CauseKind
from mcettr.scenario.laws import InnerError, inside, parse_law
from mcettr.units import (
    LARGEST_NUMBER,
    Exposure,
    Rate,
    UnitError,
    number_advice,
    parse_bandwidth_bytes_per_s,
    parse_duration_s,
    parse_exposure,
    parse_fraction,
    parse_rate,
    parse_work,
    shown,
)

SCHEMA_VERSION = 1
NO_TIME = fixed(0.0)
"""The distribution of a step that takes no time."""
_HIGHEST_CV = 100.0
CAUSE_KINDS: tuple[CauseKind, ...] = ("crash", "hang", "silent", "slow", "preemption")


@dataclass(frozen=True)
class Interval:
    """How often to save: a fixed amount of work (inf for never), or the best (`value_s` is then inf)."""

    kind: Literal["auto", "fixed"]
    value_s: float


@dataclass(frozen=True)
class Stall:
    """How long a save blocks: for all of its write, a fixed time in seconds, or a share of the write time."""

    kind: Literal["full", "fixed", "share"]
    value: float


def read_positive_duration_s(value: object) -> float:
    """Return a finite duration above 0, in seconds."""
    duration_s = read_duration_s(value)
    if duration_s == 0:
        raise UnitError(f"expected a duration above 0, found {shown(value)}; write it like '5 min'")
    return duration_s


def read_duration_s(value: object, example: str = "5 min") -> float:
    """Return a finite duration in seconds."""
    duration_s = parse_duration_s(value, example)
    if math.isinf(duration_s):
        raise UnitError(
            f"expected a duration such as '{example}', found {shown(value)}; leave the field out if it never comes"
        )
    return duration_s


def read_long_duration_s(value: object) -> float:
    """Return a finite duration above 0, in seconds, of a kind that is counted in days."""
    duration_s = read_duration_s(value, "60 d")
    if duration_s == 0:
        raise UnitError(f"expected a duration above 0, found {shown(value)}; write it like '60 d'")
    return duration_s


def _number(value: object, *, whole: bool, lowest: float, noun: str) -> float:
    expected = f"expected {noun}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        advice = number_advice(value) if isinstance(value, str) else ""
        if whole:  # the comma is no decimal one
            advice = advice.split(" (or ")[0]
        raise UnitError(f"{expected}, found {shown(value)}; {advice or 'write a number without a unit'}")
    if not (lowest <= value <= LARGEST_NUMBER and (not whole or value == int(value))):
        raise UnitError(f"{expected}, found {shown(value)}; write such a number")
    return float(value)


def read_count(value: object) -> float:
    """Return a whole number of at least 0."""
    return _number(value, whole=True, lowest=0, noun="a whole number of at least 0")


def read_positive_count(value: object) -> float:
    """Return a whole number of at least 1."""
    return _number(value, whole=True, lowest=1, noun="a positive whole number")


def read_positive_number(value: object) -> float:
    """Return a number above 0."""
    return _number(value, whole=False, lowest=5e-324, noun="a number above 0")


def read_interval(value: object) -> Interval:
    """Return a checkpoint interval: auto, never or a duration above 0."""
    if value == "auto":
        return Interval("auto", math.inf)
    try:
        duration_s = parse_duration_s(value)
    except UnitError as error:
        raise UnitError(str(error).replace("a duration such as '5 min'", "'auto', 'never' or a duration", 1)) from None
    if duration_s <= 0:
        raise UnitError(f"expected an interval above 0, found {shown(value)}; write 'auto', 'never' or a duration")
    return Interval("fixed", duration_s)


def read_stall(value: object) -> Stall:
    """Return a stall: full, a duration, or a percentage of the write time."""
    if value == "full":
        return Stall("full", 1.0)
    if isinstance(value, str) and value.strip().endswith("%"):
        return Stall("share", parse_fraction(value))
    try:
        return Stall("fixed", read_duration_s(value))
    except UnitError as error:
        text = str(error).replace("a duration such as '5 min'", "'full', a duration or a share such as '10 %'", 1)
        raise UnitError(text) from None


def read_work(value: object) -> Exposure:
    """Return an amount of training above 0, as time or GPU time."""
    work = parse_work(value)
    if work.duration_s == 0:
        raise UnitError(f"expected some work, found {shown(value)}; write it like '30 d' or '8.8e6 gpu-hours'")
    return work


def read_exposure(value: object) -> Exposure:
    """Return an exposure above 0."""
    exposure = parse_exposure(value)
    if exposure.duration_s == 0:
        raise UnitError(f"expected an exposure above 0, found {shown(value)}; write it like '110592 node-days'")
    return exposure


def read_bandwidth_bytes_per_s(value: object) -> float:
    """Return a bandwidth above 0, in bytes a second."""
    bandwidth = parse_bandwidth_bytes_per_s(value)
    if bandwidth == 0:
        raise UnitError(f"expected a bandwidth above 0, found {shown(value)}; write it like '100 GB/s'")
    return bandwidth


def read_cause_kind(value: object) -> str:
    """Return the kind of a cause of failure."""
    if value not in CAUSE_KINDS:
        raise UnitError(f"expected one of {', '.join(CAUSE_KINDS)}, found {shown(value)}; write one of them")
    return str(value)


def read_flag(value: object) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise UnitError(f"expected true or false, found {shown(value)}; write true or false")
    return value


def read_text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise UnitError(f"expected text, found {shown(value)}; put it in quotes")
    if not all(letter.isprintable() or letter in "\n\t" for letter in value):
        raise UnitError(f"expected text that can be printed, found {shown(value)}; remove the control characters")
    return value


def read_version(value: object) -> int:
    """Return the version of the schema, of which there is one."""
    if value != SCHEMA_VERSION or isinstance(value, bool):
        raise UnitError(f"expected {SCHEMA_VERSION}, found {shown(value)}; this version reads schema_version 1 only")
    return SCHEMA_VERSION


def read_detection(value: object) -> Distribution:
    """Return the law of a detection time, which may be never."""
    return parse_law(value, allow_never=True)


def read_every(value: object) -> Distribution:
    """Return the law of the time between events, above 0."""
    law = parse_law(value)
    if law == fixed(0.0):
        raise UnitError(f"expected a time above 0 between events, found {shown(value)}; write it like '18 min'")
    return law


def read_number(value: object) -> float:
    """Return a finite number of at least 0."""
    return _number(value, whole=False, lowest=0.0, noun="a number of at least 0")


def read_cv(value: object) -> float:
    """Return a coefficient of variation of a rate, up to what can be computed."""
    cv = read_number(value)
    if cv > _HIGHEST_CV:
        raise UnitError(f"expected a number from 0 to {_HIGHEST_CV:g}, found {shown(value)}; write such a number")
    return cv


def read_work_done(value: object) -> Exposure:
    """Return an amount of training, which may be none, as time or GPU time."""
    return parse_work(value)


def read_job_rate(value: object) -> Rate:
    """Return a rate of something that happens to all nodes together."""
    rate = parse_rate(value)
    if rate.unit != "job":
        raise UnitError(f"expected a rate such as '1 / 10 days', found {shown(value)}, per {rate.unit}; leave that out")
    return rate


def read_alarm_rate(value: object) -> Rate:
    """Return a rate of false alarms, per job, node or GPU."""
    rate = parse_rate(value)
    if rate.unit == "domain":
        raise UnitError(
            f"expected a rate per node, GPU or job, found {shown(value)}; write it like '0.1 / 1000 node-days'"
        )
    return rate


def read_names(value: object) -> tuple[str, ...]:
    """Return a list of different names, at least one."""
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise UnitError(f"expected a list of failure causes, found {shown(value)}; write it like [node]")
    if twice := [name for name in value if value.count(name) > 1]:
        raise UnitError(f"expected each cause once, found {twice[0]!r} again; remove one")
    return tuple(value)


def read_chances(value: object) -> tuple[tuple[str, float], ...]:
    """Return pairs of a name and a probability."""
    if not isinstance(value, dict) or not value:
        raise UnitError(f"expected probabilities by cause, found {shown(value)}; write them like {{node: 0.5}}")
    return tuple((name, inside((name,), parse_fraction, chance)) for name, chance in value.items())


def read_profile(value: object) -> tuple[tuple[float, float], ...]:
    """Return pairs of a time in seconds and what multiplies the rate from then on; a list of pairs or a mapping.

    >>> read_profile([["0 d", 3], ["14 d", 1]])
    ((0.0, 3.0), (1209600.0, 1.0))
    """
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or not pairs:
        raise UnitError(
            f"expected pairs of time and multiplier, found {shown(value)}; write them like [[0 d, 3], [14 d, 1]]"
        )
    steps: list[tuple[float, float]] = []
    for index, pair in enumerate(pairs):
        where = str(pair[0]) if isinstance(value, dict) else str(index)
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise InnerError(f"expected [time, multiplier], found {shown(pair)}; write it like [14 d, 1]", (where,))
        steps.append((inside((where,), read_duration_s, pair[0]), inside((where,), read_number, pair[1])))
    times = [start_s for start_s, _ in steps]
    if times[0] != 0 or any(later <= earlier for earlier, later in pairwise(times)):
        texts = ", ".join(str(pair[0]) for pair in pairs)
        raise UnitError(f"expected times that begin at 0 d and grow, found {texts}; put them in order")
    return tuple(steps)


def read_lifetime(value: object) -> Distribution:
    """Return the law of a part's life, a Weibull law."""
    from mcettr.model.renewal_density import HIGHEST_SHAPE, LOWEST_SHAPE

    if not isinstance(value, dict) or set(value) != {"weibull"}:
        raise UnitError(f"expected {{weibull: {{shape: 0.7, mean: 900 d}}}}, found {shown(value)}; write such a law")
    law = parse_law(value)
    if not LOWEST_SHAPE <= law.values[1] <= HIGHEST_SHAPE:
        found = f"found {law.values[1]:g}; use another, or a profile"
        raise InnerError(f"expected a shape from {LOWEST_SHAPE:g} to {HIGHEST_SHAPE:g}, {found}", ("weibull", "shape"))
    return law


def read_fleet_age_s(value: object) -> float | None:
    """Return the age of all parts at the start, in seconds; None where their ages are mixed (stationary)."""
    if value == "stationary":
        return None
    try:
        return read_duration_s(value, "30 d")
    except UnitError as error:
        raise UnitError(str(error).replace("a duration such as '30 d'", "'stationary' or a duration", 1)) from None
