"""Progress on stderr: it moves while nothing is reported, never goes back, and is whole once."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

import mcettr
from mcettr.cli import progress as module
from mcettr.cli.progress import progress
from mcettr.engine.device import Device
from tests.cli_output import Capture

CPU = Device("cpu", "processor", False, None)


def test_lines_come_while_nothing_is_reported(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINE_EVERY_S", 0.05)
    with progress(False, CPU) as report:
        assert report is not None
        time.sleep(0.15)  # as a compilation does
        for fraction in (0.2, 0.7, 0.5, 1.0, 1.0):
            report(fraction)
            time.sleep(0.15)
    shown = [int(found) for found in re.findall(r"mcettr: (\d+) % done after", capsys.readouterr().err)]
    assert shown[0] == 0
    assert {20, 70, 99} <= set(shown)
    assert shown == sorted(shown)
    assert shown.count(100) == 1
    assert shown[-1] == 100


def test_a_short_run_and_a_failed_one_do_not_claim_to_be_done(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    with progress(False, CPU) as report:
        assert report is not None
        report(1.0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(module, "_LINE_EVERY_S", 0.05)

    def fail() -> None:
        with progress(False, CPU) as report:
            assert report is not None
            report(1.0)
            time.sleep(0.15)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    err = capsys.readouterr().err
    assert "99 % done" in err
    assert "100 %" not in err


def test_the_bar_reaches_its_end_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "_SHOW_AFTER_S", 0.01)
    with progress(False, CPU) as report:
        assert report is not None
        time.sleep(0.3)
        for fraction in (0.3, 1.0, 0.8):
            report(fraction)
            time.sleep(0.25)
    shown = [int(found) for found in re.findall(r"(\d+)%", terminal.getvalue())]
    assert shown == sorted(shown)
    assert {30, 99, 100} <= set(shown)


def test_what_a_run_reports_grows_to_one() -> None:
    seen: list[float] = []
    mcettr.simulate("rsc-1", timelines=100_000, progress=seen.append)
    assert len(seen) >= 5
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    assert all(0.0 <= fraction <= 1.0 for fraction in seen[:-1])
