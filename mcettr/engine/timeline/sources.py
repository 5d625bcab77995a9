"""The mechanisms that act while the job is at risk, each with the time until it does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mcettr.engine.timeline.calendar import IncidentClock
from mcettr.engine.timeline.detection import SILENT, SLOW, found_after_s
from mcettr.engine.timeline.group import Stage
from mcettr.engine.timeline.happenings import Ended, Stop, Stopped
from mcettr.engine.timeline.hazards import OwnClocks, Strike
from mcettr.engine.timeline.silent import Corruption, SilentHazard
from mcettr.engine.timeline.training import Training
from mcettr.model.budget import Outcome
from mcettr.model.order import is_before

if TYPE_CHECKING:
    from mcettr.engine.timeline.life import Life


class Still:
    """A mechanism that need not know how time passes."""

    def __init__(self, life: Life) -> None:
        self.life = life

    def passed(self, seconds: float) -> None:
        """Let time at risk pass."""


class Horizon(Still):
    """The end of the simulated time."""

    def left_s(self) -> float:
        """Return the time until then."""
        return float(self.life.job.horizon_s) - self.life.now_s

    def happen(self) -> None:
        """End the timeline."""
        self.life.now_s = self.life.job.horizon_s
        raise Ended(Outcome.HORIZON)


class WindowBegins(Still):
    """The next maintenance window, or the save made just before it."""

    def __init__(self, life: Life) -> None:
        super().__init__(life)
        self._saves = False  # whether the save comes next

    def left_s(self) -> float:
        """Return the time until then."""
        life, stopping = self.life, self.life.phase.stopping
        if stopping is not None and stopping.kind == "maintenance":
            return math.inf
        begins_s = life.windows.next_at_s - life.now_s
        in_time = not is_before(begins_s - life.write_s, 0.0, life.now_s)
        noticed = gives_time(life.windows.notice_s, life.write_s) and in_time
        self._saves = noticed and stopping is None and life.phase.in_training
        return begins_s - life.write_s if self._saves else begins_s

    def happen(self) -> None:
        """Begin the save, or stop at once."""
        life = self.life
        stop = Stop("maintenance", life.books.planned)
        if not self._saves:
            life.now_s = life.windows.next_at_s
            raise Stopped(stop)
        life.stop_gracefully(stop, life.windows.next_at_s - life.now_s)


class LongestAttempt(Still):
    """A planned restart after the longest time at risk that an attempt may have."""

    def left_s(self) -> float:
        """Return the time until its save begins."""
        longest_s = self.life.job.recovery.max_attempt_s
        if longest_s is None or self.life.phase.stopping is not None:
            return math.inf
        return max(float(longest_s) - self.life.write_s - self.life.age_s, 0.0)

    def happen(self) -> None:
        """Stop gracefully."""
        self.life.stop_gracefully(Stop("graceful", self.life.books.planned, to_queue=True), self.life.write_s)


class IncidentToggles(Still):
    """The beginnings and ends of the fleet's bad times."""

    def __init__(self, life: Life, clock: IncidentClock) -> None:
        super().__init__(life)
        self.clock = clock

    def left_s(self) -> float:
        """Return the time until the next one."""
        return self.clock.toggle_at_s - self.life.now_s

    def happen(self) -> None:
        """Change the rates."""
        self.life.now_s = self.clock.toggle_at_s
        self.clock.on = not self.clock.on
        self.clock.hold(self.life.now_s)
        self.life.changed = True


class RateChanges(Still):
    """The calendar profiles' next piece, or the end of a lease."""

    def left_s(self) -> float:
        """Return the time until the next one."""
        return self.life.rates.change_s(self.life.known, self.life.now_s, self.life.age_s)

    def happen(self) -> None:
        """Change the rates."""
        life = self.life
        # Rounding must not leave the clock a hair before the change.
        edges = [edge for edge in life.rates.edges_s if math.isclose(edge, life.now_s, rel_tol=1e-12)]
        leases = [lease for lease in life.rates.leases_s if math.isclose(lease, life.age_s, rel_tol=1e-12)]
        life.now_s, life.age_s = max(edges, default=life.now_s), max(leases, default=life.age_s)
        life.changed = True


class LatencyEnds:
    """The end of the latency of silent corruption, in training time."""

    def __init__(self, life: Life, hazard: SilentHazard) -> None:
        self.life, self.hazard = life, hazard

    def left_s(self) -> float:
        """Return the time until then."""
        pending = self.hazard.pending
        return pending.latency_left_s if pending is not None and self.life.phase.finds_corruption else math.inf

    def passed(self, seconds: float) -> None:
        """Let time at risk pass."""
        if self.hazard.pending is not None and self.life.phase.finds_corruption:
            self.hazard.pending.latency_left_s -= seconds

    def happen(self) -> None:
        """Find the corruption."""
        self.life.find_corruption()


class SlowNodeFound:
    """The slow node of a cause, if it has one, becomes known after some time at risk."""

    def __init__(self, life: Life, cause: int) -> None:
        self.life, self.cause = life, cause

    def left_s(self) -> float:
        """Return the time until it is known."""
        return self.life.slow_found_left_s.get(self.cause, math.inf)

    def passed(self, seconds: float) -> None:
        """Let time at risk pass."""
        if self.cause in self.life.slow_found_left_s:
            self.life.slow_found_left_s[self.cause] -= seconds

    def happen(self) -> None:
        """Stop gracefully to replace the node."""
        self.life.slow_found_left_s[self.cause] = math.inf
        self.life.stop_gracefully(Stop("graceful", self.cause + 1, self.cause), self.life.write_s)


def slow_down(life: Life, strike: Strike) -> None:
    """Let a node become slow, unless the cause has one already."""
    if strike.cause not in life.slow_found_left_s:
        found_s = found_after_s(life.job, life.draws, strike.cause, SLOW, strike.number)
        life.slow_found_left_s[strike.cause] = found_s
        life.changed = True


class Strikes:
    """The failures by the shared hazard."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.left_s = life.hazards.left_s
        self.passed = life.hazards.passed

    def happen(self) -> None:
        """Let one strike."""
        strike = self.life.hazards.strike()
        self.life.changed = self.life.changed or strike.is_repeat
        fail(self.life, strike)


class OwnStrikes:
    """The events of a cause with a law of its own."""

    def __init__(self, life: Life, clocks: OwnClocks, cause: int) -> None:
        self.life, self.clocks, self.cause = life, clocks, cause

    def left_s(self) -> float:
        """Return the time at risk until the next event."""
        return self.clocks.left_s[self.cause]

    def passed(self, seconds: float) -> None:
        """Let time at risk pass."""
        self.clocks.left_s[self.cause] -= seconds

    def happen(self) -> None:
        """Let one strike."""
        fail(self.life, self.clocks.strike(self.cause, self.life.hazards.n_spent))


class SilentStrikes:
    """The strikes of silent corruption, while steps compute."""

    def __init__(self, life: Life, hazard: SilentHazard) -> None:
        self.life, self.hazard = life, hazard

    def left_s(self) -> float:
        """Return the time until the next one at the speed of now."""
        speed = self.life.phase.speed
        return self.hazard.left_work_s() / speed if speed > 0 else math.inf

    def passed(self, seconds: float) -> None:
        """Let time at risk pass."""
        self.hazard.computed(seconds * self.life.phase.speed)

    def happen(self) -> None:
        """Corrupt the work from here on."""
        life = self.life
        cause, number = self.hazard.strike()
        latency_s = found_after_s(life.job, life.draws, cause, SILENT, number)
        self.hazard.pending = Corruption(cause, life.work_s, latency_s)


def gives_time(notice_s: float, write_s: float) -> bool:
    """Return whether a stop announced this long before leaves time for a save; without notice nothing is saved."""
    return notice_s > 0.0 and notice_s >= write_s


def fail(life: Life, strike: Strike) -> None:
    """Let a cause strike: slow the job down, take a group out, or stop the job."""
    cause, row, phase = life.job.causes[strike.cause], strike.cause + 1, life.phase
    if cause.kind == "slow":
        slow_down(life, strike)
        return
    preempts = cause.kind == "preemption"
    if preempts and gives_time(cause.notice_s, life.write_s):
        stop = Stop("graceful", row, strike.cause, strike.is_repeat, to_queue=True)
        life.stop_gracefully(stop, life.write_s)
        return
    is_of_nodes = not preempts and cause.exposure != "job"
    trains = isinstance(phase, Training) and phase.stopping is None
    if life.group is not None and is_of_nodes and trains and life.group.takes(strike):
        was_up = life.group.stage == Stage.UP
        life.group.lose(strike)
        if was_up and isinstance(phase, Training):
            phase.pause(life.group.groups.reconfigure_s)
        return
    life.books.interruptions[strike.cause] += 1
    raise Stopped(Stop("crash", row, strike.cause, strike.is_repeat, to_queue=preempts))
