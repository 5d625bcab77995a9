"""Saves of the second simulator: one object each, written good or bad, kept or deleted, read from the newest on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.independent_laws import happens
from tests.independent_world import World


@dataclass(eq=False)
class Save:
    """Work captured by one durable save; `index` counts main saves from the start, which is number 0."""

    position_s: float
    index: int = 0
    bad: bool = False


@dataclass(frozen=True)
class Reading:
    """What a restart reads: saves that turn out bad, then one (None: it begins from nothing).

    Tiers are "main" (graceful saves included) and "local".
    """

    failed: tuple[str, ...]
    tier: str | None
    position_s: float


class Store:
    """Every durable save there is: all main ones that are kept, the newest local and the newest graceful one."""

    def __init__(self, world: World) -> None:
        self._world, self._retention = world, world.params.checkpoint.retention
        self.main = [Save(0.0)]
        self.local: Save | None = None
        self.graceful: Save | None = None
        self._lowest = -math.inf

    @property
    def base_s(self) -> float:
        """Work in the newest main save."""
        return self.main[-1].position_s

    @property
    def newest_s(self) -> float:
        """Work in the newest save of all."""
        return max(save.position_s for save in (self.main[-1], self.local, self.graceful) if save is not None)

    def add_main(self, position_s: float) -> None:
        """Store a main save, and delete those that are no longer kept."""
        index = self.main[-1].index + 1
        self.main.append(Save(position_s, index, self._is_bad()))
        if self._retention is not None:
            every = float(self._retention.permanent_every)
            self._lowest = max(self._lowest, index - float(self._retention.keep) + 1)
            self.main = [save for save in self.main if save.index >= self._lowest or _is_permanent(save, every)]
        self._world.end_stretch(saved=True)

    def add_local(self, position_s: float) -> None:
        """Store a local save in place of the one before."""
        self.local = Save(position_s, bad=self._is_bad())

    def add_graceful(self, position_s: float) -> None:
        """Store a graceful save in place of the one before."""
        self.graceful = Save(position_s, bad=self._is_bad())
        self._world.end_stretch(saved=True)

    def drop_after(self, position_s: float) -> None:
        """Throw away all saves of work beyond `position_s`."""
        guarded_s = position_s + 1e-9 * float(self._world.params.checkpoint.interval_s)
        self.main = [save for save in self.main if save.position_s <= guarded_s or save.index == 0]
        self.local = self.local if self.local is not None and self.local.position_s <= position_s else None
        self.graceful = self.graceful if self.graceful is not None and self.graceful.position_s <= position_s else None

    def read(self) -> Reading:
        """Find the newest save that can be read; those that cannot, and all newer ones, are gone."""
        failed: list[str] = []
        extras = [("local", self.local), ("graceful", self.graceful)]
        beyond = [
            (name, save)
            for name, save in extras
            if save is not None and (save.position_s > self.base_s or (name == "local" and self._is_at_base(save)))
        ]
        for name, save in sorted(beyond, key=lambda extra: -extra[1].position_s):  # local first at a tie
            tier = "local" if name == "local" else "main"
            if not save.bad:
                return self._restart(Reading(tuple(failed), tier, save.position_s))
            failed.append(tier)
            setattr(self, name, None)
        # Those kept for good are readable once the others of their time are deleted.
        while (newest := self.main[-1]).bad and newest.index >= self._lowest:
            failed.append("main")
            self.main.pop()
        newest.bad, self._lowest = False, min(self._lowest, newest.index)
        is_save = newest.index > 0 or bool(self._world.params.resumes)
        return self._restart(Reading(tuple(failed), "main" if is_save else None, newest.position_s))

    def _restart(self, reading: Reading) -> Reading:
        """Drop what is newer than the save that was read."""
        if self.local is not None and self.local.position_s > reading.position_s:
            self.local = None
        if self.graceful is not None and self.graceful.position_s > reading.position_s:
            self.graceful = None
        return reading

    def _is_at_base(self, save: Save) -> bool:
        """Return whether a save is the copy of the newest main one."""
        return math.isclose(save.position_s, self.base_s, rel_tol=1e-9)

    def _is_bad(self) -> bool:
        retention = self._retention
        return retention is not None and happens(float(retention.bad_probability), self._world.rng)


def _is_permanent(save: Save, every: float) -> bool:
    return save.index == 0 or (math.isfinite(every) and save.index % every == 0)
