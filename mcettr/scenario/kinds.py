"""How values are written, by kind: the forms that people write, and the JSON Schema that editors check them with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcettr.model.distributions import Distribution
from mcettr.scenario.laws import ALTERNATIVES
from mcettr.scenario.values import CAUSE_KINDS, SCHEMA_VERSION, Stall

_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
Schema = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of value.

    Parameters
    ----------
    name : str
        What it is, with its units.
    forms : tuple of str
        The ways to write it.
    schema : mapping
        JSON Schema of all that is read.
    unit : str
        The unit of a bare default ("s" for durations).
    """

    name: str
    forms: tuple[str, ...]
    schema: Schema
    unit: str = ""

    def text(self, default: object) -> str:
        """Return a default as the user would write it; nothing where the field is off."""
        if isinstance(default, Distribution) and default.kind == "fixed":
            default = default.values[0]
        if isinstance(default, bool):
            return str(default).lower()
        if isinstance(default, float):
            return "no limit" if math.isinf(default) else f"{default:g} {self.unit}".strip()
        if isinstance(default, Stall):
            return default.kind
        return str(default) if isinstance(default, (int, str)) else ""


def _string(pattern: str) -> Schema:
    return {"type": "string", "pattern": rf"^\s*{pattern}\s*$"}


def _words(*words: str) -> Schema:
    return {"enum": list(words)}


def _any_of(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def _mapping(**properties: Schema) -> Schema:
    """Return the schema of a mapping with these keys and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_TIME = _string(rf"{_NUMBER}\s*[A-Za-z]+(\s*{_NUMBER}\s*[A-Za-z]+)*")
_EXPOSURE = _string(rf"{_NUMBER}\s*[A-Za-z]+(\s*-\s*[A-Za-z]+)?(\s*{_NUMBER}\s*[A-Za-z]+)*")
_RATE = _string(rf"{_NUMBER}\s*%?\s*(/|per\b).+")
_SHARE = _any_of({"type": "number", "minimum": 0, "maximum": 1}, _string(rf"{_NUMBER}\s*%?"))
_BANDWIDTH = _string(rf"{_NUMBER}\s*[A-Za-z]+\s*/\s*(s|sec|second)")
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_NAMED_NUMBERS: Schema = {"type": "number", "exclusiveMinimum": 0}
_TIMES = ("mean", "median", "scale")

SHARED: dict[str, Schema] = {
    "distribution": {
        "type": "object",
        "description": "a distribution of times, of one of these names",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {
            **{
                kind: _mapping(
                    **{n: _TIME if n in _TIMES else _NAMED_NUMBERS for group in groups for n in group},
                )
                for kind, groups in ALTERNATIVES.items()
            },
            "uniform": {"type": "array", "items": _TIME, "minItems": 2, "maxItems": 2},
            "quantiles": {"type": "object", "additionalProperties": _TIME, "minProperties": 2},
            "mixture": {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 2, "maxItems": 2}},
        },
    }
}
"""Parts of the JSON Schema that several kinds refer to."""

_DISTRIBUTED = _any_of(_TIME, _ref("distribution"))
_LAW_FORMS = (
    "5 min",
    "{exponential: {mean: 5 min}}",
    "{lognormal: {mean: 10 min, cv: 1.5}}",
    "{lognormal: {median: 10 min, sigma: 1}}",
    "{gamma: {mean: 10 min, cv: 0.5}}",
    "{weibull: {mean: 1 h, shape: 0.7}}",
    "{uniform: [45 min, 75 min]}",
    "{quantiles: {0.5: 3 min, 0.9: 40 min}}",
    "{mixture: [[0.9, 30 s], [0.1, {exponential: {mean: 6 h}}]]}",
)
_TIME_FORMS = ("90 s", "5 min", "1.5 h", "1 h 30 min", "1h30m", "30 d", "2 weeks", "1 year")

VERSION = Kind("version", ("1",), {"const": SCHEMA_VERSION})
TEXT = Kind("text", ("any words",), {"type": "string"})
NAME = Kind("name of a cause", ("node",), {"type": "string"})
NAMES = Kind("list of causes", ("[node]",), {"type": "array", "items": {"type": "string"}, "minItems": 1})
FLAG = Kind("true or false", ("true", "false"), {"type": "boolean"})
COUNT = Kind("whole number, from 1", ("8",), {"type": "integer", "minimum": 1})
COUNT_FROM_0 = Kind("whole number, from 0", ("0", "8"), _WHOLE)
SPARE_COUNT = Kind("whole number, or unlimited", ("12", "unlimited"), _any_of(_WHOLE, _words("unlimited")))
NUMBER = Kind("number, from 0", ("0.3", "8"), {"type": "number", "minimum": 0})
POSITIVE_NUMBER = Kind("number above 0", ("405e9",), {"type": "number", "exclusiveMinimum": 0})
SHARE = Kind("share, 0 to 1 or %", ("0.1", "10 %"), _SHARE)
DURATION = Kind("time", _TIME_FORMS, _TIME, "s")
LAW = Kind("time or distribution", _LAW_FORMS, _DISTRIBUTED, "s")
DETECTION = Kind("time or distribution, or never", (*_LAW_FORMS, "never"), _any_of(_DISTRIBUTED, _words("never")), "s")
LIFETIME = Kind("Weibull distribution", ("{weibull: {shape: 0.7, mean: 900 d}}",), _ref("distribution"))
FLEET_AGE = Kind("time, or stationary", ("30 d", "stationary"), _any_of(_TIME, _words("stationary")))
WORK = Kind("time at full speed, or GPU-hours", ("30 d", "8.8e6 gpu-hours"), _EXPOSURE)
EXPOSURE = Kind("node-days, GPU-hours, or time of the job", ("110592 node-days", "2.5e6 gpu-hours", "54 d"), _EXPOSURE)
RATE = Kind(
    "rate per job, node, GPU or domain",
    ("6.5 / 1000 node-days", "0.0065 / node-day", "2 % / node-year", "1e-6 / gpu-hour", "0.2 / job-day",
     "1 / 10 domain-days"),
    _RATE,
)  # fmt: skip
JOB_RATE = Kind("rate of the whole job", ("1 / 10 days",), _RATE)
ALARM_RATE = Kind("rate per job, node or GPU", ("0.1 / 1000 node-days",), _RATE)
BANDWIDTH = Kind("bandwidth", ("100 GB/s", "2 GiB/s"), _BANDWIDTH)
INTERVAL = Kind("time of work, auto or never", ("30 min", "auto", "never"), _any_of(_TIME, _words("auto", "never")))
STALL = Kind(
    "full, a time, or % of the write time", ("full", "5 s", "10 %"),
    _any_of(_words("full"), _TIME, _string(rf"{_NUMBER}\s*%")),
)  # fmt: skip
CAUSE_KIND = Kind(" | ".join(CAUSE_KINDS), CAUSE_KINDS, _words(*CAUSE_KINDS))
WHEN_EXHAUSTED = Kind("wait | queue | shrink", ("wait", "queue", "shrink"), _words("wait", "queue", "shrink"))
REQUEUE = Kind("when_needed | always", ("when_needed", "always"), _words("when_needed", "always"))
NODE_COUNTS = Kind(
    "number of nodes, or its distribution",
    ("4", "all", "{values: {0: 0.5, 1: 0.5}}", "{binomial: {n: 16, p: 0.8}}"),
    _any_of(
        _WHOLE,
        _words("all"),
        _mapping(
            values={"type": "object", "additionalProperties": _SHARE, "minProperties": 1},
            binomial=_mapping(n=_any_of(_WHOLE, _words("all")), p=_SHARE),
        ),
    ),
)
PROFILE = Kind(
    "pairs of time and multiplier", ("[[0 d, 3], [14 d, 1]]", "{0 d: 3, 14 d: 1}"),
    _any_of(
        {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 2, "maxItems": 2}},
        {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
    ),
)  # fmt: skip
REPAIR = Kind(
    "mean time, or two branches",
    ("1 d", "{quick: {share: 0.7, mean: 1 h}, slow: {mean: 2 d}}"),
    _any_of(_DISTRIBUTED, _mapping(quick=_mapping(share=_SHARE, mean=_TIME), slow=_mapping(mean=_TIME))),
)
_PHASE = _mapping(time=_DISTRIBUTED, time_per_1024_nodes=_DISTRIBUTED, when=_words("always", "replaced"))
STARTUP = Kind(
    "time or distribution, or phases by name",
    ("3 min", "{image: {time: 450 s, when: replaced}, communicator: {time_per_1024_nodes: 30 s}, compile: 4 min}"),
    _any_of(_DISTRIBUTED, {"type": "object", "additionalProperties": _any_of(_DISTRIBUTED, _PHASE)}),
)
CHANCES = Kind(
    "shares by cause", ("{node: 0.5}", "{node: 0.5, lemon: 0.8}"),
    {"type": "object", "additionalProperties": _SHARE, "minProperties": 1},
)  # fmt: skip
ANY = Kind("value", (), {})
"""The kind of a field that names none."""
