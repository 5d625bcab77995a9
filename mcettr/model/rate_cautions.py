"""Warnings about rates: implausible ones, more events than a run simulates, and certainty that is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import special

from mcettr.model import analytic
from mcettr.model.blame import RATES, blamed, is_false_alarm
from mcettr.model.distributions import Number, as_array
from mcettr.model.events import MOST_ATTEMPTS, Events, events_by_kind, most_attempts
from mcettr.model.mean_rates import mean_rate_per_s
from mcettr.model.params import Params
from mcettr.model.problems import Cells, Problem, duration_text

_NODE_GPUS = 8.0
_RAREST_S, _OFTENEST_S = 20.0 * 365.25 * 86400.0, 86400.0
"""Mean time between failures of eight GPUs: published fleets lie between a month and two years."""
_NEXT_TO_NOTHING, _OFTEN = 0.01, 0.25
"""A share of a rate's mean that is as good as none, and how often draws below it are worth a word."""
_WORTH_A_WORD = 0.1
"""The share of all failures from which on a cause is."""


def rate_warnings(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the warnings about rates of a job without errors.

    >>> from mcettr.model.params import Cause, Checkpoint
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (Cause("node", 1e-6, rate_shape=0.01),))
    >>> for problem in rate_warnings(job, Cells(job)):
    ...     print(problem.path, problem.message[:77])
    failures.node.uncertainty.cv 10: in 91.7 % of the draws the rate is below a hundredth of its mean, and res
    """
    yield from _implausible(params, see)
    yield from _false_alarms(params, see)
    yield from _too_many(params, see)
    for cause in params.causes:
        share = mean_rate_per_s(params, cause) / np.maximum(analytic.failure_rate_per_s(params), 1e-300)
        path = f"failures.{cause.name}.uncertainty.cv"
        yield from _mostly_nothing(path, cause.rate_shape, share >= _WORTH_A_WORD, see)
    yield from _mostly_nothing("uncertainty.cv", params.rate_shape, analytic.failure_rate_per_s(params) > 0.0, see)


def _implausible(params: Params, see: Cells) -> Iterator[Problem]:
    """Warn of rates that no fleet shows; preemptions and false alarms say nothing about the nodes."""
    faults = replace(params, causes=tuple(cause for cause in params.causes if cause.kind != "preemption"))
    own = _path_of_rates(faults)
    n_nodes = np.asarray(params.n_gpus, dtype=np.float64) / _NODE_GPUS
    between_s = analytic.mttf_s(faults) * n_nodes

    def low(rate: Number) -> Number:
        return (rate > 0.0) & (rate * _RAREST_S < n_nodes)

    def high(rate: Number) -> Number:
        return rate * _OFTENEST_S > n_nodes

    for word, bad in (("low", low), ("high", high)):
        for path, cells in blamed(faults, bad):
            how, advice = ("", "the unit") if path == RATES else ("with it ", "it")
            yield from see.where(
                "warning",
                path or own,
                cells,
                lambda x, how=how, word=word, advice=advice: (
                    f"implausibly {word}: {how}one failure per {duration_text(x)} per node of 8 GPUs, where published"
                    f" fleets see one per month to two years; check {advice}"
                ),
                between_s,
            )


def _false_alarms(params: Params, see: Cells) -> Iterator[Problem]:
    for cause in filter(is_false_alarm, params.causes):
        with np.errstate(divide="ignore"):
            apart_s = as_array(np.divide(1.0, cause.rate_per_s))
        yield from see.where(
            "warning",
            "health_checks.periodic.false_positive_rate",
            apart_s * params.n_gpus / _NODE_GPUS < _OFTENEST_S,
            lambda apart, each: (
                f"a healthy node of 8 GPUs is stopped every {duration_text(each)}, the job every"
                f" {duration_text(apart)}; check the unit"
            ),
            apart_s,
            apart_s * params.n_gpus / _NODE_GPUS,
        )


def _too_many(params: Params, see: Cells) -> Iterator[Problem]:
    """Warn of timelines that a run cuts off, and name what makes them so long."""
    events, cap = events_by_kind(params), most_attempts(params)
    bad = events.attempts > cap
    if not np.any(bad):
        return
    advice = "" if params.horizon_given else f", or give job.horizon, with which it follows {_shown(MOST_ATTEMPTS)}"
    for path, cells in _reasons(params, events):
        yield from see.where(
            "warning",
            path,
            bad & cells,
            lambda n: (
                f"about {_shown(n)} failures and restarts a timeline, of which a run follows at most {_shown(cap)}: all"
                f" timelines are cut off, far from their end; check it{advice}"
            ),
            events.attempts,
        )


def _reasons(params: Params, events: Events) -> Iterator[tuple[str, Number]]:
    """Yield the number that brings about most of the attempts, and where it does."""
    starts = events.failed_starts > np.maximum(events.failures, events.planned)
    yield "recovery.start_failure.probability", starts
    planned = ~starts & (events.planned > events.failures)
    longest_s = np.inf if params.recovery.max_attempt_s is None else params.recovery.max_attempt_s
    every_s = np.inf if params.maintenance is None else params.maintenance.every_s
    yield "recovery.max_attempt", planned & np.less_equal(longest_s, every_s)
    yield "maintenance.every", planned & np.greater(longest_s, every_s)
    half = 0.5 * as_array(analytic.failure_rate_per_s(params))
    own = _path_of_rates(params)
    for path, cells in blamed(params, lambda rate: rate > half):
        yield path or own, ~starts & ~planned & cells


def _path_of_rates(params: Params) -> str:
    names = [cause.name for cause in params.causes if not is_false_alarm(cause)]
    return f"failures.{names[0]}.rate" if len(names) == 1 else "failures"


def _mostly_nothing(path: str, shape: Number, concerned: Number, see: Cells) -> Iterator[Problem]:
    """Warn of a gamma factor that is next to nothing in most draws, and huge in few."""
    known = np.where(np.isfinite(shape), shape, 1.0)
    rarely = special.gammainc(known, known * _NEXT_TO_NOTHING)
    yield from see.where(
        "warning",
        path,
        np.isfinite(shape) & (rarely > _OFTEN) & concerned,
        lambda cv, rarely: (
            f"{cv:.3g}: in {100.0 * rarely:.3g} % of the draws the rate is below a hundredth of its mean, and results"
            " hang on the few others: what looks certain is not; cv 0.5 is a rate known to a factor of 3"
        ),
        1.0 / np.sqrt(known),
        rarely,
    )


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number < 1e9 else f"{number:.2g}"
