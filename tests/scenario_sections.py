"""A scenario whose optional sections are changed, for the tests of what they compile to."""

from __future__ import annotations

from typing import Any

from mcettr.model.params import Cause, Params
from mcettr.scenario import load
from mcettr.scenario.compile_job import job_params
from mcettr.scenario.document import read_yaml

DAY_S, HOUR_S = 86_400.0, 3_600.0
BASE = """
job: {gpus: 16384, work: 30 d, horizon: 60 d}
checkpoint: {interval: 30 min, write_time: 60 s}
failures: {node: {rate: 6.5 / 1000 node-days}, software: {rate: 0.2 / job-day}}
recovery: {startup: 3 min, restore: 2 min}
"""


def tree(text: str) -> dict[str, Any]:
    return read_yaml(text, "test").tree


def params(change: str = "{}", **overrides: object) -> Params:
    """Return the job of the base with `change` merged on top, not checked against contradictions."""
    text = tree(change) if change.strip() != "{}" else {}
    scenario = load(tree(BASE))
    flat: dict[str, object] = {}
    for section, body in text.items():
        inner = body if isinstance(body, dict) else {"": body}
        flat.update({f"{section}.{key}".rstrip("."): value for key, value in inner.items()})
    return job_params(scenario.replace({**flat, **{k.replace("__", "."): v for k, v in overrides.items()}}).spec)


def cause(text: str, name: str = "x") -> Cause:
    made = params(f"failures: {{{name}: {text}}}")
    return next(one for one in made.causes if one.name == name)
