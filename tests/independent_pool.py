"""Nodes of the second simulator: in the job, failed, spare, each in a repair of its own, or borrowed where allowed."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np
import simpy

from mcettr.model.params import Params
from tests.independent_laws import happens
from tests.independent_world import Node, Steps, World


@dataclass(frozen=True)
class Refill:
    """What came of looking for nodes: how many joined at once, how many spares were lacking, who pays the queue."""

    n_joined: int
    n_short: int

    def queues(self, params: Params) -> bool:
        """Return whether nodes come through the queue."""
        spares = params.recovery.spares
        return spares is not None and spares.when_exhausted == "queue" and self.n_short > 0


class Pool:
    """All nodes of one timeline; without spares lost nodes vanish and new ones are there at once."""

    def __init__(self, world: World) -> None:
        self._world, self._spares = world, world.params.recovery.spares
        groups = world.params.recovery.replica_groups
        n_groups = 1 if groups is None else int(groups.count)
        self.job = [Node(group=i * n_groups // world.n_nodes) for i in range(world.n_nodes)]
        for node in self.job:
            node.lemon = self._is_lemon(at_start=True)
        count = 0.0 if self._spares is None else float(self._spares.count)
        self._endless = self._spares is None or math.isinf(count)
        self._spare = [] if self._endless else [Node() for _ in range(int(count))]
        self._failed: list[Node] = []
        self._repair: set[Node] = set()
        self._n_total, self._n_borrowed = world.n_nodes + len(self._spare), 0
        self._n_spares = len(self._spare)
        self._vacant_groups: list[int] = []
        self._wanted, self._wanted_by, self._arrived = 0, 0, world.env.event()
        self._changes: list[tuple[float, int]] = [(0.0, 0)]
        self.n_swaps = self.n_exhausted = 0
        self.replaced = True
        """Whether nodes were replaced since the last start that went well."""

    @property
    def n_missing(self) -> int:
        """Nodes that the job lacks."""
        return self._world.n_nodes - len(self.job)

    def remove(self, nodes: list[Node]) -> None:
        """Take failed nodes out of the job; where they are nobody knows before `send_to_repair`."""
        self.replaced = self.replaced or bool(nodes)
        for node in nodes:
            self.job.remove(node)
            self._vacant_groups.append(node.group)
            if self._spares is None:
                self._n_total -= 1
            else:
                self._failed.append(node)
        self._check()

    def send_to_repair(self) -> None:
        """Repair all failed nodes, since they are known now."""
        for node in self._failed:
            self._repair.add(node)
            self._world.env.process(self._mend(node))
        self._failed.clear()
        self._note()

    def refill(self, row: int) -> Refill:
        """Bring nodes in, up to full width: spares (never repaired ones first), then as the policy says."""
        n_needed = self.n_missing
        self._spare.sort(key=lambda node: node.repaired)
        ready = self._new(n_needed) if self._endless else self._spare[:n_needed]
        self._spare = self._spare if self._endless else self._spare[n_needed:]
        n_short = n_needed - len(ready)
        self.n_swaps += n_needed > 0 and self._spares is not None
        self.n_exhausted += n_short > 0
        if n_short and self._spares is not None and self._spares.when_exhausted == "queue":
            self._n_borrowed += n_short
            ready = ready + self._new(n_short)
        for node in ready:
            self._join(node, row)
        self._note()
        return Refill(len(ready), n_short)

    def wait_until(self, n_nodes: float, row: int) -> simpy.Event:
        """Return the event of that many nodes in the job; until then every repaired node joins it."""
        self._wanted, self._wanted_by = max(0, math.ceil(n_nodes) - len(self.job)), row
        self._arrived = self._world.env.event()
        if not self._wanted:
            self._arrived.succeed()
        return self._arrived

    def stop_waiting(self) -> None:
        """Leave repaired nodes to the spares again."""
        self._wanted = 0

    def nodes_out(self, instant_s: float) -> int:
        """Return the nodes that were in repair at an instant."""
        return self._changes[bisect.bisect([time_s for time_s, _ in self._changes], instant_s) - 1][1]

    def nodes_out_mean(self, end_s: float) -> float:
        """Return the mean over time of the nodes in repair, up to `end_s`."""
        times_s, n_out = np.array(self._changes).T
        return float(n_out @ np.diff(times_s, append=end_s) / end_s)

    @property
    def nodes_out_most(self) -> int:
        """Most nodes in repair at any time."""
        return max(n_out for _, n_out in self._changes)

    def _new(self, n: int) -> list[Node]:
        self._n_total += n
        return [Node() for _ in range(n)]

    def _join(self, node: Node, row: int) -> None:
        self.job.append(node)
        node.group, node.lemon = self._vacant_groups.pop(), self._is_lemon()
        causes, spares = self._world.params.causes, self._spares
        if spares is not None and node.repaired and row < len(causes) and causes[row].repeat is not None:
            self._world.missed[row] += happens(float(spares.repair_failure), self._world.rng)

    def _is_lemon(self, at_start: bool = False) -> bool:
        lemons = self._world.params.lemons
        if lemons is None:
            return False
        chance = lemons.fraction_at_start if at_start else None
        return happens(float(lemons.fraction if chance is None else chance), self._world.rng)

    def _mend(self, node: Node) -> Steps:
        spares, rng = self._spares, self._world.rng
        assert spares is not None
        mean_s = spares.quick_mean_s if happens(float(spares.quick_share), rng) else spares.slow_mean_s
        yield self._world.env.timeout(rng.exponential(float(mean_s)))
        self._repair.remove(node)
        node.repaired = True
        if self._wanted:
            self._wanted -= 1
            self._join(node, self._wanted_by)
            if not self._wanted:
                self._arrived.succeed()
        elif self._n_borrowed and len(self._spare) >= self._n_spares:
            self._n_borrowed -= 1
            self._n_total -= 1
        else:
            self._spare.append(node)
        self._note()

    def _note(self) -> None:
        """Remember how many are in repair."""
        self._changes.append((self._world.env.now, len(self._repair)))
        self._check()

    def _check(self) -> None:
        """Nodes are neither lost nor made."""
        n_seen = len(self.job) + len(self._spare) + len(self._failed) + len(self._repair)
        assert n_seen == self._n_total, f"{n_seen} nodes of {self._n_total}"
        places = set(self.job) | set(self._spare) | set(self._failed) | self._repair
        assert len(places) == n_seen, "a node in two places"
        assert self._endless or self._n_total == self._world.n_nodes + self._n_spares + self._n_borrowed
