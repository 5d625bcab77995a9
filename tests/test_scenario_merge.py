"""Inheritance, overrides, and where each value comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcettr.model.distributions import Distribution
from mcettr.scenario import load
from tests.scenario_texts import BASE, YAML, refusal, write


def test_extends_merges_deeply_and_null_removes(tmp_path: Path) -> None:
    write(tmp_path, "base.yaml", YAML + "  software: {mtbf: 40 h}\n")
    text = (
        "extends: ./base.yaml\njob: {gpus: 16}\nfailures:\n  software:\n  node: {count: 3, exposure: 100 node-days}\n"
    )
    child = load(write(tmp_path, "child.yaml", text))
    assert child.to_dict() == {
        "schema_version": 1,
        "job": {"gpus": 16, "work": "30 d"},
        "checkpoint": {"interval": "30 min", "write_time": "60 s"},
        "failures": {"node": {"count": 3, "exposure": "100 node-days"}},
    }


def test_errors_of_a_family_point_to_the_file_that_is_wrong(tmp_path: Path) -> None:
    base = write(tmp_path, "base.yaml", YAML.replace("60 s", "60"))
    child = write(tmp_path, "child.yaml", "\nextends: base.yaml\njob:\n  gpus: -1\n")
    assert f"{child}:4: job.gpus" in refusal(child)
    assert f"{base}:5: checkpoint.write_time" in refusal(child)
    write(tmp_path, "child.yaml", "\nextends: base.yaml\njob:\n  gpus: 1\n")
    assert refusal(child).startswith(f"{base}:5: checkpoint.write_time")
    write(tmp_path, "child.yaml", "extends: base.yaml\nfailures: {nod: null}\n")
    assert f"{child}:2: failures.nod: expected an entry to remove" in refusal(child)


def test_extends_that_lead_nowhere(tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")
    write(tmp_path, "one.yaml", "extends: two.yaml\n")
    write(tmp_path, "two.yaml", "\nextends: ./one.yaml\n")
    assert refusal(one).startswith(f"{two}:2: extends")
    assert "one.yaml -> two.yaml -> one.yaml" in refusal(one)
    assert f"{one}:1: extends: " in refusal(write(tmp_path, "one.yaml", "extends: gone.yaml\n"))
    assert "did you mean 'rsc-1'?" in refusal(write(tmp_path, "one.yaml", "extends: rsc1\n"))
    assert "found 3" in refusal(write(tmp_path, "one.yaml", "extends: 3\n"))


def test_overrides_take_the_place_of_rival_forms() -> None:
    scenario = load(BASE).replace(
        {
            "failures.node.mtbf": "3 h",
            "checkpoint.storage_bandwidth": "100 GB/s",
            "checkpoint.parameters": "405e9",
            "checkpoint.bytes_per_parameter": 12,
            "recovery.restore.lognormal.median": "2 min",
            "failures.software": None,
        }
    )
    tree = scenario.to_dict()
    assert tree["failures"] == {"node": {"detection": "5 min", "mtbf": "3 h"}}
    assert "write_time" not in tree["checkpoint"]
    assert tree["recovery"]["restore"] == {"lognormal": {"cv": 1.5, "median": "2 min"}}
    assert "storage_bandwidth" not in scenario.replace({"checkpoint.write_time": "1 s"}).to_dict()["checkpoint"]
    assert scenario.replace(
        {"recovery.restore": {"gamma": {"mean": "1 s", "cv": 1}}}
    ).spec.recovery.restore == Distribution("gamma", (1.0, 1.0))


def test_overrides_read_text_as_yaml() -> None:
    scenario = load("rsc-1", {"job.gpus": "12288", "recovery.queue_wait": "{exponential: {mean: 5 min}}"})
    assert scenario.spec.job.gpus == 12288.0
    assert scenario.spec.recovery.queue_wait == Distribution("exponential", (300.0,))
    assert load(BASE, {"job.horizon": "null"}).spec.job.horizon is None


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("checkpoint.write_tme", "1 s", "did you mean 'checkpoint.write_time'?"),
        ("failures.nod.rate", "1 / job-day", "did you mean 'failures.node.rate'?"),
        ("failures.new.rate", "1 / job-day", "set a new cause as a whole, 'failures.new={rate: ...}'"),
        ("recovery.spares.cuont", 3, "did you mean 'recovery.spares.count'?"),
        ("recovery.restore.gamma.mean", "1 s", "expected a known field"),
        ("", "1 s", "expected a known field"),
        ("checkpoint.write_time", 10, "override: checkpoint.write_time: expected a duration"),
        ("job", 5, "expected a mapping"),
        ("failures.ndoe", None, "expected"),
    ],
)
def test_overrides_refused(path: str, value: object, words: str) -> None:
    assert words in refusal(BASE, {path: value})


def test_two_rival_overrides_are_refused() -> None:
    assert "rival" in refusal(BASE, {"failures.node.rate": "1 / job-day", "failures.node.mtbf": "1 h"})


def test_replace_leaves_the_original_alone() -> None:
    scenario = load(BASE)
    before = scenario.to_dict()
    scenario.replace({"job.gpus": 8, "failures.node.mtbf": "1 h"})
    assert scenario.to_dict() == before


def test_sources_follow_the_values_that_are_still_the_presets() -> None:
    scenario = load("rsc-1")
    paths = {path for path, _, _ in scenario.assumed()}
    assert "job.gpus" in paths
    changed = scenario.replace({"job.gpus": 1024, "failures.node.mtbf": "3 h"})
    assert "job.gpus" not in {path for path, _, _ in changed.assumed()}
    assert "failures.node.rate" not in changed.sources
    assert "checkpoint.write_time" in changed.sources
    assert load({"extends": "rsc-1", "job": {"gpus": 8}}).sources.keys() == scenario.sources.keys() - {"job.gpus"}
