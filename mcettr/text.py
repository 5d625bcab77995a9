"""Numbers as people read them: plain ASCII, short, "never" for what has no end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mcettr.units import UnitError, format_duration, parse_duration_s, split_number

_WIDE = 100.0
"""Values further apart than this factor are shown in units of their own."""
_MOST_DECIMALS = 6


def number(value: float) -> str:
    """Return a number for people: four digits, thousands apart, "never" for infinity.

    >>> [number(x) for x in (0.0, 1234567.8, 3.14159, float("inf"), float("nan"))]
    ['0', '1,234,568', '3.142', 'never', '-']
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(value: float) -> str:
    """Return a share with four decimals; "-" where it is undefined.

    >>> share(0.69314), share(9.6e-21), share(0.0)
    ('0.6931', '9.6e-21', '0.0000')
    """
    if not math.isfinite(value):
        return "-"
    return f"{value:.2g}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"


def bounded(value: float, low: float, high: float, show: Callable[[float], str]) -> str:
    """Return an estimate or, where it is nan, what its 95 % interval says; "-" where that is nothing.

    >>> bounded(0.25, 0.0, 1.0, share), bounded(math.nan, 0.0, 0.0468, share), bounded(math.nan, 52.0, math.nan, number)
    ('0.2500', '< 0.0468 (95 %)', '> 52 (95 %)')
    """
    if not math.isnan(value):
        return show(value)
    has_low, has_high = low > 0.0, math.isfinite(high)
    if has_low and has_high:
        return f"{show(low)} to {show(high)}"
    if has_high:
        return f"< {show(high)} (95 %)"
    return f"> {show(low)} (95 %)" if has_low and math.isfinite(low) else "-"


def interval_text(low: float, high: float) -> str:
    """Return an interval of shares with the decimals that its width supports, two to four.

    >>> interval_text(0.4953, 0.7271), interval_text(0.5871, 0.6465), interval_text(0.0, 0.00375)
    ('0.50 to 0.73', '0.587 to 0.646', '0.0000 to 0.0037')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return "-"
    decimals = min(max(1 - math.floor(math.log10(max(high - low, 1e-9))), 2), 4)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def duration(value_s: float) -> str:
    """Return a duration for people; "-" where it is undefined.

    >>> duration(5400.0), duration(float("nan"))
    ('90 min', '-')
    """
    return "-" if math.isnan(value_s) else format_duration(value_s)


def short_labels(labels: Sequence[str]) -> list[str]:
    """Return labels with their numbers cut to four digits, where all stay different.

    >>> short_labels(["2.58734023677 s", "6.5 / 1000 node-days", "never"])
    ['2.587 s', '6.5 / 1000 node-days', 'never']
    """
    found = [_short(label) for label in labels]
    return found if len(set(found)) == len(set(labels)) else list(labels)


def _short(label: str) -> str:
    try:
        text, unit = split_number(label)
    except UnitError:
        return label
    return label if len(text) <= 7 else f"{float(text):.4g} {unit}".rstrip()


def value_text(value: float, unit: str) -> str:
    """Return a value of a field as the user would write it.

    >>> value_text(21.53, "s"), value_text(6.5, "1 / 1000 node-days"), value_text(12288.0, "1")
    ('21.5 s', '6.5 / 1000 node-days', '12,288')
    """
    if unit == "s":
        return duration(value)
    return number(value) if unit == "1" else f"{number(value)} {unit.removeprefix('1 ')}"


def alike(values: Sequence[float], unit: str) -> list[str]:
    """Return values that stand in one sentence: in the unit of the first one, all with as many decimals.

    >>> alike([21.1, 21.0, 21.2], "s"), alike([117.0, 112.0, 121.8], "s"), alike([64.0, 56.0, 1e3], "1")
    (['21.1 s', '21.0 s', '21.2 s'], ['117 s', '112 s', '122 s'], ['64', '56', '1,000'])
    """
    if not all(0.0 < value < math.inf for value in values) or max(values) > _WIDE * min(values):
        return [value_text(value, unit) for value in values]
    suffix = split_number(duration(values[0]))[1] if unit == "s" else unit.removeprefix("1").strip()
    numbers = [value / parse_duration_s(f"1 {suffix}") for value in values] if unit == "s" else list(values)
    whole = all(x == round(x) for x in numbers)
    decimals = 0 if whole else max(2 - math.floor(math.log10(max(numbers))), 0)
    while len({f"{x:.{decimals}f}" for x in numbers}) < len(set(numbers)) and decimals < _MOST_DECIMALS:
        decimals += 1
    texts = [f"{x:,.{decimals}f}" for x in numbers]
    return [f"{text} {suffix}".rstrip() for text in texts]


def reason(error: OSError) -> str:
    """Return what went wrong with a file, in the words of the system.

    >>> reason(OSError(28, "No space left on device"))
    "'no space left on device'"
    """
    return f"'{(error.strerror or str(error)).lower()}'"
