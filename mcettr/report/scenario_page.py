"""docs/scenario.md, made from the schema: how a scenario and a sweep file are written, and what results are called."""

from __future__ import annotations

from mcettr.model.metrics import COORDINATES, MEANINGS
from mcettr.scenario import kinds
from mcettr.scenario.catalogue import Chapter, Entry, chapters
from mcettr.scenario.json_schema import json_schema
from mcettr.scenario.kinds import Kind

_HEAD = """\
# Scenario files

Made by `mcettr fields --markdown` from the schema that reads the files; do not edit. `mcettr fields PATH` shows a field
in the terminal, `mcettr init > job.yaml` writes a scenario to start from, `mcettr schema > mcettr.json` writes the JSON
Schema with which editors complete and check YAML: in VS Code with the YAML extension, begin a file with

```yaml
# yaml-language-server: $schema=./mcettr.json
```

What each mechanism does, with its formulas: [model.md](model.md).

A file is YAML 1.2, or TOML with the same names. It holds sections; a section or a field that is left out is off, or has
its default. With `extends: NAME` it changes a preset (`mcettr presets` lists them) or another file (with `/` or an
ending, as in `extends: ./base.yaml`): mappings are merged key by key, distributions are replaced as a whole, `null`
takes an entry away, and one of several exclusive forms takes the place of the others (`mtbf` that of `rate`).
`--set PATH=VALUE` does the same for one field, as `--set job.gpus=4096` or
`--set 'failures.node.rate=2 / 1000 node-days'`. `-` in place of a file reads YAML from stdin.

## How values are written

A value has its unit with it; a bare number where a unit is needed is an error. Numbers have a decimal point and no
thousands separators. Names of causes and of startup phases are letters, digits, `-` and `_`.

| kind | forms |
|---|---|
"""
_SWEEP = """\
## Sweep files

A sweep file names a scenario and the fields that vary; every combination of their values is a cell.

| key | meaning |
|---|---|
"""
_SPACINGS = """
An axis is a list (`[1024, 4096]`) or a spacing from a low to a high end with a number of values:
`{geom: [1 s, 10 min, 13]}` in equal ratios, `{lin: [1 / 1000 node-days, 10 / 1000 node-days, 10]}` in equal steps.
"""
_RESULTS = """\
## Names in results

In datasets, files and JSON; `mcettr fields --results` shows them in the terminal. An estimate `X` has its standard
error beside it, as `X_se`. The unit 1 is a bare number. Swept fields are coordinates too, under the last part of their
path (`gpus`, `write_time`).

| name | unit | meaning |
|---|---|---|
"""
_SHOWN: tuple[Kind, ...] = (
    kinds.DURATION, kinds.LAW, kinds.RATE, kinds.SHARE, kinds.WORK, kinds.EXPOSURE, kinds.BANDWIDTH, kinds.COUNT,
    kinds.NODE_COUNTS, kinds.STARTUP, kinds.REPAIR, kinds.PROFILE,
)  # fmt: skip


def scenario_page() -> str:
    """Return docs/scenario.md."""
    parts = [_HEAD + _rows([[kind.name, ", ".join(_code(form) for form in kind.forms)] for kind in _SHOWN])]
    parts += [_section(chapter) for chapter in chapters() if chapter.entries]
    sweep = json_schema()["$defs"]["sweep"]["properties"]
    keys = [[_code(key), text.get("description", "version of this format")] for key, text in sweep.items()]
    parts += [_SWEEP + _rows(keys) + _SPACINGS]
    names = [[_code(name), unit, meaning] for name, (unit, meaning) in {**MEANINGS, **COORDINATES}.items()]
    parts += [_RESULTS + _rows(names)]
    return "\n".join(parts)


def _section(chapter: Chapter) -> str:
    title = f"`{'.'.join(chapter.path)}`" if chapter.path else "The top of the file"
    about = f"{chapter.meaning}\n\n" if chapter.path else ""
    head = f"## {title}\n\n{about}| field | meaning | written as | default | example |\n|---|---|---|---|---|\n"
    return head + _rows([_row(entry) for entry in chapter.entries])


def _row(entry: Entry) -> list[str]:
    default = "required" if entry.required else _code(entry.default) if entry.default else "off"
    return [_code(entry.path[-1]), entry.meaning, entry.kind.name, default, _code(entry.example)]


def _rows(rows: list[list[str]]) -> str:
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)


def _code(text: str) -> str:
    return f"`{text}`"
