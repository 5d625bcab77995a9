"""A small scenario as a mapping, and what loading one says."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from mcettr.errors import ScenarioError
from mcettr.scenario import load

BASE: dict[str, Any] = {
    "job": {"gpus": 1024, "work": "30 d", "horizon": "60 d"},
    "checkpoint": {"interval": "30 min", "write_time": "60 s"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days", "detection": "5 min"}, "software": {"rate": "0.2 / job-day"}},
    "recovery": {"startup": "3 min", "restore": {"lognormal": {"mean": "5 min", "cv": 1.5}}},
}


def with_value(path: str, value: object) -> dict[str, Any]:
    tree = copy.deepcopy(BASE)
    *sections, key = path.split(".")
    inner = tree
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[key] = value
    return tree


def refusal(source: Any, overrides: dict[str, object] | None = None) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(source, overrides)
    text = str(caught.value)
    assert text.splitlines() == [str(one) for one in caught.value.errors]
    assert all("expected" in line for line in text.splitlines())
    return text


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


YAML = """\
schema_version: 1
job:
  gpus: 1024
  work: 30 d
checkpoint: {interval: 30 min, write_time: 60 s}
failures:
  node:
    rate: 6.5 / 1000 node-days
"""
