"""Mergeable sums over timelines, for many cells at once: (n, mean, M2), counts and fixed histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcettr.kernels.account import INTERRUPTIONS
from mcettr.kernels.moments import METRICS, WITHIN, Batch
from mcettr.kernels.streams import RATE_GROUP
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.order import is_before

Array = NDArray[np.float64]

RATIO_BINS = 2_000
TIME_BINS = 4_096
NODE_BINS = 4_096
"""One for each whole number from 0; the last one holds all that are larger."""
STRETCH_S = (1.0, 1e9)
"""Ends of the `TIME_BINS` bins of stretches; the first and the last hold what lies beyond."""


@dataclass
class Tally:
    """What is known of some cells; leading dimension cells throughout.

    `mean_*`, `m2_*` and `n_*` are those of `mcettr.kernels.moments.Batch` over all units seen; `done_squares` the sum
    over independent units of squared counts, for the error of completion shares when timelines share rates. The first
    bin of the ratio's histogram holds exact zeros; `least` and `most` are the smallest and the largest ratio,
    completion time and longest stretch (seconds) seen, (cells, 3). Histograms that no batch has filled are None.
    """

    n_units: Array
    mean_numerator: Array
    mean_denominator: Array
    m2_numerator: Array
    m2_denominator: Array
    m2_cross: Array
    within_m2: Array
    n_timelines: NDArray[np.int64]
    mean_by_cause: Array
    m2_by_cause: Array
    n_by_cause: Array
    n_by_activity: Array
    n_waited: Array
    n_out: Array
    outcomes: NDArray[np.int64]
    done_by: NDArray[np.int64]
    done_squares: NDArray[np.int64]
    ratio_histogram: NDArray[np.int64]
    time_histogram: NDArray[np.int64]
    least: Array
    most: Array
    stretch_histogram: NDArray[np.int64] | None = None
    nodes_out_histogram: NDArray[np.int64] | None = None
    nodes_out_most_histogram: NDArray[np.int64] | None = None

    @classmethod
    def empty(cls, n_cells: int, n_causes: int, n_deadlines: int) -> Tally:
        """Return the tally of no timelines."""

        def zeros() -> Array:
            return np.zeros((n_cells, len(METRICS)))

        def counts(*shape: int) -> NDArray[np.int64]:
            return np.zeros((n_cells, *shape), np.int64)

        table = (n_cells, n_causes + 4, INTERRUPTIONS + 1)
        return cls(
            np.zeros(n_cells),
            zeros(),
            zeros(),
            zeros(),
            zeros(),
            zeros(),
            np.zeros((n_cells, len(WITHIN))),
            counts(),
            np.zeros(table),
            np.zeros(table),
            np.zeros(table),
            np.zeros((n_cells, len(ACTIVITIES))),
            np.zeros(n_cells),
            np.zeros(n_cells),
            counts(len(Outcome)),
            counts(n_deadlines),
            counts(n_deadlines),
            counts(1 + RATIO_BINS),
            counts(TIME_BINS),
            np.full((n_cells, 3), np.inf),
            np.full((n_cells, 3), -np.inf),
        )


@dataclass(frozen=True)
class Scale:
    """Per cell, what places a timeline in the histograms and against the deadlines (seconds; work may be inf).

    `silent` says whether kept work may be corrupt.
    """

    work_s: Array
    horizon_s: Array
    deadlines_s: tuple[float, ...]
    grouped: bool
    silent: bool = False


def add_batch(tally: Tally, batch: Batch, cell: NDArray[np.int64], n_valid: NDArray[np.int64], scale: Scale) -> None:
    """Add a batch to the tally, in place; `cell` (blocks,) is sorted and numbers the tally's rows."""
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    rows = cell[starts]
    _add_moments(tally, batch, starts, rows)
    for name in ("within_m2", "n_by_cause", "n_by_activity", "n_waited", "n_out"):
        getattr(tally, name)[rows] += np.add.reduceat(getattr(batch, name), starts)
    tally.n_timelines[rows] += np.add.reduceat(n_valid, starts)
    valid = np.arange(batch.outcome.shape[1])[None, :] < n_valid[:, None]
    _count(tally, batch, cell, valid, scale)


def _add_moments(tally: Tally, batch: Batch, starts: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Merge by the update of Chan, Golub and LeVeque (1983): first blocks into cells, then with what was known."""
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(batch.n_units)]))
    new_n = np.add.reduceat(batch.n_units, starts)
    old_n = tally.n_units[rows]

    def merge(name: str) -> tuple[Array, Array]:
        """Merge a mean; return the deviations of the blocks' and of the old means from the new ones."""
        block_mean = getattr(batch, name)
        new_mean = np.add.reduceat(_along(batch.n_units, block_mean) * block_mean, starts)
        new_mean = new_mean / _along(new_n, block_mean)
        shift = new_mean - getattr(tally, name)[rows]
        getattr(tally, name)[rows] += shift * _along(new_n / (old_n + new_n), block_mean)
        return block_mean - new_mean[group], shift

    numerator, denominator, table = map(merge, ("mean_numerator", "mean_denominator", "mean_by_cause"))
    for name, left, right in (
        ("m2_numerator", numerator, numerator),
        ("m2_denominator", denominator, denominator),
        ("m2_cross", numerator, denominator),
        ("m2_by_cause", table, table),
    ):
        known = getattr(batch, name)
        inside = np.add.reduceat(known + _along(batch.n_units, known) * left[0] * right[0], starts)
        between = left[1] * right[1] * _along(old_n * new_n / (old_n + new_n), known)
        getattr(tally, name)[rows] += inside + between
    tally.n_units[rows] = old_n + new_n


def _along(numbers: Array, values: Array) -> Array:
    """Return one number a block or cell, shaped to multiply `values` that have more dimensions."""
    return numbers.reshape(-1, *(1,) * (values.ndim - 1))


def _count(tally: Tally, batch: Batch, cell: NDArray[np.int64], valid: NDArray[np.bool_], scale: Scale) -> None:
    bins = _Bins(cell, valid)
    span = bins.span
    tally.outcomes[span] += bins.count(batch.outcome, len(Outcome))
    ratio = np.where(valid, batch.ratio, 0.0)
    ratio_bin = np.minimum((ratio * RATIO_BINS).astype(np.int64), RATIO_BINS - 1) + 1
    tally.ratio_histogram[span] += bins.count(np.where(ratio > 0, ratio_bin, 0), 1 + RATIO_BINS)
    done = valid & (batch.outcome == Outcome.DONE)
    if done.any():
        position = time_position(batch.elapsed_s, scale.work_s[cell][:, None], scale.horizon_s[cell][:, None])
        tally.time_histogram[span] += _Bins(cell, done).count(position, TIME_BINS)
    extremes = [(batch.ratio, valid), (batch.elapsed_s, done)]
    if batch.longest_stretch_s is not None:
        extremes.append((batch.longest_stretch_s, valid))
        position = time_position(np.maximum(batch.longest_stretch_s, STRETCH_S[0]), *STRETCH_S)
        tally.stretch_histogram = bins.added(tally, tally.stretch_histogram, position, TIME_BINS)
    if batch.nodes_out is not None:
        tally.nodes_out_histogram = bins.added(tally, tally.nodes_out_histogram, batch.nodes_out, NODE_BINS)
        most = bins.added(tally, tally.nodes_out_most_histogram, batch.nodes_out_most, NODE_BINS)
        tally.nodes_out_most_histogram = most
    for index, (values, where) in enumerate(extremes):
        np.minimum.at(tally.least[:, index], cell, np.where(where, values, np.inf).min(axis=1))
        np.maximum.at(tally.most[:, index], cell, np.where(where, values, -np.inf).max(axis=1))
    for index, deadline_s in enumerate(scale.deadlines_s):
        by_then = done & ~is_before(deadline_s, batch.elapsed_s, 0.0)
        units = by_then.reshape(len(cell), -1, RATE_GROUP if scale.grouped else 1).sum(axis=2)
        np.add.at(tally.done_by[:, index], cell, units.sum(axis=1))
        np.add.at(tally.done_squares[:, index], cell, np.square(units).sum(axis=1))


class _Bins:
    """Counts of the timelines of a batch that are `wanted` (blocks, lanes), by cell and bin."""

    def __init__(self, cell: NDArray[np.int64], wanted: NDArray[np.bool_]) -> None:
        self.span = slice(int(cell[0]), int(cell[-1]) + 1)
        self.wanted = wanted
        self.row = np.broadcast_to((cell - cell[0])[:, None], wanted.shape)[wanted]

    def count(self, position: NDArray[Any], n_bins: int) -> NDArray[np.int64]:
        """Return counts of the span's cells by bin, (cells, bins); a position's whole part is its bin."""
        n_rows = self.span.stop - self.span.start
        bins = np.clip(position[self.wanted], 0, n_bins - 1).astype(np.int64)
        return np.bincount(self.row * n_bins + bins, minlength=n_rows * n_bins).reshape(n_rows, n_bins)

    def added(
        self, tally: Tally, histogram: NDArray[np.int64] | None, position: NDArray[Any], n_bins: int
    ) -> NDArray[np.int64]:
        """Return the histogram, made where there is none yet, with the counts added."""
        if histogram is None:
            histogram = np.zeros((len(tally.n_units), n_bins), np.int64)
        histogram[self.span] += self.count(position, n_bins)
        return histogram


def time_position(time_s: Array, first_s: Any, last_s: Any) -> Array:
    """Return where a time lies in a log-spaced histogram of `TIME_BINS` bins from `first_s` to `last_s`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(TIME_BINS * np.log(time_s / first_s) / np.log(last_s / first_s)))
