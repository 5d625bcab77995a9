"""What is counted along a timeline: lost seconds by row and activity, interruptions, saves."""

from __future__ import annotations

from mcettr.model.budget import ACTIVITIES, cause_rows


class Books:
    """The account of a timeline.

    Parameters
    ----------
    causes : tuple of str
        Names of the causes.

    Examples
    --------
    >>> books = Books(("node",))
    >>> books.book(books.planned, "queue", 5.0)
    >>> books.lost_s[3]["queue"]
    5.0
    """

    def __init__(self, causes: tuple[str, ...]) -> None:
        rows = cause_rows(causes)
        self.start, self.checkpoint, self.planned, self.horizon = 0, len(causes) + 1, len(causes) + 2, len(causes) + 3
        self.lost_s = [dict.fromkeys(ACTIVITIES, 0.0) for _ in rows]
        self.interruptions = [0] * len(causes)
        self.n_saves = 0
        self.longest_stretch_s = 0.0
        self._newest_at_s = 0.0

    def book(self, row: int, activity: str, seconds: float) -> None:
        """Put lost time on the account."""
        self.lost_s[row][activity] += seconds

    def saved(self, now_s: float) -> None:
        """Note that a main or graceful save has become durable."""
        self.n_saves += 1
        self.close(now_s)
        self._newest_at_s = now_s

    def saved_often(self, first_s: float, every_s: float, n: int) -> None:
        """Note `n` of them, the first at `first_s`."""
        self.saved(first_s)
        if n > 1:
            self.saved(first_s + every_s)
            self.n_saves += n - 2
            self._newest_at_s = first_s + (n - 1) * every_s

    def close(self, now_s: float) -> None:
        """Note that none did since the last one."""
        self.longest_stretch_s = max(self.longest_stretch_s, now_s - self._newest_at_s)
