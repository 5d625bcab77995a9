"""The optional sections of saves and failures: every name of the public face is read and compiled to its number."""

from __future__ import annotations

import math

import pytest

from mcettr.errors import ScenarioError
from mcettr.model.counts import ALL, Counts, exactly, mean_count
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Profile,
    Repeat,
    Retention,
)
from mcettr.scenario import compile_grid, load
from tests.scenario_sections import BASE, DAY_S, HOUR_S, cause, params, tree


def test_what_is_left_out_is_off() -> None:
    job = params()
    assert (job.saved_before_s, job.rate_shape, job.n_nodes) == (0.0, math.inf, 2048.0)
    assert (job.incidents, job.lemons, job.maintenance, job.check_every_s) == (None, None, None, None)
    save, recovery = job.checkpoint, job.recovery
    assert (save.verify_s, save.write_time, save.local, save.retention) == (0.0, None, None, None)
    assert (recovery.startup_if_replaced, recovery.start_failure, recovery.spares) == ((), None, None)
    assert (recovery.replica_groups, recovery.max_attempt_s, recovery.data_fast_forward) == (None, None, 0.0)
    plain = Cause("node", 2048 * 6.5e-3 / DAY_S, exposure="node")
    assert job.causes == (plain, Cause("software", 0.2 / DAY_S, exposure="job"))


def test_saved_work_is_not_done_again() -> None:
    job = params(job__saved="12 d")
    assert (job.work_s, job.saved_before_s, job.resumes) == (18 * DAY_S, 12 * DAY_S, 1.0)
    assert params(job__saved="16384 gpu-hours").saved_before_s == HOUR_S


def test_saves_verified_retained_and_local() -> None:
    save = params(
        "checkpoint: {verify: 30 s, bad_probability: 0.01, keep: 3, permanent_every: 50, local: {interval: 5 min,"
        " stall: 1 s, write_time: 10 s, restore: 30 s, survives_node_losses: 1}}"
    ).checkpoint
    assert save.verify_s == 30.0
    assert save.retention == Retention(0.01, 3.0, 50.0)
    assert save.local == LocalTier(6.0, 10.0, 1.0, fixed(30.0), 1.0)
    assert params(checkpoint__keep=3).checkpoint.retention == Retention(0.0, 3.0)
    short = params("checkpoint: {interval: 0.9 s, local: {interval: 0.3 s, write_time: 0.1 s}}").checkpoint.local
    assert short == LocalTier(3.0, 0.1, 0.1)


def test_a_random_write_has_its_mean_stall() -> None:
    law = {"exponential": {"mean": "60 s"}}
    full = params(checkpoint__write_time=law).checkpoint
    assert full.write_time == Distribution("exponential", (60.0,))
    assert (full.write_time_s, full.stall_s, full.blocking) == (60.0, 60.0, True)
    share = params(checkpoint__write_time=law, checkpoint__stall="10 %").checkpoint
    assert (share.stall_s, share.stall_share, share.stall_fixed_s, share.blocking) == (6.0, 0.1, 0.0, False)
    cut = params(checkpoint__write_time=law, checkpoint__stall="30 s").checkpoint
    assert (cut.stall_share, cut.stall_fixed_s) == (0.0, 30.0)
    assert cut.stall_s == pytest.approx(60 * (1 - math.exp(-0.5)), rel=1e-4)
    mixed = {"mixture": [[0.5, {"gamma": {"mean": "60 s", "cv": 1}}], [0.5, "10 s"]]}
    scenario = load(tree(BASE)).replace({"checkpoint.write_time": mixed, "checkpoint.stall": "30 s"})
    stalls = compile_grid(scenario, {"checkpoint.stall": ["30 s", "20 s"], "job.gpus": [8, 16]}).params
    expected = [0.5 * 60 * (1 - math.exp(-at / 60)) + 5 for at in (30, 20)]
    assert stalls.checkpoint.stall_s[:, 1] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("4", exactly(4.0)),
        ("all", exactly(ALL)),
        ("{values: {0: 0.5, 1: 0.5}}", Counts((0.0, 1.0), (0.5, 1.0))),
        ("{values: {16: 25 %, all: 5 %, 1: 70 %}}", Counts((1.0, 16.0, ALL), (0.7, 0.95, 1.0))),
        ("{binomial: {n: 2, p: 0.5}}", Counts((0.0, 1.0, 2.0), (0.25, 0.75, 1.0))),
        ("{binomial: {n: 0, p: 0.5}}", Counts((0.0,), (1.0,))),
    ],
)
def test_laws_of_nodes_lost(text: str, law: Counts) -> None:
    job = params(
        f"failures: {{rack: {{rate: 1 / job-day, nodes_lost: {text}, over_eviction: {text}}}}}",
        recovery__spares={"count": 4, "repair": "1 d"},
    )
    rack = job.causes[-1]
    for made in (rack.nodes_lost, rack.over_evicted):
        assert made is not None
        assert made.values == law.values
        assert made.cumulative == pytest.approx(law.cumulative)


def test_all_nodes_of_a_domain_are_those_of_the_domain() -> None:
    text = "failures: {rack: {rate: 1 / 10 domain-days, nodes_per_domain: 16, nodes_lost: all}}"
    assert params(text, recovery__spares={"count": 4, "repair": "1 d"}).causes[-1].nodes_lost == exactly(16.0)


def test_a_binomial_of_many_leaves_out_what_never_happens() -> None:
    job = params(
        "failures: {rack: {rate: 1 / job-day, nodes_lost: {binomial: {n: 256, p: 0.8}}}}",
        recovery__spares={"count": 4, "repair": "1 d"},
    )
    law = job.causes[-1].nodes_lost
    assert law is not None
    assert len(law.values) < 120
    assert mean_count(law) == pytest.approx(204.8, abs=1e-6)


def test_nodes_are_only_counted_where_it_matters() -> None:
    made = {"node": exactly(1.0), "software": None}
    for change in (
        "recovery: {spares: {count: 3, repair: 1 d}}",
        "recovery: {replica_groups: {count: 8}}",
        "recovery: {startup: {image: {time: 450 s, when: replaced}}}",
        "checkpoint: {local: {interval: 5 min, write_time: 10 s}}",
        "lemons: {cause: node, fraction: 0.01, multiplier: 30}",
    ):
        assert {one.name: one.nodes_lost for one in params(change).causes} == made, change
    # no mechanism looks: the engines' plain path, and a warning
    scenario = load(tree(BASE)).replace({"failures.node.nodes_lost": 3})
    grid = compile_grid(scenario, {})
    assert grid.params.causes[0].nodes_lost is None
    assert grid.warnings[0].startswith("failures.node.nodes_lost: has no effect")


def test_exposure_follows_the_unit() -> None:
    domain = cause("{rate: 0.05 / 1000 domain-days, nodes_per_domain: 16}")
    assert (domain.exposure, domain.rate_per_s) == ("domain", pytest.approx(128 * 5e-5 / DAY_S))
    assert cause("{rate: 1 / gpu-day}").exposure == "gpu"
    assert cause("{mtbf: 1 h}").exposure == "job"
    assert cause("{every: 1 h}").exposure == "job"
    assert cause("{count: 3, exposure: 100 node-days}").exposure == "node"


def test_kinds_and_their_fields() -> None:
    assert cause("{kind: silent, rate: 1 / job-day, detection: {exponential: {mean: 4 h}}}").kind == "silent"
    slow = cause("{kind: slow, slowdown: 0.25, rate: 0.3 / job-day, detection: 6 h}")
    assert (slow.kind, slow.slowdown, slow.detection) == ("slow", 0.25, fixed(6 * HOUR_S))
    evicted = cause("{kind: preemption, rate: 0.2 / job-day, notice: 2 min, min_lease: 2 h}")
    assert (evicted.kind, evicted.notice_s, evicted.min_lease_s) == ("preemption", 120.0, 7200.0)
    assert cause("{kind: preemption, rate: 1 / job-day}").min_lease_s is None


def test_uncertain_rates() -> None:
    assert cause("{rate: 1 / job-day, uncertainty: {cv: 0.5}}").rate_shape == 4.0
    assert cause("{rate: 1 / job-day, uncertainty: {cv: 0}}").rate_shape == math.inf
    assert params(uncertainty={"cv": 0.2}).rate_shape == pytest.approx(25.0)
    assert cause("{count: 3, exposure: 1 node-day}").rate_shape == 3.5


def test_profiles_repeats_and_incidents() -> None:
    expected = Profile((0.0, 14 * DAY_S), (3.0, 1.0))
    assert cause("{rate: 1 / job-day, profile: [[0 d, 3], [14 d, 1]]}").profile == expected
    assert cause("{rate: 1 / job-day, profile: {0 d: 3, 14 d: 1}}").profile == expected
    assert cause("{rate: 1 / job-day, repeat: {probability: 0.25, mean_time: 2 h}}").repeat == Repeat(0.25, 7200.0)
    incidents = "{rate: 1 / 10 days, mean_duration: 1 d, multiplier: 8}"
    job = params(f"{{incidents: {incidents}, failures: {{drill: {{every: 1 d}}}}}}")
    assert job.incidents == Incidents(pytest.approx(1 / (10 * DAY_S)), DAY_S, 8.0)
    assert [one.in_incidents for one in job.causes] == [True, True, False]
    job = params(f"incidents: {incidents[:-1]}, causes: [node]}}")
    assert [one.in_incidents for one in job.causes] == [True, False]


def test_lemons_are_screened() -> None:
    job = params(
        "lemons: {cause: node, fraction: 0.012, multiplier: 30, eviction_probability: 0.3, screening_sensitivity: 0.8}",
        health_checks__preflight={"catch_probability": {"lemon": 0.8}},
    )
    share = 0.012 * 0.2 / (1 - 0.012 * 0.8)
    assert job.lemons == Lemons(pytest.approx(share), 30.0, 0.3, 0.8, 0.012)
    assert [one.by_lemons for one in job.causes] == [True, False]
    bare = params("lemons: {cause: node, fraction: 0.012, multiplier: 30}").lemons
    assert bare == Lemons(pytest.approx(0.012), 30.0, 1.0, fraction_at_start=0.012)
    every = params("lemons: {cause: node, fraction: 1, multiplier: 2, screening_sensitivity: 1}").lemons
    assert every is not None
    assert every.fraction == 1.0


def test_lemons_at_the_submission_are_screened_if_asked() -> None:
    lemons = "lemons: {cause: node, fraction: 0.5, multiplier: 30, screening_sensitivity: 1, screening_at_start: true}"
    asked = params(lemons).lemons
    assert asked is not None
    assert (asked.fraction, asked.at_start) == (0.0, 0.0)


def test_requeue() -> None:
    spares = {"count": 4, "repair": "1 d"}
    made = [params(recovery={"spares": spares} | more).recovery.spares for more in ({}, {"requeue": "always"})]
    assert [one is not None and one.requeues for one in made] == [False, True]
    with pytest.raises(ScenarioError, match="expected one of when_needed, always, found 'often'"):
        params(recovery={"spares": spares, "requeue": "often"})
