"""A replica group of the second simulator that is lost and comes back while the others train on."""

from __future__ import annotations

import math
from collections.abc import Callable

import simpy

from tests.independent_hazards import Hazards
from tests.independent_laws import draw_detection
from tests.independent_losses import lose_nodes
from tests.independent_pool import Pool
from tests.independent_speed import Speed
from tests.independent_world import Steps, Stop, World


class Groups:
    """The replica groups; at most one is down.

    Attributes
    ----------
    pause : Stop or None
        The loss for which training has yet to pause.
    """

    def __init__(self, world: World, pool: Pool, hazards: Hazards, speed: Speed, changed: Callable[[], None]) -> None:
        self._world, self._pool, self._hazards, self._speed, self._changed = world, pool, hazards, speed, changed
        self._groups = world.params.recovery.replica_groups
        self._down: int | None = None
        self._starting = False
        self._replaced = False
        self._process: simpy.Process | None = None
        self.pause: Stop | None = None

    def take(self, stop: Stop, training: bool) -> bool:
        """Lose a group to a failure if the job can go on without it, and return whether it can."""
        if self._groups is None or self._groups.count <= 1 or stop.node is None or not training:
            return False
        again = self._down == stop.node.group and self._starting
        if self._down is not None and not again:
            return False
        self._cancel()
        self._down = self._hazards.idle_group = stop.node.group
        self._speed.lost_group_row = stop.row
        self._replaced = lose_nodes(self._world, self._pool, stop) > 0
        if not again:
            self.pause = stop
        self._process = self._world.env.process(self._recover(stop))
        self._changed()
        return True

    def clear(self) -> None:
        """The whole job stops."""
        self._cancel()
        self._down = self._hazards.idle_group = self._speed.lost_group_row = self.pause = None

    def _cancel(self) -> None:
        self._starting = False
        self._pool.stop_waiting()
        if self._process is not None and self._process.is_alive:
            self._process.interrupt()
        self._process = None

    def _recover(self, stop: Stop) -> Steps:
        try:
            yield from self._recovered(stop)
        except simpy.Interrupt:
            return
        self._starting = False
        self._down = self._speed.lost_group_row = None
        self._changed()

    def _recovered(self, stop: Stop) -> Steps:
        assert stop.cause is not None
        assert self._groups is not None
        world, recovery = self._world, self._world.params.recovery
        cause = world.params.causes[stop.cause]
        yield from self._wait(draw_detection(world.params, cause, world.rng) + world.draw(cause.diagnosis))
        self._pool.send_to_repair()
        n_missing = self._pool.n_missing
        refill = self._pool.refill(stop.row)
        if self._pool.n_missing:
            yield self._pool.wait_until(world.n_nodes, stop.row)
        if recovery.spares is None or recovery.spares.requeues or refill.queues(world.params):
            yield from self._wait(world.draw(recovery.queue_wait))
        if recovery.spares is not None and n_missing:
            yield from self._wait(float(recovery.spares.swap_s))
        self._starting, self._hazards.idle_group = True, None
        self._hazards.redraw()
        phases = (*recovery.startup, *(recovery.startup_if_replaced if self._replaced else ()))
        yield from self._wait(sum(world.draw(law) for _, law in phases) + world.draw(self._groups.rejoin))

    def _wait(self, seconds: float) -> Steps:
        if seconds == math.inf:  # found by nobody
            yield self._world.env.event()
        elif seconds > 0:
            yield self._world.env.timeout(seconds)
