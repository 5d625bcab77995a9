"""What is made from the schema: the list of fields, its page, the JSON Schema, the scenario to start from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mcettr.errors import ScenarioError
from mcettr.model.metrics import RESULT_NAMES
from mcettr.report.fields_text import fields_text, found_chapters, result_names, results_text
from mcettr.report.scenario_page import scenario_page
from mcettr.scenario import compile_grid, load, preset_names, read_preset
from mcettr.scenario.catalogue import CAUSE, Entry, entries
from mcettr.scenario.document import parse_scalar, read_yaml
from mcettr.scenario.json_schema import json_schema
from mcettr.scenario.template import template
from mcettr.scenario.validate import validate
from mcettr.sweep.spec import load_sweep

ROOT = Path(__file__).parents[1]
CHECKER = jsonschema.Draft202012Validator(json_schema())
BASE: dict[str, Any] = {"job": {"gpus": 8, "work": "30 d"}, "failures": {"node": {"rate": "1 / 1000 node-days"}}}


def wrong(tree: object) -> list[str]:
    return [error.message for error in CHECKER.iter_errors(tree)]


def with_field(path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a scenario in which one field has a value; other faults of it do not matter."""
    tree: dict[str, Any] = {"job": dict(BASE["job"]), "failures": {"node": dict(BASE["failures"]["node"])}}
    section = tree
    for key in path[:-1]:
        section = section.setdefault("node" if key == CAUSE else key, {})
    section[path[-1]] = value
    return tree


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.dotted)
def test_every_field_says_what_it_is_and_its_examples_are_read(entry: Entry) -> None:
    assert entry.meaning, f"{entry.dotted} has no Field(description=...)"
    assert entry.example, f"{entry.dotted} has no Field(examples=[...])"
    assert entry.kind.name != "value", f"the type of {entry.dotted} names no kind of kinds.py"
    assert not entry.meaning.endswith(".")
    path = tuple("node" if key == CAUSE else key for key in entry.path)
    defaults = [entry.default] if entry.default and entry.default != "no limit" else []
    for text in (entry.example, *defaults, *entry.kind.forms):
        tree = with_field(entry.path, parse_scalar(text))
        found = validate(tree)
        assert not isinstance(found, list) or all(fault.path[: len(path)] != path for fault in _of_value(found)), text
        assert not any("is not valid under any" in message for message in wrong({**tree, "extends": "rsc-1"})), text


def _of_value(faults: list[Any]) -> Iterator[Any]:
    """Yield the faults that are about a value, not about fields that cannot stand together or causes not there."""
    for fault in faults:
        if not re.search(
            "together|with it, found none|expected a size to read|for kind .* only|expected a cause of failures",
            fault.message,
        ):
            yield fault


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("job.gpus", 0),
        ("job.gpus", 8.5),
        ("job.gpus", "12,288"),
        ("job.work", 30),
        ("job.gpuss", 8),
        ("checkpoint.stall", 5),
        ("failures.node.rate", 6.5),
        ("failures.node.rate", "6.5"),
        ("failures.node.kind", "slient"),
        ("failures.a b", {"mtbf": "1 h"}),
        ("recovery.restore", {"gama": {"mean": "5 min", "cv": 1}}),
        ("recovery.restore", {"gamma": {"men": "5 min", "cv": 1}}),
        ("recovery.spares.repair", {"fast": {"mean": "1 h"}}),
        ("lemons.fraction", 2),
        ("spares", {"count": 3}),
    ],
)
def test_the_json_schema_refuses_what_the_reader_refuses(path: str, value: object) -> None:
    tree = with_field(tuple(path.split(".")), value)
    assert isinstance(validate(tree), list)
    assert wrong(tree)


def test_the_json_schema_asks_for_what_is_missing_unless_it_is_inherited() -> None:
    assert wrong({"job": {"work": "30 d"}})
    assert not wrong({"extends": "rsc-1", "job": {"work": "30 d", "horizon": None}, "checkpoint": None})
    assert wrong({"job": {"gpus": 8, "work": "30 d"}, "incidents": {"multiplier": 8}})
    assert wrong({"scenario": "rsc-1"})
    assert wrong({"scenario": "rsc-1", "axes": {"job.gpus": 8}})


def test_the_json_schema_takes_all_that_ships() -> None:
    for name in preset_names():
        assert not wrong(read_preset(name).scenario), name
        assert not wrong(load(name).to_dict()), name
    files = [*(ROOT / "sweeps").glob("*.yaml"), *(ROOT / "tests" / "cases").glob("*.yaml")]
    assert files
    for path in files:
        assert not wrong(read_yaml(path.read_text(encoding="utf-8"), str(path)).tree), path.name
    blocks = [
        block
        for page in ("README.md", "docs/model.md")
        for block in re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(blocks) > 20
    for block in blocks:
        assert not wrong(read_yaml(block, "block").tree), block
    CHECKER.check_schema(json_schema())


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    assert page == scenario_page(), "write it anew: mcettr fields --markdown > docs/scenario.md"
    assert all(f"`{entry.path[-1]}`" in page for entry in entries())
    assert all(f"`{name}`" in page for name in RESULT_NAMES)


def test_fields_are_found_by_path_by_name_and_by_meaning() -> None:
    assert [c.path for c in found_chapters("checkpoint.local")] == [("checkpoint", "local")]
    assert [e.dotted for c in found_chapters("stall") for e in c.entries] == [
        "checkpoint.stall",
        "checkpoint.local.stall",
    ]
    assert "recovery.queue_wait" in [e.dotted for c in found_chapters("scheduler") for e in c.entries]
    assert "written as" in fields_text(found_chapters("job.work"), 80)
    with pytest.raises(ScenarioError, match="did you mean 'write_time'"):
        found_chapters("checkpoint.wrte_time")
    assert list(result_names("ettr_occupied")) == ["ettr_occupied"]
    with pytest.raises(ScenarioError, match="expected the name of a result"):
        result_names("nonsense")


@pytest.mark.parametrize("width", [40, 80])
def test_texts_fit_the_width(width: int) -> None:
    for text in (fields_text(found_chapters(None), width), results_text(result_names(None), width)):
        assert max(map(len, text.splitlines())) <= width


def test_the_scenario_to_start_from_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(template(), encoding="utf-8")
    scenario = load(path)
    assert compile_grid(scenario, {}).warnings == ()
    assert not wrong(scenario.to_dict())
    assert all(re.search(rf"\b{entry.path[-1]}:", template()) for entry in entries())


def _off_sections() -> list[list[int]]:
    """Return the lines of each section that the template has switched off, from its name to its last field."""
    lines = template().splitlines()
    sections = []
    headings: dict[int, int] = {}
    for start, line in enumerate(lines):
        if re.match(r"\w", line):
            headings = {}
        if re.fullmatch(r"#- *\w+:", line):
            depth = len(line) - len(line[2:].lstrip()) - 2
            headings = {d: at for d, at in headings.items() if d < depth} | {depth: start}
            chosen = list(headings.values())
            for at in range(start + 1, len(lines)):
                text = lines[at][2:] if lines[at].startswith("#-") else lines[at]
                if text.strip() and not text.lstrip().startswith("#") and len(text) - len(text.lstrip()) <= depth:
                    break
                chosen += [at] * (lines[at].startswith("#-") and "repair_failure" not in lines[at])  # needs a repeat
            sections.append(chosen)
    return sections


@pytest.mark.parametrize("chosen", _off_sections(), ids=lambda chosen: template().splitlines()[chosen[0]].strip("#- :"))
def test_each_section_that_is_off_can_be_switched_on(chosen: list[int]) -> None:
    lines = template().splitlines()
    on = "\n".join(line.removeprefix("#-") if at in chosen else line for at, line in enumerate(lines))
    tree = read_yaml(on, "job.yaml").tree
    if "local" in tree["checkpoint"]:
        tree["checkpoint"]["interval"] = "30 min"
    if "replica_groups" in tree["recovery"]:
        assert "spares" not in tree["recovery"]
    compile_grid(load(tree), {})


def test_sweeps_beside_the_schema_are_read(tmp_path: Path) -> None:
    tree = "scenario: rsc-1\naxes: {job.gpus: {geom: [1024, 4096, 3]}, recovery.restore: [1 min, 2 min]}\nseed: 3\n"
    (tmp_path / "s.yaml").write_text(tree, encoding="utf-8")
    assert load_sweep(tmp_path / "s.yaml").seed == 3
    assert not wrong(read_yaml(tree, "s.yaml").tree)
