"""The sections about what happens around the job: incidents, bad nodes, maintenance, health checks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator

from mcettr.model.distributions import fixed
from mcettr.scenario import values
from mcettr.scenario.schema_base import (
    Chances,
    Duration,
    Law,
    Name,
    NumberFromZero,
    PositiveDuration,
    Section,
    Share,
)
from mcettr.units import Rate


class IncidentsSpec(Section):
    """Bad times of the whole fleet; all causes with a rate where none is named."""

    rate: Annotated[Rate, PlainValidator(values.read_job_rate)] = Field(examples=["1 / 10 days"])
    mean_duration: PositiveDuration = Field(examples=["1 d"])
    multiplier: NumberFromZero = Field(examples=["8"])
    causes: Annotated[tuple[str, ...] | None, PlainValidator(values.read_names)] = None


class LemonsSpec(Section):
    """Bad nodes, for one cause."""

    cause: Name = Field(examples=["node"])
    fraction: Share = Field(examples=["0.01"])
    multiplier: NumberFromZero = Field(examples=["30"])
    eviction_probability: Share = 1.0
    screening_sensitivity: Share = 0.0
    screening_at_start: Annotated[bool, PlainValidator(values.read_flag)] = Field(
        default=False, description="whether the nodes are screened before the submission too", examples=["true"]
    )


class MaintenanceSpec(Section):
    """Planned windows."""

    every: PositiveDuration = Field(examples=["30 d"])
    duration: PositiveDuration = Field(examples=["4 h"])
    notice: Duration = 0.0


class PreflightSpec(Section):
    """Checks at every start."""

    duration: Law = fixed(0.0)
    catch_probability: Chances = ()


class PeriodicSpec(Section):
    """Checks during training."""

    every: PositiveDuration = Field(examples=["5 min"])
    catch_probability: Chances = ()
    false_positive_rate: Annotated[Rate | None, PlainValidator(values.read_alarm_rate)] = None


class HealthChecksSpec(Section):
    """Health checks of the job's nodes."""

    preflight: PreflightSpec | None = None
    periodic: PeriodicSpec | None = None
