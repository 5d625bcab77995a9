"""What a scenario may say: its sections, their fields, and how each value is read.

Parsed values are SI numbers and laws; the user's own text stays in `Scenario.document`. A new section is a model in
one of the schema modules, a field of `ScenarioSpec` or of the section around it, and its reading in the compile
modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, PlainValidator, model_validator

from mcettr.scenario import values
from mcettr.scenario.laws import InnerError, nearest_of
from mcettr.scenario.phases import PREFLIGHT
from mcettr.scenario.schema_base import Section, Uncertainty
from mcettr.scenario.schema_causes import CauseSpec
from mcettr.scenario.schema_fleet import HealthChecksSpec, IncidentsSpec, LemonsSpec, MaintenanceSpec
from mcettr.scenario.schema_job import CheckpointSpec, JobSpec
from mcettr.scenario.schema_recovery import RecoverySpec
from mcettr.scenario.values import SCHEMA_VERSION

RESERVED_CAUSES = ("start", "checkpoint", "planned", "horizon")
"""Names under which time is booked that no failure cost."""
FALSE_ALARM = "health-check"
"""The cause that false alarms of periodic checks are."""
LEMON = "lemon"
"""What preflight checks may catch besides causes."""


def _check_cause_names(causes: object) -> None:
    for name in causes if isinstance(causes, dict) else ():
        if name in RESERVED_CAUSES:
            advice = f"found {name!r}, under which results book other time; choose another name"
            raise InnerError(f"expected a name of your own, {advice}", ("failures", name))
        if not str(name).strip() or "." in str(name):
            raise InnerError(f"expected a name without dots, found {name!r}; choose another name", ("failures",))


class ScenarioSpec(Section):
    """A whole scenario, parsed."""

    schema_version: Annotated[int, PlainValidator(values.read_version)] = SCHEMA_VERSION
    name: Annotated[str | None, PlainValidator(values.read_text)] = None
    description: Annotated[str | None, PlainValidator(values.read_text)] = None
    job: JobSpec
    checkpoint: CheckpointSpec | None = None
    failures: dict[str, CauseSpec] = Field(default_factory=dict)
    recovery: RecoverySpec = RecoverySpec()
    uncertainty: Uncertainty | None = None
    incidents: IncidentsSpec | None = None
    lemons: LemonsSpec | None = None
    maintenance: MaintenanceSpec | None = None
    health_checks: HealthChecksSpec = HealthChecksSpec()

    @model_validator(mode="before")
    @classmethod
    def _cause_names(cls, tree: Any) -> Any:
        if isinstance(tree, dict):
            _check_cause_names(tree.get("failures"))
        return tree

    @model_validator(mode="after")
    def _size_known(self) -> ScenarioSpec:
        checkpoint = self.checkpoint
        if self.recovery.read_bandwidth is not None and (
            checkpoint is None or checkpoint.parameters is None or checkpoint.bytes_per_parameter is None
        ):
            message = (
                "expected a size to read, found none; add checkpoint.parameters and checkpoint.bytes_per_parameter"
            )
            raise InnerError(message, ("recovery", "read_bandwidth"))
        return self

    @model_validator(mode="after")
    def _causes_known(self) -> ScenarioSpec:
        for where, name in self._named_causes():
            if name not in self.failures:
                causes = tuple(self.failures)
                advice = nearest_of(name, causes) if causes else "; add it to failures"
                advice = "; add a section lemons" if name == LEMON and where[0] == "health_checks" else advice
                raise InnerError(f"expected a cause of failures, found {name!r}{advice}", where)
        return self

    def _named_causes(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield where another section names a cause, and the name."""
        if self.incidents is not None and self.incidents.causes is not None:
            yield from ((("incidents", "causes"), name) for name in self.incidents.causes)
        if self.lemons is not None:
            yield ("lemons", "cause"), self.lemons.cause
        checks = self.health_checks
        for step, found in (("preflight", checks.preflight), ("periodic", checks.periodic)):
            for name, _ in found.catch_probability if found is not None else ():
                if step == "periodic" or self.lemons is None or name != LEMON:
                    yield ("health_checks", step, "catch_probability", name), name

    @model_validator(mode="after")
    def _names_free(self) -> ScenarioSpec:
        checks = self.health_checks
        alarms = checks.periodic is not None and checks.periodic.false_positive_rate is not None
        taken = {FALSE_ALARM: "false_positive_rate"} if alarms else {}
        if self.lemons is not None:
            taken[LEMON] = "lemons"
        for name, why in taken.items():
            if name in self.failures:
                message = f"expected another name than {name!r}, which {why} needs, found it; choose another name"
                raise InnerError(message, ("failures", name))
        if checks.preflight is not None and PREFLIGHT in dict(self.recovery.startup):
            message = "expected another name than 'preflight', which the checks take, found it; choose another name"
            raise InnerError(message, ("recovery", "startup", PREFLIGHT))
        return self
