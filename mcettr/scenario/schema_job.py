"""The sections about the job and its saves."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainValidator, model_validator

from mcettr.model.distributions import Distribution, fixed
from mcettr.scenario import values
from mcettr.scenario.laws import parse_law
from mcettr.scenario.schema_base import Count, Duration, Law, PositiveDuration, Section, Share
from mcettr.scenario.values import Interval, Stall
from mcettr.units import Exposure, UnitError


class JobSpec(Section):
    """The job: how large, how much work, until when."""

    gpus: Count
    gpus_per_node: Count = 8.0
    work: Annotated[Exposure | None, PlainValidator(values.read_work)] = None
    horizon: PositiveDuration | None = None
    resumes: Annotated[bool, PlainValidator(values.read_flag)] = False
    saved: Annotated[Exposure | None, PlainValidator(values.read_work_done)] = None

    @model_validator(mode="after")
    def _ends(self) -> JobSpec:
        if self.work is None and self.horizon is None:
            raise UnitError("expected work or horizon, found neither; add 'work: 30 d' or 'horizon: 60 d'")
        if self.saved is not None and "resumes" in self.model_fields_set and not self.resumes:
            raise UnitError("expected a job that resumes, found saved with resumes: false; remove one of them")
        return self


class LocalSpec(Section):
    """Saves to the nodes' own memory or disks."""

    interval: PositiveDuration = Field(examples=["5 min"])
    write_time: Duration = Field(examples=["10 s"])
    stall: Annotated[Stall, PlainValidator(values.read_stall)] = Stall("full", 1.0)
    restore: Law = fixed(0.0)
    survives_node_losses: Annotated[float, PlainValidator(values.read_count)] = 0.0
    holds_main: Annotated[bool, PlainValidator(values.read_flag)] = True


class CheckpointSpec(Section):
    """The saves: how often, how long, and how much of it blocks training."""

    interval: Annotated[Interval, PlainValidator(values.read_interval)] = Field(examples=["auto"])
    write_time: Annotated[Distribution | None, PlainValidator(parse_law)] = None
    stall: Annotated[Stall, PlainValidator(values.read_stall)] = Stall("full", 1.0)
    slowdown: Share = 0.0
    verify: Duration = 0.0
    bad_probability: Share | None = None
    keep: Count | None = None
    permanent_every: Count | None = None
    parameters: Annotated[float | None, PlainValidator(values.read_positive_number)] = None
    bytes_per_parameter: Annotated[float | None, PlainValidator(values.read_positive_number)] = None
    storage_bandwidth: Annotated[float | None, PlainValidator(values.read_bandwidth_bytes_per_s)] = None
    node_bandwidth: Annotated[float | None, PlainValidator(values.read_bandwidth_bytes_per_s)] = None
    latency: Duration | None = None
    local: LocalSpec | None = None

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

    @model_validator(mode="after")
    def _local_divides(self) -> CheckpointSpec:
        if self.local is not None and self.interval.kind == "auto":
            raise UnitError("expected a fixed interval with a local tier, found auto; give a multiple of the local one")
        return self
