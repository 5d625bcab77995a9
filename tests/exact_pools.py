"""Exact values for spares, repairs and replica groups.

Seconds and 1 / seconds throughout. Each docstring says for which job the value is exact.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

from mcettr.model.renewal import exposed_s
from tests.exact_chains import average_law

Floats = NDArray[np.float64]


def out_generator(rate_per_s: float, mean_repair_s: float, n_spares: int) -> Floats:
    """Return the generator of the number of nodes in repair, 0 to n_spares + 1, under the policy of waiting.

    Exact for one cause at a constant rate that loses 1 node a strike, exponential repairs, and no time without risk
    (detection, diagnosis, queue, swap 0) but the wait itself: with n_spares + 1 nodes out the job stands and
    nothing fails. Startup and restore may have any length.

    >>> out_generator(2.0, 1.0, 0).tolist()
    [[-2.0, 2.0], [1.0, -1.0]]
    """
    states = n_spares + 2
    q = np.diag(np.full(states - 1, rate_per_s), 1) + np.diag(np.arange(1, states) / mean_repair_s, -1)
    return q - np.diag(q.sum(axis=1))


def out_law(rate_per_s: float, mean_repair_s: float, n_spares: int) -> Floats:
    """Return the stationary law of the nodes in repair: Erlang's, a Poisson law cut at n_spares + 1.

    As `out_generator`; it needs only the mean of the repair law (M/G/c/c), so two branches of repair may be mixed.

    >>> law = out_law(2048 * 3.79e-3, 1.0, 40)  # per day, V1.27
    >>> round(float(law @ np.arange(42)), 1), [int(np.searchsorted(law.cumsum(), q)) for q in (0.99, 0.999)]
    (7.8, [15, 18])
    """
    weights = stats.poisson.pmf(np.arange(n_spares + 2), rate_per_s * mean_repair_s)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def out_average_law(rate_per_s: float, mean_repair_s: float, n_spares: int, horizon_s: float) -> Floats:
    """Return the law of the nodes in repair at a uniformly random instant of [0, horizon], from none at 0.

    >>> bool(np.abs(out_average_law(0.01, 50.0, 2, 1e7) - out_law(0.01, 50.0, 2)).max() < 1e-4)
    True
    """
    return average_law(out_generator(rate_per_s, mean_repair_s, n_spares), np.eye(n_spares + 2)[0], horizon_s)


def waits(rate_per_s: float, mean_repair_s: float, n_spares: int, horizon_s: float) -> tuple[float, float, float]:
    """Return the means over [0, horizon] of strikes, of those that find no spare, and of the time waited.

    Strikes come at the rate while the job runs, and find no spare if n_spares nodes are out already (PASTA).

    >>> [round(x, 3) for x in waits(0.01, 1e-6, 0, 1000.0)]
    [10.0, 10.0, 0.0]
    """
    law = out_average_law(rate_per_s, mean_repair_s, n_spares, horizon_s)
    running = float(law[:-1].sum())
    return rate_per_s * running * horizon_s, rate_per_s * float(law[-2]) * horizon_s, float(law[-1]) * horizon_s


def batches_out(
    rate_per_s: float,
    batch: tuple[float, float],
    repair: tuple[float, float, float],
    horizon_s: float,
) -> tuple[float, float]:
    """Return mean and variance of the nodes in repair at a uniformly random instant of [0, horizon]: M^[X] / G / inf.

    Exact with spares without end, one cause at a constant rate without any time off risk, and batches X (nodes lost and
    over-evicted) that always fit into the job. At age t the mean is rate E[X] int p, the variance
    rate int (E[X (X - 1)] p^2 + E[X] p), where p(s) is the chance that a repair lasts longer than s.

    Parameters
    ----------
    batch : tuple
        E[X] and E[X^2].
    repair : tuple
        Share of quick repairs, their mean, the mean of slow ones.

    >>> mean, variance = batches_out(2048 * 3.79e-3, (1.0, 1.0), (1.0, 1.0, 1.0), 1e4)
    >>> round(mean, 2), round(variance, 2)
    (7.76, 7.76)
    """
    first, second = batch
    share, quick_s, slow_s = repair

    def over(power: int, t: Floats) -> Floats:
        """Integral of p^power from 0 to t."""
        terms = ((share, 1 / quick_s), (1 - share, 1 / slow_s))
        if power == 1:
            return sum((w / r * -np.expm1(-r * t) for w, r in terms), start=np.zeros_like(t))
        pairs = ((wa * wb, ra + rb) for wa, ra in terms for wb, rb in terms)
        return sum((w / r * -np.expm1(-r * t) for w, r in pairs), start=np.zeros_like(t))

    t = np.concatenate([[0.0], np.geomspace(1e-6 * min(quick_s, horizon_s), horizon_s, 20_001)])
    mean = rate_per_s * first * over(1, t)
    spread = rate_per_s * ((second - first) * over(2, t) + first * over(1, t))
    average = integrate.simpson(mean, x=t) / horizon_s
    square = integrate.simpson(spread + mean**2, x=t) / horizon_s
    return float(average), float(square - average**2)


def replica_groups(
    rate_per_s: float, n_groups: int, group_down_s: float, rejoin_s: float, stop_down_s: float, pause_s: float = 0.0
) -> dict[str, float]:
    """Return long-run shares and rates of a job of replica groups.

    Exact for one crash cause by node at a constant rate, no startup and restore (rejoin only), free saves, fixed times:
    a lost group spends `group_down_s` (detection, diagnosis, swap, queue) at (G - 1) / G of the rate, then `rejoin_s`
    at all of it, where a strike is in the same group with chance 1 / G and begins its loss anew. For the first
    `pause_s` (reconfigure, at most `group_down_s`) nothing computes, but not when the group is lost anew. Any other
    strike stops the job for `stop_down_s` without risk.

    Returns
    -------
    dict
        ``degraded``: share of time lost to the missing group; ``paused``, ``stopped``: shares of time in reconfiguring
        and standing; ``losses_per_s`` and ``stops_per_s``: strikes that take a group only, and that stop the job, a
        second of elapsed time.

    >>> both = replica_groups(1e-4, 8, 600.0, 0.0, 0.0)
    >>> round(both["losses_per_s"] + both["stops_per_s"], 9) < 1e-4
    True
    """
    others = (n_groups - 1.0) / n_groups
    down_survives, rejoin_survives = math.exp(-rate_per_s * others * group_down_s), math.exp(-rate_per_s * rejoin_s)
    down_s = exposed_s(rate_per_s * others, group_down_s)
    again = down_survives * (1.0 - rejoin_survives) / n_groups
    one_s = down_s + down_survives * (1.0 - rejoin_survives) / rate_per_s
    second = (1.0 - down_survives) + down_survives * (1.0 - rejoin_survives) * others
    lost_s, stops = one_s / (1.0 - again), second / (1.0 - again)
    paused_s = exposed_s(rate_per_s * others, pause_s)
    cycle_s = 1.0 / rate_per_s + lost_s + stops * stop_down_s
    shares = {
        "degraded": (lost_s - paused_s) / n_groups / cycle_s,
        "paused": paused_s / cycle_s,
        "stopped": stops * stop_down_s / cycle_s,
        "losses_per_s": 1.0 / (1.0 - again) / cycle_s,
        "stops_per_s": stops / cycle_s,
    }
    return {name: float(share) for name, share in shares.items()}
