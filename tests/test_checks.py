"""Each cross-field check fires where it should, names its field, and gives its consequence in numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mcettr.model.checks import Problem, check
from mcettr.model.distributions import fixed
from mcettr.model.params import Cause, Params, Recovery
from tests.check_jobs import DAY, job

UNSURE = tuple(Cause(name, 1e-6, rate_shape=3.5) for name in "abc")


def only(problems: list[Problem], level: str, path: str) -> Problem:
    (problem,) = problems
    assert (problem.level, problem.path) == (level, path)
    assert "\n" not in problem.message
    return problem


def test_a_sound_job_has_no_problems() -> None:
    assert check(job(), deadlines_s=[40 * DAY, 90 * DAY]) == []
    assert check(job(causes=())) == []


@pytest.mark.parametrize(
    ("params", "path", "message"),
    [
        (job(stall_s=90.0), "checkpoint.stall", "expected at most the write time (60 s), found 90 s"),
        (job(interval_s=-5.0), "checkpoint.interval", "found -5 s"),
        (job(interval_s=0.0), "checkpoint.interval", "a free save has no best interval"),
        (job(interval_s=np.nan), "checkpoint.interval", "found nan"),
        (job(n_gpus=0.0), "job.gpus", "expected more than 0 and finite, found 0"),
        (job(work_s=-1.0), "job.work", "expected more than 0, found -1 s"),
        (job(write_time_s=np.inf), "checkpoint.write_time", "and finite, found never"),
        (job(slowdown=1.5), "checkpoint.slowdown", "expected at most 1, found 1.5"),
        (job(slowdown=-0.5), "checkpoint.slowdown", "expected at least 0 and finite, found -0.5"),
        (job(causes=(Cause("node", -1e-5),)), "failures.node.rate", "expected at least 0 and finite, found -1e-05"),
        (job(causes=(Cause("node", np.nan),)), "failures.node.rate", "found nan"),
        (job(recovery=Recovery(queue_wait=fixed(np.inf))), "recovery.queue_wait", "found never"),
        (job(recovery=Recovery(startup=(("image", fixed(-1.0)),))), "recovery.startup.image", "found -1 s"),
        (job(work_s=np.inf, horizon_s=np.inf), "job", "expected work or a horizon"),
        (job(causes=(Cause("node", 1e-4, rate_shape=9.5),), horizon_given=False), "job.horizon", "node is uncertain"),
        (job(causes=UNSURE, horizon_given=False), "job.horizon", "the rates of a and 2 more causes are uncertain"),
        (job(interval_s=1e-4, write_time_s=0.0, stall_s=0.0), "checkpoint.interval", ": one every 0.1 ms: lengthen it"),
        (job(work_s=1e15, horizon_s=1e18), "job.work", "3.17e+07 years of work: check job.work"),
        (job(causes=(Cause("x", 9.0),), interval_s=1e-4), "failures", "the job fails every 111 ms: check job.gpus"),
        (job(causes=(Cause("x", 1e9),), interval_s=1e-4), "failures", "fails over 1,000 times a second"),
    ],
)
def test_errors(params: Params, path: str, message: str) -> None:
    assert message in only(check(params), "error", path).message


def test_never_is_a_detection_time() -> None:
    never = job(causes=(Cause("hang", 1e-4, "hang", detection=fixed(np.inf)),))
    problem = only(check(never), "warning", "failures.hang.detection")
    assert problem.message.startswith("100 % of its failures are not noticed before the horizon")


@pytest.mark.parametrize(
    ("params", "deadline", "message"),
    [
        (job(), 100 * DAY, "expected at most the horizon (90 d), found 100 d: raise job.horizon"),
        (job(work_s=np.inf), 10 * DAY, "give job.work"),
        (job(), np.nan, "expected more than 0 s, found nan"),
        (job(), 0.0, "expected more than 0 s, found 0 s"),
    ],
)
def test_deadlines(params: Params, deadline: float, message: str) -> None:
    assert message in only(check(params, [deadline]), "error", "deadline").message


def test_stretched_interval() -> None:
    params = job(interval_s=60.0, write_time_s=300.0, stall_s=10.0)
    problem = only(check(params), "warning", "checkpoint.interval")
    assert "every 60 s is shorter than its background write (290 s)" in problem.message.replace("4.83 min", "290 s")
    assert check(job(interval_s=290.0, write_time_s=300.0, stall_s=10.0)) == []


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (1500 * 0.0065 / 1000 / DAY, "implausibly low: one failure per 421 years per node of 8 GPUs"),
        (1500 * 6.5 / DAY, "implausibly high: one failure per 3.69 h per node of 8 GPUs"),
    ],
)
def test_implausible_rate(rate: float, message: str) -> None:
    problems = check(job(causes=(Cause("node", rate),), interval_s=5.0, write_time_s=0.1, stall_s=0.1))
    (problem,) = (p for p in problems if p.path == "failures.node.rate")
    assert problem.level == "warning"
    assert message in problem.message.replace("222 min", "3.69 h")


def test_cells_of_a_sweep_are_named() -> None:
    stall = np.array([[30.0], [90.0]])
    write = np.array([20.0, 60.0, 120.0])
    problem = only(check(job(stall_s=stall, write_time_s=write)), "error", "checkpoint.stall")
    assert problem.cells is not None
    np.testing.assert_array_equal(problem.cells, [[True, False, False], [True, True, False]])
    assert problem.message == "expected at most the write time (20 s), found 30 s"
    assert only(check(job(stall_s=90.0)), "error", "checkpoint.stall").cells is None
