"""The section about one cause of failure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, PlainValidator

from mcettr.model.distributions import Distribution
from mcettr.model.params import CauseKind
from mcettr.scenario import kinds, values
from mcettr.scenario.laws import InnerError
from mcettr.scenario.schema_base import (
    Count,
    CountFrom0,
    Duration,
    Law,
    NodeCounts,
    PositiveDuration,
    Section,
    Share,
    Uncertainty,
)
from mcettr.units import Exposure, Rate, Scope, UnitError, parse_rate

_OF_KIND = {"slowdown": "slow", "notice": "preemption", "min_lease": "preemption"}
"""Fields that only mean something for one kind."""
_APART = (
    ("profile", "lifetime", "a lifetime with a fleet age is a profile already; keep one"),
    ("profile", "every", "times between failures follow no profile; give rate instead"),
    ("uncertainty", "every", "it has no rate to be uncertain about; give rate instead"),
    ("uncertainty", "count", "the count says already how well the rate is known; keep one"),
)
"""Fields that exclude one another, and what to do."""


class RepeatSpec(Section):
    """A faulty node that was not found fails again."""

    probability: Share = Field(description="probability that the faulty node stays in the job", examples=["0.25"])
    mean_time: PositiveDuration = Field(description="mean time until it fails again", examples=["1 h"])


class CauseSpec(Section):
    """One cause of failure, under a name of your own: how often, what it does, until when it goes unnoticed."""

    kind: Annotated[CauseKind, PlainValidator(values.read_cause_kind), kinds.CAUSE_KIND] = Field(
        "crash",
        description="crash and hang stop training; silent corrupts it; slow lowers its speed; preemption takes nodes"
        " away after a notice",
        examples=["hang"],
    )
    rate: Annotated[Rate | None, PlainValidator(parse_rate), kinds.RATE] = Field(
        None, description="failures per time at risk (startup, restore, training)", examples=["6.5 / 1000 node-days"]
    )
    mtbf: PositiveDuration | None = Field(
        None, description="mean time at risk between failures of the whole job; instead of rate", examples=["1.8 h"]
    )
    count: CountFrom0 | None = Field(
        None, description="failures that were counted, with exposure; instead of rate: the rate is then uncertain",
        examples=["148"],
    )  # fmt: skip
    exposure: Annotated[Exposure | None, PlainValidator(values.read_exposure), kinds.EXPOSURE] = Field(
        None, description="what the count was observed over", examples=["110592 node-days"]
    )
    every: Annotated[Distribution | None, PlainValidator(values.read_every), kinds.LAW] = Field(
        None, description="time at risk from one failure to the next; instead of rate",
        examples=["{uniform: [45 min, 75 min]}"],
    )  # fmt: skip
    lifetime: Annotated[Distribution | None, PlainValidator(values.read_lifetime), kinds.LIFETIME] = Field(
        None, description="life of one part of each node; instead of rate",
        examples=["{weibull: {shape: 0.7, mean: 900 d}}"],
    )  # fmt: skip
    fleet_age: Annotated[float | None, PlainValidator(values.read_fleet_age_s), kinds.FLEET_AGE] = Field(
        None, description="age of all parts at the start, with lifetime; stationary (the default): mixed ages",
        examples=["30 d"],
    )  # fmt: skip
    nodes_per_domain: Count | None = Field(
        None, description="nodes that share a rack, switch or other domain, which the rate counts", examples=["16"]
    )
    nodes_lost: NodeCounts | None = Field(
        None, description="nodes that a failure takes; 1 without it, 0 for a rate per job", examples=["all"]
    )
    over_eviction: NodeCounts | None = Field(
        None,
        description="healthy nodes that are replaced with the faulty ones",
        examples=["{values: {0: 0.9, 1: 0.1}}"],
    )
    detection: Annotated[Distribution, PlainValidator(values.read_detection), kinds.DETECTION] = Field(
        values.NO_TIME, description="time until the failure is noticed", examples=["10 min"]
    )
    diagnosis: Law | None = Field(
        None, description="time from then until the faulty node is known; recovery.diagnosis without it",
        examples=["10 min"],
    )  # fmt: skip
    slowdown: Share | None = Field(None, description="loss of speed, with kind slow", examples=["0.25"])
    notice: Duration | None = Field(
        None, description="time between the announcement and the stop, with kind preemption", examples=["2 min"]
    )
    min_lease: Duration | None = Field(
        None, description="time at risk from each start in which none comes, with kind preemption", examples=["2 h"]
    )
    uncertainty: Uncertainty | None = None
    profile: Annotated[tuple[tuple[float, float], ...] | None, PlainValidator(values.read_profile), kinds.PROFILE] = (
        Field(
            None,
            description="what multiplies the rate from each wall-clock time on",
            examples=["[[0 d, 3], [14 d, 1]]"],
        )
    )
    repeat: RepeatSpec | None = None

    @property
    def unit(self) -> Scope:
        """What its rate counts: jobs, nodes, GPUs or domains."""
        if self.lifetime is not None:
            return "node" if self.nodes_per_domain is None else "domain"
        per = self.rate or self.exposure
        return "job" if per is None else per.unit

    def contradictions(self) -> Iterator[UnitError]:
        """Yield what is missing or at odds."""
        yield from self._of_frequency()
        if "fleet_age" in self.model_fields_set and self.lifetime is None:
            yield InnerError("expected a lifetime with it, found none; add it or remove fleet_age", ("fleet_age",))
        for name, rival, advice in _APART:
            if getattr(self, name) is not None and getattr(self, rival) is not None:
                yield InnerError(f"expected no {name} together with {rival}, found both: {advice}", (name,))
        for name, kind in _OF_KIND.items():
            if getattr(self, name) is not None and self.kind != kind:
                message = f"expected it for kind {kind} only, found kind {self.kind}; remove it or write 'kind: {kind}'"
                yield InnerError(message, (name,))
        if self.kind == "slow" and self.slowdown is None:
            yield UnitError("expected slowdown with kind slow, found none; add 'slowdown: 0.25'")

    def _of_frequency(self) -> Iterator[UnitError]:
        """Yield an error unless exactly one form of frequency is given, and whole."""
        counted = self.exposure if self.count is None else self.count
        forms = {
            "rate": self.rate,
            "mtbf": self.mtbf,
            "count": counted,
            "every": self.every,
            "lifetime": self.lifetime,
        }
        given = [name for name, value in forms.items() if value is not None]
        if not given and self.fleet_age is not None:
            return  # without its lifetime: that is told
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            yield UnitError(
                f"expected one of rate, mtbf, count with exposure, every, lifetime; found {found}; keep exactly one"
            )
        elif (self.count is None) != (self.exposure is None):
            missing = "count" if self.count is None else "exposure"
            yield UnitError(f"expected count with exposure, found no {missing}; add it")
        elif self.unit == "domain" and self.nodes_per_domain is None:
            yield UnitError("expected nodes_per_domain with a domain unit, found none; add 'nodes_per_domain: 16'")
