"""One surface in a process of its own: ``python -m benchmarks.surface_job FILE PRECISION`` prints one JSON object."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh import peak_bytes
from benchmarks.timing import compile_seconds, timed


def measure(file: Path, precision: float) -> dict[str, Any]:
    """Return what a sweep file took to a standard error, in the engine alone.

    Raises
    ------
    AssertionError
        A cell missed the standard error.
    """
    import jax

    jax.devices()
    baseline_bytes = peak_bytes()

    from mcettr.engine.run import Effort, estimate
    from mcettr.scenario import compile_grid
    from mcettr.sweep.spec import load_sweep

    spec = load_sweep(file)
    one_job, grid = compile_grid(spec.scenario, {}), compile_grid(spec.scenario, spec.axes)
    warm_up = Effort(timelines=64, device="cpu")
    compile_s = compile_seconds(lambda: estimate(one_job.params, warm_up))
    seconds, estimates = timed(lambda: estimate(grid.params, Effort(precision=precision, device="cpu")))
    largest_se = float(estimates.se["ettr"].max())
    if not largest_se <= precision:
        raise AssertionError(f"standard error {largest_se:.3g} above {precision:g}")
    if (estimates.finished_fraction > 0).any():
        raise AssertionError("a job ended before the horizon")
    timelines = int(estimates.n_timelines.sum())
    failures = float((estimates.n_timelines * estimates.values["interruptions"]).sum())
    return {
        "cells": int(np.prod(grid.shape)),
        "precision": precision,
        "compile_s": compile_s,
        "seconds": seconds,
        "largest_se": largest_se,
        "timelines": timelines,
        "failures": failures,
        "timelines_per_s": timelines / seconds,
        "failures_per_s": failures / seconds,
        "baseline_bytes": baseline_bytes,
        "peak_bytes": peak_bytes(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), float(sys.argv[2]))))
