"""Unit strings: what is read, to the last bit, and what is refused with which words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcettr import units
from mcettr.errors import ScenarioError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60 s", 60.0),
        ("60s", 60.0),
        (" 1.5 h ", 5400.0),
        ("2 days", 172_800.0),
        ("1 Week", 604_800.0),
        ("1.1 ms", 0.0011),
        ("0.1 min", 6.0),
        (".5 min", 30.0),
        ("1e3 s", 1000.0),
        ("0 s", 0.0),
        ("10 minutes", 600.0),
        ("1 year", 31_557_600.0),
        ("never", math.inf),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert units.parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "per_s", "unit"),
    [
        ("6.5 / 1000 node-days", 6.5 / 86_400_000, "node"),
        ("6.5/1000 node-days", 6.5 / 86_400_000, "node"),
        ("6.5 per 1000 node-days", 6.5 / 86_400_000, "node"),
        ("2 / gpu-hour", 2 / 3600, "gpu"),
        ("0.2 / job-day", 0.2 / 86_400, "job"),
        ("1 / 10 domain-days", 1 / 864_000, "domain"),
        ("1 / 10 days", 1 / 864_000, "job"),
        ("0 / job-day", 0.0, "job"),
    ],
)
def test_rates(text: str, per_s: float, unit: str) -> None:
    rate = units.parse_rate(text)
    assert rate.unit == unit
    assert rate.per_s == pytest.approx(per_s, rel=1e-15)


def test_exposure_work_and_sizes() -> None:
    assert units.parse_exposure("110592 node-days") == units.Exposure(110_592 * 86_400.0, "node")
    assert units.parse_work("8.8e6 gpu-hours") == units.Exposure(8.8e6 * 3600, "gpu")
    assert units.parse_work("30 d") == units.Exposure(30 * 86_400.0, "job")
    assert units.parse_size_bytes("1.6 TB") == 1.6e12
    assert units.parse_size_bytes("2 MiB") == 2 * 1024**2
    assert units.parse_size_bytes("3 kB") == units.parse_size_bytes("3 KB") == 3000.0
    assert units.parse_bandwidth_bytes_per_s("1.5 GiB/s") == 1.5 * 1024**3
    assert units.parse_fraction("12.5 %") == 0.125
    assert units.parse_fraction(1) == 1.0


@pytest.mark.parametrize(
    ("parse", "value", "words"),
    [
        (units.parse_duration_s, 60, "found 60 without a unit; write '60 s' or '60 min'"),
        (units.parse_duration_s, "60", "found 60 without a unit"),
        (units.parse_duration_s, -60, "without a unit"),
        (units.parse_duration_s, "-5 s", "negative"),
        (units.parse_duration_s, math.nan, "not a finite number"),
        (units.parse_duration_s, math.inf, "not a finite number"),
        (units.parse_duration_s, 10**400, "not a finite number"),
        (units.parse_duration_s, "nan s", "found 'nan s'"),
        (units.parse_duration_s, "inf s", "found 'inf s'"),
        (units.parse_duration_s, "5 GB", "found '5 GB', a size"),
        (units.parse_duration_s, "6 / 1000 node-days", "a rate"),
        (units.parse_duration_s, "5 m", "write 'min'"),
        (units.parse_duration_s, "1,000 s", "found '1,000 s'"),
        (units.parse_duration_s, "", "found ''"),
        (units.parse_duration_s, None, "found nothing"),
        (units.parse_duration_s, True, "found True"),
        (units.parse_duration_s, [1], "found [1] (list)"),
        (units.parse_duration_s, "1e999999999 s", "between 1e-300 and 1e300"),
        (units.parse_rate, 6.5, "write '6.5 / 1000 node-days'"),
        (units.parse_rate, "5 min", "a duration"),
        (units.parse_rate, "5 / 0 node-days", "expected a rate"),
        (units.parse_rate, "5 / 1000 nodes", "expected a rate"),
        (units.parse_exposure, 110_592, "without a unit"),
        (units.parse_work, "10 node-days", "gpu-hours"),
        (units.parse_work, 30, "write '30 d' or another unit"),
        (units.parse_fraction, 1.5, "from 0 to 1"),
        (units.parse_fraction, "110 %", "from 0 to 1"),
        (units.parse_fraction, "-1 %", "negative"),
        (units.parse_bandwidth_bytes_per_s, "100 Gbps", "bytes"),
        (units.parse_bandwidth_bytes_per_s, "100 GB", "a size"),
        (units.parse_size_bytes, "1 gb", "expected a size"),
    ],
)
def test_refusals_name_what_was_expected_and_found(parse: object, value: object, words: str) -> None:
    assert callable(parse)
    with pytest.raises(ScenarioError, match=r"^expected") as caught:
        parse(value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1e-4, "0.1 ms"),
        (0.25, "250 ms"),
        (14.8, "14.8 s"),
        (60.0, "60 s"),
        (300.0, "5 min"),
        (103_680.0, "28.8 h"),
        (47.7 * 86_400, "47.7 d"),
        (1000 / 0.0065 * 86_400, "421 years"),
        (-5.0, "-5 s"),
    ],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert units.format_duration(seconds) == text


@given(st.floats(1e-3, 1e10))
def test_what_is_printed_reads_back_to_three_digits(seconds: float) -> None:
    text = units.format_duration(seconds)
    assert len(text) <= 16
    assert units.parse_duration_s(text) == pytest.approx(seconds, rel=6e-3)


@given(
    st.decimals(0, 10**6, places=3),
    st.sampled_from([("ms", "s"), ("s", "min"), ("min", "h"), ("h", "d"), ("d", "week")]),
)
def test_a_change_of_unit_changes_nothing(number: object, pair: tuple[str, str]) -> None:
    small, large = pair
    ratio = {"ms": 1000, "s": 60, "min": 60, "h": 24, "d": 7}[small]
    from decimal import Decimal

    scaled = Decimal(str(number)) * ratio
    assert units.parse_duration_s(f"{scaled} {small}") == units.parse_duration_s(f"{number} {large}")


@given(st.floats(1e-200, 1e200))
def test_seconds_keep_every_bit(seconds: float) -> None:
    assert units.parse_duration_s(f"{seconds!r} s") == seconds


@given(st.text(max_size=30))
def test_any_text_is_a_quantity_or_a_unit_error(text: str) -> None:
    try:
        quantity = units.read_quantity(text)
    except units.UnitError:
        return
    assert quantity.factor > 0
