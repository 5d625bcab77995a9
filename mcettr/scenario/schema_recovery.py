"""The section about recovery."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, PlainValidator

from mcettr.model.physics import WhenExhausted
from mcettr.scenario import kinds, values
from mcettr.scenario.phases import Phase, read_startup
from mcettr.scenario.repair import Repair, Requeue, read_repair, read_requeue, read_spare_count, read_when_exhausted
from mcettr.scenario.schema_base import (
    Bandwidth,
    Count,
    CountFrom0,
    Duration,
    Law,
    LongDuration,
    NumberFromZero,
    Section,
    Share,
)
from mcettr.units import UnitError


class StartFailureSpec(Section):
    """Starts that fail, and when a person is called."""

    probability: Share = Field(description="probability that a start fails at its end", examples=["0.1"])
    max_attempts: Count = Field(
        math.inf, description="failed starts in a row after which a person is called", examples=["3"]
    )
    escalation: Law = Field(
        values.NO_TIME, description="time until the person has helped", examples=["{exponential: {mean: 4 h}}"]
    )


class SparesSpec(Section):
    """Nodes that stand by, and where lost ones go."""

    count: Annotated[float, PlainValidator(read_spare_count), kinds.SPARE_COUNT] = Field(
        description="nodes that stand by at the start", examples=["4"]
    )
    swap: Duration = Field(0.0, description="time to put a spare in", examples=["2 min"])
    repair: Annotated[Repair, PlainValidator(read_repair), kinds.REPAIR] = Field(
        description="time that a lost node is away: exponential, or quick and slow repairs", examples=["1 d"]
    )
    repair_failure: Share = Field(
        0.0,
        description="share of repaired nodes that still have the fault; causes that lose nodes then need repeat",
        examples=["0.05"],
    )
    when_exhausted: Annotated[WhenExhausted, PlainValidator(read_when_exhausted), kinds.WHEN_EXHAUSTED] = Field(
        "wait", description="with no spare left: wait for a repair, queue anew, or go on with fewer nodes",
        examples=["queue"],
    )  # fmt: skip
    min_nodes: CountFrom0 = Field(0.0, description="fewest nodes that the job runs on, with shrink", examples=["1400"])


class ReplicaGroupsSpec(Section):
    """Copies of the model that can be lost one at a time, while the others go on."""

    count: Count = Field(description="number of groups", examples=["8"])
    rejoin: Law = Field(values.NO_TIME, description="time until a group that is back trains again", examples=["30 s"])
    reconfigure: Duration = Field(0.0, description="pause of all groups when one is lost", examples=["10 s"])


class RecoverySpec(Section):
    """What follows a failure, step by step."""

    diagnosis: Law = Field(
        values.NO_TIME, description="time from detection until the faulty node is known", examples=["3 min"]
    )
    queue_wait: Law = Field(
        values.NO_TIME,
        description="time in the scheduler's queue before a start; with spares only at the submission, with none"
        " left (queue), and after a preemption or the longest attempt",
        examples=["{lognormal: {median: 5 min, cv: 2}}"],
    )  # fmt: skip
    requeue: Annotated[Requeue, PlainValidator(read_requeue), kinds.REQUEUE] = Field(
        "when_needed", description="whether queue_wait is paid at every restart although there are spares",
        examples=["always"],
    )  # fmt: skip
    startup: Annotated[tuple[tuple[str, Phase], ...], PlainValidator(read_startup), kinds.STARTUP] = Field(
        (), description="time of a start, or its phases by name; `when: replaced` for those that only new nodes need",
        examples=["3 min"],
    )  # fmt: skip
    restore: Law | None = Field(None, description="time to read a checkpoint back", examples=["2 min"])
    read_bandwidth: Bandwidth | None = Field(
        None, description="bandwidth of the storage for reading; instead of restore", examples=["200 GB/s"]
    )
    start_failure: StartFailureSpec | None = None
    data_fast_forward: NumberFromZero = Field(
        0.0, description="seconds of restart per second of saved work, to wind the data loader on", examples=["0.001"]
    )
    spares: SparesSpec | None = None
    replica_groups: ReplicaGroupsSpec | None = None
    max_attempt: LongDuration | None = Field(
        None,
        description="longest time at risk of one attempt; the job then stops at a checkpoint and queues",
        examples=["7 d"],
    )

    def contradictions(self) -> Iterator[UnitError]:
        """Yield what is at odds."""
        if self.restore is not None and self.read_bandwidth is not None:
            yield UnitError("expected restore or read_bandwidth, found both; keep one")
