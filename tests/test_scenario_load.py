"""Loading: presets, files and mappings; inheritance, overrides, and one-line errors that say where."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcettr.errors import ScenarioError
from mcettr.model.distributions import Distribution, mean
from mcettr.scenario import Scenario, compile_params, load, preset_names
from mcettr.scenario.document import read_yaml
from mcettr.scenario.laws import parse_law
from mcettr.scenario.merge import known_paths

BASE: dict[str, Any] = {
    "job": {"gpus": 1024, "work": "30 d", "horizon": "60 d"},
    "checkpoint": {"interval": "30 min", "write_time": "60 s"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days", "detection": "5 min"}, "software": {"rate": "0.2 / job-day"}},
    "recovery": {"startup": "3 min", "restore": {"lognormal": {"mean": "5 min", "cv": 1.5}}},
}


def with_value(path: str, value: object) -> dict[str, Any]:
    tree = copy.deepcopy(BASE)
    *sections, key = path.split(".")
    inner = tree
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[key] = value
    return tree


def refusal(source: Any, overrides: dict[str, object] | None = None) -> str:
    with pytest.raises(ScenarioError) as caught:
        load(source, overrides)
    text = str(caught.value)
    assert "\n" not in text
    assert "expected" in text
    return text


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_every_preset_loads_and_round_trips() -> None:
    for name in preset_names():
        scenario = load(name)
        assert load(scenario.to_dict()) == scenario, name
        assert set(scenario.sources) == set(scenario.sources) & {p for p in scenario.sources if scenario.text_at(p)}


def test_yaml_text_reads_back(tmp_path: Path) -> None:
    scenario = load(BASE).replace({"failures.hang": {"kind": "hang", "rate": "0.1 / job-day", "detection": "never"}})
    quantiles = scenario.replace({"recovery.queue_wait": {"quantiles": {0.5: "3 min", 0.9: "40 min"}}})
    for case in (scenario, quantiles, load("llama3-405b")):
        again = load(write(tmp_path, "again.yaml", case.to_yaml()))
        assert again == case
        assert hash(again) == hash(case)
        assert list(again.spec.failures) == list(case.spec.failures)


def test_equality_is_by_content_and_not_by_spelling() -> None:
    assert load(BASE) == load(with_value("checkpoint.write_time", "1 min"))
    assert load(BASE) == load(with_value("checkpoint.slowdown", 0))
    assert load(BASE) != load(with_value("checkpoint.write_time", "61 s"))
    assert load(BASE).to_dict()["checkpoint"]["write_time"] == "60 s"


YAML = """\
schema_version: 1
job:
  gpus: 1024
  work: 30 d
checkpoint: {interval: 30 min, write_time: 60 s}
failures:
  node:
    rate: 6.5 / 1000 node-days
"""

TOML = """\
schema_version = 1
[job]
gpus = 1024
work = "30 d"

[checkpoint]
interval = "30 min"
write_time = "60 s"

[failures.node]
rate = "6.5 / 1000 node-days"
"""


def test_toml_says_the_same_as_yaml(tmp_path: Path) -> None:
    assert load(write(tmp_path, "a.toml", TOML)) == load(write(tmp_path, "a.yaml", YAML)) == load(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("gpus: 1024", "gpu: 1024", "3: job.gpu", "did you mean 'gpus'?"),
        ("gpus: 1024", "gpus: 0", "3: job.gpus", "positive whole number"),
        ("gpus: 1024", "gpus: 8.5", "3: job.gpus", "positive whole number"),
        ("gpus: 1024", "gpus: .nan", "3: job.gpus", "found nan"),
        ("gpus: 1024", "gpus: yes", "3: job.gpus", "found 'yes'"),
        ("gpus: 1024", "gpus:", "3: job.gpus", "found nothing"),
        ("work: 30 d", "work: 30", "4: job.work", "without a unit; write '30 d'"),
        ("work: 30 d", "", "2: job", "expected work or horizon, found neither"),
        ("write_time: 60 s", "write_time: -1 s", "5: checkpoint.write_time", "negative"),
        ("write_time: 60 s", "write_time: 60 GB", "5: checkpoint.write_time", "a size"),
        ("interval: 30 min", "interval: 0 s", "5: checkpoint.interval", "above 0"),
        ("write_time: 60 s", "write_time: 60 s, slowdown: 1.5", "5: checkpoint.slowdown", "from 0 to 1"),
        ("write_time: 60 s", "write_time: 60 s, stall: half", "5: checkpoint.stall", "'full', a duration or a share"),
        ("write_time: 60 s", "write_time: 60 s, keep: 0", "5: checkpoint.keep", "positive whole number"),
        ("    rate:", "    mtbf: 3 h\n    rate:", "7: failures.node", "found rate and mtbf"),
        ("    rate:", "    count: 3\n    rate:", "7: failures.node", "found rate and count"),
        ("rate: 6.5 / 1000 node-days", "count: 3", "7: failures.node", "no exposure"),
        ("rate: 6.5 / 1000 node-days", "exposure: 3 node-days", "7: failures.node", "no count"),
        ("rate: 6.5 / 1000 node-days", "detection: 1 s", "7: failures.node", "none of them"),
        ("rate: 6.5 / 1000 node-days", "rate: 6.5", "8: failures.node.rate", "write '6.5 / 1000 node-days'"),
        ("rate: 6.5 / 1000 node-days", "rate: 1 / 10 domain-days", "7: failures.node", "nodes_per_domain"),
        ("rate: 6.5 / 1000 node-days", "kind: slient\n    rate: 1 / node-day", "8: failures.node.kind", "crash, hang"),
        ("    rate:", "    repeat: {}\n    rate:", "8: failures.node.repeat.probability", "add 'probability'"),
        ("schema_version: 1", "incidents: {rate: 1 / 10 days}", "1: incidents.mean_duration", "expected a value"),
        ("schema_version: 1", "recovery: {max_attempt: 7}", "1: recovery.max_attempt", "without a unit"),
        ("schema_version: 1", "recovery: {spares: {cuont: 3}}", "1: recovery.spares.cuont", "did you mean"),
        ("  node:", "  horizon:", "7: failures.horizon", "another name"),
        ("  node:", "  a.b:", "failures", "without dots"),
        ("failures:\n  node:", "failures:\n  node: {mtbf: 1 h}\n  node:", "8: failures.node", "duplicated cause"),
        ("job:\n", "job:\n  gpus: 8\n", "4: job.gpus", "duplicated key"),
        ("schema_version: 1", "schema_version: 2", "1: schema_version", "expected 1, found 2"),
        ("schema_version: 1", "spares: {count: 3}", "1: spares", "known key"),
        ("schema_version: 1", "extend: rsc-1", "1: extend", "did you mean 'extends'?"),
        ("schema_version: 1", "recovery: {restore: never}", "1: recovery.restore", "only a detection"),
        ("schema_version: 1", "recovery: {read_bandwidth: 1 GB/s}", "1: recovery.read_bandwidth", "bytes_per_param"),
        ("schema_version: 1", "recovery: {startup: {a: {gamma: {mean: 5}}}}", "recovery.startup.a.gamma", "cv"),
        ("schema_version: 1", "a: [1", ".yaml:", "expected YAML"),
        ("schema_version: 1", "a: &x [*x]", ":1:", "nesting"),
        ("schema_version: 1", "a: !!python/object:os.system x", "1:", "plain value"),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_field(tmp_path: Path, old: str, new: str, where: str, words: str) -> None:
    assert old in YAML
    path = write(tmp_path, "bad.yaml", YAML.replace(old, new))
    text = refusal(path)
    assert text.startswith(f"{path}:")
    assert where in text
    assert words in text


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ('write_time = "60 s"', "write_time = 60", "8: checkpoint.write_time", "without a unit"),
        ("rate =", "rte =", "11: failures.node.rte", "did you mean 'rate'?"),
        ("gpus = 1024", "gpus = ", ":3:", "expected TOML"),
        ("gpus = 1024", "gpus = 1024\ngpus = 8", ":4:", "expected TOML"),
    ],
)
def test_toml_errors_name_the_line(tmp_path: Path, old: str, new: str, where: str, words: str) -> None:
    path = write(tmp_path, "bad.toml", TOML.replace(old, new))
    text = refusal(path)
    assert text.startswith(path)
    assert where in text
    assert words in text


def test_what_is_no_scenario_at_all(tmp_path: Path) -> None:
    assert "found a list" in refusal(write(tmp_path, "list.yaml", "- 1\n- 2\n"))
    assert "an empty file" in refusal(write(tmp_path, "empty.yaml", "# nothing\n"))
    assert "readable file" in refusal(str(tmp_path / "missing.yaml"))
    assert "readable file" in refusal(f"{tmp_path}/")
    assert "did you mean 'rsc-1'?" in refusal("rsc1")
    assert "expected a preset name, a file or a mapping, found 42 (int)" in refusal(42)
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    assert "UTF-8" in refusal(tmp_path / "latin.yaml")


def test_the_first_error_is_reported_and_the_others_counted() -> None:
    tree = with_value("job.gpus", -1)
    tree["checkpoint"]["write_time"] = 5
    assert refusal(tree).endswith("(and 1 more)")


def test_a_norwegian_cause_is_a_cause(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, "no.yaml", YAML.replace("  node:", "  no:")))
    assert list(scenario.spec.failures) == ["no"]


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
        ({"mixture": [["1 s"]]}, "[weight, law]"),
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


@given(st.integers(1, 10**6), st.floats(0.001, 1e4), st.sampled_from(["s", "min", "h", "d"]))
def test_any_scenario_survives_its_own_text(gpus: int, time: float, unit: str) -> None:
    tree = with_value("job.gpus", gpus)
    tree["checkpoint"]["write_time"] = f"{time!r} {unit}"
    scenario = load(tree)
    assert load(scenario.to_dict()) == scenario
    assert isinstance(scenario, Scenario)
    assert scenario.to_dict()["checkpoint"]["write_time"] == f"{time!r} {unit}"


def test_importing_and_compiling_loads_neither_jax_nor_xarray() -> None:
    code = (
        "import sys; from mcettr.scenario import load, compile_params; compile_params(load('rsc-1'));"
        "print(*(name for name in ('jax', 'xarray', 'pandas', 'numba') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["5 min", "0 s", "never", "auto", "full", "10 %", "1 / node-day", "3 gpu-hours", "2 TB", "1e-200 s"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=5), inner, max_size=2),
        st.dictionaries(st.sampled_from(["mean", "cv", "shape", "0.5", "0.9"]), inner, max_size=3),
        st.dictionaries(st.sampled_from(["gamma", "weibull", "uniform", "quantiles", "mixture"]), inner, max_size=1),
    ),
    max_leaves=6,
)


LEAVES = ("job.gpus", "checkpoint.stall", "failures.node.rate", "failures.node.every", "recovery.startup", "job")


def problem(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except ScenarioError as error:
        return str(error)
    return ""


@given(st.sampled_from(known_paths(BASE)), VALUES)
def test_anything_in_any_place_is_read_or_refused_in_one_line(path: str, value: object) -> None:
    assert "\n" not in problem(lambda: compile_params(load(BASE, {path: value})))
    if path in LEAVES:
        assert "\n" not in problem(lambda: compile_params(load(with_value(path, value))))


@given(st.text(alphabet="ab:{}[],&*!#-|>%'\"\n \t1.e~", max_size=40))
def test_any_text_is_a_document_or_an_error_with_its_file(text: str) -> None:
    found = problem(lambda: read_yaml(text, "a.yaml"))
    assert found == "" or found.startswith("a.yaml")
    assert "\n" not in found
