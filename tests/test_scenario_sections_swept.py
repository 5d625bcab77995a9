"""All optional sections together: each of their numbers can be swept and overridden."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcettr.errors import ScenarioError
from mcettr.model.counts import mean_count
from mcettr.scenario import compile_grid, compile_params, load
from tests.scenario_sections import BASE, tree

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


def test_spares_say_how_long_a_repair_takes() -> None:
    base = load(tree(BASE))
    assert base.replace({"recovery.spares": {"count": 3, "repair": "1 d"}}).spec.recovery.spares is not None
    with pytest.raises(ScenarioError, match=r"spares\.repair: expected a value, found nothing; add 'repair: 1 d'"):
        base.replace({"recovery.spares": {"count": "unlimited"}})
