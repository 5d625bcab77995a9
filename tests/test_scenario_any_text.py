"""Any scenario survives its own text, and any other text is refused in one line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcettr.errors import ScenarioError
from mcettr.scenario import Scenario, compile_params, load
from mcettr.scenario.document import read_yaml
from mcettr.scenario.merge import known_paths
from tests.scenario_texts import BASE, with_value


@given(st.integers(1, 10**6), st.floats(0.001, 1e4), st.sampled_from(["s", "min", "h", "d"]))
def test_any_scenario_survives_its_own_text(gpus: int, time: float, unit: str) -> None:
    tree = with_value("job.gpus", gpus)
    tree["checkpoint"]["write_time"] = f"{time!r} {unit}"
    scenario = load(tree)
    assert load(scenario.to_dict()) == scenario
    assert isinstance(scenario, Scenario)
    assert scenario.to_dict()["checkpoint"]["write_time"] == f"{time!r} {unit}"


def test_importing_and_compiling_loads_neither_jax_nor_xarray() -> None:
    code = (
        "import sys; from mcettr.scenario import load, compile_params; compile_params(load('rsc-1'));"
        "print(*(name for name in ('jax', 'xarray', 'pandas', 'numba') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["5 min", "0 s", "never", "auto", "full", "10 %", "1 / node-day", "3 gpu-hours", "2 TB", "1e-200 s"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=5), inner, max_size=2),
        st.dictionaries(st.sampled_from(["mean", "cv", "shape", "0.5", "0.9"]), inner, max_size=3),
        st.dictionaries(st.sampled_from(["gamma", "weibull", "uniform", "quantiles", "mixture"]), inner, max_size=1),
    ),
    max_leaves=6,
)


LEAVES = ("job.gpus", "checkpoint.stall", "failures.node.rate", "failures.node.every", "recovery.startup", "job")


def problem(attempt: Callable[[], object]) -> str:
    """Return what is wrong, with "\\n" in it only if one mistake takes several lines or too many letters."""
    try:
        attempt()
    except ScenarioError as error:
        found = error
    else:
        return ""
    assert all(len(line) < 1000 for line in str(found).splitlines())
    return "; ".join(str(one) for one in found.errors)


@settings(deadline=None)
@given(st.sampled_from(known_paths(BASE)), VALUES)
def test_anything_in_any_place_is_read_or_refused_in_one_line(path: str, value: object) -> None:
    assert "\n" not in problem(lambda: compile_params(load(BASE, {path: value})))
    if path in LEAVES:
        assert "\n" not in problem(lambda: compile_params(load(with_value(path, value))))


KINDS: tuple[object, ...] = (
    None, True, 0, 1, -1, 1.5, 10**400, float("inf"), float("nan"), "", "x", "5 min", "1 / day", "1e999 s",
    [], [1], [None], [[]], ["x"], [{}], {}, {"a": 1}, {1: 2}, {"a": {}}, {"a": []},
)  # fmt: skip


@pytest.mark.parametrize("path", known_paths(BASE))
def test_a_value_of_any_kind_is_read_or_refused_in_one_line(path: str) -> None:
    for value in KINDS:
        for given_there in ((BASE, {path: value}), (with_value(path, value), {})):
            assert "\n" not in problem(lambda given_there=given_there: compile_params(load(*given_there))), value


@given(st.text(alphabet="ab:{}[],&*!#-|>%'\"\n \t1.e~", max_size=40))
def test_any_text_is_a_document_or_an_error_with_its_file(text: str) -> None:
    found = problem(lambda: read_yaml(text, "a.yaml"))
    assert found == "" or found.startswith("a.yaml")
    assert "\n" not in found
