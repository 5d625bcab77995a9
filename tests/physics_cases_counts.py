"""Numbers of failures that have an exact mean and variance."""

from __future__ import annotations

from mcettr.engine.reference import Timelines
from mcettr.model.counts import Counts
from mcettr.model.params import Cause, Params
from mcettr.model.physics import Incidents, Lemons, Profile, Repeat
from tests.exact_counts import (
    in_incidents,
    under_gamma,
    with_lemons_evicted,
    with_lemons_kept,
    with_profile,
    with_repeats,
)
from tests.physics_cases import INF, Case, Floats, failures, moments, open_job, restarting

RATE, T = 1e-4, 2e5


def counted(
    incidents: Incidents | None = None,
    lemons: Lemons | None = None,
    repeat: Repeat | None = None,
    profile: Profile | None = None,
    evicted: float = 0.0,
    shape: float = INF,
) -> Params:
    """Return a job whose structure has all that correlates failures, off by its numbers where it is not given."""
    cause = Cause(
        "node",
        RATE,
        rate_shape=shape,
        nodes_lost=Counts((0.0, 1.0), (1.0 - evicted, 1.0)),
        profile=profile or Profile((0.0, T / 4), (1.0, 1.0)),
        repeat=repeat or Repeat(0.0, 1e3),
        in_incidents=True,
        by_lemons=True,
    )
    return open_job(
        cause,
        horizon_s=T,
        recovery=restarting(100.0, 50.0),
        incidents=incidents or Incidents(1e-5, 1e4, 1.0),
        lemons=lemons or Lemons(0.0, 1.0),
    )


def count_cases() -> dict[str, list[Case]]:
    """Return the cases of the numbers of failures."""
    poisson = (RATE * T, RATE * T)
    quiet = (2e-5, 2.5e4, 5.0)
    kept, evicted = (50, 0.05, 20.0), (50, 0.05, 20.0, 0.3)
    young = ((0.0, T / 4), (3.0, 1.0))
    in_bad_times = in_incidents(RATE, *quiet, T)
    lemons, leaving = with_lemons_kept(RATE, *kept, T), with_lemons_evicted(RATE, *evicted, T)
    repeats = with_repeats(RATE, 0.4, 5e3, T)
    return {
        "incidents": moments(counted(Incidents(*quiet)), in_bad_times, (poisson[0], in_bad_times[0]), (0.03, 0.12)),
        "lemons kept": moments(counted(lemons=Lemons(*kept[1:], 0.0)), lemons, (poisson[0], lemons[0]), (0.04, 0.15)),
        "lemons evicted": moments(
            counted(lemons=Lemons(*evicted[1:]), evicted=1.0), leaving, (lemons[0], leaving[0]), (0.03, 0.15)
        ),
        "repeats": moments(counted(repeat=Repeat(0.4, 5e3)), repeats, (poisson[0], repeats[0]), (0.025, 0.14)),
        "profile": moments(
            counted(profile=Profile(*young)), with_profile(RATE, *young, T), (poisson[0], 2 * poisson[0]), (0.02, 0.14)
        ),
    }


def gamma_case() -> list[Case]:
    """Return the cases of a rate that groups of 16 timelines share: means by group."""
    mean, one = under_gamma(RATE, 25.0, T)
    within = mean / 16.0 + (one - mean)
    params = counted(shape=25.0)

    def groups(lives: Timelines) -> Floats:
        return failures(lives).reshape(-1, 16).mean(axis=1)

    return [
        Case(params, groups, mean, 1.1 * mean, 0.06 * mean, n=131_072),
        Case(params, lambda lives: (groups(lives) - mean) ** 2, within, one / 16.0, 0.35 * within, n=131_072),
    ]
