"""Every number of a warning is that of the simulation: pilots against more timelines, runs against their results."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcettr
from mcettr.engine.draws import Draws
from mcettr.engine.pilot import pilot
from mcettr.engine.rates import rate_factors
from mcettr.engine.timeline.life import Life
from mcettr.engine.timeline.ready import ready
from mcettr.engine.timeline.strides import StridingLife
from mcettr.model.distributions import Distribution
from mcettr.model.measured_cautions import measured_warnings
from mcettr.model.measures import Measured, Measures
from mcettr.model.params import Params
from mcettr.model.problems import Notice, Problem
from mcettr.report.check_text import check_object, check_text
from mcettr.report.derived import Derived, closed_forms, derive
from mcettr.scenario import compile_params, load
from tests.warning_jobs import BASE, CALLED_FOR, drawn

CASES = Path(__file__).parent / "cases"
MANY_STEPS = 32_000
N_DRAWN = 12


def case(name: str, **changes: Any) -> Derived:
    return derive(load(CASES / f"{name}.yaml").replace(changes))


def by_code(warnings: tuple[Notice, ...]) -> dict[str, Notice]:
    return {warning.code: warning for warning in warnings}


# --- strides are steps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(12))
def test_strides_lead_where_steps_do(number: int) -> None:
    changes = drawn(np.random.default_rng(number)) | {"job.work": "4 d", "checkpoint.interval": "11 min"}
    if number % 3 == 0:
        changes |= {"checkpoint.stall": "2 s", "checkpoint.slowdown": 0.2, "checkpoint.verify": "3 s"}
    job = ready(compile_params(load(BASE).replace(changes)))
    factors = rate_factors(job, 0, 0, 1)[0].tolist()
    steps, strides = Life(job, Draws(0, 0), factors, 10**6), StridingLife(job, Draws(0, 0), factors, 10**6)
    assert steps.run() == strides.run()
    assert strides.now_s == pytest.approx(steps.now_s, rel=1e-9)
    for row, other in zip(steps.books.lost_s, strides.books.lost_s, strict=True):
        np.testing.assert_allclose(list(other.values()), list(row.values()), rtol=1e-7, atol=1e-5)
    assert strides.books.interruptions == steps.books.interruptions
    assert strides.books.n_saves == steps.books.n_saves
    assert strides.books.longest_stretch_s == pytest.approx(steps.books.longest_stretch_s, rel=1e-9)


# --- what calls for a warning gets it, by its path -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "path", "changes"), CALLED_FOR, ids=lambda part: part if isinstance(part, str) else ""
)
def test_each_warning_is_given_where_it_is_called_for(code: str, path: str, changes: dict[str, Any]) -> None:
    found = by_code(derive(load(BASE).replace(changes)).warnings)
    assert code in found, list(found)
    assert found[code].path == path
    assert found[code].startswith(f"{path}: ")
    assert found[code].measured is not None
    assert "\n" not in found[code]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"recovery.spares": {"count": 20, "repair": "1 d"}},
        {"maintenance": {"every": "30 d", "duration": "4 h", "notice": "1 h"}},
        {"failures.node.profile": [["0 d", 5000], ["0.001 d", 1]]},
        {"failures.sdc": {"kind": "silent", "rate": "0.1 / job-day", "detection": "4 h"}, "checkpoint.verify": "30 s"},
    ],
)
def test_sound_jobs_are_left_alone(changes: dict[str, Any]) -> None:
    assert derive(load(BASE).replace(changes)).warnings == ()


def test_warnings_of_all_kinds_are_called_for_by_some_test() -> None:
    source = Path(sys.modules[measured_warnings.__module__].__file__ or "").read_text(encoding="utf-8")
    codes = set(re.findall(r'^ +"([a-z]+-[a-z-]+|unfinished)",$', source, re.MULTILINE))
    assert {"no-progress", "unfinished", "rate-factor"} <= codes
    assert codes <= {code for code, _, _ in CALLED_FOR}


# --- the numbers -------------------------------------------------------------------------------------------------


def _half(measured: Measured) -> float:
    return 0.5 * (measured.high - measured.low)


def _same(measures: Measures, params: Params, problem: Problem) -> Measured | None:
    """Return what other timelines measure in place of a warning's number."""
    own = {
        "no-clean-checkpoint": measures.no_clean,
        "kept-corrupt": measures.kept_corrupt,
        "unfinished": measures.finished,
        "too-many-restarts": measures.restarts,
    }
    if problem.code == "rate-factor":
        (index,) = (i for i, cause in enumerate(params.causes) if cause.name == "node")
        return measures.rate_factor.at(0, index)
    if problem.code.startswith("much-"):
        return measures.share(problem.code.removeprefix("much-").replace("-", "_")).at(0)
    found = own.get(problem.code, measures.ettr)
    return None if found is None else found.at(0)


def _pairs(params: Params) -> list[tuple[str, Measured, Measured]]:
    """Return (warning, what the pilot said, what many other timelines say) of a job."""
    few = pilot(params)
    asked = params if few.until_s is None else replace(params, horizon_s=few.until_s)
    many = pilot(asked, max_steps=MANY_STEPS, first_timeline=2**20)
    assert many.until_s is None
    found = []
    for problem in measured_warnings(params, few):
        same = _same(many, params, problem)
        assert problem.measured is not None
        assert same is not None
        if _half(same) > 0.0:
            found.append((problem.code, problem.measured, same))
    return found


def test_numbers_of_warnings_are_those_of_other_timelines() -> None:
    rng = np.random.default_rng(7)
    pairs = [pair for _ in range(N_DRAWN) for pair in _pairs(compile_params(load(BASE).replace(drawn(rng))))]
    assert len(pairs) >= 2 * N_DRAWN
    assert len({code for code, _, _ in pairs}) >= 5
    off = np.array([abs(few.value - many.value) / np.hypot(_half(few), _half(many)) for _, few, many in pairs])
    # At 95 % each one in twenty may be off; five standard deviations of that number have a probability below 1e-6.
    assert (off > 1.0).sum() <= 0.05 * len(off) + 5.0 * np.sqrt(0.05 * len(off)), [*zip(pairs, off, strict=True)]
    assert off.max() < 4.0, pairs[int(np.argmax(off))]


@pytest.mark.parametrize(
    ("name", "code", "dimension"),
    [
        ("job", "much-spare-wait", {"activity": "spare_wait"}),
        ("retention_one_kept", "much-rework", {"activity": "rework"}),
    ],
)
def test_numbers_of_a_run_are_those_of_its_result(name: str, code: str, dimension: dict[str, str]) -> None:
    changes = {"recovery.spares.count": 1} if name == "job" else {}
    scenario = load(CASES / f"{name}.yaml").replace(changes)
    told: list[str] = []
    result = mcettr.simulate(scenario, timelines=512, device="cpu", notes=told.append)
    (notice,) = (line for line in told if getattr(line, "code", "") == code)
    assert isinstance(notice, Notice)
    assert notice.measured is not None
    assert float(notice.measured.value) == pytest.approx(float(result.time_fraction.sel(dimension)))
    assert "(512 timelines simulated)" in notice
    (few,) = (warning for warning in derive(scenario).warnings if warning.code == code)
    assert few.measured is not None
    assert abs(few.measured.value - notice.measured.value) < 2.0 * np.hypot(_half(few.measured), _half(notice.measured))
    if name == "retention_one_kept":
        assert notice.path == "failures.sdc.detection"
        assert notice.endswith("(512 timelines simulated); find the corruption sooner, or keep more checkpoints")
        (clean,) = (line for line in told if getattr(line, "code", "") == "no-clean-checkpoint")
        assert clean.measured is not None  # type: ignore[attr-defined]
        assert clean.measured.low < 0.4 < clean.measured.high  # type: ignore[attr-defined]


# --- cases of use ------------------------------------------------------------------------------------------------


def test_corruption_that_outlives_the_one_kept_checkpoint_is_told() -> None:
    warning = by_code(case("retention_one_kept").warnings)["no-clean-checkpoint"]
    assert warning.measured is not None
    # Struck in the last 20 of 50 minutes of work, it is found after the checkpoint that ends them: 40 %.
    assert warning.measured.low < 0.4 < warning.measured.high
    assert warning.measured.high - warning.measured.low < 0.15
    assert "to the last permanent checkpoint" in warning
    assert "no-clean-checkpoint" not in by_code(case("retention_one_kept", **{"checkpoint.keep": 2}).warnings)


def test_a_lease_keeps_preemptions_away() -> None:
    found = case("lease_shields")
    assert set(by_code(found.warnings)) <= {"much-rework"}  # where no notice means no checkpoint, a third is lost
    assert found.simulated.failures.value[0] == 5.0
    assert found.simulated.finished.value[0] == 1.0
    slower = case("lease_shields", **{"checkpoint.write_time": "1 s"}).simulated
    assert slower.ettr.value[0] == pytest.approx(0.6632, abs=2e-4)


def test_a_write_longer_than_its_interval_has_no_exact_value() -> None:
    found = case("write_longer_than_interval")
    assert found.reason == "a background write outlasts the interval"
    assert found.simulated.ettr.value[0] == pytest.approx(36_000 / 37_190)
    for derived in (found, case("write_longer_than_interval", **{"checkpoint.interval": "20 s"})):
        text = check_text(load(CASES / "write_longer_than_interval.yaml"), derived)
        assert "exact" not in text.replace("No closed form is exact", "")
        assert "First-order" not in text
        assert derived.ettr is None
    assert check_object(load(CASES / "write_longer_than_interval.yaml"), found)["exact"] is False


def test_the_first_order_form_is_compared_with_the_exact_value() -> None:
    near = derive(load("rsc-1"))
    assert near.hpca25_trusted
    assert "0.8" in check_text(load("rsc-1"), near).split("First-order")[1]
    far = derive(load(BASE).replace({"checkpoint.interval": "10 h"}))
    assert not far.hpca25_trusted


def test_slow_nodes_cost_speed_and_not_detection() -> None:
    slow = {"failures.slow": {"kind": "slow", "rate": "1 / job-day", "slowdown": 0.5, "detection": "1 d"}}
    found = derive(load(BASE).replace(slow)).simulated
    assert found.share("degraded").value[0] > 0.1
    assert found.share("detection").value[0] < 0.02


def test_spares_replace_the_queue_in_check_and_run() -> None:
    assert "spares-replace-queue" in by_code(case("queue_and_spares").warnings)


@pytest.mark.parametrize("cv", [1e3, 1e200])
def test_no_exact_value_without_a_number(cv: float) -> None:
    job = ready(compile_params(load(BASE).replace({"job.horizon": None})))
    wide = Distribution("gamma", (300.0, cv))
    with np.errstate(all="ignore"):
        found = closed_forms(replace(job, recovery=replace(job.recovery, startup=(("start", wide),))))
    assert found is None or all(np.isfinite(value) for value in found.values() if isinstance(value, float))


def test_check_leaves_jax_alone() -> None:
    code = (
        "import sys; from mcettr.report.derived import derive; from mcettr.scenario import load; derive(load('rsc-1'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('jax' in sys.modules)"], capture_output=True, text=True
    )
    assert done.stdout.strip() == "False", done.stderr


def test_a_pilot_is_bounded_and_says_until_when() -> None:
    often = compile_params(load(BASE).replace({"failures.node.rate": "1 / job-minute"}))
    found = pilot(often)
    assert found.until_s is not None
    assert 8 <= found.n_timelines[0] <= 64
    (warning,) = (w for w in derive(load(BASE).replace({"job.gpus": 65536})).warnings if w.code == "too-slow")
    assert "in the first" in warning
    object_ = check_object(load(BASE), derive(load(BASE)))
    assert object_["simulated"]["until_s"] is None
    assert object_["warning_details"] == []
