"""What a search says of its answer, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mcettr.sweep.look import Point
from mcettr.sweep.solved_value import SolvedValue
from mcettr.sweep.target import Target
from mcettr.sweep.trials import Trials
from mcettr.sweep.vary import Vary

LESS_WORK = "give the job less work, or a horizon"


def aim_text(trials: Trials) -> str:
    """Return the target for people."""
    sure = "" if trials.confidence is None else f" with probability {trials.confidence:g} over the rates"
    return f"{trials.target.text}{sure}"


def level_of(point: Point, target: Target) -> float:
    """Return what is aimed at, as simulated at a point."""
    return point.ettr if point.completion is None or not target.deadlines.labels else point.completion[0]


def is_near(point: Point, target: Target) -> bool:
    """Return whether a point is within its error (95 %) of the target."""
    if point.completion is not None and target.deadlines.labels:
        return point.completion[1] <= target.level <= point.completion[2]
    return not abs(point.ettr - target.level) > 2.0 * point.ettr_se


def where_met(trials: Trials, values: Sequence[SolvedValue], rises: Sequence[bool], reach: str) -> str:
    """Return from where to where the target is met, given the values between which that changes.

    Parameters
    ----------
    trials : Trials
        The search.
    values : sequence of SolvedValue
        One or two, in order.
    rises : sequence of bool
        Whether the metric rises at each.
    reach : str
        How far was searched.
    """
    texts, path = [trials.vary.text(value.estimate) for value in values], trials.vary.path
    if len(texts) == 2 and rises[0]:
        where = f"from {texts[0]} to {texts[1]}"
    elif len(texts) == 2:
        where = f"up to {texts[0]} and from {texts[1]}"
    else:
        where = f"from {texts[0]}" if rises[0] else f"up to {texts[0]}"
    return f"{aim_text(trials)} is met with {path} {where} ({reach})"


def reach_text(trials: Trials) -> str:
    """Return how far was searched, by simulated points."""
    low, high = _ends(trials)
    return f"searched from {trials.vary.text(low)} to {trials.vary.text(high)}"


def cut_text(cut: tuple[bool, bool]) -> str:
    """Return why not farther."""
    beyond = " and ".join(name for name, is_cut in zip(("below", "above"), cut, strict=True) if is_cut)
    return f"; {beyond}, a timeline has too many failures to simulate here" if beyond else ""


def span_text(trials: Trials) -> str:
    """Return the range between the outermost points that were simulated."""
    low, high = _ends(trials)
    return f"from {trials.vary.text(low)} to {trials.vary.text(high)}"


def _ends(trials: Trials) -> tuple[float, float]:
    values = [point.value for point in trials.table() or trials.points]
    return min(values), max(values)


def work_at(vary: Vary, trials: Trials, value: float) -> float:
    """Return the work of the job at a value, seconds."""
    return float(np.reshape(vary.grid(trials.scenario, [value]).params.work_s, -1)[0])
