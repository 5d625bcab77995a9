"""What strikes the job of the second simulator: each node's own clocks, missed culprits, drills, and what moves rates.

Failure times are exponential as long as nothing changes, so that at every change all clocks are simply drawn anew.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from mcettr.model.params import Cause
from tests.independent_pool import Pool
from tests.independent_timers import FAILURE, Timer
from tests.independent_world import Node, Steps, World

Strike = Callable[[int, Node | None, bool], None]
"""Called with the cause, the node (None where the job as a whole is struck) and whether its culprit was missed."""


class Hazards:
    """The clocks that run while the job is at risk.

    Attributes
    ----------
    idle_group : int or None
        Replica group whose nodes are not at risk.
    clean : bool
        Whether silent corruption can strike.
    """

    def __init__(self, world: World, pool: Pool, strike: Strike) -> None:
        self._world, self._pool, self._strike = world, pool, strike
        self.idle_group: int | None = None
        self.clean = True
        self._running, self._speed, self._in_incident = False, 0.0, False
        self._also: list[Timer] = []
        self._own: dict[int, Timer] = {}
        self._rated: dict[int, Timer] = {}
        self._silent: dict[int, Timer] = {}
        self._repeats: dict[int, Timer] = {}
        self._leases: dict[int, Timer] = {}
        self._struck: dict[int, Node | None] = {}
        for index, cause in enumerate(world.params.causes):
            self._add(index, cause)
        self._start_calendar()

    def follow(self, timer: Timer) -> None:
        """Let a timer count the seconds at risk."""
        self._also.append(timer)

    def begin_attempt(self) -> None:
        """Start the leases again."""
        for index, timer in self._leases.items():
            timer.set(float(cast("float", self._world.params.causes[index].min_lease_s)))

    def run(self) -> None:
        """The job is at risk from now on."""
        self._running = True
        for timer in (*self._own.values(), *self._leases.values(), *self._also):
            timer.run()
        self.redraw()

    def hold(self) -> None:
        """The job is not at risk."""
        self._running = False
        for timer in (*self._own.values(), *self._leases.values(), *self._also):
            timer.hold()
        for timer in (*self._rated.values(), *self._repeats.values(), *self._silent.values()):
            timer.set(math.inf)

    def compute(self, speed: float) -> None:
        """The job computes at `speed` from now on (0: it does not)."""
        if self._silent:
            self._speed = speed
            self._redraw_silent()

    def redraw(self) -> None:
        """Draw every exponential clock anew: something has changed."""
        if not self._running:
            return
        for index, timer in self._rated.items():
            self._draw(index, timer, 1.0)
        self._redraw_silent()
        for index, timer in self._repeats.items():
            repeat, n_missed = self._world.params.causes[index].repeat, self._world.missed[index]
            assert repeat is not None
            times_s = self._world.rng.exponential(float(repeat.mean_time_s), n_missed)
            timer.set(min(times_s, default=math.inf))
            timer.run()

    def _redraw_silent(self) -> None:
        for index, timer in self._silent.items():
            self._draw(index, timer, self._speed if self.clean and self._running else 0.0)

    def _add(self, index: int, cause: Cause) -> None:
        env = self._world.env
        if cause.every is not None:
            self._own[index] = Timer(env, partial(self._own_event, index), FAILURE + index)
            self._own[index].set(self._world.draw(cause.every))
        elif float(cause.rate_per_s) > 0:
            clocks = self._silent if cause.kind == "silent" else self._rated
            clocks[index] = Timer(env, partial(self._failure, index))
        if cause.repeat is not None:
            self._repeats[index] = Timer(env, partial(self._repeat, index))
        if cause.min_lease_s:
            self._leases[index] = Timer(env, self.redraw)

    def _draw(self, index: int, timer: Timer, speed: float) -> None:
        """Draw the time to failure of each node at risk; the first one counts."""
        cause, world = self._world.params.causes[index], self._world
        timer.set(math.inf)
        if index in self._leases and self._leases[index].is_set:
            return
        rate_per_s = float(cause.rate_per_s) * world.factors[index] * self._modulation(cause) * speed
        nodes = self._exposed(cause)
        if rate_per_s <= 0 or not nodes:
            return
        times_s = world.rng.exponential(1.0 / rate_per_s, len(nodes)) / self._shares(cause, nodes)
        first = int(times_s.argmin())
        self._struck[index] = nodes[first]
        timer.set(times_s[first])
        timer.run()

    def _shares(self, cause: Cause, nodes: Sequence[Node | None]) -> float | list[float]:
        """Return each node's share in the rate, a healthy node's being 1 over the number of nodes."""
        if cause.exposure == "job":
            return 1.0
        healthy, lemons = 1.0 / self._world.n_nodes, self._world.params.lemons
        if lemons is None or not cause.by_lemons:
            return healthy
        lemon = float(lemons.multiplier) * healthy
        return [lemon if node is not None and node.lemon else healthy for node in nodes]

    def _exposed(self, cause: Cause) -> Sequence[Node | None]:
        return [None] if cause.exposure == "job" else self._at_risk()

    def _at_risk(self) -> list[Node]:
        if self.idle_group is None:
            return self._pool.job
        return [node for node in self._pool.job if node.group != self.idle_group]

    def _modulation(self, cause: Cause) -> float:
        factor, incidents = 1.0, self._world.params.incidents
        if cause.in_incidents and self._in_incident and incidents is not None:
            factor *= float(incidents.multiplier)
        if cause.profile is not None:
            starts_s = [float(start_s) for start_s in cause.profile.starts_s]
            piece = bisect.bisect(starts_s, self._world.env.now) - 1
            factor *= float(cause.profile.multipliers[piece])
        return factor

    def _failure(self, index: int) -> None:
        self._strike(index, self._struck[index], False)
        self.redraw()

    def _repeat(self, index: int) -> None:
        """A missed culprit fails: any node at risk, but not a lemon of the lemons' cause."""
        cause = self._world.params.causes[index]
        nodes = [node for node in self._at_risk() if not (node.lemon and cause.by_lemons)]
        node = nodes[self._world.rng.integers(len(nodes))] if nodes and cause.exposure != "job" else None
        self._world.missed[index] -= 1
        self._strike(index, node, True)
        self.redraw()

    def _own_event(self, index: int) -> None:
        cause, nodes = self._world.params.causes[index], self._at_risk()
        assert cause.every is not None
        self._own[index].set(self._world.draw(cause.every))
        node = None if cause.exposure == "job" else nodes[self._world.rng.integers(len(nodes))]
        self._strike(index, node, False)
        if self._running:
            self._own[index].run()

    def _start_calendar(self) -> None:
        """Start the incidents (stationary) and the steps of the profiles; both go on whatever the job does."""
        env, incidents = self._world.env, self._world.params.incidents
        if incidents is not None and float(incidents.rate_per_s) > 0:
            busy = float(incidents.rate_per_s) * float(incidents.mean_duration_s)
            self._in_incident = bool(self._world.rng.random() < busy / (1.0 + busy))
            env.process(self._come_and_go(1.0 / float(incidents.rate_per_s), float(incidents.mean_duration_s)))
        for cause in self._world.params.causes:
            for start_s in () if cause.profile is None else cause.profile.starts_s[1:]:
                env.timeout(float(start_s)).callbacks.append(lambda _: self.redraw())

    def _come_and_go(self, quiet_s: float, incident_s: float) -> Steps:
        while True:
            mean_s = incident_s if self._in_incident else quiet_s
            yield self._world.env.timeout(self._world.rng.exponential(mean_s))
            self._in_incident = not self._in_incident
            self.redraw()
