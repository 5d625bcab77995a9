"""Ctrl-C and SIGTERM end the program within a second, whatever it is doing, and leave nothing half done.

Python runs its signal handlers between two steps of the main thread: an interrupt then waits for a library that is busy
there, and is lost where one ignores errors. So the signal is also written to a pipe, and a thread that reads it ends
the program when the main thread does not.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

INTERRUPTED = 130
_PATIENCE_S = 0.6
_SHOW_CURSOR = "\x1b[?25h"


class Watch:
    """Watches for signals from its making until `ended`; to be made by the main thread."""

    def __init__(self) -> None:
        self._signal: int | None = None
        self._is_over = threading.Event()
        for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(number) == usual:  # a signal that is ignored, as under nohup, stays so
                signal.signal(number, self._raise)
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=(read_end,), daemon=True, name="mcettr signals").start()

    def ended(self, code: int) -> int:
        """Return the exit code of a program whose work ended with `code`; after a signal do not return."""
        self._is_over.set()
        if self._signal is None:
            return code
        if code != INTERRUPTED:  # some library has dropped the interrupt
            print(f"mcettr: {interrupted_text()}", file=sys.stderr)
        _leave(self._signal)
        return code

    def _raise(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._signal = number
        raise KeyboardInterrupt

    def _wait(self, read_end: int) -> None:
        while True:
            for number in os.read(read_end, 64):
                if number in (signal.SIGINT, signal.SIGTERM):
                    self._signal = number
                    if not self._is_over.wait(_PATIENCE_S):
                        cursor = _SHOW_CURSOR if sys.stderr.isatty() else ""
                        os.write(2, f"{cursor}mcettr: {interrupted_text()}\n".encode(errors="backslashreplace"))
                        _leave(number)


def _interim() -> Any:
    """Return the module that knows the files under way, if it is loaded: else there are none."""
    return sys.modules.get("mcettr.report.interim")


def interrupted_text() -> str:
    """Return what an interrupted program says."""
    written = _interim().written if _interim() is not None else []
    if not written:
        return "interrupted; no result was written"
    return f"interrupted; written before: {', '.join(map(str, written))}"


def _leave(number: int) -> None:
    """End the process at once: threads in the middle of a computation are not waited for."""
    if _interim() is not None:
        _interim().remove_all()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(128 + number)
