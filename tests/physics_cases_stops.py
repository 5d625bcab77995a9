"""Stops and starts of jobs that have an exact value."""

from __future__ import annotations

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Checkpoint, Params
from mcettr.model.physics import Maintenance, StartFailure
from tests.exact_stops import (
    check_latency_s,
    degraded_s,
    maintained_ettr,
    maintenance_s,
    mean_start_s,
    preemption_counts,
    preemption_ettr,
)
from tests.physics_cases import INF, Case, elapsed, failures, moments, restarting, seconds

RATE = 1e-4


def stopping(
    work_s: float,
    horizon_s: float,
    restart_s: tuple[float, float, float],
    *,
    write_s: float = 0.0,
    resumes: float = 0.0,
    evictions: float = 0.0,
    failing: StartFailure | None = None,
    longest_s: float = INF,
    maintenance: Maintenance | None = None,
) -> Params:
    """Return a job whose structure has all stops and failed starts, off by its numbers where it is not given."""
    evicted = Cause("evicted", evictions, "preemption", notice_s=INF, min_lease_s=1800.0)
    failing = failing or StartFailure(0.0, INF, Distribution("exponential", (1.0,)))
    recovery = restarting(*restart_s, start_failure=failing, max_attempt_s=longest_s)
    plan, never = Checkpoint(INF, write_s, write_s), Maintenance(1e15, 1.0)
    return Params(8.0, work_s, horizon_s, plan, (evicted,), recovery, resumes, maintenance=maintenance or never)


def noticed(slow: float, hang: float, checks: tuple[float, float, float], work_s: float, horizon_s: float) -> Params:
    """Return a job with slow nodes and hangs; `checks` are their period, and the chances to see either."""
    latency = Distribution("exponential", (5e3,))
    causes = (
        Cause("slow", slow, "slow", slowdown=0.4, detection=latency, caught_in_check=checks[1]),
        Cause("hang", hang, "hang", detection=fixed(INF), caught_in_check=checks[2]),
    )
    plan = Checkpoint(1e3 if work_s < INF else INF, 0.0, 0.0)
    return Params(8.0, work_s, horizon_s, plan, causes, restarting(0.0, 0.0), check_every_s=checks[0])


def stop_cases() -> dict[str, list[Case]]:
    """Return the cases of preemptions, maintenance and failed starts."""
    leased = stopping(INF, 2e5, (300.0, 100.0, 240.0), write_s=60.0, resumes=1.0, evictions=1 / 3600)
    exact = preemption_counts(1 / 3600, 1800.0, 300.0, 2e5 - 240.0)
    without = preemption_counts(1 / 3600, 1800.0, 0.0, 2e5)[0], exact[0]
    shares = [preemption_ettr(1 / 3600, 1800.0, 400.0, 60.0, queue_s) for queue_s in (240.0, 300.0)]

    planned = stopping(INF, 9e5, (0.0, 0.0, 0.0), maintenance=Maintenance(2e5, 3e4))
    windows = Maintenance(1e5, 1e4, INF)
    announced = stopping(INF, 4e6, (300.0, 200.0, 0.0), write_s=60.0, resumes=1.0, maintenance=windows)
    kept, lost = (maintained_ettr(1e5, 1e4, 60.0, x) for x in (500.0, 800.0))

    failing = StartFailure(0.4, 2.0, Distribution("exponential", (300.0,)))
    starting = stopping(1e3, 1e9, (60.0, 0.0, 0.0), failing=failing)
    start_s, never_called_s = 1e3 + mean_start_s(60.0, 0.4, 2, 300.0), 1e3 + 100.0
    return {
        "preemption": [
            *moments(leased, exact, without, (0.01, 0.2)),
            Case(leased, lambda x: x.productive_s + seconds("rework")(x), shares[0], shares[1], 0.003, 0.004, elapsed),
        ],
        "maintenance": [
            Case(planned, seconds("maintenance"), maintenance_s(2e5, 3e4, 9e5), 3e4 * 4.5, 1200.0),
            Case(announced, lambda x: x.productive_s + seconds("rework")(x), kept, lost, 0.0005, 0.0005, elapsed),
        ],
        "failed starts": [Case(starting, elapsed, start_s, never_called_s, 30.0)],
    }


def check_cases() -> dict[str, list[Case]]:
    """Return the cases of slow nodes and health checks."""
    slow, slow_s = noticed(RATE, 0.0, (1e3, 0.0, 0.0), INF, 1e5), degraded_s(RATE, 0.4, 5e3, 1e5)
    seen = noticed(RATE, 0.0, (4e3, 0.5, 0.0), INF, 2e6)
    capped_s = check_latency_s(4e3, 0.5, 5e3)
    share, uncapped = (0.4 * x / (1 / RATE + x) for x in (capped_s, 5e3))
    hung = noticed(0.0, RATE, (600.0, 0.0, 0.25), 1e5, 1e12)
    found_s = check_latency_s(600.0, 0.25)
    return {
        "slow": [Case(slow, seconds("degraded"), slow_s, 0.4 / 3 * 1e5, 400.0)],
        "slow and checked": [Case(seen, seconds("degraded"), share, uncapped, 0.003, 0.001, elapsed, 2048)],
        "hang and checked": [Case(hung, seconds("detection"), found_s, 600.0, 100.0, bottom=failures)],
    }
