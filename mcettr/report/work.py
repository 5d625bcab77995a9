"""How much work a job has, in days and in GPU-hours side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcettr.errors import ScenarioError
from mcettr.report.text import duration, number
from mcettr.units import parse_work, value_text

_HOUR_S = 3600.0


def scenario_tree(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the scenario that a result came from, from the attributes of its dataset."""
    from mcettr.scenario.document import read_yaml

    return read_yaml(json.loads(attrs["provenance"])["scenario"], "scenario").tree


def work_by_gpus(tree: Mapping[str, Any], least: float, most: float) -> str:
    """Return what a job's work means where its number of GPUs varies from `least` to `most`.

    >>> work_by_gpus({"job": {"work": "30 d"}}, 1024.0, 4096.0)
    'job.work is 30 d at full speed whatever the GPUs: 737,280 GPU-hours with 1,024, 2,949,120 with 4,096.'
    >>> work_by_gpus({"job": {"work": "2.4e6 gpu-hours"}}, 1000.0, 2000.0)
    'job.work is 2.4e6 gpu-hours whatever the GPUs: 100 d at full speed with 1,000, 50 d with 2,000.'
    """
    try:
        work = parse_work(tree["job"]["work"])
    except (KeyError, TypeError, ScenarioError):
        return ""
    ends = dict.fromkeys((least, most))
    if work.unit == "job":
        amounts = [f"{number(gpus * work.duration_s / _HOUR_S)} GPU-hours with {number(gpus)}" for gpus in ends]
        amounts[1:] = [text.replace(" GPU-hours", "") for text in amounts[1:]]
        total = f"{value_text(tree['job']['work'])} at full speed"
    else:
        amounts = [f"{duration(work.duration_s / gpus)} at full speed with {number(gpus)}" for gpus in ends]
        amounts[1:] = [text.replace(" at full speed", "") for text in amounts[1:]]
        total = value_text(tree["job"]["work"])
    return f"job.work is {total} whatever the GPUs: {', '.join(amounts)}."
