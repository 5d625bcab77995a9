"""Makes all draws of a step in few kernels: their words in one, exponential times in another."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np

from mcettr.kernels import streams
from mcettr.kernels.elementary import minus_log, where
from mcettr.kernels.events.draws import FINE, UNIT, Request, follows, has_table
from mcettr.kernels.fusion import Kernel, in_one_kernel

_LAWS_A_KERNEL = 2


def draws_of_step(key: Any, counts: dict[Any, Any], requests: list[Request], turn: Any) -> dict[Request, Any]:
    """Return what every request asks for, in lanes: uniforms in float32, seconds by a law in float64.

    Parameters
    ----------
    key : Key
        Seed and timelines.
    counts : dict
        The lanes' counters, uint32, by the names that `mcettr.kernels.events.draws.Request` gives.
    requests : list of Request
        Every draw that the step makes.
    turn : int32
        See `mcettr.kernels.fusion.Kernel`.
    """
    fine = _fine(key, counts, [request for request in requests if request.law is FINE], turn)
    requests = [request for request in requests if request.law is not FINE]
    if not requests:
        return fine
    flipped = _exponential(requests)
    blocks = sorted({_block_of(request) for request in requests}, key=lambda block: _rank(block, flipped))
    kernel = Kernel((len(blocks), *key.timeline.shape), turn)
    purposes = np.array([block.purpose for block in blocks])[:, None, None]
    timeline = kernel.take(jnp.broadcast_to(key.timeline, kernel.shape))
    words = kernel.give(streams.draws(key.seed, timeline, purposes, _counts_of(blocks, counts), jnp))
    known: dict[Request, Any] = {}
    for request in map(_itself, requests):
        block = _block_of(request)
        known[request] = words[request.purpose - block.purpose][blocks.index(block)]
    times = _unit_times(blocks, words, flipped, turn)
    others = []
    for request in (request for request in requests if request.law is not None):
        mine = _itself(request)
        if _is_exponential(request) and flipped[mine] == _is_flipped(request):
            known[request] = times[mine] if request.law is UNIT else request.law.values[0] * times[mine]  # type: ignore[union-attr]
        else:
            others.append(request)
    return fine | known | _by_law(others, known, turn)


def _fine(key: Any, counts: dict[Any, Any], requests: list[Request], turn: Any) -> dict[Request, Any]:
    """Return uniforms to the last bit."""
    if not requests:
        return {}

    def draw(lanes: Any) -> Any:
        timeline, numbers = lanes
        both = zip(requests, numbers, strict=True)
        return [streams.fine_draw(key.seed, timeline, request.purpose, number, jnp) for request, number in both]

    numbers = [counts[request.count] for request in requests]
    return dict(zip(requests, in_one_kernel(draw, (key.timeline, numbers), turn), strict=True))


def _counts_of(blocks: list[Request], counts: dict[Any, Any]) -> Any:
    """Return the counter of every block, (blocks, ...); chosen, for of stacked ones XLA would draw one at a time."""
    first, *others = dict.fromkeys(block.count for block in blocks)
    count = counts[first]
    for name in others:
        count = where(np.array([block.count == name for block in blocks])[:, None, None], counts[name], count)
    return count


def _by_law(requests: list[Request], known: dict[Request, Any], turn: Any) -> dict[Request, Any]:
    """Return the seconds of laws that are not exponential."""
    found: dict[Request, Any] = {}
    for some in _shared_out([request for request in requests if not has_table(request.law)], _LAWS_A_KERNEL):

        def follow(us: Any, some: list[Request] = some) -> Any:
            return [follows(request.law, u) for request, u in zip(some, us, strict=True)]

        found.update(zip(some, in_one_kernel(follow, [known[_itself(r)] for r in some], turn), strict=True))
    return found | {r: follows(r.law, known[_itself(r)]) for r in requests if has_table(r.law)}


def _exponential(requests: list[Request]) -> dict[Request, bool]:
    """Return the draws that become exponential times, and whether by -log(1 - u) in place of -log(u)."""
    found: dict[Request, bool] = {}
    for request in requests:
        if _is_exponential(request):
            found.setdefault(_itself(request), _is_flipped(request))
    return found


def _is_exponential(request: Request) -> bool:
    return request.law is not None and request.law.kind == "exponential"


def _is_flipped(request: Request) -> bool:
    return request.law is not UNIT


def _unit_times(
    blocks: list[Request], words: tuple[Any, Any], flipped: dict[Request, bool], turn: Any
) -> dict[Request, Any]:
    """Return the unit exponentials of all draws that become one."""
    if not flipped:
        return {}
    rows = [[draw if draw in flipped else None for draw in row] for row in zip(*map(_draws_of, blocks), strict=True)]
    at = [[index for index, draw in enumerate(row) if draw is not None] for row in rows]
    n = max(map(len, at))
    begins = [min(indices[0], len(blocks) - n) if indices else 0 for indices in at]
    flips = [
        np.array([flipped.get(draw, False) for draw in row[begin : begin + n]])[:, None, None]  # type: ignore[arg-type]
        for row, begin in zip(rows, begins, strict=True)
    ]

    def time(us: Any) -> Any:
        us = [u.astype(jnp.float64) for u in us]
        return [minus_log(where(flip, 1.0 - u, u)) for u, flip in zip(us, flips, strict=True)]

    found = in_one_kernel(time, [word[begin : begin + n] for word, begin in zip(words, begins, strict=True)], turn)
    return {
        draw: found[which][index - begins[which]]
        for which, row in enumerate(rows)
        for index, draw in enumerate(row)
        if draw is not None
    }


def _itself(request: Request) -> Request:
    """Return the draw, whatever its law."""
    return Request(request.purpose, request.count)


def _block_of(request: Request) -> Request:
    """Return the first draw of the block that a draw is in."""
    purpose = request.purpose & ~1 if streams.is_paired(request.purpose) else request.purpose
    return Request(purpose, request.count)


def _draws_of(block: Request) -> tuple[Request, Request | None]:
    """Return the one or two draws of a block."""
    return block, replace(block, purpose=block.purpose + 1) if streams.is_paired(block.purpose) else None


def _rank(block: Request, exponential: dict[Request, bool]) -> tuple[bool, bool, bool, int, str]:
    """Return the place of a block, so that the exponential ones among the first draws stand together, and the second.

    Those of which only the first is one come first, then those of which both are, then those of which the second is.
    """
    first, second = (draw in exponential for draw in _draws_of(block))
    return not (first or second), not first, second, block.purpose, str(block.count)


def _shared_out(things: list[Any], most: int) -> list[list[Any]]:
    """Return the things in groups of nearly equal size, at most `most`."""
    n_groups = -(-len(things) // most)
    bounds = [round(index * len(things) / n_groups) for index in range(n_groups + 1)] if n_groups else [0]
    return [things[begin:end] for begin, end in pairwise(bounds)]
