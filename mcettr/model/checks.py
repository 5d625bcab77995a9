"""Checks that span several fields of a job: errors that stop a run, warnings with their consequence in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mcettr.model import analytic, renewal
from mcettr.model.cautions import warnings
from mcettr.model.core import uncertain_rates
from mcettr.model.fields import Field, fields
from mcettr.model.params import Params
from mcettr.model.problems import Cells, Problem, duration_text
from mcettr.model.refusals import refusals

__all__ = ["MOST_SAVES", "Problem", "check"]

MOST_SAVES = 2e9
"""Saves of a timeline are counted in 32 bits."""
_LONGEST_S = 1000.0 * 365.25 * 86400.0
_OFTENEST_S = 1.0
"""A job that is to run longer, or fails more often, has a slip in its numbers."""


def check(params: Params, deadlines_s: Sequence[float] = ()) -> list[Problem]:
    """Return all problems of a job, errors first; warnings only for a job without errors.

    Parameters
    ----------
    params : Params
        One job or an array of jobs, the checkpoint interval already resolved.
    deadlines_s : sequence of float
        Wall-clock times at which the completion probability is asked for.

    >>> from mcettr.model.params import Checkpoint
    >>> for problem in check(Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 90.0))):
    ...     print(problem.level, problem.path, problem.message)
    error checkpoint.stall expected at most the write time (60 s), found 90 s
    """
    with np.errstate(all="ignore"):
        see = Cells(params)
        for step in (_numbers, _relations, refusals):
            if problems := list(step(params, see)):
                return problems
        return list(_deadlines(params, deadlines_s, see)) or list(warnings(params, see))


def _numbers(params: Params, see: Cells) -> Iterator[Problem]:
    """Errors of single numbers: sign, finiteness, range."""
    for field in fields(params):
        value, shown = field.value, duration_text if field.is_time else _plain
        too_low = np.less_equal(value, field.low) if field.above_low else np.less(value, field.low)
        bad = np.isnan(value) | too_low | (np.isinf(value) & (not field.endless))
        limit = "" if field.endless else " and finite"
        expected = f"{'more than' if field.above_low else 'at least'} {field.low:g}{limit}"
        yield from see.where("error", field.path, bad, _range(expected, field, shown), value)
        too_high = np.greater_equal(value, field.high) if field.below_high else np.greater(value, field.high)
        expected = f"{'less than' if field.below_high else 'at most'} {field.high:g}"
        yield from see.where("error", field.path, np.isfinite(value) & too_high, _range(expected, field, shown), value)
        broken = np.isfinite(value) & np.not_equal(value, np.round(value)) & field.whole
        yield from see.where("error", field.path, broken & ~bad, _range("a whole number", field, shown), value)


def _range(expected: str, field: Field, shown: Callable[[float], str]) -> Callable[[float], str]:
    return lambda x: f"expected {expected}, found {shown(x)}{field.advice}"


def _relations(params: Params, see: Cells) -> Iterator[Problem]:
    """Errors that need two fields."""
    save = params.checkpoint
    yield from see.where(
        "error",
        "checkpoint.stall",
        np.greater(save.stall_s, save.write_time_s),
        lambda stall, write: f"expected at most the write time ({duration_text(write)}), found {duration_text(stall)}",
        save.stall_s,
        save.write_time_s,
    )
    yield from see.where(
        "error",
        "job",
        np.isinf(params.work_s) & np.isinf(params.horizon_s),
        lambda: "expected work or a horizon, found neither: give job.work or job.horizon",
    )
    if uncertain := uncertain_rates(params):
        yield from see.where(
            "error",
            "job.horizon",
            not params.horizon_given,
            lambda: (
                f"expected a horizon, found none: {uncertain}, and over unbounded time the mean elapsed time can be"
                " infinite"
            ),
        )
    yield from _too_many_saves(params, see)


def _too_many_saves(params: Params, see: Cells) -> Iterator[Problem]:
    """Refuse more saves than can be counted, and name the number that is likely wrong."""
    save, end_s = params.checkpoint, np.minimum(params.work_s, params.horizon_s)
    _, lag = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    saves = end_s / np.maximum(save.interval_s, lag)
    too_many = np.isfinite(end_s) & (saves > MOST_SAVES)
    mttf_s = analytic.mttf_s(params)
    often, long = np.less(mttf_s, _OFTENEST_S), np.greater(end_s, _LONGEST_S)
    for path, cells, advice in (
        ("failures", often, "the job fails {mttf}: check job.gpus and the failure rates"),
        ("job.work", long & ~often, "{end} of work: check job.work"),
        ("checkpoint.interval", ~long & ~often, "one every {interval}: lengthen it, or the write time if it is auto"),
    ):
        yield from see.where(
            "error",
            path,
            too_many & cells,
            lambda n, mttf, end, interval, advice=advice: (
                f"expected at most 2e9 saves, found {n:.3g}: "
                + advice.format(mttf=_frequency(mttf), end=duration_text(end), interval=duration_text(interval))
            ),
            saves,
            mttf_s,
            end_s,
            save.interval_s,
        )


def _deadlines(params: Params, deadlines_s: Sequence[float], see: Cells) -> Iterator[Problem]:
    for deadline in deadlines_s:
        text = duration_text(deadline)
        if not deadline > 0.0:
            yield Problem("error", "deadline", f"expected more than 0 s, found {text}", None)
            continue
        yield from see.where(
            "error",
            "deadline",
            np.isinf(params.work_s),
            lambda text=text: f"expected a job with work, found none to be done by {text}: give job.work",
        )
        yield from see.where(
            "error",
            "deadline",
            np.isfinite(params.work_s) & np.greater(deadline, params.horizon_s),
            lambda horizon, text=text: (
                f"expected at most the horizon ({duration_text(horizon)}), found {text}: raise job.horizon"
            ),
            params.horizon_s,
        )


def _frequency(mttf_s: float) -> str:
    return "over 1,000 times a second" if mttf_s < 1e-3 else f"every {duration_text(mttf_s)}"


def _plain(value: float) -> str:
    return f"{value:g}"
