"""What the job does while it is at risk: it starts and restores, then computes and saves in turn, save by save."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcettr.engine.timeline.happenings import Ended, Stop, Stopped
from mcettr.engine.timeline.saves import Extra
from mcettr.model.budget import Outcome
from mcettr.model.order import is_before

if TYPE_CHECKING:
    from mcettr.engine.timeline.life import Life

_CLOSE = 1e-9
"""Share of the work that is rounding."""


class Phase:
    """A piece of the way to training that takes its time: a startup, or a restore."""

    stopping: Stop | None = None
    in_training = False
    speed = 0.0

    def __init__(self, life: Life, activity: str, seconds: float) -> None:
        self.life, self.activity, self._left_s = life, activity, seconds
        self.over = False

    @property
    def finds_corruption(self) -> bool:
        """Return whether the latency of silent corruption runs down."""
        return False

    def left_s(self) -> float:
        """Return the time until it is over."""
        return self._left_s

    def passed(self, seconds: float) -> None:
        """Let time pass."""
        self._left_s -= seconds
        self.life.books.book(self.life.row, self.activity, seconds)

    def happen(self) -> None:
        """End."""
        self.over = True


@dataclass
class Write:
    """A save on its way to be durable."""

    position_s: float
    left_s: float


class Training(Phase):
    """Training from a restore until the job stops, or is done.

    A main interval is divided into sub-intervals, each of which ends with a save: the last with a main one, the others
    with a local one. A main save may leave a copy in the local tier. Time is blocked, or computing; writes go on beside
    it.
    """

    in_training = True

    def __init__(self, life: Life) -> None:
        super().__init__(life, "checkpoint", math.inf)
        plan, base_s = life.job.checkpoint, life.saves.base_s
        self.plan = plan
        self.n_subs = int(plan.local.n_a_main) if plan.local is not None else 1
        self.sub_s = plan.interval_s / self.n_subs
        self.began_s = base_s  # work at the beginning of the main interval
        self.sub = min(math.floor((life.work_s - base_s) / self.sub_s + _CLOSE), self.n_subs - 1)
        self.main: Write | None = None
        self.local: Write | None = None
        self.blocked_s = 0.0
        self.verifying_s = math.inf  # until the end of a verification
        self.pause_s = 0.0
        self.stopping_s = 0.0
        self._next = ""
        self._target_s = math.inf

    @property
    def finds_corruption(self) -> bool:
        """Return whether the latency runs down: it is training time."""
        return self.stopping is None and self.pause_s <= 0

    def left_s(self) -> float:
        """Return the time until the next step of the plan."""
        self.speed = 0.0
        if self.pause_s > 0:
            self._next = "resume"
            return self.pause_s
        ends = {"verified": self.verifying_s}
        if self.main is not None:
            ends["main durable"] = self.main.left_s
        if self.local is not None:
            ends["local durable"] = self.local.left_s
        if self.stopping is not None:
            ends["stopped"] = self.stopping_s
        elif self.blocked_s > 0:
            ends["unblocked"] = self.blocked_s
        else:
            self._aim()
            rest_s = self._target_s - self.life.work_s
            if rest_s > 0:
                self.speed = self.life.pace.speed * (1.0 - self._slowdown)
                ends["due"] = rest_s / self.speed if self.speed > 0 else math.inf
            elif not self._writing():
                ends["due"] = 0.0
        self._next = "verified"
        for name, left_s in ends.items():
            if is_before(left_s, ends[self._next], self.life.now_s):
                self._next = name
        return ends[self._next]

    @property
    def _slowdown(self) -> float:
        return self.plan.slowdown if self.main is not None else 0.0

    def _is_main(self) -> bool:
        return self.sub + 1 >= self.n_subs or self._target_s >= float(self.life.job.work_s)

    def _writing(self) -> bool:
        return self.main is not None

    def _aim(self) -> None:
        """Set the work at which the next save is due; while the write before it goes on, training does too."""
        work_s, all_s = self.life.work_s, self.life.job.work_s
        due_s = max(self.began_s + (self.sub + 1) * self.sub_s, work_s)
        if due_s >= all_s * (1.0 - _CLOSE) or (due_s <= work_s and self._writing()):
            due_s = all_s
        self._target_s = due_s

    def passed(self, seconds: float) -> None:
        """Let time pass: book it, compute, and let the writes go on."""
        life, books = self.life, self.life.books
        if self.pause_s > 0:
            self.pause_s -= seconds
            assert life.group is not None
            books.book(life.group.row, "startup", seconds)
            return
        for write in (self.main, self.local):
            if write is not None:
                write.left_s -= seconds
        self.verifying_s -= seconds
        if self.stopping is not None:
            self.stopping_s -= seconds
            books.book(self.stopping.row, "checkpoint", seconds)
        elif self.blocked_s > 0 or self._target_s <= life.work_s:
            self.blocked_s -= min(seconds, self.blocked_s)
            books.book(books.checkpoint, "checkpoint", seconds)
        else:
            life.work_s += self.speed * seconds
            books.book(books.checkpoint, "checkpoint", self._slowdown * seconds)
            for row, share in life.pace.lost:
                books.book(row, "degraded", (1.0 - self._slowdown) * share * seconds)

    def happen(self) -> None:
        """Take the next step of the plan."""
        life = self.life
        if self._next == "main durable":
            self._main_durable()
        elif self._next == "local durable":
            assert self.local is not None
            life.saves.local, self.local = Extra(self.local.position_s), None
        elif self._next == "verified":
            self.verifying_s = math.inf
            life.find_corruption()
        elif self._next == "due":
            life.work_s = self._target_s
            if not self._writing():
                self._begin_save()
        elif self._next == "unblocked":
            self.blocked_s = 0.0
        elif self._next == "resume":
            self.pause_s = 0.0
        else:
            self._stopped()

    def _begin_save(self) -> None:
        life, local, verify_s = self.life, self.plan.local, self.plan.verify_s
        is_main = self._is_main()
        self.verifying_s = verify_s if verify_s > 0 else math.inf
        if is_main:
            self.blocked_s = verify_s + life.stall_s
            self.main = Write(life.work_s, verify_s + life.write_s)
            self.began_s, self.sub = life.work_s, 0
        else:
            assert local is not None
            self.blocked_s = verify_s + local.stall_s
            self.sub += 1
        if local is not None and (local.holds_main > 0 or not is_main):
            self.local = Write(life.work_s, verify_s + local.write_time_s)

    def _main_durable(self) -> None:
        assert self.main is not None
        life, position_s = self.life, self.main.position_s
        self.main = None
        life.saves.add_main(position_s)
        life.books.saved(life.now_s)
        if position_s >= life.job.work_s:
            raise Ended(Outcome.DONE)

    def pause(self, seconds: float) -> None:
        """Let everything wait, writes included."""
        self.pause_s = seconds

    def stop_gracefully(self, stop: Stop, seconds: float) -> None:
        """Save what there is, blocked, and then stop; a write in flight goes on beside it.

        A save that is being verified has not begun: this one takes its place.
        """
        self.stopping, self.stopping_s = stop, seconds
        if self.verifying_s < math.inf:
            self.main, self.local = (
                None if write is None or write.position_s >= self.life.work_s else write
                for write in (self.main, self.local)
            )
        self.pause_s, self.verifying_s = 0.0, math.inf

    def _stopped(self) -> None:
        assert self.stopping is not None
        life = self.life
        if self.stopping.kind == "maintenance":
            life.now_s = life.windows.next_at_s
        life.saves.graceful = Extra(life.work_s)
        life.books.saved(life.now_s)
        if life.work_s >= life.job.work_s:
            raise Ended(Outcome.DONE)
        raise Stopped(self.stopping)
