"""From tallies to estimates with standard errors: ratios of sums by the delta method, shares by Wilson's interval."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.engine.rare import FEW_TIMELINES, few_beyond, quantile_levels, rare_of
from mcettr.engine.tallies import RATIO_BINS, STRETCH_S, TIME_BINS, Array, Scale, Tally
from mcettr.engine.unseen import Foreseen, Unseen
from mcettr.kernels.account import INTERRUPTIONS
from mcettr.kernels.moments import METRICS, OVER_ELAPSED, WITHIN
from mcettr.kernels.streams import RATE_GROUP
from mcettr.model.budget import ACTIVITIES, Outcome, cause_rows

QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999)
_SPREADS = ("ettr", "interruptions", "elapsed_s")
"""Names of the metrics `WITHIN` in `Estimates.run_to_run_sd`."""
_Z95 = float(special.ndtri(0.975))
FEW_UNITS = 64
"""Below so many independent units (groups of timelines where these share uncertain rates) errors are widened so that
an estimate and 1.96 errors around it still are a 95 % interval."""

_FEW_WITNESSES = 4.0
"""Groups of timelines that hold an outcome, below which their correlation is taken for nearly 1."""


@dataclass(frozen=True)
class Estimates:
    """Estimates for an array of cells (the leading dimension of every array, in C order of the grid).

    `values` and `se` hold the same keys: ``ettr`` and ``ettr_occupied`` (ratios of sums; with uncertain rates the
    mean over rate draws), ``ettr_timeline_mean``, ``elapsed_s``, ``held_s``, ``productive_s``, ``interruptions``,
    ``checkpoints_written`` (cells,); ``time_fraction`` (cells, 11 activities);
    ``interruptions_by_cause`` (cells, failure causes) and ``lost_s`` (cells, causes, activities), mean seconds a
    timeline. With spares also ``spare_wait_probability``, the share of recoveries in need of a node that found too
    few spares (NaN where no recovery needed one), and ``nodes_out_mean``, the nodes in repair at a random instant. With
    silent causes ``corrupt_fraction``, the share of the kept work that is corrupt in the end (NaN where none is kept),
    and ``ettr_correct``, which counts the rest of it only.

    `causes` names the rows of ``lost_s``. Completion shares count all timelines, with 95 % intervals widened by
    capped timelines. `completion_time_s` is inf beyond the finished share. `run_to_run_sd` and `rate_uncertainty_sd`
    are those of ``ettr``, ``interruptions`` and ``elapsed_s`` of one timeline, None unless rates are uncertain.
    `left_out` says which estimates rest on fewer than 20 timelines with the event and are not to be given as numbers;
    `low` and `high` are the ends of 95 % intervals, also of quantiles and of the finished and capped shares (nan for
    no bound). See `mcettr.engine.rare`.
    `longest_stretch_quantile_s` is None where the loop does not follow it, the quantiles of nodes out without spares.
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
    run_to_run_sd: dict[str, Array] | None
    rate_uncertainty_sd: dict[str, Array] | None
    longest_stretch_quantile_s: Array | None
    nodes_out_quantile: Array | None
    nodes_out_most_quantile: Array | None
    left_out: dict[str, NDArray[np.bool_]]
    low: dict[str, Array]
    high: dict[str, Array]


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
    Errors of fewer than `FEW_UNITS` units are widened (see there).
    """
    n = tally.n_units[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = tally.mean_numerator / tally.mean_denominator
        squares = tally.m2_numerator - 2.0 * ratio * tally.m2_cross + np.square(ratio) * tally.m2_denominator
        variance = np.maximum(squares, 0.0) / (n - 1.0) / n
        error = np.sqrt(variance) / np.abs(tally.mean_denominator) * _widened(n)
    return ratio, np.where(n > 1, error, np.nan)


def _widened(n_units: Array) -> Array:
    """Return Student's quantile over the normal one where few units tell how they spread; nan for a single one."""
    few = n_units < FEW_UNITS
    return np.where(few, special.stdtrit(np.where(few, n_units - 1.0, 1.0), 0.975) / _Z95, 1.0)


def ettr_error(tally: Tally, foreseen: Foreseen) -> Array:
    """Return the standard error of ettr, (cells,)."""
    value, error = ratios(tally)
    n, elapsed_s = tally.n_timelines.astype(np.float64), tally.mean_numerator[:, METRICS.index("elapsed_s")]
    more = foreseen.unseen(tally).of_ratio(None, value[:, 0], elapsed_s, n)
    return np.asarray(np.sqrt(np.square(error[:, 0]) + more))


def estimates_of(
    tally: Tally, failure_causes: tuple[str, ...], scale: Scale, foreseen: Foreseen | None = None
) -> Estimates:
    """Return the estimates that a tally gives; errors know of rare events if `foreseen` is given."""
    n = tally.n_timelines.astype(np.float64)
    capped = tally.outcomes[:, Outcome.CAPPED]
    values, se = _values(tally, n, len(failure_causes), silent=scale.silent)
    if foreseen is not None:
        more = _variances(values, foreseen.unseen(tally), n)
        se |= {name: np.sqrt(np.square(se[name]) + variance) for name, variance in more.items()}
    rare = rare_of(tally, values, len(failure_causes), foreseen)
    probability, low, high = _completion(tally, capped, scale.grouped)
    spread, run_to_run, between = _spreads(tally, n, scale.grouped)
    quantiles = _all_quantiles(tally, n, scale, np.full((len(n), len(QUANTILES)), QUANTILES))
    levels = quantile_levels(tally.n_units, QUANTILES)
    ends = [_all_quantiles(tally, n, scale, level) for level in levels]
    sure = tally.least == tally.most
    few = few_beyond(n, QUANTILES)
    left_out = {name: few & ~sure[:, index, None] for index, name in enumerate(_WITH_EXTREMES)}
    left_out |= {name: few for name in quantiles if name not in left_out}
    left_out["completion_probability"] = np.less(tally.done_by, FEW_TIMELINES)
    return Estimates(
        causes=cause_rows(failure_causes),
        n_timelines=tally.n_timelines.copy(),
        values=values,
        se=se,
        finished_fraction=tally.outcomes[:, Outcome.DONE] / n,
        capped_fraction=capped / n,
        ettr_timeline_sd=spread["ettr"],
        interruptions_sd=spread["interruptions"],
        ettr_timeline_quantile=_known(quantiles["ettr_timeline_quantile"]),
        completion_time_s=_known(quantiles["completion_time"]),
        completion_probability=probability,
        completion_low=low,
        completion_high=high,
        run_to_run_sd=run_to_run,
        rate_uncertainty_sd=between,
        longest_stretch_quantile_s=quantiles["longest_stretch_quantile"],
        nodes_out_quantile=quantiles["nodes_out_quantile"],
        nodes_out_most_quantile=quantiles["nodes_out_most_quantile"],
        left_out=rare.left_out | left_out,
        low=rare.low | {name: values for name, values in ends[0].items() if values is not None},
        high=rare.high | {name: values for name, values in ends[1].items() if values is not None},
    )


_WITH_EXTREMES = ("ettr_timeline_quantile", "completion_time", "longest_stretch_quantile")
"""Quantiles in the order of `Tally.least` and `Tally.most`."""


def _known(values: Array | None) -> Array:
    assert values is not None
    return values


def _all_quantiles(tally: Tally, n: Array, scale: Scale, levels: Array) -> dict[str, Array | None]:
    """Return the quantiles at some levels (cells, levels), by name; nan where the level is."""
    found = {
        "ettr_timeline_quantile": _ratio_quantiles(tally, n, levels),
        "completion_time": _completion_times(tally, n, scale, levels),
        "longest_stretch_quantile": _stretch_quantiles(tally, n, levels),
        "nodes_out_quantile": _whole_quantiles(tally.nodes_out_histogram, n, levels),
        "nodes_out_most_quantile": _whole_quantiles(tally.nodes_out_most_histogram, n, levels),
    }
    return {name: None if part is None else np.where(np.isnan(levels), np.nan, part) for name, part in found.items()}


def _values(tally: Tally, n: Array, n_causes: int, *, silent: bool) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the estimates by name, and their standard errors."""
    value, error = ratios(tally)
    units = tally.n_units
    with np.errstate(divide="ignore", invalid="ignore"):
        of_mean = _widened(units) / np.sqrt(np.where(units > 1, units * (units - 1.0), np.nan))
        table_se = np.sqrt(tally.m2_by_cause) * of_mean[:, None, None]

    def named(metrics: Array, table: Array) -> dict[str, Array]:
        column = {name: metrics[:, index] for index, name in enumerate(METRICS)}
        own = ("ettr", "ettr_occupied", "elapsed_s", "held_s", "productive_s", "interruptions", "checkpoints_written")
        found = {name: column[name] for name in own} | {
            "ettr_timeline_mean": column["ettr_timeline"],
            "time_fraction": metrics[:, : len(OVER_ELAPSED)],
            "lost_s": table[:, :, :INTERRUPTIONS],
            "interruptions_by_cause": table[:, 1 : 1 + n_causes, INTERRUPTIONS],
        }
        if tally.nodes_out_histogram is not None:
            found |= {"spare_wait_probability": column["exhausted_share"], "nodes_out_mean": column["nodes_out"]}
        if silent:
            found |= {name: column[name] for name in ("corrupt_fraction", "ettr_correct")}
        return found

    return named(value, tally.mean_by_cause), named(error, table_se)


def _variances(values: dict[str, Array], unseen: Unseen, n: Array) -> dict[str, Array]:
    """Return the variance of estimates that is due to what the timelines have hardly seen.

    An event that costs time makes a timeline longer until the horizon cuts it off, and then costs productive time.
    """
    ettr, elapsed_s, held_s = values["ettr"], values["elapsed_s"], values["held_s"]
    n_causes = values["interruptions_by_cause"].shape[1]
    lost_s2 = unseen.of_seconds(n)
    shorter = np.square(ettr)[:, None] * lost_s2 * (1.0 - unseen.within_room)
    shorter = np.minimum(shorter, unseen.most * np.square(values["productive_s"] / n)[:, None])
    relative = lost_s2 * unseen.within_life / np.square(elapsed_s)[:, None]
    fractions = [
        unseen.of_ratio(activity or None, values["time_fraction"][:, activity], elapsed_s, n)
        for activity in range(len(ACTIVITIES))
    ]
    table = np.zeros_like(values["lost_s"])
    table[:, : 1 + n_causes] = unseen.lost_s2[:, : 1 + n_causes] / np.square(n)[:, None, None]
    return {
        "ettr": unseen.of_ratio(None, ettr, elapsed_s, n),
        "ettr_occupied": unseen.of_ratio(None, values["ettr_occupied"], held_s, n, held=True),
        "ettr_timeline_mean": np.square(ettr) * relative.sum(axis=1),
        "time_fraction": np.stack(fractions, axis=1),
        "elapsed_s": (lost_s2 * unseen.within_room).sum(axis=1),
        "held_s": (unseen.of_seconds(n, held=True) * unseen.within_room).sum(axis=1),
        "productive_s": shorter.sum(axis=1),
        "interruptions": unseen.events.sum(axis=1) / np.square(n),
        "interruptions_by_cause": unseen.events[:, 1 : 1 + n_causes] / np.square(n)[:, None],
        "lost_s": table,
    }


def _completion(tally: Tally, capped: NDArray[np.int64], grouped: bool) -> tuple[Array, Array, Array]:
    """Return shares done by each deadline with Wilson (1927) intervals.

    Timelines that share rates are not independent: the interval then uses the number of independent timelines that
    would have the same variance (see `_independent`). Capped timelines count as late in the low end and as done in the
    high end.
    """
    n = tally.n_timelines.astype(np.float64)[:, None]
    share = tally.done_by / n
    effective = (
        _independent(tally.done_by.astype(np.float64), tally.done_squares.astype(np.float64), n) if grouped else n
    )
    low, _ = _wilson(share, effective)
    _, high = _wilson(np.minimum(share + capped[:, None] / n, 1.0), effective)
    return share, np.minimum(low, share), np.maximum(high, share)


def _independent(done: Array, squares: Array, n: Array) -> Array:
    """Return how many independent timelines say as much of a share as `n` in groups that share rates.

    Between the number of groups, where their timelines all agree, and `n`: n / (1 + (size - 1) rho), rho their
    correlation. The estimate of rho rests on the groups that hold the rarer outcome; where these are few it goes to 1.
    Fewer groups count less still, as Student's quantile does (Korn and Graubard 1998).
    """
    size = RATE_GROUP
    n_groups = np.maximum(n / size, 2.0)
    share = done / n
    late_squares = n * size - 2.0 * size * done + squares
    with np.errstate(divide="ignore", invalid="ignore"):
        of_done, of_late = np.square(done) / squares, np.square(n - done) / late_squares
        variance = (squares / n_groups - np.square(share * size)) / np.square(size) / (n_groups - 1.0)
        rho = np.clip((n * variance / (share * (1.0 - share)) - 1.0) / (size - 1.0), 0.0, 1.0)
    witnesses = np.nan_to_num(np.minimum(of_done, of_late))
    unsure = 1.0 / (1.0 + np.square(witnesses / _FEW_WITNESSES))
    rho = np.nan_to_num(rho, nan=1.0) * (1.0 - unsure) + unsure
    student = special.stdtrit(n_groups - 1.0, 0.975) / _Z95
    return np.asarray(np.maximum(n / (1.0 + (size - 1.0) * rho) / np.square(student), 1.0))


def _wilson(share: Array, n: Array) -> tuple[Array, Array]:
    spread = np.square(_Z95) / n
    centre = (share + spread / 2.0) / (1.0 + spread)
    half = _Z95 * np.sqrt(share * (1.0 - share) / n + spread / (4.0 * n)) / (1.0 + spread)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _quantiles(histogram: NDArray[np.int64], n: Array, levels: Array) -> Array:
    """Return positions in bins at which each share of `n` is reached, linear inside a bin; inf where it never is."""
    total = np.cumsum(histogram, axis=1)
    result = np.full(levels.shape, np.inf)
    for index, level in enumerate(np.nan_to_num(levels).T):
        wanted = level * n
        reached = total >= np.maximum(wanted, 1e-300)[:, None]
        bin_ = reached.argmax(axis=1)
        row = np.arange(len(histogram))
        before = total[row, bin_] - histogram[row, bin_]
        inside = (wanted - before) / np.maximum(histogram[row, bin_], 1)
        result[:, index] = np.where(reached.any(axis=1), bin_ + inside, np.inf)
    return result


def _ratio_quantiles(tally: Tally, n: Array, levels: Array) -> Array:
    position = np.maximum(_quantiles(tally.ratio_histogram, n, levels) - 1.0, 0.0)
    return np.clip(position / RATIO_BINS, tally.least[:, :1], tally.most[:, :1])


def _completion_times(tally: Tally, n: Array, scale: Scale, levels: Array) -> Array:
    position = _quantiles(tally.time_histogram, n, levels)
    time_s = _time_at(position, scale.work_s[:, None], scale.horizon_s[:, None])
    return np.where(np.isfinite(position), np.clip(time_s, tally.least[:, 1:2], tally.most[:, 1:2]), np.inf)


def _stretch_quantiles(tally: Tally, n: Array, levels: Array) -> Array | None:
    if tally.stretch_histogram is None:
        return None
    time_s = _time_at(_quantiles(tally.stretch_histogram, n, levels), *STRETCH_S)
    return np.clip(time_s, tally.least[:, 2:], tally.most[:, 2:])


def _time_at(position: Array, first_s: Any, last_s: Any) -> Array:
    """Return the time at a position of a log-spaced histogram, as `mcettr.engine.tallies.time_position` gives it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(first_s * np.power(last_s / first_s, position / TIME_BINS))


def _whole_quantiles(histogram: NDArray[np.int64] | None, n: Array, levels: Array) -> Array | None:
    """Return the least whole numbers that at least each share of `n` does not exceed."""
    if histogram is None:
        return None
    total = np.cumsum(histogram, axis=1)
    wanted = np.nan_to_num(levels) * n[:, None]
    return np.stack([(total < least[:, None] * (1.0 - 1e-12)).sum(axis=1) for least in wanted.T], axis=1) * 1.0


def _spreads(
    tally: Tally, n: Array, grouped: bool
) -> tuple[dict[str, Array], dict[str, Array] | None, dict[str, Array] | None]:
    """Return standard deviations of single timelines by metric: all, within and between draws of the rates."""
    columns = [METRICS.index(name) for name in WITHIN]

    def named(variance: Array) -> dict[str, Array]:
        return dict(zip(_SPREADS, np.sqrt(variance).T, strict=True))

    with np.errstate(divide="ignore", invalid="ignore"):
        variance = tally.m2_numerator[:, columns] / (tally.n_units - 1.0)[:, None]
        if not grouped:
            return named(variance), None, None
        within = tally.within_m2 / (n - tally.n_units)[:, None]
        between = np.maximum(variance - within / RATE_GROUP, 0.0)
        return named(within + between), named(within), named(between)
