"""Checks that span several fields of a job: errors that stop a run, warnings with their consequence in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mcettr.model import analytic, renewal
from mcettr.model.cautions import warnings
from mcettr.model.core import uncertain_rates
from mcettr.model.params import Params
from mcettr.model.problems import Cells, Problem, duration_text, laws, leaves

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
        for step in (_numbers, _relations):
            if problems := list(step(params, see)):
                return problems
        return list(_deadlines(params, deadlines_s, see)) or list(warnings(params, see))


def _numbers(params: Params, see: Cells) -> Iterator[Problem]:
    """Errors of single numbers: sign, finiteness, range."""
    endless = {"job.work", "job.horizon", "checkpoint.interval"} | {path for path, _, may in laws(params) if may}
    positive = {"job.gpus", "job.work", "job.horizon", "checkpoint.interval"}
    for path, value in leaves(params):
        finite = path in endless or path.endswith(".count")
        bad = np.isnan(value) | (np.less(value, 0.0)) | (np.isinf(value) & (not finite))
        if path in positive:
            bad = bad | np.less_equal(value, 0.0)
        expected = "more than 0" if path in positive else "at least 0"
        limit = "" if finite else " and finite"
        shown = _plain if path in {"job.gpus"} or path.endswith(("rate", "count", "slowdown")) else duration_text
        advice = ", a free save has no best interval: give one" if path == "checkpoint.interval" else ""
        text = f"expected {expected}{limit}, found {{}}{advice}"
        yield from see.where("error", path, bad, lambda x, text=text, shown=shown: text.format(shown(x)), value)
    share = params.checkpoint.slowdown
    yield from see.where(
        "error", "checkpoint.slowdown", np.greater(share, 1.0), lambda x: f"expected at most 1, found {x:g}", share
    )


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
