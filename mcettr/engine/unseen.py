"""What the timelines have seen too seldom for their spread to know of it: rare causes, long tails, rare incidents.

The spread between timelines is a poor estimate of an error that rests on events of which a handful, or none, has been
simulated. Their part in the variance is known beforehand: events come nearly as a Poisson process, so the sum of what
they cost has the variance (number expected) x (mean square of the cost), and both factors follow from rates and
distributions. Where fewer than `FEW` events of a cause, or draws beyond a quantile, are expected in all timelines of a
cell, what the spread lacks of this variance is added to it. Costs of one event are added up as if fully correlated
(Minkowski's inequality), those of different causes as independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.engine.cells import map_params
from mcettr.engine.tallies import Tally
from mcettr.kernels.account import INTERRUPTIONS
from mcettr.kernels.moments import METRICS
from mcettr.kernels.streams import RATE_GROUP
from mcettr.model.budget import ACTIVITIES, UNHELD
from mcettr.model.distributions import Distribution, is_fixed, mean, sample, scaled
from mcettr.model.mean_rates import mean_rate_per_s
from mcettr.model.params import Cause, Params
from mcettr.model.physics import Incidents

Array = NDArray[np.float64]

FEW = 20.0
"""Fewer events than this many say little about how their costs spread."""
_OF_SQUARES = 5.0
"""Variance of the squares of exponential draws over the square of their mean."""
_NODES, _WEIGHTS = np.polynomial.laguerre.laggauss(16)
_NOT_AT_RISK = [ACTIVITIES.index(name) for name in ("detection", "diagnosis", "spare_wait", "queue", "maintenance")]
_HELD = np.array([name not in UNHELD for name in ACTIVITIES])


@dataclass(frozen=True)
class Unseen:
    """What the spread between timelines lacks, summed over all timelines; leading dimension cells.

    Parameters
    ----------
    lost_s2 : ndarray, shape (cells, sources, activities)
        Variance of the seconds lost to each source, s^2; sources are the first start, the failure causes, and others.
    events : ndarray, shape (cells, sources)
        Variance of the number of events.
    at_most : ndarray, shape (cells, sources)
        Events that the variance is due to.
    """

    lost_s2: Array
    events: Array
    at_most: Array

    def of_ratio(self, own: int | None, ratio: Array, below_s: Array, n: Array, held: bool = False) -> Array:
        """Return the variance of seconds of activity `own` (None for productive time) over `below_s`, mean seconds."""
        errors_s = np.sqrt(self.lost_s2 * (_HELD if held else 1.0))
        weights = np.repeat(np.abs(ratio)[:, None, None], len(ACTIVITIES), axis=2)
        if own is not None:
            weights[:, :, own] = 1.0 - weights[:, :, own]
        return np.asarray(np.square((weights * errors_s).sum(axis=2)).sum(axis=1) / np.square(n * below_s))

    def of_seconds(self, n: Array, held: bool = False) -> Array:
        """Return the variance of the mean seconds lost, (cells, sources)."""
        errors_s = np.sqrt(self.lost_s2 * (_HELD if held else 1.0)).sum(axis=2)
        return np.asarray(np.square(errors_s / n[:, None]))


class Foreseen:
    """What is known beforehand of the events in some cells.

    Parameters
    ----------
    params : Params
        The jobs; array leaves broadcast to `shape`.
    shape : tuple of int
        The grid.
    chunk : ndarray of int
        The cells meant.
    """

    def __init__(self, params: Params, shape: tuple[int, ...], chunk: NDArray[np.int64]) -> None:
        def pick(leaf: Any) -> Any:
            return np.broadcast_to(np.asarray(leaf, dtype=np.float64), shape).reshape(-1)[chunk]

        self.params = map_params(params, pick, pick)
        self.rates_per_s = [mean_rate_per_s(self.params, cause) for cause in self.params.causes]

    def unseen(self, tally: Tally) -> Unseen:
        """Return what the spread between the timelines of the tally lacks."""
        n = tally.n_timelines.astype(np.float64)
        seen = _sums(tally)
        total = tally.mean_by_cause * n[:, None, None]
        elapsed_s = n * tally.mean_numerator[:, METRICS.index("elapsed_s")]
        at_risk_s = np.maximum(elapsed_s - total[:, :, _NOT_AT_RISK].sum(axis=(1, 2)), 0.0)
        rows = [self._of_start(n, seen[:, 0])]
        for index, cause in enumerate(self.params.causes):
            row = 1 + index
            events = np.maximum(self.rates_per_s[index] * at_risk_s, total[:, row, INTERRUPTIONS])
            rows.append(self._of_cause(cause, events, total[:, row], seen[:, row]))
        n_starts = n + total[:, :, INTERRUPTIONS].sum(axis=1)
        n_waits = n * tally.mean_numerator[:, METRICS.index("exhausted_share")]
        rows += list(self._of_all(n_starts, elapsed_s, np.maximum(n_waits, tally.n_waited), seen))
        return Unseen(*(np.stack(part, axis=1) for part in zip(*rows, strict=True)))

    def _of_start(self, n: Array, seen: Array) -> tuple[Array, Array, Array]:
        """Return what the first start costs less when a failure cuts it short."""
        recovery = self.params.recovery
        start_s = sum(
            (mean(law) for _, law in (*recovery.startup, *recovery.startup_if_replaced)), start=np.zeros(len(n))
        )
        struck = np.minimum(n * start_s * self._rate_per_s(), n)
        lost_s2 = np.zeros((len(n), len(ACTIVITIES)))
        law = Distribution("uniform", (0.0 * start_s, start_s))
        for activity, draws, paid in (("startup", struck, law), ("queue", n, recovery.queue_wait)):
            column = ACTIVITIES.index(activity)
            lost_s2[:, column] = self._missing(paid, draws, seen[:, column], draws)
        return lost_s2, np.zeros(len(n)), np.minimum(struck, FEW)

    def _rate_per_s(self) -> Array:
        """Return the failures of all causes a second at risk."""
        return np.asarray(sum(self.rates_per_s, start=np.zeros(len(self.params.work_s))))

    def _of_cause(self, cause: Cause, events: Array, total: Array, seen: Array) -> tuple[Array, Array, Array]:
        """Return variances by activity and of the number of events, and how many events matter."""
        lost_s2 = np.zeros((len(events), len(ACTIVITIES)))
        n_seen2 = seen[:, INTERRUPTIONS]
        counts = np.where(events < FEW, np.maximum(events - n_seen2, 0.0), 0.0)
        for activity, law in self._costs(cause):
            column = ACTIVITIES.index(activity)
            paid = (total[:, column] > 0.0) | (total[:, INTERRUPTIONS] < FEW)
            missing = self._missing(law, events, seen[:, column], n_seen2 + counts)
            lost_s2[:, column] += np.where(paid, missing, 0.0)
        return lost_s2, counts, np.minimum(events, FEW)

    def _costs(self, cause: Cause) -> Iterator[tuple[str, Distribution]]:
        """Yield what an event of the cause costs, by activity."""
        recovery, save = self.params.recovery, self.params.checkpoint
        found_in = {"silent": "rework", "slow": "degraded"}.get(cause.kind, "detection")
        yield found_in, scaled(cause.detection, cause.slowdown) if cause.kind == "slow" else cause.detection
        yield "diagnosis", cause.diagnosis
        yield "queue", recovery.queue_wait
        yield "restore", recovery.restore
        for _, law in (*recovery.startup, *recovery.startup_if_replaced):
            yield "startup", law
        if cause.kind not in ("silent", "slow"):
            yield "rework", Distribution("uniform", (0.0 * save.interval_s, self._most_rework_s()))

    def _most_rework_s(self) -> Array:
        """Return about how much a failure rolls back at most."""
        params, rate_per_s = self.params, sum(self.rates_per_s)
        work_s = np.minimum(params.work_s, params.horizon_s)
        return np.asarray(
            np.minimum(np.minimum(params.checkpoint.interval_s, work_s), 2.0 / np.maximum(rate_per_s, 1e-300))
        )

    def _of_all(
        self, n_starts: Array, elapsed_s: Array, n_waits: Array, seen: Array
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Yield the same for what is not of one cause: failed starts, incidents, waits for spares."""
        recovery, incidents = self.params.recovery, self.params.incidents
        failing, spares, none = recovery.start_failure, recovery.spares, 0.0 * n_starts
        if failing is not None:
            events = n_starts * np.power(failing.probability, failing.max_attempts)
            yield self._apart("startup", failing.escalation, events, none)
        if incidents is not None:
            yield self._apart("rework", self._idle(incidents), incidents.rate_per_s * elapsed_s, none)
        if spares is not None:
            # How long a wait is no distribution says: what a few have shown of their spread is widened.
            lost_s2 = np.zeros((len(n_waits), len(ACTIVITIES)))
            column = ACTIVITIES.index("spare_wait")
            lost_s2[:, column] = seen[:, :, column].sum(axis=1) * np.sqrt(_OF_SQUARES / np.maximum(n_waits, 1.0))
            yield lost_s2, none, np.minimum(n_waits, FEW)

    def _idle(self, incidents: Incidents) -> Distribution:
        """Return about how much time an incident costs: a share of its length."""
        struck = [i for i, cause in enumerate(self.params.causes) if cause.in_incidents]
        each_s = sum((mean(law) for _, law in self.params.recovery.startup), start=mean(self.params.recovery.restore))
        lost: Any = 0.0
        for index in struck:
            cause = self.params.causes[index]
            rework_s = 0.5 * self._most_rework_s()
            down_s = np.minimum(mean(cause.detection) + mean(cause.diagnosis), self.params.horizon_s)
            lost = lost + cause.rate_per_s * (incidents.multiplier - 1.0) * (each_s + rework_s + down_s)
        share = np.maximum(lost, 0.0) / (1.0 + np.maximum(lost, 0.0))
        return Distribution("exponential", (share * incidents.mean_duration_s,))

    def _apart(self, activity: str, law: Distribution, events: Array, seen_s2: Array) -> tuple[Array, Array, Array]:
        lost_s2 = np.zeros((len(events), len(ACTIVITIES)))
        lost_s2[:, ACTIVITIES.index(activity)] = self._missing(law, events, seen_s2, events)
        return lost_s2, np.zeros(len(events)), np.minimum(events, FEW)

    def _missing(self, law: Distribution, n_draws: Array, seen_s2: Array, n_draws2: Array) -> Array:
        """Return the variance of the sum of draws that the spread lacks.

        Parameters
        ----------
        law : Distribution
            Of one draw, seconds.
        n_draws, n_draws2 : ndarray
            How many are expected in all timelines of a cell, and the variance of that number.
        seen_s2 : ndarray
            Variance of the sum according to the spread.
        """
        longest_s = self.params.horizon_s
        tail = _sum_of_powers(law, n_draws, longest_s, 2, FEW)
        average = _sum_of_powers(law, n_draws, longest_s, 1) / np.maximum(n_draws, 1e-300)
        squares = _sum_of_powers(law, n_draws, longest_s, 2)
        whole = squares + np.square(average) * (n_draws2 - n_draws)
        return np.asarray(np.minimum(tail, np.maximum(whole - seen_s2, 0.0)))


def _sums(tally: Tally) -> Array:
    """Return the variance of sums over all timelines of a cell, by row and column, that the spread shows."""
    grouped = tally.n_units < tally.n_timelines
    return tally.m2_by_cause * np.where(grouped, float(RATE_GROUP) ** 2, 1.0)[:, None, None]


def _sum_of_powers(law: Distribution, n_draws: Array, longest_s: Any, power: int, few: float = np.inf) -> Array:
    """Return the expected sum of a power of the `few` largest of a number of draws, none longer than `longest_s`.

    Each part of a mixture counts as a distribution of its own. What has no tail (one value, uniform) counts if few
    draws are expected, and not otherwise.
    """
    if law.kind == "mixture":
        parts = zip(law.values, law.components, strict=True)
        return np.asarray(sum(_sum_of_powers(part, n_draws * w, longest_s, power, few) for w, part in parts))
    if is_fixed(law):
        return np.where(n_draws < few, n_draws, 0.0) * np.power(np.minimum(law.values[0], longest_s), power)
    n_largest = np.where(n_draws < few, n_draws, 0.0 if law.kind == "uniform" else few)
    share = n_largest / np.maximum(n_draws, 1e-300)
    # Over the chance to be exceeded, q = share x exp(-s), by the rule of Gauss and Laguerre.
    q = np.clip(share * np.exp(-_NODES)[:, None], 1e-300, 1.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if law.kind == "gamma":
            shape = 1.0 / np.maximum(np.square(law.values[1]), 1e-12)
            draws_s = law.values[0] * special.gammainccinv(shape, q) / shape
        else:
            draws_s = sample(law, np.minimum(1.0 - q, 1.0 - 2.0**-53))
    powers = np.power(np.minimum(np.nan_to_num(draws_s, nan=0.0), longest_s), power)
    return np.asarray(n_largest * (_WEIGHTS[:, None] * powers).sum(axis=0))
