"""Which mechanisms a job has: read off the structure of its parameters, so that a program has no others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from mcettr.model.counts import EXACT, Counts
from mcettr.model.params import Params

_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, EXACT)


@dataclass(frozen=True)
class Bound:
    """How far the sum of a binomial law is carried, rounded up so that few programs are compiled."""

    steps: int
    trials: int
    """More trials than these there never are, or else more than the sum is for."""

    def __or__(self, other: Bound) -> Bound:
        """Return the bound of what is within either."""
        return Bound(max(self.steps, other.steps), max(self.trials, other.trials))

    @property
    def beyond(self) -> bool:
        """Return whether there may be more trials than the sum is for."""
        return self.trials > EXACT

    def __bool__(self) -> bool:
        """Return whether the count can be anything but 0."""
        return self.steps > 0


PENDING = Bound(EXACT, EXACT)
"""Of missed culprits."""


@dataclass(frozen=True)
class Features:
    """What is on. Each flag stands for state that lanes carry, or for events that they race."""

    every: tuple[int, ...]
    """Causes with a law of their own."""
    silent: tuple[int, ...]
    slow: tuple[int, ...]
    repeat: tuple[int, ...]
    preemption: bool
    lease: bool
    profile: bool
    incidents: bool
    lemons: bool
    preflight: bool
    """Preflight checks that catch something."""
    spares: bool
    requeues: bool
    """Restarts go through the queue although there are spares."""
    shrink: bool
    groups: bool
    start_failure: bool
    maintenance: bool
    max_attempt: bool
    graceful: bool
    """Stops that save first."""
    write_law: bool
    verify: bool
    local: bool
    retention: bool
    indexed: bool
    """Saves are numbered."""
    replaced: bool
    """Startup phases for replaced nodes."""
    checks: bool
    skips_data: bool
    nodes_lost: bool
    """Somebody looks at how many nodes are lost."""
    quick: Bound
    """Of the nodes that go those whose repair is quick."""
    lemons_lost: Bound
    lemons_in: Bound
    bad_repairs: Bound
    lemons_caught: Bound

    @property
    def none(self) -> bool:
        """Return whether the job is a plain one."""
        return not any(vars(self).values())


def features_of(params: Params) -> Features:
    """Return the mechanisms of a job, whose numbers must be known (not traced)."""
    causes, recovery, save = params.causes, params.recovery, params.checkpoint

    def kind(name: str) -> tuple[int, ...]:
        return tuple(index for index, cause in enumerate(causes) if cause.kind == name)

    preemption, slow = bool(kind("preemption")), kind("slow")
    max_attempt, maintenance = recovery.max_attempt_s is not None, params.maintenance is not None
    spares, lemons = recovery.spares is not None, params.lemons is not None
    replaced = bool(recovery.startup_if_replaced)
    checked = [cause for cause in causes if cause.caught_in_preflight is not None]
    return Features(
        every=tuple(index for index, cause in enumerate(causes) if cause.every is not None),
        silent=kind("silent"),
        slow=slow,
        repeat=tuple(index for index, cause in enumerate(causes) if cause.repeat is not None),
        preemption=preemption,
        lease=any(cause.min_lease_s is not None for cause in causes),
        profile=any(cause.profile is not None for cause in causes),
        incidents=params.incidents is not None,
        lemons=lemons,
        preflight=(lemons and params.lemons.caught_in_preflight is not None)  # type: ignore[union-attr]
        or any(cause.caught_in_preflight is not None for cause in causes),
        spares=spares,
        requeues=spares and recovery.spares.requeues,  # type: ignore[union-attr]
        shrink=spares and recovery.spares.when_exhausted == "shrink",  # type: ignore[union-attr]
        groups=recovery.replica_groups is not None,
        start_failure=recovery.start_failure is not None,
        maintenance=maintenance,
        max_attempt=max_attempt,
        graceful=bool(slow) or preemption or max_attempt or maintenance,
        write_law=save.write_time is not None,
        verify=save.verify_s is not None,
        local=save.local is not None,
        retention=save.retention is not None,
        indexed=save.retention is not None or bool(kind("silent")),
        replaced=replaced,
        checks=params.check_every_s is not None,
        skips_data=recovery.data_fast_forward is not None,
        nodes_lost=spares
        or lemons
        or bool(checked)
        or any(_largest(c.nodes_lost) + _largest(c.over_evicted) > 0 for c in causes),
        **_bounds(params),
    )


def _bounds(params: Params) -> dict[str, Bound]:
    """Return how far the binomial counts of a job can go; a uniform is at most 1 - 2^-24."""
    spares, lemons = params.recovery.spares, params.lemons
    lost = max((_largest(c.nodes_lost) + _largest(c.over_evicted) for c in params.causes), default=0.0)
    n_nodes = 0.0 if params.n_nodes is None else float(np.max(params.n_nodes))
    lost = min(lost, n_nodes)
    share, most_lemons = 0.0, 0.0
    if lemons is not None:
        most_lemons = max(_last(n_nodes, lemons.fraction), _last(n_nodes, lemons.at_start))
        share = min(2.0 * (most_lemons + 8.0) / n_nodes, 1.0)
    caught = 0.0
    if lemons is not None and lemons.caught_in_preflight is not None:
        caught += most_lemons
    caught = min(caught + 4.0 * sum(c.caught_in_preflight is not None for c in params.causes), n_nodes)
    # A stop of the job may come while a group is lost: the nodes of both join at once.
    n_losses = 1.0 if params.recovery.replica_groups is None else 2.0
    joining = min(n_losses * lost + caught, n_nodes)
    if spares is not None and spares.when_exhausted == "shrink":
        joining = n_nodes
    quick = 0.0 if spares is None else spares.quick_share
    return {
        "quick": _bound(max(min(n_losses * lost, n_nodes), caught), quick),
        "bad_repairs": _bound(joining, 0.0 if spares is None else spares.repair_failure),
        "lemons_lost": _bound(lost, share),
        "lemons_in": _bound(joining, 0.0 if lemons is None else lemons.fraction),
        "lemons_caught": _bound(most_lemons, 0.0 if lemons is None else lemons.caught_in_preflight),
    }


def _last(n: float, p: Any) -> float:
    """Return the largest binomial count that a uniform gives."""
    k = np.arange(n + 1.0)[:, None]
    reached = special.bdtr(k, int(n), np.ravel(p)) >= 1.0 - 2.0**-24
    return float(np.max(np.argmax(reached, axis=0)))


def _bound(n: float, p: Any) -> Bound:
    if p is None or n <= 0 or not np.any(np.greater(p, 0.0)):
        return Bound(0, 0)
    most = _last(min(n, EXACT), p)
    trials = EXACT + 1 if n > EXACT else min(2 ** math.ceil(n).bit_length() - 1, EXACT)
    return Bound(next(bound for bound in _STEPS if most <= bound), trials)


def _largest(law: Counts | None) -> float:
    return 0.0 if law is None else float(max(np.max(value) for value in law.values))
