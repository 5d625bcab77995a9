"""How often a fleet's parts fail that wear out or burn in: Weibull lives, each part renewed alone when it fails.

For one slot, let m(t) be the mean number of replacements a second and M(t) their mean number, S the survival function
of a new part and S_a that of the part of age a that is there at first. The slot always holds a part, so

    1 = S_a(t) + integral over s from 0 to t of m(s) S(t - s).

With m constant on the intervals of a mesh this is a triangular system, whose coefficients are exact (the integral of
a Weibull survival function is an incomplete gamma function). Its M is right to second order in the mesh; one
extrapolation from halved intervals makes it right to 1e-4 (of M, where M is above 1) for shapes from 0.3 to 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import solve_triangular

LOWEST_SHAPE, HIGHEST_SHAPE = 0.3, 5.0
"""Shapes for which the accuracy is known."""

_POINTS = 180
_SETTLED = 12.0
_NEGLIGIBLE = 1e-8
_SHORTEST = 1e-30
"""Shorter times, in mean lives, are as good as none."""
_SAME = 1e-7
"""Points of a mesh that differ by less, relatively, are one."""
Array = NDArray[np.float64]


def renewals(shape: float, age: float, times: Sequence[float]) -> Array:
    """Return the mean number of replacements in one slot up to some times.

    Parameters
    ----------
    shape : float
        Weibull shape of a new part's life, from 0.3 to 5.
    age : float
        Age of the first part, in mean lives.
    times : sequence of float
        Ascending, above 0, in mean lives.

    >>> renewals(1.0, 3.0, (0.5, 20.0)).round(6).tolist()
    [0.5, 20.0]
    """
    return np.asarray(_renewals(shape, age, tuple(times)))


@lru_cache(maxsize=4096)
def _renewals(shape: float, age: float, times: tuple[float, ...]) -> tuple[float, ...]:
    lives = _Lives(shape, age if age > _SHORTEST else 0.0)
    asked = np.asarray(times, dtype=np.float64)
    inside = np.clip(asked, _SHORTEST, lives.settled)
    mesh = np.unique(np.concatenate([inside, lives.mesh(float(inside[-1]))]))
    mesh = np.concatenate([[0.0], mesh[np.diff(mesh, prepend=0.0) > _SAME * mesh]])
    halved = np.sort(np.concatenate([mesh, 0.5 * (mesh[1:] + mesh[:-1])]))
    counts = (4.0 * lives.counts(halved)[::2] - lives.counts(mesh)) / 3.0
    # from then on one replacement a mean life
    found = np.interp(inside, mesh, counts) + np.maximum(asked - lives.settled, 0.0)
    return tuple(np.maximum.accumulate(np.maximum(found, 0.0)).tolist())


class _Lives:
    """Weibull lives of mean 1, and the age of the first part."""

    def __init__(self, shape: float, age: float) -> None:
        self.shape, self.age = shape, age
        self.scale = float(1.0 / special.gamma(1.0 + 1.0 / shape))
        fresh = self.scale * (-np.log(_NEGLIGIBLE)) ** (1.0 / shape)
        self.settled = max(_SETTLED, float(fresh), float(self.left_quantile(_NEGLIGIBLE)))

    def left_quantile(self, survival: Any) -> Any:
        """Return the time at which the first part still works with this probability."""
        if self.age == 0.0:
            return self.scale * (-np.log(survival)) ** (1.0 / self.shape)
        used = (self.age / self.scale) ** self.shape
        return self.age * np.expm1(np.log1p(-np.log(survival) / used) / self.shape)

    def first_failed(self, times: Array) -> Array:
        """Return the chance that the first part has failed by then."""
        if self.age == 0.0:
            return np.asarray(-np.expm1(-((times / self.scale) ** self.shape)))
        used = (self.age / self.scale) ** self.shape
        return np.asarray(-np.expm1(-used * np.expm1(self.shape * np.log1p(times / self.age))))

    def mesh(self, end: float) -> Array:
        """Return points up to `end`: dense at the start, where the first part is likely to fail, and about a life."""
        x = np.linspace(0.0, 1.0, _POINTS + 1)[1:]
        near = min(end, 1.0)
        if self.shape < 1.0:
            points = near * x ** (3.0 / self.shape)
            far = np.geomspace(near, end, _POINTS // 2) if end > near else near
        else:
            points, far = end * x**1.5, np.linspace(0.0, near, _POINTS // 8)[1:]
        first = self.left_quantile(np.linspace(0.98, 0.02, 25))
        return np.asarray(np.minimum(np.concatenate([points, np.atleast_1d(far), first]), end))

    def counts(self, mesh: Array) -> Array:
        """Return the mean number of replacements up to every point of a mesh that begins at 0."""
        n = mesh.size - 1
        rows, columns = np.tril_indices(n, 1, n + 1)
        survived = np.zeros((n, n + 1))
        lag = np.maximum(mesh[1:][rows] - mesh[columns], 0.0)
        survived[rows, columns] = special.gammainc(1.0 / self.shape, (lag / self.scale) ** self.shape)
        density = solve_triangular(survived[:, :-1] - survived[:, 1:], self.first_failed(mesh[1:]), lower=True)
        return np.asarray(np.concatenate([[0.0], np.cumsum(density * np.diff(mesh))]))
