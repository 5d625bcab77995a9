"""Training in the second simulator: compute, and save step by step, at whatever speed there is."""

from __future__ import annotations

import math
from functools import partial

import simpy

from tests.independent_corruption import Corruption
from tests.independent_groups import Groups
from tests.independent_hazards import Hazards
from tests.independent_saves import Store
from tests.independent_speed import Speed
from tests.independent_timers import Timer
from tests.independent_world import Steps, Stop, World


class Training:
    """One job's work: what is computed, and the writes in flight.

    Attributes
    ----------
    work_s : float
        Work computed so far (as of the last change of speed).
    write_time_s, stall_s : float
        Of this attempt's main saves.
    """

    def __init__(self, world: World, store: Store, hazards: Hazards, speed: Speed, corruption: Corruption) -> None:
        self._world, self._store, self._hazards = world, store, hazards
        self._speed, self._corruption = speed, corruption
        self.groups: Groups
        self.work_s = self._grid_s = 0.0
        self._total_s = float(world.params.work_s)
        self.write_time_s = self.stall_s = 0.0
        self._writes: dict[str, tuple[float, Timer]] = {}
        self._change = world.env.event()
        self._since_s, self._pace = 0.0, 0.0

    def begin_attempt(self, position_s: float) -> None:
        """Go on from a save; draw how long writes take this time."""
        plan = self._world.params.checkpoint
        self.work_s, self._grid_s = position_s, self._store.base_s
        self.write_time_s, self.stall_s = float(plan.write_time_s), float(plan.stall_s)
        if plan.write_time is not None:
            self.write_time_s = self._world.draw(plan.write_time)
            stall_s = float(plan.stall_fixed_s) + float(plan.stall_share) * self.write_time_s
            self.stall_s = min(stall_s, self.write_time_s)

    def work_now_s(self) -> float:
        """Return the work computed up to this instant."""
        return self.work_s + self._pace * (self._world.env.now - self._since_s)

    def changed(self) -> None:
        """Something that training depends on has changed."""
        if not self._change.triggered:
            self._change.succeed()

    def abandon(self) -> None:
        """Lose the writes in flight."""
        for _, timer in self._writes.values():
            timer.set(math.inf)
        self._writes.clear()

    def run(self) -> Steps:
        """Compute and save in turn until a main save of all the work is durable."""
        self._corruption.latency.run()
        while True:
            due_s, is_main = self._next_save()
            yield from self._compute(due_s)
            if is_main and "main" in self._writes:  # an overdue save begins when the one before is written
                yield from self._compute(self._total_s, until_written=True)
            if not is_main:
                yield from self._save_local()
                continue
            if math.isclose(self.work_s, self._total_s, rel_tol=1e-9):
                self.work_s = self._total_s
                yield from self._wait_for_write()
            yield from self._save_main()
            if self.work_s == self._total_s:
                yield from self._wait_for_write()
                return

    def last_save(self, row: int, seconds: float) -> Steps:
        """Save before a stop, at risk; ends early when all work is durable in another way."""
        self._corruption.latency.hold()
        for _, timer in self._writes.values():
            timer.run()
        began_s, end = self._world.env.now, self._world.env.timeout(seconds)
        try:
            while not end.processed and self._store.base_s < self._total_s:
                self._change = self._world.env.event()
                yield end | self._change
        finally:
            self._world.book(row, "checkpoint", self._world.env.now - began_s)
        if end.processed and self._store.base_s < self._total_s:
            self._store.add_graceful(self.work_s)

    def _next_save(self) -> tuple[float, bool]:
        """Return the work at which the next save begins, and whether it is a main one."""
        plan = self._world.params.checkpoint
        n_a_main = 1 if plan.local is None else int(plan.local.n_a_main)
        interval_s = float(plan.interval_s) / n_a_main
        number = min(math.floor((self.work_s - self._grid_s) / interval_s + 1e-9), n_a_main - 1) + 1
        due_s = self._grid_s + number * interval_s
        if due_s > self._total_s or math.isclose(due_s, self._total_s, rel_tol=1e-9):
            return self._total_s, True
        return due_s, number == n_a_main

    def _save_main(self) -> Steps:
        position_s, local = self.work_s, self._world.params.checkpoint.local
        yield from self._verify()
        self._grid_s = position_s
        self._write("main", position_s, self.write_time_s)
        if local is not None and local.holds_main:
            self._write("local", position_s, float(local.write_time_s))
        yield from self._block(self.stall_s)

    def _save_local(self) -> Steps:
        local = self._world.params.checkpoint.local
        assert local is not None
        yield from self._verify()
        self._write("local", self.work_s, float(local.write_time_s))
        yield from self._block(float(local.stall_s))

    def _verify(self) -> Steps:
        """Look for corruption before a save of either tier."""
        verify_s = float(self._world.params.checkpoint.verify_s)
        if verify_s > 0:
            yield from self._block(verify_s)
            if self._corruption.cause is not None:
                self._world.interruptions[self._corruption.cause] += 1
                raise simpy.Interrupt(found(self._corruption))

    def _write(self, tier: str, position_s: float, seconds: float) -> None:
        """Begin a write; the last save's copy takes the place of a local write in flight."""
        if tier in self._writes:
            self._writes[tier][1].set(math.inf)
        timer = Timer(self._world.env, partial(self._written, tier))
        self._writes[tier] = position_s, timer
        timer.set(seconds)
        timer.run()

    def _written(self, tier: str) -> None:
        position_s, _ = self._writes.pop(tier)
        if tier == "main":
            self._store.add_main(position_s)
        else:
            self._store.add_local(position_s)
        self.changed()

    def _compute(self, target_s: float, until_written: bool = False) -> Steps:
        """Compute up to `target_s`, or until no main save is being written."""
        while self.work_s < target_s and not (until_written and "main" not in self._writes):
            yield from self._pause()
            slowed = float(self._world.params.checkpoint.slowdown) if "main" in self._writes else 0.0
            losses = self._speed.losses()
            pace = (1.0 - slowed) * (1.0 - sum(share for _, share in losses))
            end = self._wake_after((target_s - self.work_s) / pace if pace > 0 else math.inf)
            self._since_s, self._pace = self._world.env.now, pace
            self._hazards.compute(pace)
            try:
                yield self._change
            finally:
                passed_s = self._world.env.now - self._since_s
                self.work_s, self._pace = self.work_now_s(), 0.0
                self._hazards.compute(0.0)
                self._world.book(self._world.checkpoint, "checkpoint", passed_s * slowed)
                for row, share in losses:
                    self._world.book(row, "degraded", passed_s * (1.0 - slowed) * share)
            if end.processed:
                self.work_s = target_s

    def _block(self, seconds: float) -> Steps:
        """Let seconds pass without computing."""
        while seconds > 0:
            yield from self._pause()
            began_s, end = self._world.env.now, self._wake_after(seconds)
            try:
                yield self._change
            finally:
                self._world.book(self._world.checkpoint, "checkpoint", self._world.env.now - began_s)
            if end.processed:
                return
            seconds -= self._world.env.now - began_s

    def _wait_for_write(self) -> Steps:
        while "main" in self._writes:
            yield from self._pause()
            began_s, _ = self._world.env.now, self._wake_after(math.inf)
            try:
                yield self._change
            finally:
                self._world.book(self._world.checkpoint, "checkpoint", self._world.env.now - began_s)

    def _wake_after(self, seconds: float) -> simpy.Event:
        """Return an event that many seconds from now, which ends waiting for a change."""
        if self._change.triggered:
            self._change = self._world.env.event()
        change, end = self._change, self._world.env.event()

        def wake(_: simpy.Event) -> None:
            if not change.triggered:
                change.succeed()

        if seconds < math.inf:
            end = self._world.env.timeout(seconds)
            end.callbacks.append(wake)
        return end

    def _pause(self) -> Steps:
        """Regroup after the loss of a replica group: writes stop too."""
        while (stop := self.groups.pause) is not None:
            timers = [timer for _, timer in self._writes.values()] + [self._corruption.latency]
            for timer in timers:
                timer.hold()
            groups = self._world.params.recovery.replica_groups
            assert groups is not None
            yield from self._world.spend(stop.row, "startup", float(groups.reconfigure_s))
            self.groups.pause = None
            for timer in timers:
                timer.run()


def found(corruption: Corruption) -> Stop:
    """Return the stop for a corruption that is seen."""
    assert corruption.cause is not None
    return Stop("found", corruption.cause, corruption.cause)
