"""A pilot: as many timelines as a fraction of a second allows, by the reference engine, to measure what a run will do.

Where not even a few whole timelines fit, it simulates the first part of the job, and says until when.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcettr.engine.draws import Draws
from mcettr.engine.rates import rate_factors
from mcettr.engine.timeline.ready import ready
from mcettr.engine.timeline.strides import StridingLife
from mcettr.kernels.streams import RATE_GROUP
from mcettr.model.budget import ACTIVITIES, Outcome
from mcettr.model.measures import DOWN, Measured, Measures, proportion, ratio
from mcettr.model.params import Params

MAX_STEPS, MAX_TIMELINES = 6_000, 64
"""Steps of all timelines together (some 20 microseconds each), and timelines at most."""
_LEAST_TIMELINES = 4
_PART = 0.25
"""Share of what one timeline reaches in a fair share of the steps that all of them get to, where they are too long."""
_TRIES = 4


def pilot(params: Params, seed: int = 0, max_steps: int = MAX_STEPS, first_timeline: int = 0) -> Measures:
    """Return what a few timelines show of one job.

    Parameters
    ----------
    params : Params
        One job without errors; its numbers are floats or arrays of one element.
    seed : int
        From 0 to 2^64 - 1.
    max_steps : int
        Bound on the steps; some more are taken where timelines differ much.
    first_timeline : int
        Number of the first timeline; with uncertain rates each takes a group of its own, for rates of its own.

    Examples
    --------
    >>> from mcettr.model.params import Cause, Checkpoint
    >>> job = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0), (Cause("node", 1e-4),))
    >>> found = pilot(job)
    >>> int(found.n_timelines[0]), found.until_s, round(float(found.ettr.value[0]), 2)
    (64, None, 0.94)
    """
    job, until_s = ready(params), None
    shapes = [params.rate_shape, *(cause.rate_shape for cause in params.causes)]
    stride = RATE_GROUP if any(np.all(np.isfinite(shape)) for shape in shapes) else 1
    for attempt in range(_TRIES):
        lives = _lives(job, params, seed, (first_timeline, stride), max_steps)
        stopped = [life.now_s for life in lives if life.n_steps > life.max_attempts]
        if not stopped or attempt == _TRIES - 1:
            break
        until_s = max(_PART * min(stopped), 1e-9)
        job = replace(job, horizon_s=until_s)
    return _measures(lives, until_s)


class _Lived(StridingLife):
    """A timeline with what is needed of its beginning and its end."""

    factors: list[float]
    outcome: Outcome


def _lives(job: Params, params: Params, seed: int, numbers: tuple[int, int], max_steps: int) -> list[_Lived]:
    """Return timelines until the steps are spent, fewer than `_LEAST_TIMELINES` if one takes too many."""
    lives: list[_Lived] = []
    first, stride = numbers
    used = 0
    while len(lives) < MAX_TIMELINES and (used < max_steps or len(lives) < _LEAST_TIMELINES):
        number = first + len(lives) * stride
        factors = rate_factors(params, seed, number, 1)[0].tolist()
        life = _Lived(job, Draws(seed, number), factors, max_steps // _LEAST_TIMELINES)
        life.factors, life.outcome = factors, life.run()
        lives.append(life)
        used += life.n_steps
        if life.n_steps > life.max_attempts:
            break
    return lives


def _measures(lives: list[_Lived], until_s: float | None) -> Measures:
    job = lives[0].job
    elapsed_s = np.array([life.now_s for life in lives])
    lost_s = np.array([[list(row.values()) for row in life.books.lost_s] for life in lives])
    productive_s = np.array([life.saves.newest_s for life in lives])
    activity_s = lost_s.sum(axis=1)
    activity_s[:, 0] = productive_s
    struck = np.array([life.books.interruptions for life in lives], np.float64).reshape(len(lives), len(job.causes))
    at_risk_s = elapsed_s - activity_s[:, [ACTIVITIES.index(name) for name in DOWN]].sum(axis=1)
    rates = np.array([[c.rate_per_s for c in job.causes]]) * np.array([life.factors for life in lives])
    ends = [sum(life.outcome == end for life in lives) for end in (Outcome.DONE, Outcome.CAPPED)]
    with_silent = lives[0].silent is not None

    def over(numerator: list[int], denominator: list[int]) -> Measured:
        return _one(ratio(np.array(numerator, np.float64), np.array(denominator, np.float64)))

    return Measures(
        n_timelines=np.array([len(lives)]),
        until_s=until_s,
        ettr=_one(ratio(productive_s, elapsed_s)),
        time_fraction=_one(ratio(activity_s, elapsed_s[:, None])),
        lost=(lost_s.sum(axis=0) / elapsed_s.sum())[None],
        rate_factor=_one(ratio(struck, at_risk_s[:, None] * rates)),
        failures=_one(ratio(struck.sum(axis=1), np.ones(len(lives)))),
        restarts=_one(ratio([life.attempt for life in lives], np.ones(len(lives)))),
        elapsed_s=_one(ratio(elapsed_s, np.ones(len(lives)))),
        finished=_one(proportion(ends[0], len(lives))),
        capped=_one(proportion(ends[1], len(lives))),
        no_spare=over([life.nodes.n_exhausted for life in lives], [life.nodes.n_swaps for life in lives])
        if job.recovery.spares is not None
        else None,
        no_clean=over([life.n_unclean for life in lives], [life.n_found for life in lives]) if with_silent else None,
        kept_corrupt=_one(proportion(sum(life.ends_corrupt for life in lives), len(lives))) if with_silent else None,
    )


def _one(measured: Measured) -> Measured:
    """Return what was measured of one job as of an array of one cell."""
    return Measured(*(np.asarray(part)[None] for part in measured))
