"""Warnings that fields call for by themselves: exact, and without any simulation."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from mcettr.errors import ScenarioError
from mcettr.model.checks import Problem, check
from mcettr.model.distributions import Distribution, least
from mcettr.scenario import compile_params, load
from mcettr.scenario.compile import compile_grid
from mcettr.sweep.vary import read_vary
from tests.warning_jobs import BASE


def problems(**changes: Any) -> list[Problem]:
    return check(compile_params(load(BASE).replace(changes)))


def only(path: str, **changes: Any) -> str:
    (message,) = [p.message for p in problems(**changes) if p.path == path]
    return message


def test_the_shortest_of_a_distribution() -> None:
    parts = (Distribution("uniform", (3.0, 9.0)), Distribution("fixed", (2.0,)), Distribution("exponential", (1.0,)))
    assert least(Distribution("mixture", (0.5, 0.5, 0.0), parts)) == 2.0
    assert least(Distribution("lognormal", (60.0, 1.0))) == 0.0


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        (
            {"recovery.startup": "0 s", "recovery.start_failure": {"probability": 1, "max_attempts": 3}},
            "recovery.start_failure.probability",
            "no start ever succeeds; lower it",
        ),
        (
            {"incidents": {"rate": "1 / 1 ms", "mean_duration": "1 ms", "multiplier": 2}},
            "incidents.rate",
            "found 1.73e+09, one every 1 ms: check the unit, or leave them out and give rates 1.5 x as high",
        ),
        ({"recovery.max_attempt": "1 min"}, "recovery.max_attempt", "every attempt would end as it begins"),
    ],
)
def test_what_never_ends_is_refused(changes: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(path)) as caught:
        compile_params(load(BASE).replace(changes))
    assert words in str(caught.value)


def test_starts_that_never_succeed_but_take_time_are_told() -> None:
    for start in ({"recovery.startup": "5 min"}, {"recovery.startup": "0 s"}):
        failing = {"probability": 1, "max_attempts": 3, "escalation": "4 h"}
        message = only("recovery.start_failure.probability", **start, **{"recovery.start_failure": failing})
        assert "only the horizon (40 d) ends it" in message


def test_a_rate_of_the_job_says_nothing_of_its_nodes() -> None:
    for often in ("60 / job-hour", "1 / 100 job-years"):
        assert not problems(**{"failures": {"job": {"rate": often}}})
    (high,) = problems(**{"failures.node.rate": "6 / node-day"})
    assert (high.path, high.code) == ("failures.node.rate", "rate-high")
    assert "implausibly high: one failure per 4 h per node of 8 GPUs" in high.message
    (low,) = problems(**{"failures.node.rate": "0.0065 / 1000 node-days"})
    assert (low.path, low.code) == ("failures.node.rate", "rate-low")
    # beside failures of the job a low rate of one cause of the nodes is no slip
    assert not problems(**{"failures.node.rate": "0.0065 / 1000 node-days", "failures.job": {"rate": "3 / job-day"}})


def test_false_alarms_are_no_failures_of_the_fleet() -> None:
    often = {"health_checks.periodic": {"every": "5 min", "false_positive_rate": "2 / node-day"}}
    assert [p.path for p in problems(**often)] == ["health_checks.periodic.false_positive_rate"]
    message = only("health_checks.periodic.false_positive_rate", **often)
    assert message.startswith("a healthy node of 8 GPUs is stopped every 12 h, the job every 84.4 s")


def test_a_huge_cv_is_false_certainty() -> None:
    message = only("failures.node.uncertainty.cv", **{"failures.node.uncertainty": {"cv": 10}})
    draws = np.random.default_rng(1).gamma(0.01, 100.0, 10**6)
    share = float(re.search(r"in ([\d.]+) % of the draws", message)[1])  # type: ignore[index]
    assert share == pytest.approx(100 * np.mean(draws < 0.01), abs=0.3)
    assert only("uncertainty.cv", uncertainty={"cv": 3}).startswith("3: in ")
    assert not problems(uncertainty={"cv": 0.5})
    assert not problems(**{"failures.node": {"count": 1, "exposure": "1000 node-days", "detection": "5 min"}})


def test_failures_that_nobody_notices_are_told() -> None:
    path, rare = "failures.hang.detection", {"kind": "hang", "rate": "0.01 / job-day"}
    assert only(path, **{"failures.hang": rare | {"detection": "never"}}).startswith("100 % of its failures are not")
    some = rare | {"detection": {"mixture": [[0.9, "5 min"], [0.1, "never"]]}}
    assert "at least 10 % of its failures" in only(path, **{"failures.hang": some})
    cut = only(path, **{"failures.hang": some, "job.horizon": None})
    assert "before the job is cut off" in cut
    assert "1,000 x the work, 54.8 years" in cut
    for noticed in (
        {"failures.hang": rare | {"detection": {"exponential": {"mean": "3 h"}}}},
        {"failures.hang": some | {"rate": "0 / job-day"}},
        {"failures.hang": some, "health_checks.periodic": {"every": "1 h", "catch_probability": {"hang": 0.5}}},
    ):
        assert not [p for p in problems(**noticed) if p.path == path]


def test_spares_in_place_of_the_queue_are_told() -> None:
    waits = {"recovery.queue_wait": "30 min", "recovery.spares": {"count": 8, "repair": "1 d"}}
    (problem,) = problems(**waits)
    assert (problem.path, problem.code) == ("recovery.queue_wait", "spares-replace-queue")
    assert "recovery.requeue: always" in problem.message
    assert "exhausted" not in problem.message
    by_queue = waits | {"recovery.spares": {"count": 8, "repair": "1 d", "when_exhausted": "queue"}}
    assert "exhausted" in problems(**by_queue)[0].message
    assert not problems(**{"recovery.spares": {"count": 8, "repair": "1 d"}})
    assert not problems(**{"recovery.queue_wait": "30 min"})


def test_rare_failures_that_cost_much_are_told() -> None:
    disaster = {"failures.disaster": {"rate": "0.0001 / job-day", "detection": "1000 d"}, "job.horizon": None}
    (problem,) = problems(**disaster)
    assert (problem.path, problem.code) == ("failures.disaster", "rare-and-costly")
    assert (
        "about one timeline in 500 has such a failure in 20 d of training, and it takes 2.74 years" in problem.message
    )
    cheap = disaster | {"failures.disaster": {"rate": "0.0001 / job-day", "detection": "1 d"}}
    often = disaster | {"failures.disaster": {"rate": "0.1 / job-day", "detection": "1 d"}}
    assert not problems(**cheap) + problems(**often)


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ("recovery.spares.count", "give it, as with --set 'recovery.spares={count: 4, repair: 1 d}'"),
        ("lemons.multiplier", "--set 'lemons={cause: node, fraction: 0.012, multiplier: 30}'"),
        ("checkpoint.local.survives_node_losses", "--set 'checkpoint.local={interval: 5 min, write_time: 10 s}'"),
    ],
)
def test_varying_a_field_of_an_absent_section_says_how_to_give_it(vary: str, words: str) -> None:
    with pytest.raises(ScenarioError, match="expected a section") as caught:
        read_vary(load(BASE), vary)
    assert words in str(caught.value)
    section, value = re.search(r"--set '(.+?)=(.+)'", str(caught.value)).groups()  # type: ignore[union-attr]
    assert read_vary(load(BASE).replace({section: value, "checkpoint.interval": "30 min"}), vary).path == vary
    assert read_vary(load(BASE), "recovery.start_failure.probability=0.1:0.5").high == 0.5


def test_an_age_beyond_all_lives_is_told_with_its_line(tmp_path: Any) -> None:
    file = tmp_path / "old.yaml"
    life = "{lifetime: {weibull: {shape: 0.7, mean: 900 d}}"
    file.write_text(f"job: {{gpus: 8, work: 3 d}}\nfailures:\n  psu:\n    {life}, fleet_age: 90000000 d}}\n")
    with pytest.raises(ScenarioError, match=r"old\.yaml:4: failures\.psu\.fleet_age: expected at most 1000 mean lives"):
        compile_params(load(file))
    with pytest.raises(ScenarioError, match=r"failures\.psu\.fleet_age: .*cell fleet_age=90000000 d"):
        compile_grid(
            load({"job": {"gpus": 8, "work": "3 d"}, "failures": {"psu": {"mtbf": "9 d"}}}).replace(
                {"failures.psu.lifetime": {"weibull": {"shape": 0.7, "mean": "900 d"}}}
            ),
            {"failures.psu.fleet_age": ["90 d", "90000000 d"]},
        )
