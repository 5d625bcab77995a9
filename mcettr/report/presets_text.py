"""Presets as text, as a scenario file and as objects for JSON."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from mcettr.report.text import paragraph
from mcettr.scenario import Preset, load


def list_text(presets: Sequence[Preset], width: int = 80) -> str:
    """Return the names and titles of presets, one paragraph each."""
    longest = max(len(preset.name) for preset in presets)
    indent = " " * (longest + 2)
    return "\n".join(paragraph(f"{preset.name:<{longest}}  {preset.title}", width, indent) for preset in presets)


def preset_text(presets: Sequence[Preset], width: int = 80) -> str:
    """Return presets in full: each value with its status, its source and what to know about it."""
    return "\n\n".join(_one(preset, width) for preset in presets)


def _one(preset: Preset, width: int) -> str:
    scenario = load(preset.name)
    lines = [paragraph(f"{preset.name}: {preset.title}", width), ""]
    for path, source in preset.fields.items():
        lines.append(f"{path} = {scenario.text_at(path)}")
        lines.append(paragraph(f"    {source.status}: {source.source}", width, "    "))
        if source.note:
            lines.append(paragraph(f"    note: {source.note}", width, "    "))
    lines.append("")
    lines += [paragraph(f"- {text}", width, "  ") for text in preset.notes]
    return "\n".join(lines).rstrip()


def preset_yaml(preset: Preset) -> str:
    """Return a preset as a scenario file, the source of each value as a comment in front."""
    scenario = load(preset.name)
    stream = io.StringIO()
    stream.write(f"# {preset.title}\n")
    for path, source in preset.fields.items():
        stream.write(f"# {path}: {source.status}; {' '.join(source.source.split())}\n")
    stream.write(scenario.to_yaml())
    return stream.getvalue()


def preset_object(preset: Preset) -> dict[str, Any]:
    """Return a preset as an object for JSON: its scenario, and status and source by path."""
    scenario = load(preset.name)
    fields = {
        path: {"value": scenario.text_at(path), "status": f.status, "source": f.source, "note": f.note}
        for path, f in preset.fields.items()
    }
    return {
        "name": preset.name,
        "title": preset.title,
        "scenario": scenario.to_dict(),
        "fields": fields,
        "notes": list(preset.notes),
    }
