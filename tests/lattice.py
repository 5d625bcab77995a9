"""Jobs whose numbers come from a small lattice, so that what happens in them coincides, and often fails to by rounding.

A structure is one program of the fast engine. All times are small multiples of a unit, zero among them; the units are
such that sums of multiples round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.model.counts import exactly
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import LocalTier, Maintenance, ReplicaGroups, Retention, StartFailure
from mcettr.model.problems import Cells
from mcettr.model.refusals import refusals
from tests.lanes import FEW_BLOCKS, jax_timelines
from tests.test_cross_physics import compare

INF = float("inf")
UNITS = (1.0, 0.1, 1.0 / 3.0, 0.7, 60.0, 3600.0 / 7.0)
FEW, SOME, MANY = (0, 1, 2), (0, 1, 2, 3, 4, 6), (5, 6, 7, 8, 10, 12, 24)


class Lattice:
    """Draws multiples of one unit."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.unit_s = self.one_of(*UNITS)

    def one_of(self, *values: float) -> float:
        """Return one of some values."""
        return float(self._rng.choice(values))

    def time_s(self, *multiples: float) -> float:
        """Return one of some multiples of the unit."""
        return self.one_of(*multiples) * self.unit_s

    def drill(self, name: str, **more: Any) -> Cause:
        """Return a cause that strikes at regular times at risk."""
        detection = more.pop("detection", None) or fixed(self.time_s(*FEW))
        return Cause(name, 0.0, every=fixed(self.time_s(*MANY)), detection=detection, **more)

    def random(self, **more: Any) -> Cause:
        """Return a cause with a rate, or none."""
        return Cause("random", self.one_of(0.0, 0.03) / self.unit_s, **more)

    def plan(self, each_s: float, n: float = 1.0, **more: Any) -> Checkpoint:
        """Return saves every `n` times `each_s`, whose writes fit into that."""
        slowdown, stall_s = self.one_of(0.0, 0.25, 0.5, 1.0), self.time_s(*FEW)
        most = each_s / (1.0 - slowdown) if slowdown < 1.0 else INF
        behind_s = [k * self.unit_s for k in SOME if k * self.unit_s <= most * (1.0 + 1e-12)]
        write_s = stall_s + self.one_of(*behind_s)
        return Checkpoint(n * each_s, write_s, stall_s, slowdown, blocking=False, **more)

    def job(self, plan: Checkpoint, *causes: Cause, recovery: Recovery | None = None, **more: Any) -> Params:
        """Return a job with restarts, and an end."""
        recovery = replace(
            recovery or Recovery(),
            queue_wait=fixed(self.time_s(*FEW)),
            startup=(("start", fixed(self.time_s(*FEW, 3))),),
            restore=fixed(self.time_s(*FEW)),
        )
        work_s, horizon_s = self.time_s(6, 11, 12, 24, 25), self.time_s(24, 36, 48, 50, 100)
        resumes = self.one_of(0.0, 1.0)
        return Params(8.0, work_s, horizon_s, plan, causes, recovery, resumes=resumes, n_nodes=8.0, **more)


def plain(x: Lattice) -> Params:
    plan = x.plan(x.time_s(1, 2, 3, 4, 6))
    return x.job(plan, Cause("never", 0.0))


def drilled(x: Lattice) -> Params:
    failing = StartFailure(x.one_of(0.0, 0.3), 2.0, fixed(x.time_s(*FEW)))
    plan = x.plan(x.time_s(1, 2, 3, 4, 6))
    writes_s = replace(plan, write_time_s=plan.write_time_s + x.time_s(*SOME))
    causes = x.drill("drill"), x.drill("other", diagnosis=fixed(x.time_s(*FEW))), x.random()
    return x.job(writes_s, *causes, recovery=Recovery(start_failure=failing))


def tiers(x: Lattice) -> Params:
    each_s, stall_s = x.time_s(1, 2, 3, 4), x.time_s(*FEW)
    behind_s = x.one_of(*(k * x.unit_s for k in SOME if k * x.unit_s <= each_s * (1.0 + 1e-12)))
    losses, holds = x.one_of(0.0, 1.0), x.one_of(0.0, 1.0)
    tier = LocalTier(
        x.one_of(1.0, 2.0, 3.0), stall_s + behind_s, stall_s, fixed(x.time_s(*FEW)), losses, holds_main=holds
    )
    keep = Retention(x.one_of(0.0, 0.5), x.one_of(1.0, 2.0, INF), x.one_of(2.0, 3.0, INF))
    plan = x.plan(each_s, tier.n_a_main, verify_s=x.time_s(*FEW), local=tier, retention=keep)
    sdc = Cause("sdc", x.one_of(0.0, 0.05) / x.unit_s, "silent", detection=fixed(x.time_s(0, 2, 4, 8, 1e6)))
    slow = x.drill("slow", kind="slow", slowdown=x.one_of(0.25, 0.5), nodes_lost=exactly(1.0))
    causes = x.drill("crash", exposure="job"), x.drill("node", nodes_lost=exactly(1.0)), slow, sdc, x.random()
    return x.job(plan, *causes)


def stops(x: Lattice) -> Params:
    plan = x.plan(x.time_s(1, 2, 3, 4, 6))
    slow = [x.drill(name, kind="slow", slowdown=x.one_of(0.25, 0.5, 0.75)) for name in ("slow", "slower")]
    rate, notice_s, lease_s = x.one_of(0.0, 0.05) / x.unit_s, x.time_s(0, 1, 3, 8), x.time_s(0, 4, 8)
    evicted = Cause("evicted", rate, "preemption", exposure="job", notice_s=notice_s, min_lease_s=lease_s)
    windows = Maintenance(x.time_s(20, 30, 40), x.time_s(*FEW), x.time_s(0, 4, 8))
    job = x.job(plan, *slow, evicted, x.drill("crash"), x.random(), maintenance=windows)
    started_s = float(job.recovery.startup[0][1].values[0]) + float(job.recovery.restore.values[0])
    longest_s = started_s + plan.write_time_s + x.time_s(1, 2, 4, 8)
    return replace(job, recovery=replace(job.recovery, max_attempt_s=longest_s))


def groups(x: Lattice) -> Params:
    copies = ReplicaGroups(x.one_of(2.0, 4.0), x.time_s(*FEW), fixed(x.time_s(*FEW)))
    plan = x.plan(x.time_s(1, 2, 3, 4, 6))
    node, rack = x.drill("node", nodes_lost=exactly(1.0)), x.drill("rack", nodes_lost=exactly(1.0))
    slow = x.drill("slow", kind="slow", slowdown=0.5)
    causes = node, rack, slow, x.drill("bug", exposure="job"), x.random(nodes_lost=exactly(1.0))
    return x.job(plan, *causes, recovery=Recovery(replica_groups=copies))


STRUCTURES: dict[str, Callable[[Lattice], Params]] = {
    build.__name__: build for build in (plain, drilled, tiers, stops, groups)
}


def drawn(name: str, number: int) -> Params:
    """Return a job of a structure; the one of this number, among those that are not refused."""
    for more in range(100):
        params = STRUCTURES[name](Lattice(number + (more << 32)))
        if all(problem.level != "error" for problem in refusals(params, Cells(params))):
            return params
    raise AssertionError("no such job is accepted")


def stacked(records: Sequence[Any]) -> Any:
    """Return records of one structure as one, whose numbers are arrays."""
    first = records[0]
    if isinstance(first, tuple):
        return tuple(stacked(parts) for parts in zip(*records, strict=True))
    if is_dataclass(first) and not isinstance(first, type):
        return replace(first, **{f.name: stacked([getattr(r, f.name) for r in records]) for f in fields(first)})
    return np.array(records) if isinstance(first, float) else first


def differences(name: str, first: int, n: int, n_at_once: int = FEW_BLOCKS) -> dict[int, str]:
    """Return the numbers of the jobs, out of `n`, in which the engines differ, and by what."""
    found: dict[int, str] = {}
    for start in range(first, first + n, n_at_once):
        numbers = range(start, start + n_at_once)
        jobs = [drawn(name, number) for number in numbers]
        factors = np.ones((n_at_once, len(jobs[0].causes)))
        fast = jax_timelines(stacked(jobs), 0, start, n_at_once, factors=factors)
        for index, number in enumerate(numbers):
            mine = Timelines(**{f.name: getattr(fast, f.name)[index : index + 1] for f in fields(Timelines)})
            theirs = simulate_timelines(jobs[index], 0, number, 1)
            if name == "plain":  # its loop does not follow the longest stretch
                mine = replace(mine, longest_stretch_s=theirs.longest_stretch_s)
            try:
                compare(theirs, mine)
            except AssertionError as difference:
                found[number] = str(difference).splitlines()[0]
    return found
