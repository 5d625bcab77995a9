"""From tallies to estimates with standard errors: ratios of sums by the delta method, shares by Wilson's interval."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.engine.tallies import RATIO_BINS, TIME_BINS, Array, Scale, Tally
from mcettr.kernels.moments import FRACTIONS, TABLE_ACTIVITIES, WITHIN, metric_names
from mcettr.kernels.streams import RATE_GROUP
from mcettr.model.budget import ACTIVITIES, CHECKPOINT, HORIZON, START, Outcome

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99)
_Z95 = float(special.ndtri(0.975))


@dataclass(frozen=True)
class Estimates:
    """Estimates for an array of cells (the leading dimension of every array, in C order of the grid).

    `values` and `se` hold the same keys: ``ettr`` and ``ettr_occupied`` (ratios of sums; with uncertain rates the
    mean over rate draws), ``ettr_timeline_mean``, ``elapsed_s``, ``held_s``, ``interruptions``,
    ``checkpoints_written`` (cells,); ``interruptions_by_cause`` (cells, failure causes); ``time_fraction`` (cells, 11
    activities); ``lost_s`` (cells, causes, activities), mean seconds a timeline, batch-means errors.

    `causes` names the rows of ``lost_s``. Completion shares count all timelines, with 95 % intervals widened by
    capped timelines. `completion_time_s` is inf beyond the finished share. `run_to_run_sd` and `rate_uncertainty_sd`
    are None unless rates are uncertain.
    """

    causes: tuple[str, ...]
    n_timelines: NDArray[np.int64]
    values: dict[str, Array]
    se: dict[str, Array]
    finished_fraction: Array
    capped_fraction: Array
    ettr_timeline_sd: Array
    interruptions_sd: Array
    ettr_timeline_quantile: Array
    completion_time_s: Array
    completion_probability: Array
    completion_low: Array
    completion_high: Array
    run_to_run_sd: Array | None
    rate_uncertainty_sd: Array | None


class Gathered:
    """Estimates of many cells, filled in some at a time, in one allocation."""

    def __init__(self, n_cells: int) -> None:
        self.n_cells = n_cells
        self.whole: Estimates | None = None

    def put(self, cells: NDArray[np.int64], part: Estimates) -> None:
        """Set the estimates of `cells`."""

        def room(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: room(array) for key, array in value.items()}
            if value is None or isinstance(value, tuple):
                return value
            return np.empty((self.n_cells, *value.shape[1:]), value.dtype)

        def fill(target: Any, value: Any) -> None:
            if isinstance(value, dict):
                for key, array in value.items():
                    target[key][cells] = array
            elif value is not None and not isinstance(value, tuple):
                target[cells] = value

        if self.whole is None:
            self.whole = Estimates(**{f.name: room(getattr(part, f.name)) for f in fields(Estimates)})
        for f in fields(Estimates):
            fill(getattr(self.whole, f.name), getattr(part, f.name))


def ratios(tally: Tally) -> tuple[Array, Array]:
    """Return every metric and its standard error, (cells, metrics).

    For r = mean(y) / mean(x) over n independent units, var(r) = var(y - r x) / (n mean(x)^2) (Cochran 1977, eq. 2.39).
    """
    n = tally.n_units[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = tally.mean_numerator / tally.mean_denominator
    squares = tally.m2_numerator - 2.0 * ratio * tally.m2_cross + np.square(ratio) * tally.m2_denominator
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum(squares, 0.0) / (n - 1.0) / n
    return ratio, np.where(n > 1, np.sqrt(variance) / np.abs(tally.mean_denominator), np.nan)


def estimates_of(tally: Tally, failure_causes: tuple[str, ...], scale: Scale) -> Estimates:
    """Return the estimates that a tally gives."""
    value, error = ratios(tally)
    column = {name: index for index, name in enumerate(metric_names(failure_causes))}
    plain = {
        "ettr": "ettr",
        "ettr_occupied": "ettr_occupied",
        "ettr_timeline_mean": "ettr_timeline",
        "elapsed_s": "elapsed_s",
        "held_s": "held_s",
        "interruptions": "interruptions",
        "checkpoints_written": "checkpoints_written",
    }
    first_cause = len(column) - len(failure_causes)
    lost, lost_se = _lost(tally, value, error, column, failure_causes)
    values = {name: value[:, column[metric]] for name, metric in plain.items()}
    se = {name: error[:, column[metric]] for name, metric in plain.items()}
    values |= {
        "interruptions_by_cause": value[:, first_cause:],
        "time_fraction": _fractions(value, column),
        "lost_s": lost,
    }
    se |= {
        "interruptions_by_cause": error[:, first_cause:],
        "time_fraction": _fractions(error, column),
        "lost_s": lost_se,
    }
    n = tally.n_timelines.astype(np.float64)
    finished = tally.outcomes[:, Outcome.DONE] / n
    capped = tally.outcomes[:, Outcome.CAPPED]
    probability, low, high = _completion(tally, capped, scale.grouped)
    spread, run_to_run, between = _spreads(tally, [column[metric] for metric in WITHIN], n, scale.grouped)
    return Estimates(
        causes=(START, *failure_causes, CHECKPOINT, HORIZON),
        n_timelines=tally.n_timelines.copy(),
        values=values,
        se=se,
        finished_fraction=finished,
        capped_fraction=capped / n,
        ettr_timeline_sd=spread[:, 0],
        interruptions_sd=spread[:, 1],
        ettr_timeline_quantile=_ratio_quantiles(tally, n),
        completion_time_s=_completion_times(tally, n, scale),
        completion_probability=probability,
        completion_low=low,
        completion_high=high,
        run_to_run_sd=None if run_to_run is None else run_to_run[:, 0],
        rate_uncertainty_sd=None if between is None else between[:, 0],
    )


def _fractions(metric: Array, column: dict[str, int]) -> Array:
    result = np.zeros((len(metric), len(ACTIVITIES)))
    for activity in FRACTIONS:
        result[:, ACTIVITIES.index(activity)] = metric[:, column[activity]]
    result[:, ACTIVITIES.index("productive")] = metric[:, column["ettr"]]
    return result


def _lost(
    tally: Tally, value: Array, error: Array, column: dict[str, int], failure_causes: tuple[str, ...]
) -> tuple[Array, Array]:
    """Spread the table over all causes and activities; checkpoint time has its own cause."""
    n_cells, n_rows = len(value), len(failure_causes) + 3
    lost, lost_se = np.zeros((n_cells, n_rows, len(ACTIVITIES))), np.zeros((n_cells, n_rows, len(ACTIVITIES)))
    rows = [*range(len(failure_causes) + 1), n_rows - 1]
    columns = [ACTIVITIES.index(activity) for activity in TABLE_ACTIVITIES]
    n, n_blocks = tally.n_timelines.astype(np.float64), tally.n_blocks.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        table_se = np.sqrt(tally.table_m2 / (n * (n_blocks - 1.0))[:, None, None])
    lost[:, np.array(rows)[:, None], columns] = tally.table_mean
    lost_se[:, np.array(rows)[:, None], columns] = table_se
    checkpoint, elapsed = column["checkpoint"], value[:, column["elapsed_s"]]
    lost[:, -2, ACTIVITIES.index("checkpoint")] = value[:, checkpoint] * elapsed
    lost_se[:, -2, ACTIVITIES.index("checkpoint")] = error[:, checkpoint] * elapsed
    return lost, lost_se


def _completion(tally: Tally, capped: NDArray[np.int64], grouped: bool) -> tuple[Array, Array, Array]:
    """Return shares done by each deadline with Wilson (1927) intervals.

    Timelines that share rates are not independent: the interval then uses the number of independent timelines that
    would have the same variance. Capped timelines count as late in the low end and as done in the high end.
    """
    n = tally.n_timelines.astype(np.float64)[:, None]
    share = tally.done_by / n
    effective = n
    if grouped:
        size = RATE_GROUP
        n_groups = n / size
        spread = tally.done_squares / n_groups - np.square(share * size)
        variance = spread / np.square(size) / np.maximum(n_groups - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.clip(np.where(variance > 0, share * (1 - share) / variance, n_groups), 1.0, n)
    low, _ = _wilson(share, effective)
    _, high = _wilson(np.minimum(share + capped[:, None] / n, 1.0), effective)
    return share, np.minimum(low, share), np.maximum(high, share)


def _wilson(share: Array, n: Array) -> tuple[Array, Array]:
    spread = np.square(_Z95) / n
    centre = (share + spread / 2.0) / (1.0 + spread)
    half = _Z95 * np.sqrt(share * (1.0 - share) / n + spread / (4.0 * n)) / (1.0 + spread)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _quantiles(histogram: NDArray[np.int64], n: Array, levels: tuple[float, ...]) -> Array:
    """Return positions in bins at which each share of `n` is reached, linear inside a bin; inf where it never is."""
    total = np.cumsum(histogram, axis=1)
    result = np.full((len(histogram), len(levels)), np.inf)
    for index, level in enumerate(levels):
        wanted = level * n
        reached = total >= np.maximum(wanted, 1e-300)[:, None]
        bin_ = reached.argmax(axis=1)
        row = np.arange(len(histogram))
        before = total[row, bin_] - histogram[row, bin_]
        inside = (wanted - before) / np.maximum(histogram[row, bin_], 1)
        result[:, index] = np.where(reached.any(axis=1), bin_ + inside, np.inf)
    return result


def _ratio_quantiles(tally: Tally, n: Array) -> Array:
    position = np.maximum(_quantiles(tally.ratio_histogram, n, QUANTILES) - 1.0, 0.0)
    return np.clip(position / RATIO_BINS, tally.least[:, :1], tally.most[:, :1])


def _completion_times(tally: Tally, n: Array, scale: Scale) -> Array:
    position = _quantiles(tally.time_histogram, n, QUANTILES)
    work_s, horizon_s = scale.work_s[:, None], scale.horizon_s[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        time_s = work_s * np.power(horizon_s / work_s, position / TIME_BINS)
        return np.where(np.isfinite(position), np.clip(time_s, tally.least[:, 1:], tally.most[:, 1:]), np.inf)


def _spreads(tally: Tally, columns: list[int], n: Array, grouped: bool) -> tuple[Array, Array | None, Array | None]:
    """Return standard deviations of single timelines (cells, metrics): all, within and between draws of the rates."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = tally.m2_numerator[:, columns] / (tally.n_units - 1.0)[:, None]
        if not grouped:
            return np.sqrt(variance), None, None
        within = tally.within_m2 / (n - tally.n_units)[:, None]
        between = np.maximum(variance - within / RATE_GROUP, 0.0)
        return np.sqrt(within + between), np.sqrt(within), np.sqrt(between)
