"""Where results go: inputs are kept, links and permissions too, a full disk costs one file and one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import SHORT_JOB, SMALL, run_here, small_job

from mcettr.errors import OutputError
from mcettr.report import check_outputs, read_result, write_result
from mcettr.report.files import check_sizes
from tests.cli_output import Capture, parsed

JOB = "extends: rsc-1\njob: {gpus: 1024, work: 2 d, horizon: 6 d}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["run", "sweep", "solve", "optimize"])
def test_an_input_is_never_overwritten(command: str, here: Path, capsys: Capture) -> None:
    (here / "in.json").write_text(JOB, encoding="utf-8")
    (here / "link.json").symlink_to("in.json")
    (here / "child.yaml").write_text("extends: ./in.json\ncheckpoint: {write_time: 1 min}\n", encoding="utf-8")
    more = {
        "run": (),
        "sweep": ("--axis", "job.gpus=512,1024"),
        "solve": ("--vary", "checkpoint.write_time", "--target", "ettr=0.9"),
        "optimize": ("--vary", "checkpoint.interval"),
    }[command]
    for source, output in (("./in.json", "./in.json"), ("./in.json", "link.json"), ("child.yaml", "in.json")):
        code, out, err = run_here(capsys, command, source, *more, "--timelines", "64", "-o", output)
        assert (code, out) == (2, "")
        assert f"{Path(output)}: expected a file of its own, found an input of this command" in err
    assert (here / "in.json").read_text(encoding="utf-8") == JOB


def test_a_sweep_file_and_its_scenario_are_inputs(here: Path, capsys: Capture) -> None:
    (here / "job.json").write_text(JOB, encoding="utf-8")
    (here / "sweep.json").write_text("scenario: ./job.json\naxes: {job.gpus: [512, 1024]}\n", encoding="utf-8")
    for output in ("job.json", "sweep.json"):
        code, _, err = run_here(capsys, "sweep", "./sweep.json", "--timelines", "64", "-o", output)
        assert (code, err.count("found an input of this command")) == (2, 1)
    assert (here / "job.json").read_text(encoding="utf-8") == JOB


def test_links_are_followed_and_permissions_kept(here: Path) -> None:
    (here / "real.json").write_text("old", encoding="utf-8")
    (here / "real.json").chmod(0o600)
    (here / "link.json").symlink_to("real.json")
    (here / "new.nc").symlink_to("later.bin")
    write_result(small_job(), "link.json")
    write_result(small_job(), "new.nc")
    assert (here / "link.json").is_symlink()
    assert (here / "new.nc").is_symlink()
    assert (here / "real.json").stat().st_mode & 0o777 == 0o600
    assert float(read_result("link.json").ettr) == float(read_result("new.nc").ettr) == float(small_job().ettr)
    with pytest.raises(OutputError, match="found it twice"):
        check_outputs(["link.json", "real.json"])


def test_new_files_have_the_permissions_of_other_new_files(here: Path) -> None:
    (here / "other").write_text("", encoding="utf-8")
    write_result(small_job(), "a.csv")
    assert (here / "a.csv").stat().st_mode == (here / "other").stat().st_mode


def test_what_is_read_only_or_no_file_is_refused(here: Path) -> None:
    (here / "a.csv").write_text("old", encoding="utf-8")
    (here / "a.csv").chmod(0o444)
    (here / "link.csv").symlink_to("a.csv")
    os.mkfifo("pipe.csv")
    (here / "full.csv").symlink_to("/dev/full")
    for name, found in (("a.csv", "read-only"), ("link.csv", "read-only"), ("pipe.csv", "device or pipe")):
        with pytest.raises(OutputError, match=rf"{name}: expected .*{found}"):
            check_outputs([name])
    with pytest.raises(OutputError, match=r"full\.csv: expected"):
        check_outputs(["full.csv"])
    assert (here / "a.csv").read_text(encoding="utf-8") == "old"


def test_what_no_sheet_holds_is_refused_before_the_run(here: Path, capsys: Capture) -> None:
    deadlines = [word for i in range(5_000) for word in ("--deadline", f"{86_400 + i} s")]
    code, out, err = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *SMALL, *deadlines, "-o", "a.xlsx")
    assert (code, out) == (2, "")
    assert "a.xlsx: expected at most 1,048,575 rows and 16,384 columns in a sheet, found 1 and 20,000" in err
    with pytest.raises(OutputError, match=r"b\.xlsx: expected at most"):
        check_sizes([Path("a.nc"), Path("b.xlsx")], n_cells=2_000_000)


def test_one_file_that_fails_costs_neither_the_others_nor_the_answer(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcettr.report import xlsx_file

    monkeypatch.setattr(xlsx_file, "MOST_COLUMNS", 5)
    names = ("-o", "a.xlsx", "-o", "b.nc", "-o", "c.csv")
    code, out, err = run_here(capsys, "run", "rsc-1", *SHORT_JOB, *SMALL, *names, "--json")
    assert code == 2
    assert parsed(out)["ettr"]["value"] == float(read_result("b.nc").ettr)
    assert err.count("mcettr: error: a.xlsx: expected at most") == 1
    assert sorted(path.name for path in here.iterdir()) == ["b.nc", "c.csv"]


def test_a_full_disk_is_one_line_a_file(here: Path) -> None:
    """A limit on the size of files is a disk that is full for each of them; HDF5 ended the process there."""

    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096)); "
        "from mcettr.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    names = [word for name in ("a.nc", "a.xlsx", "a.json", "a.csv") for word in ("-o", name)]
    command = [sys.executable, "-c", limited, "run", "rsc-1", *SHORT_JOB, *SMALL, *names, "--quiet", "--json"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 2
    assert json.loads(done.stdout)["timelines"] == 64
    lines = [line for line in done.stderr.splitlines() if line.startswith("mcettr: error: a.")]
    assert [line.split(":")[2].strip() for line in lines] == ["a.nc", "a.xlsx", "a.json"]
    assert all("file too large" in line for line in lines)
    assert "Traceback" not in done.stderr
    assert [path.name for path in here.iterdir()] == ["a.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("argv", [("presets",), ("--help",), ("run", "--help"), ("--version",)])
def test_a_stdout_that_is_full_is_one_line(argv: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "mcettr", *argv]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("mcettr: error: stdout: expected to print there, found 'no space left on device'")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_stderr_that_is_full_does_no_harm(here: Path) -> None:
    with open("/dev/full", "w") as full:
        odd = ("--set", "failures.node.rate=0.0065 / 1000 node-days")
        command = [sys.executable, "-m", "mcettr", "check", "rsc-1", *odd, "--json"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=full, text=True, timeout=60, check=False, env=environment
        )
    assert done.returncode == 0
    assert json.loads(done.stdout)["mttf_s"] > 0
