"""Unit strings: the one place where "5 min" becomes 300.0 and back.

Arithmetic is exact (fractions) until the last step, so a value is the float64 nearest to what was typed: "1.1 ms"
is 0.0011 to the last bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from mcettr.errors import ScenarioError

_LONGEST_SHOWN = 120
_LONGEST_BITS = 10_000
"""Python writes out no whole number of more than some thousand digits."""
Scope = Literal["job", "node", "gpu", "domain"]
Dimension = Literal["number", "percentage", "duration", "exposure", "rate", "size", "bandwidth"]

_DAY, _YEAR_DAYS = 86_400, Fraction(1461, 4)
_TIME_S: dict[str, Fraction] = {
    name: Fraction(seconds)
    for names, seconds in (
        ("ms millisecond milliseconds", Fraction(1, 1000)),
        ("s sec secs second seconds", Fraction(1)),
        ("min mins minute minutes", Fraction(60)),
        ("h hr hrs hour hours", Fraction(3600)),
        ("d day days", Fraction(_DAY)),
        ("w wk week weeks", Fraction(7 * _DAY)),
        ("y yr yrs year years", _YEAR_DAYS * _DAY),
    )
    for name in names.split()
}
_SIZE_BYTES: dict[str, Fraction] = {
    "B": Fraction(1),
    "KB": Fraction(1000),
    **{f"{prefix}B": Fraction(1000 ** (i + 1)) for i, prefix in enumerate("kMGTPE")},
    **{f"{prefix}iB": Fraction(1024 ** (i + 1)) for i, prefix in enumerate("KMGTPE")},
}
_SCOPES: dict[str, Scope] = {"job": "job", "node": "node", "gpu": "gpu", "domain": "domain"}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*(.*)", re.DOTALL)
_SCOPED = re.compile(r"(?:(job|node|gpu|domain)s?\s*-\s*)?([a-z]+)", re.IGNORECASE)
_RATE = re.compile(rf"(%)?\s*(?:/|per\b)\s*({_NUMBER})?\s*(.*)", re.DOTALL)
_PART = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z]+)")
_PARTS = re.compile(rf"\s*[+-]?(?:{_PART.pattern}){{2,}}\s*")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[,' _\u00a0\u202f]\d{3})+(?:\.\d+)?(?!\d)")
_COMMA = re.compile(r"[+-]?\d*,\d+")
_CLOCK = re.compile(r"(\d+):(\d{1,2})(?::\d{1,2})?")
_BANDWIDTH = re.compile(r"([A-Za-z]+)\s*/\s*(?:s|sec|second)")
_LARGEST_EXPONENT = 300
LARGEST_NUMBER = 1e300
"""Numbers beyond this are refused: what is computed from them would overflow."""
_SMALLEST_NUMBER = Fraction(1, 10**300)

_LIKELY_PER_1000 = 0.1
"""A bare rate of at least this is likely one of 1,000 node-days: published ones are 2 to 20."""
_EXAMPLES: dict[str, tuple[str, str]] = {
    "number": ("a number", "3"),
    "percentage": ("a percentage", "10 %"),
    "duration": ("a duration", "5 min"),
    "exposure": ("an exposure", "110592 node-days"),
    "rate": ("a rate", "6.5 / 1000 node-days"),
    "size": ("a size", "1.6 TB"),
    "bandwidth": ("a bandwidth", "100 GB/s"),
}


class UnitError(ScenarioError, ValueError):
    """A value cannot be read; the text says what was expected, what was found, and what to write."""


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, exactly as typed.

    Parameters
    ----------
    number : Fraction
        The number in front of the unit.
    factor : Fraction
        What one of the unit is in SI (seconds, 1 / second, bytes, or 1).
    dimension : str
        What kind of thing it is.
    scope : {"job", "node", "gpu", "domain"}
        Per what, for rates and exposures; "job" otherwise.
    unit : str
        The unit as text, such as "min" or "1 / 1000 node-days"; "1" for a bare number.
    """

    number: Fraction
    factor: Fraction
    dimension: Dimension
    scope: Scope = "job"
    unit: str = "1"

    @property
    def si(self) -> Fraction:
        """The value in SI units, exact."""
        return self.number * self.factor


@dataclass(frozen=True)
class Rate:
    """Events a second, per job, node, GPU or domain.

    Parameters
    ----------
    per_s : float
        Events a second of one `unit`.
    unit : {"job", "node", "gpu", "domain"}
        What one of fails at that rate.
    """

    per_s: float
    unit: Scope


@dataclass(frozen=True)
class Exposure:
    """Time multiplied by how many were exposed.

    Parameters
    ----------
    duration_s : float
        Seconds, summed over all of `unit`.
    unit : {"job", "node", "gpu", "domain"}
        What was exposed; "job" for plain time.
    """

    duration_s: float
    unit: Scope


_NO_ADVICE = "write it like '5 min'"
_KNOWN: dict[Dimension, str] = {
    "duration": "ms, s, min, h, d, weeks, years",
    "size": "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB",
    "bandwidth": "GB/s, GiB/s and their like",
    "rate": "'/ node-day', '/ 1000 node-days', '/ gpu-year', '% / gpu-year' and their like",
    "exposure": "node-days, gpu-hours and their like",
}
"""Units of a dimension, for who wrote an unknown one."""


def split_number(text: str) -> tuple[str, str]:
    """Return the number in front and the unit behind it, both as text.

    >>> split_number("1 / 1000 node-days")
    ('1', '/ 1000 node-days')
    """
    if parts := _several_parts(text):
        return parts
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        advice = number_advice(text) or _NO_ADVICE
        raise UnitError(f"expected a number with a unit, found {shown(text)}; {advice}")
    return match[1], match[2]


def _several_parts(text: str) -> tuple[str, str] | None:
    """Return a duration of several parts as a number of its smallest unit: ``1h30m`` is 90 min."""
    if not _PARTS.fullmatch(text):
        return None
    parts = [(number, "min" if unit == "m" else unit) for number, unit in _PART.findall(text)]
    if not all(unit.lower() in _TIME_S for _, unit in parts):
        return None
    lengths = [_TIME_S[unit.lower()] for _, unit in parts]
    if any(later >= earlier for earlier, later in pairwise(lengths)):
        raise UnitError(f"expected the longer units first, each once, found {shown(text)}; write it like '1 h 30 min'")
    total = sum(((_exact(number) * length) for (number, _), length in zip(parts, lengths, strict=True)), Fraction(0))
    sign = "-" if text.strip().startswith("-") else ""
    number = total / lengths[-1]
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{sign}{decimal:f}" if Fraction(decimal) == number else f"{sign}{float(number)!r}", parts[-1][1]


def number_advice(text: str) -> str:
    """Return advice on a number with a thousands separator, a decimal comma or a colon; nothing for others.

    >>> number_advice("12,288"), number_advice("6,5 min"), number_advice("6.5 min")
    ("write numbers without a thousands separator: '12288' (or '12.288', if the comma is a decimal one)", \
"write a decimal point instead of the comma: '6.5 min'", '')
    """
    text = text.strip()[:_LONGEST_SHOWN]
    if match := _THOUSANDS.match(text):
        plain = re.sub(r"[^\d.+-]", "", match[0]) + text[match.end() :]
        decimal = f" (or '{text.replace(',', '.', 1)}', if the comma is a decimal one)" if text.count(",") == 1 else ""
        return f"write numbers without a thousands separator: '{plain}'{decimal}"
    if _COMMA.match(text):
        return f"write a decimal point instead of the comma: '{text.replace(',', '.', 1)}'"
    if match := _CLOCK.fullmatch(text):
        return f"write '{match[1]} h {match[2]} min' or '{match[1]} min {match[2]} s'"
    return ""


@lru_cache(maxsize=4096)
def read_quantity(text: str) -> Quantity:
    """Return the quantity that a unit string stands for, of whatever dimension.

    >>> read_quantity("10 min").dimension, float(read_quantity("10 min").si)
    ('duration', 600.0)
    """
    number_text, unit = split_number(text)
    number = _exact(number_text)
    for read in (_read_plain, _read_scoped, _read_rate, _read_size):
        quantity = read(number, unit)
        if quantity is not None:
            if quantity.si and not _SMALLEST_NUMBER <= abs(quantity.si) <= LARGEST_NUMBER:
                raise _no_number(text)
            return quantity
    advice = number_advice(text) or _unit_advice(unit)
    raise UnitError(f"expected a unit, found {shown(unit)} in {shown(text)}; {advice}")


def _exact(number_text: str) -> Fraction:
    try:
        decimal = Decimal(number_text)
    except ArithmeticError:  # an exponent that no computer can hold
        raise _no_number(number_text) from None
    if decimal and abs(decimal.adjusted()) > _LARGEST_EXPONENT:
        raise _no_number(number_text)
    return Fraction(decimal) if decimal else Fraction(0)


def _no_number(text: str) -> UnitError:
    advice = "write one between 1e-300 and 1e300 in seconds, bytes or their like"
    return UnitError(f"expected a number that a computer can hold, found {shown(text)}; {advice}")


def _read_plain(number: Fraction, unit: str) -> Quantity | None:
    if unit == "":
        return Quantity(number, Fraction(1), "number")
    if unit == "%":
        return Quantity(number, Fraction(1, 100), "percentage", unit="%")
    return None


def _read_scoped(number: Fraction, unit: str) -> Quantity | None:
    parts = _scope_and_time(unit)
    if parts is None:
        return None
    scope, factor = parts
    dimension: Dimension = "duration" if scope is None else "exposure"
    return Quantity(number, factor, dimension, scope or "job", unit)


def _read_rate(number: Fraction, unit: str) -> Quantity | None:
    match = _RATE.fullmatch(unit)
    parts = _scope_and_time(match[3]) if match is not None else None
    if match is None or parts is None:
        return None
    scope, factor = parts
    count = _exact(match[2]) if match[2] else Fraction(1)
    if count <= 0:
        raise UnitError(f"expected more than 0 below the line, found {match[2]}; write it like '/ 1000 node-days'")
    below = f"{match[2]} {match[3]}" if match[2] else match[3]
    above, one = ("%", Fraction(1, 100)) if match[1] else ("1", Fraction(1))
    return Quantity(number, one / (count * factor), "rate", scope or "job", f"{above} / {below}")


def _scope_and_time(unit: str) -> tuple[Scope | None, Fraction] | None:
    match = _SCOPED.fullmatch(unit)
    if match is None or match[2].lower() not in _TIME_S:
        return None
    return _SCOPES[match[1].lower()] if match[1] else None, _TIME_S[match[2].lower()]


def _read_size(number: Fraction, unit: str) -> Quantity | None:
    if unit in _SIZE_BYTES:
        return Quantity(number, _SIZE_BYTES[unit], "size", unit=unit)
    match = _BANDWIDTH.fullmatch(unit)
    if match is not None and match[1] in _SIZE_BYTES:
        return Quantity(number, _SIZE_BYTES[match[1]], "bandwidth", unit=f"{match[1]}/s")
    return None


def _unit_advice(unit: str) -> str:
    if unit in ("m", "M"):
        return "'m' could be minutes, metres or months: write 'min'"
    if re.fullmatch(r"[kKMGTP]i?b(?:it)?(?:ps|\s*/\s*s)?|[KMGT]bps", unit):
        return "sizes are in bytes: write 'GB' or 'GB/s' (8 bits are one byte)"
    return "known are ms, s, min, h, d, weeks, years, node-days, gpu-hours, / 1000 node-days, GB, GiB, GB/s, %"


def _quantity(value: object, dimension: Dimension, *also: Dimension, example: str = "") -> Quantity:
    """Return `value` as a non-negative quantity of one of the named dimensions, or say what it is instead."""
    noun, usual = _EXAMPLES[dimension]
    example = example or usual
    item = getattr(value, "item", None)  # a number of NumPy's
    value = item() if callable(item) and getattr(value, "ndim", None) == 0 else value
    expected = f"expected {noun} such as '{example}'"
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UnitError(f"{expected}, found {_shown(value)}; write it like '{example}'")
    if isinstance(value, (int, float)) and not abs(value) <= LARGEST_NUMBER:
        raise UnitError(f"{expected}, found {shown(value)}, which is not a finite number; write it like '{example}'")
    text = value if isinstance(value, str) else repr(value)
    try:
        quantity = read_quantity(text)
    except UnitError as error:
        raise UnitError(f"{expected}, found {shown(text)}; {_advice_of(error, dimension, example)}") from None
    wanted = (dimension, *also)
    if quantity.dimension not in wanted:
        if quantity.dimension == "number":
            raise UnitError(f"{expected}, found {text} without a unit; {_with_units(text, wanted, example)}")
        found = f"found {shown(text)}, {_EXAMPLES[quantity.dimension][0]}"
        advice = number_advice(text) or f"write it like '{example}'"
        raise UnitError(f"{expected}, {found}; {advice}")
    if quantity.number < 0:
        raise UnitError(f"{expected}, found {shown(text)}, which is negative; write a value of at least 0")
    return quantity


def _with_units(text: str, wanted: tuple[Dimension, ...], example: str) -> str:
    """Return advice on the unit of a bare number: of the forms that it may stand for, the likely one first."""
    if wanted[0] == "rate":
        many, one = "/ 1000 node-days", "/ node-day"
        first, other = (many, one) if abs(float(text)) >= _LIKELY_PER_1000 else (one, many)
        return f"say per what: write '{text} {first}', or behind it '{other}', '/ gpu-day' or '/ job-day'"
    if wanted == ("duration",) and example == _EXAMPLES["duration"][1]:
        return f"write '{text} s' or '{text} min'"
    return f"write '{text} {split_number(example)[1]}' or another unit"


def _shown(value: object) -> str:
    kind = "mapping" if isinstance(value, Mapping) else type(value).__name__
    return "nothing" if value is None else f"{shown(value)} ({kind})"


def value_text(value: object) -> str:
    """Return a value as the user would write it on one line.

    >>> value_text({"uniform": ["45 min", "75 min"]})
    '{uniform: [45 min, 75 min]}'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return "a number of thousands of digits"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {value_text(child)}" for key, child in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    return str(value)


def shown(value: object) -> str:
    """Return a value for an error: as the user would write it, words in quotes, long ones cut.

    >>> shown("5 mins"), shown({"weibul": {"shape": 0.7}})
    ("'5 mins'", '{weibul: {shape: 0.7}}')
    """
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return value_text(value)
    text = value_text(value) if isinstance(value, (Mapping, list, tuple)) else repr(value)
    text = text if isinstance(value, str) else " ".join(text.split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def _advice_of(error: UnitError, dimension: Dimension, example: str) -> str:
    advice = str(error).rsplit("; ", 1)[-1]
    if advice == _unit_advice("") and dimension in _KNOWN:
        return f"known are {_KNOWN[dimension]}"
    is_of_use = ("write" in advice and advice != _NO_ADVICE) or "known" in advice
    return advice if is_of_use else f"write it like '{example}'"


def parse_duration_s(value: object, example: str = "") -> float:
    """Return a duration in seconds; inf for "never".

    Parameters
    ----------
    value : str
        Such as "90 s", "1 h 30 min" or "never".
    example : str
        What such a duration usually looks like, for the error; "5 min" by default.

    >>> parse_duration_s("1.5 h"), parse_duration_s("1h30m"), parse_duration_s("never")
    (5400.0, 5400.0, inf)
    """
    if isinstance(value, str) and value.strip().lower() == "never":
        return math.inf
    return float(_quantity(value, "duration", example=example).si)


def parse_rate(value: object) -> Rate:
    """Return a rate such as "6.5 / 1000 node-days".

    >>> parse_rate("0.2 / job-day").unit, round(1 / parse_rate("1 / 10 days").per_s)
    ('job', 864000)
    >>> parse_rate("2 % / node-year") == parse_rate("0.02 / node-year")
    True
    """
    quantity = _quantity(value, "rate")
    return Rate(float(quantity.si), quantity.scope)


def parse_exposure(value: object) -> Exposure:
    """Return an exposure such as "110592 node-days"; plain time is the job's own.

    >>> parse_exposure("2 gpu-hours")
    Exposure(duration_s=7200.0, unit='gpu')
    """
    quantity = _quantity(value, "exposure", "duration")
    return Exposure(float(quantity.si), quantity.scope)


def parse_work(value: object) -> Exposure:
    """Return an amount of training, as time at full speed ("job") or as GPU time ("gpu").

    >>> parse_work("30 d"), parse_work("1e3 gpu-hours").unit
    (Exposure(duration_s=2592000.0, unit='job'), 'gpu')
    """
    quantity = _quantity(value, "duration", "exposure", example="30 d")
    if quantity.dimension == "exposure" and quantity.scope != "gpu":
        raise UnitError(f"expected time or GPU time, found {shown(value)}; write it like '30 d' or '8.8e6 gpu-hours'")
    return Exposure(float(quantity.si), quantity.scope)


def parse_fraction(value: object) -> float:
    """Return a share between 0 and 1, from a number or a percentage.

    >>> parse_fraction("10 %"), parse_fraction(0.25)
    (0.1, 0.25)
    """
    quantity = _quantity(value, "percentage", "number")
    if quantity.si > 1:
        raise UnitError(f"expected a share from 0 to 1 (or 0 % to 100 %), found {shown(value)}; write it like '10 %'")
    return float(quantity.si)


def parse_size_bytes(value: object) -> float:
    """Return a size in bytes.

    >>> parse_size_bytes("1.5 GiB")
    1610612736.0
    """
    return float(_quantity(value, "size").si)


def parse_bandwidth_bytes_per_s(value: object) -> float:
    """Return a bandwidth in bytes a second.

    >>> parse_bandwidth_bytes_per_s("100 GB/s")
    100000000000.0
    """
    return float(_quantity(value, "bandwidth").si)


def format_duration(seconds: float) -> str:
    """Return a duration for people, to about three significant digits.

    >>> [format_duration(s) for s in (0.0, 14.8, 103_680.0, 1.33e10, math.inf)]
    ['0 s', '14.8 s', '28.8 h', '421 years', 'never']
    """
    if math.isinf(seconds):
        return "never"
    if seconds == 0:
        return "0 s"
    magnitude = abs(seconds)
    for limit_s, unit, unit_s in (
        (1.0, "ms", 1e-3),
        (120.0, "s", 1.0),
        (7_200.0, "min", 60.0),
        (4.0 * _DAY, "h", 3600.0),
        (730.0 * _DAY, "d", float(_DAY)),
    ):
        if magnitude < limit_s:
            return f"{_digits(seconds / unit_s)} {unit}"
    return f"{_digits(seconds / float(_YEAR_DAYS * _DAY))} years"


def _digits(value: float) -> str:
    return f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"
