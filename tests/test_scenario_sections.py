"""The optional sections: every name of the public face is read, compiled to its number, and swept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mcettr.errors import ScenarioError
from mcettr.model.counts import ALL, Counts, exactly, mean_count
from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import Cause, Params
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Maintenance,
    Profile,
    Repeat,
    ReplicaGroups,
    Retention,
    Spares,
    StartFailure,
)
from mcettr.scenario import compile_grid, compile_params, load
from mcettr.scenario.compile_job import job_params
from mcettr.scenario.document import read_yaml

DAY_S, HOUR_S = 86_400.0, 3_600.0
BASE = """
job: {gpus: 16384, work: 30 d, horizon: 60 d}
checkpoint: {interval: 30 min, write_time: 60 s}
failures: {node: {rate: 6.5 / 1000 node-days}, software: {rate: 0.2 / job-day}}
recovery: {startup: 3 min, restore: 2 min}
"""


def tree(text: str) -> dict[str, Any]:
    return read_yaml(text, "test").tree


def params(change: str = "{}", **overrides: object) -> Params:
    """Return the job of the base with `change` merged on top, not checked against contradictions."""
    text = tree(change) if change.strip() != "{}" else {}
    scenario = load(tree(BASE))
    flat: dict[str, object] = {}
    for section, body in text.items():
        inner = body if isinstance(body, dict) else {"": body}
        flat.update({f"{section}.{key}".rstrip("."): value for key, value in inner.items()})
    return job_params(scenario.replace({**flat, **{k.replace("__", "."): v for k, v in overrides.items()}}).spec)


def cause(text: str, name: str = "x") -> Cause:
    made = params(f"failures: {{{name}: {text}}}")
    return next(one for one in made.causes if one.name == name)


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
        recovery__spares={"count": 4},
    )
    rack = job.causes[-1]
    for made in (rack.nodes_lost, rack.over_evicted):
        assert made is not None
        assert made.values == law.values
        assert made.cumulative == pytest.approx(law.cumulative)


def test_all_nodes_of_a_domain_are_those_of_the_domain() -> None:
    text = "failures: {rack: {rate: 1 / 10 domain-days, nodes_per_domain: 16, nodes_lost: all}}"
    assert params(text, recovery__spares={"count": 4}).causes[-1].nodes_lost == exactly(16.0)


def test_a_binomial_of_many_leaves_out_what_never_happens() -> None:
    job = params(
        "failures: {rack: {rate: 1 / job-day, nodes_lost: {binomial: {n: 256, p: 0.8}}}}", recovery__spares={"count": 4}
    )
    law = job.causes[-1].nodes_lost
    assert law is not None
    assert len(law.values) < 120
    assert mean_count(law) == pytest.approx(204.8, abs=1e-6)


def test_nodes_are_only_counted_where_it_matters() -> None:
    made = {"node": exactly(1.0), "software": None}
    for change in (
        "recovery: {spares: {count: 3}}",
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
    assert job.lemons == Lemons(pytest.approx(share), 30.0, 0.3, 0.8)
    assert [one.by_lemons for one in job.causes] == [True, False]
    bare = params("lemons: {cause: node, fraction: 0.012, multiplier: 30}").lemons
    assert bare == Lemons(pytest.approx(0.012), 30.0, 1.0)
    every = params("lemons: {cause: node, fraction: 1, multiplier: 2, screening_sensitivity: 1}").lemons
    assert every is not None
    assert every.fraction == 1.0


def test_starts_fail_scale_and_fetch_images() -> None:
    recovery = params(
        "recovery: {startup: {image: {time: 450 s, when: replaced}, communicator: {time_per_1024_nodes: {uniform:"
        " [20 s, 40 s]}}, compile: {time: 4 min}, launch: 10 s}, max_attempt: 7 d, data_fast_forward: 0.001,"
        " start_failure: {probability: 0.1, max_attempts: 3, escalation: {exponential: {mean: 4 h}}}}"
    ).recovery
    uniform = Distribution("uniform", (40.0, 80.0))
    assert recovery.startup == (("communicator", uniform), ("compile", fixed(240.0)), ("launch", fixed(10.0)))
    assert recovery.startup_if_replaced == (("image", fixed(450.0)),)
    assert recovery.start_failure == StartFailure(0.1, 3.0, Distribution("exponential", (4 * HOUR_S,)))
    assert (recovery.max_attempt_s, recovery.data_fast_forward) == (7 * DAY_S, 0.001)
    assert params(recovery__start_failure={"probability": 0.1}).recovery.start_failure == StartFailure(0.1)


def test_spares_and_their_repair() -> None:
    two = "{quick: {share: 0.7, mean: 1 h}, slow: {mean: 2 d}}"
    rest = "repair_failure: 0.05, when_exhausted: shrink, min_nodes: 1400"
    spares = params(f"recovery: {{spares: {{count: 12, swap: 2 min, repair: {two}, {rest}}}}}").recovery.spares
    assert spares == Spares(12.0, 120.0, 0.7, HOUR_S, 2 * DAY_S, 0.05, 1400.0, "shrink")
    assert spares is not None
    assert type(spares.count) is float
    one = Spares(3.0, 0.0, 0.0, DAY_S, DAY_S)
    for repair in ("1 d", {"exponential": {"mean": "1 d"}}):
        assert params(recovery__spares={"count": 3, "repair": repair}).recovery.spares == one
    endless = params("recovery: {spares: {count: unlimited}}").recovery.spares
    assert endless == Spares(math.inf, 0.0, 0.0, math.inf, math.inf)


def test_replica_groups_and_maintenance() -> None:
    groups = params("recovery: {replica_groups: {count: 8, rejoin: 30 s, reconfigure: 10 s}}").recovery.replica_groups
    assert groups == ReplicaGroups(8.0, 10.0, fixed(30.0))
    planned = params("maintenance: {every: 30 d, duration: 4 h, notice: 1 h}").maintenance
    assert planned == Maintenance(30 * DAY_S, 4 * HOUR_S, HOUR_S)


def test_health_checks() -> None:
    checks = """
    failures: {node: {rate: 4 / 1000 node-days, repeat: {probability: 0.25, mean_time: 2 h}},
               straggler: {kind: slow, slowdown: 0.25, rate: 0.3 / job-day, detection: 6 h}}
    lemons: {cause: node, fraction: 0.012, multiplier: 30}
    health_checks:
      preflight: {duration: 5 min, catch_probability: {node: 0.5, lemon: 0.8}}
      periodic: {every: 5 min, catch_probability: {straggler: 0.5}, false_positive_rate: 0.1 / 1000 node-days}
    """
    job = params(checks)
    assert job.recovery.startup == (("startup", fixed(180.0)), ("preflight", fixed(300.0)))
    assert job.check_every_s == 300.0
    by_name = {one.name: one for one in job.causes}
    assert [one.caught_in_preflight for one in job.causes] == [0.5, None, None, None]
    assert [one.caught_in_check for one in job.causes] == [None, None, 0.5, None]
    assert list(by_name)[-1] == "health-check"
    alarm = Cause(
        "health-check", pytest.approx(2048 * 1e-4 / DAY_S), "preemption", notice_s=math.inf, nodes_lost=exactly(1.0)
    )
    assert by_name["health-check"] == alarm
    quiet = params(health_checks__periodic={"every": "5 min"})
    assert [one.name for one in quiet.causes] == ["node", "software"]


def test_a_fleet_of_mixed_ages_has_the_plain_rate() -> None:
    for age in ("", ", fleet_age: stationary"):
        made = cause(f"{{lifetime: {{weibull: {{shape: 0.7, mean: 900 d}}}}{age}}}")
        assert (made.exposure, made.profile) == ("node", None)
        assert made.rate_per_s == pytest.approx(2048 / (900 * DAY_S))
    racks = cause("{lifetime: {weibull: {shape: 2, scale: 900 d}}, nodes_per_domain: 16}")
    assert racks.exposure == "domain"
    assert racks.rate_per_s == pytest.approx(128 / (900 * DAY_S * math.gamma(1.5)))


def expected_failures(job: Params, until_s: float) -> float:
    made = job.causes[-1]
    assert made.profile is not None
    ends = np.minimum([*made.profile.starts_s[1:], math.inf], until_s)
    spans = np.maximum(ends - np.minimum(made.profile.starts_s, until_s), 0.0)
    return float(made.rate_per_s * np.dot(spans, made.profile.multipliers))


def test_a_fresh_fleet_fails_more_often_at_first() -> None:
    psu = {"lifetime": {"weibull": {"shape": 0.7, "mean": "153.85 d"}}, "fleet_age": "0 d"}
    for horizon in ("7 d", "70 d"):
        job = params(failures__psu=psu, job__gpus=8000, job__horizon=horizon)
        tolerance = 1e-3 if horizon == "7 d" else 0.02
        assert expected_failures(job, 7 * DAY_S) == pytest.approx(138.6, rel=tolerance)
    assert job.causes[-1].rate_per_s * 7 * DAY_S == pytest.approx(45.5, abs=0.01)
    profile = job.causes[-1].profile
    assert profile is not None
    assert len(profile.starts_s) == 32
    assert list(profile.multipliers) == sorted(profile.multipliers, reverse=True)
    old = params(failures__psu={**psu, "fleet_age": "100 d"}, job__gpus=8000, job__horizon="7 d")
    assert 45.5 * 0.7 < expected_failures(old, 7 * DAY_S) < 45.5


def test_lives_sweep_like_any_number() -> None:
    psu = {"lifetime": {"weibull": {"shape": 0.7, "mean": "153.85 d"}}, "fleet_age": "0 d"}
    scenario = load(tree(BASE)).replace({"failures.psu": psu})
    axes = {"failures.psu.fleet_age": ["0 d", "30 d"], "failures.psu.lifetime.weibull.shape": [0.7, 1, 3]}
    grid = compile_grid(scenario, axes)
    for index in np.ndindex(grid.shape):
        cell = {path: values[i] for (path, values), i in zip(axes.items(), index, strict=True)}
        alone = compile_params(scenario.replace(cell)).causes[-1].profile
        swept = grid.params.causes[-1].profile
        assert alone is not None
        assert swept is not None
        assert [float(m[index]) for m in swept.multipliers] == pytest.approx(list(alone.multipliers), rel=1e-12)
    assert [float(m[0, 1]) for m in grid.params.causes[-1].profile.multipliers] == pytest.approx([1.0] * 32)


EVERYTHING = """
failures:
  node: {rate: 4 / 1000 node-days, uncertainty: {cv: 0.3}, profile: {0 d: 3, 14 d: 1}, repeat: {probability: 0.25, mean_time: 2 h}}
  rack: {rate: 0.05 / 1000 domain-days, nodes_per_domain: 16, nodes_lost: {binomial: {n: 16, p: 0.8}}, diagnosis: 10 min}
  straggler: {kind: slow, slowdown: 0.25, rate: 0.3 / job-day, detection: 6 h}
  eviction: {kind: preemption, rate: 0.2 / job-day, notice: 2 min, min_lease: 2 h}
uncertainty: {cv: 0.2}
incidents: {rate: 1 / 10 days, mean_duration: 1 d, multiplier: 8, causes: [node]}
lemons: {cause: node, fraction: 0.012, multiplier: 30, eviction_probability: 0.3, screening_sensitivity: 0.8}
recovery:
  startup: {image: {time: 450 s, when: replaced}, communicator: {time_per_1024_nodes: 30 s}, compile: {time: 4 min}}
  start_failure: {probability: 0.1, max_attempts: 3, escalation: {exponential: {mean: 4 h}}}
  data_fast_forward: 0.001
  spares: {count: 12, swap: 2 min, repair: {quick: {share: 0.7, mean: 1 h}, slow: {mean: 2 d}}}
  max_attempt: 7 d
maintenance: {every: 30 d, duration: 4 h, notice: 1 h}
health_checks:
  preflight: {duration: 5 min, catch_probability: {node: 0.5, lemon: 0.8}}
  periodic: {every: 5 min, catch_probability: {straggler: 0.5}, false_positive_rate: 0.1 / 1000 node-days}
"""  # noqa: E501
AXES = {
    "failures.node.uncertainty.cv": [0, 0.5],
    "failures.node.profile.14 d": [1, 2],
    "failures.node.repeat.probability": [0.1, 0.2],
    "failures.rack.nodes_lost.binomial.n": [4, 16],
    "failures.rack.nodes_lost": [0, 8],
    "failures.straggler.slowdown": [0.1, 0.2],
    "failures.eviction.notice": ["0 s", "2 min"],
    "uncertainty.cv": [0.1, 0.3],
    "incidents.rate": ["1 / 10 days", "1 / 5 days"],
    "incidents.multiplier": [1, 8],
    "lemons.fraction": [0, 0.012],
    "lemons.screening_sensitivity": [0, 0.8],
    "recovery.startup.image.time": ["10 s", "450 s"],
    "recovery.startup.communicator.time_per_1024_nodes": ["10 s", "30 s"],
    "recovery.start_failure.max_attempts": [1, 3],
    "recovery.data_fast_forward": [0, 0.001],
    "recovery.spares.count": [0, 4, 8, "unlimited"],
    "recovery.spares.repair.quick.share": [0, 0.7],
    "recovery.spares.repair": ["12 h", "1 d"],
    "recovery.max_attempt": ["20 h", "7 d"],
    "maintenance.every": ["10 d", "30 d"],
    "health_checks.preflight.duration": ["0 s", "5 min"],
    "health_checks.preflight.catch_probability.lemon": [0.1, 0.8],
    "health_checks.periodic.every": ["5 min", "1 h"],
    "health_checks.periodic.false_positive_rate": ["0.1 / 1000 node-days", "1 / 1000 node-days"],
}


def numbers(record: object) -> list[Any]:
    from mcettr.scenario.leaves import map_numbers

    found: list[Any] = []
    map_numbers(record, lambda number: found.append(number) or number)
    return found


def test_all_sections_together_are_one_job_that_survives_its_own_text() -> None:
    scenario = load({**tree(BASE), **tree(EVERYTHING)})
    assert load(scenario.to_dict()) == scenario
    assert hash(load(scenario.to_dict())) == hash(scenario)
    assert scenario.replace({"lemons.fraction": 0.5}) != scenario
    job = compile_params(scenario)
    assert len(job.causes) == 5
    assert all(type(number) is float for number in numbers(job))


@pytest.mark.parametrize("path", list(AXES))
def test_every_number_is_an_axis_and_an_override(path: str) -> None:
    scenario = load({**tree(BASE), **tree(EVERYTHING)})
    grid = compile_grid(scenario, {path: AXES[path]})
    alone = [numbers(compile_params(scenario.replace({path: value}))) for value in AXES[path]]
    for i, one in enumerate(alone):
        cell = [float(number[i]) for number in numbers(grid.params)]
        if path != "failures.rack.nodes_lost.binomial.n":  # its law of counts is as long as the largest needs
            assert cell == pytest.approx(one, rel=1e-12)
    assert alone[0] != alone[-1]


def test_a_swept_binomial_keeps_each_law() -> None:
    scenario = load({**tree(BASE), **tree(EVERYTHING)})
    grid = compile_grid(scenario, {"failures.rack.nodes_lost.binomial.n": [4, 16]})
    law = grid.params.causes[1].nodes_lost
    assert law is not None
    assert mean_count(law) == pytest.approx([3.2, 12.8])
    assert [made.values.tolist() for made in grid.axes] == [[4.0, 16.0]]
    laws = [{"binomial": {"n": 16, "p": 0.5}}, {"binomial": {"n": 16, "p": 0.8}}]
    (axis,) = compile_grid(scenario, {"failures.rack.nodes_lost": laws}).axes
    assert axis.values == pytest.approx([8.0, 12.8])


def test_unlimited_spares_are_the_end_of_an_axis() -> None:
    scenario = load({**tree(BASE), **tree(EVERYTHING)})
    grid = compile_grid(scenario, {"recovery.spares.count": [4, 8, "unlimited"]})
    assert grid.axes[0].values.tolist() == [4.0, 8.0, math.inf]
    assert grid.params.recovery.spares is not None
    assert grid.params.recovery.spares.count.tolist() == [4.0, 8.0, math.inf]
    for words in (["wait", "queue"], ["wait", "shrink"]):
        with pytest.raises(ScenarioError, match="expected numbers with their unit"):
            compile_grid(scenario, {"recovery.spares.when_exhausted": words})


def test_overrides_replace_forms_as_a_whole() -> None:
    scenario = load({**tree(BASE), **tree(EVERYTHING)})
    swapped = scenario.replace(
        {
            "failures.rack.nodes_lost": {"values": {0: 0.5, 3: 0.5}},
            "recovery.spares.repair": "3 d",
            "recovery.startup.compile.time_per_1024_nodes": "1 min",
            "failures.eviction.mtbf": "3 d",
            "health_checks.periodic.catch_probability.rack": 0.2,
        }
    ).to_dict()
    assert swapped["failures"]["rack"]["nodes_lost"] == {"values": {"0": 0.5, "3": 0.5}}
    assert swapped["recovery"]["spares"]["repair"] == "3 d"
    assert swapped["recovery"]["startup"]["compile"] == {"time_per_1024_nodes": "1 min"}
    aged = scenario.replace({"failures.rack.lifetime": {"weibull": {"shape": 1, "mean": "9 d"}}})
    assert "rate" not in aged.to_dict()["failures"]["rack"]
    assert "lifetime" not in aged.replace({"failures.rack.mtbf": "3 h"}).to_dict()["failures"]["rack"]


def test_auto_intervals_know_verification_and_what_rolls_back() -> None:
    auto = compile_params(load(tree(BASE)).replace({"checkpoint.interval": "auto"})).checkpoint.interval_s
    slow = {"kind": "slow", "slowdown": 0.1, "rate": "9 / job-day"}
    assert params_interval(failures__slow=slow) == auto
    assert params_interval(checkpoint__verify="30 s") > auto
    warned = {"kind": "preemption", "rate": "9 / job-day", "notice": "60 s"}
    assert params_interval(failures__p=warned) == auto
    assert params_interval(failures__p={**warned, "notice": "59 s"}) < auto


def params_interval(**overrides: object) -> float:
    scenario = load(tree(BASE)).replace({"checkpoint.interval": "auto"})
    return float(
        compile_params(scenario.replace({k.replace("__", "."): v for k, v in overrides.items()})).checkpoint.interval_s
    )


def test_spares_that_are_never_repaired_are_told() -> None:
    from mcettr.scenario.compile import _never_repaired

    for spares, n_warnings in (({"count": 3}, 1), ({"count": 3, "repair": "1 d"}, 0), ({"count": "unlimited"}, 0)):
        assert len(_never_repaired(load(tree(BASE)).replace({"recovery.spares": spares}).spec)) == n_warnings
