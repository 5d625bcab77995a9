"""Result files: round trips to the last bit, spreadsheets that stay safe, files that are whole or not there."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
import xarray as xr
from cli_support import small_grid, small_job

import mcettr
from mcettr.errors import OutputError
from mcettr.report import check_outputs, csv_file, files, read_result, write_result, xlsx_file
from mcettr.report.run_text import run_text
from mcettr.report.tables import activity_gpu_hours, activity_hours, budget_table, result_table


def hand_made() -> xr.Dataset:
    """Return a result of two cells with awkward numbers and names."""
    values = np.array([[1.0 / 3.0, math.inf], [math.nan, -5e-324]])
    return xr.Dataset(
        {
            "ettr": ("rate", np.array([0.1, -1e-3]), {"units": "1"}),
            "held": (("cause", "rate"), values.T, {"units": "s"}),
            "timelines": ((), np.int64(2**53 + 1)),
            "flag": ("rate", np.array([True, False])),
        },
        {"rate": ("rate", np.array([0.1, 0.7]), {"units": "1 / 1000 node-days"}), "cause": ["=cmd|x", "@a,b;c"]},
        {"title": "mcettr result", "seed": 2**40, "assumed": "=1+1, a; b\n\tc"},
    )


@pytest.mark.parametrize("ending", [".nc", ".json"])
@pytest.mark.parametrize("make", [small_job, small_grid, hand_made])
def test_round_trip_is_identical(make: Any, ending: str, tmp_path: Path) -> None:
    result = make()
    write_result(result, tmp_path / f"a{ending}")
    back = read_result(tmp_path / f"a{ending}")
    xr.testing.assert_identical(back, result)
    assert list(back.data_vars) == list(result.data_vars)
    assert {name: v.dtype.kind for name, v in back.data_vars.items()} == {
        name: v.dtype.kind for name, v in result.data_vars.items()
    }


@pytest.mark.parametrize("ending", [".nc", ".json"])
def test_cells_are_selected_by_the_decimals_typed(ending: str, tmp_path: Path) -> None:
    write_result(small_grid(), tmp_path / f"a{ending}")
    back = read_result(tmp_path / f"a{ending}")
    assert back.ettr.sel(gpus=1024, write_time=0.3).dims == ()


def test_csv_is_data_only_and_reads_as_numbers(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "a.csv"
    write_result(small_grid(), path)
    frame = pd.read_csv(path)
    assert len(frame) == 6
    assert list(frame.columns)[:3] == ["gpus", "write_time [s]", "ettr"]
    assert all(kind in "fi" for kind in (dtype.kind for dtype in frame.dtypes))
    np.testing.assert_allclose(frame["ettr"], small_grid().ettr.values.ravel(), rtol=1e-12)  # as pandas rounds
    with path.open(encoding="utf-8", newline="") as stream:
        exact = [float(row["ettr"]) for row in csv.DictReader(stream)]
    np.testing.assert_array_equal(exact, small_grid().ettr.values.ravel())
    assert math.isinf(frame["completion_time.0.5 [s]"].max())
    assert "completion_probability.3 d" in frame.columns
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_columns_that_hold_nothing_are_left_out() -> None:
    columns = {column.name: column.values for column in result_table(small_grid()).columns}
    assert not any(np.isnan(values).all() for values in columns.values())
    assert "lost_gpu_hours.node.rework" in columns
    assert "lost_gpu_hours.node.maintenance" not in columns
    assert "lost_gpu_hours.node.maintenance_se" not in columns
    assert "capped_fraction" in columns  # a number of the whole job says something when it is 0


def test_no_text_becomes_a_formula_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_result(hand_made(), path)
    for line in csv.reader(path.read_text(encoding="utf-8").splitlines()):
        for cell in line:
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))
            assert not cell.startswith("-") or math.isfinite(float(cell))
    assert "-0.001" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "safe"),
    [("=1+1", "'=1+1"), ("+1+2", "'+1+2"), ("-2+3", "'-2+3"), ("@x", "'@x"), ("\t=1", "'\t=1"), ("node", "node")],
)
def test_texts_that_look_like_formulas_get_an_apostrophe(text: str, safe: str) -> None:
    assert csv_file.harmless(text) == safe


def test_workbook_has_numbers_as_numbers_and_words_as_words(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_result(small_grid(), path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["results", "budget", "provenance"]
    header, *rows = book["results"].iter_rows(values_only=True)
    assert len(rows) == 6
    numeric = [name for name in header if "completion_time" not in str(name) and "quantile" not in str(name)]
    for row in rows:
        values = dict(zip(header, row, strict=True))
        assert all(isinstance(values[name], (int, float)) for name in numeric if values[name] is not None)
    by_median = [dict(zip(header, row, strict=True))["completion_time.0.5 [s]"] for row in rows]
    assert xlsx_file.NEVER in by_median
    assert any(isinstance(value, (int, float)) for value in by_median)
    assert len(list(book["budget"].iter_rows())) == 1 + 6 * 5


def test_no_text_becomes_a_formula_in_a_workbook(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_result(hand_made(), path)
    for sheet in openpyxl.load_workbook(path):
        for row in sheet.iter_rows():
            assert all(cell.data_type != "f" for cell in row)


def test_too_many_rows_for_a_sheet_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx_file, "MOST_ROWS", 6)
    with pytest.raises(OutputError, match=r"a\.xlsx: expected at most 5 rows.*write \.nc or \.csv"):
        write_result(small_grid(), tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_json_holds_neither_nan_nor_infinity(tmp_path: Path) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    path = tmp_path / "a.json"
    write_result(small_grid(), path)
    tree = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert [axis["path"] for axis in tree["axes"]] == ["job.gpus", "checkpoint.write_time"]
    assert len(tree["cells"]) == 6
    assert tree["cells"][-1]["completion_time_s"] == {"0.5": None, "0.8": None, "0.9": None, "0.95": None, "0.99": None}


def test_budget_table_adds_up() -> None:
    result = small_grid()
    columns = {column.name: column.values for column in budget_table(result).columns}
    assert set(columns["activity"]) == {"productive", "rework", "checkpoint", "startup", "restore"}
    by_cell, fractions = (columns[name].reshape(6, 5) for name in ("gpu_hours", "time_fraction"))
    whole = ~np.isnan(fractions).any(axis=1)  # in the others some activity is too rare to be given
    assert whole.sum() >= 4
    np.testing.assert_allclose(by_cell.sum(axis=1)[whole], result["gpu_hours"].values.ravel()[whole], rtol=1e-6)
    np.testing.assert_allclose(fractions.sum(axis=1)[whole], 1.0, rtol=1e-6)
    lost = sum(values for name, values in columns.items() if name.startswith("lost_gpu_hours."))
    np.testing.assert_allclose(lost.sum(), result["lost_gpu_hours"].values.sum(), rtol=1e-12)


def test_the_budget_closes_with_uncertain_rates_and_planned_windows() -> None:
    job = {
        "job": {"gpus": 256, "work": "10 d", "horizon": "60 d"},
        "failures": {"node": {"count": 2, "exposure": "100 node-days"}},
        "checkpoint": {"interval": "1 h", "write_time": "5 min"},
        "recovery": {"startup": "10 min", "queue_wait": "1 h"},
        "maintenance": {"every": "4 d", "duration": "6 h"},
    }
    result = mcettr.simulate(job, timelines=256)
    hours, gpu_hours = activity_hours(result), activity_gpu_hours(result)
    assert hours.sum() == pytest.approx(float(result.elapsed) / 3600.0, rel=1e-9)
    assert gpu_hours.sum() == pytest.approx(float(result.gpu_hours), rel=1e-9)
    of = dict(zip(result["activity"].values.tolist(), hours[0].tolist(), strict=True))
    assert of["productive"] == pytest.approx(float(result.productive) / 3600.0)
    assert of["maintenance"] == pytest.approx(float(result.maintenance_hours.sum()))
    assert of["maintenance"] > 6.0
    assert result.maintenance_hours.sel(cause="planned") == result.maintenance_hours.sum()
    text = run_text(result)
    assert "maintenance" in text
    assert text.count("standard deviation from uncertain rates") == 3


def test_no_kept_work_is_no_productive_hours() -> None:
    for result in (small_job(), small_grid()):
        hours = activity_gpu_hours(result)[:, list(result["activity"].values).index("productive")]
        kept = result["ettr"].values.ravel() > 0
        assert (hours[~kept] == 0.0).all()
        assert (hours[kept] > 0.0).all()


def test_headers_of_a_table_are_all_different() -> None:
    for result in (small_job(), small_grid()):
        headers = [column.header for column in result_table(result).columns]
        assert len(set(headers)) == len(headers)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.html", r"a\.html: expected a file ending in \.nc"),
        ("a", "found none"),
        ("nowhere/a.nc", "expected an existing folder"),
        ("folder.nc", "found a folder"),
    ],
)
def test_places_that_cannot_be_written_are_refused(
    name: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(OutputError, match=expected):
        check_outputs([name])
    assert [path.name for path in tmp_path.iterdir()] == ["folder.nc"]


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", denied)
    with pytest.raises(OutputError, match="found 'permission denied'"):
        check_outputs([str(tmp_path / "a.nc")])


def test_one_file_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="found it twice"):
        check_outputs([str(tmp_path / "a.nc"), str(tmp_path / "a.nc")])


def test_a_missing_library_is_named_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(OutputError, match="pip install pyarrow"):
        check_outputs([str(tmp_path / "a.parquet")])


@pytest.mark.parametrize("ending", [".nc", ".csv", ".xlsx", ".json"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_file(
    ending: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"a{ending}"
    path.write_text("old", encoding="utf-8")

    def broken(_: xr.Dataset, aside: Path) -> None:
        aside.write_text("half", encoding="utf-8")
        raise error

    monkeypatch.setattr(files, "_write", broken)
    with pytest.raises((KeyboardInterrupt, OutputError)):
        write_result(small_job(), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_changed_by_hand_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_result(small_job(), path)
    tree = json.loads(path.read_text(encoding="utf-8"))
    variable = tree["dataset"]["data_vars"]["ettr_timeline_quantile"]
    for broken in ({**tree, "dataset": {}}, {**tree, "dataset": 5}, [], {"ettr": 1}):
        path.write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(OutputError, match=r"a\.json: expected a"):
            read_result(path)
    variable["data"] = variable["data"][:-1]
    path.write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(OutputError, match="expected a result of mcettr"):
        read_result(path)


@pytest.mark.parametrize("name", ["a.txt", "missing.nc", "words.nc", "words.json", "words.csv", "words.xlsx"])
def test_files_that_hold_no_result_are_refused(name: str, tmp_path: Path) -> None:
    if name.startswith("words"):
        (tmp_path / name).write_text("words", encoding="utf-8")
    with pytest.raises(OutputError, match=name):
        read_result(tmp_path / name)
