"""Checks and times the engine on an NVIDIA GPU against the processor: ``python -m benchmarks.gpu_check``.

Needs JAX with CUDA, NumPy and SciPy; runs from a source tree, installed or not, and installs nothing. No step begins
that the budget may not hold, and a watchdog ends the process before ten minutes. The result file is written anew
after every step. Exit code 3 where JAX has no CUDA device, 1 where a check fails.
"""

from __future__ import annotations

import faulthandler
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks import checkout
from benchmarks.cases import Case
from benchmarks.gpu_jobs import JOBS
from benchmarks.results_file import arguments, write
from benchmarks.timing import compile_seconds, spread, timed

BUDGET_S, WATCHDOG_S = 420.0, 570.0
STEP_S = 60.0
"""What the first step of a kind is taken to need; later ones four times their predecessor."""

N_COMPARED, N_DRAWS = 65_536, 1_000_000
BATCHES = (256, 1_024, 4_096, 16_384, 65_536)
"""Blocks of 64 timelines a call, growing."""

MOST_ERRORS = 4.0

Step = tuple[str, str, Callable[[], dict[str, Any]]]
"""Kind, name and work of a step."""


def check_draws(device: Any, n: int) -> dict[str, Any]:
    """Return whether draws on a device are those of NumPy, to the bit, for a few purposes and counts."""
    import jax
    import jax.numpy as jnp

    from mcettr.kernels import streams

    key = streams.seed_key(2**40 + 7)
    rng = np.random.default_rng(0)
    timeline = rng.integers(0, streams.MAX_TIMELINE, n, np.uint32, endpoint=True)
    count = rng.integers(0, streams.MAX_COUNT, n, np.uint32, endpoint=True)
    purposes = (streams.FAILURE, streams.CAUSE, streams.startup_purpose(1), streams.rate_purpose(2))
    n_different = 0
    for purpose in purposes:

        def draw(timeline: Any, count: Any, xp: Any, purpose: int = purpose) -> Any:
            words = streams.block(key, timeline, purpose, count >> np.uint32(1))
            return (*words, streams.draw(key, timeline, purpose, count, xp))

        placed = jax.device_put(timeline, device), jax.device_put(count, device)
        on_device = jax.jit(partial(draw, xp=jnp))(*placed)
        for ours, theirs in zip(draw(timeline, count, np), on_device, strict=True):
            n_different += int((ours.view(np.uint32) != np.asarray(theirs).view(np.uint32)).sum())
    return {"draws": n * len(purposes), "different": n_different, "passed": n_different == 0}


def check_job(name: str, device: str, n_timelines: int) -> dict[str, Any]:
    """Return how a job's ettr and its single timelines on a device differ from those on the processor."""
    from mcettr.engine.run import Effort, estimate

    params, ettr, error = JOBS[name](), {}, {}
    for where in ("cpu", device):
        estimates = estimate(params, Effort(timelines=n_timelines, seed=5, device=where))
        ettr[where], error[where] = float(estimates.values["ettr"][0]), float(estimates.se["ettr"][0])
    combined = float(np.hypot(error["cpu"], error[device]))
    n_blocks = n_timelines // 64
    (cpu_s, cpu_outcome), (device_s, device_outcome) = (_timelines(name, on, n_blocks) for on in ("cpu", device))
    relative = np.abs(device_s / cpu_s - 1.0)
    return {
        "ettr": ettr,
        "standard_error": error,
        "difference_in_errors": abs(ettr["cpu"] - ettr[device]) / combined,
        "passed": abs(ettr["cpu"] - ettr[device]) <= MOST_ERRORS * combined,
        "timelines": int(cpu_s.size),
        "equal_to_the_bit": float((cpu_s == device_s).mean()),
        "equal_to_1e-6": float((relative <= 1e-6).mean()),
        "same_outcome": float((cpu_outcome == device_outcome).mean()),
        "largest_relative_difference": float(relative.max()),
    }


def _timelines(name: str, device: str, n_blocks: int) -> tuple[Any, Any]:
    """Return elapsed seconds and outcome of single timelines."""
    batch = _call(name, device, n_blocks)(0)
    return np.asarray(batch.elapsed_s).ravel(), np.asarray(batch.outcome).ravel()


def _call(name: str, device: str, n_blocks: int) -> Callable[[int], Any]:
    """Return a function of the first timeline that runs `n_blocks` blocks of 64 in one call of the engine."""
    from mcettr.engine.cells import cells_of
    from mcettr.engine.device import resolve
    from mcettr.engine.jax_engine import N_LANES, Blocks, JaxEngine
    from mcettr.kernels.plain import LEG

    engine = JaxEngine(cells_of(JOBS[name]()), 5, resolve(device), 25_000 * LEG + 1)
    engine.blocks_a_call = n_blocks

    def run(first: int) -> Any:
        starts = first + N_LANES * np.arange(n_blocks)
        return engine.run(Blocks(np.zeros(n_blocks, np.int64), starts, np.full(n_blocks, N_LANES)))

    return run


def time_batch(name: str, device: str, n_blocks: int) -> dict[str, Any]:
    """Return compile time and timelines a second of calls of `n_blocks` blocks."""
    run = _call(name, device, n_blocks)
    n_timelines = 64 * n_blocks
    compile_s = compile_seconds(lambda: run(0))
    seconds = [timed(lambda: run(n_timelines))[0] for _ in range(3)]
    return {"timelines": n_timelines, "compile_s": compile_s, "rates": [n_timelines / s for s in seconds]}


def steps(device: Any) -> Iterator[Step]:
    """Yield the steps in order: checks first, then batches that grow."""
    yield "check", "draws", partial(check_draws, device.handle, N_DRAWS)
    for name in JOBS:
        yield "check", name, partial(check_job, name, device.name, N_COMPARED)
    for name in JOBS:
        for n_blocks in BATCHES:
            yield f"time {name}", f"{n_blocks}", partial(time_batch, name, device.name, n_blocks)


def rows_of(details: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the table: timelines a second by batch, and shares of equal timelines."""
    rows = []
    for name, check in details.get("check", {}).items():
        if "equal_to_1e-6" in check:
            case = Case(f"GPU, {name}, timelines equal to 1e-6", name, f"{check['timelines']:,} timelines", "share")
            rows.append(case.row(spread([check["equal_to_1e-6"]])))
    for name in JOBS:
        for timing in details.get(f"time {name}", {}).values():
            size = f"{timing['timelines']:,} timelines a call, compile {timing['compile_s']:.2g} s"
            rows.append(Case(f"GPU, {name}", name, size, "timelines/s").row(spread(timing["rates"])))
    return rows


def run_steps(planned: Iterator[Step], save: Callable[[dict[str, Any]], None]) -> bool:
    """Run the steps that fit the budget, saving after each; return whether all checks passed."""
    began, details = time.perf_counter(), dict[str, Any](left_out=[])
    predicted: dict[str, float] = {}
    for kind, name, work in planned:
        if time.perf_counter() - began + predicted.get(kind, STEP_S) > BUDGET_S:
            details["left_out"].append(f"{kind} {name}: the budget of {BUDGET_S:g} s")
            continue
        print(f"{kind}, {name} ...", flush=True)
        try:
            seconds, result = timed(work)
        except RuntimeError as error:  # JAX's answer when the device is out of memory or lost
            details["left_out"].append(f"{kind} {name}: {error}")
            continue
        predicted[kind] = 4.0 * seconds
        details.setdefault(kind, {})[name] = result
        save(details)
    checks = details.get("check", {})
    return len(checks) == 1 + len(JOBS) and all(check["passed"] for check in checks.values())


def main(argv: Sequence[str] | None = None) -> int:
    """Check, measure, write the result file; return the exit code."""
    given = arguments("gpu_check", __doc__).parse_args(argv)
    checkout.use()
    from mcettr.engine.device import resolve
    from mcettr.errors import DeviceError

    try:
        device = resolve("cuda")
    except DeviceError as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return error.exit_code
    faulthandler.dump_traceback_later(WATCHDOG_S, exit=True)

    def save(details: dict[str, Any]) -> None:
        write(given.out, "gpu_check", rows_of(details), {"device": device.description, **details})

    passed = run_steps(steps(device), save)
    faulthandler.cancel_dump_traceback_later()
    print("all checks passed" if passed else "a check FAILED or was left out")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
