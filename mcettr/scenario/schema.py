"""What a scenario may say: its sections, their fields, and how each value is read.

Parsed values are SI numbers and laws; the user's own text stays in `Scenario.document`. A new section is a model in
one of the schema modules, a field of `ScenarioSpec` or of the section around it, and its reading in the compile
modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, PlainValidator

from mcettr.scenario import kinds, values
from mcettr.scenario.laws import InnerError
from mcettr.scenario.schema_base import Section, Text, Uncertainty
from mcettr.scenario.schema_causes import CauseSpec
from mcettr.scenario.schema_fleet import HealthChecksSpec, IncidentsSpec, LemonsSpec, MaintenanceSpec
from mcettr.scenario.schema_job import CheckpointSpec, JobSpec
from mcettr.scenario.schema_recovery import RecoverySpec
from mcettr.scenario.values import SCHEMA_VERSION
from mcettr.units import UnitError


class ScenarioSpec(Section):
    """A whole scenario, parsed."""

    schema_version: Annotated[int, PlainValidator(values.read_version), kinds.VERSION] = Field(
        SCHEMA_VERSION, description="version of this format", examples=["1"]
    )
    name: Text | None = Field(None, description="a name for people", examples=["night run"])
    description: Text | None = Field(None, description="what the scenario is about", examples=["as planned in May"])
    job: JobSpec = Field(examples=["{gpus: 12288, work: 30 d}"])
    checkpoint: CheckpointSpec | None = None
    failures: dict[str, CauseSpec] = Field(default_factory=dict)
    recovery: RecoverySpec = RecoverySpec.model_validate({})
    uncertainty: Uncertainty | None = None
    incidents: IncidentsSpec | None = None
    lemons: LemonsSpec | None = None
    maintenance: MaintenanceSpec | None = None
    health_checks: HealthChecksSpec = HealthChecksSpec()

    def contradictions(self) -> Iterator[UnitError]:
        """Yield what is missing in one section for another; names are checked in names.py."""
        checkpoint = self.checkpoint
        if self.recovery.read_bandwidth is not None and (
            checkpoint is None or checkpoint.parameters is None or checkpoint.bytes_per_parameter is None
        ):
            message = (
                "expected a size to read, found none; add checkpoint.parameters and checkpoint.bytes_per_parameter"
            )
            yield InnerError(message, ("recovery", "read_bandwidth"))
