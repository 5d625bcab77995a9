"""The presets: every value has a source, the figures follow from the publications, and all of them load."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mcettr.errors import ScenarioError
from mcettr.model.counts import mean_count
from mcettr.model.physics import Repeat, Spares
from mcettr.scenario.compile import compile_grid, compile_params
from mcettr.scenario.load import load
from mcettr.scenario.presets import Preset, preset_names, read_preset

NAMES = ("b200-gke-16", "bloom-176b", "llama3-405b", "megascale-12k", "opt-175b", "rsc-1", "rsc-1-measured", "rsc-2")
LAWS = {
    "fixed",
    "exponential",
    "lognormal",
    "gamma",
    "weibull",
    "uniform",
    "quantiles",
    "mixture",
    "values",
    "binomial",
}
SWEEPS = sorted((Path(__file__).parents[1] / "sweeps").glob("*.yaml"))
HOURS_A_DAY = 24.0


@pytest.fixture(params=NAMES)
def preset(request: pytest.FixtureRequest) -> Preset:
    return read_preset(request.param)


def value_paths(tree: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted path of every value a user can override; a duration law is one value."""
    for key, value in tree.items():
        if isinstance(value, Mapping) and not LAWS & value.keys():
            yield from value_paths(value, f"{prefix}{key}.")
        elif f"{prefix}{key}" != "schema_version":
            yield f"{prefix}{key}"


def rate_per_node_day(text: str) -> float:
    """Return X / 1000 of "X / 1000 node-days"."""
    match = re.fullmatch(r"([\d.]+) / 1000 node-days", text)
    assert match is not None, text
    return float(match[1]) / 1000


def mttf_h(name: str, n_gpus: int) -> float:
    rate = rate_per_node_day(read_preset(name).scenario["failures"]["node"]["rate"])
    return HOURS_A_DAY / (rate * n_gpus / 8)


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}[unit]


def test_names_are_the_contract() -> None:
    assert preset_names() == NAMES


def test_every_value_has_a_source_and_every_source_a_value(preset: Preset) -> None:
    assert sorted(preset.fields) == sorted(value_paths(preset.scenario))
    for path, field in preset.fields.items():
        assert field.status in ("published", "derived", "assumed"), path
        assert len(field.source) > 8, path


def test_a_preset_is_a_whole_scenario_with_title_and_notes(preset: Preset) -> None:
    assert preset.scenario["schema_version"] == 1
    assert preset.title
    assert preset.notes
    assert all(isinstance(note, str) for note in preset.notes)
    job = preset.scenario["job"]
    assert "work" in job or "horizon" in job


def test_status_of_values_that_are_easily_overstated() -> None:
    expected = {
        "rsc-1": {"failures.node.rate": "published", "recovery.startup": "assumed", "checkpoint.interval": "assumed"},
        "rsc-1-measured": {"failures.node.rate": "derived"},
        "llama3-405b": {
            "failures.gpu.count": "published",
            "failures.gpu.exposure": "derived",
            "checkpoint.write_time": "assumed",
            "failures.switch-cable.nodes_lost": "assumed",
            "recovery.startup": "assumed",
            "recovery.spares.count": "assumed",
        },
        "megascale-12k": {"failures.node.rate": "assumed", "checkpoint.stall": "assumed"},
        "opt-175b": {
            "failures.node.rate": "derived",
            "failures.node.repeat.probability": "assumed",
            "recovery.startup": "assumed",
            "recovery.spares.count": "published",
            "recovery.spares.repair_failure": "assumed",
        },
        "b200-gke-16": {"failures.any.mtbf": "assumed"},
        "bloom-176b": {"recovery.spares.count": "published", "recovery.spares.repair": "assumed"},
    }
    for name, statuses in expected.items():
        fields = read_preset(name).fields
        assert {path: fields[path].status for path in statuses} == statuses


@pytest.mark.parametrize(
    ("name", "n_gpus", "expected_h", "tolerance"),
    [
        ("rsc-1", 16_384, 1.8, 0.005),
        ("rsc-1", 131_072, 0.225, 0.005),
        ("rsc-2", 16_384, 5.01, 0.005),
        ("rsc-1-measured", 1_024, 7.9, 0.005),
    ],
)
def test_published_mean_times_to_failure(name: str, n_gpus: int, expected_h: float, tolerance: float) -> None:
    assert mttf_h(name, n_gpus) == pytest.approx(expected_h, rel=tolerance)


def test_llama_counts_not_percentages() -> None:
    preset = read_preset("llama3-405b")
    causes = preset.scenario["failures"]
    assert len(causes) == 18
    assert {cause["exposure"] for cause in causes.values()} == {f"{2048 * 54} node-days"}
    n_all = sum(cause["count"] for cause in causes.values())
    assert n_all == 419
    gpu_rows = ("gpu", "hbm3", "gpu-sram", "gpu-system-processor", "silent-corruption", "gpu-thermal")
    assert sum(causes[name]["count"] for name in gpu_rows) == 268
    assert 54 * HOURS_A_DAY / n_all == pytest.approx(3.09, abs=0.005)
    assert causes["gpu"]["count"] / n_all == pytest.approx(0.353, abs=0.0005)


def test_llama_losses_of_several_nodes_leave_the_counts_alone() -> None:
    job = compile_params(load("llama3-405b"))
    lost = {cause.name: cause.nodes_lost for cause in job.causes}
    assert sum(cause.rate_per_s for cause in job.causes) * 54 * 86_400 == pytest.approx(419.5)
    assert {name: float(mean_count(law)) for name, law in lost.items() if mean_count(law) != 1} == pytest.approx(
        {"software": 0, "nccl-watchdog": 0, "dependency": 0, "switch-cable": 2.7, "power-supply": 1.5}
    )
    assert {cause.kind for cause in job.causes} == {"crash"}
    out = sum(cause.rate_per_s * mean_count(cause.nodes_lost) for cause in job.causes) * 2 * 86_400
    assert 14 < out < 17  # nodes in repair on average


def test_opt_restarts_in_56_days_are_near_the_published() -> None:
    job = compile_params(load("opt-175b"))
    (node,) = job.causes
    assert job.recovery.spares == Spares(12.0, 3600.0, 0.7, 21_600.0, 172_800.0, 0.15)
    assert node.repeat == Repeat(0.1, 7200.0)
    # once the fresh spares are spent, nearly every node that comes in has been repaired
    repeats = node.repeat.probability + job.recovery.spares.repair_failure * 0.9
    at_risk_days = 42  # of 56, the rest is detection, diagnosis and swaps
    assert node.rate_per_s * 86_400 * at_risk_days / (1 - repeats) == pytest.approx(105, rel=0.05)


def test_opt_and_bloom_rates_follow_from_their_counts() -> None:
    opt = read_preset("opt-175b").scenario["failures"]["node"]["rate"]
    assert rate_per_node_day(opt) == pytest.approx(105 / 56 / 124, rel=0.005)
    bloom = read_preset("bloom-176b").scenario
    assert rate_per_node_day(bloom["failures"]["node"]["rate"]) == pytest.approx(1 / 7 / 48, rel=0.01)
    assert float(bloom["failures"]["eval-hang"]["rate"].split(" / ")[0]) == pytest.approx(3 / 109, rel=0.005)
    work_s = 325_001_773_056 / 2048**2 * 105
    assert seconds(bloom["job"]["work"]) == pytest.approx(work_s, rel=0.005)


def test_megascale_stays_within_the_published_bounds() -> None:
    scenario = read_preset("megascale-12k").scenario
    found_s = seconds(scenario["failures"]["node"]["detection"]) + seconds(scenario["recovery"]["diagnosis"])
    assert found_s <= 600
    n_restarts_a_day = rate_per_node_day(scenario["failures"]["node"]["rate"]) * 1536
    assert 21 <= 100 / n_restarts_a_day <= 56  # three to eight weeks


def test_b200_phases_sum_to_the_measured_restart_and_give_its_ettr() -> None:
    scenario = read_preset("b200-gke-16").scenario
    restart_s = sum(seconds(phase) for phase in scenario["recovery"]["startup"].values())
    assert restart_s == pytest.approx(721.5, abs=1e-9)
    interval_s, write_s = (seconds(scenario["checkpoint"][key]) for key in ("interval", "write_time"))
    assert interval_s == pytest.approx(10 * 116.39, abs=0.5)
    mean_s = seconds(scenario["failures"]["any"]["mtbf"])
    cycle_s = math.exp(restart_s / mean_s) * mean_s * math.expm1((interval_s + write_s) / mean_s)
    assert interval_s / cycle_s == pytest.approx(0.851, abs=0.0005)


def test_unknown_preset_names_the_nearest_and_how_to_list() -> None:
    with pytest.raises(ScenarioError, match=r"'rsc1'.*did you mean 'rsc-1'.*mcettr presets"):
        read_preset("rsc1")
    with pytest.raises(ScenarioError, match="mcettr presets"):
        read_preset("../presets/rsc-1")


def test_every_preset_loads_and_compiles(preset: Preset) -> None:
    params = compile_params(load(preset.name))
    assert params.n_gpus == preset.scenario["job"]["gpus"]
    assert {cause.name for cause in params.causes} == set(preset.scenario["failures"])


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_sweep_files_say_what_they_answer_and_their_paths_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#")
    assert f"mcettr sweep sweeps/{path.name}" in text
    sweep = YAML(typ="safe", pure=True).load(text)
    assert set(sweep) <= {"schema_version", "scenario", "set", "axes", "deadlines", "precision", "timelines", "seed"}
    scenario = load(sweep["scenario"]).replace(sweep["set"])
    ends = {  # the corners of the grid: {geom: [low, high, n]} and {lin: [low, high, n]} shrink to their ends
        axis: values if isinstance(values, list) else next(iter(values.values()))[:2]
        for axis, values in sweep["axes"].items()
    }
    grid = compile_grid(scenario, ends)
    assert grid.shape == tuple(len(values) for values in ends.values())


def test_there_is_a_sweep_file_for_each_use() -> None:
    plain, physics = {"checkpoint_interval", "write_time_12k", "surface"}, {"health_checks", "lemons_512", "spares"}
    assert {path.stem for path in SWEEPS} == plain | physics
