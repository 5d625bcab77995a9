"""Field by field: what `solve` says is what `simulate` shows, for every field of the schema that takes a number."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pytest

import mcettr
from mcettr.scenario import Scenario
from mcettr.scenario.catalogue import CAUSE, entries

N = 512
NO_NUMBERS = {
    "version", "text", "name of a cause", "list of causes", "true or false", "when_needed | always",
    "wait | queue | shrink", "crash | hang | silent | slow | preemption", "Weibull distribution",
    "pairs of time and multiplier", "shares by cause",
}  # fmt: skip
"""Kinds of fields that hold no number of their own."""

PLAIN: dict[str, Any] = {
    "job": {"gpus": 4096, "work": "5 d", "horizon": "40 d"},
    "checkpoint": {"interval": "30 min", "write_time": "3 min", "stall": "20 s", "slowdown": 0.05, "verify": "10 s"},
    "failures": {"node": {"rate": "8 / 1000 node-days", "detection": "5 min"}, "soft": {"mtbf": "1 d"}},
    "recovery": {"diagnosis": "3 min", "queue_wait": "4 min", "startup": "5 min", "restore": "2 min"},
}
SIZED = {
    **PLAIN,
    "checkpoint": {
        "interval": "30 min", "parameters": 405e9, "bytes_per_parameter": 12, "storage_bandwidth": "100 GB/s",
        "node_bandwidth": "2 GB/s", "latency": "5 s",
    },
    "recovery": {"startup": "5 min", "read_bandwidth": "100 GB/s"},
}  # fmt: skip
KNOWN = {**PLAIN, "failures": {"gpu": {"count": 148, "exposure": "60000 node-days"}}}
KEPT = {
    **PLAIN,
    "checkpoint": {
        "interval": "30 min",
        "write_time": "1 min",
        "bad_probability": 0.3,
        "keep": 2,
        "permanent_every": 20,
    },
    "recovery": {"startup": "5 min", "restore": "4 min", "data_fast_forward": 0.002},
}
LOCAL = {
    **PLAIN,
    "checkpoint": {
        "interval": "1 h", "write_time": "2 min",
        "local": {
            "interval": "5 min", "write_time": "20 s", "stall": "5 s", "restore": "1 min", "survives_node_losses": 1,
        },
    },
    "failures": {
        "node": {"rate": "20 / 1000 node-days", "nodes_lost": 1, "over_eviction": {"binomial": {"n": 3, "p": 0.3}}},
    },
}  # fmt: skip
REPEAT = {"probability": 0.1, "mean_time": "2 h"}
POOL = {
    **PLAIN,
    "failures": {
        "node": {"rate": "6 / 1000 node-days", "detection": "5 min", "repeat": REPEAT},
        "rack": {"rate": "0.5 / 1000 domain-days", "nodes_per_domain": 16, "nodes_lost": 4, "over_eviction": 1,
                 "repeat": REPEAT},
    },
    "recovery": {
        "startup": "5 min", "restore": "2 min",
        "spares": {"count": 6, "swap": "2 min", "repair": "1 d", "repair_failure": 0.1},
    },
    "lemons": {
        "cause": "node", "fraction": 0.02, "multiplier": 20, "eviction_probability": 0.3, "screening_sensitivity": 0.5,
    },
}  # fmt: skip
SHRUNK = {
    **POOL,
    "recovery": {
        "startup": "5 min",
        "spares": {"count": 2, "repair": "2 d", "when_exhausted": "shrink", "min_nodes": 400},
    },
}  # fmt: skip
GROUPS = {
    **PLAIN,
    "recovery": {**PLAIN["recovery"], "replica_groups": {"count": 8, "rejoin": "5 min", "reconfigure": "1 min"}},
}
STOPS = {
    **PLAIN,
    "failures": {
        **PLAIN["failures"],
        "eviction": {"kind": "preemption", "rate": "4 / job-day", "notice": "4 min", "min_lease": "2 h"},
        "drill": {"every": "9 h", "detection": "10 min", "diagnosis": "10 min"},
        "straggler": {"kind": "slow", "slowdown": 0.3, "rate": "2 / job-day", "detection": "2 h"},
    },
    "recovery": {**PLAIN["recovery"], "max_attempt": "1 d",
                 "start_failure": {"probability": 0.2, "max_attempts": 2, "escalation": "1 h"}},
    "maintenance": {"every": "2 d", "duration": "3 h", "notice": "1 h"},
}  # fmt: skip
CHECKED = {
    **PLAIN,
    "failures": {"node": {"rate": "8 / 1000 node-days", "repeat": {"probability": 0.4, "mean_time": "1 h"}},
                 "hang": {"kind": "hang", "rate": "3 / job-day", "detection": "40 min"}},
    "incidents": {"rate": "1 / 2 days", "mean_duration": "6 h", "multiplier": 6},
    "health_checks": {
        "preflight": {"duration": "2 min", "catch_probability": {"node": 0.5}},
        "periodic": {"every": "5 min", "catch_probability": {"hang": 0.5}, "false_positive_rate": "1 / 1000 node-days"},
    },
}  # fmt: skip
OLD = {**PLAIN, "failures": {"psu": {"lifetime": {"weibull": {"shape": 0.7, "mean": "60 d"}}, "fleet_age": "30 d"}}}


class Field(NamedTuple):
    """A job, and the range of a field in which its ETTR changes."""

    base: dict[str, Any]
    low: str
    high: str


FIELDS = {
    "job.gpus": Field(PLAIN, "1024", "16384"),
    "job.gpus_per_node": Field(PLAIN, "2", "16"),
    "checkpoint.interval": Field(PLAIN, "40 min", "6 h"),
    "checkpoint.write_time": Field(PLAIN, "20 s", "20 min"),
    "checkpoint.stall": Field(PLAIN, "1 s", "3 min"),
    "checkpoint.slowdown": Field(PLAIN, "0.01", "0.9"),
    "checkpoint.verify": Field(PLAIN, "1 s", "5 min"),
    "checkpoint.bad_probability": Field(KEPT, "0.01", "0.8"),
    "checkpoint.keep": Field(KEPT, "1", "8"),
    "checkpoint.permanent_every": Field({**KEPT, "checkpoint": {**KEPT["checkpoint"], "keep": 1}}, "2", "60"),
    "checkpoint.parameters": Field(SIZED, "1e11", "5e12"),
    "checkpoint.bytes_per_parameter": Field(SIZED, "2", "60"),
    "checkpoint.storage_bandwidth": Field(SIZED, "10 GB/s", "400 GB/s"),
    "checkpoint.node_bandwidth": Field(SIZED, "0.02 GB/s", "0.2 GB/s"),
    "checkpoint.latency": Field(SIZED, "1 s", "10 min"),
    "checkpoint.local.interval": Field(LOCAL, "5 min", "1 h"),
    "checkpoint.local.write_time": Field(LOCAL, "5 s", "4.9 min"),
    "checkpoint.local.stall": Field(LOCAL, "1 s", "20 s"),
    "checkpoint.local.restore": Field(LOCAL, "10 s", "1 h"),
    "checkpoint.local.survives_node_losses": Field(LOCAL, "0", "4"),
    "failures.soft.mtbf": Field(PLAIN, "1 h", "3 d"),
    "failures.node.rate": Field(PLAIN, "1 / 1000 node-days", "40 / 1000 node-days"),
    "failures.gpu.count": Field(KNOWN, "20", "3000"),
    "failures.gpu.exposure": Field(KNOWN, "3000 node-days", "60000 node-days"),
    "failures.drill.every": Field(STOPS, "3 h", "2 d"),
    "failures.psu.fleet_age": Field(OLD, "1 d", "900 d"),
    "failures.rack.nodes_per_domain": Field(POOL, "4", "64"),
    "failures.rack.nodes_lost": Field(POOL, "1", "10"),
    "failures.rack.over_eviction": Field(POOL, "0", "8"),
    "failures.node.detection": Field(PLAIN, "1 s", "2 h"),
    "failures.drill.diagnosis": Field(STOPS, "1 s", "3 h"),
    "failures.straggler.slowdown": Field(STOPS, "0.01", "0.9"),
    "failures.eviction.notice": Field(STOPS, "1 min", "1 h"),
    "failures.eviction.min_lease": Field(STOPS, "1 min", "1 d"),
    "failures.node.uncertainty.cv": Field(PLAIN, "0.01", "3"),
    "failures.node.repeat.probability": Field(CHECKED, "0.01", "0.9"),
    "failures.node.repeat.mean_time": Field({**CHECKED, "failures": {"node": {"rate": "8 / 1000 node-days",
        "repeat": {"probability": 0.8, "mean_time": "1 h"}}}, "health_checks": {}}, "1 min", "10 d"),
    "recovery.diagnosis": Field(PLAIN, "1 s", "2 h"),
    "recovery.queue_wait": Field(PLAIN, "1 s", "2 h"),
    "recovery.startup": Field(PLAIN, "1 s", "1 h"),
    "recovery.restore": Field(PLAIN, "1 s", "1 h"),
    "recovery.read_bandwidth": Field(SIZED, "4 GB/s", "400 GB/s"),
    "recovery.data_fast_forward": Field(KEPT, "0.0001", "0.05"),
    "recovery.max_attempt": Field(STOPS, "2 h", "4 d"),
    "recovery.start_failure.probability": Field(STOPS, "0.01", "0.8"),
    "recovery.start_failure.max_attempts": Field(STOPS, "1", "8"),
    "recovery.start_failure.escalation": Field(STOPS, "1 min", "1 d"),
    "recovery.spares.count": Field(POOL, "0", "40"),
    "recovery.spares.swap": Field(POOL, "1 s", "2 h"),
    "recovery.spares.repair": Field(POOL, "1 h", "4 d"),
    "recovery.spares.repair_failure": Field(POOL, "0.01", "0.9"),
    "recovery.spares.min_nodes": Field(SHRUNK, "200", "512"),
    "recovery.replica_groups.count": Field(GROUPS, "2", "64"),
    "recovery.replica_groups.rejoin": Field(GROUPS, "1 s", "4 h"),
    "recovery.replica_groups.reconfigure": Field(GROUPS, "1 s", "1 h"),
    "uncertainty.cv": Field({**PLAIN, "uncertainty": {"cv": 0.2}}, "0.01", "3"),
    "incidents.rate": Field(CHECKED, "1 / 40 days", "1 / 0.2 days"),
    "incidents.mean_duration": Field(CHECKED, "10 min", "10 d"),
    "incidents.multiplier": Field(CHECKED, "0.1", "30"),
    "lemons.fraction": Field(POOL, "0.0001", "0.3"),
    "lemons.multiplier": Field(POOL, "1", "300"),
    "lemons.eviction_probability": Field({**POOL, "lemons": {**POOL["lemons"], "multiplier": 200}}, "0.01", "1"),
    "lemons.screening_sensitivity": Field(
        {**POOL, "lemons": {**POOL["lemons"], "multiplier": 200, "fraction": 0.1}}, "0.01", "0.99"
    ),
    "maintenance.every": Field(STOPS, "6 h", "10 d"),
    "maintenance.duration": Field(STOPS, "1 min", "1 d"),
    "maintenance.notice": Field({**STOPS, "maintenance": {"every": "6 h", "duration": "10 min", "notice": "1 min"},
                                 "checkpoint": {**PLAIN["checkpoint"], "interval": "2 h"}}, "1 min", "1 h"),
    "health_checks.preflight.duration": Field(CHECKED, "1 s", "1 h"),
    "health_checks.periodic.every": Field(CHECKED, "10 s", "1 h"),
    "health_checks.periodic.false_positive_rate": Field(CHECKED, "0.01 / 1000 node-days", "40 / 1000 node-days"),
}  # fmt: skip
ELSEWHERE = {
    "job.work": "more work changes the first and the last interval only: the ETTR of both ends is nearly the same",
    "job.horizon": "the same",
    "job.saved": "the same",
}
"""Fields on which an ETTR hardly depends: a date does (tests/test_sweep_search.py)."""


def numeric() -> list[str]:
    """Return the paths of the schema that take a number."""
    return [entry.dotted for entry in entries() if entry.kind.name not in NO_NUMBERS]


def test_no_field_is_left_out() -> None:
    tried = set(ELSEWHERE) | {
        ".".join(
            CAUSE if name == "failures" else key
            for name, key in zip(("", *path.split(".")), path.split("."), strict=False)
        )
        for path in FIELDS
    }
    assert set(numeric()) == tried


@cache
def ends(path: str) -> tuple[float, float]:
    """Return the ETTR at both ends of a range."""
    base, low, high = FIELDS[path]
    found = mcettr.sweep(base, {path: [low, high]}, timelines=N)
    return float(found.ettr[0]), float(found.ettr[1])


@pytest.mark.slow
@pytest.mark.parametrize("path", FIELDS)
def test_a_target_between_the_ends_is_met_where_solve_says(path: str) -> None:
    base, low, high = FIELDS[path]
    at_low, at_high = ends(path)
    assert abs(at_low - at_high) > 0.004, (at_low, at_high)
    target = 0.5 * (at_low + at_high)
    found = mcettr.solve(base, vary=f"{path}={low}:{high}", target={"ettr": target}, timelines=N)
    assert found.value is not None, found.reason
    assert found.feasible
    checked = found.achieved
    error = (checked.ettr_se**2 * 2.0) ** 0.5
    if checked.ettr > target + 4.0 * error + 0.002:  # the next number, or the other side of a jump, does not meet it
        beyond = [value for value in neighbours(found) if value != found.value.estimate]
        others = [mcettr.simulate(at_value(base, path, found.value, value), timelines=N).ettr for value in beyond]
        assert min(map(float, others)) < target + 4.0 * error, (checked, target, beyond, others)
    assert checked.ettr > target - 4.0 * error - 0.002, (checked, target)
    again = mcettr.simulate(at_value(base, path, found.value), timelines=N, seed=1)
    assert abs(float(again.ettr) - checked.ettr) < 5.0 * (checked.ettr_se**2 + float(again.ettr_se) ** 2) ** 0.5


def neighbours(found: Any) -> list[float]:
    """Return the values beside an answer: the ends of its interval, and the points tried next to it."""
    value, tried = found.value, [point.value for point in found.table]
    below = [x for x in tried if x < value.estimate]
    above = [x for x in tried if x > value.estimate]
    return [value.low, value.high, *below[-1:], *above[:1]]


def at_value(base: dict[str, Any], path: str, value: Any, number: float | None = None) -> Scenario:
    """Return the job at an answer, or at another number of its unit, as a user would write it."""
    unit = "" if value.unit == "1" else value.unit.removeprefix("1 ")
    return mcettr.load(base).replace({path: f"{value.estimate if number is None else number!r} {unit}".strip()})


NO_DEFAULT_RANGE = ("job.gpus_per_node", "failures.node.uncertainty.cv")
"""Fields that the jobs leave to their default, from which no range can start."""


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in FIELDS if path not in NO_DEFAULT_RANGE])
def test_without_a_range_no_simulated_point_contradicts_what_is_said(path: str) -> None:
    base = FIELDS[path].base
    for target in (0.3, 0.5, 0.9, 0.97):
        found = mcettr.solve(base, vary=path, target={"ettr": target}, timelines=256)
        if found.value is not None:
            assert found.achieved.ettr > target - 4.0 * found.achieved.ettr_se - 0.003, (target, found)
            continue
        for point in found.table:
            if abs(point.ettr - target) > 4.0 * point.ettr_se + 0.003:
                assert (point.ettr > target) == found.feasible, (target, found, point)


@pytest.mark.slow
@pytest.mark.parametrize("path", [
    "recovery.spares.repair", "maintenance.duration", "failures.eviction.notice", "failures.eviction.min_lease",
    "recovery.max_attempt",
])  # fmt: skip
def test_without_a_range_what_is_said_of_every_value_holds_at_values_in_between(path: str) -> None:
    base = FIELDS[path].base
    for target in (0.3, 0.999):
        found = mcettr.solve(base, vary=path, target={"ettr": target}, timelines=N)
        if found.value is not None:
            continue
        low, high = found.table[0].value, found.table[-1].value
        tried = [low, (low * high) ** 0.5, high]
        simulated = mcettr.sweep(base, {path: [f"{value!r} s" for value in tried]}, timelines=N)
        assert bool((simulated.ettr > target).all()) if found.feasible else bool((simulated.ettr < target).all())
