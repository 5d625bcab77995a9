"""The sections about the job and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, PlainValidator

from mcettr.scenario import kinds, values
from mcettr.scenario.schema_base import (
    Bandwidth,
    Count,
    CountFrom0,
    Duration,
    Flag,
    Law,
    LongDuration,
    PositiveDuration,
    PositiveNumber,
    Section,
    Share,
)
from mcettr.scenario.values import Interval, Stall
from mcettr.units import Exposure, UnitError

_Stall = Annotated[Stall, PlainValidator(values.read_stall), kinds.STALL]


class JobSpec(Section):
    """The job: how large, how much work, until when."""

    gpus: Count = Field(description="GPUs of the job", examples=["12288"])
    gpus_per_node: Count = Field(8.0, description="GPUs of a node", examples=["8"])
    work: Annotated[Exposure | None, PlainValidator(values.read_work), kinds.WORK] = Field(
        None,
        description="training to be done: time at full speed, or GPU-hours (then larger jobs need less time);"
        " without it the job trains until the horizon",
        examples=["30 d"],
    )
    horizon: LongDuration | None = Field(
        None,
        description="wall-clock time at which the job ends, done or not; without it a timeline is cut at 1,000"
        " times the work, or at the last deadline",
        examples=["60 d"],
    )
    resumes: Flag = Field(False, description="a checkpoint exists at the start, and is read", examples=["true"])
    saved: Annotated[Exposure | None, PlainValidator(values.read_work_done), kinds.WORK] = Field(
        None, description="part of the work that is done at the start; the job then resumes from it", examples=["12 d"]
    )

    def contradictions(self) -> Iterator[UnitError]:
        """Yield what is missing or at odds."""
        if self.work is None and self.horizon is None:
            yield UnitError("expected work or horizon, found neither; add 'work: 30 d' or 'horizon: 60 d'")
        if self.saved is not None and "resumes" in self.model_fields_set and not self.resumes:
            yield UnitError("expected a job that resumes, found saved with resumes: false; remove one of them")


class LocalSpec(Section):
    """Checkpoints to the nodes' own memory or disks, more often than the main ones."""

    interval: PositiveDuration = Field(
        description="work between local checkpoints; the main interval is a multiple of it", examples=["5 min"]
    )
    write_time: Duration = Field(description="time until a local checkpoint can be read", examples=["10 s"])
    stall: _Stall = Field(
        Stall("full", 1.0), description="time that a local checkpoint blocks training", examples=["1 s"]
    )
    restore: Law = Field(values.NO_TIME, description="time to read a local checkpoint back", examples=["30 s"])
    survives_node_losses: CountFrom0 = Field(
        0.0, description="failures that lose up to this many nodes leave local checkpoints readable", examples=["1"]
    )
    holds_main: Flag = Field(
        True,
        description="a main checkpoint passes through the local tier, and is readable there once written locally",
        examples=["false"],
    )


class CheckpointSpec(Section):
    """Checkpoints: how often, how long they take, and how much of that blocks training."""

    interval: Annotated[Interval, PlainValidator(values.read_interval), kinds.INTERVAL] = Field(
        description="useful work between checkpoints; auto takes the one with the best ETTR", examples=["auto"]
    )
    write_time: Law | None = Field(
        None, description="time from the beginning of a checkpoint until it is durable", examples=["60 s"]
    )
    stall: _Stall = Field(
        Stall("full", 1.0), description="how much of the write blocks training; the rest goes on behind it",
        examples=["5 s"],
    )  # fmt: skip
    slowdown: Share = Field(0.0, description="loss of speed while a write goes on behind training", examples=["2 %"])
    verify: Duration = Field(0.0, description="check before each checkpoint, which blocks training", examples=["30 s"])
    bad_probability: Share | None = Field(
        None,
        description="share of checkpoints that cannot be read, which is known at a restore only",
        examples=["0.01"],
    )
    keep: Count | None = Field(None, description="newest checkpoints that are kept; all without it", examples=["3"])
    permanent_every: Count | None = Field(
        None, description="every so many checkpoints one is kept for good", examples=["50"]
    )
    parameters: PositiveNumber | None = Field(
        None, description="parameters of the model, for the size of a checkpoint", examples=["405e9"]
    )
    bytes_per_parameter: PositiveNumber | None = Field(
        None, description="bytes of a checkpoint per parameter", examples=["12"]
    )
    storage_bandwidth: Bandwidth | None = Field(
        None, description="bandwidth of the storage for the whole job; instead of write_time", examples=["100 GB/s"]
    )
    node_bandwidth: Bandwidth | None = Field(
        None, description="bandwidth of each node to the storage; instead of write_time", examples=["2 GB/s"]
    )
    latency: Duration | None = Field(
        None, description="fixed time of each write and read, besides the size over the bandwidth", examples=["2 s"]
    )
    local: LocalSpec | None = None

    def contradictions(self) -> Iterator[UnitError]:
        """Yield what is missing or at odds."""
        bandwidths = [n for n in ("storage_bandwidth", "node_bandwidth", "latency") if getattr(self, n) is not None]
        if self.write_time is not None:
            if bandwidths:
                yield UnitError(f"expected write_time or bandwidths, found write_time and {bandwidths[0]}; keep one")
        elif set(bandwidths) <= {"latency"}:
            yield UnitError(
                "expected write_time, found none; add 'write_time: 60 s', or sizes with a storage_bandwidth"
            )
        elif self.parameters is None or self.bytes_per_parameter is None:
            yield UnitError(
                f"expected parameters and bytes_per_parameter with {bandwidths[0]}, found too few; add them"
            )
        if self.local is not None and self.interval.kind == "auto":
            yield UnitError("expected a fixed interval with a local tier, found auto; give a multiple of the local one")
