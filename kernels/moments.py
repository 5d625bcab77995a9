"""From lanes to blocks: what a batch hands back to the host, small whatever the number of timelines."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels.account import INTERRUPTIONS, Account, ByCause
from mcettr.kernels.streams import RATE_GROUP
from mcettr.model.budget import ACTIVITIES, UNHELD

FRACTIONS = ACTIVITIES[1:]
OVER_ELAPSED = ("ettr", *FRACTIONS)
MEANS = (
    "elapsed_s",
    "held_s",
    "productive_s",
    "interruptions",
    "checkpoints_written",
    "ettr_timeline",
    "nodes_out",
)
METRICS = (*OVER_ELAPSED, "ettr_correct", "ettr_occupied", "exhausted_share", "corrupt_fraction", *MEANS)
"""Ratios of sums, over elapsed time, over held time, over `Pool.n_swaps` and over productive time, then plain means."""
WITHIN = ("ettr_timeline", "interruptions", "elapsed_s")

_Below = list[tuple[slice, Any]]
"""Which metrics have a denominator other than 1, and its values, units in the last dimension."""


class Batch(NamedTuple):
    """Statistics of a batch; leading dimension blocks (one cell each), metrics in the order of `METRICS`.

    Each metric is a ratio of sums of a numerator and a denominator (1 for plain means) over units. A unit is a
    timeline, or a group of timelines that share a draw of uncertain rates; the numerator of a ratio over time then is
    the group's ratio.
    """

    n_units: Any
    mean_numerator: Any
    mean_denominator: Any
    m2_numerator: Any
    m2_denominator: Any
    m2_cross: Any
    within_m2: Any
    """Sums of squared deviations from the group's mean (0 without uncertain rates) of the `WITHIN` metrics of single
    timelines: (blocks, 3)."""
    mean_by_cause: Any
    m2_by_cause: Any
    """The table by cause (see `mcettr.kernels.account.ByCause`), mean and squared deviations of units: (blocks, causes
    + 4, 12)."""
    n_by_cause: Any
    """Timelines in which an entry of that table is not 0."""
    n_by_activity: Any
    """Timelines with some of an activity, (blocks, 11)."""
    n_waited: Any
    n_out: Any
    """Timelines that found too few spares, and those with nodes in repair at their random instant: (blocks,)."""
    elapsed_s: Any
    """(blocks, lanes) float64."""
    ratio: Any
    """Productive over elapsed, (blocks, lanes) float64."""
    outcome: Any
    """(blocks, lanes) int8, `mcettr.model.budget.Outcome`."""
    longest_stretch_s: Any
    """(blocks, lanes) float64; None where the loop does not follow it."""
    nodes_out: Any
    """(blocks, lanes) float64; None without spares."""
    nodes_out_most: Any
    """(blocks, lanes) float64; None without spares."""


def summarise(account: Account, valid: Any, grouped: bool) -> Batch:
    """Return the statistics of a batch of lanes shaped (blocks, lanes); only `valid` ones count."""
    pool, weight = account.pool, valid.astype(jnp.float64)
    numerators = _numerators(account)
    n_units, *known = _known_moments(account, numerators, weight, grouped)
    mean, mean_below, m2, m2_below, cross = _all_metrics(list(numerators), jnp.stack(known))
    within_m2 = jnp.zeros((len(valid), len(WITHIN)))
    if grouped:
        within_m2 = jnp.stack([_within_groups(numerators[name], weight) for name in WITHIN], axis=1)
    mean_by_cause, m2_by_cause, n_by_cause = _table(account.by_cause, weight, grouped)
    return Batch(
        n_units=n_units,
        mean_numerator=mean,
        mean_denominator=mean_below,
        m2_numerator=m2,
        m2_denominator=m2_below,
        m2_cross=cross,
        within_m2=within_m2,
        mean_by_cause=mean_by_cause,
        m2_by_cause=m2_by_cause,
        n_by_cause=n_by_cause,
        n_by_activity=jnp.stack([_n_seen(seconds, weight) for seconds in account.activity_s], axis=1),
        n_waited=_n_seen(None if pool is None else pool.n_exhausted, weight),
        n_out=_n_seen(None if pool is None else pool.nodes_out, weight),
        elapsed_s=account.elapsed_s,
        ratio=numerators["ettr_timeline"],
        outcome=account.outcome,
        longest_stretch_s=account.longest_stretch_s,
        nodes_out=None if pool is None else pool.nodes_out,
        nodes_out_most=None if pool is None else pool.nodes_out_most,
    )


def _table(by_cause: ByCause, weight: Any, grouped: bool) -> tuple[Any, Any, Any]:
    """Return mean and squared deviations of the table by cause, and in how many timelines its entries are not 0."""
    units, unit_weight = by_cause.amounts, weight
    if grouped:
        units, unit_weight = _groups(units).mean(axis=-1), _groups(weight)[..., 0]
    mean = sum_lanes(units * unit_weight) / jnp.maximum(sum_lanes(unit_weight), 1.0)
    off = (units - mean[..., None]) * unit_weight
    known = jnp.stack([mean, sum_lanes(off * off), _n_seen(by_cause.amounts, weight)])
    rows, columns = jnp.array(by_cause.rows), jnp.array(by_cause.columns)
    empty = jnp.zeros((3, max(by_cause.rows) + 1, INTERRUPTIONS + 1, len(weight)))
    mean, m2, n_seen = jnp.moveaxis(empty.at[:, rows, columns].set(known), -1, 1)
    return mean, m2, n_seen


def _n_seen(values: Any, weight: Any) -> Any:
    """Return in how many lanes of a block there is some of what `values` counts; None stands for nothing."""
    return sum_lanes(weight * 0.0 if values is None else weight * (values > 0.0))


def _known_moments(account: Account, numerators: dict[str, Any], weight: Any, grouped: bool) -> tuple[Any, ...]:
    """Return the number of units and the other moments of the metrics in `numerators`, each (metrics, blocks)."""
    names = list(numerators)

    def at(name: str) -> slice:
        return slice(names.index(name), names.index(name) + 1)

    over_time: _Below = [
        (slice(names.index("ettr_occupied")), account.elapsed_s),
        (at("ettr_occupied"), numerators["held_s"]),
    ]
    others: _Below = []
    if account.pool is not None:
        others.append((at("exhausted_share"), account.pool.n_swaps))
    if account.corrupt_s is not None:
        others.append((at("corrupt_fraction"), numerators["productive_s"]))
    if not grouped:
        return _moments(list(numerators.values()), weight, over_time + others)
    others = [(where, _groups(below).mean(axis=-1)) for where, below in others]
    by_group = _by_group(jnp.stack(list(numerators.values())), over_time)
    return _moments(list(by_group), _groups(weight)[..., 0], others)


def sum_lanes(values: Any) -> Any:
    """Return sums over the last dimension: a product with ones, which XLA vectorises, unlike a sum along a row."""
    flat = values.reshape(-1, values.shape[-1])
    return (flat @ jnp.ones(values.shape[-1], values.dtype)).reshape(values.shape[:-1])


def _numerators(account: Account) -> dict[str, Any]:
    """Return the numerators of the metrics that the loop knows, in the order of `METRICS`; the others are 0."""
    elapsed_s, pool, corrupt_s = account.elapsed_s, account.pool, account.corrupt_s
    seconds = dict(zip(ACTIVITIES, account.activity_s, strict=True))
    unheld = [seconds[name] for name in UNHELD if seconds[name] is not None]
    found = seconds | {
        "ettr": seconds["productive"],
        "ettr_correct": None if corrupt_s is None else seconds["productive"] - corrupt_s,
        "ettr_occupied": seconds["productive"],
        "exhausted_share": None if pool is None else pool.n_exhausted,
        "corrupt_fraction": corrupt_s,
        "elapsed_s": elapsed_s,
        "held_s": elapsed_s - sum(unheld),
        "productive_s": seconds["productive"],
        "interruptions": account.n_failures,
        "checkpoints_written": account.n_saves,
        "ettr_timeline": seconds["productive"] / elapsed_s,
        "nodes_out": None if pool is None else pool.nodes_out,
    }
    return {name: found[name] for name in METRICS if found[name] is not None}


def _all_metrics(names: list[str], known: Any) -> Any:
    """Return moments of all metrics, (moments, blocks, metrics), from those of `names`, (moments, names, blocks).

    The others are 0, their denominator 1.
    """
    other = jnp.zeros_like(known[:, :1]).at[1].set(1.0)
    rows = [names.index(name) if name in names else len(names) for name in METRICS]
    return jnp.moveaxis(jnp.concatenate([known, other], axis=1)[:, jnp.array(rows)], 1, 2)


def _moments(values: list[Any], weight: Any, below: _Below) -> tuple[Any, ...]:
    """Return the number of units, and the other moments of a `Batch`, from those of each metric, (blocks, units)."""
    n_values, others = len(values), [denominator for _, denominator in below]
    every = jnp.stack([*values, *others, jnp.ones_like(weight)])
    n_units = (sums := sum_lanes(every * weight))[-1]
    mean = sums[:-1] / jnp.maximum(n_units, 1.0)
    off = (every[:-1] - mean[..., None]) * weight
    crossed = [off[at] * off[n_values + index] for index, (at, _) in enumerate(below)]
    m2, *crosses = _split(sum_lanes(jnp.concatenate([off * off, *crossed])), [len(off), *map(len, crossed)])
    mean_below = jnp.ones_like(mean[:n_values])
    m2_below = cross = jnp.zeros_like(mean[:n_values])
    for index, (at, _) in enumerate(below):
        mean_below = mean_below.at[at].set(mean[n_values + index])
        m2_below = m2_below.at[at].set(m2[n_values + index])
        cross = cross.at[at].set(crosses[index])
    return n_units, mean[:n_values], mean_below, m2[:n_values], m2_below, cross


def _split(values: Any, lengths: list[int]) -> list[Any]:
    """Return pieces of these lengths of the first dimension."""
    begins = [sum(lengths[:index]) for index in range(len(lengths))]
    return [values[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]


def _by_group(values: Any, below: _Below) -> Any:
    """Return each group's own ratio or mean of every metric, (metrics, blocks, groups)."""
    sums = _groups(values).sum(axis=-1)
    divisor = jnp.full_like(sums, float(RATE_GROUP))
    for at, denominator in below:
        divisor = divisor.at[at].set(_groups(denominator).sum(axis=-1))
    return sums / divisor


def _groups(values: Any) -> Any:
    return values.reshape(*values.shape[:-1], -1, RATE_GROUP)


def _within_groups(values: Any, weight: Any) -> Any:
    grouped = _groups(values)
    off = (grouped - grouped.mean(axis=-1, keepdims=True)) * _groups(weight)
    return (off * off).sum(axis=(1, 2))
