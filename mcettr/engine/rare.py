"""What happens in fewer than 20 of the timelines: such an estimate is given by its bounds, not as a number.

One rule for all: `Rare.left_out` says which entries of which estimates rest on fewer than `FEW_TIMELINES` timelines
with the event, `Rare.low` and `Rare.high` hold 95 % intervals. What happens in every timeline
is not rare, however few they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mcettr.engine.tallies import Tally
from mcettr.engine.unseen import Foreseen
from mcettr.kernels.account import INTERRUPTIONS
from mcettr.kernels.moments import METRICS
from mcettr.model.budget import Outcome

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEW_TIMELINES = 20


@dataclass(frozen=True)
class Rare:
    """By the names of the estimates and in their shapes: what is left out, and the ends of 95 % intervals.

    An interval has an end of nan where there is no bound.
    """

    left_out: dict[str, Flags]
    low: dict[str, Array]
    high: dict[str, Array]


def rare_of(tally: Tally, values: dict[str, Array], n_causes: int, foreseen: Foreseen | None) -> Rare:
    """Return what is rare among the estimates that are means or shares (quantiles are `few_beyond`)."""
    n = tally.n_timelines.astype(np.float64)
    of_cause = tally.n_by_cause[:, 1 : 1 + n_causes]
    failed = of_cause[:, :, INTERRUPTIONS]
    possible = np.ones(of_cause[:, :, :INTERRUPTIONS].shape, np.bool_)
    strikes = np.ones(failed.shape, np.bool_)
    if foreseen is not None:
        possible = foreseen.possible()
        strikes = np.stack([rate > 0 for rate in foreseen.rates_per_s] or [np.zeros(0, np.bool_)], axis=-1)
        strikes = strikes.reshape(failed.shape)
    any_failed = np.minimum(failed.sum(axis=1), n)
    table = np.zeros(values["lost_s"].shape, np.bool_)
    table[:, 1 : 1 + n_causes] = possible
    seen_table = tally.n_by_cause[:, :, :INTERRUPTIONS]
    activity = tally.n_by_activity
    left_out = {
        "interruptions": _few(any_failed, n) & strikes.any(axis=1),
        "interruptions_by_cause": _few(failed, n[:, None]) & strikes,
        "time_fraction": _few(activity, n[:, None]) & ((activity > 0) | possible.any(axis=1)),
        "lost_s": _few(seen_table, n[:, None, None]) & ((seen_table > 0) | table),
    }
    seen = {"interruptions": any_failed, "interruptions_by_cause": failed}
    one = {"interruptions": 1.0 / n, "interruptions_by_cause": (1.0 / n)[:, None]}
    if "nodes_out_mean" in values:
        n_swaps = n * tally.mean_denominator[:, METRICS.index("exhausted_share")]
        with np.errstate(divide="ignore", invalid="ignore"):
            one |= {"spare_wait_probability": 1.0 / n_swaps, "nodes_out_mean": 1.0 / n}
        seen |= {"spare_wait_probability": tally.n_waited, "nodes_out_mean": tally.n_out}
        left_out |= {name: _few(seen[name], n) for name in ("spare_wait_probability", "nodes_out_mean")}
    low, high = {}, {}
    for name, count in seen.items():
        fewest, most = count_interval(count)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(count > 0, values[name] / count, one[name])
            low[name], high[name] = fewest * each, most * each
    if "spare_wait_probability" in high:
        high["spare_wait_probability"] = np.minimum(high["spare_wait_probability"], 1.0)
    for name, outcome in (("finished", Outcome.DONE), ("capped", Outcome.CAPPED)):
        low[name], high[name] = share_interval(tally.outcomes[:, outcome], tally.n_timelines)
    return Rare(left_out, low, high)


def _few(seen: Array, n: Array) -> Flags:
    flags: Flags = (seen < FEW_TIMELINES) & (seen < n)
    return flags


def count_interval(count: Array) -> tuple[Array, Array]:
    """Return the 95 % interval of the mean of a Poisson count (Garwood 1936); one-sided for 0.

    >>> [round(float(end), 3) for end in (*count_interval(np.array(0.0)), *count_interval(np.array(4.0)))]
    [0.0, 2.996, 1.09, 10.242]
    """
    count = np.asarray(count, dtype=np.float64)
    low = np.where(count > 0, special.gammaincinv(np.maximum(count, 1.0), 0.025), 0.0)
    return low, special.gammaincinv(count + 1.0, np.where(count > 0, 0.975, 0.95))


def share_interval(count: NDArray[np.int64], n: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the 95 % interval of a share (Clopper and Pearson 1934); one-sided for none and for all.

    >>> [round(float(end), 4) for end in share_interval(np.array(0), np.array(64))]
    [0.0, 0.0457]
    """
    tail = np.where((count > 0) & (count < n), 0.025, 0.05)
    low = np.where(count > 0, special.betaincinv(np.maximum(count, 1), n - count + 1.0, tail), 0.0)
    high = np.where(count < n, special.betaincinv(count + 1.0, np.maximum(n - count, 1), 1.0 - tail), 1.0)
    return low, high


def few_beyond(n: Array, levels: tuple[float, ...]) -> Flags:
    """Return which quantiles have fewer than 20 of n timelines on their farther side: (cells, levels)."""
    share = np.minimum(levels, 1.0 - np.array(levels))
    flags: Flags = n[:, None] * share * (1.0 + 1e-12) < FEW_TIMELINES
    return flags


def quantile_levels(n: Array, levels: tuple[float, ...]) -> tuple[Array, Array]:
    """Return the shares of n timelines between whose quantiles the true one lies at 95 %; nan where no bound is.

    The order statistics that a binomial count of timelines below the true quantile gives (Thompson 1936).
    """
    n = n[:, None]
    below, above = binomial_quantile(0.025, n, levels) / n, (binomial_quantile(0.975, n, levels) + 1.0) / n
    return np.where(below > 0, below, np.nan), np.where(above <= 1.0, above, np.nan)


def binomial_quantile(share: float, n: Any, probability: Any) -> Array:
    """Return the least count whose cumulative binomial probability reaches a share.

    That of `scipy.stats`, which takes as long to import as a small run takes.

    Parameters
    ----------
    share : float
        In (0, 1).
    n, probability : array_like
        Draws, and the chance of each, in (0, 1); they broadcast.

    >>> binomial_quantile(0.5, 10, [0.2, 0.5]).tolist()
    [2.0, 5.0]
    """
    count = np.ceil(special.bdtrik(share, n, probability))
    one_less = np.maximum(count - 1.0, 0.0)
    reached = special.bdtr(one_less, np.asarray(n).astype(np.int64), probability) >= share
    return np.asarray(np.where(reached, one_less, count))
