"""A sound scenario for the tests of warnings, changes that call for one each, and scenarios drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

BASE: dict[str, Any] = {
    "job": {"gpus": 4096, "gpus_per_node": 8, "work": "20 d", "horizon": "40 d"},
    "checkpoint": {"interval": "30 min", "write_time": "1 min"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days", "detection": "5 min"}},
    "recovery": {"diagnosis": "3 min", "startup": "5 min", "restore": "2 min"},
}
NO_WAITS = {"failures.node.detection": "0 s", "recovery.diagnosis": "0 s"}
AT_ONCE = {"recovery.startup": "0 s", "recovery.restore": "0 s"}
CALLED_FOR: list[tuple[str, str, dict[str, Any]]] = [
    ("much-rework", "checkpoint.interval", {"checkpoint.interval": "never"}),
    ("much-checkpoint", "checkpoint.interval", {"checkpoint.interval": "30 s"}),
    ("much-spare-wait", "recovery.spares.count", {"recovery.spares": {"count": 0, "repair": "1 d"}}),
    ("much-spare-wait", "recovery.spares.count", {"recovery.spares": {"count": 4, "repair": "900 d"}}),
    ("much-queue", "recovery.queue_wait", {"recovery.queue_wait": "3 h"}),
    ("much-maintenance", "maintenance.duration", {"maintenance": {"every": "1 d", "duration": "23 h"}}),
    ("much-startup", "recovery.startup", {"recovery.max_attempt": "8 min"}),
    ("much-detection", "failures.hang.detection",
     {"failures.hang": {"kind": "hang", "rate": "0.02 / job-day", "detection": "never"}}),
    ("much-degraded", "failures.slow",
     {"failures.slow": {"kind": "slow", "rate": "12 / job-day", "slowdown": 0.6, "detection": "9 d"}}),
    ("no-progress", "failures.node", {"failures.node.rate": "0.96 / node-hour"}),
    ("no-progress", "recovery.start_failure.probability", {"recovery.start_failure": {"probability": 1}}),
    ("too-many-restarts", "failures.node", NO_WAITS | {"failures.node.rate": "1e12 / day"}),
    ("too-many-restarts", "failures.node", {"job.horizon": None, "failures.node.rate": "0.6 / node-day"}),
    ("too-many-restarts", "recovery.max_attempt",
     AT_ONCE | {"recovery.max_attempt": "61 s", "job.horizon": "9999 d"}),
    ("too-many-restarts", "maintenance.every", AT_ONCE | {"maintenance": {"every": "1 s", "duration": "0.01 s"}}),
    ("unfinished", "job.horizon", {"job.horizon": "21 d"}),
    ("too-slow", "job.horizon", {"failures.node.rate": "0.1 / node-day"}),
    ("no-clean-checkpoint", "checkpoint.keep",
     {"checkpoint.keep": 2, "failures.sdc": {"kind": "silent", "rate": "1 / job-day", "detection": "1 h"}}),
    ("kept-corrupt", "failures.sdc.detection",
     {"failures.sdc": {"kind": "silent", "rate": "0.1 / job-day", "detection": "never"}}),
    ("rate-factor", "lemons.multiplier",
     {"lemons": {"cause": "node", "fraction": 0.012, "multiplier": 30, "eviction_probability": 0}}),
    ("rate-factor", "failures.node.repeat.probability",
     {"failures.node.repeat": {"probability": 0.5, "mean_time": "1 h"}}),
    ("rate-factor", "incidents.multiplier",
     {"incidents": {"rate": "1 / 2 days", "mean_duration": "1 d", "multiplier": 5}}),
    ("rate-factor", "failures.node.profile", {"failures.node.profile": [["0 d", 3], ["14 d", 1]]}),
]  # fmt: skip
"""Code and path of a warning, and what calls for it."""


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Return changes of `BASE` with a few mechanisms at random numbers, harsh enough that there is much to warn of."""

    def log(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    found: dict[str, Any] = {
        "job.gpus": int(2 ** rng.integers(7, 13)),
        "job.work": f"{log(3, 20):.3g} d",
        "job.horizon": f"{log(25, 60):.3g} d",
        "checkpoint.interval": f"{log(5, 600):.3g} min",
        "checkpoint.write_time": f"{log(10, 280):.3g} s",
        "failures.node.rate": f"{log(5, 80):.3g} / 1000 node-days",
        "failures.node.detection": f"{log(1, 120):.3g} min",
    }
    optional = [
        {"recovery.spares": {"count": int(rng.integers(0, 5)), "repair": f"{log(2, 60):.3g} h"}},
        {"recovery.spares": {"count": int(rng.integers(0, 3)), "repair": f"{log(2, 60):.3g} h",
                             "when_exhausted": "queue"},
         "recovery.queue_wait": {"exponential": {"mean": f"{log(1, 8):.3g} h"}}},
        {"lemons": {"cause": "node", "fraction": log(0.005, 0.03), "multiplier": log(10, 60),
                    "eviction_probability": float(rng.uniform())}},
        {"failures.sdc": {"kind": "silent", "rate": f"{log(0.2, 3):.3g} / job-day",
                          "detection": f"{log(0.3, 12):.3g} h"},
         "checkpoint.keep": int(rng.integers(1, 4))},
        {"failures.slow": {"kind": "slow", "rate": f"{log(0.2, 2):.3g} / job-day",
                           "slowdown": float(rng.uniform(0.2, 0.8)), "detection": f"{log(2, 72):.3g} h"}},
        {"failures.node.repeat": {"probability": float(rng.uniform(0.1, 0.6)), "mean_time": f"{log(0.2, 5):.3g} h"}},
        {"incidents": {"rate": "1 / 2 days", "mean_duration": f"{log(2, 24):.3g} h", "multiplier": log(2, 10)}},
        {"maintenance": {"every": f"{log(1, 5):.3g} d", "duration": f"{log(2, 18):.3g} h"}},
        {"recovery.start_failure": {"probability": float(rng.uniform(0.1, 0.8))}, "recovery.startup": "15 min"},
        {"recovery.max_attempt": f"{log(2, 24):.3g} h", "recovery.queue_wait": "30 min"},
    ]  # fmt: skip
    for index in rng.choice(len(optional), size=3, replace=False):
        found |= optional[int(index)]
    return found
