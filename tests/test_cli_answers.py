"""The commands solve, optimize, check, presets and doctor: what they answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import run_here

import mcettr
from tests.cli_output import Capture, parsed


def test_solve_answers_with_an_interval(capsys: Capture, tmp_path: Path) -> None:
    options = ("--set", "job.gpus=12288", "--vary", "checkpoint.write_time", "--target", "ettr=0.9")
    path = tmp_path / "a.json"
    code, out, _ = run_here(capsys, "solve", "rsc-1", *options, "--timelines", "256", "--json", "-o", str(path))
    tree = parsed(out)
    assert code == 0
    assert tree["value"]["low"] < 21.0 < tree["value"]["high"] + 1.0
    assert tree["value"]["unit"] == tree["unit"] == "s"
    assert tree["feasible"] is True
    assert {"achieved", "checkpoint_interval_s", "reason", "table"} <= set(tree)
    written = parsed(path.read_text(encoding="utf-8"))
    assert written.pop("dataset")["attrs"]["title"] == "mcettr answer"
    assert written == tree
    text = run_here(capsys, "solve", "rsc-1", *options, "--timelines", "256")[1]
    assert text.startswith("checkpoint.write_time = 2")
    assert "95 % interval" in text


def test_solve_says_why_nothing_helps(capsys: Capture) -> None:
    options = ("--set", "job.gpus=131072", "--vary", "checkpoint.write_time", "--target=ettr=0.9", "--timelines=64")
    code, out, err = run_here(capsys, "solve", "rsc-1", *options)
    assert code == 1
    assert "is met with no checkpoint.write_time that was simulated, from 1 ms to 5 min: 0.69" in " ".join(out.split())
    assert "no answer" not in err
    code, out, err = run_here(capsys, "solve", "rsc-1", *options, "--json")
    assert code == 1
    assert "no answer: ettr >= 0.9" in err
    assert (parsed(out)["feasible"], parsed(out)["value"]) == (False, None)


def test_optimize_gives_the_range_that_is_nearly_as_good(capsys: Capture) -> None:
    options = ("--set", "job.gpus=12288", "--vary", "checkpoint.interval", "--timelines", "256")
    code, out, _ = run_here(capsys, "optimize", "rsc-1", *options, "--json")
    tree = parsed(out)
    assert code == 0
    assert tree["value"]["low"] < 34.2 * 60 < tree["value"]["high"]
    text = run_here(capsys, "optimize", "rsc-1", *options)[1]
    assert "is within 0.2 points of the best" in " ".join(text.split())


def test_optimize_of_a_hopeless_job_is_no_answer(capsys: Capture) -> None:
    options = ("--set", "failures.node.rate=1000 / node-day", "--vary", "checkpoint.interval", "--timelines", "64")
    code, out, _ = run_here(capsys, "optimize", "rsc-1", *options)
    assert code == 1
    assert out.startswith("no value gives any kept work")
    code, out, err = run_here(capsys, "optimize", "rsc-1", *options, "--json")
    assert (code, parsed(out)["feasible"], parsed(out)["unit"]) == (1, False, "s")
    assert "no answer: no value gives any kept work" in err


def test_check_derives_without_simulation(capsys: Capture) -> None:
    changes = ("--set", "job.gpus=12000", "--set", "checkpoint.write_time=10 s")
    code, out, _ = run_here(capsys, "check", "rsc-1", *changes, "--json")
    tree = parsed(out)
    assert code == 0
    assert tree["ettr"] == pytest.approx(0.9215, abs=1e-4)
    assert tree["mttf_s"] == pytest.approx(86400 * 1000 / 6.5 / 1500)
    assert tree["exact"] is True
    assert sum(tree["time_fraction"].values()) == pytest.approx(1.0)
    assert tree["hpca25"]["trusted"] is True
    text = run_here(capsys, "check", "rsc-1")[1]
    assert "ETTR, exact" in text
    assert "failures.node.detection = 0 s: not separated" in text


def test_check_says_where_closed_forms_end(capsys: Capture) -> None:
    code, out, _ = run_here(capsys, "check", "llama3-405b")
    assert code == 0
    assert "No closed form is exact for it: the rates of gpu and 17 more causes are uncertain" in " ".join(out.split())
    code, out, _ = run_here(capsys, "check", "rsc-1", "--set", "failures.node.detection=never")
    assert code == 0
    assert "No closed form is exact for it: the detection or diagnosis of node has no finite mean" in " ".join(
        out.split()
    )
    tree = parsed(run_here(capsys, "check", "rsc-1", "--set", "failures.node.detection=never", "--json")[1])
    assert tree["ettr"] is None
    assert "no finite mean" in tree["reason"]


def test_check_does_not_trust_the_first_order_form_too_far(capsys: Capture) -> None:
    out = run_here(capsys, "check", "rsc-1", "--set", "job.gpus=131072")[1]
    assert "not to be trusted here" in " ".join(out.split())


def test_presets_are_listed_and_shown_with_sources(capsys: Capture) -> None:
    out = run_here(capsys, "presets", "--quiet")[1]
    assert all(name in out for name in ("rsc-1", "llama3-405b", "b200-gke-16"))
    out = run_here(capsys, "presets", "rsc-1")[1]
    assert "failures.node.rate = 6.5 / 1000 node-days" in out
    assert "published: arXiv 2410.21680" in out
    assert len(parsed(run_here(capsys, "presets", "--json")[1])["presets"]) == 8
    assert parsed(run_here(capsys, "presets", "rsc-1", "--json")[1])["fields"]["job.work"]["status"] == "assumed"


def test_a_preset_as_a_file_is_the_same_scenario(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(run_here(capsys, "presets", "llama3-405b", "--yaml")[1], encoding="utf-8")
    assert mcettr.load(str(path)) == mcettr.load("llama3-405b")


def test_doctor_names_versions_devices_and_what_is_missing(capsys: Capture) -> None:
    code, out, _ = run_here(capsys, "doctor", "--json")
    tree = parsed(out)
    assert code == 0
    assert (tree["packages"]["mcettr"] or "unknown") == mcettr.__version__  # a source tree need not be installed
    assert tree["devices"][0]["name"] == "cpu"
    assert tree["cpus"] >= 1
    assert all({"name", "for", "install"} == set(item) for item in tree["missing"])
    text = run_here(capsys, "doctor", "--quiet")[1]
    assert "Device cpu" in text
    assert max(map(len, text.splitlines())) <= 80
