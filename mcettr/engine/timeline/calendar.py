"""What runs in calendar time, whether or not the job does: bad times of the fleet, and maintenance windows."""

from __future__ import annotations

import math

from mcettr.engine.draws import Draws
from mcettr.kernels import streams
from mcettr.model.physics import Incidents, Maintenance

_AT_ONCE_S = 1e-300


class IncidentClock:
    """Whether the fleet has a bad time, and until when it stays as it is."""

    def __init__(self, incidents: Incidents, draws: Draws) -> None:
        self.draws = draws
        self.begin_per_s = incidents.rate_per_s
        self.end_per_s = 1.0 / max(incidents.mean_duration_s, _AT_ONCE_S)
        self.on = False
        self.toggle_at_s = math.inf
        self._n_drawn = 0

    def after(self, down_s: float, *, first: bool) -> None:
        """Draw the state after a downtime (before the first start: the long-run state), and how long it stays."""
        share = self.begin_per_s / (self.begin_per_s + self.end_per_s)
        forgotten = 1.0 if first else -math.expm1(-(self.begin_per_s + self.end_per_s) * down_s)
        chance = float(self.on) + (share - float(self.on)) * forgotten
        self.on = self.draws.uniform(streams.INCIDENT_STATE, self._n_drawn) < chance

    def hold(self, now_s: float) -> None:
        """Draw how long the state stays as it is."""
        per_s = self.end_per_s if self.on else self.begin_per_s
        wait = self.draws.exponential(streams.INCIDENT_TIME, self._n_drawn)
        self.toggle_at_s = now_s + wait / per_s if per_s > 0 else math.inf
        self._n_drawn += 1


class Windows:
    """Planned maintenance: when the next window begins. Without any it never does."""

    def __init__(self, maintenance: Maintenance | None, draws: Draws) -> None:
        self.duration_s = self.every_s = self.notice_s = 0.0
        self.next_at_s = math.inf
        if maintenance is not None:
            self.duration_s, self.every_s = maintenance.duration_s, maintenance.every_s
            self.notice_s = maintenance.notice_s
            self.next_at_s = draws.uniform(streams.MAINTENANCE_PHASE, 0) * self.every_s
