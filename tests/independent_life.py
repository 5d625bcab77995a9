"""One life of the job in the second simulator: attempt after attempt, until the work is done or the horizon comes."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import simpy

from mcettr.model.params import Params
from tests.independent_corruption import Corruption
from tests.independent_groups import Groups
from tests.independent_hazards import Hazards
from tests.independent_pool import Pool
from tests.independent_recovery import Recovery
from tests.independent_saves import Reading, Store
from tests.independent_speed import Speed
from tests.independent_timers import HORIZON, PLANNED, Timer, schedule
from tests.independent_training import Training, found
from tests.independent_world import Node, Steps, StepsTo, Stop, World


class Life:
    """The job as one SimPy process, which everything that ends an attempt interrupts with a `Stop`."""

    def __init__(self, params: Params, factors: list[float], rng: np.random.Generator, n_nodes: int) -> None:
        self.world = World(params, factors, rng, n_nodes)
        self.params, self.env = params, self.world.env
        self.pool, self.store = Pool(self.world), Store(self.world)
        self.hazards = Hazards(self.world, self.pool, self._struck)
        self.speed = Speed(self.world, self.pool, self.hazards, self._slow_is_known)
        self.corruption = Corruption(self.world, self._corruption_shows)
        self.training = Training(self.world, self.store, self.hazards, self.speed, self.corruption)
        self.groups = Groups(self.world, self.pool, self.hazards, self.speed, self.training.changed)
        self.training.groups = self.groups
        self.recovery = Recovery(self.world, self.pool, self.store, self.speed)
        self.lifetime = Timer(self.env, self._lifetime_ends, PLANNED)
        self.announcement = Timer(self.env, self._announce, PLANNED)
        self.hazards.follow(self.lifetime)
        self.is_training = False
        self.stopping: Stop | None = None
        self.window_s = self.announced_s = math.inf  # the next window; the one the job has stopped for in time
        self.finished = False
        self.process = self.env.process(self._job())
        if params.maintenance is not None:
            self.window_s = float(params.maintenance.every_s) * rng.random()
            self.env.process(self._maintenance())
        if float(params.horizon_s) < math.inf:
            schedule(self.env, float(params.horizon_s), lambda _: self._cut(), HORIZON)

    def _job(self) -> Steps:
        stop = Stop("first", self.world.start)
        while stop.kind not in ("done", "horizon"):
            stop = yield from self._attempt(stop)
            self._clean_up(stop)
        self.finished = stop.kind == "done"
        self.world.end_stretch(saved=False)

    def _attempt(self, why: Stop) -> StepsTo[Stop]:
        """Recover, start and train; return the stop that ends it."""
        try:
            yield from self.recovery.run(why)
            if not (yield from self._start(why.row)):
                return Stop("failed start", why.row)
            self.is_training = True
            yield from self.training.run()
            return Stop("done", self.world.checkpoint)
        except simpy.Interrupt as interrupt:
            stop = cast("Stop", interrupt.cause)
        if stop.saves_first and self.is_training:
            return (yield from self._save_and_stop(stop))
        return stop

    def _save_and_stop(self, stop: Stop) -> StepsTo[Stop]:
        self.stopping = stop
        self.hazards.run()
        seconds = self.training.write_time_s
        if stop.kind == "window":
            self.announced_s, seconds = self.window_s, self.window_s - self.env.now
        try:
            yield from self.training.last_save(stop.row, seconds)
        except simpy.Interrupt as interrupt:
            self.announced_s = math.inf
            return cast("Stop", interrupt.cause)
        if self.store.newest_s == float(self.params.work_s):
            return Stop("done", self.world.checkpoint)
        return stop

    def _clean_up(self, stop: Stop) -> None:
        """End the attempt, and roll back to the newest save."""
        self.is_training, self.stopping = False, None
        self.hazards.hold()
        self.corruption.latency.hold()
        self.speed.restore()
        self.groups.clear()
        self.training.abandon()
        self.lifetime.set(math.inf)
        self.announcement.set(math.inf)
        if stop.kind == "found":
            self.store.drop_after(self.corruption.position_s)
            self._forget_corruption()
        self.world.book(stop.row, "rework", self.training.work_s - self.store.newest_s)
        self.training.work_s = self.store.newest_s

    def _start(self, row: int) -> StepsTo[bool]:
        """Start the job and read a save; return whether it started."""
        recovery, starts = self.params.recovery, self.params.recovery.start_failure
        reading = self._go_back(row)
        self.hazards.run()
        for _, law in (*recovery.startup, *(recovery.startup_if_replaced if self.pool.replaced else ())):
            yield from self.world.spend(row, "startup", self.world.draw(law))
        if starts is not None and self.world.rng.random() < starts.probability:
            self.recovery.n_failed_starts += 1
            return False
        self.recovery.n_failed_starts, self.pool.replaced = 0, False
        yield from self.world.spend(row, "restore", self._restore_s(reading))
        self.recovery.n_lost = 0
        return True

    def _go_back(self, row: int) -> Reading:
        """Begin an attempt from the newest save that can be read."""
        reading = self.store.read()
        self.world.book(row, "rework", self.training.work_s - reading.position_s)
        if reading.position_s <= self.corruption.position_s:
            self._forget_corruption()
        self.training.begin_attempt(reading.position_s)
        self.hazards.begin_attempt()
        write_time_s = self.training.write_time_s
        if self.params.recovery.max_attempt_s is not None:
            self.lifetime.set(max(0.0, float(self.params.recovery.max_attempt_s) - write_time_s))
        maintenance, left_s = self.params.maintenance, self.window_s - write_time_s - self.env.now
        if maintenance is not None and 0 < maintenance.notice_s >= write_time_s and left_s >= 0:
            self.announcement.set(left_s)
            self.announcement.run()
        return reading

    def _restore_s(self, reading: Reading) -> float:
        recovery, local = self.params.recovery, self.params.checkpoint.local
        restore_s = {"main": self.world.draw(recovery.restore), "local": 0.0}
        if local is not None:
            restore_s["local"] = self.world.draw(local.restore)
        seconds = sum(restore_s[tier] for tier in reading.failed)
        if reading.tier is not None:
            skipped_s = float(self.params.saved_before_s) + reading.position_s
            seconds += restore_s[reading.tier] + float(recovery.data_fast_forward) * skipped_s
        return seconds

    def _forget_corruption(self) -> None:
        self.corruption.clear()
        self.hazards.clean = True

    def _struck(self, index: int, node: Node | None, repeated: bool) -> None:
        cause = self.params.causes[index]
        stop = Stop("crash", index, index, node, repeated)
        if cause.kind == "silent":
            self.corruption.strike(index, self.training.work_now_s())
            self.hazards.clean = False
            if self.is_training and self.stopping is None and self.groups.pause is None:
                self.corruption.latency.run()
        elif cause.kind == "slow":
            self.speed.slow_down(index)
            self.training.changed()
        elif cause.kind == "preemption" and 0 < cause.notice_s >= self.training.write_time_s:
            self._interrupt(Stop("graceful", index, index, node, repeated, saves_first=True))
        elif cause.kind == "preemption":
            self._interrupt(stop)
        elif self.groups.take(stop, self.is_training and self.stopping is None):
            self.world.interruptions[index] += 1
        else:
            self._interrupt(stop)

    def _slow_is_known(self, index: int) -> None:
        self._interrupt(Stop("graceful", index, index, saves_first=True))

    def _corruption_shows(self) -> None:
        self._interrupt(found(self.corruption))

    def _lifetime_ends(self) -> None:
        self._interrupt(Stop("lifetime", self.world.planned, saves_first=True))

    def _announce(self) -> None:
        if self.is_training:
            self._interrupt(Stop("window", self.world.planned, saves_first=True))

    def _interrupt(self, stop: Stop) -> None:
        """End the attempt; a second announced stop is ignored."""
        if stop.saves_first and self.stopping is not None:
            return
        if stop.cause is not None:
            self.world.interruptions[stop.cause] += 1
        self.hazards.hold()
        self.process.interrupt(stop)

    def _maintenance(self) -> Steps:
        maintenance = self.params.maintenance
        assert maintenance is not None
        while True:
            yield self.env.timeout(self.window_s - self.env.now)
            announced = self.announced_s == self.window_s
            self.window_s += float(maintenance.every_s)
            if not announced and self.process.is_alive:
                self.hazards.hold()
                self.process.interrupt(Stop("window", self.world.planned))

    def _cut(self) -> None:
        if self.process.is_alive:
            self.hazards.hold()
            self.process.interrupt(Stop("horizon", self.world.horizon))
