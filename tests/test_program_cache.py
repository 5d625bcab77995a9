"""Compiled programs on disk: found again, never believed when torn, foreign or stale, and never in the way."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mcettr.engine import program_store, programs
from mcettr.engine.program_store import Store, open_store
from mcettr.engine.run import Effort, estimate
from mcettr.kernels.timeline import compiled
from tests import jobs
from tests.speed import often

JOB = jobs.plain(1e-4, work_s=2e5, interval_s=1e3, write_s=20.0)
RUN = ("run", "rsc-1", "--set", "job.work=2 d", "--timelines", "64", "--json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store of its own, and a process that knows no program yet."""
    place = tmp_path / "programs"
    monkeypatch.setenv("MCETTR_CACHE", str(place))
    monkeypatch.setattr(programs, "_slots", {})
    programs._circumstances.cache_clear()
    yield place
    programs._circumstances.cache_clear()


def ettr() -> float:
    """Return what a process that starts anew would find: it knows programs from the disk only."""
    programs._slots.clear()
    compiled.cache_clear()
    return float(estimate(JOB, Effort(timelines=64, seed=1)).values["ettr"][0])


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows by one with each compilation."""
    found: list[str] = []
    original = programs._compiled
    monkeypatch.setattr(programs, "_compiled", lambda *given: found.append("one") or original(*given))
    return found


def test_a_second_process_does_not_compile(folder: Path, compilations: list[str]) -> None:
    first = ettr()
    assert len(compilations) == 1
    assert ettr() == first
    assert len(compilations) == 1
    assert len(list(folder.iterdir())) == 1


@pytest.mark.slow
def test_changed_sources_are_compiled(folder: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ettr()
    monkeypatch.setattr(programs, "_digest_of_sources", lambda: "other sources")
    programs._circumstances.cache_clear()
    ettr()
    assert len(compilations) == 2
    assert len(list(folder.iterdir())) == 2


def test_the_digest_sees_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "mcettr"
    for name in ("kernels/events", "model"):
        (copy / name).mkdir(parents=True)
    sources = [
        copy / name for name in ("errors.py", "units.py", "kernels/plain.py", "kernels/events/a.py", "model/b.py")
    ]
    for source in sources:
        source.write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(programs.mcettr, "__file__", str(copy / "__init__.py"))
    monkeypatch.setattr(programs.mcettr, "_IMPORTED_S", 1e12)
    seen = {programs._digest_of_sources()}
    for source in sources:
        source.write_text("x = 2\n", encoding="utf-8")
        seen.add(programs._digest_of_sources())
    assert None not in seen
    assert len(seen) == 1 + len(sources)
    monkeypatch.setattr(programs.mcettr, "_IMPORTED_S", 0.0)  # what was imported may be other than what is there now
    assert programs._digest_of_sources() is None


@pytest.mark.slow
def test_another_processor_compiles(folder: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ettr()
    monkeypatch.setattr(programs, "_processor", lambda: ["another one"])
    programs._circumstances.cache_clear()
    ettr()
    assert len(compilations) == 2


def test_a_processor_nobody_knows_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_processor", lambda: None)
    programs._circumstances.cache_clear()
    ettr()
    assert not folder.exists()


@pytest.mark.parametrize("harm", often(["cut", "flipped", "emptied", "foreign"], "flipped"))
def test_torn_files_are_compiled_again(folder: Path, compilations: list[str], harm: str) -> None:
    first = ettr()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    middle = len(whole) // 2
    harmed = {
        "cut": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "emptied": b"",
        "foreign": program_store._packed(b"what another key has", "another key"),
    }[harm]
    file.write_bytes(harmed)
    assert ettr() == first
    assert len(compilations) == 2
    assert file.read_bytes() != harmed  # and is whole again
    assert ettr() == first
    assert len(compilations) == 2


@pytest.mark.slow
def test_what_jax_does_not_take_is_not_tried_again(folder: Path, compilations: list[str]) -> None:
    first = ettr()
    (file,) = folder.iterdir()
    (key,) = [key for key in keys_of_run() if open_store().read(key) is not None]
    open_store().write(key, b"[true]\nno program at all")
    assert ettr() == first
    assert open_store().read(key) == programs._UNUSABLE
    assert ettr() == first
    assert len(compilations) == 4  # the first, for the keys, in place of what is no program, in place of the mark
    assert [file] == list(folder.iterdir())


def keys_of_run() -> list[str]:
    """Return the keys that a run asks for."""
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "read", lambda self, key: asked.append(key))
        patch.setattr(Store, "write", lambda *_: None)
        ettr()
    return asked


def test_files_of_others_are_not_believed(folder: Path) -> None:
    store = Store(folder)
    folder.mkdir(mode=0o700)
    store.write("key", b"content")
    assert store.read("key") == b"content"
    (file,) = folder.iterdir()
    file.chmod(0o666)
    assert store.read("key") is None
    folder.chmod(0o777)
    assert open_store().folder is None
    assert "others can write" in (open_store().trouble or "")


def test_the_least_used_make_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    store = Store(folder)
    content = np.random.default_rng(0).bytes(1000)
    monkeypatch.setattr(program_store, "MOST_BYTES", 3500)
    for number in range(3):
        store.write(f"key {number}", content)
        os.utime(store._path(f"key {number}"), (number, number))
    assert store.read("key 0") == content  # used again: now the newest
    store.write("key 3", content)
    assert [store.read(f"key {number}") is not None for number in range(4)] == [True, False, True, True]
    assert store.n_bytes() <= 3500


def test_writers_at_one_time_leave_one_whole_file(folder: Path) -> None:
    code = (
        "from mcettr.engine.program_store import open_store\n"
        "for _ in range(50):\n"
        "    open_store().write('key', bytes(200_000))\n"
        "    assert open_store().read('key') == bytes(200_000)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    "variables",
    [{"MCETTR_CACHE": "/dev/null/x"}, pytest.param({"MCETTR_CACHE": "", "HOME": "/dev/null"}, marks=pytest.mark.slow)],
)
def test_no_place_to_keep_them_costs_a_note(variables: dict[str, str]) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "XDG_CACHE_HOME"} | variables
    command = [sys.executable, "-m", "mcettr", *RUN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    (note,) = [line for line in done.stderr.splitlines() if "MCETTR_CACHE" in line]
    assert note.startswith("mcettr: compiled programs are not kept, so every start compiles anew: ")


def test_off_is_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCETTR_CACHE", "off")
    ettr()
    assert open_store() == Store(None)
    assert not folder.exists()


@pytest.mark.slow
def test_mechanisms_of_the_event_loop_are_kept_too(folder: Path, compilations: list[str]) -> None:
    job = replace(JOB, causes=(replace(JOB.causes[0], every=replace(JOB.causes[0].detection, values=(5e3,))),))

    def found() -> float:
        programs._slots.clear()
        return float(estimate(job, Effort(timelines=64, seed=1)).values["ettr"][0])

    assert found() == found()
    assert len(compilations) == 1
