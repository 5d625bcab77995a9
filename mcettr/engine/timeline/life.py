"""One timeline: its state, and the loop that takes whatever comes first."""

from __future__ import annotations

from typing import NamedTuple

from mcettr.engine.draws import Draws
from mcettr.engine.timeline import recovery, sources
from mcettr.engine.timeline.books import Books
from mcettr.engine.timeline.calendar import IncidentClock, Windows
from mcettr.engine.timeline.group import Group
from mcettr.engine.timeline.happenings import Ended, Source, Stop, Stopped
from mcettr.engine.timeline.hazards import Conditions, Hazards, OwnClocks, Rates
from mcettr.engine.timeline.lemons import LemonCount
from mcettr.engine.timeline.nodes import Nodes
from mcettr.engine.timeline.saves import Saves
from mcettr.engine.timeline.silent import SilentHazard
from mcettr.engine.timeline.training import Phase, Training
from mcettr.kernels import streams
from mcettr.model.budget import Outcome
from mcettr.model.order import in_order, is_before
from mcettr.model.params import Params

_EVENTS_AN_ATTEMPT = 64
"""Bound on events other than steps of the plan, as a multiple of the bound on attempts."""


class Pace(NamedTuple):
    """How fast the job computes when no write slows it down, and which row loses which share of full speed."""

    speed: float
    lost: list[tuple[int, float]]


class Life:
    """The state of one timeline.

    Parameters
    ----------
    job : Params
        One job of plain floats, with laws passed through `tabulate`.
    draws : Draws
        Of the timeline.
    factors : list of float
        What multiplies the causes' rates.
    max_attempts : int
        The timeline is stopped before this attempt.

    Examples
    --------
    >>> from mcettr.model.params import Checkpoint
    >>> life = Life(Params(8.0, 100.0, 1e8, Checkpoint(40.0, 1.0, 1.0)), Draws(0, 0), [], 10)
    >>> life.run().name, life.now_s, life.books.n_saves
    ('DONE', 103.0, 3)
    """

    training: type[Training] = Training

    def __init__(self, job: Params, draws: Draws, factors: list[float], max_attempts: int) -> None:
        self.job, self.draws, self.max_attempts = job, draws, max_attempts
        self.now_s = self.age_s = self.work_s = 0.0
        self.attempt = self.row = self.failed_starts = self.n_events = 0
        self.write_s: float = job.checkpoint.write_time_s
        self.stall_s: float = job.checkpoint.stall_s
        self.lost_in_chain, self.replaced = 0.0, True
        self.newcomers = 0.0, 0.0
        """Nodes that have come and not been looked at, and how many of them are out of repair."""
        self.changed, self.pace, self.known = True, Pace(1.0, []), Conditions()
        self.books, self.saves = Books(tuple(cause.name for cause in job.causes)), Saves(job)
        self.nodes = Nodes(job.n_nodes, job.recovery.spares, draws)
        self.lemons = LemonCount(job.lemons, job.n_nodes, draws) if job.lemons is not None else None
        self.windows = Windows(job.maintenance, draws)
        self.incidents = IncidentClock(job.incidents, draws) if job.incidents is not None else None
        self.rates, self.hazards = Rates(job, factors), Hazards(job, draws)
        self.silent = SilentHazard(draws) if any(cause.kind == "silent" for cause in job.causes) else None
        groups = job.recovery.replica_groups
        self.group = Group(self, groups) if groups is not None and groups.count > 1 else None
        self.slow_found_left_s: dict[int, float] = {}
        """Slow nodes, at most one a cause: time at risk until each is known (inf once it is)."""
        self.phase = Phase(self, "startup", 0.0)
        self.sources = self._sources()

    def _sources(self) -> list[Source]:
        """Return the mechanisms that are on, in the order in which they act where they do so at one moment."""
        job = self.job
        found: dict[str, list[Source]] = {"horizon": [sources.Horizon(self)], "failure": [sources.Strikes(self)]}
        if job.maintenance is not None:
            found["window"] = [sources.WindowBegins(self)]
        if job.recovery.max_attempt_s is not None:
            found["longest attempt"] = [sources.LongestAttempt(self)]
        if self.incidents is not None:
            found["incident"] = [sources.IncidentToggles(self, self.incidents)]
        if self.rates.edges_s or self.rates.leases_s:
            found["rate"] = [sources.RateChanges(self)]
        if self.silent is not None:
            found["latency"] = [sources.LatencyEnds(self, self.silent)]
            found["corruption"] = [sources.SilentStrikes(self, self.silent)]
        found["slow node"] = [
            sources.SlowNodeFound(self, index) for index, cause in enumerate(job.causes) if cause.kind == "slow"
        ]
        if self.group is not None:
            found["group"] = [self.group]
        clocks = OwnClocks(job, self.draws)
        found["drill"] = [sources.OwnStrikes(self, clocks, cause) for cause in clocks.laws]
        return in_order(found)

    def run(self) -> Outcome:
        """Live until the work is done, the horizon comes, or too much has happened."""
        stop = Stop("first", self.books.start)
        try:
            while True:
                try:
                    recovery.recover(self, stop)
                    self._start()
                except Stopped as stopped:
                    stop = stopped.stop
                    self._stop(stop)
        except Ended as end:
            self.roll_back(self.books.horizon)
            self.nodes.finish(self.now_s)
            self.books.close(self.now_s)
            return end.outcome

    def _start(self) -> None:
        """Start, restore and train, until something stops the job."""
        job, attempt = self.job, self.attempt
        startup_s = recovery.startup_s(self, attempt, replaced=self.replaced)
        self._draw_write()
        restore_s = self._choose_save()
        self.age_s, self.changed = 0.0, True
        self.walk(Phase(self, "startup", startup_s))
        failure = job.recovery.start_failure
        if failure is not None and self.draws.happens(failure.probability, streams.START_FAILURE, attempt):
            self.failed_starts += 1
            raise Stopped(Stop("failed start", self.row))
        self.failed_starts, self.replaced = 0, False
        self.walk(Phase(self, "restore", restore_s))
        self.lost_in_chain = 0.0
        self.walk(self.training(self))

    def _draw_write(self) -> None:
        plan = self.job.checkpoint
        if plan.write_time is not None:
            self.write_s = self.draws.duration(plan.write_time, streams.WRITE_TIME, self.attempt)
            self.stall_s = min(plan.stall_fixed_s + plan.stall_share * self.write_s, self.write_s)

    def _choose_save(self) -> float:
        """Go back to the newest save that can be read; return the time that reading takes."""
        job, draws, attempt = self.job, self.draws, self.attempt
        local = job.checkpoint.local
        main_s = draws.duration(job.recovery.restore, streams.RESTORE, attempt)
        local_s = draws.duration(local.restore, streams.RESTORE_LOCAL, attempt) if local is not None else 0.0
        restore_s, is_read = self.saves.restore(draws, attempt, main_s, local_s)
        self.roll_back(self.row)
        pending = self.silent.pending if self.silent is not None else None
        if self.silent is not None and pending is not None and self.work_s <= pending.position_s:
            self.silent.pending = None
        skipped_s = job.saved_before_s + self.work_s if is_read else 0.0
        return restore_s + (job.recovery.data_fast_forward * skipped_s if skipped_s > 0 else 0.0)

    def walk(self, phase: Phase) -> None:
        """Let a phase pass, and whatever happens meanwhile."""
        # A rate may change at the very moment at which the phase before ends.
        self.phase, self.changed = phase, True
        while not phase.over:
            if self.changed:
                self._follow()
            actor: Source = phase
            left_s = phase.left_s()
            for source in self.sources:
                source_left_s = source.left_s()
                if is_before(source_left_s, left_s, self.now_s):
                    actor, left_s = source, source_left_s
            left_s = max(left_s, 0.0)
            self.now_s += left_s
            self.age_s += left_s
            for source in self.sources:
                source.passed(left_s)
            phase.passed(left_s)
            if actor is not phase:
                self.count_event()
            actor.happen()

    def count_event(self) -> None:
        """Count an event; too many of them end the timeline."""
        self.n_events += 1
        if self.n_events > _EVENTS_AN_ATTEMPT * self.max_attempts:
            raise Ended(Outcome.CAPPED)

    def _follow(self) -> None:
        """Take over what has changed: the rates, and the speed."""
        self.changed = False
        present, spares = self.nodes.present, self.job.recovery.spares
        width = present / self.nodes.n if spares is not None and spares.when_exhausted == "shrink" else 1.0
        at = Conditions(
            now_s=self.now_s,
            age_s=self.age_s,
            incident=self.incidents is not None and self.incidents.on,
            exposed=width * (self.group.share_exposed if self.group is not None else 1.0),
            lemon_factor=self.lemons.factor(present) if self.lemons is not None else 1.0,
        )
        self.known = at
        self.hazards.follow(self.rates.at_risk(at))
        if self.silent is not None:
            self.silent.follow(self.rates.computing(at))
        shares = [(cause + 1, 1.0 - self.job.causes[cause].slowdown) for cause in sorted(self.slow_found_left_s)]
        if self.group is not None:
            shares.append((self.group.row, self.group.share_up))
        self.pace = _pace([*shares, (self.row, width)])

    def _stop(self, stop: Stop) -> None:
        """Stop the job: forget what was under way, and roll back to the newest save."""
        self.row = stop.row
        self.changed = True
        if stop.kind == "found" and self.silent is not None and self.silent.pending is not None:
            self.saves.distrust_after(self.silent.pending.position_s)
            self.silent.pending = None
        self.slow_found_left_s.clear()
        if self.group is not None:
            self.group.stop()
        self.roll_back(stop.row)
        self.next_attempt(stop.row)

    def next_attempt(self, row: int) -> None:
        """Begin the next attempt, or end a timeline that has too many."""
        self.attempt += 1
        if self.attempt >= self.max_attempts:
            self.roll_back(row)
            raise Ended(Outcome.CAPPED)

    def roll_back(self, row: int) -> None:
        """Lose what no durable save holds."""
        newest_s = self.saves.newest_s
        self.books.book(row, "rework", self.work_s - newest_s)
        self.work_s = newest_s

    def stop_gracefully(self, stop: Stop, save_s: float) -> None:
        """Stop after a save if there is something to save; while another such stop is under way nothing happens."""
        if self.phase.stopping is not None:
            return
        if stop.cause >= 0:
            self.books.interruptions[stop.cause] += 1
        if not isinstance(self.phase, Training):
            raise Stopped(stop)
        self.phase.stop_gracefully(stop, save_s)

    @property
    def corrupt_s(self) -> float:
        """Return the durable work that was computed after a corruption which nobody has found."""
        pending = self.silent.pending if self.silent is not None else None
        return max(self.saves.newest_s - pending.position_s, 0.0) if pending is not None else 0.0

    def find_corruption(self) -> None:
        """Stop for the silent corruption, if there is any."""
        pending = self.silent.pending if self.silent is not None else None
        if pending is not None:
            self.books.interruptions[pending.cause] += 1
            raise Stopped(Stop("found", pending.cause + 1, pending.cause))

    def pass_down(self, *lumps: tuple[str, float]) -> bool:
        """Let lumps of downtime pass, by activity; a maintenance window cuts them, passes, and makes it False."""
        for activity, seconds in lumps:
            limit_s = min(self.job.horizon_s, self.windows.next_at_s)
            room_s = max(limit_s - self.now_s, 0.0)
            is_cut = is_before(room_s, seconds, self.now_s)
            self.books.book(self.row, activity, room_s if is_cut else seconds)
            if is_cut:
                self.now_s = limit_s
                if limit_s >= self.job.horizon_s:
                    raise Ended(Outcome.HORIZON)
                self.serve_window()
                return False
            self.now_s += seconds
        return True

    def serve_window(self) -> None:
        """Let a maintenance window pass that begins now."""
        self.count_event()
        room_s = max(self.job.horizon_s - self.now_s, 0.0)
        is_cut = is_before(room_s, self.windows.duration_s, self.now_s)
        passed_s = room_s if is_cut else self.windows.duration_s
        self.books.book(self.books.planned, "maintenance", passed_s)
        self.now_s += passed_s
        if is_cut:
            self.now_s = self.job.horizon_s
            raise Ended(Outcome.HORIZON)
        self.windows.next_at_s += self.windows.every_s

    def wait_for_repairs(self, n: float) -> None:
        """Let time pass until `n` repaired nodes have come into the job."""
        nodes = self.nodes
        nodes.wanted = n
        while nodes.wanted > 0:
            at_s = nodes.repaired_at_s
            if self.pass_down(("spare_wait", at_s - self.now_s)):
                self.now_s = max(at_s, self.now_s)
            nodes.catch_up(self.now_s)


def _pace(shares: list[tuple[int, float]]) -> Pace:
    """Return the speed under some shares of full speed, by row, each of which takes its part of what is left."""
    speed, lost = 1.0, []
    for row, share in shares:
        if share < 1.0:
            lost.append((row, speed * (1.0 - share)))
            speed *= share
    return Pace(speed, lost)
