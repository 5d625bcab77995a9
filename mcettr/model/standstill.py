"""Jobs that cannot get on by construction: no start succeeds, or nothing is left to train in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mcettr.model import analytic
from mcettr.model.blame import as_given
from mcettr.model.core import core_model_reason, core_numbers, failure_rate_per_s
from mcettr.model.distributions import Distribution, Number, as_array, least, mean
from mcettr.model.events import planned_factor
from mcettr.model.mean_rates import mean_rate_per_s
from mcettr.model.nearest import at_mean_rates, in_group, latency_s
from mcettr.model.params import Params
from mcettr.model.problems import Cells, Problem, duration_text
from mcettr.model.waiting import waiting_share

_WAITS = 0.1
"""A share of the time spent waiting for spares with which closed forms that leave it out mislead."""
_MOSTLY = 0.5
"""A share of the time in planned windows that is worth a word."""


def endless_loops(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the errors of a job that would try again and again at one instant, so that no horizon ends it.

    >>> from mcettr.model.params import Checkpoint, Recovery
    >>> from mcettr.model.physics import StartFailure
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (), Recovery(start_failure=StartFailure(1.0)))
    >>> [problem.path for problem in endless_loops(job, Cells(job))]
    ['recovery.start_failure.probability']
    """
    recovery, failing = params.recovery, params.recovery.start_failure
    if failing is not None:
        called = np.isfinite(failing.max_attempts) & np.greater(mean(failing.escalation), 0.0)
        yield from see.where(
            "error",
            "recovery.start_failure.probability",
            np.greater_equal(failing.probability, 1.0) & np.equal(_mean_start_s(params), 0.0) & ~called,
            lambda: (
                "expected less than 1 where a failed start takes no time, found 1: no start ever succeeds; lower it"
            ),
        )
    if recovery.max_attempt_s is not None:
        write_s = _least_write_s(params)
        yield from see.where(
            "error",
            "recovery.max_attempt",
            np.less_equal(recovery.max_attempt_s, write_s) & np.equal(mean(recovery.queue_wait), 0.0),
            lambda longest, write: (
                f"expected more than a save takes ({duration_text(write)}), found {duration_text(longest)}: every"
                " attempt would end as it begins; lengthen it"
            ),
            recovery.max_attempt_s,
            write_s,
        )


def standstill_warnings(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the warnings of a job that makes no progress, or hardly any, whatever fails."""
    failing, longest_s = params.recovery.start_failure, params.recovery.max_attempt_s
    if failing is not None:
        yield from see.where(
            "warning",
            "recovery.start_failure.probability",
            np.greater_equal(failing.probability, 1.0),
            lambda horizon: (
                "1: no start ever succeeds, so the job never trains, and only the horizon"
                f" ({duration_text(horizon)}) ends it; lower it"
            ),
            params.horizon_s,
        )
    if longest_s is not None:
        never = never_trains(params)
        for cells, needed_s, says in (
            (
                never,
                _least_needed_s(params),
                "at least): an attempt ends before it trains, and the job makes no progress",
            ),
            (
                ~never & np.less_equal(longest_s, _mean_needed_s(params)),
                _mean_needed_s(params),
                "in the mean): many attempts end before they train",
            ),
        ):
            yield from see.where(
                "warning",
                "recovery.max_attempt",
                cells,
                lambda longest, needed, says=says: (
                    f"{duration_text(longest)} is no longer than startup, restore and a save ({duration_text(needed)}"
                    f" {says}; lengthen it"
                ),
                longest_s,
                needed_s,
            )
    yield from _mostly_maintained(params, see)


def _mostly_maintained(params: Params, see: Cells) -> Iterator[Problem]:
    planned = params.maintenance
    if planned is None:
        return
    taken = maintained_share(params)
    yield from see.where(
        "warning",
        "maintenance.duration",
        taken > _MOSTLY,
        lambda taken, duration, every, start: (
            f"{duration_text(duration)} of every {duration_text(every)}"
            + (f", and {duration_text(start)} to start again" if start > 0.0 else "")
            + (
                f": at most {100.0 * (1.0 - taken):.2g} % of the time is left to train in; shorten it or lengthen every"
                if taken < 1.0
                else ": no time is left to train in, and the job makes no progress; shorten it or lengthen every"
            )
        ),
        taken,
        planned.duration_s,
        planned.every_s,
        _mean_start_s(params) + mean(params.recovery.restore),
    )


def never_trains(params: Params) -> Number:
    """Return whether the longest attempt is over before any training begins, however short a start happens to be."""
    longest_s = params.recovery.max_attempt_s
    return np.False_ if longest_s is None else np.less_equal(longest_s, _least_needed_s(params))


def maintained_share(params: Params) -> Number:
    """Return the share of time that maintenance and the start after it take.

    >>> from mcettr.model.params import Checkpoint
    >>> from mcettr.model.physics import Maintenance
    >>> save = Checkpoint(1800.0, 60.0, 60.0)
    >>> float(maintained_share(Params(8.0, 1e6, 1e9, save, maintenance=Maintenance(4.0, 1.0))))
    0.25
    """
    planned = params.maintenance
    if planned is None:
        return np.float64(0.0)
    return as_array((planned.duration_s + _mean_start_s(params) + mean(params.recovery.restore)) / planned.every_s)


def standstill(params: Params) -> str | None:
    """Return why a single job makes no progress that a closed form could tell, as a clause; None where it may.

    >>> from mcettr.model.params import Checkpoint, Recovery
    >>> save = Checkpoint(1800.0, 60.0, 60.0)
    >>> standstill(Params(8.0, 1e6, 1e9, save, recovery=Recovery(max_attempt_s=30.0)))
    'no attempt is long enough to train (recovery.max_attempt)'
    """
    failing = params.recovery.start_failure
    if failing is not None and np.all(np.greater_equal(failing.probability, 1.0)):
        return "no start ever succeeds (recovery.start_failure.probability)"
    if np.all(never_trains(params)):
        return "no attempt is long enough to train (recovery.max_attempt)"
    core = core_numbers(at_mean_rates(params), strict=False)
    if np.all(planned_factor(params, core) > 1.0 / _MOSTLY):
        return "planned stops take most of the time, and the closed forms leave them out"
    if np.all(waiting_share(params) > _WAITS):
        return "the job waits for spares much of the time, and the closed forms leave that out"
    if np.all(_groups_out(params) > _MOSTLY):
        return "replica groups are lost about as fast as they come back, and a second one stops the job"
    if np.all(_unlike_crashes(params) > _MOSTLY):
        return "most stops save first, or are corruption, and the closed forms take all for crashes"
    given = at_mean_rates(as_given(params))
    if core_model_reason(given) is None and core_model_reason(at_mean_rates(params)) is None:
        at_mean, quiet = (analytic.ettr_long_run(job) for job in (at_mean_rates(params), given))
        if np.all(at_mean < _MOSTLY * quiet):
            return "rates vary too much for their mean to tell"
    return None


def _groups_out(params: Params) -> Number:
    """Return about how many replica groups would be out at a time, did they not stop the job."""
    groups = params.recovery.replica_groups
    if groups is None:
        return np.float64(0.0)
    back_s = _mean_start_s(params) + mean(groups.rejoin)
    out = [
        mean_rate_per_s(params, cause) * (latency_s(params, cause) + mean(cause.diagnosis) + back_s)
        for cause in params.causes
        if in_group(params, cause)
    ]
    return as_array(sum(out, start=np.float64(0.0)))


def _unlike_crashes(params: Params) -> Number:
    """Return the share of failures that do not roll the job back at once."""
    rate = as_array(failure_rate_per_s(params))
    unlike = [c for c in params.causes if c.kind not in ("crash", "hang")]
    late = [np.less(c.notice_s, params.checkpoint.write_time_s) & (c.kind == "preemption") for c in unlike]
    parts = [np.where(crash, 0.0, mean_rate_per_s(params, c)) for c, crash in zip(unlike, late, strict=True)]
    return as_array(sum(parts, start=np.float64(0.0)) / np.where(rate > 0.0, rate, 1.0))


def _starts(params: Params) -> tuple[Distribution, ...]:
    return tuple(law for _, law in params.recovery.startup)


def _mean_start_s(params: Params) -> Number:
    return as_array(sum((mean(law) for law in _starts(params)), start=np.float64(0.0)))


def _mean_needed_s(params: Params) -> Number:
    return as_array(_mean_start_s(params) + mean(params.recovery.restore) + params.checkpoint.write_time_s)


def _least_needed_s(params: Params) -> Number:
    start_s = sum((least(law) for law in _starts(params)), start=least(params.recovery.restore))
    return as_array(start_s + _least_write_s(params))


def _least_write_s(params: Params) -> Number:
    save = params.checkpoint
    return as_array(save.write_time_s if save.write_time is None else least(save.write_time))
