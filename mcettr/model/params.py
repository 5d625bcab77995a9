"""What an engine receives: the job in SI numbers, each a float or an array with one entry a sweep cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mcettr.model.counts import Counts
from mcettr.model.distributions import Distribution, Number, fixed
from mcettr.model.physics import (
    Incidents,
    Lemons,
    LocalTier,
    Maintenance,
    Profile,
    Repeat,
    ReplicaGroups,
    Retention,
    Spares,
    StartFailure,
)

CauseKind = Literal["crash", "hang", "silent", "slow", "preemption"]
Exposure = Literal["job", "node", "gpu", "domain"]

MOST_PHASES, MOST_NUMBERED, MOST_UNCERTAIN = 64, 64, 63
"""There are random numbers for so many startup phases, and for the first causes of a job: of those with `every` or
`repeat`, and of those with an uncertain rate."""


@dataclass(frozen=True)
class Cause:
    """One competing cause of failure.

    Parameters
    ----------
    name : str
        The user's name for it.
    kind : {"crash", "hang", "silent", "slow", "preemption"}
        How it shows. A crash and a hang stop training at once, a hang is noticed only after its detection time; a
        silent one corrupts the work, a slow one lowers the speed until detected; a preemption is announced.
    rate_per_s : float or ndarray
        Mean hazard of the whole job from this cause, per second at risk; 0 where `every` is given.
    rate_shape : float or ndarray
        Shape of the gamma posterior of the rate (its mean is `rate_per_s`); inf where the rate is known exactly.
    every : Distribution or None
        Law of the at-risk time between this cause's own events, instead of a rate.
    detection, diagnosis : Distribution
        Time until the system knows, and until the culprit is found, in seconds.
    exposure : {"job", "node", "gpu", "domain"}
        What its rate counts. With replica groups a "job" cause stops the whole job; with fewer nodes than usual only
        its rate stays.
    nodes_lost, over_evicted : Counts or None
        Nodes that a failure takes out of the job, and healthy ones evicted with them; None for none.
    slowdown : float or ndarray
        A slow node lowers the job's speed to 1 - slowdown.
    notice_s, min_lease_s : float or ndarray
        Warning before a preemption, and at-risk time from the beginning of an attempt without any.
    profile : Profile or None
        What multiplies the rate over calendar time.
    repeat : Repeat or None
        Missed culprits.
    in_incidents, by_lemons : bool
        Whether `Params.incidents` and `Params.lemons` raise its rate.
    caught_in_check : float or ndarray or None
        Chance that a periodic health check finds the fault.
    caught_in_preflight : float or ndarray or None
        Chance that a preflight check finds a missed culprit.
    """

    name: str
    rate_per_s: Number
    kind: CauseKind = "crash"
    rate_shape: Number = float("inf")
    every: Distribution | None = None
    detection: Distribution = field(default=fixed(0.0))
    diagnosis: Distribution = field(default=fixed(0.0))
    exposure: Exposure = "node"
    nodes_lost: Counts | None = None
    over_evicted: Counts | None = None
    slowdown: Number = 0.0
    notice_s: Number = 0.0
    min_lease_s: Number | None = None
    profile: Profile | None = None
    repeat: Repeat | None = None
    in_incidents: bool = False
    by_lemons: bool = False
    caught_in_check: Number | None = None
    caught_in_preflight: Number | None = None


@dataclass(frozen=True)
class Checkpoint:
    """The save schedule: every `interval_s` of useful work a save begins.

    Parameters
    ----------
    interval_s : float or ndarray
        Useful work between the starts of two saves; inf for no checkpoints but the last one.
    write_time_s : float or ndarray
        A save is durable this long after it began.
    stall_s : float or ndarray
        Training is blocked this long from its beginning; at most `write_time_s`.
    slowdown : float or ndarray
        During the rest of the write the job computes at speed 1 - slowdown.
    blocking : bool
        Whether every save blocks for the whole write (stall = write time everywhere): lets engines take the
        shorter path.
    verify_s : float or ndarray
        Every regular save, of either tier, is preceded by a blocking check of this length, which finds silent
        corruption at its end.
    write_time : Distribution or None
        Law of the write time, drawn once an attempt; `write_time_s` and `stall_s` are then its mean and the mean stall.
    stall_share, stall_fixed_s : float or ndarray
        With such a law the stall is min(stall_fixed_s + stall_share x write time, write time).
    local : LocalTier or None
        A second tier.
    retention : Retention or None
        Which saves can be read back; None for every one.
    """

    interval_s: Number
    write_time_s: Number
    stall_s: Number
    slowdown: Number = 0.0
    blocking: bool = True
    verify_s: Number = 0.0
    write_time: Distribution | None = None
    stall_share: Number = 1.0
    stall_fixed_s: Number = 0.0
    local: LocalTier | None = None
    retention: Retention | None = None


@dataclass(frozen=True)
class Recovery:
    """What follows a failure once its culprit is known.

    Parameters
    ----------
    queue_wait : Distribution
        Time in the scheduler's queue at every restart and at the first submission; nothing fails meanwhile.
    startup : tuple of (str, Distribution)
        Named phases of starting, one after the other; failures strike.
    restore : Distribution
        Reading the save back; failures strike. Only paid when there is a durable save.
    startup_if_replaced : tuple of (str, Distribution)
        Further phases, paid when a node was replaced since the last start that went well, and at the first start.
    start_failure : StartFailure or None
        Failed starts.
    data_fast_forward : float or ndarray
        Seconds of restore a second of saved work, for the data loader.
    spares : Spares or None
        Where nodes come from; None for an unlimited supply.
    replica_groups : ReplicaGroups or None
        Copies that can be lost one at a time.
    max_attempt_s : float or ndarray or None
        Longest at-risk time of an attempt.
    """

    queue_wait: Distribution = field(default=fixed(0.0))
    startup: tuple[tuple[str, Distribution], ...] = ()
    restore: Distribution = field(default=fixed(0.0))
    startup_if_replaced: tuple[tuple[str, Distribution], ...] = ()
    start_failure: StartFailure | None = None
    data_fast_forward: Number = 0.0
    spares: Spares | None = None
    replica_groups: ReplicaGroups | None = None
    max_attempt_s: Number | None = None


@dataclass(frozen=True)
class Params:
    """One job, or an array of jobs that differ in numbers only.

    Parameters
    ----------
    n_gpus : float or ndarray
        GPUs of the job.
    work_s : float or ndarray
        Useful training at full speed that ends the job; inf for an open-ended job.
    horizon_s : float or ndarray
        Wall-clock time at which a timeline is cut; compiled scenarios have 1,000 x work where the user gave none.
    resumes : float or ndarray
        1 when a durable save exists at the start (restore is then paid from the first start), else 0.
    checkpoint, causes, recovery
        See `Checkpoint`, `Cause`, `Recovery`.
    horizon_given : bool
        Whether the horizon is the user's own.
    n_nodes : float or ndarray
        Nodes at full width.
    saved_before_s : float or ndarray
        Work that was done before this run (`work_s` leaves it out); the data loader has to skip it.
    rate_shape : float or ndarray
        Shape of the gamma factor that all rates share; inf for none.
    incidents, lemons, maintenance
        See `mcettr.model.physics`; None where off.
    check_every_s : float or ndarray or None
        Period of the health checks during training.
    """

    n_gpus: Number
    work_s: Number
    horizon_s: Number
    checkpoint: Checkpoint
    causes: tuple[Cause, ...] = ()
    recovery: Recovery = field(default=Recovery())
    resumes: Number = 0.0
    horizon_given: bool = True
    n_nodes: Number = 1.0
    saved_before_s: Number = 0.0
    rate_shape: Number = float("inf")
    incidents: Incidents | None = None
    lemons: Lemons | None = None
    maintenance: Maintenance | None = None
    check_every_s: Number | None = None
