"""Records of the optional mechanisms: what each needs in SI numbers; a record left out means the mechanism is off.

Numbers are floats or arrays with one entry a sweep cell, as in `mcettr.model.params`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mcettr.model.distributions import Distribution, Number, fixed

WhenExhausted = Literal["wait", "queue", "shrink"]


@dataclass(frozen=True)
class LocalTier:
    """Saves to the nodes' own memory or disks, more often than the main ones and lost with their nodes.

    Parameters
    ----------
    n_a_main : float or ndarray
        Local intervals in a main one, a whole number.
    write_time_s, stall_s : float or ndarray
        As for the main tier; training is not slowed down meanwhile.
    restore : Distribution
        Reading such a save back.
    survives_node_losses : float or ndarray
        The saves survive while at most this many nodes are lost, summed until the restore has ended.
    holds_main : float or ndarray
        1 if a main save leaves a copy in this tier, which is durable after this tier's write time; else 0.
    """

    n_a_main: Number
    write_time_s: Number
    stall_s: Number
    restore: Distribution = field(default=fixed(0.0))
    survives_node_losses: Number = 0.0
    holds_main: Number = 1.0


@dataclass(frozen=True)
class Retention:
    """Which main saves can be read back.

    Parameters
    ----------
    bad_probability : float or ndarray
        Chance that a save cannot be read, independently; found out when it is read.
    keep : float or ndarray
        Newest saves that are kept; inf for all.
    permanent_every : float or ndarray
        Every such save is kept for good and counts as readable; inf for none.
    """

    bad_probability: Number = 0.0
    keep: Number = float("inf")
    permanent_every: Number = float("inf")


@dataclass(frozen=True)
class Profile:
    """What multiplies a cause's rate over calendar time, constant between the `starts_s` (the first is 0)."""

    starts_s: tuple[Number, ...]
    multipliers: tuple[Number, ...]


@dataclass(frozen=True)
class Repeat:
    """The culprit was missed with `probability`: the cause strikes again after an exponential at-risk time."""

    probability: Number
    mean_time_s: Number


@dataclass(frozen=True)
class Incidents:
    """Bad times of the whole fleet: they begin at a rate, last an exponential time and multiply some causes' rates."""

    rate_per_s: Number
    mean_duration_s: Number
    multiplier: Number


@dataclass(frozen=True)
class Lemons:
    """Bad nodes among the job's, for the one cause that has `Cause.by_lemons`.

    Parameters
    ----------
    fraction : float or ndarray
        Share of bad nodes among those that come into the job, after screening.
    multiplier : float or ndarray
        A lemon fails at this many times the rate of a healthy node.
    eviction_probability : float or ndarray
        Chance that a lemon's failure gets it replaced; otherwise it restarts in the job.
    caught_in_preflight : float or ndarray or None
        Chance that a preflight check finds one.
    fraction_at_start : float or ndarray or None
        Share of bad nodes at the submission; None for `fraction`.
    """

    fraction: Number
    multiplier: Number
    eviction_probability: Number = 1.0
    caught_in_preflight: Number | None = None
    fraction_at_start: Number | None = None
    n_at_start: Number | None = None
    """Lemons of each timeline at its submission, which the fast engine draws before it runs."""

    @property
    def at_start(self) -> Number:
        """Return the share of bad nodes at the submission."""
        return self.fraction if self.fraction_at_start is None else self.fraction_at_start


@dataclass(frozen=True)
class StartFailure:
    """A start fails with `probability`; after `max_attempts` in a row a human is waited for (`escalation`)."""

    probability: Number
    max_attempts: Number = float("inf")
    escalation: Distribution = field(default=fixed(0.0))


@dataclass(frozen=True)
class Spares:
    """Healthy nodes in waiting, and the repair that lost nodes go through.

    Parameters
    ----------
    count : float or ndarray
        Spares at the start; inf is never exhausted.
    swap_s : float or ndarray
        Time to bring new nodes in, once a recovery that needs any.
    quick_share, quick_mean_s, slow_mean_s : float or ndarray
        A lost node's repair is exponential: quick with this chance, else slow.
    repair_failure : float or ndarray
        Chance that a node that comes into the job out of repair brings a pending repeat of the cause of the recovery.
    min_nodes : float or ndarray
        A shrunken job waits for repairs below this many nodes.
    when_exhausted : {"wait", "queue", "shrink"}
        Wait for repairs, take nodes through the queue from outside, or run with fewer.
    requeues : bool
        Whether every restart goes through the queue, as it does without spares.
    """

    count: Number
    swap_s: Number
    quick_share: Number
    quick_mean_s: Number
    slow_mean_s: Number
    repair_failure: Number = 0.0
    min_nodes: Number = 0.0
    when_exhausted: WhenExhausted = "wait"
    requeues: bool = False


@dataclass(frozen=True)
class ReplicaGroups:
    """Independent copies of the model: losing one slows the job instead of stopping it."""

    count: Number
    reconfigure_s: Number = 0.0
    rejoin: Distribution = field(default=fixed(0.0))


@dataclass(frozen=True)
class Maintenance:
    """Planned windows of `duration_s`, every `every_s` from a random first one on, announced `notice_s` ahead."""

    every_s: Number
    duration_s: Number
    notice_s: Number = 0.0
