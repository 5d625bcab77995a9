"""Which cause strikes: in proportion to the rates down to a share of 1e-9, wherever in the list the cause stands."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mcettr.engine.timeline import hazards as reference
from mcettr.kernels.attempt import cause_bounds, cause_row
from mcettr.kernels.events.hazards import pick
from mcettr.kernels.threefry import fine_uniform
from mcettr.model.params import Cause, Checkpoint, Params

RARE = 1e-8
RATES = {
    "first": (RARE, 0.6, 0.4 - RARE),
    "between": (0.6, RARE, 0.4 - RARE),
    "last": (0.6, 0.4 - RARE, RARE),
    "alone at the end": (1.0, 1e-12),
}
LAST = 2**32 - 1


def words_at(edge: float) -> np.ndarray:
    """Return the words around a share of them."""
    middle = round(edge * 2**32)
    return np.arange(max(middle - 100, 0), min(middle + 100, LAST) + 1, dtype=np.uint32)


@pytest.mark.parametrize("where", RATES)
def test_a_rare_cause_has_its_share_of_the_words_in_all_loops(where: str) -> None:
    rates = np.array(RATES[where])
    edges = np.cumsum(rates) / rates.sum()
    words = np.unique(np.concatenate([words_at(edge) for edge in (0.0, *edges)]))
    params = Params(8.0, 1e5, 1e8, Checkpoint(1e3, 0.0, 0.0), tuple(Cause(f"c{i}", r) for i, r in enumerate(rates)))
    with jax.enable_x64(True):
        plain = np.asarray(cause_row(cause_bounds(params), jnp.asarray(words))) - 1
        u = fine_uniform(jnp.asarray(words))
        events = np.asarray(pick([jnp.float64(rate) for rate in rates], jnp.float64(rates.sum()), u))
    slow = [reference.pick(rates.tolist(), float(at)) for at in fine_uniform(words)]
    assert plain.tolist() == events.tolist() == slow
    for index, rate in enumerate(rates):
        if 1e-9 < rate < 1e-6:
            assert (plain == index).sum() == pytest.approx(rate * 2**32, abs=1)
