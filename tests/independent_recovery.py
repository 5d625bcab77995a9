"""From a stop to a job with its nodes in the second simulator: nothing is at risk, and maintenance may come between."""

from __future__ import annotations

from typing import cast

import simpy

from mcettr.model.params import Cause
from tests.independent_laws import draw_detection
from tests.independent_losses import lose_nodes, preflight
from tests.independent_pool import Pool
from tests.independent_saves import Store
from tests.independent_speed import Speed
from tests.independent_world import Steps, Stop, World


class Recovery:
    """What happens between two attempts.

    Attributes
    ----------
    n_failed_starts : int
        Failed starts in a row, since the last escalation.
    n_lost : int
        Nodes that left the job since the last restore ended.
    """

    def __init__(self, world: World, pool: Pool, store: Store, speed: Speed) -> None:
        self._world, self._pool, self._store, self._speed = world, pool, store, speed
        self.n_failed_starts, self.n_lost = 0, 0

    def run(self, stop: Stop) -> Steps:
        """Do all that `stop` calls for until the next attempt can start."""
        world, recovery = self._world, self._world.params.recovery
        if stop.cause is not None:
            self._lost(lose_nodes(world, self._pool, stop))
        if stop.kind == "window":
            yield from self._maintain()
        yield from self._pass(stop.row, self._find_out(stop))
        self._lost(preflight(world, self._pool))
        self._pool.send_to_repair()
        n_missing = self._pool.n_missing
        refill = self._pool.refill(stop.row)
        yield from self._wait_for_nodes(stop.row)
        self._speed.shrunken_row = stop.row
        parts = []
        if recovery.spares is not None and self._pool.n_missing < n_missing:
            parts.append(("spare_wait", float(recovery.spares.swap_s)))
        if self._queues(stop) or refill.queues(world.params):
            parts.append(("queue", world.draw(recovery.queue_wait)))
        yield from self._pass(stop.row, parts)

    def _lost(self, n_out: int) -> None:
        self.n_lost += n_out
        local = self._world.params.checkpoint.local
        if local is not None and self.n_lost > local.survives_node_losses:
            self._store.local = None

    def _find_out(self, stop: Stop) -> list[tuple[str, float]]:
        world, parts = self._world, []
        if stop.kind == "crash":
            parts.append(("detection", draw_detection(world.params, self._cause(stop), world.rng)))
        if stop.kind in ("crash", "found"):
            parts.append(("diagnosis", world.draw(self._cause(stop).diagnosis)))
        starts = world.params.recovery.start_failure
        if stop.kind == "failed start" and starts is not None and self.n_failed_starts >= starts.max_attempts:
            self.n_failed_starts = 0
            parts.append(("diagnosis", world.draw(starts.escalation)))
        return parts

    def _cause(self, stop: Stop) -> Cause:
        assert stop.cause is not None
        return self._world.params.causes[stop.cause]

    def _queues(self, stop: Stop) -> bool:
        """Return whether the job goes back to the scheduler, whatever nodes there are."""
        spares = self._world.params.recovery.spares
        if spares is None or spares.requeues:
            return stop.kind not in ("failed start", "window")
        preempted = stop.cause is not None and self._cause(stop).kind == "preemption"
        return stop.kind in ("first", "lifetime") or preempted

    def _wait_for_nodes(self, row: int) -> Steps:
        spares, world = self._world.params.recovery.spares, self._world
        if spares is None or not self._pool.n_missing:
            return
        least = float(spares.min_nodes) if spares.when_exhausted == "shrink" else float(world.n_nodes)
        arrived = self._pool.wait_until(least, row)
        while not arrived.triggered:
            began_s = world.env.now
            try:
                yield arrived
            except simpy.Interrupt as interrupt:
                world.book(row, "spare_wait", world.env.now - began_s)
                self._only_maintenance(interrupt)
                yield from self._maintain()
            else:
                world.book(row, "spare_wait", world.env.now - began_s)

    def _pass(self, row: int, parts: list[tuple[str, float]]) -> Steps:
        """Let the parts pass; a maintenance window cuts them all."""
        try:
            for activity, seconds in parts:
                yield from self._world.spend(row, activity, seconds)
        except simpy.Interrupt as interrupt:
            self._only_maintenance(interrupt)
            yield from self._maintain()

    def _maintain(self) -> Steps:
        maintenance = self._world.params.maintenance
        assert maintenance is not None
        yield from self._world.spend(self._world.planned, "maintenance", float(maintenance.duration_s))

    def _only_maintenance(self, interrupt: simpy.Interrupt) -> None:
        if cast("Stop", interrupt.cause).kind != "window":
            raise interrupt
