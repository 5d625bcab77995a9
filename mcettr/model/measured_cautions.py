"""Warnings that rest on a simulation: what takes much of the time, what never ends, what is not what the fields say.

A pilot, or the run itself, measures a job whatever its mechanisms are; each number is as precise as it is known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mcettr.model.budget import ACTIVITIES, HORIZON, PLANNED, START, cause_rows
from mcettr.model.events import most_attempts
from mcettr.model.measures import Measured, Measures, shown_factor, shown_share
from mcettr.model.params import Cause, Params
from mcettr.model.problems import Problem, duration_text


class _Loss(NamedTuple):
    """When the time that an activity takes is worth a warning, on what path, and what to say."""

    above: float
    path: str
    says: str
    advice: str


_LOSSES = {
    "rework": _Loss(1 / 3, "checkpoint.interval", "goes into computing lost work again",
                    "save more often: `mcettr optimize` finds the best interval; or lower the failure rate"),
    "checkpoint": _Loss(1 / 3, "checkpoint.interval", "goes into checkpoints",
                        "save less often: `mcettr optimize` finds the best interval; or shorten the write time"),
    "degraded": _Loss(0.25, "failures.{cause}", "is lost to running below full speed", "find slow nodes sooner"),
    "detection": _Loss(0.25, "failures.{cause}.detection", "passes before failures are noticed",
                       "give a time after which somebody looks, or a periodic check"),
    "diagnosis": _Loss(0.25, "recovery.diagnosis", "goes into diagnosis", "shorten it"),
    "spare_wait": _Loss(0.1, "recovery.spares.count", "passes waiting for healthy nodes",
                        "give more spares, or repair and swap faster"),
    "queue": _Loss(0.25, "recovery.queue_wait", "passes in the queue", "shorten it, or keep spares"),
    "startup": _Loss(0.25, "recovery.startup", "goes into starting", "shorten it"),
    "restore": _Loss(0.25, "recovery.restore", "goes into reading checkpoints back", "shorten it"),
    "maintenance": _Loss(0.25, "maintenance.duration", "goes into planned windows", "shorten or space them"),
}  # fmt: skip
_MODIFIERS: dict[str, tuple[str, str, Callable[[Params, Cause], bool]]] = {
    "lemons": ("lemons.multiplier", "healthy nodes", lambda job, cause: cause.by_lemons and job.lemons is not None),
    "incidents": ("incidents.multiplier", "quiet times",
                  lambda job, cause: cause.in_incidents and job.incidents is not None),
    "repeated failures": ("failures.{cause}.repeat.probability", "new faults",
                          lambda _, cause: cause.repeat is not None),
    "its profile": ("failures.{cause}.profile", "a multiplier of 1", lambda _, cause: cause.profile is not None),
}  # fmt: skip
"""What may make a cause strike more often than its rate says: path, what the rate is that of, when it is on."""
_WORTH_SAYING = 0.01
"""The share of corruptions, or of timelines, from which on it is worth a word."""
_OFF_RATE = 0.05
_NO_PROGRESS_RESTARTS = 20.0
"""Restarts after which a first part without any kept work is telling."""
_MOST = 0.5


def measured_warnings(params: Params, found: Measures) -> Iterator[Problem]:
    """Yield the warnings that what was measured calls for.

    Parameters
    ----------
    params : Params
        One job, or an array of them, as many as were measured.
    found : Measures
        What a pilot or a run measured.
    """
    see = _Seen(params, found)
    yield from _no_progress(see)
    yield from _too_many(see)
    yield from _unfinished(see)
    for activity, loss in _LOSSES.items():
        yield from _much_lost(see, activity, loss)
    yield from _corruption(see)
    for index, cause in enumerate(params.causes):
        yield from _off_rate(see, index, cause)


class _Seen:
    """A job and what was measured of it, cell by cell."""

    def __init__(self, params: Params, found: Measures) -> None:
        self.params, self.found = params, found
        self.shape = np.shape(params.checkpoint.interval_s)
        self.rows = cause_rows(tuple(cause.name for cause in params.causes))

    def flat(self, number: Any) -> Any:
        """Return a number of the job in each cell."""
        return np.broadcast_to(np.asarray(number, np.float64), self.shape).reshape(-1)

    def where(self, cell: int, *, by_pilot: bool = False) -> str:
        """Return what was simulated, in brackets."""
        found, until_s = self.found, self.found.until_s
        number = int(found.n_timelines[cell])
        if by_pilot and found.pilot_timelines is not None and found.pilot_until_s is not None:
            number, until_s = int(found.pilot_timelines[cell]), float(found.pilot_until_s[cell])
        part = f" in the first {duration_text(until_s)}" if until_s is not None and until_s < np.inf else ""
        return f"{part} ({number:,} timeline{'s' * (number > 1)} simulated)"

    def blamed(self, cell: int, activity: int) -> str:
        """Return the row on which most of an activity is booked."""
        return self.rows[int(np.argmax(self.found.lost[cell, :, activity]))]

    def path(self, row: str, activity: str) -> str:
        """Return the field behind a row of the table of lost time."""
        recovery = self.params.recovery
        if activity == "startup" and recovery.start_failure is not None:
            return "recovery.start_failure.probability"
        if row == PLANNED:
            return "maintenance.every" if self.params.maintenance is not None else "recovery.max_attempt"
        return {START: "recovery.startup", HORIZON: "job.horizon"}.get(row, f"failures.{row}")

    def problem(
        self, code: str, path: str, bad: Any, measured: Measured, say: Callable[[int, Measured], str]
    ) -> Iterator[Problem]:
        """Yield a problem if `bad` holds in any cell, with what was measured in the first such cell."""
        cells = np.asarray(bad, np.bool_).reshape(-1)
        if cells.any():
            cell = int(np.argmax(cells))
            here = measured.at(cell)
            yield Problem(
                "warning", path, say(cell, here), cells.reshape(self.shape) if self.shape else None, code, here
            )


def _no_progress(see: _Seen) -> Iterator[Problem]:
    found = see.found
    none = (found.ettr.value <= 0.0) & ((found.restarts.value >= _NO_PROGRESS_RESTARTS) | (found.until_s is None))
    if not none.any():
        return
    cell = int(np.argmax(none))
    row, activity = np.unravel_index(int(np.argmax(found.lost[cell])), found.lost[cell].shape)
    name = ACTIVITIES[int(activity)]
    yield from see.problem(
        "no-progress",
        see.path(see.rows[int(row)], name),
        none,
        found.ettr,
        lambda cell, _: (
            f"the job makes no progress: no work is kept{see.where(cell)}, and most of the time goes into"
            f" {name.replace('_', ' ')} ({see.rows[int(row)]})"
        ),
    )


def _too_many(see: _Seen) -> Iterator[Problem]:
    """Warn of more restarts than a run follows, at the pace of the part that was simulated."""
    found, params = see.found, see.params
    if found.until_s is None:
        return
    cap = most_attempts(params)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed_s = np.where(found.ettr.value > 0, see.flat(params.work_s) / found.ettr.value, np.inf)
        left_s = np.minimum(needed_s, see.flat(params.horizon_s))
        in_all = found.restarts.value * left_s / found.elapsed_s.value
    advice = "" if params.horizon_given else ", or give job.horizon"
    bad = in_all > cap
    row = see.rows[int(np.argmax(found.lost[int(np.argmax(bad))].sum(axis=1)))]
    activity = ACTIVITIES[int(np.argmax(found.lost[int(np.argmax(bad))].sum(axis=0)))]
    yield from see.problem(
        "too-many-restarts",
        see.path(row, activity),
        bad,
        found.restarts,
        lambda cell, restarts: (
            f"about {restarts.value:,.0f} restarts{see.where(cell)}: at this pace a timeline has about"
            f" {in_all[cell]:.2g} until its end, and a run stops it after {cap:,}; check it{advice}"
        ),
    )


def _unfinished(see: _Seen) -> Iterator[Problem]:
    found, params = see.found, see.params
    work_s, horizon_s = see.flat(params.work_s), see.flat(params.horizon_s)
    path = "job.horizon" if params.horizon_given else "job.work"
    if found.until_s is None:
        yield from see.problem(
            "unfinished",
            path,
            np.isfinite(work_s) & (found.finished.value < _MOST) & (found.capped.value < _MOST),
            found.finished,
            lambda cell, share: (
                f"{shown_share(share)} of the timelines finish the work before {_end(params, horizon_s[cell])}"
                f"{see.where(cell)}; give more time, or less work"
            ),
        )
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        needed_s = work_s / found.ettr.value
    yield from see.problem(
        "too-slow",
        path,
        np.isfinite(work_s) & (found.ettr.value > 0.0) & (needed_s > horizon_s),
        found.ettr,
        lambda cell, share: (
            f"{shown_share(share)} of the time is kept work{see.where(cell)}: at this pace the work takes"
            f" {duration_text(needed_s[cell])}, longer than {_end(params, horizon_s[cell])} allows"
        ),
    )


def _end(params: Params, horizon_s: float) -> str:
    return f"the {'horizon' if params.horizon_given else 'end of 1,000 x the work'} ({duration_text(horizon_s)})"


def _much_lost(see: _Seen, activity: str, loss: _Loss) -> Iterator[Problem]:
    found, share, index = see.found, see.found.share(activity), ACTIVITIES.index(activity)
    with np.errstate(invalid="ignore"):
        bad = (share.value > loss.above) & (share.low > 0.5 * loss.above)
    if not bad.any():
        return
    row = see.blamed(int(np.argmax(bad)), index)
    if activity == "rework" and any(cause.name == row and cause.kind == "silent" for cause in see.params.causes):
        loss = _late_finds(see.params, loss)
    causes = [cause.name for cause in see.params.causes]
    path = loss.path if "{cause}" not in loss.path or row in causes else see.path(row, activity)

    def say(cell: int, share: Measured) -> str:
        mostly = f", mostly for {row}" if len(causes) > 1 and row in causes else ""
        text = f"{shown_share(share)} of the time {loss.says}{mostly}{see.where(cell)}"
        if activity == "spare_wait" and found.no_spare is not None and found.no_spare.value[cell] > 0:
            text += f"; P(no spare when needed) is {shown_share(found.no_spare.at(cell))}"
        return f"{text}; {loss.advice}"

    code = f"much-{activity.replace('_', '-')}"
    yield from see.problem(code, path.format(cause=row), bad, share, say)


def _late_finds(params: Params, loss: _Loss) -> _Loss:
    """Return what to say of rework after corruption: what was computed from the strike on is lost, saved or not."""
    kept = params.checkpoint.retention
    more = ", or keep more checkpoints" if kept is not None and bool(np.any(np.isfinite(kept.keep))) else ""
    return loss._replace(path="failures.{cause}.detection", advice=f"find the corruption sooner{more}")


def _corruption(see: _Seen) -> Iterator[Problem]:
    found, where = see.found, functools.partial(see.where, by_pilot=True)
    silent = [cause.name for cause in see.params.causes if cause.kind == "silent"]
    path = f"failures.{silent[0]}.detection" if len(silent) == 1 else "failures"
    if found.no_clean is not None:
        kept = see.params.checkpoint.retention
        permanent = kept is not None and bool(np.any(np.isfinite(kept.permanent_every)))
        back = "the last permanent checkpoint" if permanent else "the start"
        with np.errstate(invalid="ignore"):
            bad = found.no_clean.value > _WORTH_SAYING
        yield from see.problem(
            "no-clean-checkpoint",
            "checkpoint.keep",
            bad,
            found.no_clean,
            lambda cell, share: (
                f"{shown_share(share)} of the corruptions found have no clean checkpoint among those kept"
                f"{where(cell)}, and send the job back to {back}; keep more, or find corruption sooner"
            ),
        )
    if found.kept_corrupt is not None and found.until_s is None:
        yield from see.problem(
            "kept-corrupt",
            path,
            found.kept_corrupt.value > _WORTH_SAYING,
            found.kept_corrupt,
            lambda cell, share: (
                f"{shown_share(share)} of the timelines end with corrupt work counted as kept{where(cell)}; give a"
                " shorter detection, checkpoint.verify or a periodic check that finds it"
            ),
        )


def _off_rate(see: _Seen, index: int, cause: Cause) -> Iterator[Problem]:
    """Say how often a cause strikes where other fields change what its rate says."""
    params, factor = see.params, Measured(*(part[:, index] for part in see.found.rate_factor))
    modifiers = [(name, *rest) for name, (*rest, is_on) in _MODIFIERS.items() if is_on(params, cause)]
    if not modifiers or cause.kind not in ("crash", "hang") or params.recovery.replica_groups is not None:
        return
    path = modifiers[0][1] if len(modifiers) == 1 else f"failures.{cause.name}.rate"
    with np.errstate(invalid="ignore"):
        off = np.abs(factor.value - 1.0) > _OFF_RATE
        bad = off & ((factor.low > 1.0) | (factor.high < 1.0))
    yield from see.problem(
        "rate-factor",
        path.format(cause=cause.name),
        bad,
        factor,
        lambda cell, factor: (
            f"{cause.name} strikes {shown_factor(factor)} as often as its rate says{see.where(cell)}, because of"
            f" {' and '.join(name for name, *_ in modifiers)}: the rate given is that of"
            f" {' and '.join(str(of) for _, _, of in modifiers)}"
        ),
    )
