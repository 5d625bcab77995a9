"""Every benchmark driver runs, small; none of this needs Numba."""

import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import checkout, cold, gpu_check, surface, surface_job, table, v1_22
from benchmarks.cases import Case
from benchmarks.fresh import ROOT, Fresh, run_python
from benchmarks.timing import Spread, spread
from mcettr.cli import main
from mcettr.engine.device import resolve
from mcettr.errors import DeviceError


def has_cuda():
    try:
        resolve("cuda")
    except DeviceError:
        return False
    return True


def test_v1_22_compares_in_pairs_and_checks_ettr(tmp_path):
    out = tmp_path / "v1_22.json"
    v1_22.main(["--rounds", "2", "--seconds", "0.05", "--peers", "numpy", "simpy", "--out", str(out)])
    result = json.loads(out.read_text(), parse_constant=pytest.fail)
    rows = {row["name"]: row for row in result["rows"]}
    pairs = result["details"]["ratios"]["simpy"]["pairs"]
    assert len(pairs) == 2
    assert rows["V1.22, mcettr / simpy"]["median"] == pytest.approx(np.median(pairs))
    assert rows["V1.22, mcettr"]["n"] == 4
    assert result["machine"]["cores"] >= 1
    assert result["details"]["contestants"]["mcettr"]["seconds_to_se"] > 0


def test_a_wrong_contestant_is_caught():
    wrong = v1_22.Contestant("wrong", lambda n, seed: None, lambda result: (0.80, 0.001, 370.0), n_timelines=100)
    with pytest.raises(AssertionError, match="wrong: ettr"):
        wrong.measure(1, exact=0.7822)


def test_a_peer_without_its_library_is_left_out(monkeypatch):
    monkeypatch.setitem(v1_22.PEERS, "absent", ("benchmarks.peers.no_such_library", "run"))
    assert v1_22.peer("absent") is None


def test_only_the_plain_numba_peer_has_a_goal():
    goals = {name: v1_22._ratio_case(name).goal for name in v1_22.PEERS}
    assert {name for name, goal in goals.items() if goal is not None} == {"numba"}
    assert goals["numba"] == 2.5


def test_surface_reaches_its_precision(tmp_path, monkeypatch):
    run = surface_job.measure(surface.write_sweep(tmp_path, 2, 0.01), 0.01)
    assert run["cells"] == 8
    assert run["largest_se"] <= 0.01
    assert run["failures"] > 0
    assert run["peak_bytes"] >= run["baseline_bytes"] > 20e6
    monkeypatch.setattr(surface, "run_python", lambda *command: Fresh(9.0, f"{json.dumps(run)}\n"))
    monkeypatch.setattr(surface, "command_seconds", lambda n, precision, n_runs: [9.0] * n_runs)
    rows, details = surface.measure(surface.N, [0.001], [], 2)
    assert details["engine 0.001"] == [run, run]
    assert [row["goal"] for row in rows if row["goal"]] == [5.0, 15.0]
    assert not any(row["goal"] for row in surface.measure(2, [0.001], [], 2)[0])


def test_the_command_writes_the_surface(monkeypatch):
    def run_here(module, name, *argv):
        assert (module, name) == ("-m", "mcettr")
        return Fresh(float(main(argv)), "")

    monkeypatch.setattr(surface, "run_python", run_here)
    assert surface.command_seconds(2, 0.01, 1) == [0.0]


def test_cold_commands(tmp_path):
    out = tmp_path / "cold.json"
    cold.main(["--runs", "1", "--commands", "help", "--again", "--presets", "--out", str(out)])
    (row,) = json.loads(out.read_text())["rows"]
    assert row["goal"] == 0.5
    assert row["median"] > 0


def test_a_failed_process_is_an_error():
    with pytest.raises(RuntimeError, match="ended with 2"):
        run_python("-m", "mcettr", "no-such-command")


def test_gpu_check_says_so_without_a_gpu(tmp_path, capsys):
    if has_cuda():
        pytest.skip("there is a GPU here")
    assert gpu_check.main(["--out", str(tmp_path / "gpu.json")]) == 3
    assert "no CUDA device" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["V1.22", pytest.param("incidents, lemons, spares, repeats", marks=pytest.mark.slow)])
def test_gpu_checks_pass_on_the_processor_against_itself(name):
    draws = gpu_check.check_draws(resolve("cpu").handle, 1_000)
    assert draws == {"draws": 4_000, "different": 0, "passed": True}
    job = gpu_check.check_job(name, "cpu", 2_048)
    assert job["passed"]
    assert job["equal_to_the_bit"] == job["same_outcome"] == 1.0
    details = {"check": {name: job}, f"time {name}": {"16": gpu_check.time_batch(name, "cpu", 16)}}
    assert [row["unit"] for row in gpu_check.rows_of(details)] == ["share", "timelines/s"]


def test_gpu_steps_stay_in_the_budget_and_a_failed_check_counts(monkeypatch):
    saved = {}
    planned = [("check", "draws", lambda: {"passed": False}), ("time", "big", lambda: pytest.fail("must not begin"))]
    monkeypatch.setattr(gpu_check, "STEP_S", 1e9)
    monkeypatch.setattr(gpu_check, "BUDGET_S", 10.0)
    assert not gpu_check.run_steps(iter(planned), saved.update)
    monkeypatch.setattr(gpu_check, "STEP_S", 1.0)
    assert not gpu_check.run_steps(iter(planned[:1]), saved.update)
    assert saved["check"] == {"draws": {"passed": False}}


def test_kernels_load_from_a_tree_that_is_not_installed():
    code = (
        "import sys\n"
        "sys.meta_path = [f for f in sys.meta_path if not getattr(f, '__name__', '').startswith('_Editable')]\n"
        "from benchmarks import checkout; checkout.use()\n"
        "import mcettr.kernels.streams as s; print(s.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "mcettr.kernels.streams"
    checkout.use()


def result_file(folder, median):
    row = Case("speed", "V1.22", "10 | runs", "x", 2.5, "at least").row(Spread(median, 2.0, 3.0, 7))
    machine = {"cpu": "a processor", "cores": 2}
    result = {"driver": "v1_22", "date": "2026-01-01", "machine": machine, "versions": {"jax": "1", "numba": None}}
    (folder / "v1_22.json").write_text(json.dumps(result | {"rows": [row], "details": {}}))


def test_table_is_written_and_checked(tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n{table.BEGIN}\n{table.END}\nend\n")
    result_file(tmp_path, 2.6)
    command = [str(readme), "--results", str(tmp_path)]
    assert table.main([*command, "--check"]) == 1
    assert table.main(command) == 0
    assert table.main([*command, "--check"]) == 0
    text = readme.read_text()
    assert "| speed | 10 / runs | 2.6 x | 2 to 3 | at least 2.5: met |" in text
    assert text.startswith("# Title\n")
    assert text.endswith("\nend\n")
    result_file(tmp_path, 2.4)
    assert table.main([*command, "--check"]) == 1
    readme.write_text("no markers")
    assert table.main(command) == 2
    assert "benchmarks:begin" in capsys.readouterr().err


def test_the_readmes_show_the_results_that_are_here():
    assert table.main([str(ROOT / "README.md"), str(ROOT / "benchmarks/README.md"), "--check"]) == 0


def test_the_short_lines_are_those_whose_rows_are_there(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# Title\n{table.SHORT_BEGIN}\n{table.SHORT_END}\n")
    assert table.render_short(tmp_path) == "No results yet."
    rows = [{"name": name, "median": 2.5, "unit": "x"} for name in ("V1.22, mcettr / numba", "V1.22, mcettr / simpy")]
    result = {"rows": rows, "machine": {"cpu": "a processor", "cores": 2}, "date": "2026-01-01"}
    (tmp_path / "v1_22.json").write_text(json.dumps(result))
    assert table.main([str(readme), "--results", str(tmp_path)]) == 0
    lines = readme.read_text().splitlines()
    assert lines[2] == "On 2 cores of a processor, 2026-01-01:"
    assert lines[4] == "- 2.5 x the rate of the same model in Numba, 2.5 x that in SimPy"
    assert len(lines) == 6
    assert len(table.render_short().splitlines()) == 7


def test_a_goal_is_judged_by_the_median():
    case = Case("speed", "V1.22", "1", "x", 2.5, "at least")
    assert case.row(spread([1.0, 2.6, 2.7]))["met"]
    assert not case.row(spread([9.0, 2.4, 2.3]))["met"]
    assert Case("speed", "V1.22", "1", "x").row(spread([1.0]))["met"] is None
