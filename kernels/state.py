"""What a lane (one timeline) carries from attempt to attempt, and how time is booked on it.

Cause rows: row 0 is the first submission (`start`), row 1 + i the failures of cause i. Sums by cause have the rows in a
leading dimension, (causes, *lanes) or, where the first submission counts too, (1 + causes, *lanes). A sum that follows
from a count (fixed durations) is None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mcettr.kernels.attempt import Phases
from mcettr.kernels.training import Schedule, ending, stretch, until_the_end
from mcettr.model.distributions import is_fixed
from mcettr.model.params import Params


class Accounts(NamedTuple):
    """Sums over the attempts of a lane that have failed."""

    clock_s: Any
    """All of their time."""
    saved: Any
    """Durable work in intervals."""
    n_saves: Any
    """Durable saves; None where every save holds one interval, so that `saved` counts them."""
    partial_s: Any
    """Time in saves that came to nothing; each durable one costs `Schedule.cost_s` more."""
    n_failures: Any
    """By cause."""
    rework_s: Any
    """By cause, row 0 left out: nothing is rolled back before the first failure."""
    detection_s: Any
    diagnosis_s: Any
    queue_s: Any
    startup_s: Any
    restore_s: Any


class State(NamedTuple):
    """A lane between two attempts: failure number `attempt` - 1 has just happened at `accounts.clock_s`."""

    attempt: Any
    """Number of the attempt to come, uint32; as many failures are behind."""
    row: Any
    """Cause row of the failure that led to it, int32."""
    active: Any
    """False once the attempt to come is known to be the last (it finishes, or meets the horizon)."""
    accounts: Accounts


def open_accounts(params: Params, shape: tuple[int, ...], dtype: Any, *, start: bool) -> Accounts:
    """Return accounts at zero, with the entries that the job's features need; row 0 only with `start`."""
    zero = jnp.zeros(shape, dtype)
    causes = params.causes
    per_cause, per_row = jnp.zeros((len(causes), *shape), dtype), jnp.zeros((len(causes) + start, *shape), dtype)
    return Accounts(
        clock_s=zero,
        saved=zero,
        n_saves=None if params.checkpoint.blocking else zero,
        partial_s=zero,
        n_failures=per_cause,
        rework_s=per_cause,
        detection_s=None if all(is_fixed(cause.detection) for cause in causes) else per_cause,
        diagnosis_s=None if all(is_fixed(cause.diagnosis) for cause in causes) else per_cause,
        queue_s=None if is_fixed(params.recovery.queue_wait) else per_row,
        startup_s=per_row,
        restore_s=per_row,
    )


class Booking(NamedTuple):
    """One attempt that failed, seen as additions. Rows are int32 lanes."""

    chain_row: Any
    failure_row: Any
    phases: Phases
    startup_s: Any
    """Start time until done or the failure."""
    restore_s: Any
    saved: Any
    n_saves: Any
    partial_s: Any
    rework_s: Any
    elapsed_s: Any
    n_failures: Any
    """1 where the attempt counts."""


def has_save(params: Params, saved: Any) -> Any:
    """Return whether there is a durable save to restore."""
    return (saved > 0) | (params.resumes > 0)


def judge(schedule: Schedule, phases: Phases, at_risk_s: Any, left: Any, room_s: Any) -> tuple[Booking, Any]:
    """Return what an attempt leaves if it fails after `at_risk_s` at risk, and whether it does (bool lanes).

    It does not if it would outlive the `left` intervals of work, or if the failure would come after `room_s` seconds.
    The rows of the booking are 0.
    """
    training_s = at_risk_s - phases.restart
    elapsed_s = phases.downtime + at_risk_s
    fails = (training_s < ending(schedule, left, jnp).time_s) & (elapsed_s < room_s)
    lost = until_the_end(schedule, stretch(schedule, jnp.maximum(training_s, 0.0), jnp), left, jnp)
    booking = Booking(
        chain_row=0,
        failure_row=0,
        phases=phases,
        startup_s=jnp.minimum(at_risk_s, phases.startup),
        restore_s=jnp.clip(at_risk_s - phases.startup, 0.0, phases.restore),
        saved=lost.saved,
        n_saves=lost.n_saves,
        partial_s=lost.partial_s,
        rework_s=lost.rework_s,
        elapsed_s=elapsed_s,
        n_failures=jnp.ones_like(elapsed_s),
    )
    return booking, fails


def masked(booking: Booking, mask: Any) -> Booking:
    """Return the booking with zeros where not `mask`; rows stay."""

    def keep(value: Any) -> Any:
        return jnp.where(mask, value, 0.0)

    bare = booking._replace(chain_row=None, failure_row=None)
    return jax.tree.map(keep, bare)._replace(chain_row=booking.chain_row, failure_row=booking.failure_row)


def tally(accounts: Accounts, attempts: list[Booking]) -> Accounts:
    """Return what the attempts add to the entries that `accounts` has."""

    def total(values: list[Any]) -> Any:
        result = values[0]
        for value in values[1:]:
            result = result + value
        return result

    def by_row(rows: Any, row_of: str, values: list[Any]) -> Any:
        if rows is None:
            return None
        first_row = 1 + len(accounts.rework_s) - len(rows)
        index = lax.broadcasted_iota(jnp.int32, rows.shape, 0) + first_row
        return total(
            [jnp.where(index == getattr(a, row_of), value, 0.0) for a, value in zip(attempts, values, strict=True)]
        )

    failure, chain = "failure_row", "chain_row"
    return Accounts(
        clock_s=total([a.elapsed_s for a in attempts]),
        saved=total([a.saved for a in attempts]),
        n_saves=None if accounts.n_saves is None else total([a.n_saves for a in attempts]),
        partial_s=total([a.partial_s for a in attempts]),
        n_failures=by_row(accounts.n_failures, failure, [a.n_failures for a in attempts]),
        rework_s=by_row(accounts.rework_s, failure, [a.rework_s for a in attempts]),
        detection_s=by_row(accounts.detection_s, chain, [a.phases.detection for a in attempts]),
        diagnosis_s=by_row(accounts.diagnosis_s, chain, [a.phases.diagnosis for a in attempts]),
        queue_s=by_row(accounts.queue_s, chain, [a.phases.queue for a in attempts]),
        startup_s=by_row(accounts.startup_s, chain, [a.startup_s for a in attempts]),
        restore_s=by_row(accounts.restore_s, chain, [a.restore_s for a in attempts]),
    )


def merge(accounts: Accounts, part: Accounts) -> Accounts:
    """Return the float64 accounts with those of a leg, which may lack row 0, added."""

    def add(wide: Any, narrow: Any) -> Any:
        narrow = narrow.astype(wide.dtype)
        if narrow.shape == wide.shape:
            return wide + narrow
        return jnp.concatenate([wide[:1], wide[1:] + narrow])

    return jax.tree.map(add, accounts, part)


def book(accounts: Accounts, addition: Accounts) -> Accounts:
    """Return the accounts with a tally added, in the accounts' own dtype."""
    return jax.tree.map(lambda account, value: account + value.astype(account.dtype), accounts, addition)
