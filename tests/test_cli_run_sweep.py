"""The commands run and sweep: what they print, their JSON and their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import SHORT_JOB, SMALL, run_here, small_job

from mcettr.cli.progress import progress
from mcettr.engine.device import Device
from mcettr.model.budget import ACTIVITIES
from mcettr.report import read_result
from tests.cli_output import Capture, parsed

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
    assert all(title in out for title in ("ETTR ", "Where the time goes", "GPU-hours", "Done by 3 d: probability"))
    assert "Assumed, not observed: job.gpus, checkpoint.interval" in out
    assert len(out.splitlines()) <= 18
    assert max(map(len, out.splitlines())) <= 80
    whole = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *SMALL, "--deadline", "3 d", "--verbose", "--quiet")[1]
    titles = ("ETTR (kept work / elapsed time)", "Where the time goes", "Lost GPU-hours by cause", "Done by a deadline")
    assert all(title in whole for title in titles)
    assert "Assumed, not observed: job.gpus = 16384" in whole
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
    assert "50 % never" in text


def test_run_writes_files_of_every_kind(capsys: Capture, tmp_path: Path) -> None:
    names = [str(tmp_path / f"a{ending}") for ending in (".nc", ".csv", ".xlsx", ".json")]
    outputs = [word for name in names for word in ("-o", name)]
    code, out, _ = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *SMALL, *outputs, "--json")
    assert code == 0
    assert parsed(Path(names[3]).read_text(encoding="utf-8"))["ettr"] == parsed(out)["ettr"]
    ettr = parsed(out)["ettr"]["value"]
    assert [float(read_result(names[i]).ettr) for i in (0, 3)] == [ettr, ettr]
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


def test_sweep_shows_a_matrix_and_all_cells_when_asked(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    two = ("--axis", "job.gpus=1024,4096", "--axis", "checkpoint.write_time=geom:1 s:10 s:3")
    out = run_here(capsys, "sweep", "rsc-1", *SHORT_JOB, *two, *SMALL)[1]
    lines = out.splitlines()
    assert lines[0] == "ETTR by job.gpus (down) and checkpoint.write_time (across, s)"
    assert lines[1].split() == ["gpus", "1", "3.162", "10"]
    assert [line.split()[0] for line in lines[3:5]] == ["1024", "4096"]
    assert "Best: gpus 1024, write_time 1 s: ETTR 0." in out
    assert "Worst: gpus 4096, write_time 10 s: ETTR 0." in out
    assert "6 cells, 64 timelines each; largest standard error" in out
    three = (*two, "--axis", "recovery.restore=lin:1 s:8 s:8")
    out = run_here(capsys, "sweep", "rsc-1", *SHORT_JOB, *three, *SMALL)[1]
    assert "48 cells" in out
    assert len(out.splitlines()) <= 20
    assert max(map(len, out.splitlines())) <= 80
    every = run_here(capsys, "sweep", "rsc-1", *SHORT_JOB, *three, *SMALL, "--verbose")[1]
    assert sum(line.startswith(("1024 ", "4096 ")) for line in every.split("\n\n")[0].splitlines()) == 48
