"""The durable saves: which there are, which can be read back, and what reading them takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mcettr.engine.draws import Draws
from mcettr.kernels import streams
from mcettr.model.params import Params
from mcettr.model.physics import Retention

_CLOSE = 1e-9
"""Share of the work within which two saves hold the same."""


@dataclass
class Extra:
    """A save beside the regular main ones: of the local tier, or made at a graceful stop."""

    position_s: float
    known_good: bool = False


class Saves:
    """Durable saves by the work that they hold.

    The regular main saves are numbered by the work intervals that they end; 0 is the start of the run.

    Parameters
    ----------
    job : Params
        The job.

    Examples
    --------
    >>> from mcettr.model.params import Checkpoint
    >>> saves = Saves(Params(8.0, 1e5, 1e8, Checkpoint(1e3, 10.0, 10.0)))
    >>> saves.add_main(1e3)
    >>> saves.graceful = Extra(1.5e3)
    >>> saves.newest_s
    1500.0
    """

    def __init__(self, job: Params) -> None:
        self.interval_s = job.checkpoint.interval_s
        self._close_s = _CLOSE * min(self.interval_s, job.work_s, job.horizon_s)
        self.retention = job.checkpoint.retention or Retention()
        self.resumes = job.resumes > 0
        self.index = 0  # newest main save
        self.base_s = 0.0  # work that it holds
        self.lowest = -math.inf  # oldest main save that is kept
        self.good = 0  # newest main save that has been read back
        self.graceful: Extra | None = None
        self.local: Extra | None = None

    @property
    def newest_s(self) -> float:
        """Return the work that the newest save holds."""
        return max(self.base_s, *(extra.position_s for extra in self._extras()), 0.0)

    def _extras(self) -> list[Extra]:
        """Return the extra saves, newest first, the local one where both hold the same."""
        local, graceful = self.local, self.graceful
        is_older = local is not None and graceful is not None and self._is_less(local.position_s, graceful.position_s)
        extras = (graceful, local) if is_older else (local, graceful)
        return [extra for extra in extras if extra is not None]

    def add_main(self, position_s: float) -> None:
        """Let a regular main save become durable."""
        self.index += 1
        self.base_s = position_s
        self.lowest = max(self.lowest, self.index - self.retention.keep + 1)

    def drop_after(self, position_s: float) -> None:
        """Drop the extra saves that hold more than this work."""
        if self.local is not None and self._is_less(position_s, self.local.position_s):
            self.local = None
        if self.graceful is not None and self._is_less(position_s, self.graceful.position_s):
            self.graceful = None

    def distrust_after(self, position_s: float) -> None:
        """Drop every save that holds more than this work."""
        self.drop_after(position_s)
        clean = position_s / self.interval_s
        if clean + _CLOSE < self.index:
            self._go_back_to(math.floor(clean + _CLOSE))

    def _go_back_to(self, index: int) -> None:
        if index != self.index:
            self.index, self.base_s = index, index * self.interval_s

    def restore(self, draws: Draws, attempt: int, main_s: float, local_s: float) -> tuple[float, bool]:
        """Choose the save that a start reads, dropping the ones that cannot be read.

        Parameters
        ----------
        draws : Draws
            Of the timeline.
        attempt : int
            Number of the start.
        main_s, local_s : float
            Time to read a main (or graceful) save, and a local one.

        Returns
        -------
        reads_s : float
            Time of all reads, failed ones included.
        is_read : bool
            Whether there is a save to read at all. What it holds is `newest_s`.
        """
        reads_s = 0.0
        for extra in self._extras():
            # What the main save holds too is read from the local tier, but not from a graceful save.
            if self._is_less(extra.position_s, self.base_s) or (
                extra is self.graceful and not self._is_less(self.base_s, extra.position_s)
            ):
                continue
            purpose = streams.BAD_LOCAL if extra is self.local else streams.BAD_GRACEFUL
            reads_s += local_s if extra is self.local else main_s
            if extra.known_good or not draws.happens(self.retention.bad_probability, purpose, attempt):
                extra.known_good = True
                self.drop_after(extra.position_s)
                return reads_s, True
            if extra is self.local:
                self.local = None
            else:
                self.graceful = None
        reads_s += self._fall_back(draws, attempt) * main_s
        self.drop_after(self.base_s)
        is_read = self.index > 0 or self.resumes
        return reads_s + (main_s if is_read else 0.0), is_read

    def _fall_back(self, draws: Draws, attempt: int) -> float:
        """Go back to the newest main save that can be read; return how many could not."""
        top, keep = self.index, self.retention
        n_bad = draws.repeats(keep.bad_probability, streams.BAD_MAIN, attempt)
        known = self.good if self.good <= top else 0
        if known >= self.lowest or (known == 0 and self.lowest <= 0):
            n_bad = min(n_bad, top - known)
        if top - n_bad >= max(self.lowest, known):
            self._go_back_to(int(top - n_bad))
        else:
            n_bad = max(top - max(self.lowest, 1) + 1, 0.0)
            self._go_back_to(self._permanent(min(top, self.lowest - 1)))
        self.good = self.index
        # What is saved from here on is kept, whatever was kept before.
        self.lowest = min(self.lowest, self.index)
        return n_bad

    def _permanent(self, index: float) -> int:
        """Return the newest permanent save up to `index`; 0, the start, if there is none."""
        every = self.retention.permanent_every
        return 0 if math.isinf(every) else int(every * math.floor(index / every))

    def _is_less(self, work_s: float, other_s: float) -> bool:
        """Return whether a save holds less than another one, by more than roundings."""
        return bool(work_s < other_s * (1.0 - _CLOSE) - self._close_s)
