"""How much of its time a job waits for spares, in the long run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from mcettr.model.distributions import Number, as_array
from mcettr.model.mean_rates import nodes_in_repair
from mcettr.model.params import Params
from mcettr.model.problems import Cells, Problem

_WORTH_SAYING = 0.1


def waiting_share(params: Params) -> Number:
    """Return about what share of the time a job that waits for repairs has too few nodes.

    With n spares and a nodes in repair were it always running, it waits with n + 1 in repair: a birth-death chain that
    ends there, whose last state has the probability of Erlang's loss formula (1917), B(n + 1, a). Repairs may have any
    law; nodes are taken to go one by one.

    >>> from mcettr.model.counts import exactly
    >>> from mcettr.model.params import Cause, Checkpoint, Recovery
    >>> from mcettr.model.physics import Spares
    >>> node, pool = Cause("node", 1e-5, nodes_lost=exactly(1.0)), Spares(0.0, 0.0, 1.0, 1e5, 1e5)
    >>> job = Params(8.0, 1e6, 1e9, Checkpoint(1800.0, 60.0, 60.0), (node,), Recovery(spares=pool), n_nodes=64.0)
    >>> round(float(waiting_share(job)), 12)
    0.5
    """
    spares = params.recovery.spares
    if spares is None or spares.when_exhausted != "wait":
        return np.float64(0.0)
    n, offered = as_array(spares.count) + 1.0, nodes_in_repair(params)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_chance = n * np.log(offered) - offered - special.gammaln(n + 1.0)
        share = np.exp(log_chance) / special.pdtr(n, offered)
    # Far beyond what the spares can carry both are 0, and hardly any time is left.
    beyond = np.isnan(share) & (offered > n)
    return as_array(np.where(beyond, 1.0, np.where((offered > 0.0) & np.isfinite(n), np.nan_to_num(share), 0.0)))


def waiting_warnings(params: Params, see: Cells) -> Iterator[Problem]:
    """Warn of spares too few for the repairs."""
    spares = params.recovery.spares
    if spares is None:
        return
    share = waiting_share(params)
    yield from see.where(
        "warning",
        "recovery.spares.count",
        (share > _WORTH_SAYING) & ~np.greater(spares.slow_mean_s, np.minimum(params.work_s, params.horizon_s)),
        lambda count, offered, share: (
            f"{count:g} where {offered:.3g} nodes would be in repair at a time: the job"
            f" waits for repairs about {100.0 * share:.2g} % of its time; give more spares, or repair faster"
        ),
        spares.count,
        nodes_in_repair(params),
        share,
    )
