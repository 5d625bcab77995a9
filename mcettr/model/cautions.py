"""Warnings: what a sound job should be told before it runs, each with its consequence in numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from mcettr.model import analytic, renewal
from mcettr.model.core import several
from mcettr.model.distributions import Number, mean
from mcettr.model.nearest import latency_s
from mcettr.model.params import Cause, Params
from mcettr.model.physics_cautions import physics_warnings
from mcettr.model.problems import Cells, Problem, duration_text

_YEAR_S = 365.25 * 86400.0
_ENDLESS_S = 1e5 * _YEAR_S
_NODE_GPUS = 8.0
_RAREST_S, _OFTENEST_S = 20.0 * _YEAR_S, 86400.0
"""Mean time between failures of eight GPUs: published fleets lie between a month and two years."""
_WORTH_SAYING = 1.01
"""A better interval is named where it raises the ETTR by more than this factor."""


def warnings(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the warnings of a job without errors."""
    yield from _stretched(params, see)
    yield from _rate(params, see)
    yield from _never_noticed(params, see)
    yield from physics_warnings(params, see)
    core = analytic.at_mean_rates(params)
    # The nearest core job has no local tier, so its figures would be far too bad.
    known = params.checkpoint.local is None and analytic.core_model_reason(core) is None
    yield from _mostly_saving(params, core if known else None, see)
    if known:
        yield from _rarely_saving(core, see)
        yield from _unfinished(core, see)


def _stretched(params: Params, see: Cells) -> Iterator[Problem]:
    save = params.checkpoint
    _, lag = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    yield from see.where(
        "warning",
        "checkpoint.interval",
        (np.less(save.interval_s, lag * (1.0 - 1e-12))) & (np.less(save.interval_s, params.work_s)),
        lambda interval, write, stretched: (
            f"a save every {duration_text(interval)} is shorter than its background write ({duration_text(write)}):"
            f" the next one waits, so the effective interval is {duration_text(stretched)} instead of"
            f" {duration_text(interval)}"
        ),
        save.interval_s,
        np.subtract(save.write_time_s, save.stall_s),
        lag,
    )


def _rate(params: Params, see: Cells) -> Iterator[Problem]:
    path = f"failures.{params.causes[0].name}.rate" if len(params.causes) == 1 else "failures"
    between_s = analytic.mttf_s(params) * np.asarray(params.n_gpus, dtype=np.float64) / _NODE_GPUS
    for word, implausible in (
        ("low", np.isfinite(between_s) & (between_s > _RAREST_S)),
        ("high", between_s < _OFTENEST_S),
    ):
        yield from see.where(
            "warning",
            path,
            implausible,
            lambda x, word=word: (
                f"implausibly {word}: one failure per {duration_text(x)} per node of 8 GPUs, where published fleets"
                " see one per month to two years; check the unit"
            ),
            between_s,
        )


def _never_noticed(params: Params, see: Cells) -> Iterator[Problem]:
    cells = {
        c.name: ~np.isfinite(_unnoticed_s(params, c)) & ((c.every is not None) | np.greater(c.rate_per_s, 0.0))
        for c in params.causes
    }
    concerned = [name for name, bad in cells.items() if np.any(bad)]
    if params.horizon_given or not concerned:
        return
    names = several(concerned)
    yield from see.where(
        "warning",
        "job.horizon",
        functools.reduce(np.logical_or, cells.values()),
        lambda horizon, factor: (
            f"a failure by {names} may never be noticed, and then lasts until timelines are cut, at {factor:,.0f} x"
            f" the work ({duration_text(horizon)}): the ETTR follows from that cut; give job.horizon"
        ),
        params.horizon_s,
        np.divide(params.horizon_s, params.work_s),
    )


def _unnoticed_s(params: Params, cause: Cause) -> Number:
    """Return the mean time that the job stands still by a fault; it goes on with a slow node or corrupted work."""
    if cause.kind == "slow":
        return np.float64(0.0)
    return np.add(mean(cause.diagnosis), 0.0 if cause.kind == "silent" else latency_s(params, cause))


def _mostly_saving(params: Params, core: Params | None, see: Cells) -> Iterator[Problem]:
    save = params.checkpoint
    blocked, _ = renewal.blocked_and_lag_s(save.stall_s, save.write_time_s, save.slowdown)
    now = best = at_best = np.float64(np.nan)
    if core is not None:
        best = analytic.best_interval_s(core)
        now, at_best = analytic.ettr(core), analytic.ettr(analytic.with_interval(core, best))

    def say(interval: float, blocked: float, now: float, best: float, at_best: float) -> str:
        text = (
            f"{duration_text(interval)} of work between saves of {duration_text(blocked)}:"
            f" {100.0 * blocked / (interval + blocked):.0f} % of the time goes into saves"
        )
        if at_best > _WORTH_SAYING * now:
            return f"{text}; the best interval is {_interval(best)} (ETTR {at_best:.2g} instead of {now:.2g})"
        return text + ("" if np.isnan(best) else ", and no interval is much better")

    yield from see.where(
        "warning",
        "checkpoint.interval",
        np.less(save.interval_s, blocked) & np.less(save.interval_s, params.work_s),
        say,
        save.interval_s,
        blocked,
        now,
        best,
        at_best,
    )


def _rarely_saving(core: Params, see: Cells) -> Iterator[Problem]:
    interval = np.minimum(core.checkpoint.interval_s, core.work_s)
    mttf, best = analytic.mttf_s(core), analytic.best_interval_s(core)
    now = analytic.ettr_long_run(core)
    at_best = np.where(np.greater(best, 0.0), analytic.ettr_long_run(analytic.with_interval(core, best)), 0.0)

    def say(saves: float, x: float, m: float, now: float, best: float, at_best: float) -> str:
        better = f"; {at_best:.3g} at {duration_text(best)}" if at_best > _WORTH_SAYING * now else ""
        if not saves:
            return (
                "no checkpoints: every failure restarts the whole job, with one failure per"
                f" {duration_text(m)} (ETTR {now:.3g}{better})"
            )
        return (
            f"{duration_text(x)} of work between saves is longer than the mean time to failure, {duration_text(m)}:"
            f" mostly redoing work (ETTR {now:.3g}{better})"
        )

    saves = np.less(core.checkpoint.interval_s, core.work_s) * 1.0
    yield from see.where(
        "warning", "checkpoint.interval", interval > mttf, say, saves, interval, mttf, now, best, at_best
    )


def _unfinished(core: Params, see: Cells) -> Iterator[Problem]:
    needed_s = np.divide(core.work_s, analytic.ettr(core))
    given = core.horizon_given

    def say(needed: float, horizon: float, factor: float) -> str:
        time = duration_text(needed) if needed < _ENDLESS_S else "practically endless time"
        end = duration_text(horizon)
        limit = (
            f"beyond the horizon of {end}" if given else f"and timelines are cut at {factor:,.0f} x the work ({end})"
        )
        return f"the work needs {time} on average, {limit}: most timelines will not finish"

    yield from see.where(
        "warning",
        "job.horizon" if given else "job.work",
        np.isfinite(core.work_s) & (needed_s > core.horizon_s),
        say,
        needed_s,
        core.horizon_s,
        np.divide(core.horizon_s, core.work_s),
    )


def _interval(seconds: float) -> str:
    return "no checkpoint at all" if np.isinf(seconds) else duration_text(seconds)
