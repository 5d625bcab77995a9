"""What a search aims at: a level of ettr or of the completion probability, measured or foreseen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.errors import ScenarioError
from mcettr.model import analytic
from mcettr.model.distributions import Distribution, fixed, mean
from mcettr.model.params import Params
from mcettr.sweep.dataset import NORMAL_95
from mcettr.sweep.effort import Deadlines, read_deadlines
from mcettr.units import UnitError, parse_fraction

if TYPE_CHECKING:
    from mcettr.engine.estimates import Estimates

Array = NDArray[np.float64]
_ETTR_SPAN, _SCORE_SPAN = 0.01, 0.5
_ETTR_TIMELINES, _SCORE_TIMELINES = 4_096, 16_384
_NONE = Deadlines()
_FORMS = "write 'ettr=0.9' or 'completion@45d=0.95'"


@dataclass(frozen=True)
class Target:
    """A level to reach.

    Searches work on a scale on which the metric is nearly straight: ettr itself, and the normal score of a
    probability.

    Parameters
    ----------
    level : float
        Inside (0, 1).
    deadlines : Deadlines
        One date for a completion probability, none for ettr.
    """

    level: float
    deadlines: Deadlines = _NONE

    @property
    def name(self) -> str:
        """``ettr`` or ``completion@45d``."""
        return f"completion@{self.deadlines.labels[0]}" if self.deadlines.labels else "ettr"

    @property
    def text(self) -> str:
        """The target for people."""
        return f"{self.name} >= {self.level:g}"

    @property
    def goal(self) -> float:
        """The level on the scale of the search."""
        return float(special.ndtri(self.level)) if self.deadlines.labels else self.level

    @property
    def span(self) -> float:
        """How far from the goal, on the scale of the search, a short polynomial still describes the metric."""
        return _SCORE_SPAN if self.deadlines.labels else min(_ETTR_SPAN, 0.5 * self.level, 0.5 * (1.0 - self.level))

    @property
    def timelines(self) -> int:
        """Timelines of a point, unless the user says otherwise."""
        return _SCORE_TIMELINES if self.deadlines.labels else _ETTR_TIMELINES

    def measured(self, estimates: Estimates) -> tuple[Array, Array]:
        """Return the metric of every cell on the scale of the search, and its standard error."""
        if not self.deadlines.labels:
            return estimates.values["ettr"], estimates.se["ettr"]
        low, high = special.ndtri(estimates.completion_low[:, 0]), special.ndtri(estimates.completion_high[:, 0])
        least = special.ndtri(0.5 / estimates.n_timelines)
        score = np.clip(special.ndtri(estimates.completion_probability[:, 0]), least, -least)
        half = 0.5 * (high - low)
        # Of a probability of 0 or 1 only how near the goal it may be is of interest.
        half = np.where(np.isfinite(low), np.where(np.isfinite(high), half, score - low), high - score)
        return score, half / NORMAL_95

    def foreseen(self, params: Params) -> Array:
        """Return what closed forms at mean rates say of the metric, on the scale of the search: to start from."""
        core = _tame(params)
        if not self.deadlines.labels:
            return np.asarray(analytic.ettr(core), dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            total_s = core.work_s / np.asarray(analytic.ettr(replace(core, horizon_given=False)))
            rate = analytic.failure_rate_per_s(core)
            lost_s = analytic.expected_downtime_s(core) + analytic.mean_restart_s(core)
            lost_s = lost_s + np.minimum(core.checkpoint.interval_s, 1.0 / np.maximum(rate, 1e-300))
            spread_s = np.sqrt(rate * total_s) * lost_s
            score = (self.deadlines.seconds[0] - total_s) / np.maximum(spread_s, 1.0)
        return np.asarray(np.clip(np.nan_to_num(score, nan=-9.0), -9.0, 9.0))


def read_target(target: Mapping[str, Any] | str) -> Target:
    """Return the target that ``{"ettr": 0.9}``, ``"ettr=0.9"`` or ``"completion@45d=0.95"`` stands for.

    >>> read_target("completion@45 d=95 %").name
    'completion@45 d'
    """
    if isinstance(target, str):
        text = [part.strip() for part in target.rsplit("=", 1)]
        pairs: list[tuple[str, Any]] = [(text[0], text[1])] if len(text) == 2 else []
    else:
        pairs = list(target.items()) if isinstance(target, Mapping) else []
    if len(pairs) != 1:
        raise ScenarioError(f"target: expected one metric and its level, found {target!r}; {_FORMS}")
    name, given = str(pairs[0][0]), pairs[0][1]
    metric, at, date = name.partition("@")
    if (metric, at) not in (("ettr", ""), ("completion", "@")):
        raise ScenarioError(f"target: expected ettr or completion@DATE, found {name!r}; {_FORMS}")
    try:
        level = parse_fraction(given)
    except UnitError:
        level = math.nan
    if not 0.0 < level < 1.0:
        raise ScenarioError(f"target: {name}: expected a level inside (0, 1), found {given}; write one like 0.9")
    return Target(level, read_deadlines([date]) if at else _NONE)


def _tame(params: Params) -> Params:
    """Return the job at mean rates, waits without a finite mean lasting until the horizon."""
    core = analytic.at_mean_rates(params)
    horizon_s = np.asarray(params.horizon_s)

    def finite(law: Distribution) -> Distribution:
        return law if np.all(np.isfinite(mean(law))) else fixed(np.minimum(mean(law), horizon_s))

    causes = tuple(replace(c, detection=finite(c.detection), diagnosis=finite(c.diagnosis)) for c in core.causes)
    return replace(core, causes=causes)
