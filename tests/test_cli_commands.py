"""Every command: what it prints, its JSON, its files, its exit codes."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import SHORT_JOB, SMALL, run_here, small_job

import mcettr
from mcettr.cli.progress import progress
from mcettr.engine.device import Device
from mcettr.errors import DeviceError
from mcettr.model.budget import ACTIVITIES
from mcettr.report import read_result

Capture = pytest.CaptureFixture[str]
SWEEP = """
scenario: rsc-1
set: {job.work: 2 d, job.horizon: 6 d}
axes:
  job.gpus: [1024, 4096]
  checkpoint.write_time: {geom: [1 s, 100 s, 3]}
deadlines: [3 d]
timelines: 64
seed: 3
"""


def parsed(text: str) -> Any:
    """Return the one JSON object that a text is, refusing what JSON does not know."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    assert "\x1b" not in text
    return json.loads(text, parse_constant=refuse)


def test_run_prints_the_contract_as_json(capsys: Capture) -> None:
    code, out, err = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *SMALL, "--deadline", "3 d", "--json", "--quiet")
    assert (code, err) == (0, "")
    tree = parsed(out)
    names = (
        "ettr ettr_occupied ettr_timeline time_fraction lost_gpu_hours interruptions interruptions_by_cause completion"
        " completion_time_s elapsed_s gpu_hours checkpoints_written mttf_s finished_fraction capped_fraction"
        " checkpoint_interval_s timelines seed scenario provenance"
    )
    assert set(names.split()) <= set(tree)
    for name in ("ettr", "ettr_occupied", "interruptions", "elapsed_s", "gpu_hours", "checkpoints_written"):
        assert set(tree[name]) == {"value", "se"}
    assert set(tree["ettr_timeline"]) == {"mean", "sd", "quantiles"}
    assert list(tree["time_fraction"]) == list(ACTIVITIES)
    assert set(tree["lost_gpu_hours"]) == {"start", "node", "checkpoint", "planned", "horizon"}
    assert set(tree["lost_gpu_hours"]["node"]["rework"]) == {"value", "se"}
    assert set(tree["interruptions_by_cause"]) == {"node"}
    assert set(tree["completion"]["3 d"]) == {"probability", "low", "high"}
    assert list(tree["completion_time_s"]) == ["0.5", "0.8", "0.9", "0.95", "0.99"]
    assert tree["interruptions_sd"] > 0
    assert (tree["timelines"], tree["seed"]) == (64, 3)
    assert tree["scenario"]["job"]["work"] == "2 d"
    assert tree["ettr"]["value"] == float(small_job().ettr)


def test_run_with_uncertain_rates_tells_the_two_spreads_apart(capsys: Capture) -> None:
    counts = ("--set", "failures.node={count: 100, exposure: 10000 node-days}")
    code, out, _ = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *counts, *SMALL, "--json")
    assert code == 0
    assert {"rate_uncertainty_sd", "run_to_run_sd"} <= set(parsed(out))


def test_run_prints_tables_and_keeps_notes_apart(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wrong_unit = ("--set", "failures.node.rate=0.0065 / 1000 node-days")
    code, out, err = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *wrong_unit, *SMALL, "--deadline", "3 d")
    assert code == 0
    titles = ("ETTR (kept work / elapsed time)", "Where the time goes", "Lost GPU-hours by cause", "Done by a deadline")
    assert all(title in out for title in titles)
    assert "Assumed, not observed: job.gpus = 16384" in out
    assert max(map(len, out.splitlines())) <= 80
    assert out.isascii()
    assert "warning: failures.node.rate: implausibly low: one failure per 421 years" in err
    assert "warning" not in out


def test_the_processor_is_not_worth_a_note(capsys: Capture) -> None:
    for name, lines in (("cpu", ""), ("cuda:0", "mcettr: running on cuda:0 (H)\n")):
        with progress(False, Device(name, "H", True, None)) as report:
            assert report is not None
            report(0.5)
        assert capsys.readouterr().err == lines


def test_quiet_silences_notes(capsys: Capture) -> None:
    wrong_unit = ("--set", "failures.node.rate=0.0065 / 1000 node-days")
    assert run_here(capsys, "run", "rsc-1", *SHORT_JOB, *wrong_unit, *SMALL, "--quiet")[2] == ""
    assert run_here(capsys, "check", "rsc-1", *wrong_unit, "--quiet")[2] == ""


def test_run_of_a_job_that_never_finishes_is_an_answer(capsys: Capture) -> None:
    never = ("--set", "job.gpus=1e6", "--set", "checkpoint.interval=never")
    code, out, err = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *never, *SMALL, "--json")
    tree = parsed(out)
    assert code == 0
    assert tree["finished_fraction"] == 0.0
    assert tree["completion_time_s"]["0.5"] is None
    assert tree["checkpoint_interval_s"] is None
    assert "never finishes" in err
    text = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *never, *SMALL)[1]
    assert "50%    never" in text


def test_run_writes_files_of_every_kind(capsys: Capture, tmp_path: Path) -> None:
    names = [str(tmp_path / f"a{ending}") for ending in (".nc", ".csv", ".xlsx", ".json")]
    outputs = [word for name in names for word in ("-o", name)]
    code, out, _ = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *SMALL, *outputs, "--json")
    assert code == 0
    assert parsed(Path(names[3]).read_text(encoding="utf-8"))["ettr"] == parsed(out)["ettr"]
    ettr = parsed(out)["ettr"]["value"]
    assert [float(read_result(name).ettr) for name in names[:3]] == pytest.approx([ettr] * 3, rel=1e-15)
    assert len(list(tmp_path.iterdir())) == 4


def test_sweep_of_a_file_and_of_axes_are_the_same(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP, encoding="utf-8")
    code, out, _ = run_here(capsys, "sweep", str(path), "--json", "-o", str(tmp_path / "a.nc"))
    axes = ("--axis", "job.gpus=1024,4096", "--axis", "checkpoint.write_time=geom:1 s:100 s:3")
    second = run_here(capsys, "sweep", "rsc-1", *SHORT_JOB, *axes, *SMALL, "--deadline", "3 d", "--json")[1]
    assert code == 0
    tree = parsed(out)
    assert tree["cells"] == parsed(second)["cells"]
    assert [axis["name"] for axis in tree["axes"]] == ["gpus", "write_time"]
    assert [cell["write_time"] for cell in tree["cells"]] == [1.0, 10.0, 100.0] * 2
    assert set(tree["cells"][0]["ettr"]) == {"value", "se"}
    result = read_result(tmp_path / "a.nc")
    assert float(result.ettr.sel(gpus=4096, write_time=10)) == tree["cells"][4]["ettr"]["value"]


def test_options_come_before_those_of_the_file(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP, encoding="utf-8")
    options = ("--timelines", "128", "--seed", "4", "--deadline", "4 d", "--set", "job.work=1 d")
    tree = parsed(run_here(capsys, "sweep", str(path), *options, "--json")[1])
    assert (tree["seed"], tree["cells"][0]["timelines"], list(tree["cells"][0]["completion"])) == (4, 128, ["4 d"])
    assert tree["scenario"]["job"]["work"] == "1 d"


def test_sweep_shows_two_axes_as_a_matrix_and_more_as_lines(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    two = ("--axis", "job.gpus=1024,4096", "--axis", "checkpoint.write_time=geom:1 s:10 s:3")
    out = run_here(capsys, "sweep", "rsc-1", *SHORT_JOB, *two, *SMALL)[1]
    lines = out.splitlines()
    assert lines[0] == "ETTR by gpus (down) and write_time (across)"
    assert lines[1].split() == ["gpus", "1", "s", "3.162", "s", "10", "s"]
    assert "6 cells; largest standard error" in out
    three = (*two, "--axis", "recovery.restore=lin:1 s:8 s:8")
    out = run_here(capsys, "sweep", "rsc-1", *SHORT_JOB, *three, *SMALL)[1]
    assert "The first 40 of 48 cells" in out
    assert max(map(len, out.splitlines())) <= 80


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
    assert parsed(path.read_text(encoding="utf-8")) == tree
    text = run_here(capsys, "solve", "rsc-1", *options, "--timelines", "256")[1]
    assert text.startswith("checkpoint.write_time = 2")
    assert "95 % interval" in text


def test_solve_says_why_nothing_helps(capsys: Capture) -> None:
    options = ("--set", "job.gpus=131072", "--vary", "checkpoint.write_time", "--target=ettr=0.9", "--timelines=64")
    code, out, err = run_here(capsys, "solve", "rsc-1", *options)
    assert code == 1
    assert "with a free checkpoint the ceiling is 0.69" in " ".join(out.split())
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
    assert "Approximate: the rates of gpu and 17 more causes are uncertain" in " ".join(out.split())
    code, out, _ = run_here(capsys, "check", "rsc-1", "--set", "failures.node.detection=never")
    assert code == 0
    assert "No exact ETTR: the detection or diagnosis of node has no finite mean" in " ".join(out.split())
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
    assert tree["packages"]["mcettr"] == mcettr.__version__
    assert tree["devices"][0]["name"] == "cpu"
    assert tree["cpus"] >= 1
    assert all({"name", "for", "install"} == set(item) for item in tree["missing"])
    text = run_here(capsys, "doctor", "--quiet")[1]
    assert "Device cpu" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("run rsc-9", "preset 'rsc-9': expected the name of a preset"),
        ("run none.yaml", "none.yaml: expected a readable file"),
        ("run rsc-1 --set job.gpu=8", "did you mean 'job.gpus'?"),
        ("run rsc-1 --set job.gpus=-8", "job.gpus"),
        ("run rsc-1 --set job.gpus", "--set: expected PATH=VALUE"),
        ("run rsc-1 --set checkpoint.write_time=10", "without a unit"),
        ("run rsc-1 --timelines 0", "timelines: expected a whole number from 1"),
        ("run rsc-1 --timelines many", "--timelines"),
        ("run rsc-1 --precision 1", "precision: expected a standard error"),
        ("run rsc-1 --precision nan", "precision: expected a standard error"),
        ("run rsc-1 --timelines 8 --precision 0.1", "found both"),
        ("run rsc-1 --seed -1", "seed: expected"),
        ("run rsc-1 --seed 18446744073709551616", "seed: expected"),
        ("run rsc-1 --set job.horizon=40d --deadline 41d", "expected at most the horizon"),
        ("run rsc-1 --deadline 41", "--deadline: expected a duration"),
        ("run rsc-1 --device cuda:99", "--device"),
        ("run rsc-1 --device tpu", "--device: expected auto, cpu, cuda"),
        ("run rsc-1 -o a.html", "a.html: expected a file ending in"),
        ("run rsc-1 -o nowhere/a.nc", "expected an existing folder"),
        ("run", "Missing argument"),
        ("run rsc-1 --fast", "No such option"),
        ("simulate rsc-1", "No such command"),
        ("sweep rsc-1", "add --axis"),
        ("sweep rsc-1 --axis job.gpus", "--axis: expected PATH=SPEC"),
        ("sweep rsc-1 --axis job.gpus=", "at least one value"),
        ("sweep rsc-1 --axis job.gpus=8,16 --axis job.gpus=8", "found it twice"),
        ("sweep rsc-1 --axis job.gpus=lin:8:16", "expected lin:LOW:HIGH:N"),
        ("sweep rsc-1 --axis job.gpu=8,16", "job.gpu"),
        ("sweep rsc-1 --axis checkpoint.interval=auto,1h", "--axis checkpoint.interval: expected a value of its own"),
        ("sweep rsc-1 --axis checkpoint.stall=1s,10min", "cell stall=10min"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=1.5", "target: ettr"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=0.9 -o a.nc", "expected a file ending in .json"),
        ("solve rsc-1 --vary job.nodes --target ettr=0.9", "--vary: job.nodes"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=0.9 --confidence 2", "--confidence: expected a"),
        ("solve rsc-1 --vary checkpoint.write_time --target ettr=0.9 --confidence 0.9", "expected uncertain rates"),
        ("solve rsc-1 --vary checkpoint.keep=0:8 --target ettr=0.5", "expected whole numbers LOW:HIGH from 1"),
        ("optimize rsc-1 --vary checkpoint.keep", "find the least that will do with solve"),
        ("optimize rsc-1 --vary checkpoint.interval=1h:1s", "vary"),
        ("check rsc-1 --set failures.node.rate=6.5", "without a unit"),
        ("presets rsc-1 --yaml --json", "--yaml: expected one preset"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    argv: str, expected: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run_here(capsys, *argv.split())
    assert (code, out) == (2, "")
    assert err.startswith("mcettr: error: ")
    assert err.count("\n") == 1
    assert expected in err
    assert list(tmp_path.iterdir()) == []


def test_errors_of_files_name_the_line(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: rsc-1\njob:\n  gpus: 8\n  work: 30\n", encoding="utf-8")
    code, _, err = run_here(capsys, "check", str(path))
    assert code == 2
    assert f"{path}:4: job.work: expected" in err


def test_a_backend_that_fails_is_exit_code_3(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    module = importlib.import_module("mcettr.sweep.run")
    for error in (jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory"), DeviceError("the device is gone")):

        def failing(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(module, "simulate", failing)
        code, out, err = run_here(capsys, "run", "rsc-1")
        assert (code, out) == (3, "")
        assert err.count("\n") == 1
        assert err.startswith("mcettr: error: ")
