"""The section about one cause of failure."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator, model_validator

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import CauseKind
from mcettr.scenario import values
from mcettr.scenario.laws import InnerError, parse_law
from mcettr.scenario.schema_base import (
    Count,
    Duration,
    NodeCounts,
    PositiveDuration,
    Section,
    Share,
    Uncertainty,
)
from mcettr.units import Exposure, Rate, Scope, UnitError, parse_rate

_OF_KIND = {"slowdown": "slow", "notice": "preemption", "min_lease": "preemption"}
"""Fields that only mean something for one kind."""


class RepeatSpec(Section):
    """A missed culprit strikes again."""

    probability: Share = Field(examples=["0.25"])
    mean_time: PositiveDuration = Field(examples=["1 h"])


class CauseSpec(Section):
    """One cause of failure: how often, how it shows, how long until it is known and found, what it takes along."""

    kind: Annotated[CauseKind, PlainValidator(values.read_cause_kind)] = "crash"
    rate: Annotated[Rate | None, PlainValidator(parse_rate)] = None
    mtbf: PositiveDuration | None = None
    count: Annotated[float | None, PlainValidator(values.read_count)] = None
    exposure: Annotated[Exposure | None, PlainValidator(values.read_exposure)] = None
    every: Annotated[Distribution | None, PlainValidator(values.read_every)] = None
    lifetime: Annotated[Distribution | None, PlainValidator(values.read_lifetime)] = None
    fleet_age: Annotated[float | None, PlainValidator(values.read_fleet_age_s)] = None
    nodes_per_domain: Count | None = None
    nodes_lost: NodeCounts | None = None
    over_eviction: NodeCounts | None = None
    detection: Annotated[Distribution, PlainValidator(values.read_detection)] = fixed(0.0)
    diagnosis: Annotated[Distribution | None, PlainValidator(parse_law)] = None
    slowdown: Share | None = None
    notice: Duration | None = None
    min_lease: Duration | None = None
    uncertainty: Uncertainty | None = None
    profile: Annotated[tuple[tuple[float, float], ...] | None, PlainValidator(values.read_profile)] = None
    repeat: RepeatSpec | None = None

    @property
    def unit(self) -> Scope:
        """What its rate counts: jobs, nodes, GPUs or domains."""
        if self.lifetime is not None:
            return "node" if self.nodes_per_domain is None else "domain"
        per = self.rate or self.exposure
        return "job" if per is None else per.unit

    @model_validator(mode="after")
    def _one_frequency(self) -> CauseSpec:
        counted = self.exposure if self.count is None else self.count
        forms = {
            "rate": self.rate,
            "mtbf": self.mtbf,
            "count": counted,
            "every": self.every,
            "lifetime": self.lifetime,
        }
        given = [name for name, value in forms.items() if value is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise UnitError(
                f"expected one of rate, mtbf, count with exposure, every, lifetime; found {found}; keep exactly one"
            )
        if (self.count is None) != (self.exposure is None):
            missing = "count" if self.count is None else "exposure"
            raise UnitError(f"expected count with exposure, found no {missing}; add it")
        if self.unit == "domain" and self.nodes_per_domain is None:
            raise UnitError("expected nodes_per_domain with a domain unit, found none; add 'nodes_per_domain: 16'")
        return self

    @model_validator(mode="after")
    def _fits_frequency(self) -> CauseSpec:
        if "fleet_age" in self.model_fields_set and self.lifetime is None:
            raise InnerError("expected a lifetime with it, found none; add it or remove fleet_age", ("fleet_age",))
        for name, rival, advice in (
            ("profile", "lifetime", "a lifetime with a fleet age is a profile already; keep one"),
            ("profile", "every", "a law of its own follows no profile; give rate instead"),
            ("uncertainty", "every", "it has no rate to be uncertain about; give rate instead"),
            ("uncertainty", "count", "the count says already how well the rate is known; keep one"),
        ):
            if getattr(self, name) is not None and getattr(self, rival) is not None:
                raise InnerError(f"expected no {name} together with {rival}, found both: {advice}", (name,))
        return self

    @model_validator(mode="after")
    def _fits_kind(self) -> CauseSpec:
        for name, kind in _OF_KIND.items():
            if getattr(self, name) is not None and self.kind != kind:
                message = f"expected it for kind {kind} only, found kind {self.kind}; remove it or write 'kind: {kind}'"
                raise InnerError(message, (name,))
        if self.kind == "slow" and self.slowdown is None:
            raise UnitError("expected slowdown with kind slow, found none; add 'slowdown: 0.25'")
        return self
