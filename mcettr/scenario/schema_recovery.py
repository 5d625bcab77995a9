"""The section about recovery."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, PlainValidator, model_validator

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.physics import WhenExhausted
from mcettr.scenario import values
from mcettr.scenario.laws import parse_law
from mcettr.scenario.phases import Phase, read_startup
from mcettr.scenario.repair import Repair, Requeue, read_repair, read_requeue, read_spare_count, read_when_exhausted
from mcettr.scenario.schema_base import Count, Duration, Law, NumberFromZero, PositiveDuration, Section, Share
from mcettr.units import UnitError


class StartFailureSpec(Section):
    """Starts that fail, and when a human is called."""

    probability: Share = Field(examples=["0.1"])
    max_attempts: Count = math.inf
    escalation: Law = fixed(0.0)


class SparesSpec(Section):
    """Nodes in waiting, and where lost ones go."""

    count: Annotated[float, PlainValidator(read_spare_count)] = Field(examples=["4"])
    swap: Duration = 0.0
    repair: Annotated[Repair, PlainValidator(read_repair)] = Field(examples=["1 d"])
    repair_failure: Share = 0.0
    when_exhausted: Annotated[WhenExhausted, PlainValidator(read_when_exhausted)] = "wait"
    min_nodes: Annotated[float, PlainValidator(values.read_count)] = 0.0


class ReplicaGroupsSpec(Section):
    """Copies of the model that can be lost one at a time."""

    count: Count = Field(examples=["8"])
    rejoin: Law = fixed(0.0)
    reconfigure: Duration = 0.0


class RecoverySpec(Section):
    """What follows a failure, step by step."""

    diagnosis: Law = fixed(0.0)
    queue_wait: Law = fixed(0.0)
    requeue: Annotated[Requeue, PlainValidator(read_requeue)] = Field(
        default="when_needed", description="whether queue_wait is paid at every restart although there are spares",
        examples=["always"],
    )  # fmt: skip
    startup: Annotated[tuple[tuple[str, Phase], ...], PlainValidator(read_startup)] = ()
    restore: Annotated[Distribution | None, PlainValidator(parse_law)] = None
    read_bandwidth: Annotated[float | None, PlainValidator(values.read_bandwidth_bytes_per_s)] = None
    start_failure: StartFailureSpec | None = None
    data_fast_forward: NumberFromZero = 0.0
    spares: SparesSpec | None = None
    replica_groups: ReplicaGroupsSpec | None = None
    max_attempt: PositiveDuration | None = None

    @model_validator(mode="after")
    def _one_restore(self) -> RecoverySpec:
        if self.restore is not None and self.read_bandwidth is not None:
            raise UnitError("expected restore or read_bandwidth, found both; keep one")
        return self
