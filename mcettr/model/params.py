"""What an engine receives: the job in SI numbers, each a float or an array with one entry a sweep cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mcettr.model.distributions import Distribution, Number, fixed

CauseKind = Literal["crash", "hang"]


@dataclass(frozen=True)
class Cause:
    """One competing cause of failure.

    Parameters
    ----------
    name : str
        The user's name for it.
    kind : {"crash", "hang"}
        How it shows; both stop training at once, a hang is noticed only after its detection time.
    rate_per_s : float or ndarray
        Mean hazard of the whole job from this cause, per second at risk; 0 where `every` is given.
    rate_shape : float or ndarray
        Shape of the gamma posterior of the rate (its mean is `rate_per_s`); inf where the rate is known exactly.
    every : Distribution or None
        Law of the at-risk time between this cause's own events, instead of a rate.
    detection, diagnosis : Distribution
        Time until the system knows, and until the culprit is found, in seconds.
    """

    name: str
    rate_per_s: Number
    kind: CauseKind = "crash"
    rate_shape: Number = float("inf")
    every: Distribution | None = None
    detection: Distribution = field(default=fixed(0.0))
    diagnosis: Distribution = field(default=fixed(0.0))


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
    """

    interval_s: Number
    write_time_s: Number
    stall_s: Number
    slowdown: Number = 0.0
    blocking: bool = True


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
    """

    queue_wait: Distribution = field(default=fixed(0.0))
    startup: tuple[tuple[str, Distribution], ...] = ()
    restore: Distribution = field(default=fixed(0.0))


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
    """

    n_gpus: Number
    work_s: Number
    horizon_s: Number
    checkpoint: Checkpoint
    causes: tuple[Cause, ...] = ()
    recovery: Recovery = field(default=Recovery())
    resumes: Number = 0.0
    horizon_given: bool = True
