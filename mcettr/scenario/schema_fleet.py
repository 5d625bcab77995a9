"""The sections about what happens around the job: incidents, bad nodes, maintenance, health checks."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator

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

    rate: Annotated[Rate, PlainValidator(values.read_job_rate)]
    mean_duration: PositiveDuration
    multiplier: NumberFromZero
    causes: Annotated[tuple[str, ...] | None, PlainValidator(values.read_names)] = None


class LemonsSpec(Section):
    """Bad nodes, for one cause."""

    cause: Name
    fraction: Share
    multiplier: NumberFromZero
    eviction_probability: Share = 1.0
    screening_sensitivity: Share = 0.0


class MaintenanceSpec(Section):
    """Planned windows."""

    every: PositiveDuration
    duration: PositiveDuration
    notice: Duration = 0.0


class PreflightSpec(Section):
    """Checks at every start."""

    duration: Law = fixed(0.0)
    catch_probability: Chances = ()


class PeriodicSpec(Section):
    """Checks during training."""

    every: PositiveDuration
    catch_probability: Chances = ()
    false_positive_rate: Annotated[Rate | None, PlainValidator(values.read_alarm_rate)] = None


class HealthChecksSpec(Section):
    """Health checks of the job's nodes."""

    preflight: PreflightSpec | None = None
    periodic: PeriodicSpec | None = None
