"""Warnings that single fields, or two of them, call for by themselves: each is exact, nothing is simulated.

What needs the whole job, such as the wait for spares, is measured instead: see `mcettr.model.measured_cautions`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from mcettr.model import renewal
from mcettr.model.distributions import Number, as_array, exceedance, mean
from mcettr.model.node_losses import chance_clipped
from mcettr.model.params import Cause, Params
from mcettr.model.problems import Cells, Problem, duration_text

_NODE_GPUS = 8.0
_RAREST_S, _OFTENEST_S = 20.0 * 365.25 * 86400.0, 86400.0
"""Mean time between failures of eight GPUs: published fleets lie between a month and two years."""
_NEXT_TO_NOTHING, _OFTEN = 0.01, 0.25
"""A share of a rate's mean that is as good as none, and how often draws below it are worth a word."""
_WORTH_A_WORD = 0.1
"""The share of all failures from which on a cause is."""
_RARELY = 1e-6
"""A failure with a consequence rarer than this goes without a word."""
_NEVER_NOTICED, _ENDLESS_S = 1e-3, 1e15
"""The share of failures noticed too late from which on it is worth a word, and what stands for no horizon."""
_COSTLY, _RARE = 0.005, 0.05
"""Time that a cause costs per time at risk, and failures of a timeline, from and up to which it is rare and costly."""
_EXHAUSTED = {"queue": ", and where the spares are exhausted"}
_BY_NODES = ("node", "gpu", "domain")


def is_false_alarm(cause: Cause) -> bool:
    """Return whether the cause is a health check stopping a healthy job: an announced stop, no fault to repeat."""
    return cause.kind == "preemption" and bool(np.all(np.isinf(cause.notice_s)))


def warnings(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the warnings of a job without errors that need no simulation.

    >>> from mcettr.model.params import Checkpoint
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (Cause("node", 1e-6, rate_shape=0.01),))
    >>> for problem in warnings(job, Cells(job)):
    ...     print(problem.path, problem.message[:77])
    failures.node.uncertainty.cv 10: in 91.7 % of the draws the rate is below a hundredth of its mean, and res
    """
    yield from _stretched(params, see)
    yield from _implausible(params, see)
    for cause in params.causes:
        yield from _false_alarms(params, cause, see)
        yield from _uncertain(params, cause, see)
        yield from _never_noticed(params, cause, see)
        yield from _rare_and_costly(params, cause, see)
        yield from _more_than_present(params, cause, see)
        if cause.kind == "preemption":
            yield from _too_late(params, f"failures.{cause.name}.notice", cause.notice_s, see)
    yield from _mostly_nothing("uncertainty.cv", params.rate_shape, bool(params.causes), see)
    if params.maintenance is not None:
        yield from _too_late(params, "maintenance.notice", params.maintenance.notice_s, see)
    yield from _no_start(params, see)
    yield from _spares_for_queue(params, see)


def _stretched(params: Params, see: Cells) -> Iterator[Problem]:
    save = params.checkpoint
    _, lag = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    yield from see.where(
        "warning",
        "checkpoint.interval",
        (np.less(save.interval_s, lag * (1.0 - 1e-12))) & (np.less(save.interval_s, params.work_s)),
        lambda interval, write, stretched: (
            f"a checkpoint every {duration_text(interval)} is shorter than its background write"
            f" ({duration_text(write)}): the next one waits, so the effective interval is {duration_text(stretched)}"
            f" instead of {duration_text(interval)}"
        ),
        save.interval_s,
        np.subtract(save.write_time_s, save.stall_s),
        lag,
        code="stretched-interval",
    )


def _implausible(params: Params, see: Cells) -> Iterator[Problem]:
    """Warn of rates given per node or GPU that no fleet shows; a rate per job says nothing of a node."""
    faults = [c for c in params.causes if c.kind != "preemption" and c.every is None]
    by_nodes = [c for c in faults if c.exposure in _BY_NODES]
    n_nodes = np.asarray(params.n_gpus, dtype=np.float64) / _NODE_GPUS
    rate, total = (
        as_array(sum((as_array(c.rate_per_s) for c in some), np.float64(0.0))) for some in (by_nodes, faults)
    )
    path = f"failures.{by_nodes[0].name}.rate" if len(by_nodes) == 1 else "failures"
    for word, bad in (
        ("low", (rate > 0.0) & (total * _RAREST_S < n_nodes)),
        ("high", rate * _OFTENEST_S > n_nodes),
    ):
        yield from see.where(
            "warning",
            path,
            bad,
            lambda x, word=word: (
                f"implausibly {word}: one failure per {duration_text(x)} per node of 8 GPUs, where published fleets"
                " see one per month to two years; check the unit"
            ),
            n_nodes / np.where(rate > 0.0, rate, 1.0),
            code=f"rate-{word}",
        )


def _false_alarms(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    if not is_false_alarm(cause):
        return
    with np.errstate(divide="ignore"):
        apart_s = as_array(np.divide(1.0, cause.rate_per_s))
    yield from see.where(
        "warning",
        "health_checks.periodic.false_positive_rate",
        apart_s * params.n_gpus / _NODE_GPUS < _OFTENEST_S,
        lambda apart, each: (
            f"a healthy node of 8 GPUs is stopped every {duration_text(each)}, the job every {duration_text(apart)};"
            " check the unit"
        ),
        apart_s,
        apart_s * params.n_gpus / _NODE_GPUS,
        code="false-alarms",
    )


def _uncertain(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    total = sum((as_array(other.rate_per_s) for other in params.causes), np.float64(0.0))
    concerned = np.greater(cause.rate_per_s, 0.0) & (as_array(cause.rate_per_s) >= _WORTH_A_WORD * as_array(total))
    yield from _mostly_nothing(f"failures.{cause.name}.uncertainty.cv", cause.rate_shape, concerned, see)


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
            " depend on the few others: what looks certain is not; cv 0.5 is a rate known to a factor of 3"
        ),
        1.0 / np.sqrt(known),
        rarely,
        code="uncertain-rate",
    )


def _never_noticed(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    """Warn of failures that nobody notices before the horizon; checks that may find them are taken to do so."""
    if cause.kind not in ("crash", "hang"):
        return
    end_s = np.minimum(params.horizon_s, _ENDLESS_S)
    chance = as_array(np.maximum(exceedance(cause.detection, end_s), exceedance(cause.diagnosis, end_s)))
    if cause.caught_in_check is not None and params.check_every_s is not None:
        chance = np.where(np.greater(cause.caught_in_check, 0.0), 0.0, chance)
    given = params.horizon_given
    yield from see.where(
        "warning",
        f"failures.{cause.name}.detection",
        (chance > _NEVER_NOTICED) & ((cause.every is not None) | np.greater(cause.rate_per_s, 0.0)),
        lambda chance, horizon, factor: (
            f"{'at least ' * (chance < 1.0)}{100.0 * chance:.3g} % of its failures are not noticed before the"
            f" {'horizon' if given else 'job is cut off'}: until then the job stands still"
            + ("" if given else f" ({factor:,.0f} x the work, {duration_text(horizon)})")
            + "; give a time after which somebody looks, or a periodic check"
            + ("" if given else ", or job.horizon")
        ),
        chance,
        params.horizon_s,
        np.divide(params.horizon_s, params.work_s),
        code="never-noticed",
    )


def _rare_and_costly(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    """Warn of a failure that few timelines see and that costs them so much that the mean depends on those few."""
    if cause.kind not in ("crash", "hang") or cause.every is not None:
        return
    whole_s = np.minimum(params.work_s, params.horizon_s)
    each_s = np.minimum(mean(cause.detection) + mean(cause.diagnosis), params.horizon_s)
    known_s = np.where(np.isfinite(whole_s) & np.isfinite(each_s), whole_s, 0.0)
    share = np.where(known_s > 0.0, np.multiply(cause.rate_per_s, each_s), 0.0)
    n_failures = np.multiply(cause.rate_per_s, known_s)
    yield from see.where(
        "warning",
        f"failures.{cause.name}",
        (share > _COSTLY) & (n_failures < _RARE),
        lambda n, each, whole: (
            f"about one timeline in {1.0 / n:,.0f} has such a failure in {duration_text(whole)} of training, and it"
            f" takes {duration_text(each)}: averages depend on those few, and a short run may see none"
        ),
        n_failures,
        each_s,
        whole_s,
        code="rare-and-costly",
    )


def _more_than_present(params: Params, cause: Cause, see: Cells) -> Iterator[Problem]:
    chance = chance_clipped(cause, params.n_nodes)
    yield from see.where(
        "warning",
        f"failures.{cause.name}.nodes_lost",
        chance > 0.0,
        lambda chance, nodes: (
            f"{100.0 * chance:.3g} % of its failures take out more nodes than the {nodes:g} of the job: they are"
            " counted as all of them"
        ),
        chance,
        params.n_nodes,
        code="more-nodes-than-present",
    )


def _too_late(params: Params, path: str, notice_s: Number, see: Cells) -> Iterator[Problem]:
    """Warn of a notice that leaves no time for a checkpoint; no notice at all is no slip."""
    save = params.checkpoint
    chance = np.where(np.greater(save.write_time_s, notice_s), 1.0, 0.0)
    if save.write_time is not None:
        chance = as_array(exceedance(save.write_time, notice_s))
    yield from see.where(
        "warning",
        path,
        np.greater(notice_s, 0.0) & (chance > _RARELY),
        lambda chance, notice, write: (
            f"{duration_text(notice)} is shorter than writing a checkpoint takes ({duration_text(write)})"
            f"{'' if chance == 1.0 else f' in {100.0 * chance:.3g} % of the attempts'}: none is written then, and the"
            " stop costs rework like a crash"
        ),
        chance,
        notice_s,
        save.write_time_s,
        code="notice-too-short",
    )


def _no_start(params: Params, see: Cells) -> Iterator[Problem]:
    failing = params.recovery.start_failure
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
            code="no-start",
        )


def _spares_for_queue(params: Params, see: Cells) -> Iterator[Problem]:
    """Say that spares replace the queue, which is not what everybody expects."""
    spares, wait = params.recovery.spares, params.recovery.queue_wait
    if spares is None or getattr(spares, "requeues", False):
        return
    yield from see.where(
        "warning",
        "recovery.queue_wait",
        np.greater(mean(wait), 0.0),
        lambda: (
            "with recovery.spares it is waited for at the submission, after a preemption and at the longest attempt"
            f" only{_EXHAUSTED.get(spares.when_exhausted, '')}: other restarts take spares, without a queue; give"
            " recovery.requeue: always if they go through it too"
        ),
        code="spares-replace-queue",
    )
