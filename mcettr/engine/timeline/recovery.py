"""From a stop to the next start: nodes lost, detection, diagnosis, new nodes, the queue. Nothing fails meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcettr.engine.timeline.detection import STOP, found_after_s
from mcettr.engine.timeline.happenings import NO_CAUSE, Stop
from mcettr.kernels import streams

if TYPE_CHECKING:
    from mcettr.engine.timeline.life import Life


@dataclass(frozen=True)
class Supply:
    """Nodes that fill the job.

    Parameters
    ----------
    joined, repaired : float
        How many come in, and how many of them out of repair.
    wanted : float
        How many of them are still in repair.
    by_queue : bool
        Whether some come through the queue since the spares were exhausted.
    """

    joined: float
    repaired: float
    wanted: float
    by_queue: bool


def recover(life: Life, stop: Stop) -> None:
    """Let all time pass that the job is down after a stop (or before its first start)."""
    begun_s = life.now_s
    n_out = lose_nodes(life, stop) if stop.cause != NO_CAUSE else 0.0
    if stop.kind == "maintenance":
        life.serve_window()
    escalates = _find_culprit(life, stop)
    _bring_nodes(life, stop, n_out)
    clock, down_s = life.incidents, life.now_s - begun_s
    if clock is not None and (stop.kind != "failed start" or escalates or down_s > 0):
        clock.after(down_s, first=life.attempt == 0)
        clock.hold(life.now_s)


def lose_nodes(life: Life, stop: Stop, *, in_chain: bool = True) -> float:
    """Take the nodes lost out of the job, note whether the culprit was missed, and return how many went."""
    cause, attempt, draws, present = life.job.causes[stop.cause], life.attempt, life.draws, life.nodes.present
    n_lost = draws.count(cause.nodes_lost, streams.NODES_LOST, attempt)
    n_out = min(n_lost + draws.count(cause.over_evicted, streams.OVER_EVICTED, attempt), present)
    if life.lemons is not None:
        striker = "any"
        if cause.by_lemons:
            is_lemon, leaves = (False, True) if stop.is_repeat else life.lemons.struck(present, attempt)
            striker, n_out = "lemon" if is_lemon else "healthy", n_out if leaves else 0.0
        life.lemons.lose(n_out, present, attempt, striker=striker)
    _leave(life, n_out, in_chain=in_chain)
    if cause.repeat is not None and draws.happens(cause.repeat.probability, streams.REPEAT, attempt):
        life.hazards.pending[stop.cause] += 1
    return n_out


def _leave(life: Life, n_out: float, *, in_chain: bool) -> None:
    if n_out <= 0:
        return
    n_left = life.nodes.present - n_out
    life.nodes.lose(n_out)
    life.replaced = True
    if life.lemons is not None:
        life.lemons.n = min(life.lemons.n, n_left)
    if in_chain:
        life.lost_in_chain += n_out
        local = life.job.checkpoint.local
        if local is not None and life.lost_in_chain > local.survives_node_losses:
            life.saves.local = None


def detection_s(life: Life, stop: Stop) -> float:
    """Return the time until the system knows of a stop."""
    return found_after_s(life.job, life.draws, stop.cause, STOP, life.attempt)


def diagnosis_s(life: Life, stop: Stop) -> float:
    """Return the time until the culprit of a stop is found."""
    return life.draws.duration(life.job.causes[stop.cause].diagnosis, streams.DIAGNOSIS, life.attempt)


def _find_culprit(life: Life, stop: Stop) -> bool:
    """Let detection and diagnosis pass, or the wait for a human; return whether one was waited for."""
    if stop.kind == "crash":
        life.pass_down(("detection", detection_s(life, stop)), ("diagnosis", diagnosis_s(life, stop)))
    elif stop.kind == "found":
        life.pass_down(("diagnosis", diagnosis_s(life, stop)))
    failure = life.job.recovery.start_failure
    if stop.kind != "failed start" or failure is None or life.failed_starts != failure.max_attempts:
        return False
    life.failed_starts = 0
    life.pass_down(("diagnosis", life.draws.duration(failure.escalation, streams.ESCALATION, life.attempt)))
    return True


def _bring_nodes(life: Life, stop: Stop, n_out: float) -> None:
    """Find bad nodes before the start, fill the job, and let the time pass that this takes."""
    pool, attempt = life.nodes.pool, life.attempt
    life.nodes.send_to_repair(streams.REPAIR_BRANCH, attempt, life.now_s)
    n_caught = _preflight(life)
    supply = take_nodes(life)
    life.wait_for_repairs(supply.wanted)
    came, came_repaired = life.newcomers
    life.newcomers = 0.0, 0.0
    joined = came + (n_out + n_caught if pool is None else supply.joined)
    join_nodes(life, life.row, attempt, joined, came_repaired + supply.repaired)
    if pool is None or pool.requeues:
        queues = stop.kind not in ("failed start", "maintenance") or supply.by_queue
    else:
        queues = stop.kind == "first" or supply.by_queue or stop.to_queue
    swap_s = pool.swap_s if pool is not None and joined > 0 else 0.0
    queue_s = life.draws.duration(life.job.recovery.queue_wait, streams.QUEUE, attempt) if queues else 0.0
    life.pass_down(("spare_wait", swap_s), ("queue", queue_s))


def _preflight(life: Life) -> float:
    """Take the bad nodes that a check before the start finds out of the job; return how many went."""
    attempt, pending = life.attempt, life.hazards.pending
    n_caught = life.lemons.catch(attempt) if life.lemons is not None else 0.0
    for index, cause in enumerate(life.job.causes):
        if cause.caught_in_preflight is not None and cause.every is None:
            chance, purpose = cause.caught_in_preflight, streams.every_purpose(index)
            n_culprits = life.draws.binomial(pending[index], chance, purpose, attempt)
            pending[index] -= n_culprits
            n_caught += n_culprits
    n_caught = min(n_caught, life.nodes.present)
    _leave(life, n_caught, in_chain=True)
    life.nodes.send_to_repair(streams.REPAIR_BRANCH_CAUGHT, attempt, life.now_s)
    return n_caught


def take_nodes(life: Life) -> Supply:
    """Fill the job from the spares and, as the policy says, from the cluster or the repairs to come."""
    nodes, pool = life.nodes, life.nodes.pool
    nodes.catch_up(life.now_s)
    if pool is None or nodes.present >= nodes.n:
        return Supply(0.0, 0.0, 0.0, by_queue=False)
    nodes.n_swaps += 1
    taken, repaired = nodes.take()
    short = nodes.n - nodes.present
    if short <= 0:
        return Supply(taken, repaired, 0.0, by_queue=False)
    nodes.n_exhausted += 1
    if pool.when_exhausted == "queue":
        return Supply(taken + nodes.borrow(), repaired, 0.0, by_queue=True)
    if pool.when_exhausted == "shrink":
        short = max(pool.min_nodes - nodes.present, 0.0)
    return Supply(taken + short, repaired + short, short, by_queue=False)


def join_nodes(life: Life, row: int, attempt: int, joined: float, repaired: float) -> None:
    """Let nodes that came in bring lemons and, out of repair, culprits of the cause that they were brought in for."""
    if life.lemons is not None:
        life.lemons.join(joined, attempt)
    pool, cause = life.nodes.pool, row - 1
    if pool is not None and 0 <= cause < len(life.job.causes) and life.job.causes[cause].repeat is not None:
        n_bad = life.draws.binomial(repaired, pool.repair_failure, streams.REPAIR_FAILURE, attempt)
        life.hazards.pending[cause] += n_bad


def startup_s(life: Life, attempt: int, *, replaced: bool) -> float:
    """Return the length of a startup."""
    recovery = life.job.recovery
    phases = recovery.startup + (recovery.startup_if_replaced if replaced else ())
    return sum(
        life.draws.duration(law, streams.startup_purpose(index), attempt) for index, (_, law) in enumerate(phases)
    )
