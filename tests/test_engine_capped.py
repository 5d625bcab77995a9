"""Timelines that only the cap on attempts ends: few are run, and the result says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from jobs import plain

import mcettr
from mcettr.engine import run as engine
from mcettr.engine.run import Effort, estimate
from mcettr.kernels.events import loop
from mcettr.model.budget import Outcome
from mcettr.model.counts import exactly
from mcettr.model.events import events_by_kind
from mcettr.model.params import Cause
from mcettr.model.physics import Spares
from mcettr.scenario import compile_params
from tests import lanes

JOB: dict[str, Any] = {
    "job": {"gpus": 4096, "work": "20 d", "horizon": "40 d"},
    "checkpoint": {"interval": "30 min", "write_time": "1 min"},
    "failures": {"node": {"rate": "1e12 / day"}},
    "recovery": {"startup": "5 min"},
}


def test_a_hopeless_job_runs_one_block_and_says_so() -> None:
    told: list[str] = []
    result = mcettr.simulate(
        JOB, timelines=4096, device="cpu", notes=told.append, progress=lambda _: told.append("running")
    )
    assert any("the job makes no progress: no work is kept" in line for line in told)
    assert told[-1].startswith("stopped after 10,0")
    assert "all 64 timelines run reached the cap on failures and restarts, so no more were run" in told[-1]
    assert result.attrs["warnings"].splitlines() == [line for line in told if line != "running"]
    assert int(result.timelines) == 64
    assert float(result.capped_fraction) == 1.0


def test_a_hopeless_cell_takes_nothing_from_the_others() -> None:
    rates = np.array([1e-5, 1e7, 2e-5])
    params = plain(1.0, work_s=1e6, interval_s=3600.0, write_s=60.0, startup_s=60.0, horizon_s=2e6)
    changed = plain(rates, work_s=1e6, interval_s=3600.0, write_s=60.0, startup_s=60.0, horizon_s=2e6)  # type: ignore[arg-type]
    found = estimate(changed, Effort(timelines=200, device="cpu"))
    assert found.n_timelines.tolist() == [200, 64, 200]
    assert found.capped_fraction.tolist() == [0.0, 1.0, 0.0]
    assert events_by_kind(params).attempts < 1e7
    sound = plain(rates[[0, 2]], work_s=1e6, interval_s=3600.0, write_s=60.0, startup_s=60.0, horizon_s=2e6)  # type: ignore[arg-type]
    alone = estimate(sound, Effort(timelines=200, device="cpu"))
    np.testing.assert_array_equal(found.values["ettr"][[0, 2]], alone.values["ettr"])


def test_a_run_stops_with_the_call_after_which_all_were_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_cap", lambda params: 9)
    job = plain(1e-4, work_s=1e6, interval_s=3600.0, write_s=60.0, horizon_s=2e6)
    found = estimate(job, Effort(timelines=20_000, device="cpu"))
    assert (found.n_timelines.item(), found.capped_fraction.item()) == (128 * 64, 1.0)
    some = plain(4e-6, work_s=1e6, interval_s=3600.0, write_s=60.0, horizon_s=2e6)
    found = estimate(some, Effort(timelines=20_000, device="cpu"))
    assert found.n_timelines.item() == 20_000
    assert 0.0 < found.capped_fraction.item() < 1.0


def test_the_cap_is_that_of_the_cells_with_an_end() -> None:
    base = mcettr.load(JOB)
    assert engine._cap(compile_params(base)) == pytest.approx(10_000, abs=100)
    assert engine._cap(compile_params(base.replace({"failures.node.rate": "1e5 / day"}))) == pytest.approx(
        1e5, rel=0.01
    )
    near = compile_params(base.replace({"failures.node.rate": "1e4 / day"}))
    attempts = float(events_by_kind(near).attempts)
    assert engine._cap(near) == pytest.approx(1_000 + 1.5 * attempts, abs=100)


def test_an_interval_is_not_sought_where_no_timeline_ends() -> None:
    from mcettr.sweep.interval import needs_search

    drill = {"failures.drill": {"every": {"uniform": ["45 h", "75 h"]}}}
    assert not needs_search(compile_params(mcettr.load(JOB).replace(drill)))
    assert needs_search(compile_params(mcettr.load(JOB).replace({**drill, "failures.node.rate": "1 / day"})))


def test_timelines_cut_off_by_the_number_of_steps_keep_their_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_STEPS_AN_ATTEMPT", 1)
    # Each failure takes thirty nodes, and each of them comes back in a step of its own.
    cause = Cause("node", 1e-4, nodes_lost=exactly(30.0))
    spares = Spares(1000.0, 0.0, 1.0, 3600.0, 3600.0, 0.0)
    job = plain(1e-4, work_s=1e6, interval_s=3600.0, write_s=60.0, startup_s=60.0, horizon_s=1e8)
    job = replace(job, causes=(cause,), n_nodes=100.0, recovery=replace(job.recovery, spares=spares))
    lanes.program.cache_clear()
    found = lanes.jax_timelines(job, 0, 0, 20, max_failures=33)
    lanes.program.cache_clear()
    assert (found.outcome == Outcome.CAPPED).all()
    assert (found.elapsed_s > 3600.0).all()
    assert (found.interruptions.sum(axis=1) < 10).all()
    np.testing.assert_allclose(found.productive_s + found.lost_s.sum(axis=(1, 2)), found.elapsed_s)
