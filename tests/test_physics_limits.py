"""Where a mechanism's numbers make it do nothing, the fast engine gives the timelines of the job without it.

The plain loop computes in float32 (see `tests.test_cross_engine`); two jobs of the event loop agree to roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mcettr.engine.cells import cells_of
from mcettr.engine.reference import Timelines, simulate_timelines
from mcettr.kernels.events.features import features_of
from mcettr.model.budget import ACTIVITIES
from mcettr.model.counts import exactly
from mcettr.model.distributions import Distribution
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.model.physics import Maintenance, Profile, Repeat, Spares
from tests import test_cross_engine, test_cross_physics
from tests.lanes import jax_timelines
from tests.physics_cases_mechanisms import DAY, INF, exponential, of_causes, of_recovery, of_saves, together
from tests.speed import often
from tests.test_cross_engine import SINGLE

N, SEED = 128, 5
ALONE = of_saves() | of_causes() | of_recovery()


def plain(params: Params) -> Params:
    """Return the job without any mechanism: all its causes crash it."""
    causes = tuple(Cause(c.name, c.rate_per_s, detection=c.detection, diagnosis=c.diagnosis) for c in params.causes)
    save, recovery = params.checkpoint, params.recovery
    bare = replace(
        params,
        checkpoint=Checkpoint(save.interval_s, save.write_time_s, save.stall_s, save.slowdown, save.blocking),
        causes=causes,
        recovery=Recovery(recovery.queue_wait, recovery.startup, recovery.restore),
        **dict.fromkeys(("incidents", "lemons", "maintenance", "check_every_s")),
    )
    assert features_of(cells_of(bare).params).none
    return bare


def run(params: Params) -> Timelines:
    return jax_timelines(params, SEED, 0, N)


def with_causes(params: Params, **changes: Any) -> Params:
    """Return the job with these fields of every cause that has them."""

    def changed(cause: Cause) -> Cause:
        return replace(cause, **{name: new for name, new in changes.items() if getattr(cause, name) is not None})

    return replace(params, causes=tuple(changed(cause) for cause in params.causes))


def with_spares(name: str, **recovery: Any) -> Params:
    """Return the job with spares that never run out."""
    params = ALONE[name]
    spares: Any = params.recovery.spares
    endless = replace(spares, count=INF, swap_s=0.0)
    return replace(params, recovery=replace(params.recovery, spares=endless, **recovery))


def part(params: Params, name: str, **numbers: Any) -> Params:
    """Return the job with other numbers in one of its records."""
    for owner in ("recovery", "checkpoint"):
        if (record := getattr(getattr(params, owner), name, None)) is not None:
            return replace(params, **{owner: replace(getattr(params, owner), **{name: replace(record, **numbers)})})
    return replace(params, **{name: replace(getattr(params, name), **numbers)})


def limits() -> dict[str, tuple[Params, Params]]:
    """Return jobs in which a mechanism does nothing, and does something."""
    crash, sdc = ALONE["silent"].causes
    silent = replace(ALONE["silent"], causes=(crash, replace(sdc, rate_per_s=0.0)))
    noticed = ALONE["preemption"]
    false_alarms = tuple(replace(cause, rate_per_s=0.0, notice_s=INF) for cause in noticed.causes[1:])
    never_slow = tuple(
        replace(cause, slowdown=0.0, detection=exponential(INF), rate_per_s=0.0) for cause in ALONE["slow"].causes[1:]
    )
    free = part(ALONE["local tier"], "local", stall_s=0.0, survives_node_losses=0.0)
    variants = {
        "spares": with_spares("spares"),
        "queue": with_spares("queue", queue_wait=exponential(0.0)),
        "shrink": with_spares("shrink"),
        "incidents": part(ALONE["incidents"], "incidents", multiplier=1.0),
        "lemons": part(ALONE["lemons"], "lemons", multiplier=1.0),
        "preflight": part(ALONE["preflight"], "lemons", multiplier=1.0),
        "replica groups": part(ALONE["replica groups"], "replica_groups", count=1.0),
        "repeats": with_causes(ALONE["repeats"], repeat=Repeat(0.0, 7200.0)),
        "preemption": with_causes(noticed, notice_s=0.0, min_lease_s=0.0),
        "preemption (false alarms that never come)": replace(noticed, causes=(noticed.causes[0], *false_alarms)),
        "profile": with_causes(ALONE["profile"], profile=Profile((0.0, DAY, 5 * DAY), (1.0, 1.0, 1.0))),
        "checks": with_causes(ALONE["checks"], caught_in_check=0.0),
        "bad saves": part(ALONE["bad saves"], "retention", bad_probability=0.0),
        "local tier": free,
        "silent": silent,
        "slow": replace(ALONE["slow"], causes=(crash, *never_slow)),
        "longest attempt": replace(
            ALONE["longest attempt"], recovery=replace(ALONE["longest attempt"].recovery, max_attempt_s=INF)
        ),
        "maintenance": replace(ALONE["maintenance"], maintenance=Maintenance(1e15, 3600.0, 3600.0)),
    }
    return {name: (variant, ALONE[name.split(" (")[0]]) for name, variant in variants.items()}


LIMITS = limits()


def same_as_plain(params: Params, lives: Timelines) -> None:
    bare = plain(params)
    test_cross_engine.compare(bare, run(bare), lives, SINGLE)


@pytest.mark.parametrize("name", often(LIMITS, "spares", "incidents", "local tier", "silent"))
def test_a_mechanism_that_does_nothing_gives_the_plain_timelines(name: str) -> None:
    variant, active = LIMITS[name]
    lives = run(variant)
    assert lives.interruptions.sum() > 50 * N
    same_as_plain(variant, lives)
    assert not lives.n_exhausted.any()
    assert not lives.lost_s[:, :, ACTIVITIES.index("spare_wait")].any()
    with pytest.raises(AssertionError, match=r"differ|off by"):
        same_as_plain(active, run(active))


def test_failed_starts_that_never_come() -> None:
    # Every crash here replaces a node, so that the further phase is always paid.
    params = part(ALONE["failed starts"], "start_failure", probability=0.0)
    recovery = replace(params.recovery, data_fast_forward=1e-30)
    bare = plain(params)
    phases = params.recovery.startup + params.recovery.startup_if_replaced
    bare = replace(bare, recovery=replace(bare.recovery, startup=phases))
    lives = run(replace(params, recovery=recovery))
    test_cross_engine.compare(bare, run(bare), lives, SINGLE)


@pytest.mark.parametrize("slowdown", [0.0, 1.0])
def test_slowdown_of_background_saves(slowdown: float) -> None:
    plan = Checkpoint(1800.0, 60.0, 20.0, slowdown, blocking=False)
    params = LIMITS["profile"][0]
    lives = run(replace(params, checkpoint=plan))
    same_as_plain(replace(params, checkpoint=plan), lives)
    if slowdown:
        same_as_plain(params, lives)
    saving = lives.lost_s[:, -3, ACTIVITIES.index("checkpoint")]
    assert (saving >= (60.0 if slowdown else 20.0) * lives.n_saves).all()


@pytest.mark.parametrize("bad", [0.0, 1.0])
def test_saves_that_are_all_bad_lead_back_to_the_start(bad: float) -> None:
    plan = replace(ALONE["bad saves"].checkpoint, write_time_s=0.0, stall_s=0.0)
    params = replace(ALONE["bad saves"], checkpoint=plan, work_s=2e4, horizon_s=1e9)
    params = part(params, "retention", bad_probability=bad, keep=INF, permanent_every=INF)
    params = replace(params, recovery=replace(params.recovery, restore=Distribution("fixed", (0.0,))))
    lives, bare = run(params), plain(params)
    bare = replace(bare, checkpoint=replace(bare.checkpoint, interval_s=INF if bad else plan.interval_s))
    one = replace(run(bare), n_saves=lives.n_saves)
    test_cross_engine.compare(bare, one, lives, SINGLE)
    assert lives.interruptions.sum() > N


def same_events(a: Params, b: Params, leave_out: tuple[str, ...] = ()) -> None:
    """Fail unless two jobs of the event loop have one history."""
    first, second = run(a), run(b)
    first = replace(first, **{name: getattr(second, name) for name in leave_out})
    test_cross_physics.compare(first, second)


def test_local_saves_survive_as_many_losses_as_there_are_nodes() -> None:
    params = part(ALONE["local tier"], "local", survives_node_losses=1536.0)
    none_lost = with_causes(params, nodes_lost=exactly(0.0))
    same_events(params, none_lost)
    with pytest.raises(AssertionError, match="differs"):
        same_events(ALONE["local tier"], none_lost)


def test_no_lease() -> None:
    leased = with_causes(ALONE["preemption"], min_lease_s=0.0)
    same_events(leased, with_causes(leased, min_lease_s=None))
    with pytest.raises(AssertionError, match="differs"):
        same_events(ALONE["preemption"], leased)


def test_slowed_down_to_nothing_is_blocked() -> None:
    by_law = ALONE["write times by a law"]
    halted, blocked = (
        replace(by_law, checkpoint=replace(by_law.checkpoint, **change))
        for change in ({"slowdown": 1.0}, {"stall_share": 1.0})
    )
    same_events(halted, blocked)
    with pytest.raises(AssertionError, match=r"differs|off"):
        same_events(by_law, blocked)


def quiet(params: Params) -> Params:
    """Return the job with the numbers of all mechanisms but the pool and the notice of preemptions off."""
    params = part(part(params, "incidents", multiplier=1.0), "lemons", multiplier=1.0, eviction_probability=1.0)
    params = with_causes(params, repeat=Repeat(0.0, 3600.0), min_lease_s=0.0)
    params = part(params, "spares", repair_failure=1e-30)
    return replace(
        params,
        maintenance=Maintenance(1e15, 3600.0, 3600.0),
        recovery=replace(params.recovery, max_attempt_s=INF),
    )


@pytest.mark.slow
def test_many_mechanisms_that_do_nothing() -> None:
    full = together()["a pool with a queue"]
    params = quiet(full)
    bare = with_causes(part(params, "spares", repair_failure=0.0), repeat=None, min_lease_s=None)
    causes = tuple(replace(cause, in_incidents=False, by_lemons=False) for cause in bare.causes)
    bare = replace(bare, causes=causes, incidents=None, lemons=None, maintenance=None)
    bare = replace(bare, recovery=replace(bare.recovery, max_attempt_s=None))
    same_events(params, bare)
    changes: list[Callable[[Params], Params]] = [
        lambda p: part(p, "incidents", multiplier=1.01),
        lambda p: part(p, "lemons", multiplier=1.5),
        lambda p: with_causes(p, repeat=Repeat(0.02, 3600.0)),
        lambda p: replace(p, maintenance=Maintenance(4 * DAY, 3600.0)),
    ]
    for change in changes:
        with pytest.raises(AssertionError, match=r"differs|off"):
            same_events(change(params), bare)


@pytest.mark.slow
def test_endless_spares_in_company() -> None:
    full = replace(together()["a pool with a queue"], maintenance=Maintenance(1e15, 3600.0, 3600.0))
    lives = run(part(full, "spares", count=INF))
    assert not lives.n_exhausted.any()
    assert (lives.n_swaps > 0).all()
    swap_s = lives.lost_s[:, :, ACTIVITIES.index("spare_wait")].sum(axis=1)
    np.testing.assert_allclose(swap_s, 120.0 * lives.n_swaps, rtol=1e-9)


def test_a_job_that_loses_all_its_nodes_books_finite_times() -> None:
    spares = Spares(0.0, 0.0, 0.0, 1.0, 86_400.0, min_nodes=1.0, when_exhausted="shrink")
    cause = Cause("all", 1e-5, nodes_lost=exactly(4.0))
    job = Params(8.0, 1e5, 1e6, Checkpoint(1e3, 10.0, 10.0), (cause,), Recovery(spares=spares), n_nodes=4.0)
    fast, exact = jax_timelines(job, 0, 0, 24), simulate_timelines(job, 0, 0, 24)
    assert np.isfinite(fast.lost_s).all()
    np.testing.assert_allclose(fast.lost_s, exact.lost_s, rtol=0, atol=1e-6 * exact.elapsed_s.max())
