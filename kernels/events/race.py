"""What comes next in a lane at risk, and the time until then."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from mcettr.kernels.elementary import where
from mcettr.kernels.events import hazards
from mcettr.kernels.events.draws import Draws
from mcettr.kernels.events.hazards import GROUP_WAITS, NO_GROUP
from mcettr.kernels.events.job import Job
from mcettr.kernels.events.lanes import AT_RISK, NODES, Lanes
from mcettr.kernels.events.plan import Plan
from mcettr.kernels.events.saves import Rest, reach, rest_of
from mcettr.kernels.events.training import gives_time, position, write_time_s
from mcettr.model.order import in_order, is_before


class View(NamedTuple):
    """What a lane's training and hazards look like now."""

    rest: Rest
    all_work_s: Any
    """Training time until all work is computed."""
    waiting_s: Any
    """What is then left of the main write in flight."""
    last: Any
    """Whether the last save is under way: nothing is left to compute."""
    end_s: Any
    """Training time to the end of the job."""
    until_training_s: Any
    """Startup, restore and pause left."""
    stopping: Any
    hazard: Any
    silent_rate: Any


class Candidate(NamedTuple):
    """What may come next."""

    name: str
    time_s: Any
    """From now; inf for never."""
    at_s: Any = None
    """Its date, if it has one, so that it is met exactly."""
    looks: Any = None
    """Lanes in which it may come; None for those at risk."""


@jax.tree_util.register_pytree_node_class
class Race:
    """The candidate that comes first in every lane."""

    def __init__(self, time_s: Any, winner: Any, at_s: Any, names: tuple[str, ...] = ()) -> None:
        self.time_s, self.winner, self.at_s, self.names = time_s, winner, at_s, names

    @classmethod
    def of(cls, candidates: list[Candidate], now: Any, at_risk: Any) -> Race:
        """Return who comes first; of those that come at one moment, it is the first in the list."""
        time_s, winner = jnp.full_like(now, jnp.inf), jnp.full_like(now, -1, jnp.int32)
        at_s = jnp.full_like(now, jnp.nan)
        for number, one in enumerate(candidates):
            ahead = is_before(one.time_s, time_s, now) & (at_risk if one.looks is None else one.looks)
            winner = where(ahead, jnp.int32(number), winner)
            at_s = where(ahead, jnp.nan if one.at_s is None else one.at_s, at_s)
            time_s = where(ahead, one.time_s, time_s)
        return cls(jnp.maximum(time_s, 0.0), winner, at_s, tuple(one.name for one in candidates))

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """Return the arrays, and the names."""
        return (self.time_s, self.winner, self.at_s), self.names

    @classmethod
    def tree_unflatten(cls, names: tuple[str, ...], arrays: tuple[Any, ...]) -> Race:
        """Return the race of some arrays."""
        return cls(*arrays, names)

    def won(self, name: str, mask: Any) -> Any:
        """Return where a candidate won, within `mask`; nowhere if it did not enter."""
        if name not in self.names:
            return jnp.zeros_like(mask)
        return mask & (self.winner == self.names.index(name))


def look_ahead(job: Job, lanes: Lanes, _: Draws, plan: Plan) -> View:
    """Return what the lanes' training and hazards look like now."""
    at = position(job, lanes)
    rest = rest_of(plan, at)
    slack_s = job.fixed.slack_s
    work_left = jnp.maximum(job.fixed.total_s - at.work(plan), 0.0)
    end = reach(plan, at, rest, work_left, slack_s)
    computed = work_left <= slack_s
    last = computed & (at.start >= job.fixed.nearly_all_s)
    all_work_s = where(computed, 0.0, end.time_s)
    waiting_s = where(computed, at.write_left, end.write_left)
    until_training = lanes.startup_left + lanes.restore_left
    if job.on.groups:
        until_training = until_training + lanes.pause_left
    zero = jnp.zeros_like(lanes.now)
    parts = [part for _, _, part in hazards.entries(job, lanes)]
    silent = silent_parts(job, lanes)
    return View(
        rest=rest,
        all_work_s=all_work_s,
        waiting_s=waiting_s,
        last=last,
        end_s=all_work_s + waiting_s + where(last, 0.0, plan.write_s),
        until_training_s=until_training,
        stopping=lanes.stop_row >= 0 if job.on.graceful else jnp.zeros_like(lanes.now, bool),
        hazard=hazards.total(parts) if parts else zero,
        silent_rate=hazards.total(silent) if silent else zero,
    )


def silent_parts(job: Job, lanes: Lanes) -> list[Any]:
    """Return the rates of the silent causes."""
    return [hazards.rate(job, lanes, job.params.causes[index]) for index in job.on.silent]


def corruption_s(job: Job, lanes: Lanes, _: Draws, plan: Plan, view: View) -> tuple[Any, Any]:
    """Return the training time until a corruption would strike, and until a pending one would be seen by verifying."""
    at = position(job, lanes)
    amount = lanes.silent_left / view.silent_rate
    left = jnp.maximum(job.params.work_s - at.work(plan), 0.0)
    strikes = where(amount < left, reach(plan, at, view.rest, amount, 0.0).time_s, jnp.inf)
    verified = jnp.full_like(strikes, jnp.inf)
    if job.on.verify:
        verify = job.params.checkpoint.verify_s
        ahead = jnp.minimum(view.rest.length_s, view.all_work_s + view.waiting_s) + verify
        under_way = at.write_left - (plan.write_s - verify)
        if plan.two_tiers:
            under_way = jnp.maximum(under_way, at.local_left - (plan.local_write_s - verify))
        verified = where(under_way > 0, under_way, where(view.last | (verify <= 0.0), jnp.inf, ahead))
    return strikes, verified


def run_race(job: Job, lanes: Lanes, _: Draws, view: View, corruption: tuple[Any, Any]) -> Race:
    """Return the race of every lane: of those at risk, and of those that wait for nodes or repairs."""
    found: dict[str, list[Candidate]] = {}
    for part in (_ends, _planned, _changes, _failures):
        found |= part(job, lanes, view, corruption)
    return Race.of(in_order(found), lanes.now, lanes.phase == AT_RISK)


def _ends(job: Job, lanes: Lanes, view: View, corruption: tuple[Any, Any]) -> dict[str, list[Candidate]]:
    """Return the ends of the present phase, of the job, and of its saves where something hangs on them."""
    on, ends = job.on, []
    if on.start_failure:
        ends.append(Candidate("start_failed", where(lanes.start_fails, lanes.startup_left, jnp.inf)))
    if on.verify and on.silent:
        sees = lanes.corrupt & ~view.stopping
        ends.append(Candidate("verified", where(sees, view.until_training_s + corruption[1], jnp.inf)))
    # The last save may become durable beside the one before a stop.
    beside_stop = where(view.last & (lanes.write_left > 0), lanes.write_left, jnp.inf)
    ends.append(Candidate("done", where(view.stopping, beside_stop, view.until_training_s + view.end_s)))
    if on.graceful:
        left, date = where(view.stopping, lanes.stop_left, jnp.inf), None
        if on.maintenance:
            for_window = view.stopping & jnp.isinf(lanes.stop_left)
            left, date = where(for_window, lanes.window - lanes.now, left), where(for_window, lanes.window, jnp.nan)
        ends.append(Candidate("stopped", left, date))
    if on.groups:
        ends.append(Candidate("resume", where(lanes.pause_left > 0, view.until_training_s, jnp.inf)))
    return {"phase": ends}


def _planned(job: Job, lanes: Lanes, view: View, _: Any) -> dict[str, list[Candidate]]:
    """Return the horizon and the planned stops."""
    looks = lanes.phase == AT_RISK
    if job.on.spares:
        looks = looks | ((lanes.phase == NODES) & lanes.waiting)
    horizon = job.params.horizon_s + jnp.zeros_like(lanes.now)
    planned = {"horizon": [Candidate("horizon", horizon - lanes.now, horizon, looks)]}
    write_s = write_time_s(job, lanes)
    if job.on.maintenance:
        date_s = lanes.window - write_s
        ahead = date_s - lanes.now
        announced = gives_time(job.params.maintenance.notice_s, write_s) & ~view.stopping  # type: ignore[union-attr]
        meant = announced & ~is_before(ahead, lanes.startup_left + lanes.restore_left, lanes.now)
        planned["window"] = [
            Candidate("prepare", where(meant, ahead, jnp.inf), date_s),
            Candidate("window", lanes.window - lanes.now, lanes.window, looks),
        ]
    if job.on.max_attempt:
        due = jnp.maximum(job.params.recovery.max_attempt_s - write_s - lanes.age, 0.0)
        planned["longest attempt"] = [Candidate("max_attempt", where(view.stopping, jnp.inf, due))]
    return planned


def _changes(job: Job, lanes: Lanes, view: View, _: Any) -> dict[str, list[Candidate]]:
    """Return what changes rates and speeds, what is found, and the nodes that come out of repair."""
    on = job.on
    changes: dict[str, list[Candidate]] = {"rate": [], "group": []}
    if on.incidents:
        changes["incident"] = [Candidate("toggle", lanes.toggle_left)]
    for index, cause in enumerate(job.params.causes):
        if cause.profile is not None:
            change = hazards.profile_at(cause.profile, lanes.now)[1]
            changes["rate"].append(Candidate(f"change_{index}", change - lanes.now, change))
        if cause.min_lease_s is not None:
            left = cause.min_lease_s - lanes.age
            changes["rate"].append(Candidate(f"lease_{index}", where(left > 0, left, jnp.inf)))
    if on.silent:
        runs = lanes.corrupt & ~view.stopping
        found = view.until_training_s + lanes.latency_left
        changes["latency"] = [Candidate("latency", where(runs, found, jnp.inf))]
    changes["slow node"] = [
        Candidate(f"slow_{index}", where(view.stopping, jnp.inf, lanes[f"slow_{index}"])) for index in on.slow
    ]
    if on.spares:
        due = (lanes.phase == AT_RISK) | ((lanes.phase == NODES) & lanes.waiting) | (lanes.repaired_at <= lanes.now)
        date = jnp.maximum(lanes.repaired_at, lanes.now)
        changes["group"].append(Candidate("repaired", date - lanes.now, date, due))
    if on.groups:
        timed = (lanes.group != NO_GROUP) & (lanes.group != GROUP_WAITS)
        changes["group"].append(Candidate("group", where(timed, lanes.group_left, jnp.inf)))
    return changes


def _failures(job: Job, lanes: Lanes, view: View, corruption: tuple[Any, Any]) -> dict[str, list[Candidate]]:
    """Return what strikes."""
    failures = {"failure": [Candidate("strike", lanes.hazard_left / view.hazard)]}
    failures["drill"] = [Candidate(f"event_{index}", lanes[f"event_{index}"]) for index in job.on.every]
    if job.on.silent:
        strikes = where(view.stopping | lanes.corrupt, jnp.inf, view.until_training_s + corruption[0])
        failures["corruption"] = [Candidate("corruption", strikes)]
    return failures
