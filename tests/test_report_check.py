"""What `mcettr check` says about jobs with and without checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from mcettr.report.check_text import check_object, check_text
from mcettr.report.derived import derive
from mcettr.scenario import Scenario, load

JOB: dict[str, Any] = {"job": {"gpus": 1024, "work": "30 d"}, "failures": {"node": {"rate": "6.5 / 1000 node-days"}}}


def text_of(scenario: Scenario, width: int = 80) -> str:
    return check_text(scenario, derive(scenario), width)


def test_no_checkpoint_section_has_no_best_interval() -> None:
    text = text_of(load(JOB))
    assert "No checkpoints: every failure restarts the whole job." in text
    assert "est interval" not in text
    assert " 0 s" not in text
    found = check_object(load(JOB), derive(load(JOB)))
    names = ("best_interval_s", "young_interval_s", "daly_interval_s", "best_ettr")
    assert [found[name] for name in names] == [None] * 4


@pytest.mark.parametrize("interval", ["never", "30 d", "99 d"])
def test_an_interval_that_never_ends_is_no_checkpoint_but_has_a_best(interval: str) -> None:
    text = text_of(load({**JOB, "checkpoint": {"interval": interval, "write_time": "60 s"}}))
    assert "No checkpoints: every failure restarts the whole job." in text
    assert "Best interval, exact" in text
    assert "at the best interval" in text


def test_a_free_save_has_no_best_interval() -> None:
    text = text_of(load({**JOB, "checkpoint": {"interval": "1 h", "write_time": "0 s"}}))
    assert "est interval" not in text
    assert "No checkpoints" not in text


def test_the_shares_are_labelled_as_those_of_the_long_run() -> None:
    text = text_of(load("rsc-1"))
    assert "in the long run (without the first start and the last checkpoint)" in " ".join(text.split())
    assert max(map(len, text_of(load("rsc-1"), 60).splitlines())) <= 60


def test_all_uncertain_causes_are_counted() -> None:
    reason = derive(load("llama3-405b")).reason
    assert reason is not None
    assert reason.startswith("the rates of gpu and ")
    assert "more causes are uncertain" in reason


def test_what_mechanisms_mean_is_shown_in_numbers() -> None:
    text = text_of(load("opt-175b"))
    assert "Nodes lost per day at risk, at the rates given" in text
    said = " ".join(text.split())
    assert "timelines. No closed form is exact for it: the core model has no repeated failures and spares." in said
    assert "lost to spare_wait" in text
    assert max(map(len, text.splitlines())) <= 80
    found = check_object(load("opt-175b"), derive(load("opt-175b")))
    assert found["nodes_lost_per_day"] == pytest.approx(124 * 15.1e-3)
    simulated = found["simulated"]
    assert sum(part["value"] for part in simulated["time_fraction"].values()) == pytest.approx(1.0)
    assert simulated["ettr"]["low"] < simulated["ettr"]["value"] < simulated["ettr"]["high"]


def test_causes_are_listed_by_rate_where_there_are_several() -> None:
    text = text_of(load("llama3-405b"))
    lines = text[text.index("Expected failures, at the rates given") :].splitlines()
    assert lines[3].split() == ["gpu", "crash", "2.741", "1"]
    assert [line.split()[0] for line in lines[3:21]][-1] in ("cpu", "memory", "chassis", "io-board", "dependency")
    assert "Expected failures, at the rates given" not in text_of(load("rsc-1"))


def test_lemons_incidents_and_phases_are_shown() -> None:
    more = {
        "lemons": {"cause": "node", "fraction": 0.02, "multiplier": 30},
        "incidents": {"rate": "1 / 9 days", "mean_duration": "1 d", "multiplier": 8},
        "recovery": {"startup": {"image": {"time": "450 s", "when": "replaced"}, "rest": "2 min"}},
    }
    lines = [" ".join(line.split()) for line in text_of(load({**JOB, **more})).splitlines()]
    assert "Lemons in the job at submission, on average 2.56" in lines
    assert "Share of time with an incident, in the long run 0.1" in lines
    assert "more where a node was replaced 7.5 min" in lines


def test_no_closed_form_is_shown_without_the_local_tier() -> None:
    local = {"interval": "5 min", "write_time": "10 s", "stall": "1 s"}
    text = text_of(load({**JOB, "checkpoint": {"interval": "1 h", "write_time": "60 s", "local": local}}))
    assert "the core model has no local tier of checkpoints" in " ".join(text.split())
    assert "Best interval, exact" not in text
    assert "Simulated:" in text
