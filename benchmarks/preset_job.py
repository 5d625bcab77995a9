"""One preset in a process of its own: ``python -m benchmarks.preset_job NAME TIMELINES`` prints one JSON object."""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.timing import compile_seconds, timed


def measure(name: str, n_timelines: int) -> dict[str, Any]:
    """Return compile time and steady time of a preset, as `mcettr run` simulates it."""
    import mcettr

    job = mcettr.load(name)
    compile_s = compile_seconds(lambda: mcettr.simulate(job, timelines=64, device="cpu"))
    steady_s, result = timed(lambda: mcettr.simulate(job, timelines=n_timelines, device="cpu"))
    failures = float(result["interruptions"]) * n_timelines
    return {
        "compile_s": compile_s,
        "steady_s": steady_s,
        "timelines_per_s": n_timelines / steady_s,
        "failures_per_s": failures / steady_s,
        "ettr": float(result["ettr"]),
        "ettr_se": float(result["ettr_se"]),
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
