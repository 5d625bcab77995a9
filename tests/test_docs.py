"""Every scenario of docs/model.md is sound, and lives a short life in the reference engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mcettr
from mcettr.cli import main

TEXT = (Path(__file__).parents[1] / "docs" / "model.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def title(block: str) -> str:
    """Return the bold words that stand before a block."""
    before = re.findall(r"\*\*(.+?)\*\*|^## (.+)$", TEXT[: TEXT.index(block)], re.MULTILINE)
    return next((bold or heading for bold, heading in reversed(before)), "start")


@pytest.fixture
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    (tmp_path / "job.yaml").write_text(BLOCKS[0], encoding="utf-8")
    path = tmp_path / "example.yaml"
    path.write_text(request.param, encoding="utf-8")
    return path


@pytest.mark.parametrize("written", BLOCKS, ids=title, indirect=True)
def test_example_is_sound_and_runs(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(written), "--quiet"]) == 0
    job = mcettr.load(str(written))
    given = job.to_dict()["job"]
    short = {"job.work": "1 d", "job.horizon": "4 d"} if "horizon" in given else {}
    job = job.replace(short | ({"job.saved": "1 h"} if "saved" in given else {}))
    result = mcettr.simulate(job, timelines=16, engine="reference")
    assert 0.1 < float(result.ettr) < 1.0


def test_every_section_has_an_example() -> None:
    sections = (
        "bad_probability local uncertainty count over_eviction silent slow preemption every lifetime profile repeat"
        " incidents lemons startup start_failure data_fast_forward spares replica_groups max_attempt maintenance"
        " preflight periodic read_bandwidth"
    )
    missing = [name for name in sections.split() if not any(name in block for block in BLOCKS)]
    assert not missing
