"""Which nodes leave the job of the second simulator: with a failure, or found by a preflight check."""

from __future__ import annotations

from tests.independent_laws import draw_count, happens
from tests.independent_pool import Pool
from tests.independent_world import Node, Stop, World


def lose_nodes(world: World, pool: Pool, stop: Stop) -> int:
    """Take out what the failure behind `stop` costs, missing its culprit or not; return the number of nodes."""
    assert stop.cause is not None
    cause, rng = world.params.causes[stop.cause], world.rng
    n_out = min(draw_count(cause.nodes_lost, rng) + draw_count(cause.over_evicted, rng), len(pool.job))
    lemons, first = world.params.lemons, stop.node if stop.node in pool.job else None
    if lemons is not None and cause.by_lemons and first is not None and first.lemon:
        n_out = n_out if happens(float(lemons.eviction_probability), rng) else 0
    others = [node for node in pool.job if node is not first]
    rng.shuffle(others)
    if first is not None:  # of its own replica group before those of others
        others.sort(key=lambda node: node.group != first.group)
    pool.remove([*([first] if first is not None else []), *others][:n_out])
    if cause.repeat is not None:
        world.missed[stop.cause] += happens(float(cause.repeat.probability), rng)
    return n_out


def preflight(world: World, pool: Pool) -> int:
    """Take out the lemons and missed culprits that the check finds; return the number of nodes."""
    lemons, rng = world.params.lemons, world.rng
    caught: list[Node] = []
    if lemons is not None and lemons.caught_in_preflight is not None:
        chance = float(lemons.caught_in_preflight)
        caught = [node for node in pool.job if node.lemon and happens(chance, rng)]
    n_culprits = 0
    for index, cause in enumerate(world.params.causes):
        if cause.caught_in_preflight is not None:
            n_found = sum(happens(float(cause.caught_in_preflight), rng) for _ in range(world.missed[index]))
            world.missed[index] -= n_found
            n_culprits += n_found
    others = sorted((node for node in pool.job if node not in caught), key=lambda node: node.lemon)
    caught += others[:n_culprits]  # a culprit is no lemon, as long as there are others
    pool.remove(caught)
    return len(caught)
