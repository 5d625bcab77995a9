"""Where JAX cannot run: a JAX_PLATFORMS that names nothing here, and processes forked after it has started."""

import json
import os
import subprocess
import sys

import pytest

import mcettr
from mcettr.engine import device
from mcettr.errors import BackendError
from tests.cli_support import run_apart
from tests.speed import often

SMALL = ("run", "rsc-1", "--set", "job.work=2 d", "--timelines", "64", "--json", "--quiet")
FORKED = """
import multiprocessing, sys, warnings
import mcettr

def simulate(queue):
    try:
        queue.put(float(mcettr.simulate("rsc-1", timelines=64).ettr))
    except mcettr.errors.McettrError as error:
        queue.put(f"{type(error).__name__}: {error}")

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "after":
        mcettr.simulate("rsc-1", timelines=64)
    context = multiprocessing.get_context(sys.argv[2])
    queue = context.Queue()
    child = context.Process(target=simulate, args=(queue,))
    child.start()
    print(queue.get(timeout=60))
    child.join(timeout=60)
    sys.exit(child.exitcode)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(("when", "how"), [("after", "fork"), ("after", "spawn"), ("before", "fork")])
def test_a_process_forked_too_late_says_so(when: str, how: str, tmp_path: object) -> None:
    path = f"{tmp_path}/forked.py"
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(FORKED)
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    command = [sys.executable, path, when, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environment)
    if (when, how) == ("after", "fork"):
        assert done.stdout.startswith("BackendError: expected a process of its own, found one forked after")
        assert "spawn" in done.stdout
    else:
        assert 0.6 < float(done.stdout) < 0.8


def test_the_reference_engine_runs_in_a_forked_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_is_forked", True)
    job = mcettr.load("rsc-1").replace({"job.work": "1 d"})
    assert float(mcettr.simulate(job, timelines=2, engine="reference").ettr) > 0.0
    with pytest.raises(BackendError, match="forked"):
        mcettr.simulate(job, timelines=2)


@pytest.mark.parametrize("platforms", often(["cuda", "nonsense"], "cuda"))
def test_platforms_that_are_not_here(platforms: str) -> None:
    refused = run_apart(*SMALL, JAX_PLATFORMS=platforms)
    assert (refused.returncode, refused.stderr) == (3, b"")
    (error,) = json.loads(refused.stdout)["errors"]
    assert error["message"].startswith(f"JAX_PLATFORMS: expected platforms that JAX can use here, found '{platforms}'")
    done = run_apart(*SMALL, "--device", "cpu", JAX_PLATFORMS=platforms)
    assert (done.returncode, done.stderr) == (0, b"")
    assert 0.5 < json.loads(done.stdout)["ettr"]["value"] < 0.9


def test_doctor_tells_of_platforms_that_are_not_here() -> None:
    done = run_apart("doctor", "--json", JAX_PLATFORMS="cuda")
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout)
    assert [each["name"] for each in found["devices"]] == ["cpu"]
    assert "JAX_PLATFORMS" in found["device_trouble"]
    shown = run_apart("doctor", JAX_PLATFORMS="cuda")
    assert b"Note: JAX_PLATFORMS: " in shown.stdout
