"""The fast engine's lives of a job beside the second simulator's: shares, counts, who is blamed, spreads and tails.

Several scenarios of one structure are compared together, each life by its distance from the engine's mean of its
scenario, so that what differs in all of them adds up; tails are compared scenario by scenario and counted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mcettr.engine.reference import Timelines
from mcettr.model.budget import ACTIVITIES, cause_rows
from mcettr.model.params import Params
from tests import independent
from tests.statistical import ALPHA, assert_same_mean, assert_same_tail

Columns = dict[str, NDArray[Any]]
"""A number of each life, by name."""
Column = tuple[str, NDArray[Any], NDArray[Any]]
"""Name, the engine's lives, the second simulator's."""

POINTS, MOST, SOME = 0.005, 0.02, 0.05
"""What must be seen: of a share `POINTS` and `SOME` of it, at most `MOST`; of a count `SOME` of it."""
POINTS_LEFT, SOME_LEFT = 0.0025, 0.04
"""What must be seen of a share, or of a count, that is not in line with the others of the same life."""
SPREAD = 0.2
"""What must be seen of the mean distance from the median."""
MAX_SKEWNESS = 1.25
"""Of the engine's lives, in a look at many columns; only the tails of what is more skewed are compared."""
TAILS = {0.05: 0.1, 0.01: 0.035}
"""Share of the lives in a tail, and how many there must be to be seen."""


@dataclass(frozen=True)
class Lives:
    """What is compared of the lives of one job, each a column of a number a life.

    Parameters
    ----------
    shares : dict of str to ndarray, shape (life,)
        Share of the time by activity.
    cells : dict of str to ndarray, shape (life,)
        Share of the time by activity and what is to blame.
    counts : dict of str to ndarray, shape (life,)
        Failures by cause, and whatever else is counted.
    nodes_out : ndarray, shape (life,) or None
        Nodes in repair, at one instant or on average.
    others : dict of str to ndarray, shape (life,)
        More of which the law is compared.
    """

    shares: Columns
    cells: Columns
    counts: Columns
    nodes_out: NDArray[Any] | None
    others: Columns


@dataclass(frozen=True)
class Scenario:
    """The lives of one job by the fast engine, and by the second simulator."""

    fast: Lives
    slow: Lives


def of_engine(params: Params, lives: Timelines) -> Lives:
    lost_s = lives.lost_s.copy()
    lost_s[:, 0, 0] = lives.productive_s
    return _lives(params, lives, lost_s, lives.n_saves, lives.nodes_out)


def of_second(params: Params, lives: independent.Timelines) -> Lives:
    rows = cause_rows(tuple(cause.name for cause in params.causes))
    lost_s = lives.by_cause_s[:, [lives.labels.index(row) for row in rows]]
    lost_s = lost_s[:, :, [independent.ACTIVITIES.index(activity) for activity in ACTIVITIES]]
    lost_s[:, 0, 0] = lives.activity_s["productive"]
    return _lives(params, lives, lost_s, lives.saves, lives.nodes_out_mean)


def _lives(params: Params, lives: Any, spent_s: NDArray[Any], n_saves: Any, nodes_out: Any) -> Lives:
    causes = tuple(cause.name for cause in params.causes)
    shares = np.round(spent_s / lives.elapsed_s[:, None, None], 9)  # what is the same but for rounding is the same
    cells = {
        f"{activity} by {row}": shares[:, i, j]
        for i, row in enumerate(cause_rows(causes))
        for j, activity in enumerate(ACTIVITIES)
    }
    counts = {f"failures of {name}": lives.interruptions[:, index] for index, name in enumerate(causes)}
    counts["saves"], others = n_saves, {"longest stretch": lives.longest_stretch_s}
    if has_pool := params.recovery.spares is not None:
        counts |= {"swaps": lives.n_swaps, "waits": lives.n_exhausted}
        others |= {"nodes out": lives.nodes_out, "most nodes out": lives.nodes_out_most}
    activities = dict(zip(ACTIVITIES, np.round(shares.sum(axis=1), 9).T, strict=True))
    return Lives(activities, cells, counts, nodes_out if has_pool else None, others)


def compare(scenarios: Sequence[Scenario]) -> None:
    """Fail where the two differ by what matters."""
    compare_means(scenarios)
    compare_cells(scenarios)
    compare_given_the_rest(scenarios)
    compare_spreads(scenarios)
    compare_tails(scenarios)


def compare_means(scenarios: Sequence[Scenario]) -> None:
    """Fail where an activity takes a larger or smaller share, or something happens more or less often."""
    for name, fast, slow in _columns(scenarios, "shares"):
        assert_same_mean(slow, fast, detectable=_of_share(fast), what=f"share of {name}")
    for name, fast, slow in _columns(scenarios, "counts"):
        assert_same_mean(slow, fast, detectable=SOME * fast.mean(), what=name)
    if scenarios[0].fast.nodes_out is not None:
        fast, slow = _level([(scene.fast.nodes_out, scene.slow.nodes_out) for scene in scenarios])
        assert_same_mean(slow, fast, detectable=SOME * fast.mean(), what="nodes out on average")


def compare_given_the_rest(scenarios: Sequence[Scenario]) -> None:
    """Fail where a share or a count does not fit the others of its life: one look at all.

    What is compared is the residual of its regression on them in the engine's lives, which scatters far less.
    """
    columns = _free([*_columns(scenarios, "counts"), *_columns(scenarios, "shares")])
    tables = [np.stack([column[which] for column in columns], axis=1) for which in (1, 2)]
    for j, (name, fast, _) in enumerate(columns):
        rest = [np.delete(table, j, axis=1) for table in tables]
        slopes = _slopes(rest[0], fast)
        a, b = (
            table[:, j] - (others - rest[0].mean(axis=0)) @ slopes for table, others in zip(tables, rest, strict=True)
        )
        detectable = POINTS_LEFT if name in ACTIVITIES else SOME_LEFT * fast.mean()
        if abs(stats.skew(a)) < MAX_SKEWNESS:
            what = f"{name}, given the rest"
            assert_same_mean(b, a, detectable=detectable, what=what, alpha=ALPHA / len(columns))


def compare_cells(scenarios: Sequence[Scenario]) -> None:
    """Fail where time is blamed on something else: one look at all cells of the table."""
    cells = _columns(scenarios, "cells")
    for name, fast, slow in cells:
        if abs(stats.skew(fast)) < MAX_SKEWNESS:
            assert_same_mean(slow, fast, detectable=MOST, what=name, alpha=ALPHA / len(cells))


def compare_spreads(scenarios: Sequence[Scenario]) -> None:
    """Fail where lives scatter more or less: one look at all columns."""
    columns = [*_columns(scenarios, "shares"), *_columns(scenarios, "counts")]
    for name, fast, slow in columns:
        centre = np.median(fast)
        a, b = np.abs(slow - centre), np.abs(fast - centre)
        if abs(stats.skew(b)) < MAX_SKEWNESS:
            assert_same_mean(a, b, detectable=SPREAD * b.mean(), what=f"spread of {name}", alpha=ALPHA / len(columns))


def compare_tails(scenarios: Sequence[Scenario]) -> None:
    """Fail where there are too many lives, or too few, in either tail."""
    for kind in ("shares", "counts", "others"):
        for name in getattr(scenarios[0].fast, kind):
            pairs = [(getattr(scene.slow, kind)[name], getattr(scene.fast, kind)[name]) for scene in scenarios]
            slow, fast = zip(*pairs, strict=True)
            if not all(np.ptp(column) for column in fast):
                continue
            for share, detectable in TAILS.items():
                for upper in (True, False):
                    what = f"{'upper' if upper else 'lower'} tail of {name}"
                    assert_same_tail(slow, fast, share, detectable=detectable, what=what, upper=upper)


def _free(columns: list[Column]) -> list[Column]:
    """Return the columns that are not given exactly by those before."""
    free = columns[:1]
    for column in columns[1:]:
        before, fast = np.stack([other for _, other, _ in free], axis=1), column[1]
        left = fast - fast.mean() - (before - before.mean(axis=0)) @ _slopes(before, fast)
        if left.std() > 1e-5 * fast.std():
            free.append(column)
    return free


def _slopes(table: NDArray[Any], column: NDArray[Any]) -> NDArray[Any]:
    """Return the coefficients of the regression of a column on those of a table, by every eighth life."""
    x, y = table[::8], column[::8]
    slopes: NDArray[Any] = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0]
    return slopes


def _of_share(column: NDArray[Any]) -> float:
    return min(MOST, POINTS + SOME * float(column.mean()))


def _columns(scenarios: Sequence[Scenario], kind: str) -> list[Column]:
    """Return each column that is not 0 throughout."""
    found = []
    for name in getattr(scenarios[0].fast, kind):
        pairs = [(getattr(scene.fast, kind)[name], getattr(scene.slow, kind)[name]) for scene in scenarios]
        if any(column.any() for pair in pairs for column in pair):
            found.append((name, *_level(pairs)))
    return found


def _level(pairs: Sequence[tuple[Any, Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return all lives of both, as if each scenario had the engine's mean of all."""
    means = [fast.mean() for fast, _ in pairs]
    fast = np.concatenate([column - mean for (column, _), mean in zip(pairs, means, strict=True)])
    slow = np.concatenate([column - mean for (_, column), mean in zip(pairs, means, strict=True)])
    return fast + np.mean(means), slow + np.mean(means)
