"""Warnings about the optional mechanisms: none from mean rates that do not apply, each with the number to blame."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from mcettr.errors import ScenarioError
from mcettr.model.checks import Problem, check
from mcettr.model.distributions import Distribution, least
from mcettr.report.check_text import check_text
from mcettr.report.derived import derive
from mcettr.scenario import compile_params, load
from mcettr.scenario.compile import compile_grid
from mcettr.sweep.vary import read_vary

BASE: dict[str, Any] = {
    "job": {"gpus": 4096, "gpus_per_node": 8, "work": "20 d", "horizon": "40 d"},
    "checkpoint": {"interval": "30 min", "write_time": "1 min"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days", "detection": "5 min"}},
    "recovery": {"diagnosis": "3 min", "startup": "5 min", "restore": "2 min"},
}
ALARMS = {"health_checks.periodic": {"every": "5 min", "false_positive_rate": "40 / 1000 node-hours"}}
GROUPS = {"recovery.replica_groups": {"count": 8, "rejoin": "30 s"}, "failures.node.rate": "0.65 / node-day"}
SILENT = {"failures.sdc": {"kind": "silent", "rate": "6 / job-hour", "detection": "4 h"}}
DAILY = {"rate": "1 / 10 days", "mean_duration": "1 d", "multiplier": 80_000}
LEMONS = {"cause": "node", "fraction": 0.01, "multiplier": 1e5, "eviction_probability": 0}
BURN_IN = {"failures.node.profile": [["0 d", 5000], ["0.01 d", 1]]}


def problems(**changes: Any) -> list[Problem]:
    return check(compile_params(load(BASE).replace(changes)))


def only(path: str, **changes: Any) -> str:
    (message,) = [p.message for p in problems(**changes) if p.path == path]
    return message


# --- not from mean rates where these do not apply ---------------------------------------------------------------


@pytest.mark.parametrize("changes", [ALARMS, GROUPS, SILENT, BURN_IN])
def test_what_does_not_roll_the_job_back_is_no_failure_that_saves_are_too_rare_for(changes: dict[str, Any]) -> None:
    messages = [p.message for p in problems(**changes)]
    assert not [m for m in messages if "mean time to failure" in m or "most timelines will not finish" in m]
    # the same number of crashes is told
    crash = {"failures.node.rate": "0.96 / node-hour"}
    assert [p.path for p in problems(**crash) if "mean time to failure" in p.message] == ["checkpoint.interval"]


def test_figures_are_those_of_a_job_that_is_near_enough() -> None:
    often = {"failures.node.rate": "0.2 / node-day"}
    message = only("checkpoint.interval", **often)
    assert re.search(r"mostly redoing work \(ETTR 0\.\d+; 0\.\d+ at ", message)
    alarmed = only("checkpoint.interval", **often, **ALARMS)
    assert alarmed.endswith("mostly redoing work")
    assert "at least" in only(
        "job.horizon", **{"failures.node.rate": "0.1 / node-day", "job.horizon": "21 d"}, **ALARMS
    )


def test_no_closed_form_beside_no_progress() -> None:
    for changes, why in (
        ({"recovery.max_attempt": "7 min"}, "no attempt is long enough to train"),
        ({"recovery.start_failure": {"probability": 1}}, "no start ever succeeds"),
        ({"maintenance": {"every": "1 d", "duration": "23 h"}}, "planned stops take most of the time"),
        (ALARMS, "most stops save first"),
        (SILENT, "most stops save first, or are corruption"),
        ({"incidents": DAILY}, "rates vary too much for their mean to tell"),
        (GROUPS, "replica groups are lost about as fast as they come back"),
    ):
        job = load(BASE).replace(changes)
        text = " ".join(check_text(job, derive(job)).split())
        assert f"No exact ETTR: {why}" in text
        assert "ETTR, approximate" not in text


def test_a_start_that_is_sometimes_short_is_no_standstill() -> None:
    assert "no progress" in only("recovery.max_attempt", **{"recovery.max_attempt": "8 min"})
    by_chance = {"recovery.max_attempt": "8 min", "recovery.startup": {"exponential": {"mean": "5 min"}}}
    assert "many attempts end before they train" in only("recovery.max_attempt", **by_chance)
    assert not [p for p in problems(**{"recovery.max_attempt": "8.1 min"}) if p.path == "recovery.max_attempt"]


def test_the_shortest_of_a_law() -> None:
    parts = (Distribution("uniform", (3.0, 9.0)), Distribution("fixed", (2.0,)), Distribution("exponential", (1.0,)))
    assert least(Distribution("mixture", (0.5, 0.5, 0.0), parts)) == 2.0
    assert least(Distribution("lognormal", (60.0, 1.0))) == 0.0


# --- what can be but capped -------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"failures.node.rate": "1e12 / day", "failures.node.detection": "0 s", "recovery.diagnosis": "0 s"},
         "failures.node.rate"),
        ({"recovery.start_failure.probability": 0.9999999, "recovery.startup": "1 s"},
         "recovery.start_failure.probability"),
        ({"recovery.max_attempt": "61 s", "recovery.startup": "0 s", "recovery.restore": "0 s",
          "job.horizon": "9999 d"},
         "recovery.max_attempt"),
        ({"maintenance": {"every": "1 s", "duration": "0.01 s"}, "recovery.startup": "0 s", "recovery.restore": "0 s"},
         "maintenance.every"),
        ({"incidents": {"rate": "1 / 9 days", "mean_duration": "1 d", "multiplier": 1e12}, "recovery.diagnosis": "0 s",
          "failures.node.detection": "0 s"}, "incidents.multiplier"),
        ({"health_checks.periodic": {"every": "5 min", "false_positive_rate": "1e9 / job-day"}},
         "health_checks.periodic.false_positive_rate"),
    ],
)  # fmt: skip
def test_more_events_than_a_run_follows_are_told_by_what_makes_them(changes: dict[str, Any], path: str) -> None:
    (message,) = [p.message for p in problems(**changes) if "all timelines are cut off" in p.message and p.path == path]
    assert "of which a run follows at most 1,000,000" in message


def test_without_a_horizon_fewer_events_are_followed() -> None:
    message = only("failures.node.rate", **{"job.horizon": None, "failures.node.rate": "0.6 / node-day"})
    assert "at most 100,000: " in message
    assert message.endswith("or give job.horizon, with which it follows 1,000,000")
    assert not problems()


# --- the number to blame ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"failures.node.rate": "6 / node-day"}, "failures.node.rate"),
        ({"incidents": DAILY}, "incidents.multiplier"),
        ({"failures.node.repeat": {"probability": 0.9999, "mean_time": "1 min"}}, "failures.node.repeat.probability"),
        ({"lemons": LEMONS}, "lemons.multiplier"),
        ({"failures.node.profile": [["0 d", 1e6], ["14 d", 1]]}, "failures.node.profile"),
        ({"failures.node.rate": "6 / node-day", "incidents": {**DAILY, "multiplier": 2}}, "failures.node.rate"),
    ],
)
def test_implausible_rates_are_blamed_on_what_makes_them_so(changes: dict[str, Any], path: str) -> None:
    found = [p for p in problems(**changes) if p.message.startswith("implausibly high")]
    assert [p.path for p in found] == [path]
    assert ("with it" in found[0].message) == (not path.endswith("rate"))


def test_false_alarms_are_no_failures_of_the_fleet() -> None:
    often = {"health_checks.periodic": {"every": "5 min", "false_positive_rate": "2 / node-day"}}
    assert [p.path for p in problems(**often)] == ["health_checks.periodic.false_positive_rate"]
    message = only("health_checks.periodic.false_positive_rate", **often)
    assert message.startswith("a healthy node of 8 GPUs is stopped every 12 h, the job every 84.4 s")


def test_bad_repairs_are_blamed_rather_than_missed_culprits() -> None:
    spares = {"count": 9, "repair": "1 d", "repair_failure": 0.4}
    changes = {"recovery.spares": spares, "failures.node.repeat": {"probability": 0.1, "mean_time": "1 h"}}
    assert only("recovery.spares.repair_failure", **changes).startswith(
        "nodes badly repaired with 40 %, and culprits missed, strike again"
    )


# --- certainty, corruption, spares, maintenance -----------------------------------------------------------------


def test_a_huge_cv_is_false_certainty() -> None:
    message = only("failures.node.uncertainty.cv", **{"failures.node.uncertainty": {"cv": 10}})
    draws = np.random.default_rng(1).gamma(0.01, 100.0, 10**6)
    share = float(re.search(r"in ([\d.]+) % of the draws", message)[1])  # type: ignore[index]
    assert share == pytest.approx(100 * np.mean(draws < 0.01), abs=0.3)
    assert only("uncertainty.cv", uncertainty={"cv": 3}).startswith("3: in ")
    assert not problems(uncertainty={"cv": 0.5})
    assert not problems(**{"failures.node": {"count": 1, "exposure": "1000 node-days", "detection": "5 min"}})


def test_corruption_that_nobody_finds_counts_as_kept() -> None:
    never = {"failures.sdc": {"kind": "silent", "rate": "0.1 / job-day", "detection": "never"}}
    assert "86.5 % of the timelines end with corrupt work counted as kept" in only("failures.sdc.detection", **never)
    assert "100 % of its corruptions are not found in 20 d" in only("failures.sdc.detection", **never)
    for remedy in ({"checkpoint.verify": "30 s"}, {"failures.sdc": {**never["failures.sdc"], "detection": "4 h"}}):
        assert not [p for p in problems(**{**never, **remedy}) if p.path == "failures.sdc.detection"]
    kept = only("failures.sdc.detection", **never, **{"checkpoint.keep": 2})
    assert "no clean one is left" not in kept


def test_a_repair_longer_than_the_job_uses_the_spares_up() -> None:
    message = only("recovery.spares.repair", **{"recovery.spares": {"count": 4, "repair": "900 d"}})
    assert "of 66.6 nodes lost until then 65.8 are still in repair, with 4 spares" in message
    assert "the job waits for repairs" in message
    for sound in (
        {"count": 4, "repair": "2 d"},
        {"count": 400, "repair": "900 d"},
        {"count": "unlimited", "repair": "900 d"},
    ):
        assert not [p for p in problems(**{"recovery.spares": sound}) if p.path == "recovery.spares.repair"]


def test_maintenance_that_takes_most_of_the_time() -> None:
    message = only("maintenance.duration", maintenance={"every": "1 d", "duration": "23 h"})
    assert message.startswith("23 h of every 24 h, and 7 min to start again: at most 3.7 % of the time is left")
    never = only("maintenance.duration", maintenance={"every": "1 d", "duration": "23.9 h"})
    assert "no time is left to train in" in never
    assert not problems(maintenance={"every": "30 d", "duration": "4 h", "notice": "1 h"})


# --- errors that say where and how ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ("recovery.spares.count", "give it, as with --set 'recovery.spares={count: 4, repair: 1 d}'"),
        ("lemons.multiplier", "--set 'lemons={cause: node, fraction: 0.01, multiplier: 30}'"),
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
    with pytest.raises(ScenarioError, match=r"cell fleet_age=90000000 d: failures\.psu\.fleet_age"):
        compile_grid(
            load({"job": {"gpus": 8, "work": "3 d"}, "failures": {"psu": {"mtbf": "9 d"}}}).replace(
                {"failures.psu.lifetime": {"weibull": {"shape": 0.7, "mean": "900 d"}}}
            ),
            {"failures.psu.fleet_age": ["90 d", "90000000 d"]},
        )


def test_failures_that_nobody_notices_are_told_with_what_they_stop() -> None:
    path, rare = "failures.hang.detection", {"kind": "hang", "rate": "0.01 / job-day"}
    message = only(path, **{"failures.hang": rare | {"detection": "never"}})
    assert "100 % of its failures are not noticed before the horizon" in message
    assert "in 18.1 % of the timelines" in message
    some = rare | {"detection": {"mixture": [[0.9, "5 min"], [0.1, "never"]]}}
    assert "10 % of its failures" in only(path, **{"failures.hang": some})
    late = rare | {"detection": {"exponential": {"mean": "3 h"}}}
    assert not [p for p in problems(**{"failures.hang": late}) if p.path == path]
