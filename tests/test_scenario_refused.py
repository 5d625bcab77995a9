"""What the optional sections refuse: one line with the path, what was expected, what was found, what to do."""

from __future__ import annotations

from typing import Any

import pytest

import mcettr
from mcettr.errors import ScenarioError
from mcettr.model.distributions import mean
from mcettr.model.params import MOST_NUMBERED, MOST_PHASES, MOST_UNCERTAIN
from mcettr.scenario import compile_grid, compile_params, load

BASE: dict[str, Any] = {
    "job": {"gpus": 16384, "work": "30 d", "horizon": "60 d"},
    "checkpoint": {"interval": "30 min", "write_time": "60 s"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days"}, "software": {"rate": "0.2 / job-day"}},
    "recovery": {"startup": "3 min", "restore": "2 min"},
}
NODE = {"rate": "1 / node-day"}
RARE = {"rate": "0.001 / job-day"}
REPEAT = {"probability": 0.1, "mean_time": "1 h"}
LIFE = {"lifetime": {"weibull": {"shape": 0.7, "mean": "900 d"}}}
LEMONS = {"cause": "node", "fraction": 0.01, "multiplier": 30}


def refusal(**overrides: object) -> str:
    with pytest.raises(ScenarioError) as caught:
        compile_params(load(BASE).replace(overrides))
    text = str(caught.value)
    assert text.splitlines() == [str(one) for one in caught.value.errors]
    assert all("expected" in line for line in text.splitlines())
    return text


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("job.saved", "-1 d", "job.saved: expected a duration"),
        ("checkpoint.keep", 0, "positive whole number"),
        ("checkpoint.bad_probability", 2, "from 0 to 1"),
        ("checkpoint.local", {"interval": "5 min"}, "checkpoint.local.write_time: expected a value, found nothing"),
        ("checkpoint.local", {"intervall": "5 min", "write_time": "1 s"}, "did you mean 'interval'?"),
        ("checkpoint.local", "5 min", "expected a mapping of keys"),
        ("failures.node.kind", "silnt", "crash, hang, silent, slow, preemption"),
        ("failures.node.kind", "slow", "expected slowdown with kind slow"),
        ("failures.node.slowdown", 0.2, "failures.node.slowdown: expected it for kind slow only, found kind crash"),
        ("failures.node.notice", "1 min", "for kind preemption only"),
        ("failures.node.nodes_lost", -1, "expected a whole number of nodes or 'all'"),
        ("failures.node.nodes_lost", 1.5, "expected a whole number of nodes or 'all'"),
        ("failures.node.nodes_lost", "some", "expected a whole number of nodes or 'all'"),
        ("failures.node.nodes_lost", {"value": {0: 1}}, "did you mean 'values'?"),
        ("failures.node.nodes_lost", {"values": {0: 0.5}}, "failures.node.nodes_lost.values: expected chances that"),
        ("failures.node.nodes_lost", {"values": {"x": 1}}, "nodes_lost.values.x: expected a whole number"),
        ("failures.node.nodes_lost", {"binomial": {"n": 16}}, "found one of them"),
        ("failures.node.nodes_lost", {"binomial": {"n": 1000, "p": 0.5}}, "at most 256"),
        ("failures.node.nodes_lost", {"binomial": {"n": 2, "p": 3}}, "nodes_lost.binomial.p: expected a share"),
        ("failures.node.repeat", {"probability": 0.5}, "failures.node.repeat.mean_time: expected a value"),
        ("failures.node.profile", [["1 d", 2]], "begin at 0 d"),
        ("failures.node.profile", [["0 d", 2], ["0 d", 3]], "begin at 0 d and grow"),
        ("failures.node.profile", [["0 d", -2]], "failures.node.profile.0: expected a number of at least 0"),
        ("failures.node.profile", [[0, 2]], "without a unit"),
        ("failures.node.profile", 3, "pairs of time and multiplier"),
        ("failures.node.fleet_age", "3 d", "failures.node.fleet_age: expected a lifetime with it"),
        ("failures.x", {**NODE, "fleet_age": "3 d"}, "expected a lifetime with it"),
        ("failures.x", {**LIFE, **NODE}, "found rate and lifetime"),
        ("failures.x", {**LIFE, "profile": [["0 d", 2]]}, "failures.x.profile: expected no profile together"),
        ("failures.x", {"every": "1 d", "profile": [["0 d", 2]]}, "expected no profile together with every"),
        ("failures.x", {"every": "1 d", "uncertainty": {"cv": 1}}, "no rate to be uncertain"),
        ("failures.x", {"count": 3, "exposure": "1 node-day", "uncertainty": {"cv": 1}}, "the count says already"),
        ("failures.x", {"lifetime": "900 d"}, "failures.x.lifetime: expected {weibull"),
        ("failures.x", {"lifetime": {"weibul": {"shape": 0.7}}}, "found {weibul: {shape: 0.7}}; write such a law"),
        ("recovery.spares", {"count": {"a": "b"}, "repair": "1 d"}, "found {a: b}; write it like 12"),
        ("recovery.startup", {"x": {"time": "1 s", "when": {"a": 1}}}, "found {a: 1}; write one of them"),
        ("recovery.restore", {"lognormal": {"mean": "1 s", "cv": 1e300}}, "lognormal.cv: expected 1e-09 to 1000"),
        ("recovery.restore", {"weibull": {"mean": "1 s", "shape": 1e-3}}, "weibull.shape: expected 0.02 to 1000"),
        ("job.horizon", {"a": [1, "b"]}, "found {a: [1, b]} (mapping)"),
        ("failures.x", {"lifetime": {"weibull": {"shape": 9, "mean": "1 d"}}}, "weibull.shape: expected a shape from"),
        ("failures.x", {**LIFE, "fleet_age": "old"}, "'stationary' or a duration"),
        ("failures.x", {**LIFE, "fleet_age": "1000000 d"}, "failures.x.fleet_age: expected at most 1000 mean lives"),
        ("uncertainty", 0.2, "expected a mapping of keys"),
        ("incidents", {"rate": "1 / 10 node-days", "mean_duration": "1 d", "multiplier": 8}, "per node"),
        ("incidents", {"rate": "1 / 10 days", "mean_duration": "1 d", "multiplier": 8, "causes": ["nod"]},
         "incidents.causes: expected a cause of failures, found 'nod'; did you mean 'node'?"),
        ("incidents", {"rate": "1 / 10 days", "mean_duration": "1 d", "multiplier": 8, "causes": []}, "list of"),
        ("lemons", {**LEMONS, "cause": "nodes"}, "lemons.cause: expected a cause of failures, found 'nodes'; did you"),
        ("lemons", {**LEMONS, "causes": ["node"]}, "lemons.causes: expected a known key"),
        ("maintenance", {"every": "30 d"}, "maintenance.duration: expected a value"),
        ("health_checks.preflight", {"catch_probability": {"lemon": 0.5}}, "found 'lemon'; add a section lemons"),
        ("health_checks.periodic", {"every": "1 h", "catch_probability": {"nod": 0.5}},
         "health_checks.periodic.catch_probability.nod: expected a cause of failures, found 'nod'; did you mean"),
        ("health_checks.periodic", {"every": "1 h", "catch_probability": {"node": 5}}, "probability.node: expect"),
        ("health_checks.periodic", {"every": "1 h", "false_positive_rate": "1 / 3 domain-days"}, "per node, GPU or"),
        ("recovery.startup", {"time": "3 s"}, "recovery.startup.time: expected the names of phases"),
        ("recovery.startup", {"a": {"time": "3 s", "time_per_1024_nodes": "1 s"}}, "startup.a: expected time or"),
        ("recovery.startup", {"a": {"time": "3 s", "when": "often"}}, "startup.a.when: expected always or replaced"),
        ("recovery.startup", {"a": {"time": "3 s", "wen": "replaced"}}, "did you mean 'when'?"),
        ("recovery.startup", {"a": {"time": 3}}, "recovery.startup.a.time: expected a duration"),
        ("recovery.start_failure", {"probability": 0.1, "max_attempts": 0}, "max_attempts: expected a positive whole"),
        ("recovery.spares", {}, "recovery.spares.count: expected a value"),
        ("recovery.spares.count", 3.5, "expected a whole number of nodes or 'unlimited', found 3.5"),
        ("recovery.spares", {"count": 3, "repair": "1 d", "when_exhausted": "no"}, "one of wait, queue, shrink"),
        ("recovery.spares", {"count": 3, "repair": {"uniform": ["1 h", "2 h"]}}, "expected a mean above 0"),
        ("recovery.spares", {"count": 3, "repair": {"quick": {"share": 1}}}, "spares.repair.quick: expected share and"),
        ("recovery.spares", {"count": 3, "repair": {"slow": {"mean": "1 h"}}}, "expected quick and slow, found slow"),
        ("recovery.spares", {"count": 3, "repair": {"fast": {"mean": "1 h"}}}, "expected quick and slow, found 'fast'"),
        ("recovery.spares", {"count": 3, "repair": "0 s"}, "expected a mean above 0"),
        ("recovery.replica_groups", {"count": 8, "rejoins": "3 s"}, "did you mean 'rejoin'?"),
        ("recovery.max_attempt", "0 s", "above 0"),
    ],
)  # fmt: skip
def test_wrong_values_are_told_by_path(path: str, value: object, words: str) -> None:
    assert words in refusal(**{path: value})


def test_names_that_mechanisms_need() -> None:
    periodic = {"every": "1 h", "false_positive_rate": "0.1 / 1000 node-days"}
    for name in ("health-check", "lemon", "total", "start", "ettr", "gpus", "wait_se"):
        assert f"failures.{name}: expected a name of your own" in refusal(**{f"failures.{name}": NODE})
    assert compile_params(load(BASE).replace({"health_checks.periodic": periodic})).causes[-1].name == "health-check"
    startup = {"recovery.startup": {"preflight": "1 min"}, "health_checks.preflight": {"duration": "5 min"}}
    assert "recovery.startup.preflight: expected another name" in refusal(**startup)
    local = {"checkpoint.interval": "auto", "checkpoint.local": {"interval": "5 min", "write_time": "1 s"}}
    assert "expected a fixed interval with a local tier, found auto" in refusal(**local)


def test_a_catch_that_changes_nothing_is_told() -> None:
    scenario = load(BASE).replace({"health_checks.preflight": {"catch_probability": {"node": 0.5}}})
    assert any("catch_probability.node: has no effect" in text for text in compile_grid(scenario, {}).warnings)
    assert float(mean(compile_params(scenario).recovery.startup[-1][1])) == 0.0


def test_no_more_can_be_saved_than_there_is_to_do() -> None:
    assert "expected less than the work (30 d), found 30 d" in refusal(**{"job.saved": "30 d"})
    assert "resumes: false" in refusal(**{"job.saved": "1 d", "job.resumes": False})
    life = {"lifetime": {"weibull": {"shape": 0.7, "mean": "900 d"}}, "fleet_age": "0 d"}
    assert "expected less than the work" in refusal(**{"job.saved": "31 d", "failures.psu": life})
    axes = {"job.work": ["10 d", "20 d"], "job.saved": ["5 d", "15 d"]}
    with pytest.raises(
        ScenarioError, match=r"job\.saved: .*less than the work \(10 d\).*cell work=10 d, saved=15 d; 1 of 4"
    ):
        compile_grid(load(BASE), axes)


@pytest.mark.parametrize(
    ("path", "most", "part", "words"),
    [
        ("failures", MOST_NUMBERED, {"every": "30 d"}, "expected every only in the first 64 causes, found it in"),
        ("failures", MOST_NUMBERED, {**RARE, "repeat": REPEAT}, "expected repeat only"),
        ("failures", MOST_UNCERTAIN, {**RARE, "uncertainty": {"cv": 0.3}}, "expected an uncertain rate only in the"),
        ("recovery.startup", MOST_PHASES, "1 s", "expected at most 64 startup phases, found 65"),
    ],
)  # fmt: skip
def test_more_than_there_are_random_numbers_for(path: str, most: int, part: object, words: str) -> None:
    entries = {f"n{number}": part for number in range(most + 1)}
    if path == "failures":
        others = most - len(BASE["failures"])
        entries = {f"n{number}": RARE for number in range(others)} | {"last": part}
    assert words in refusal(**{path: entries})
    del entries["n1"]
    job = load(BASE).replace({path: entries})
    assert 0.0 < float(mcettr.simulate(job, timelines=1, engine="reference").ettr) < 1.0
