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
from mcettr.kernels.events.saves import Rest, reach, rest_of, until_main_s
from mcettr.kernels.events.training import gives_time, position, write_time_s


class View(NamedTuple):
    """What a lane's training and hazards look like now."""

    rest: Rest
    until_main_s: Any
    """Training time to the beginning of the next main save."""
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


@jax.tree_util.register_pytree_node_class
class Race:
    """Collects candidates; the first of the earliest wins."""

    def __init__(self, time_s: Any, winner: Any, at_s: Any, names: tuple[str, ...] = ()) -> None:
        self.time_s, self.winner, self.at_s, self.names = time_s, winner, at_s, list(names)

    @classmethod
    def of(cls, like: Any) -> Race:
        """Return a race that nobody has entered, for lanes like these."""
        return cls(jnp.full_like(like, jnp.inf), jnp.full_like(like, -1, jnp.int32), jnp.full_like(like, jnp.nan))

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """Return the arrays, and the names."""
        return (self.time_s, self.winner, self.at_s), tuple(self.names)

    @classmethod
    def tree_unflatten(cls, names: tuple[str, ...], arrays: tuple[Any, ...]) -> Race:
        """Return the race of some arrays."""
        return cls(*arrays, names)

    def enter(self, name: str, time_s: Any, at_s: Any = None) -> None:
        """Add a candidate, `time_s` from now; calendar ones give their date, so that it is met exactly."""
        ahead = time_s < self.time_s
        self.winner = where(ahead, jnp.int32(len(self.names)), self.winner)
        self.at_s = where(ahead, jnp.nan if at_s is None else at_s, self.at_s)
        self.time_s = where(ahead, time_s, self.time_s)
        self.names.append(name)

    def only(self, mask: Any) -> None:
        """Leave out the candidates so far of all other lanes."""
        self.time_s = where(mask, self.time_s, jnp.inf)
        self.winner = where(mask, self.winner, jnp.int32(-1))

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
        until_main_s=until_main_s(plan, at, rest),
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
    """Return the training time until a corruption would strike, and until a pending one would be found."""
    at = position(job, lanes)
    amount = lanes.silent_left / view.silent_rate
    left = jnp.maximum(job.params.work_s - at.work(plan), 0.0)
    strikes = where(amount < left, reach(plan, at, view.rest, amount, 0.0).time_s, jnp.inf)
    found = lanes.latency_left
    if job.on.verify:
        verify = job.params.checkpoint.verify_s
        ahead = jnp.minimum(view.until_main_s, view.all_work_s + view.waiting_s) + verify
        under_way = at.write_left - (plan.write_s - verify)
        ahead = where(under_way > 0, under_way, where(view.last, jnp.inf, ahead))
        found = jnp.minimum(found, ahead)
    return strikes, found


def run_race(job: Job, lanes: Lanes, _: Draws, view: View, corruption: tuple[Any, Any]) -> Race:
    """Return the race of every lane: of those at risk, and of those that wait for nodes."""
    race = Race.of(lanes.now)
    training_in = where(view.stopping, jnp.inf, view.until_training_s)
    race.enter("strike", lanes.hazard_left / view.hazard)
    for index in job.on.every:
        race.enter(f"event_{index}", lanes[f"event_{index}"])
    if job.on.start_failure:
        race.enter("start_failed", where(lanes.start_fails, lanes.startup_left, jnp.inf))
    # The last save may become durable beside the one before a stop.
    beside_stop = where(view.last, lanes.write_left, jnp.inf)
    race.enter("done", where(view.stopping, beside_stop, view.until_training_s + view.end_s))
    if job.on.silent:
        strikes, found = corruption
        race.enter("corruption", training_in + where(lanes.corrupt, found, strikes))
    for index in job.on.slow:
        race.enter(f"slow_{index}", where(view.stopping, jnp.inf, lanes[f"slow_{index}"]))
    if job.on.incidents:
        race.enter("toggle", lanes.toggle_left)
    if job.on.lease:
        for index, cause in enumerate(job.params.causes):
            if cause.min_lease_s is not None:
                left = cause.min_lease_s - lanes.age
                race.enter(f"lease_{index}", where(left > 0, left, jnp.inf))
    _planned(job, lanes, view, race)
    if job.on.groups:
        timed = (lanes.group != NO_GROUP) & (lanes.group != GROUP_WAITS)
        race.enter("group", where(timed, lanes.group_left, jnp.inf))
        race.enter("resume", where(lanes.pause_left > 0, view.until_training_s, jnp.inf))
    _calendar(job, lanes, race)
    return race


def _planned(job: Job, lanes: Lanes, view: View, race: Race) -> None:
    if job.on.graceful:
        race.enter("stopped", where(view.stopping, lanes.stop_left, jnp.inf))
    write_s = write_time_s(job, lanes)
    if job.on.max_attempt:
        due = jnp.maximum(job.params.recovery.max_attempt_s - write_s - lanes.age, 0.0)
        race.enter("max_attempt", where(view.stopping, jnp.inf, due))
    if job.on.maintenance:
        date_s = lanes.window - write_s
        ahead = date_s - lanes.now
        announced = gives_time(job.params.maintenance.notice_s, write_s)  # type: ignore[union-attr]
        meant = announced & ~view.stopping & (ahead >= lanes.startup_left + lanes.restore_left)
        race.enter("prepare", where(meant, ahead, jnp.inf), date_s)


def _calendar(job: Job, lanes: Lanes, race: Race) -> None:
    if job.on.profile:
        for index, cause in enumerate(job.params.causes):
            if cause.profile is not None:
                change = hazards.profile_at(cause.profile, lanes.now)[1]
                race.enter(f"change_{index}", change - lanes.now, change)
    looks = lanes.phase == AT_RISK
    race.only(looks)
    if job.on.spares:
        looks = looks | ((lanes.phase == NODES) & lanes.waiting)
        due = looks | (lanes.repaired_at <= lanes.now)
        date = jnp.maximum(lanes.repaired_at, lanes.now)
        race.enter("repaired", where(due, date - lanes.now, jnp.inf), date)
    if job.on.maintenance:
        race.enter("window", where(looks, lanes.window - lanes.now, jnp.inf), lanes.window)
    horizon = job.params.horizon_s + jnp.zeros_like(lanes.now)
    race.enter("horizon", where(looks, horizon - lanes.now, jnp.inf), horizon)
