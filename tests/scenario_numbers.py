"""A small scenario compiled, for the tests of its numbers and grids."""

from __future__ import annotations

from typing import Any

from mcettr.scenario.leaves import map_numbers

BASE: dict[str, Any] = {
    "job": {"gpus": 1024, "work": "30 d", "horizon": "60 d"},
    "checkpoint": {"interval": "30 min", "write_time": "60 s"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days", "detection": "5 min"}},
    "recovery": {"startup": "3 min", "restore": "2 min", "diagnosis": "1 min"},
}


def leaves(record: object) -> list[Any]:
    found: list[Any] = []
    map_numbers(record, lambda number: found.append(number) or number)
    return found
