"""The laws of durations: their means, and those that are refused."""

from __future__ import annotations

import math

import pytest

from mcettr.errors import ScenarioError
from mcettr.model.distributions import mean
from mcettr.scenario import load
from mcettr.scenario.laws import parse_law
from tests.scenario_texts import with_value


@pytest.mark.parametrize(
    ("law", "mean_s"),
    [
        ({"lognormal": {"mean": "10 min", "cv": 1.5}}, 600.0),
        ({"lognormal": {"median": "222 s", "sigma": 2.17}}, 222.0 * math.exp(2.17**2 / 2)),
        ({"lognormal": {"mean": "10 min", "sigma": 1.0}}, 600.0),
        ({"exponential": {"mean": "5 min"}}, 300.0),
        ({"gamma": {"mean": "5 min", "cv": 0.5}}, 300.0),
        ({"weibull": {"mean": "900 d", "shape": 0.7}}, 900 * 86_400.0),
        ({"weibull": {"scale": "1 h", "shape": 1}}, 3600.0),
        ({"uniform": ["45 min", "75 min"]}, 3600.0),
        ({"mixture": [[0.9, "30 s"], ["10 %", {"exponential": {"mean": "6 h"}}]]}, 0.9 * 30 + 0.1 * 21_600),
        ("90 s", 90.0),
    ],
)
def test_laws_have_the_mean_they_were_given(law: object, mean_s: float) -> None:
    assert float(mean(parse_law(law))) == pytest.approx(mean_s, rel=1e-12)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"lognorml": {"mean": "1 s", "cv": 1}}, "did you mean 'lognormal'?"),
        ({"lognormal": {"mean": "1 s", "median": "1 s", "cv": 1}}, "found mean and median"),
        ({"lognormal": {"mean": "1 s"}}, "found neither"),
        ({"lognormal": {"mean": "1 s", "cv": -1}}, "above 0"),
        ({"lognormal": {"mean": 1, "cv": 1}}, "without a unit"),
        ({"lognormal": "1 s"}, "expected a mapping"),
        ({"gamma": {"mean": "1 s", "cv": 0}}, "above 0"),
        ({"gamma": {"mean": "1 s", "cv": math.nan}}, "above 0"),
        ({"exponential": {"mean": "0 s"}}, "above 0"),
        ({"exponential": {"mean": "never"}}, "only a detection"),
        ({"uniform": ["2 s", "1 s"]}, "lower duration first"),
        ({"uniform": ["2 s"]}, "two durations"),
        ({"quantiles": {0.5: "1 s"}}, "at least two"),
        ({"quantiles": {0.5: "1 s", 1.0: "2 s"}}, "between 0 and 1"),
        ({"quantiles": {0.5: "3 s", 0.9: "2 s"}}, "grow"),
        ({"mixture": [[0.5, "1 s"], [0.4, "2 s"]]}, "sum to 1, found 0.9"),
        ({"mixture": [[1.5, "1 s"]]}, "from 0 to 1"),
        ({"mixture": [["1 s"]]}, "[weight, time]"),
        ({"mixture": [[1, "never"]]}, "only a detection"),
        ({"gamma": {}, "uniform": []}, "keep one"),
        ({}, "an empty mapping"),
        (5, "without a unit"),
        ("never", "only a detection"),
    ],
)
def test_laws_refused(law: object, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_law(law)
    assert words in str(caught.value)


def test_a_detection_may_be_never_in_part() -> None:
    law = {"mixture": [[0.8, "10 min"], [0.2, "never"]]}
    scenario = load(with_value("failures.node.detection", law))
    assert scenario.spec.failures["node"].detection.components[1].values == (math.inf,)
