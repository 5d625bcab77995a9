"""What a scenario may say: its sections, their fields, and how each value is read.

Parsed values are SI numbers and laws; the user's own text stays in `Scenario.document`. To add a section, add a model
here and read it in compile.py.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, model_validator

from mcettr.model.distributions import Distribution, fixed
from mcettr.model.params import CauseKind
from mcettr.scenario import values
from mcettr.scenario.laws import InnerError, parse_law
from mcettr.scenario.values import SCHEMA_VERSION, Interval, Stall
from mcettr.units import Exposure, Rate, UnitError, parse_fraction, parse_rate

RESERVED_CAUSES = ("start", "checkpoint", "planned", "horizon")
"""Names under which time is booked that no failure cost."""


Count = Annotated[float, PlainValidator(values.read_positive_count)]
Law = Annotated[Distribution, PlainValidator(parse_law)]


class Section(BaseModel):
    """Base of all sections: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class JobSpec(Section):
    """The job: how large, how much work, until when."""

    gpus: Count
    gpus_per_node: Count = 8.0
    work: Annotated[Exposure | None, PlainValidator(values.read_work)] = None
    horizon: Annotated[float | None, PlainValidator(values.read_positive_duration_s)] = None
    resumes: Annotated[bool, PlainValidator(values.read_flag)] = False

    @model_validator(mode="after")
    def _ends(self) -> JobSpec:
        if self.work is None and self.horizon is None:
            raise UnitError("expected work or horizon, found neither; add 'work: 30 d' or 'horizon: 60 d'")
        return self


class CheckpointSpec(Section):
    """The saves: how often, how long, and how much of it blocks training."""

    interval: Annotated[Interval, PlainValidator(values.read_interval)]
    write_time: Annotated[float | None, PlainValidator(values.read_duration_s)] = None
    stall: Annotated[Stall, PlainValidator(values.read_stall)] = Stall("full", 1.0)
    slowdown: Annotated[float, PlainValidator(parse_fraction)] = 0.0
    parameters: Annotated[float | None, PlainValidator(values.read_positive_number)] = None
    bytes_per_parameter: Annotated[float | None, PlainValidator(values.read_positive_number)] = None
    storage_bandwidth: Annotated[float | None, PlainValidator(values.read_bandwidth_bytes_per_s)] = None
    node_bandwidth: Annotated[float | None, PlainValidator(values.read_bandwidth_bytes_per_s)] = None
    latency: Annotated[float | None, PlainValidator(values.read_duration_s)] = None

    @model_validator(mode="after")
    def _write_known(self) -> CheckpointSpec:
        bandwidths = [n for n in ("storage_bandwidth", "node_bandwidth", "latency") if getattr(self, n) is not None]
        if self.write_time is not None:
            if bandwidths:
                raise UnitError(f"expected write_time or bandwidths, found write_time and {bandwidths[0]}; keep one")
        elif set(bandwidths) <= {"latency"}:
            raise UnitError(
                "expected write_time, found none; add 'write_time: 60 s', or sizes with a storage_bandwidth"
            )
        elif self.parameters is None or self.bytes_per_parameter is None:
            raise UnitError(
                f"expected parameters and bytes_per_parameter with {bandwidths[0]}, found too few; add them"
            )
        return self


class CauseSpec(Section):
    """One cause of failure: how often, how it shows, how long until it is known and found."""

    kind: Annotated[CauseKind, PlainValidator(values.read_cause_kind)] = "crash"
    rate: Annotated[Rate | None, PlainValidator(parse_rate)] = None
    mtbf: Annotated[float | None, PlainValidator(values.read_positive_duration_s)] = None
    count: Annotated[float | None, PlainValidator(values.read_count)] = None
    exposure: Annotated[Exposure | None, PlainValidator(values.read_exposure)] = None
    every: Annotated[Distribution | None, PlainValidator(values.read_every)] = None
    nodes_per_domain: Annotated[float | None, PlainValidator(values.read_positive_count)] = None
    detection: Annotated[Distribution, PlainValidator(values.read_detection)] = fixed(0.0)
    diagnosis: Annotated[Distribution | None, PlainValidator(parse_law)] = None

    @model_validator(mode="after")
    def _one_frequency(self) -> CauseSpec:
        counted = self.exposure if self.count is None else self.count
        forms = {"rate": self.rate, "mtbf": self.mtbf, "count": counted, "every": self.every}
        given = [name for name, value in forms.items() if value is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise UnitError(f"expected one of rate, mtbf, count with exposure, every; found {found}; keep exactly one")
        if (self.count is None) != (self.exposure is None):
            missing = "count" if self.count is None else "exposure"
            raise UnitError(f"expected count with exposure, found no {missing}; add it")
        per = self.rate or self.exposure
        if per is not None and per.unit == "domain" and self.nodes_per_domain is None:
            raise UnitError("expected nodes_per_domain with a domain unit, found none; add 'nodes_per_domain: 16'")
        return self


class RecoverySpec(Section):
    """What follows a failure, step by step."""

    diagnosis: Law = fixed(0.0)
    queue_wait: Law = fixed(0.0)
    startup: Annotated[tuple[tuple[str, Distribution], ...], PlainValidator(values.read_startup)] = ()
    restore: Annotated[Distribution | None, PlainValidator(parse_law)] = None
    read_bandwidth: Annotated[float | None, PlainValidator(values.read_bandwidth_bytes_per_s)] = None

    @model_validator(mode="after")
    def _one_restore(self) -> RecoverySpec:
        if self.restore is not None and self.read_bandwidth is not None:
            raise UnitError("expected restore or read_bandwidth, found both; keep one")
        return self


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
