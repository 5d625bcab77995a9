"""What a run returns: names, units, labels, accounts, warnings and provenance of the dataset."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcettr
from mcettr.errors import ScenarioError
from mcettr.model.budget import ACTIVITIES, UNHELD
from mcettr.scenario import compile_grid
from mcettr.scenario.document import read_yaml
from mcettr.sweep.dataset import axis_names

xr = pytest.importorskip("xarray")

JOB = {
    "job": {"gpus": 2048, "work": "5 d", "horizon": "20 d"},
    "checkpoint": {"interval": "auto", "write_time": "60 s"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days", "detection": "5 min"}, "software": {"mtbf": "2 d"}},
    "recovery": {"startup": "10 min", "restore": "2 min", "queue_wait": {"exponential": {"mean": "10 min"}}},
}
AXES = {
    "failures.node.rate": ["1 / 1000 node-days", "6.5 / 1000 node-days"],
    "checkpoint.write_time": ["10 s", "1 min"],
}
NAMES = {
    "ettr",
    "ettr_occupied",
    "ettr_timeline_mean",
    "ettr_timeline_sd",
    "ettr_timeline_quantile",
    "interruptions_sd",
    "time_fraction",
    "lost_gpu_hours",
    "queue_hours",
    "interruptions",
    "interruptions_by_cause",
    "checkpoints_written",
    "completion_probability",
    "completion_low",
    "completion_high",
    "completion_time",
    "checkpoint_interval",
    "mttf_s",
    "elapsed",
    "productive",
    "gpu_hours",
    "finished_fraction",
    "capped_fraction",
    "timelines",
}
WITHOUT_ERROR = {
    "ettr_timeline_sd",
    "ettr_timeline_quantile",
    "interruptions_sd",
    "completion_low",
    "completion_high",
    "completion_time",
    "checkpoint_interval",
    "mttf_s",
    "finished_fraction",
    "capped_fraction",
    "timelines",
}


WITH_INTERVAL = {
    "completion_time",
    "ettr_timeline_quantile",
    "interruptions",
    "interruptions_by_cause",
    "finished",
    "capped",
}


@pytest.fixture(scope="module")
def surface() -> Any:
    return mcettr.sweep(JOB, AXES, timelines=256, deadlines=["6 d", "7 d"])


def test_variables_and_their_errors_have_the_names_of_the_contract(surface: Any) -> None:
    intervals = {f"{name}_{end}" for name in WITH_INTERVAL for end in ("low", "high")}
    assert set(surface.data_vars) == NAMES | {f"{name}_se" for name in NAMES - WITHOUT_ERROR} | intervals
    assert surface.ettr.dims == ("rate", "write_time")
    assert surface.lost_gpu_hours.dims == ("rate", "write_time", "cause", "activity")
    assert surface.completion_probability.dims == ("rate", "write_time", "deadline")
    assert surface.ettr_timeline_quantile.dims[-1] == surface.completion_time.dims[-1] == "quantile"
    assert surface.cause.values.tolist() == ["start", "node", "software", "checkpoint", "planned", "horizon"]
    assert tuple(surface.activity.values) == ACTIVITIES


def test_everything_has_a_unit_and_a_meaning(surface: Any) -> None:
    for name, variable in {**surface.data_vars, **surface.coords}.items():
        assert variable.attrs["units"], name
        assert variable.attrs["long_name"], name
    assert surface.rate.attrs["units"] == "1 / 1000 node-days"
    assert surface.write_time.attrs["long_name"] == "checkpoint.write_time"


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4", None])
def test_a_file_selects_by_the_decimals_that_were_typed(surface: Any, tmp_path: Path, engine: str | None) -> None:
    back = surface
    if engine is not None:
        pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
        surface.to_netcdf(tmp_path / "a.nc", engine=engine)
        with xr.open_dataset(tmp_path / "a.nc", engine=engine) as opened:
            back = opened.load()
        xr.testing.assert_identical(surface, back)
    cell = back.sel(rate=6.5, write_time=10.0, deadline=6 * 86400.0)
    assert cell.ettr.shape == ()
    assert 0.5 < float(cell.ettr) < 1.0
    assert back.rate.dtype == back.write_time.dtype == np.float64
    assert float(back.gpus) == 2048.0


def test_gpu_hours_leave_out_the_queue(surface: Any) -> None:
    np.testing.assert_allclose(surface.time_fraction.sum("activity"), 1.0, rtol=1e-6)
    productive = surface.time_fraction.sel(activity="productive") * surface.elapsed / 3600 * surface.gpus
    lost = surface.lost_gpu_hours.sum(["cause", "activity"])
    np.testing.assert_allclose(productive + lost, surface.gpu_hours, rtol=1e-5)
    assert not surface.lost_gpu_hours.sel(activity=list(UNHELD)).any()
    queue = surface.time_fraction.sel(activity="queue") * surface.elapsed / 3600
    np.testing.assert_allclose(surface.queue_hours.sum("cause"), queue, rtol=1e-5)
    np.testing.assert_allclose(surface.interruptions_by_cause.sum("cause"), surface.interruptions, rtol=1e-9)


def test_a_cell_is_what_it_is_alone(surface: Any) -> None:
    alone = mcettr.simulate(
        mcettr.load(JOB).replace({"checkpoint.write_time": "10 s"}), timelines=256, deadlines=["6 d", "7 d"]
    )
    cell = surface.sel(rate=6.5, write_time=10.0)
    for name in ("ettr", "ettr_se", "lost_gpu_hours", "completion_probability", "checkpoint_interval", "mttf_s"):
        np.testing.assert_allclose(alone[name], cell[name], rtol=1e-12, err_msg=name)


def test_completion_interval_holds_the_share_and_quantiles_ascend(surface: Any) -> None:
    assert (surface.completion_low <= surface.completion_probability + 1e-12).all()
    assert (surface.completion_probability <= surface.completion_high + 1e-12).all()
    assert (surface.completion_probability_se > 0).all()
    assert {0.5, 0.8, 0.9, 0.95, 0.99} <= set(surface["quantile"].values.tolist())
    for name in ("completion_time", "ettr_timeline_quantile"):
        known = surface[name].dropna("quantile")
        assert known.sizes["quantile"] == 6
        assert (known.diff("quantile") >= 0).all()
        assert (surface[f"{name}_low"].fillna(-1) <= known).all()
        assert (known <= surface[f"{name}_high"].fillna(np.inf)).all()


def test_provenance_says_what_was_run(surface: Any) -> None:
    found = json.loads(surface.attrs["provenance"])
    assert mcettr.load(read_yaml(found["scenario"], "provenance").tree) == mcettr.load(JOB)
    assert found["axes"] == {path: list(values) for path, values in AXES.items()}
    assert (found["seed"], found["timelines"], found["total_timelines"]) == (0, 256, 4 * 256)
    for key in ("schema_version", "package_version", "commit", "stream_version", "device", "wall_time_s", "content_id"):
        assert key in found


def _content_id(scenario: Any, **options: Any) -> str:
    result = mcettr.simulate(scenario, **{"timelines": 64, **options})
    return str(json.loads(result.attrs["provenance"])["content_id"])


def test_the_content_id_is_of_the_question_alone() -> None:
    plain = mcettr.load(JOB)
    same = _content_id(plain.replace({"checkpoint.write_time": "1 min"}), device="cpu")
    assert _content_id(plain) == same
    changes = [{"seed": 1}, {"timelines": 128}, {"deadlines": ["6 d"]}]
    others = {_content_id(plain, **change) for change in changes} | {_content_id(plain.replace({"job.gpus": 2056}))}
    assert same not in others
    assert len(others) == 4


def test_uncertain_rates_are_told_apart_from_luck() -> None:
    job = mcettr.load(JOB).replace(
        {"failures.software": None, "failures.node": {"count": 4, "exposure": "256 node-days"}}
    )
    lines: list[str] = []
    result = mcettr.simulate(job, timelines=512, notes=lines.append)
    assert result.rate_uncertainty_sd > result.run_to_run_sd > 0
    assert any("mean rates" in line for line in lines)
    assert result.attrs["warnings"].splitlines() == lines


def test_a_job_that_never_finishes_is_an_answer_with_a_note() -> None:
    job = mcettr.load(JOB).replace({"checkpoint.interval": "4 d", "job.gpus": 65536})
    lines: list[str] = []
    result = mcettr.simulate(job, timelines=64, deadlines=["20 d"], notes=lines.append)
    assert float(result.finished_fraction) == 0.0
    assert np.isnan(result.completion_probability[0])  # none of 64 is a bound
    assert float(result.completion_low[0]) == 0.0 < float(result.completion_high[0]) < 0.06
    assert np.isinf(result.completion_time.sel(quantile=0.5))
    assert "never finishes: no timeline finished its work within the horizon (20 d)" in lines
    assert any("goes into computing lost work again" in line for line in lines)


@pytest.mark.slow
def test_notes_tell_a_cut_by_default_from_the_cap_on_failures() -> None:
    def lines_of(changes: dict[str, Any]) -> list[str]:
        job = mcettr.load(JOB).replace({"job.horizon": None, **changes})
        return str(mcettr.simulate(job, timelines=64).attrs["warnings"]).splitlines()

    cut = lines_of(
        {"job.work": "4 h", "checkpoint.interval": "never", "job.gpus": 131072, "failures.node.detection": "2 d"}
    )
    assert any("within 1,000 times its work" in line for line in cut)
    capped = lines_of({"job.gpus": 1_000_000})
    part = "elapsed, GPU-hours and interruptions are those of the part simulated"
    reached = f"all 64 timelines run reached the cap on failures and restarts, so no more were run; {part}"
    assert any(line.startswith("stopped after 1") and line.endswith(reached) for line in capped)
    assert not any("never finishes" in line for line in capped)


def test_quantiles_beyond_which_are_fewer_than_20_timelines_are_bounds(surface: Any) -> None:
    shown = [0.1, 0.25, 0.5, 0.75, 0.8, 0.9]
    for name in ("ettr_timeline_quantile", "completion_time"):
        missing = surface[name].isnull().all(["rate", "write_time"])
        assert surface["quantile"].values[~missing].tolist() == shown, name
        far = surface.sel(quantile=0.999)
        assert far[f"{name}_high"].isnull().all()
        assert (far[f"{name}_low"] >= surface[name].sel(quantile=0.9)).all()


def test_dates_get_enough_timelines() -> None:
    axes = {"job.gpus": [1024, 2048]}
    assert mcettr.sweep(JOB, axes, deadlines=["6 d"]).timelines.min() >= 1024
    assert mcettr.sweep(JOB, axes, deadlines=["6 d"], timelines=64).timelines.max() == 64


def test_axes_are_lists_or_spacings() -> None:
    result = mcettr.sweep(JOB, {"checkpoint.write_time": {"geom": ["1 s", "100 s", 3]}}, timelines=16)
    assert result.write_time.values.tolist() == [1.0, 10.0, 100.0]
    for axes, words in (
        ({}, "axes: expected at least one axis"),
        ({"job.gpus": []}, "axis job.gpus: expected at least one value"),
        ({"job.gpus": 8}, "a list or a spacing"),
        ({"job.gpus": {"log": [1, 2, 3]}}, "a list or a spacing"),
        ({"checkpoint.interval": ["auto", "1 h"]}, "axis checkpoint.interval: expected a value of its own"),
    ):
        with pytest.raises(ScenarioError) as caught:
            mcettr.sweep(JOB, axes, timelines=16)  # type: ignore[arg-type]
        assert words in str(caught.value)


def test_assumed_values_are_named_unless_swept() -> None:
    swept = mcettr.sweep("rsc-1", {"job.gpus": [1024]}, timelines=16)
    assert "recovery.startup = 3 min: assumed, not observed" in swept.attrs["assumed"]
    assert "job.gpus" not in swept.attrs["assumed"]
    assert "assumed" not in mcettr.simulate(JOB, timelines=16).attrs


def test_an_axis_never_takes_the_name_of_a_variable() -> None:
    job = {**JOB, "recovery": {"startup": {"quantile": "1 min", "compile": "9 min"}}}
    axes = compile_grid(mcettr.load(job), {"recovery.startup.quantile": ["1 min", "2 min"]}).axes
    assert axis_names(axes) == ("startup_quantile",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deadlines": ["30 d"]}, "at most the horizon (20 d)"),
        ({"deadlines": [5]}, "without a unit"),
        ({"deadlines": ["5 d", "120 h"]}, "twice"),
        ({"deadlines": "5 d"}, "a list of times"),
        ({"deadlines": ["never"]}, "finite"),
        ({"timelines": 0}, "timelines"),
        ({"timelines": 1.5}, "timelines"),
        ({"timelines": 64, "precision": 0.1}, "found both"),
        ({"precision": 1.0}, "precision"),
        ({"precision": float("nan")}, "precision"),
        ({"seed": -1}, "seed"),
        ({"engine": "cobol"}, "engine"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        mcettr.simulate(JOB, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_deadline_beyond_one_cell_names_it() -> None:
    with pytest.raises(ScenarioError, match=r"deadline: expected at most the horizon .*cell horizon=10 d"):
        mcettr.sweep(JOB, {"job.horizon": ["30 d", "10 d"]}, deadlines=["20 d"])
    endless = mcettr.load(JOB).replace({"job.work": None})
    with pytest.raises(ScenarioError, match="with work"):
        mcettr.simulate(endless, deadlines=["5 d"])


def test_the_public_names() -> None:
    assert set(mcettr.__all__) == set(dir(mcettr))  # which they are is in test_python_face.py
    assert importlib.import_module("mcettr.sweep.run").sweep is mcettr.sweep  # kept whatever is imported
    assert callable(mcettr.sweep)
    assert callable(mcettr.analytic.best_interval_s)
    with pytest.raises(AttributeError, match="nothing"):
        mcettr.nothing  # noqa: B018


def test_importing_costs_nothing() -> None:
    code = "import sys, mcettr; print([m for m in ('numpy', 'jax', 'xarray', 'pydantic', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
