"""SimPy peer: a job process and one process that generates its failures, a timeline at a time.

It steps phase by phase, not save by save: the saves of a stretch of training follow from its length, as in the
other peers.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from benchmarks.workload import ACCOUNTS, V1_22, Workload

Steps = Generator[simpy.Event, Any, None]


def run(n_timelines: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return the accounts (seconds, and failures) of each timeline of the workload, by name.

    >>> float(run(2, seed=0)["productive"][1])
    2592000.0
    """
    rng = np.random.default_rng(seed)
    rows = np.array([_Job(V1_22, rng).run() for _ in range(n_timelines)])
    return dict(zip(ACCOUNTS, rows.T, strict=True))


class _Job:
    def __init__(self, workload: Workload, rng: np.random.Generator) -> None:
        self.workload, self.rng = workload, rng
        self.env = simpy.Environment()
        self.n_saved = self.n_failures = 0
        self.rework_s = self.checkpoint_s = self.detection_s = self.startup_s = self.restore_s = 0.0

    def run(self) -> tuple[float, ...]:
        """Return the accounts at the end of the job, in their order."""
        self.process = self.env.process(self._live())
        self.failures = self.env.process(self._fail())
        self.env.run(until=self.process)
        productive_s = self.n_saved * self.workload.interval_s
        seconds = (self.rework_s, self.checkpoint_s, self.detection_s, self.startup_s, self.restore_s)
        return (self.env.now, productive_s, *seconds, self.n_failures)

    def _fail(self) -> Steps:
        mean_s = 1.0 / self.workload.rate_per_s
        while True:
            yield self.env.timeout(self.rng.exponential(mean_s))
            self.process.interrupt()
            yield self.env.timeout(self.workload.detection_s)  # nothing fails while the job is down

    def _live(self) -> Steps:
        workload, env = self.workload, self.env
        step_s = workload.interval_s + workload.write_time_s
        while self.n_saved < workload.n_saves:
            phase, began = "startup_s", env.now
            try:
                yield env.timeout(workload.startup_s)
                self.startup_s += workload.startup_s
                phase, began = "restore_s", env.now
                if self.n_saved:
                    yield env.timeout(workload.restore_s)
                    self.restore_s += workload.restore_s
                phase, began = "training", env.now
                yield env.timeout((workload.n_saves - self.n_saved) * step_s)
                self._book_training(env.now - began)
            except simpy.Interrupt:
                self.n_failures += 1
                if phase == "training":
                    self._book_training(env.now - began)
                else:
                    setattr(self, phase, getattr(self, phase) + env.now - began)
                yield env.timeout(workload.detection_s)
                self.detection_s += workload.detection_s

    def _book_training(self, seconds: float) -> None:
        workload = self.workload
        step_s = workload.interval_s + workload.write_time_s
        n_saves = min(int((seconds + 1e-6) / step_s), workload.n_saves - self.n_saved)  # 1e-6: rounding of the clock
        rest_s = max(0.0, seconds - n_saves * step_s)
        self.n_saved += n_saves
        self.rework_s += min(rest_s, workload.interval_s)
        self.checkpoint_s += n_saves * workload.write_time_s + max(0.0, rest_s - workload.interval_s)
