"""The points that a search has tried: values of one field, all simulated on the same draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mcettr.model.analytic import with_interval
from mcettr.model.params import Params
from mcettr.scenario import Scenario
from mcettr.sweep import interval
from mcettr.sweep.confidence import at_confidence
from mcettr.sweep.effort import for_deadlines
from mcettr.sweep.look import FEW_CAPPED, Look, Point
from mcettr.sweep.target import Target
from mcettr.sweep.vary import Vary

if TYPE_CHECKING:
    from mcettr.engine.estimates import Estimates
    from mcettr.engine.run import Effort

Array = NDArray[np.float64]
FEWEST_TIMELINES, MOST_TIMELINES = 64, 1_048_576
FEWEST_GROUPED = 256
"""Timelines that tell roughly how a point fares where groups of 16 share uncertain rates."""
LOOK_ATTEMPTS = 20_000
"""Failures and restarts after which a search stops a timeline: seconds of the event loop."""
_INTERVAL_ATTEMPTS = 1_000
"""Failures of a timeline after which it tells no more about the best interval."""
STEPS_A_LOOK = 1.5e7
"""Events to simulate for the points of one look: a few seconds of the event loop on two cores."""
_BASE_STEPS = 3.0
"""What a timeline without failures takes, in events."""
_INTERVAL_STEPS = 5e6
"""Events to simulate for the best intervals of the points of a look."""


@dataclass
class Trials:
    """Runs points of a search and keeps them.

    With a `confidence` they run at known rates, as bad as with that probability (`mcettr.sweep.confidence`).
    """

    scenario: Scenario
    vary: Vary
    target: Target
    effort: Effort
    confidence: float | None = None
    progress: Callable[[float], None] | None = None
    attempts: int | None = LOOK_ATTEMPTS
    """Failures and restarts after which a timeline of a point near the answer is stopped."""
    steps_each: float = 1.0
    """Events of a timeline where the search looks."""
    fewest: int = FEWEST_TIMELINES
    """The least number of timelines that says anything."""
    points: list[Point] = field(default_factory=list)
    intervals_s: dict[float, float] = field(default_factory=dict)
    """Best intervals found by simulation, by value."""

    def at_logs(self, logs: Array) -> tuple[Array, Array, Array]:
        """Return (logs really used, metric, standard error) at some log values near the answer."""
        found = self.look(self.vary.values(logs))
        return self.vary.logs(found.values), found.metric, found.error

    def look(self, values: Array) -> Look:
        """Return some points near the answer, the values in order, on as many timelines as `effort` says."""
        return self._noted(values, replace(self.effort, short_blocks=True, most_attempts=self.attempts), far=False)

    def far_look(self, values: Array, attempts: int | None) -> Look:
        """Return some points that show where to look: few timelines, stopped after some failures."""
        effort = replace(self.effort, timelines=self.fewest, short_blocks=True, most_attempts=attempts)
        return self._noted(values, effort, far=True)

    def alone(self, value: float, first_timeline: int) -> Point:
        """Return one point on draws of its own; it is not added to those tried."""
        effort = replace(self.effort, first_timeline=first_timeline, short_blocks=True, most_attempts=self.attempts)
        return self._run(np.array([value]), effort, far=False).points[0]

    def note(self, points: tuple[Point, ...]) -> None:
        """Keep some points."""
        self.points.extend(points)
        if self.progress is not None:
            self.progress(1.0 - 0.97 ** len(self.points))

    def table(self) -> tuple[Point, ...]:
        """Return the points by value, of several at one value that on most timelines; no unusable ones."""
        best: dict[float, Point] = {}
        for point in self.points:
            known = best.get(point.value)
            if point.capped <= FEW_CAPPED and (known is None or point.timelines > known.timelines):
                best[point.value] = point
        return tuple(best[value] for value in sorted(best))

    def affordable(self, n_points: int, wanted: int) -> int:
        """Return how many timelines each of some points near the answer may have, at most `wanted`."""
        enough = STEPS_A_LOOK / (max(n_points, 1) * max(self.steps_each, 1.0))
        return int(min(wanted, max(enough // 64 * 64, self.fewest)))

    def _noted(self, values: Array, effort: Effort, far: bool) -> Look:
        found = self._run(values, effort, far)
        self.note(found.points)
        return found

    def _run(self, values: Array, effort: Effort, far: bool) -> Look:
        from mcettr.engine.run import estimate

        params = self.params_at(values, far)
        if self.confidence is not None:  # the interval is chosen by someone who does not know the rates
            params = at_confidence(params, self.confidence)
        found = estimate(params, effort, self.target.deadlines.seconds)
        metric, error = self.target.measured(found)
        steps = _BASE_STEPS + found.values["interruptions"]
        error = np.where(np.isfinite(error), error, np.inf) + found.capped_fraction
        return Look(values, metric, error, steps, self._points(values, params, found))

    def _points(self, values: Array, params: Params, found: Estimates) -> tuple[Point, ...]:
        dated = bool(self.target.deadlines.labels)
        interval_s = np.broadcast_to(params.checkpoint.interval_s, values.shape)
        shares = (found.completion_probability, found.completion_low, found.completion_high)
        points = []
        for i, value in enumerate(values):
            probability, low, high = (float(share[i, 0]) if dated else math.nan for share in shares)
            point = Point(
                value=float(value),
                ettr=float(found.values["ettr"][i]),
                ettr_se=float(found.se["ettr"][i]),
                checkpoint_interval_s=float(interval_s[i]),
                completion=(probability, low, high) if dated else None,
                timelines=int(found.n_timelines[i]),
                capped=float(found.capped_fraction[i]),
                time_fraction=tuple(map(float, found.values["time_fraction"][i])),
            )
            points.append(point)
        return tuple(points)

    def params_at(self, values: Array, far: bool = False) -> Params:
        """Return the jobs at some values, with the intervals to use.

        Where the best interval has to be simulated, a far look searches it roughly; near looks start from what is known
        at values around.
        """
        grid = for_deadlines(self.vary.grid(self.scenario, values), self.target.deadlines)
        if not (grid.auto_interval and interval.needs_search(grid.params)):
            return grid.params
        effort = replace(self.effort, most_attempts=_INTERVAL_ATTEMPTS, short_blocks=True)
        if far or not self.intervals_s:
            params = interval.refined(grid.params, effort, reach=interval.REACH[:1], timelines=self.fewest)
        else:
            known = sorted(self.intervals_s)
            logs = np.log([self.intervals_s[value] for value in known])
            guess_s = np.exp(np.interp(self.vary.logs(values), self.vary.logs(np.array(known)), logs))
            steps = min(self.steps_each, _INTERVAL_ATTEMPTS) * interval.POINTS * values.size
            n = max(int(_INTERVAL_STEPS / steps), self.fewest)
            closer = with_interval(grid.params, guess_s)
            params = interval.refined(closer, effort, reach=interval.REACH[1:2], timelines=n)
        found_s = np.broadcast_to(params.checkpoint.interval_s, values.shape)
        self.intervals_s.update(zip(map(float, values), map(float, found_s), strict=True))
        return params
