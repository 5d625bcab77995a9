"""The sections about what happens around the job: incidents, bad nodes, maintenance, health checks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator

from mcettr.scenario import kinds, values
from mcettr.scenario.schema_base import (
    Chances,
    Duration,
    Flag,
    Law,
    LongDuration,
    Name,
    NumberFromZero,
    PositiveDuration,
    Section,
    Share,
)
from mcettr.units import Rate


class IncidentsSpec(Section):
    """Bad times of the whole fleet, in which failures come more often."""

    rate: Annotated[Rate, PlainValidator(values.read_job_rate), kinds.JOB_RATE] = Field(
        description="how often an incident begins", examples=["1 / 10 days"]
    )
    mean_duration: LongDuration = Field(description="mean of an exponential duration", examples=["1 d"])
    multiplier: NumberFromZero = Field(description="what multiplies the rates meanwhile", examples=["8"])
    causes: Annotated[tuple[str, ...] | None, PlainValidator(values.read_names), kinds.NAMES] = Field(
        None, description="causes whose rates rise; all with a rate without it", examples=["[node]"]
    )


class LemonsSpec(Section):
    """Bad nodes, which fail far more often of one cause."""

    cause: Name = Field(description="cause of which they fail", examples=["node"])
    fraction: Share = Field(description="share of bad nodes among all", examples=["0.012"])
    multiplier: NumberFromZero = Field(description="what multiplies the rate of a bad node", examples=["30"])
    eviction_probability: Share = Field(
        1.0, description="probability that a bad node is replaced when it fails", examples=["0.3"]
    )
    screening_sensitivity: Share = Field(
        0.0, description="share of bad nodes that is found before they come in as replacements", examples=["0.8"]
    )
    screening_at_start: Flag = Field(
        False, description="whether the nodes are screened before the submission too", examples=["true"]
    )


class MaintenanceSpec(Section):
    """Planned windows, in which the job stands still."""

    every: LongDuration = Field(description="wall-clock time from one window to the next", examples=["30 d"])
    duration: PositiveDuration = Field(description="length of a window", examples=["4 h"])
    notice: Duration = Field(
        0.0, description="warning beforehand; a checkpoint that fits into it saves the work", examples=["1 h"]
    )


class PreflightSpec(Section):
    """Checks of the nodes at every start."""

    duration: Law = Field(values.NO_TIME, description="time that they take", examples=["5 min"])
    catch_probability: Chances = Field(
        (), description="share of faulty nodes left in the job that a check finds, by cause, and of bad nodes (lemon)",
        examples=["{node: 0.5}"],
    )  # fmt: skip


class PeriodicSpec(Section):
    """Checks of the nodes during training."""

    every: PositiveDuration = Field(description="time from one check to the next", examples=["5 min"])
    catch_probability: Chances = Field(
        (), description="probability that a check finds a hanging, slow or corrupted node, by cause",
        examples=["{node: 0.5}"],
    )  # fmt: skip
    false_positive_rate: Annotated[Rate | None, PlainValidator(values.read_alarm_rate), kinds.ALARM_RATE] = Field(
        None, description="false alarms, which stop the job after a checkpoint", examples=["0.1 / 1000 node-days"]
    )


class HealthChecksSpec(Section):
    """Health checks of the job's nodes."""

    preflight: PreflightSpec | None = None
    periodic: PeriodicSpec | None = None
