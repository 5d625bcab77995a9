"""How each value of a scenario is read: from the user's text to numbers in SI, laws and words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import CauseKind
from mcettr.scenario.laws import InnerError, is_law_mapping, parse_law
from mcettr.units import (
    LARGEST_NUMBER,
    Exposure,
    UnitError,
    parse_bandwidth_bytes_per_s,
    parse_duration_s,
    parse_exposure,
    parse_fraction,
    parse_work,
)

SCHEMA_VERSION = 1
CAUSE_KINDS: tuple[CauseKind, ...] = ("crash", "hang")
_LATER_KINDS = ("silent", "slow", "preemption")


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
        raise UnitError(f"expected a duration above 0, found {value!r}; write it like '5 min'")
    return duration_s


def read_duration_s(value: object) -> float:
    """Return a finite duration in seconds."""
    duration_s = parse_duration_s(value)
    if math.isinf(duration_s):
        raise UnitError(f"expected a duration such as '5 min', found {value!r}; leave the field out if it never comes")
    return duration_s


def _number(value: object, *, whole: bool, lowest: float, noun: str) -> float:
    expected = f"expected {noun}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnitError(f"{expected}, found {value!r}; write a number without a unit")
    if not (lowest <= value <= LARGEST_NUMBER and (not whole or value == int(value))):
        raise UnitError(f"{expected}, found {value!r}; write such a number")
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
        raise UnitError(f"expected an interval above 0, found {value!r}; write 'auto', 'never' or a duration")
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
        raise UnitError(f"expected some work, found {value!r}; write it like '30 d' or '8.8e6 gpu-hours'")
    return work


def read_exposure(value: object) -> Exposure:
    """Return an exposure above 0."""
    exposure = parse_exposure(value)
    if exposure.duration_s == 0:
        raise UnitError(f"expected an exposure above 0, found {value!r}; write it like '110592 node-days'")
    return exposure


def read_bandwidth_bytes_per_s(value: object) -> float:
    """Return a bandwidth above 0, in bytes a second."""
    bandwidth = parse_bandwidth_bytes_per_s(value)
    if bandwidth == 0:
        raise UnitError(f"expected a bandwidth above 0, found {value!r}; write it like '100 GB/s'")
    return bandwidth


def read_cause_kind(value: object) -> str:
    """Return the kind of a cause of failure."""
    if value in _LATER_KINDS:
        raise UnitError(f"expected one of {', '.join(CAUSE_KINDS)}, found {value!r}, not in this version; remove it")
    if value not in CAUSE_KINDS:
        raise UnitError(f"expected one of {', '.join(CAUSE_KINDS)}, found {value!r}; write one of them")
    return str(value)


def read_flag(value: object) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise UnitError(f"expected true or false, found {value!r}; write true or false")
    return value


def read_text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise UnitError(f"expected text, found {value!r}; put it in quotes")
    return value


def read_version(value: object) -> int:
    """Return the version of the schema, of which there is one."""
    if value != SCHEMA_VERSION or isinstance(value, bool):
        raise UnitError(f"expected {SCHEMA_VERSION}, found {value!r}; this version reads schema_version 1 only")
    return SCHEMA_VERSION


def read_detection(value: object) -> Distribution:
    """Return the law of a detection time, which may be never."""
    return parse_law(value, allow_never=True)


def read_every(value: object) -> Distribution:
    """Return the law of the time between events, above 0."""
    law = parse_law(value)
    if law == fixed(0.0):
        raise UnitError(f"expected a time above 0 between events, found {value!r}; write it like '18 min'")
    return law


def read_startup(value: object) -> tuple[tuple[str, Distribution], ...]:
    """Return the named phases of a start; a single law is a phase called startup."""
    if not isinstance(value, dict) or is_law_mapping(value):
        return (("startup", parse_law(value)),)
    return tuple((str(name), _phase(str(name), law)) for name, law in value.items())


def _phase(name: str, value: object) -> Distribution:
    try:
        return parse_law(value)
    except UnitError as error:
        raise InnerError(str(error), (name, *getattr(error, "where", ()))) from None
