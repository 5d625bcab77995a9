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
    assert "in the long run (without the first start and the last save)" in text
    assert max(map(len, text_of(load("rsc-1"), 60).splitlines())) <= 60


def test_all_uncertain_causes_are_counted() -> None:
    reason = derive(load("llama3-405b")).reason
    assert reason is not None
    assert reason.startswith("the rates of gpu and ")
    assert "more causes are uncertain" in reason
