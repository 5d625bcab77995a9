"""What the timelines have seen too seldom for their spread to know of it: rare causes, long tails, rare incidents.

The spread between timelines is a poor estimate of an error that rests on events of which a handful, or none, has been
simulated. Their part in the variance is known beforehand: events come nearly as a Poisson process, so the sum of what
they cost has the variance (number expected) x (mean square of the cost), and both factors follow from rates and
distributions. Where fewer than `FEW` events of a cause, or draws beyond a quantile, are expected in all timelines of a
cell, what the spread lacks of this variance is added to it. Costs of one event are added up as if fully correlated
(Minkowski's inequality), those of different causes as independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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

FEW, TOO_FEW = 50.0, 20.0
"""Fewer events than the first say little about how their costs spread; where nothing tells which events have been seen
their whole variance is added below the second."""
_OF_SQUARES = 5.0
"""Variance of the squares of exponential draws over the square of their mean."""
_NODES, _WEIGHTS = np.polynomial.laguerre.laggauss(16)
_NOT_AT_RISK = [ACTIVITIES.index(name) for name in ("detection", "diagnosis", "spare_wait", "queue", "maintenance")]
_Source = tuple[Array, Array, Array, Array, Array]
"""The entries of `Unseen` for one source."""
_Limits = list[Array]
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
    within_life, within_room : ndarray, shape (cells, sources)
        Shares of that variance if an event cost at most the mean elapsed time, or at most what is left to the horizon.
    most : ndarray, shape (cells, sources)
        Events that may make that variance.
    """

    lost_s2: Array
    events: Array
    within_life: Array
    within_room: Array
    most: Array

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
        seen, in_timelines = _sums(tally), tally.n_by_cause
        total = tally.mean_by_cause * n[:, None, None]
        elapsed_s = n * tally.mean_numerator[:, METRICS.index("elapsed_s")]
        at_risk_s = np.maximum(elapsed_s - total[:, :, _NOT_AT_RISK].sum(axis=(1, 2)), 0.0)
        mean_s = elapsed_s / n
        limits = [self.params.horizon_s, mean_s, np.maximum(self.params.horizon_s - mean_s, 0.0)]
        rows, again = [self._of_start(n, seen[:, 0], limits)], self._of_incidents(elapsed_s)
        for index, cause in enumerate(self.params.causes):
            row = 1 + index
            events = np.maximum(self.rates_per_s[index] * at_risk_s, total[:, row, INTERRUPTIONS])
            rows.append(
                self._of_cause(
                    cause, events, again[index], _Row(*(x[:, row] for x in (total, seen, in_timelines))), limits
                )
            )
        n_starts = n + total[:, :, INTERRUPTIONS].sum(axis=1)
        rows += list(self._of_all(n_starts, elapsed_s, limits))
        return Unseen(*(np.stack(part, axis=1) for part in zip(*rows, strict=True)))

    def _of_start(self, n: Array, seen: Array, limits: _Limits) -> _Source:
        """Return what the first start costs less when a failure cuts it short."""
        recovery = self.params.recovery
        start_s = sum(
            (mean(law) for _, law in (*recovery.startup, *recovery.startup_if_replaced)), start=np.zeros(len(n))
        )
        struck = np.minimum(n * start_s * self._rate_per_s(), n)
        law, found = Distribution("uniform", (0.0 * start_s, start_s)), _Sum(len(n))
        for activity, draws, paid in (("startup", struck, law), ("queue", n, recovery.queue_wait)):
            found.add(activity, _missing(paid, draws, seen[:, ACTIVITIES.index(activity)], draws, limits))
        return found.source(np.zeros(len(n)))

    def _rate_per_s(self) -> Array:
        """Return the failures of all causes a second at risk."""
        return np.asarray(sum(self.rates_per_s, start=np.zeros(len(self.params.work_s))))

    def _of_cause(self, cause: Cause, events: Array, again: Array, row: _Row, limits: _Limits) -> _Source:
        """Return what is due to a cause; `again` is the variance of its number that incidents bring."""
        found, n_seen2 = _Sum(len(events)), row.seen[:, INTERRUPTIONS]
        counts = np.where(events < FEW, np.maximum(events - n_seen2, 0.0), 0.0)
        for activity, law in self._costs(cause):
            column = ACTIVITIES.index(activity)
            paid = (row.total[:, column] > 0.0) | (row.total[:, INTERRUPTIONS] < FEW)
            parts = _missing(law, events, row.seen[:, column], n_seen2 + counts, limits)
            found.add(activity, [np.where(paid, part, 0.0) for part in parts])
        # How long one waits for a spare follows no known distribution: what a few have shown of the spread is widened.
        column = ACTIVITIES.index("spare_wait")
        n_waits = row.in_timelines[:, column]
        lost_s2 = row.seen[:, column] * np.sqrt(_OF_SQUARES / np.maximum(n_waits, 1.0))
        found.add("spare_wait", [lost_s2, lost_s2, lost_s2, n_waits])
        return found.source(counts + again)

    def possible(self) -> NDArray[np.bool_]:
        """Return where time can be lost at all, as far as is known: (cells, rows of failure causes, activities)."""
        params, n_cells = self.params, len(self.params.work_s)
        found = np.zeros((n_cells, len(params.causes), len(ACTIVITIES)), np.bool_)
        for index, cause in enumerate(params.causes):
            strikes = np.greater(self.rates_per_s[index], 0.0)
            for activity, law in self._costs(cause):
                found[:, index, ACTIVITIES.index(activity)] |= strikes & np.greater(mean(law), 0.0)
            found[:, index, ACTIVITIES.index("rework")] |= strikes
            if params.recovery.spares is not None and cause.nodes_lost is not None:
                found[:, index, ACTIVITIES.index("spare_wait")] |= strikes
        return found

    def _costs(self, cause: Cause) -> Iterator[tuple[str, Distribution]]:
        """Yield what an event of the cause costs, by activity."""
        params, recovery = self.params, self.params.recovery
        found_in = {"silent": "rework", "slow": "degraded"}.get(cause.kind, "detection")
        yield found_in, scaled(cause.detection, cause.slowdown) if cause.kind == "slow" else cause.detection
        yield "diagnosis", cause.diagnosis
        yield "queue", recovery.queue_wait
        yield "restore", recovery.restore
        for _, law in (*recovery.startup, *recovery.startup_if_replaced):
            yield "startup", law
        if cause.kind not in ("silent", "slow"):
            yield "rework", Distribution("uniform", (np.zeros(len(params.work_s)), self._most_rework_s()))

    def _most_rework_s(self) -> Array:
        """Return about how much a failure rolls back at most."""
        params, rate_per_s = self.params, sum(self.rates_per_s)
        work_s = np.minimum(params.work_s, params.horizon_s)
        return np.asarray(
            np.minimum(np.minimum(params.checkpoint.interval_s, work_s), 2.0 / np.maximum(rate_per_s, 1e-300))
        )

    def _of_all(self, n_starts: Array, elapsed_s: Array, limits: _Limits) -> Iterator[_Source]:
        """Yield the same for what is not of one cause: failed starts, incidents."""
        failing, incidents = self.params.recovery.start_failure, self.params.incidents
        if failing is not None:
            events = n_starts * np.power(failing.probability, failing.max_attempts)
            yield _apart("startup", failing.escalation, events, limits)
        if incidents is not None:
            yield _apart("rework", self._idle(incidents), incidents.rate_per_s * elapsed_s, limits)

    def _in_incident(self, incidents: Incidents) -> list[tuple[Array, Array, Array]]:
        """Return for each cause by how much an incident raises its rate, and a failure's time off risk and at risk."""
        params, none = self.params, np.zeros(len(self.params.work_s))
        start_s = sum((mean(law) for _, law in params.recovery.startup), start=mean(params.recovery.restore))
        found = []
        for cause in params.causes:
            raised = np.maximum(incidents.multiplier - 1.0, 0.0) if cause.in_incidents else none
            off_s = np.minimum(mean(cause.detection) + mean(cause.diagnosis), params.horizon_s)
            found.append((cause.rate_per_s * raised + none, off_s + none, start_s + 0.5 * self._most_rework_s()))
        return found

    def _idle(self, incidents: Incidents) -> Distribution:
        """Return about how much time an incident costs: a share of its length."""
        cost = sum((rate * (off_s + on_s) for rate, off_s, on_s in self._in_incident(incidents)), start=np.float64(0.0))
        return Distribution("exponential", (cost / (1.0 + cost) * incidents.mean_duration_s,))

    def _of_incidents(self, elapsed_s: Array) -> list[Array]:
        """Return the variance of the failures of each cause that a few expected incidents bring."""
        incidents = self.params.incidents
        if incidents is None:
            return [np.zeros(len(elapsed_s))] * len(self.params.causes)
        raised = self._in_incident(incidents)
        off = sum((rate * off_s for rate, off_s, _ in raised), start=np.float64(0.0))
        n_incidents = incidents.rate_per_s * elapsed_s
        n_incidents = np.where(n_incidents < TOO_FEW, n_incidents, 0.0)
        failures = [rate * incidents.mean_duration_s / (1.0 + off) for rate, _, _ in raised]
        return [n_incidents * (2.0 * np.square(n) + n) for n in failures]


class _Row(NamedTuple):
    """A row of the table by cause: sums over all timelines, their variance as the spread shows it, and timelines."""

    total: Array
    seen: Array
    in_timelines: Array


class _Sum:
    """Adds up what the events of one source cost, by activity."""

    def __init__(self, n_cells: int) -> None:
        self.lost_s2 = np.zeros((n_cells, len(ACTIVITIES)))
        self.total, self.in_life, self.in_room, self.most = np.zeros((4, n_cells))

    def add(self, activity: str, parts: Sequence[Array]) -> None:
        """Add what `_missing` returned."""
        self.lost_s2[:, ACTIVITIES.index(activity)] += parts[0]
        self.total += parts[0]
        self.in_life += parts[1]
        self.in_room += parts[2]
        self.most = np.maximum(self.most, parts[3])

    def source(self, events: Array) -> _Source:
        """Return the entries of `Unseen`."""
        total = np.where(self.total > 0.0, self.total, 1.0)
        in_life, in_room = np.minimum(self.in_life / total, 1.0), np.minimum(self.in_room / total, 1.0)
        return self.lost_s2, events, in_life, in_room, self.most


def _apart(activity: str, law: Distribution, events: Array, limits: _Limits) -> _Source:
    """Return what a few expected events cost that no cause counts."""
    found, few = _Sum(len(events)), np.where(events < TOO_FEW, events, 0.0)
    found.add(activity, _missing(law, few, np.zeros(len(events)), few, limits))
    return found.source(np.zeros(len(events)))


def _missing(law: Distribution, n_draws: Array, seen_s2: Array, n_draws2: Array, limits: _Limits) -> list[Array]:
    """Return the variance of the sum of draws that the spread lacks, and what it is due to.

    Parameters
    ----------
    law : Distribution
        Of one draw, seconds.
    n_draws, n_draws2 : ndarray
        How many are expected in all timelines of a cell, and the variance of that number.
    seen_s2 : ndarray
        Variance of the sum according to the spread.
    limits : list of ndarray
        The longest draw, and two others: the variance is also given as it would be with each of them.

    Returns
    -------
    list of ndarray
        Variance for each limit; draws that make it, at most.
    """
    tails = [_sum_of_powers(law, n_draws, limit_s, 2, FEW) for limit_s in limits]
    average = _sum_of_powers(law, n_draws, limits[0], 1) / np.maximum(n_draws, 1e-300)
    whole = _sum_of_powers(law, n_draws, limits[0], 2) + np.square(average) * (n_draws2 - n_draws)
    missing = np.minimum(tails[0], np.maximum(whole - seen_s2, 0.0))
    share = np.where(tails[0] > 0.0, missing / np.where(tails[0] > 0.0, tails[0], 1.0), 0.0)
    return [missing, share * tails[1], share * tails[2], _sum_of_powers(law, n_draws, limits[0], 0, FEW)]


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
        powers = np.power(np.minimum(law.values[0], longest_s), power)
        return np.asarray(np.where(n_draws < few, n_draws, 0.0) * powers)
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
