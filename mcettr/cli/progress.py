"""Progress on stderr: nothing for a second, then a bar on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcettr.cli.session import note

if TYPE_CHECKING:
    from mcettr.engine.device import Device

_SHOW_AFTER_S, _LINE_EVERY_S = 1.0, 10.0
_ALMOST = 0.99
"""What is not over is not done: the last percent is kept for the end."""


@contextmanager
def progress(quiet: bool, device: Device) -> Iterator[Callable[[float], None] | None]:
    """Give a function that takes the fraction done, and shows it on stderr once a second has passed.

    A terminal gets a moving bar, anything else a line every ten seconds, also while nothing is reported. What is shown
    never goes back, and reaches 100 % once, at the end. The first call, when all input is known to be good, names the
    device where the user left the choice and it is not the processor.
    """
    if quiet:
        yield None
        return
    moving = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    shown: _Bar | _Lines = _Bar() if moving else _Lines()
    is_named = not device.chosen or device.name == "cpu"

    def update(fraction: float) -> None:
        nonlocal is_named
        if not is_named:
            is_named = True
            note(f"running on {device.name} ({device.description})")
        shown.update(min(fraction, _ALMOST))

    try:
        yield update
    except BaseException:
        shown.close(done=False)
        raise
    shown.close(done=True)
    from mcettr.engine.program_store import open_store

    trouble = open_store().trouble
    if trouble is not None:
        note(trouble)


class _Lines:
    """Progress as a line now and then, from a thread of its own: a compilation reports nothing for a while."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._fraction = 0.0
        self._is_shown = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(_LINE_EVERY_S):
            self._is_shown = True
            self._show()

    def _show(self) -> None:
        note(f"{100.0 * self._fraction:.0f} % done after {time.monotonic() - self._began:.0f} s")

    def update(self, fraction: float) -> None:
        self._fraction = max(self._fraction, fraction)

    def close(self, done: bool) -> None:
        """Stop; with a last line where there were some and all is done."""
        self._over.set()
        self._thread.join()
        if done and self._is_shown:
            self._fraction = 1.0
            self._show()


class _Bar:
    """Progress as a bar that vanishes at the end; its clock and its spinner move while nothing is reported."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fraction = 0.0
        self._bar: Any = None
        self._timer = threading.Timer(_SHOW_AFTER_S, self._start)
        self._timer.daemon = True
        self._timer.start()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TimeElapsedColumn

        with self._lock:
            columns = (SpinnerColumn("line"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
            self._task = self._bar.add_task("", total=1.0, completed=self._fraction)
            self._bar.start()

    def update(self, fraction: float) -> None:
        with self._lock:
            self._fraction = max(self._fraction, fraction)
            if self._bar is not None:
                self._bar.update(self._task, completed=self._fraction)

    def close(self, done: bool) -> None:
        """Take the bar away, once it has shown the end where all is done."""
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                if done:
                    self._bar.update(self._task, completed=1.0)
                self._bar.stop()
