"""Text for terminals: columns that line up, tables that stay inside the width, numbers that say enough."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest
from cli_support import small_grid, small_job

import mcettr
from mcettr.report.answer_text import optimize_text, points_that_matter, solve_text
from mcettr.report.check_text import check_text
from mcettr.report.derived import derive
from mcettr.report.run_text import run_text
from mcettr.report.summary import run_summary
from mcettr.report.sweep_text import sweep_summary, sweep_text
from mcettr.report.text import alike, interval_text, number, share, short_labels, terminal_width, text_table

EVERYTHING: dict[str, Any] = {
    "job": {"gpus": 1024, "work": "2 d", "horizon": "6 d", "saved": "1 h"},
    "checkpoint": {
        "interval": "1 h",
        "write_time": "1 min",
        "stall": "10 s",
        "verify": "10 s",
        "bad_probability": 0.01,
        "keep": 3,
        "local": {"interval": "10 min", "stall": "1 s", "write_time": "10 s", "restore": "30 s"},
    },
    "failures": {
        "rack": {"rate": "5 / 1000 domain-days", "nodes_per_domain": 16, "nodes_lost": "all", "diagnosis": "10 min"},
        "nccl-hang": {"kind": "hang", "rate": "0.1 / job-day", "detection": {"exponential": {"mean": "1 h"}}},
        "sdc": {"kind": "silent", "rate": "0.2 / job-day", "detection": "1 h"},
        "straggler": {"kind": "slow", "slowdown": 0.25, "rate": "0.3 / job-day", "detection": "6 h"},
        "eviction": {"kind": "preemption", "rate": "0.2 / job-day", "notice": "2 min", "min_lease": "2 h"},
        "drill": {"every": {"uniform": ["15 h", "25 h"]}},
        "node": {"rate": "10 / 1000 node-days", "repeat": {"probability": 0.25, "mean_time": "2 h"}},
        "psu": {"lifetime": {"weibull": {"shape": 0.7, "mean": "900 d"}}, "fleet_age": "30 d"},
    },
    "uncertainty": {"cv": 0.2},
    "incidents": {"rate": "1 / 10 days", "mean_duration": "1 d", "multiplier": 8, "causes": ["node"]},
    "lemons": {"cause": "node", "fraction": 0.012, "multiplier": 30},
    "recovery": {
        "startup": {"image": {"time": "450 s", "when": "replaced"}, "rest": "4 min"},
        "start_failure": {"probability": 0.1, "max_attempts": 3, "escalation": "4 h"},
        "data_fast_forward": 0.001,
        "restore": "2 min",
        "queue_wait": "20 min",
        "spares": {"count": 2, "swap": "2 min", "repair": "1 d"},
        "max_attempt": "1 d",
    },
    "maintenance": {"every": "3 d", "duration": "4 h", "notice": "1 h"},
    "health_checks": {
        "preflight": {"duration": "5 min", "catch_probability": {"node": 0.5, "lemon": 0.8}},
        "periodic": {"every": "5 min", "false_positive_rate": "1 / 1000 node-days"},
    },
}


@functools.cache
def busy_job() -> Any:
    """Return the result of a job with every mechanism that can stand with the others."""
    return mcettr.simulate(EVERYTHING, timelines=64, deadlines=["4 d"], engine="reference")


@pytest.mark.parametrize("width", [60, 80])
def test_a_job_with_every_mechanism_is_readable(width: int) -> None:
    job = mcettr.load(EVERYTHING)
    for text in (run_text(busy_job(), width), check_text(job, derive(job), width)):
        assert max(map(len, text.splitlines())) <= width
        assert text.isascii()
        assert " nan" not in text
    rows = run_text(busy_job(), 200)
    for name in ("degraded", "spare_wait", "maintenance", "planned", "health-check", "eviction", "sdc", "straggler"):
        assert name in rows, name


def test_columns_that_do_not_fit_go_below() -> None:
    headers = ["cause", *(f"column-{i}" for i in range(9))]
    rows = [["node", *("1,234,567" for _ in range(9))], ["software", *("1" for _ in range(9))]]
    text = text_table(headers, rows, width=50)
    assert max(map(len, text.splitlines())) <= 50
    blocks = text.split("\n\n")
    assert len(blocks) == 3
    assert all(block.startswith("cause") and "node" in block for block in blocks)
    assert text_table(headers, rows, width=200).count("cause") == 1


def test_a_column_wider_than_the_terminal_is_still_shown() -> None:
    text = text_table(["a", "b"], [["x" * 60, "y" * 60]], width=50)
    assert "y" * 60 in text


@functools.cache
def answers() -> Any:
    """Return what solve and optimize find for a job with a long field."""
    job = mcettr.load("rsc-1").replace({"checkpoint.write_time": "1 min"})
    solved = mcettr.solve(job, vary="checkpoint.write_time", target="ettr=0.8", timelines=64)
    dated = mcettr.solve(job, vary="checkpoint.write_time", target="completion@40 d=0.8", timelines=64)
    return solved, dated, mcettr.optimize(job, vary="checkpoint.interval", timelines=64)


RENDERERS = {
    "run": lambda width: run_text(small_job(), width),
    "run summary": lambda width: run_summary(small_job(), width),
    "busy summary": lambda width: run_summary(busy_job(), width),
    "sweep": lambda width: sweep_text(small_grid(), width),
    "sweep summary": lambda width: sweep_summary(small_grid(), width),
    "one axis": lambda width: sweep_summary(small_grid().isel(gpus=0), width),
    "solve": lambda width: solve_text(answers()[0], width),
    "solve for a date": lambda width: solve_text(answers()[1], width, verbose=True),
    "optimize": lambda width: optimize_text(answers()[2], width),
}


@pytest.mark.parametrize("width", [40, 60, 80, 120, 140])
@pytest.mark.parametrize("render", RENDERERS.values(), ids=RENDERERS)
def test_results_stay_inside_the_width_without_cut_words(render: object, width: int) -> None:
    text = render(width)  # type: ignore[operator]
    assert max(map(len, text.splitlines())) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert text.isascii()
    assert "nan" not in text.replace("maintenance", "")
    assert "inf" not in text.replace("informed", "")


def test_small_shares_are_not_rounded_to_nothing() -> None:
    assert (share(9.6e-21), share(0.0), share(float("nan"))) == ("9.6e-21", "0.0000", "-")
    assert (number(-5.0), number(0.001)) == ("-5", "0.001")


def test_labels_are_cut_only_where_they_stay_different() -> None:
    assert short_labels(["1.00000001 s", "1.00000002 s"]) == ["1.00000001 s", "1.00000002 s"]
    assert short_labels(["131072", "16384"]) == ["131072", "16384"]


def test_the_width_follows_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "123")
    assert terminal_width() == 123
    monkeypatch.setenv("COLUMNS", "3")
    assert terminal_width() == 40


def test_probabilities_have_the_digits_of_their_interval() -> None:
    assert interval_text(0.4953, 0.7271) == "0.50 to 0.73"
    assert interval_text(float("nan"), 1.0) == "-"
    assert "by 3 d (95 %)" in sweep_text(small_grid(), 200)


def test_a_sweep_says_which_fields_its_axes_are() -> None:
    text = " ".join(sweep_text(small_grid(), 80).split())
    assert "Axes: gpus = job.gpus; write_time = checkpoint.write_time." in text
    assert sweep_summary(small_grid()).startswith("ETTR by job.gpus (down) and checkpoint.write_time (across)\n")


def test_the_screen_of_a_sweep_holds_the_numbers_of_its_cells() -> None:
    grid = small_grid()
    lines = sweep_summary(grid, 120).splitlines()
    row = next(line for line in lines if line.startswith("1024 "))
    assert row.split()[1:] == [share(value) for value in grid.ettr.isel(gpus=0).values.tolist()]
    best = next(line for line in lines if line.startswith("Best: "))
    assert f"gpus 1024, write_time 0.1 s: ETTR {share(float(grid.ettr.max()))}" in best
    assert "done by 3 d with probability" in best
    low, high = (float(grid[f"completion_{end}"].isel(gpus=1, write_time=2, deadline=0)) for end in ("low", "high"))
    assert sum(interval_text(low, high) in line for line in lines) >= 1
    assert any(line.startswith("job.work is 2 d at full speed whatever the GPUs: 49,152 GPU-hours") for line in lines)


def test_three_axes_are_slices_and_long_ones_are_thinned() -> None:
    axes = {
        "checkpoint.write_time": {"geom": ["1 s", "10 min", 7]},
        "job.gpus": [512, 1024, 2048, 4096, 8192],
        "failures.node.rate": {"lin": ["1 / 1000 node-days", "20 / 1000 node-days", 20]},
    }
    grid = mcettr.sweep("rsc-1", axes, timelines=1)
    text = sweep_summary(grid, 80)
    table = text.split("\n\n")[0].splitlines()
    assert table[0].startswith("ETTR by checkpoint.write_time, job.gpus (down) and failures.node.rate (across, /")
    rows = [line for line in table if line.split()[-1].startswith("0.")]
    assert len(rows) == 9
    assert [line[:10].strip() for line in rows] == ["1 s", "", "", "24.49 s", "", "", "10 min", "", ""]
    last = share(float(grid.ettr[-1, -1, -1]))
    assert rows[-1].split()[-1] == last
    assert len(text.splitlines()) <= 24
    assert len(sweep_text(grid, 200).split("\n\n")[0].splitlines()) == 2 + 7 * 5 * 20


def test_the_screen_of_an_answer_holds_the_points_that_matter() -> None:
    found = answers()[0]
    values = [point.value for point in points_that_matter(found.table, found.value.estimate)]
    assert len(values) <= 5
    assert values[0] == found.table[0].value
    assert values[-1] == found.table[-1].value
    assert len(solve_text(found, 80).splitlines()) <= 15
    every = solve_text(found, 80, verbose=True).splitlines()
    assert sum(line[:1].isdigit() for line in every) == len(found.table)


def test_values_of_one_sentence_share_unit_and_decimals() -> None:
    assert alike([117.0, 112.0, 121.8], "s") == ["117 s", "112 s", "122 s"]
    assert alike([21.1, 21.0, 21.2], "s") == ["21.1 s", "21.0 s", "21.2 s"]
    assert alike([12288.0, 12280.0, 12296.0], "1") == ["12,288", "12,280", "12,296"]
    assert alike([6.5, 6.41, 6.6], "1 / 1000 node-days")[1] == "6.41 / 1000 node-days"
    assert alike([1e8, 0.9e8, 1.1e8], "s")[0].endswith(" years")
    assert alike([10.0, 0.001, 86400.0], "s") == ["10 s", "1 ms", "24 h"]


def test_a_run_to_its_horizon_has_no_spread_of_its_length() -> None:
    job = mcettr.load("llama3-405b").replace({"job.horizon": "2 d", "checkpoint.interval": "10 min"})
    text = run_text(mcettr.simulate(job, timelines=32, engine="reference"))
    assert text.count("standard deviation from uncertain rates") == 2
    assert "Recoveries that find no spare" in text
    assert "Longest time without a new save" in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_rests_on_too_few_timelines_is_a_bound_on_the_screen() -> None:
    result = small_job().copy(deep=True)
    result["completion_probability"] = result.completion_probability * math.nan
    result["interruptions"] = result.interruptions * math.nan
    result["interruptions_low"], result["interruptions_high"] = result.ettr * 0.0, result.ettr * 0.0 + 3.0
    result["time_fraction"] = result.time_fraction.where(result.activity != "restore")
    result["lost_gpu_hours"] = result.lost_gpu_hours.where(result.activity != "restore")
    text = " ".join(run_summary(result, 200).split())
    assert "< 3 (95 %) interruptions" in text
    assert "Done by 3 d: probability 95 % interval" in text
    assert "restore -" in text
    assert "nan" not in text
