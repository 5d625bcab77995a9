"""Targets met with a probability over uncertain rates, against the posterior itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import mcettr
from mcettr.errors import ScenarioError
from mcettr.model import analytic
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Checkpoint, Params, Recovery
from mcettr.scenario import compile_params
from mcettr.sweep.confidence import at_confidence, check_confidence

INF = float("inf")
JOB: dict[str, Any] = {
    "job": {"gpus": 1024, "gpus_per_node": 8, "work": "20 d", "horizon": "200 d"},
    "checkpoint": {"interval": "30 min", "write_time": "1 min"},
    "failures": {
        "node": {"count": 12, "exposure": "2000 node-days"},
        "hang": {"count": 4, "exposure": "5000 node-days", "detection": "2 h"},
    },
    "recovery": {"startup": "5 min"},
}


def job(shapes: tuple[float, ...], shared: float = INF) -> Params:
    """Return a job whose causes cost 20 min to 10 h a failure."""
    causes = tuple(
        Cause(name, rate, rate_shape=shape, detection=fixed(detection_s))
        for name, rate, shape, detection_s in zip(
            ("crash", "hang", "human"), (4e-5, 1e-5, 3e-6), shapes, (60.0, 3600.0, 36_000.0), strict=True
        )
    )
    plan = Checkpoint(1800.0, 60.0, 60.0)
    return Params(8.0, 1e6, 1e9, plan, causes, Recovery(startup=(("start", fixed(300.0)),)), rate_shape=shared)


def share_met(params: Params, level: float) -> float:
    """Return the share of the posterior with at least this exact ETTR: an integral, on evenly spread points."""
    points = stats.qmc.Sobol(1 + len(params.causes), scramble=False).random_base2(14).T + 2.0**-15

    def gamma(shape: float, u: Any) -> Any:
        return special.gammaincinv(shape, u) / shape if np.isfinite(shape) else np.ones_like(u)

    shared = gamma(float(params.rate_shape), points[0])
    causes = tuple(
        replace(c, rate_per_s=c.rate_per_s * gamma(float(c.rate_shape), u) * shared, rate_shape=INF)
        for c, u in zip(params.causes, points[1:], strict=True)
    )
    return float((analytic.ettr(replace(params, causes=causes, rate_shape=INF)) >= level).mean())


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.975])
@pytest.mark.parametrize(
    ("params", "tolerance"),
    [
        (job((3.0, INF, INF)), 0.001),
        (job((INF, INF, INF), 5.0), 0.001),
        (job((5.0, 2.0, 1.5)), 0.012),
        (job((50.0, 4.0, 2.0), 10.0), 0.012),
    ],
    ids=["one", "shared", "three", "all"],
)
def test_the_level_is_met_as_often_as_asked_for(params: Params, tolerance: float, confidence: float) -> None:
    level = float(analytic.ettr(at_confidence(params, confidence)))
    assert share_met(params, level) == pytest.approx(confidence, abs=tolerance)


def test_the_costs_of_the_causes_count() -> None:
    params = job((50.0, 4.0, 2.0))
    total = sum(float(c.rate_per_s) for c in params.causes)
    rates = [float(c.rate_per_s) for c in at_confidence(params, 0.9).causes]
    human, crash = rates[2] / 3e-6, rates[0] / 4e-5
    assert human > 1.5 > 1.05 > crash  # most of the doubt that matters is about the human
    proportional = replace(params, causes=tuple(replace(c, rate_per_s=c.rate_per_s * sum(rates) / total,
        rate_shape=INF) for c in params.causes))  # fmt: skip
    assert abs(share_met(params, float(analytic.ettr(proportional))) - 0.9) > 0.05  # the total rate alone is no answer


def test_every_cell_has_its_own_rates() -> None:
    params = job((3.0, INF, INF))
    wide = replace(
        params,
        causes=tuple(
            replace(c, rate_per_s=c.rate_per_s * np.array([[1.0, 2.0], [3.0, 4.0]]), rate_shape=np.full((2, 2), k))
            for c, k in zip(params.causes, (3.0, INF, INF), strict=True)
        ),
    )
    one, all_ = at_confidence(params, 0.9), at_confidence(wide, 0.9)
    times = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(all_.causes[0].rate_per_s, one.causes[0].rate_per_s * times, rtol=1e-4)
    np.testing.assert_allclose(all_.causes[1].rate_per_s, 1e-5 * times, rtol=1e-4)


def test_solve_finds_the_write_time_that_the_posterior_calls_for() -> None:
    found = mcettr.solve(
        JOB, vary="checkpoint.write_time=1 s:10 min", target={"ettr": 0.85}, confidence=0.9, timelines=1024
    )
    plain = mcettr.solve(JOB, vary="checkpoint.write_time=1 s:10 min", target={"ettr": 0.85}, timelines=1024)
    assert found.value is not None
    assert plain.value is not None
    assert found.value.estimate < plain.value.low
    params = compile_params(mcettr.load(JOB).replace({"checkpoint.write_time": f"{found.value.estimate!r} s"}))
    assert share_met(params, 0.85) == pytest.approx(0.9, abs=0.02)
    assert "with probability 0.9 over the rates" in found.reason
    assert found.to_json()["confidence"] == 0.9
    assert "confidence" not in plain.to_json()


@pytest.mark.parametrize(("confidence", "message"), [(1.0, "inside"), (0.0, "inside"), (-1.0, "inside")])
def test_bad_confidences_are_refused(confidence: float, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        check_confidence(confidence, job((3.0, INF, INF)))


def test_known_rates_have_no_confidence() -> None:
    with pytest.raises(ScenarioError, match="expected uncertain rates"):
        check_confidence(0.9, job((INF, INF, INF)))
    check_confidence(None, job((INF, INF, INF)))
