"""How many nodes a failure takes out of the job: those lost and those evicted with them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mcettr.model.counts import ALL, Counts, mean_count
from mcettr.model.distributions import Number
from mcettr.model.params import Cause


def mean_nodes_out(cause: Cause, n_nodes: Number) -> Number:
    """Return the mean number of nodes that a strike takes out of a job of `n_nodes`, or what bounds it from above.

    >>> from mcettr.model.counts import exactly
    >>> float(mean_nodes_out(Cause("node", 1e-5, nodes_lost=exactly(1.0), over_evicted=exactly(6.0)), 100.0))
    7.0
    """
    laws = [law for law in (cause.nodes_lost, cause.over_evicted) if law is not None]
    return np.minimum(sum((mean_count(law) for law in laws), start=np.float64(0.0)), n_nodes)


def chance_out_above(cause: Cause, limit: Number) -> Number:
    """Return the probability that a strike takes out more than `limit` nodes, counted before the cut at those present.

    >>> from mcettr.model.counts import Counts
    >>> rack = Cause("rack", 1e-6, nodes_lost=Counts((8.0, 16.0), (0.75, 1.0)))
    >>> float(chance_out_above(rack, 10.0))
    0.25
    """
    total: Number = np.float64(0.0)
    for lost, chance in _parts(cause.nodes_lost):
        for evicted, share in _parts(cause.over_evicted):
            total = total + chance * share * np.greater(np.add(lost, evicted), limit)
    return total


def chance_clipped(cause: Cause, n_nodes: Number) -> Number:
    """Return the probability that a strike names more nodes than `n_nodes`, the whole job by name left aside.

    >>> from mcettr.model.counts import exactly
    >>> float(chance_clipped(Cause("power", 1e-6, nodes_lost=exactly(ALL)), 100.0))
    0.0
    """
    return np.maximum(chance_out_above(cause, n_nodes) - chance_out_above(cause, ALL / 2.0), 0.0)


def _parts(law: Counts | None) -> Iterator[tuple[Number, Number]]:
    """Yield each count and its probability."""
    if law is None:
        yield 0.0, 1.0
        return
    before: Number = 0.0
    for value, reached in zip(law.values, law.cumulative, strict=True):
        yield value, np.subtract(reached, before)
        before = reached
