"""Loading: presets, files and mappings, and one-line errors that say where."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcettr.errors import ScenarioError
from mcettr.scenario import load, preset_names
from tests.scenario_texts import BASE, YAML, refusal, with_value, write


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
        ("    rate:", "    repeat: {}\n    rate:", "8: failures.node.repeat.probability", "add 'probability: 0.25'"),
        ("schema_version: 1", "incidents: {rate: 1 / 10 days}", "1: incidents.mean_duration", "expected a value"),
        ("schema_version: 1", "recovery: {max_attempt: 7}", "1: recovery.max_attempt", "without a unit"),
        ("schema_version: 1", "recovery: {spares: {cuont: 3}}", "1: recovery.spares.cuont", "did you mean"),
        ("  node:", "  horizon:", "7: failures.horizon", "another name"),
        ("  node:", "  a.b:", "failures", "letters, digits, - and _"),
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


def test_all_errors_are_reported_in_the_order_of_the_lines(tmp_path: Path) -> None:
    text = YAML.replace("1024", "-1").replace("60 s", "5").replace("30 d", "30 d\n  gpuss: 8") + "  two: {rate: 6.5}\n"
    path = write(tmp_path, "bad.yaml", text + "lemons: {cause: nodes, fraction: 0.1}\nxx: 3\n")
    with pytest.raises(ScenarioError) as caught:
        load(path)
    found = [(one.file, one.line, one.path) for one in caught.value.errors]
    assert found == [
        (path, 3, "job.gpus"),
        (path, 5, "job.gpuss"),
        (path, 6, "checkpoint.write_time"),
        (path, 10, "failures.two.rate"),
        (path, 11, "lemons.cause"),
        (path, 11, "lemons.multiplier"),
        (path, 12, "xx"),
    ]
    assert str(caught.value).count("\n") == 6


def test_a_misspelt_key_is_one_mistake() -> None:
    tree = with_value("job.gpus", 8)
    tree["job"]["gpu"] = tree["job"].pop("gpus")
    assert refusal(tree).endswith("did you mean 'gpus'?")


def test_a_norwegian_cause_is_a_cause(tmp_path: Path) -> None:
    scenario = load(write(tmp_path, "no.yaml", YAML.replace("  node:", "  no:")))
    assert list(scenario.spec.failures) == ["no"]
