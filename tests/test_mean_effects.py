"""What closed forms make of mechanisms on average, against the simulation: failed starts, lemons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mcettr
from mcettr.model import analytic
from mcettr.model.nearest import at_mean_rates
from mcettr.scenario import compile_params
from mcettr.scenario.load import load
from tests.speed import often

JOB: dict[str, Any] = {
    "job": {"gpus": 4096, "gpus_per_node": 8, "work": "20 d", "horizon": "400 d"},
    "checkpoint": {"interval": "30 min", "write_time": "1 min"},
    "failures": {"node": {"rate": "6.5 / 1000 node-days", "detection": "5 min"}},
    "recovery": {"diagnosis": "3 min", "startup": "5 min", "restore": "2 min"},
}
N = 2048


@pytest.mark.parametrize("probability", often([0.9, 0.99, 0.999], 0.9))
def test_failed_starts_are_tries_of_which_a_failure_voids_one(probability: float) -> None:
    changes = {"recovery.start_failure": {"probability": probability}}
    expected = float(analytic.ettr_long_run(at_mean_rates(compile_params(load(JOB, changes)))))
    found = mcettr.simulate(load(JOB, changes), timelines=N)
    assert float(found.ettr) == pytest.approx(expected, rel=0.02)
    all_go_well = float(analytic.ettr_long_run(at_mean_rates(compile_params(load(JOB)))))
    assert expected < 0.95 * all_go_well


@pytest.mark.parametrize(("eviction", "least", "most"), [(1.0, 1.05, 1.2), (0.3, 1.2, 1.7), (0.0, 2.6, 4.0)])
def test_lemons_raise_the_rate_as_long_as_they_stay(eviction: float, least: float, most: float) -> None:
    lemons = {"cause": "node", "fraction": 0.05, "multiplier": 30, "eviction_probability": eviction}
    changes = {"lemons": lemons, "job.gpus": 1024, "failures.node.rate": "30 / 1000 node-days"}
    job = load(JOB, changes)
    found = mcettr.simulate(job, timelines=N)
    params, plain = compile_params(job), compile_params(load(JOB, {k: v for k, v in changes.items() if k != "lemons"}))
    factor = float(analytic.mttf_s(plain) / analytic.mttf_s(params))
    down = ["detection", "diagnosis", "queue", "spare_wait", "maintenance"]
    at_risk_s = float(found.elapsed) * (1.0 - float(found.time_fraction.sel(activity=down).sum()))
    assert least < factor < most
    assert float(found.interruptions) * float(analytic.mttf_s(params)) == pytest.approx(at_risk_s, rel=0.06)
    assert np.isfinite(at_risk_s)
