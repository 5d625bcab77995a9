"""Timelines in long strides: many undisturbed intervals at once, and an end after so many steps.

A pilot has a fraction of a second. What happens is the same as step by step, up to rounding: a stride ends before the
next thing that any mechanism does.
"""

from __future__ import annotations

import math

from mcettr.engine.draws import Draws
from mcettr.engine.timeline.happenings import Ended, Stop
from mcettr.engine.timeline.life import Life
from mcettr.engine.timeline.saves import Saves
from mcettr.engine.timeline.training import Training
from mcettr.model.budget import Outcome
from mcettr.model.params import Params


class StridingTraining(Training):
    """Training that passes over many equal cycles, from the beginning of a checkpoint to that of a later one."""

    _n_cycles = 0
    _stall_s = _durable_s = _cycle_s = 0.0

    def left_s(self) -> float:
        """Return the time until the next step of the plan, or the end of a stride."""
        assert isinstance(self.life, StridingLife)
        self.life.count_step()
        self._n_cycles = self._cycles_ahead()
        if self._n_cycles < 1:
            return super().left_s()
        self._next = "stride"
        # What a silent fault needs to know: the work computed per second of the stride, on average.
        self.speed = self.plan.interval_s / self._cycle_s
        return self._n_cycles * self._cycle_s

    def _cycles_ahead(self) -> int:
        """Return how many whole cycles nothing interrupts; 0 but at the beginning of a main checkpoint."""
        life, main, plan = self.life, self.main, self.plan
        self._stall_s, self._durable_s = plan.verify_s + life.stall_s, plan.verify_s + life.write_s
        begins = main is not None and main.left_s == self._durable_s and main.position_s == life.work_s
        if (
            not begins
            or self.stopping is not None
            or self.pause_s > 0
            or plan.local is not None
            or self.blocked_s != self._stall_s
        ):
            return 0
        pending = life.silent is not None and life.silent.pending is not None
        if plan.verify_s > 0 and pending:
            return 0
        speed, beside_s = life.pace.speed, self._durable_s - self._stall_s
        beside_work_s = beside_s * speed * (1.0 - plan.slowdown)
        if speed <= 0 or beside_work_s >= plan.interval_s:
            return 0
        self._cycle_s = self._durable_s + (plan.interval_s - beside_work_s) / speed
        self.speed = speed
        quiet_s = min(source.left_s() for source in life.sources)
        work_left_s = life.job.work_s - life.work_s
        ahead = min(quiet_s / self._cycle_s, work_left_s / plan.interval_s) if quiet_s > 0 else 0.0
        return max(math.ceil(ahead) - 2, 0) if math.isfinite(ahead) else 0

    def passed(self, seconds: float) -> None:
        """Let time pass: book a whole stride at once."""
        if self._next != "stride":
            super().passed(seconds)
            return
        life, books, plan, n = self.life, self.life.books, self.plan, self._n_cycles
        beside_s = self._durable_s - self._stall_s
        books.book(books.checkpoint, "checkpoint", n * (self._stall_s + plan.slowdown * beside_s))
        full_s = (self._cycle_s - self._stall_s) - plan.slowdown * beside_s
        for row, share in life.pace.lost:
            books.book(row, "degraded", n * share * full_s)

    def happen(self) -> None:
        """Take the next step of the plan, or end a stride: its checkpoints are durable, the next has begun."""
        if self._next != "stride":
            super().happen()
            return
        life, main, n, interval_s = self.life, self.main, self._n_cycles, self.plan.interval_s
        assert main is not None
        first_s = life.now_s - n * self._cycle_s + self._durable_s
        life.books.saved_often(first_s, self._cycle_s, n)
        life.saves.index += n - 1
        life.saves.add_main(main.position_s + (n - 1) * interval_s)
        life.work_s += n * interval_s
        main.position_s = self.began_s = life.work_s


class StridingLife(Life):
    """A timeline that ends as capped after `max_steps` steps, and counts what becomes of corruption.

    Parameters
    ----------
    job, draws, factors
        As in `Life`.
    max_steps : int
        Steps of a plan, starts and happenings; a hundred thousand take a second or two.

    Examples
    --------
    >>> from mcettr.model.params import Checkpoint
    >>> job = Params(8.0, 1e6, 1e8, Checkpoint(40.0, 1.0, 1.0))
    >>> life = StridingLife(job, Draws(0, 0), [], max_steps=50)
    >>> life.run().name, life.now_s, life.books.n_saves, life.n_steps < 20
    ('DONE', 1025000.0, 25000, True)
    """

    training = StridingTraining

    def __init__(self, job: Params, draws: Draws, factors: list[float], max_steps: int) -> None:
        super().__init__(job, draws, factors, max_steps)
        self.n_steps, self._n_in_repair = 0, 0.0
        self.n_found = self.n_unclean = 0
        """Corruptions found, and those of them before which no kept checkpoint had been written."""

    def count_step(self) -> None:
        """Count a step; too many of them end the timeline."""
        self.n_steps += 1
        if self.n_steps > self.max_attempts:
            raise Ended(Outcome.CAPPED)

    def count_event(self) -> None:
        """Count an event."""
        super().count_event()
        self.count_step()

    def next_attempt(self, row: int) -> None:
        """Begin the next attempt; each node that has gone to repair since the last one comes back in a step."""
        super().next_attempt(row)
        n_before, self._n_in_repair = self._n_in_repair, self.nodes.in_repair
        self.n_steps += int(max(self._n_in_repair - n_before, 0.0))
        self.count_step()

    def _stop(self, stop: Stop) -> None:
        pending = self.silent.pending if self.silent is not None else None
        if stop.kind == "found" and pending is not None:
            self.n_found += 1
            self.n_unclean += not _keeps_clean(self.saves, pending.position_s)
        super()._stop(stop)

    @property
    def ends_corrupt(self) -> bool:
        """Return whether work that is kept is corrupt, and nobody knows."""
        pending = self.silent.pending if self.silent is not None else None
        return pending is not None and pending.position_s < self.saves.newest_s


def _keeps_clean(saves: Saves, position_s: float) -> bool:
    """Return whether a checkpoint from before a corruption is kept; those that are kept for good are left aside."""
    extras = (extra for extra in (saves.local, saves.graceful) if extra is not None)
    if any(extra.position_s <= position_s for extra in extras):
        return True
    newest = min(math.floor(position_s / saves.interval_s + 1e-9), saves.index)
    return bool(newest >= saves.lowest)
