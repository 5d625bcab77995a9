"""Jobs with saves of two tiers, bad saves and silent corruption that have an exact value."""

from __future__ import annotations

from dataclasses import replace

from mcettr.model.counts import exactly
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params
from mcettr.model.physics import LocalTier, Retention
from tests.exact_saves import (
    bad_saves_ettr,
    silent_latency_ettr,
    silent_verified_completion_s,
    two_tier_ettr,
    two_tier_main_s,
)
from tests.physics_cases import INF, Case, elapsed, productive, restarting


def tiers(restores_s: tuple[float, float]) -> Case:
    """Return the case of a job whose restores from the local and the main tier take so long."""
    causes = (
        Cause("crash", 4e-4, diagnosis=fixed(50.0), nodes_lost=exactly(0.0)),
        Cause("node", 1e-4, diagnosis=fixed(300.0), nodes_lost=exactly(1.0)),
    )
    plan = Checkpoint(2400.0, 100.0, 100.0, local=LocalTier(4.0, 20.0, 20.0, fixed(restores_s[0]), holds_main=0.0))
    params = Params(8.0, INF, 2e6, plan, causes, restarting(0.0, restores_s[1]), resumes=1.0, n_nodes=50.0)
    args = (4e-4, 1e-4, 600.0, 4, (20.0, 100.0), (50.0, 300.0), restores_s)
    exact = 2400.0 / two_tier_main_s(*args)
    wrong = 2400.0 / two_tier_main_s(5e-4, 0.0, *args[2:])
    return Case(params, productive, exact, wrong, 0.004, 0.001, elapsed, 2048)


def published() -> Case:
    """Return the case of V1.15."""
    numbers = (0.85 / 10_800, 0.15 / 10_800, 547.8, 12, 12.0, 300.0, 60.0, 480.0)
    plan = Checkpoint(12 * 547.8, 300.0, 300.0, local=LocalTier(12.0, 12.0, 12.0, holds_main=0.0))
    causes = tuple(
        Cause("crash", rate, diagnosis=fixed(down_s), nodes_lost=exactly(n))
        for n, rate, down_s in zip((0.0, 1.0), numbers[:2], numbers[6:], strict=True)
    )
    params = Params(8.0, INF, 8e6, plan, causes, restarting(0.0, 0.0), resumes=1.0, n_nodes=50.0)
    return Case(params, productive, two_tier_ettr(*numbers), 0.749, 0.004, 0.001, elapsed, 2048)


def unreliable(rate: float, bad: float, sdc: Cause, interval_s: float, write_s: float, *restart_s: float) -> Params:
    """Return a job with crashes, bad saves and silent corruption."""
    plan = Checkpoint(interval_s, write_s, write_s, retention=Retention(bad))
    crash = Cause("crash", rate, diagnosis=fixed(50.0))
    return Params(8.0, INF, 4e6, plan, (crash, sdc), restarting(*restart_s), resumes=1.0)


def save_cases() -> dict[str, list[Case]]:
    """Return the cases of two tiers, of bad saves and of silent corruption."""
    rate, later = 1 / 120_000, Distribution("exponential", (2000.0,))
    sdc = Cause("sdc", rate, "silent", detection=fixed(INF), diagnosis=fixed(50.0))
    checked = Checkpoint(6570.0, 300.0, 300.0, verify_s=60.0)
    verified = Params(8.0, 20 * 6570.0, 1e12, checked, (sdc,), restarting(150.0, 100.0))
    exact, wrong = (silent_verified_completion_s(r, 20, 6570.0, 60.0, 300.0, 200.0, 100.0) for r in (rate, 0.5 * rate))
    late, none = (replace(sdc, rate_per_s=r, detection=later) for r in (2e-4, 0.0))
    found = unreliable(0.0, 0.0, late, 1000.0, 50.0, 30.0, 20.0)
    latencies = [silent_latency_ettr(2e-4, 1000.0, 50.0, latency, 100.0) for latency in (2000.0, 1800.0)]
    unreadable = unreliable(1e-4, 0.3, none, 1800.0, 60.0, 200.0, 300.0)
    shares = [bad_saves_ettr(1e-4, 1800.0, 60.0, p, 200.0, 300.0, 50.0) for p in (0.3, 0.2)]
    return {
        "two tiers": [tiers((0.0, 0.0)), tiers((40.0, 150.0)), published()],
        "bad saves": [Case(unreadable, productive, shares[0], shares[1], 0.004, 0.001, elapsed, 2048)],
        "verification": [Case(verified, elapsed, exact, wrong, 0.005 * exact)],
        "latency": [Case(found, productive, latencies[0], latencies[1], 0.003, 0.002, elapsed, 2048)],
    }
