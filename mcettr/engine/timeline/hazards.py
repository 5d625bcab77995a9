"""When failures strike and of which cause: one shared hazard for the rates, a clock for each cause with its own law."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from mcettr.engine.draws import Draws
from mcettr.kernels import streams
from mcettr.model.params import Cause, Params


@dataclass(frozen=True)
class Conditions:
    """What the rates depend on besides the causes themselves.

    Parameters
    ----------
    now_s, age_s : float
        Calendar time, and time at risk since the attempt began.
    incident : bool
        Whether the fleet has a bad time.
    exposed : float
        Share of the nodes, domains and GPUs that can fail.
    lemon_factor : float
        Mean rate of the job's nodes over that of a healthy one.
    """

    now_s: float = 0.0
    age_s: float = 0.0
    incident: bool = False
    exposed: float = 1.0
    lemon_factor: float = 1.0


@dataclass(frozen=True)
class Strike:
    """A failure of a cause.

    Parameters
    ----------
    cause : int
        Its index.
    number : int
        Of the strike, for the draws that belong to it.
    group_number : int
        Of the draw that tells which replica group it hits.
    is_repeat : bool
        Whether a missed culprit struck again.
    """

    cause: int
    number: int
    group_number: int
    is_repeat: bool = False


class Rates:
    """The causes' rates under given conditions.

    Examples
    --------
    >>> from mcettr.model.params import Checkpoint
    >>> job = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0), (Cause("node", 1e-4), Cause("sdc", 1e-5, "silent")))
    >>> rates = Rates(job, [1.0, 2.0])
    >>> rates.at_risk(Conditions()), rates.computing(Conditions(exposed=0.5))
    ([0.0001, 0.0], [0.0, 1e-05])
    """

    def __init__(self, job: Params, factors: list[float]) -> None:
        self.causes = job.causes
        self.base = [cause.rate_per_s * factor for cause, factor in zip(job.causes, factors, strict=True)]
        self.multiplier = job.incidents.multiplier if job.incidents is not None else 1.0
        edges = {start for cause in job.causes if cause.profile is not None for start in cause.profile.starts_s}
        self.edges_s = sorted(edges)
        self.leases_s = sorted({_lease_s(cause) for cause in job.causes} - {0.0})

    def at_risk(self, at: Conditions) -> list[float]:
        """Return the rates per second at risk; 0 for silent causes."""
        return [
            0.0 if c.kind == "silent" else self._rate(c, r, at) for c, r in zip(self.causes, self.base, strict=True)
        ]

    def computing(self, at: Conditions) -> list[float]:
        """Return the rates per second of work of the silent causes; 0 for the others."""
        return [
            self._rate(c, r, at) if c.kind == "silent" else 0.0 for c, r in zip(self.causes, self.base, strict=True)
        ]

    def _rate(self, cause: Cause, rate: float, at: Conditions) -> float:
        if cause.in_incidents and at.incident:
            rate *= self.multiplier
        if cause.profile is not None:
            rate *= cause.profile.multipliers[bisect_right(cause.profile.starts_s, at.now_s) - 1]
        if cause.exposure != "job":
            rate *= at.exposed
        if cause.by_lemons:
            rate *= at.lemon_factor
        return 0.0 if at.age_s < _lease_s(cause) else rate

    def change_s(self, known: Conditions, now_s: float, age_s: float) -> float:
        """Return the time at risk until a profile or the end of a lease changes what the rates were when `known`.

        It is not above 0 where they have changed since, at the moment of something else.
        """
        return min(
            min((edge - now_s for edge in self.edges_s if edge > known.now_s), default=math.inf),
            min((lease - age_s for lease in self.leases_s if lease > known.age_s), default=math.inf),
        )


def _lease_s(cause: Cause) -> float:
    """Return the time at risk, from the beginning of an attempt, in which a cause does not strike."""
    return cause.min_lease_s or 0.0 if cause.kind == "preemption" else 0.0


class Hazards:
    """The shared hazard: a strike comes when what it sums up to over the time at risk reaches a unit exponential.

    Missed culprits (`pending`, by cause) add to it. The cause is drawn in proportion to the rates.
    """

    def __init__(self, job: Params, draws: Draws) -> None:
        self.draws = draws
        self.repeats = [cause.repeat for cause in job.causes]
        self.pending = [0.0] * len(job.causes)
        self.n_spent = 0
        self.left = draws.exponential(streams.FAILURE, 0)
        self.parts: list[float] = []
        self.total = 0.0

    def follow(self, rates: list[float]) -> None:
        """Take over new rates."""
        again = [
            waiting / repeat.mean_time_s if repeat is not None and waiting > 0 else 0.0
            for waiting, repeat in zip(self.pending, self.repeats, strict=True)
        ]
        self.parts = rates + again
        self.total = sum(self.parts)

    def left_s(self) -> float:
        """Return the time at risk until the next strike."""
        return self.left / self.total if self.total > 0 else math.inf

    def passed(self, seconds: float) -> None:
        """Let time at risk pass."""
        if self.total > 0:
            self.left = max(self.left - seconds * self.total, 0.0)

    def strike(self) -> Strike:
        """Return the failure that comes now, and draw anew."""
        number, n_causes = self.n_spent, len(self.pending)
        part = pick(self.parts, self.draws.fine(streams.CAUSE, number))
        is_repeat = part >= n_causes
        cause = part - n_causes if is_repeat else part
        if is_repeat:
            self.pending[cause] -= 1
        self.n_spent += 1
        self.left = self.draws.exponential(streams.FAILURE, self.n_spent)
        return Strike(cause, number, number, is_repeat)


class OwnClocks:
    """The causes with a law of their own time between events, which they keep across the others' failures."""

    def __init__(self, job: Params, draws: Draws) -> None:
        self.draws = draws
        self.laws = {index: cause.every for index, cause in enumerate(job.causes) if cause.every is not None}
        self.n_events = dict.fromkeys(self.laws, 0)
        self.left_s = {index: self._draw_s(index) for index in self.laws}
        """Time at risk until the next event, by cause."""

    def _draw_s(self, cause: int) -> float:
        return self.draws.duration(self.laws[cause], streams.every_purpose(cause), self.n_events[cause])

    def strike(self, cause: int, group_number: int) -> Strike:
        """Return the event of a cause that comes now, and draw its next one."""
        number = self.n_events[cause]
        self.n_events[cause] += 1
        self.left_s[cause] = self._draw_s(cause)
        return Strike(cause, number, group_number)


def pick(parts: list[float], u: float) -> int:
    """Return which part of their sum the share `u` falls in.

    >>> pick([1.0, 3.0], 0.3)
    1
    """
    target = u * sum(parts)
    return next(index for index, reached in enumerate(accumulate(parts)) if target < reached)
