"""Warnings: what a sound job should be told before it runs, each with its consequence in numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from mcettr.model import analytic, renewal
from mcettr.model.core import several
from mcettr.model.distributions import Number, mean
from mcettr.model.favourable import favourable, tells_figures
from mcettr.model.nearest import latency_s
from mcettr.model.params import Cause, Params
from mcettr.model.physics_cautions import physics_warnings
from mcettr.model.problems import Cells, Problem, duration_text
from mcettr.model.rate_cautions import rate_warnings

_YEAR_S = 365.25 * 86400.0
_ENDLESS_S = 1e5 * _YEAR_S
_WORTH_SAYING = 1.01
"""A better interval is named where it raises the ETTR by more than this factor."""


def warnings(params: Params, see: Cells) -> Iterator[Problem]:
    """Yield the warnings of a job without errors."""
    yield from _stretched(params, see)
    yield from rate_warnings(params, see)
    yield from _never_noticed(params, see)
    yield from physics_warnings(params, see)
    core, least = analytic.at_mean_rates(params), favourable(params)
    # The nearest core job has no local tier, so its figures would be far too bad.
    one_tier = params.checkpoint.local is None
    figures = one_tier and analytic.core_model_reason(core) is None and tells_figures(params)
    yield from _mostly_saving(params, core if figures else None, see)
    if one_tier and analytic.core_model_reason(least) is None:
        yield from _rarely_saving(least, core if figures else None, see)
        yield from _unfinished(least, analytic.core_model_reason(params) is None, see)


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


def _rarely_saving(least: Params, core: Params | None, see: Cells) -> Iterator[Problem]:
    """Warn of saves rarer than the failures that roll the job back; figures from `core`, where it is near enough."""
    interval = np.minimum(least.checkpoint.interval_s, least.work_s)
    mttf = analytic.mttf_s(least)
    now: Number = np.float64(np.nan)
    best: Number = now
    at_best: Number = now
    if core is not None:
        best, now = analytic.best_interval_s(core), analytic.ettr_long_run(core)
        at_best = np.where(np.greater(best, 0.0), analytic.ettr_long_run(analytic.with_interval(core, best)), 0.0)

    def say(saves: float, x: float, m: float, now: float, best: float, at_best: float) -> str:
        better = f"; {at_best:.3g} at {duration_text(best)}" if at_best > _WORTH_SAYING * now else ""
        figures = "" if np.isnan(now) else f" (ETTR {now:.3g}{better})"
        if not saves:
            return (
                "no checkpoints: every failure restarts the whole job, with one failure per"
                f" {duration_text(m)}{figures}"
            )
        return (
            f"{duration_text(x)} of work between saves is longer than the mean time to failure, {duration_text(m)}:"
            f" mostly redoing work{figures}"
        )

    saves = np.less(least.checkpoint.interval_s, least.work_s) * 1.0
    yield from see.where(
        "warning", "checkpoint.interval", interval > mttf, say, saves, interval, mttf, now, best, at_best
    )


def _unfinished(least: Params, exact: bool, see: Cells) -> Iterator[Problem]:
    needed_s = np.divide(least.work_s, analytic.ettr(least))
    given = least.horizon_given

    def say(needed: float, horizon: float, factor: float) -> str:
        time = duration_text(needed) if needed < _ENDLESS_S else "practically endless time"
        end = duration_text(horizon)
        limit = (
            f"beyond the horizon of {end}" if given else f"and timelines are cut at {factor:,.0f} x the work ({end})"
        )
        about = "" if exact or needed >= _ENDLESS_S else "at least "
        return f"the work needs {about}{time} on average, {limit}: most timelines will not finish"

    yield from see.where(
        "warning",
        "job.horizon" if given else "job.work",
        np.isfinite(least.work_s) & (needed_s > least.horizon_s),
        say,
        needed_s,
        least.horizon_s,
        np.divide(least.horizon_s, least.work_s),
    )


def _interval(seconds: float) -> str:
    return "no checkpoint at all" if np.isinf(seconds) else duration_text(seconds)
