"""Speed on the workload of validation case V1.22 against the same model in Numba, NumPy and SimPy.

Every contestant keeps all accounts of every timeline (but `numba_elapsed`, which keeps one). The engine's time
includes its estimates with their errors; the peers' time ends when the accounts exist. Pairs run one after the other
(engine, peer, engine, peer), and a ratio is taken within a pair, so that slow drifts of the machine cancel.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.results_file import arguments, write
from benchmarks.timing import compile_seconds, size_for, spread, timed
from benchmarks.workload import V1_22
from mcettr.model import analytic

PEERS = {
    "numba": ("benchmarks.peers.numba_peer", "run"),
    "numba_elapsed": ("benchmarks.peers.numba_peer", "run_elapsed"),
    "numba_chunked": ("benchmarks.peers.numba_peer", "run_chunked"),
    "numpy": ("benchmarks.peers.numpy_peer", "run"),
    "simpy": ("benchmarks.peers.simpy_peer", "run"),
}
RATIO_GOALS = {"numba": 2.5}
SE_STATED = 1e-5
MOST_ERRORS = 5.0
"""Standard errors that a contestant's ettr may lie from the exact one."""

Run = Callable[[int, int], Any]


@dataclass
class Contestant:
    """One program, and what its runs gave.

    `run` takes a number of timelines and a seed; `ettr_of` gives ettr, its standard error and the failures a timeline.
    """

    name: str
    run: Run
    ettr_of: Callable[[Any], tuple[float, float, float]]
    compile_s: float = 0.0
    n_timelines: int = 0
    rates: list[float] = field(default_factory=list)
    sds: list[float] = field(default_factory=list)
    failures: list[float] = field(default_factory=list)
    """Mean failures a timeline of each run; nan where the program does not count them."""

    def prepare(self, seconds: float) -> None:
        """Compile, and find how many timelines take about `seconds`."""
        self.compile_s = compile_seconds(lambda: self.run(64, 0))
        self.n_timelines = size_for(lambda n: self.run(n, 0), seconds)

    def measure(self, seed: int, exact: float) -> float:
        """Return the timelines a second of one run, after checking its ettr."""
        seconds, result = timed(lambda: self.run(self.n_timelines, seed))
        ettr, error, failures = self.ettr_of(result)
        if not abs(ettr - exact) <= MOST_ERRORS * error:
            raise AssertionError(f"{self.name}: ettr {ettr:.6f} +- {error:.2g}, expected {exact:.6f}")
        self.rates.append(self.n_timelines / seconds)
        self.sds.append(error * self.n_timelines**0.5)
        self.failures.append(failures)
        return self.rates[-1]

    def summary(self) -> dict[str, Any]:
        """Return rates, compile time and seconds to the stated standard error."""
        rate, failures, sd = spread(self.rates), float(np.mean(self.failures)), float(np.mean(self.sds))
        return {
            "timelines_a_run": self.n_timelines,
            "timelines_per_s": vars(rate),
            "failures_per_s": None if np.isnan(failures) else rate.median * failures,
            "seconds_to_se": (sd / SE_STATED) ** 2 / rate.median,
            "compile_s": self.compile_s,
        }


def engine() -> Contestant:
    """Return the program under test, on the processor."""
    from mcettr.engine.run import Effort, estimate

    params = V1_22.params()

    def run(n_timelines: int, seed: int) -> Any:
        return estimate(params, Effort(timelines=n_timelines, seed=seed, device="cpu"))

    def ettr_of(estimates: Any) -> tuple[float, float, float]:
        values = estimates.values
        return float(values["ettr"][0]), float(estimates.se["ettr"][0]), float(values["interruptions"][0])

    return Contestant("mcettr", run, ettr_of)


def peer(name: str) -> Contestant | None:
    """Return a peer, or None where its library is not installed."""
    module, function = PEERS[name]
    try:
        run: Run = getattr(importlib.import_module(module), function)
    except ImportError:
        return None
    return Contestant(name, run, _ettr_of_accounts)


def _ettr_of_accounts(accounts: dict[str, Any]) -> tuple[float, float, float]:
    """Return ettr as the ratio of means; the work, and so the productive time, is the same in every timeline."""
    elapsed = accounts["elapsed"]
    ettr = V1_22.work_s / elapsed.mean()
    error = ettr * elapsed.std(ddof=1) / elapsed.mean() / elapsed.size**0.5
    failures = accounts["failures"].mean() if "failures" in accounts else float("nan")
    return float(ettr), float(error), float(failures)


def compare(names: Sequence[str], n_rounds: int, seconds: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return rows and details of the engine against the peers named, in interleaved pairs."""
    exact = float(analytic.ettr(V1_22.params()))
    found = {name: peer(name) for name in names}
    ours, peers = engine(), [contestant for contestant in found.values() if contestant]
    for contestant in (ours, *peers):
        contestant.prepare(seconds)
    ratios: dict[str, list[float]] = {contestant.name: [] for contestant in peers}
    for seed in range(1, n_rounds + 1):
        for theirs in peers:
            ratios[theirs.name].append(ours.measure(seed, exact) / theirs.measure(seed, exact))
    rows = [_rate_row(contestant) for contestant in (ours, *peers)]
    rows += [_ratio_case(name).row(spread(values)) for name, values in ratios.items()]
    details = {
        "ettr_exact": exact,
        "standard_error_stated": SE_STATED,
        "contestants": {contestant.name: contestant.summary() for contestant in (ours, *peers)},
        "ratios": {name: {"median": spread(values).median, "pairs": values} for name, values in ratios.items()},
        "not_installed": [name for name, contestant in found.items() if contestant is None],
    }
    return rows, details


def _rate_row(contestant: Contestant) -> dict[str, Any]:
    size = f"{contestant.n_timelines:,} timelines a run"
    return Case(f"V1.22, {contestant.name}", "V1.22", size, "timelines/s").row(spread(contestant.rates))


def _ratio_case(name: str) -> Case:
    return Case(f"V1.22, mcettr / {name}", "V1.22", "pairs of runs", "x", RATIO_GOALS.get(name), "at least")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and write the result file."""
    parser = arguments("v1_22", __doc__)
    parser.add_argument("--rounds", type=int, default=7, help="pairs of runs with each peer [%(default)s]")
    parser.add_argument("--seconds", type=float, default=1.0, help="about, a run [%(default)s]")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), help="[all]")
    given = parser.parse_args(argv)
    rows, details = compare(given.peers, given.rounds, given.seconds)
    for name in details["not_installed"]:
        print(f"{name}: left out, its library is not installed (pip install 'mcettr[bench]')")
    write(given.out, "v1_22", rows, details)


if __name__ == "__main__":
    main()
