"""What the mechanisms cost: events a second with some or all of them on, against the plain loop's on V1.22.

An event is one useful step of the event loop: a failure, a repair that ends, an incident's beginning or end, a start
that fails, a corruption that strikes or is found, and so on. Pairs run one after the other (first plain, then with
mechanisms), and a ratio is taken within a pair. Events are counted apart, on the first timelines, by stepping the loop.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.fresh import run_python
from benchmarks.physics_jobs import JOBS
from benchmarks.results_file import arguments, write
from benchmarks.timing import compile_seconds, size_for, spread, timed
from benchmarks.workload import V1_22

GOALS = {"incidents, lemons, spares, repeats": 0.05, "everything": 0.02}
COMPILE_GOAL_S = 5.0


def events_a_timeline(params: Any, n_blocks: int = 4) -> float:
    """Return the mean number of events of a timeline, over the first `n_blocks` blocks of 64."""
    import jax
    import jax.numpy as jnp

    from mcettr.engine.cells import cells_of
    from mcettr.engine.lemons import with_lemons
    from mcettr.kernels.attempt import Key
    from mcettr.kernels.events import loop
    from mcettr.kernels.events.features import features_of
    from mcettr.kernels.events.job import Job, numbers_of
    from mcettr.kernels.events.lanes import ENDED
    from mcettr.kernels.events.submission import submission
    from mcettr.kernels.streams import seed_key

    cells = cells_of(params)
    timelines = np.arange(n_blocks * 64).reshape(n_blocks, 64)
    numbers = with_lemons(cells.take(np.zeros(n_blocks, np.int64)), 0, timelines)
    features = features_of(cells.params)

    def count(numbers: Any, timeline: Any) -> Any:
        job = Job(numbers, features, numbers_of(numbers, features, jnp))
        key = Key(tuple(map(jnp.uint32, seed_key(0))), timeline)
        state = submission(job, key, jnp.ones(timeline.shape, bool), jnp.uint32(2**20))

        def step(carry: Any) -> Any:
            state, n_events, turn = carry
            n_events = n_events + jnp.sum(state["phase"] != ENDED)
            return loop.step(job, key, state, turn)[0], n_events, turn + 1

        carry = (state, jnp.int64(0), jnp.int32(0))
        return jax.lax.while_loop(lambda c: jnp.any(c[0]["phase"] != ENDED), step, carry)[1]

    with jax.enable_x64(True):
        return float(jax.jit(count)(numbers, timelines.astype(np.uint32))) / timelines.size


def measure(name: str, n_rounds: int, seconds: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return rows and details of one job against the plain one."""
    from mcettr.engine.run import Effort, estimate

    plain, params = V1_22.params(), JOBS[name]()

    def rate(job: Any, n: int, seed: int) -> tuple[float, Any]:
        took_s, result = timed(lambda: estimate(job, Effort(timelines=n, seed=seed, device="cpu")))
        return n / took_s, result

    n_events = events_a_timeline(params)
    sizes = []
    for job in (plain, params):
        rate(job, 64, 0)
        sizes.append(size_for(lambda n, job=job: rate(job, n, 0), seconds, smallest=16_384))
    events, ratios = [], []
    for seed in range(1, n_rounds + 1):
        plain_rate, result = rate(plain, sizes[0], seed)
        events.append(rate(params, sizes[1], seed)[0] * n_events)
        ratios.append(events[-1] / (plain_rate * float(result.values["interruptions"][0])))
    size = f"{sizes[1]:,} timelines a run, {n_events:,.0f} events each"
    rows = [
        Case(f"events, {name}", name, size, "events/s").row(spread(events)),
        Case(f"events / plain failures, {name}", name, "pairs of runs", "x", GOALS[name], "at least").row(
            spread(ratios)
        ),
    ]
    return rows, {"events_a_timeline": n_events, "events_per_s": events, "ratios": ratios}


def compile_row(name: str, n_runs: int) -> dict[str, Any]:
    """Return how much longer the first call takes than the next, in fresh processes."""
    command = ("-m", "benchmarks.physics", "--only-compile", name)
    seconds = [json.loads(run_python(*command).stdout.splitlines()[-1]) for _ in range(n_runs)]
    return Case(f"first call, {name}", name, "one process", "s", COMPILE_GOAL_S).row(spread(seconds))


def first_call_s(name: str) -> float:
    """Return how much longer the first call takes than the next; once a process."""
    from mcettr.engine.run import Effort, estimate

    params = JOBS[name]()
    return compile_seconds(lambda: estimate(params, Effort(timelines=64, device="cpu")))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and write the result file."""
    parser = arguments("physics", __doc__)
    parser.add_argument("--rounds", type=int, default=5, help="pairs of runs [%(default)s]")
    parser.add_argument("--seconds", type=float, default=2.0, help="about, a run [%(default)s]")
    parser.add_argument("--only-compile", metavar="JOB", help="print the seconds of a first call, and write nothing")
    given = parser.parse_args(argv)
    if given.only_compile:
        print(json.dumps(first_call_s(given.only_compile)))
        return
    rows, details = [], {}
    for name in GOALS:
        found, details[name] = measure(name, given.rounds, given.seconds)
        rows += [*found, compile_row(name, 3)]
    write(given.out, "physics", rows, details)


if __name__ == "__main__":
    sys.exit(main())
