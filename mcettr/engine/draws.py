"""What chance gives one timeline of the reference engine: durations, and the times and causes of failures."""

from __future__ import annotations

import math

import numpy as np

from mcettr.kernels import streams
from mcettr.model.distributions import Distribution, sample
from mcettr.model.params import Params

_AT_ONCE = 32
"""Uniforms computed together, since NumPy takes as long for one."""


class Draws:
    """Uniforms and durations of a timeline, by purpose and count; their order of use does not matter.

    Parameters
    ----------
    seed : int
        From 0 to 2^64 - 1.
    timeline : int
        Its number.

    Examples
    --------
    >>> draws = Draws(seed=0, timeline=7)
    >>> draws.uniform(streams.FAILURE, 3) == draws.uniform(streams.FAILURE, 3)
    True
    """

    def __init__(self, seed: int, timeline: int) -> None:
        self._key = streams.seed_key(seed)
        self._timeline = np.array([timeline], np.uint32)
        self._known: dict[tuple[int, int], list[float]] = {}

    def uniform(self, purpose: int, count: int) -> float:
        """Return uniform number `count` of a purpose (a float32 value)."""
        chunk, index = divmod(count, _AT_ONCE)
        if (purpose, chunk) not in self._known:
            counts = np.arange(chunk * _AT_ONCE, (chunk + 1) * _AT_ONCE, dtype=np.uint32)
            self._known[purpose, chunk] = streams.draw(self._key, self._timeline, purpose, counts).tolist()
        return self._known[purpose, chunk][index]

    def duration(self, law: Distribution, purpose: int, count: int) -> float:
        """Return duration number `count` of a purpose in seconds, under a law passed through `tabulate`."""
        if law.kind == "fixed":
            return float(law.values[0])
        return float(sample(law, np.float64(self.uniform(purpose, count))))


class Hazards:
    """When the next failure comes and of which cause, and what is left of the draws that did not bring it.

    All causes with a rate share one unit exponential: the failure comes when the hazard summed over the at-risk time
    reaches it, and the cause is drawn in proportion to the rates. A cause with a law of its own has its own clock.
    """

    def __init__(self, job: Params, draws: Draws, factors: list[float]) -> None:
        self.draws = draws
        self.rates = [cause.rate_per_s * factor for cause, factor in zip(job.causes, factors, strict=True)]
        self.laws = {index: cause.every for index, cause in enumerate(job.causes) if cause.every is not None}
        self.n_by_rate = 0
        self.hazard_left = self._unit_exponential()
        self.n_events = dict.fromkeys(self.laws, 0)
        self.event_left_s = {index: self._event_s(index) for index in self.laws}

    def _unit_exponential(self) -> float:
        return -math.log(self.draws.uniform(streams.FAILURE, self.n_by_rate))

    def _event_s(self, index: int) -> float:
        return self.draws.duration(self.laws[index], streams.every_purpose(index), self.n_events[index])

    def next_failure(self) -> tuple[float, int]:
        """Return the at-risk time until the next failure, and its cause (its index)."""
        total = sum(self.rates)
        at_risk_s, cause = math.inf, -1
        if total > 0:
            at_risk_s, cause = self.hazard_left / total, self._pick(total)
        for index, left_s in self.event_left_s.items():
            if left_s < at_risk_s:
                at_risk_s, cause = left_s, index
        return at_risk_s, cause

    def _pick(self, total: float) -> int:
        target = self.draws.uniform(streams.CAUSE, self.n_by_rate) * total
        reached = 0.0
        for index, rate in enumerate(self.rates[:-1]):
            reached += rate
            if target < reached:
                return index
        return len(self.rates) - 1

    def fail(self, at_risk_s: float, cause: int) -> None:
        """Let the failure come: it draws anew, the others keep what is left."""
        if cause in self.laws:
            self.hazard_left -= at_risk_s * sum(self.rates)
        else:
            self.n_by_rate += 1
            self.hazard_left = self._unit_exponential()
        for index in self.laws:
            self.event_left_s[index] -= at_risk_s
        if cause in self.laws:
            self.n_events[cause] += 1
            self.event_left_s[cause] = self._event_s(cause)
