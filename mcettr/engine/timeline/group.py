"""A replica group that is down while the others train on."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING

from mcettr.engine.timeline import recovery
from mcettr.engine.timeline.happenings import Stop
from mcettr.engine.timeline.hazards import Strike
from mcettr.kernels import streams
from mcettr.model.physics import ReplicaGroups

if TYPE_CHECKING:
    from mcettr.engine.timeline.life import Life


class Stage(IntEnum):
    """How far a lost group is on its way back."""

    UP = 0
    DIAGNOSIS = 1
    WAITING = 2
    COMING = 3
    STARTING = 4


class Group:
    """The group that is down, if any; a second one lost meanwhile stops the job."""

    def __init__(self, life: Life, groups: ReplicaGroups) -> None:
        self.life, self.groups, self.count = life, groups, groups.count
        self.stage = Stage.UP
        self.row = 0
        self._left_s = 0.0
        self._attempt = 0
        self._n_out = 0.0
        self._supply = recovery.Supply(0.0, 0.0, 0.0, by_queue=False)

    @property
    def share_up(self) -> float:
        """Return the share of the groups that train."""
        return 1.0 if self.stage == Stage.UP else (self.count - 1.0) / self.count

    @property
    def share_exposed(self) -> float:
        """Return the share of the groups that can fail."""
        return 1.0 if self.stage == Stage.STARTING else self.share_up

    def takes(self, strike: Strike) -> bool:
        """Return whether a strike of the nodes leaves the job running: no group is down, or the same one is hit."""
        if self.stage == Stage.UP:
            return True
        hit_again = self.life.draws.uniform(streams.GROUP, strike.group_number) < 1.0 / self.count
        return self.stage == Stage.STARTING and hit_again

    def lose(self, strike: Strike) -> None:
        """Let a group go down, or begin its way back anew."""
        life = self.life
        self.row = strike.cause + 1
        life.books.interruptions[strike.cause] += 1
        life.next_attempt(self.row)
        self._attempt = life.attempt
        stop = Stop("crash", self.row, strike.cause, strike.is_repeat)
        self._n_out = recovery.lose_nodes(life, stop, in_chain=False)
        down = recovery.detection_s(life, stop) + recovery.diagnosis_s(life, stop)
        self._enter(Stage.DIAGNOSIS, down)

    def stop(self) -> None:
        """Forget the stages, since the whole job stops; nodes that have come for the group are the job's then."""
        nodes, supply = self.life.nodes, self._supply
        if self.stage == Stage.DIAGNOSIS and nodes.pool is None:
            self.life.newcomers = self._n_out, 0.0
        elif self.stage == Stage.WAITING:
            self.life.newcomers = supply.joined - nodes.wanted, supply.repaired - nodes.wanted
        self.stage, nodes.wanted = Stage.UP, 0.0

    def left_s(self) -> float:
        """Return the time until the next stage."""
        if self.stage == Stage.UP:
            return math.inf
        if self.stage == Stage.WAITING:
            return self.life.nodes.repaired_at_s - self.life.now_s
        return self._left_s

    def passed(self, seconds: float) -> None:
        """Let time at risk of the others pass."""
        self._left_s -= seconds

    def happen(self) -> None:
        """Enter the next stage."""
        if self.stage == Stage.DIAGNOSIS:
            self._look_for_nodes()
        elif self.stage == Stage.WAITING:
            self._wait()
        elif self.stage == Stage.COMING:
            self._start()
        else:
            self.life.replaced = False
            self._enter(Stage.UP, math.inf)

    def _enter(self, stage: Stage, seconds: float) -> None:
        self.stage, self._left_s = stage, seconds
        self.life.changed = True

    def _look_for_nodes(self) -> None:
        self.life.nodes.send_to_repair(streams.REPAIR_BRANCH, self._attempt, self.life.now_s)
        self._supply = recovery.take_nodes(self.life)
        self.life.nodes.wanted = self._supply.wanted
        self._enter(Stage.WAITING, math.inf)
        self._come_if_all_there()

    def _wait(self) -> None:
        nodes = self.life.nodes
        self.life.now_s = nodes.repaired_at_s
        nodes.catch_up(self.life.now_s)
        self.life.changed = True
        self._come_if_all_there()

    def _come_if_all_there(self) -> None:
        life, pool, supply = self.life, self.life.nodes.pool, self._supply
        if life.nodes.wanted > 0:
            return
        joined = self._n_out if pool is None else supply.joined
        recovery.join_nodes(life, self.row, self._attempt, joined, supply.repaired)
        swap_s = pool.swap_s if pool is not None and joined > 0 else 0.0
        queues = pool is None or pool.requeues or supply.by_queue
        queue_s = life.draws.duration(life.job.recovery.queue_wait, streams.QUEUE, self._attempt) if queues else 0.0
        self._enter(Stage.COMING, swap_s + queue_s)

    def _start(self) -> None:
        life = self.life
        startup_s = recovery.startup_s(life, self._attempt, replaced=self._n_out > 0)
        self._enter(Stage.STARTING, startup_s + life.draws.duration(self.groups.rejoin, streams.REJOIN, self._attempt))
