"""From lanes to blocks: what a batch hands back to the host, small whatever the number of timelines."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from mcettr.kernels.closing import Account
from mcettr.kernels.streams import RATE_GROUP

RATIOS = ("ettr", "ettr_occupied")
FRACTIONS = ("rework", "checkpoint", "detection", "diagnosis", "queue", "startup", "restore")
MEANS = ("elapsed_s", "held_s", "interruptions", "checkpoints_written", "ettr_timeline")
WITHIN = ("ettr_timeline", "interruptions")
TABLE_ACTIVITIES = ("rework", "detection", "diagnosis", "queue", "startup", "restore")


class Batch(NamedTuple):
    """Statistics of a batch; leading dimension blocks (one cell each), metrics in the order of `metric_names`.

    Each metric is a ratio of sums of a numerator and a denominator (1 for plain means) over units. A unit is a
    timeline, or a group of timelines that share a draw of uncertain rates (its numerator then is the group's ratio).
    """

    n_units: Any
    mean_numerator: Any
    mean_denominator: Any
    m2_numerator: Any
    m2_denominator: Any
    m2_cross: Any
    within_m2: Any
    """Sums of squared deviations from the group's mean (0 without uncertain rates) of the `WITHIN` metrics of single
    timelines: (blocks, 2)."""
    table_s: Any
    """Mean seconds by cause row (start, causes, horizon) and activity (`TABLE_ACTIVITIES`): (blocks, causes + 2, 6)."""
    elapsed_s: Any
    """(blocks, lanes) float64."""
    ratio: Any
    """Productive over elapsed, (blocks, lanes) float64."""
    outcome: Any
    """(blocks, lanes) int8, `mcettr.model.budget.Outcome`."""


def metric_names(causes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the metrics of a `Batch` in their order; interruptions by cause come last."""
    return (*RATIOS, *FRACTIONS, *MEANS, *(f"interruptions_by_cause.{cause}" for cause in causes))


def summarise(account: Account, valid: Any, grouped: bool) -> Batch:
    """Return the statistics of a batch of lanes shaped (blocks, lanes); only `valid` ones count."""

    def total(rows: Any) -> Any:
        return rows.sum(axis=0)

    elapsed_s = account.elapsed_s
    queue_s = total(account.queue_s)
    held_s = elapsed_s - queue_s
    ratio = account.productive_s / elapsed_s
    numerators = {
        "ettr": account.productive_s,
        "ettr_occupied": account.productive_s,
        "rework": total(account.rework_s) + account.undurable_s,
        "checkpoint": account.checkpoint_s,
        "detection": total(account.detection_s),
        "diagnosis": total(account.diagnosis_s),
        "queue": queue_s,
        "startup": total(account.startup_s),
        "restore": total(account.restore_s),
        "elapsed_s": elapsed_s,
        "held_s": held_s,
        "interruptions": total(account.n_failures),
        "checkpoints_written": account.n_saves,
        "ettr_timeline": ratio,
    }
    assert tuple(numerators) == metric_names(())
    values = jnp.concatenate([jnp.stack(list(numerators.values())), account.n_failures]).swapaxes(0, 1)
    weight = valid.astype(jnp.float64)
    within_m2 = jnp.zeros((len(valid), len(WITHIN)))
    if grouped:
        within_m2 = jnp.stack([_within_groups(numerators[metric], weight) for metric in WITHIN], axis=1)
        moments = _means(_by_group(values, elapsed_s, held_s), _groups(weight)[..., 0])
    else:
        moments = _moments(values, elapsed_s, held_s, weight)
    return Batch(*moments, within_m2, _table(account, valid), elapsed_s, ratio, account.outcome)


def _moments(values: Any, elapsed_s: Any, held_s: Any, weight: Any) -> tuple[Any, ...]:
    """Return the first six entries of a `Batch`; only the leading metrics have a denominator that varies."""
    n_units, mean, mean_d, m2, m2_d, cross = _means(values, weight)
    denominators = jnp.stack([elapsed_s, held_s], axis=1)
    n = jnp.maximum(n_units, 1.0)[:, None]
    weight = weight[:, None, :]
    means = _sum(denominators * weight) / n
    off = (denominators - means[:, :, None]) * weight
    squares = _sum(off * off)
    for index, metric in enumerate((*RATIOS, *FRACTIONS)):
        which = int(metric == "ettr_occupied")
        mean_d = mean_d.at[:, index].set(means[:, which])
        m2_d = m2_d.at[:, index].set(squares[:, which])
        cross = cross.at[:, index].set(_sum((values[:, index] - mean[:, index, None]) * off[:, which]))
    return n_units, mean, mean_d, m2, m2_d, cross


def _means(values: Any, weight: Any) -> tuple[Any, ...]:
    """Return the first six entries of a `Batch` for plain means of values (blocks, metrics, units)."""
    n_units = _sum(weight)
    mean = _sum(values * weight[:, None, :]) / jnp.maximum(n_units, 1.0)[:, None]
    off = values - mean[:, :, None]
    zero = jnp.zeros_like(mean)
    return n_units, mean, jnp.ones_like(mean), _sum(off * off * weight[:, None, :]), zero, zero


def _by_group(values: Any, elapsed_s: Any, held_s: Any) -> Any:
    """Return each group's own ratio or mean of every metric, (blocks, metrics, groups)."""
    sums = _groups(values).sum(axis=-1)
    n_ratios = len(RATIOS) + len(FRACTIONS)
    elapsed_s, held_s = (_groups(seconds).sum(axis=-1)[:, None] for seconds in (elapsed_s, held_s))
    below = [held_s if metric == "ettr_occupied" else elapsed_s for metric in (*RATIOS, *FRACTIONS)]
    ratios = sums[:, :n_ratios] / jnp.concatenate(below, axis=1)
    return jnp.concatenate([ratios, sums[:, n_ratios:] / RATE_GROUP], axis=1)


def _sum(values: Any) -> Any:
    """Return sums over the last dimension: a product with ones, which XLA vectorises, unlike a sum along a row."""
    flat = values.reshape(-1, values.shape[-1])
    return (flat @ jnp.ones(values.shape[-1], values.dtype)).reshape(values.shape[:-1])


def _groups(values: Any) -> Any:
    return values.reshape(*values.shape[:-1], -1, RATE_GROUP)


def _within_groups(values: Any, weight: Any) -> Any:
    grouped = _groups(values)
    off = (grouped - grouped.mean(axis=-1, keepdims=True)) * _groups(weight)
    return (off * off).sum(axis=(1, 2))


def _table(account: Account, valid: Any) -> Any:
    share = valid / jnp.maximum(valid.sum(axis=1, keepdims=True), 1)
    zero = jnp.zeros((1, *valid.shape))
    columns = [
        jnp.concatenate([zero, account.rework_s, account.undurable_s[None]]),
        jnp.concatenate([zero, account.detection_s, zero]),
        jnp.concatenate([zero, account.diagnosis_s, zero]),
        jnp.concatenate([account.queue_s, zero]),
        jnp.concatenate([account.startup_s, zero]),
        jnp.concatenate([account.restore_s, zero]),
    ]
    return jnp.moveaxis(_sum(jnp.stack(columns) * share), 2, 0).swapaxes(1, 2)
