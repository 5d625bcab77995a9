"""Functions of lanes that do better than JAX's own.

Those of XLA on a processor for logarithm and exponential in float64 call a library lane by lane, and stand in kernels
of their own. These are a few products; they are right to 1e-15 of the value.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

_LOG_TERMS = 9
_SQRT_HALF_HIGH = 0x3FE6A09E
"""High word of the float64 sqrt(1/2)."""
_SQRT_HALF_SINGLE = 0x3F3504F3
_EXP_TERMS = 13
_PARABOLA = (1.477755914724449, -0.7224441133556712, 0.11686289071326854)
_LOG_2_HIGH, _LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 in two parts, of which the first times a whole number is exact (Cody and Waite, 1980)."""


def minus_log(x: Any) -> Any:
    """Return -log(x) of float64 normal numbers above 0.

    With x = m 2^e, m between sqrt(1/2) and sqrt(2): log x = e log 2 + log m.
    """
    bits = lax.bitcast_convert_type(x, jnp.int64)
    exponent = (bits - jnp.int64(_SQRT_HALF_HIGH << 32)) >> 52
    m = lax.bitcast_convert_type(bits - (exponent << 52), jnp.float64)
    return -(exponent.astype(jnp.float64) * math.log(2.0) + _log_near_1(m))


def _log_near_1(m: Any) -> Any:
    """Return log(m) of m between sqrt(1/2) and sqrt(2), as 2 artanh((m - 1) / (m + 1))."""
    s = (m - 1.0) * _reciprocal(m + 1.0)
    square = s * s
    series = jnp.full_like(square, 1.0 / (2 * _LOG_TERMS + 1))
    for k in range(_LOG_TERMS - 1, -1, -1):
        series = series * square + 1.0 / (2 * k + 1)
    return 2.0 * s * series


def _reciprocal(d: Any) -> Any:
    """Return 1/d of d between 1 + sqrt(1/2) and 1 + sqrt(2); XLA keeps divisions in kernels of their own.

    A parabola is right to 1.3e-3 (the best of its degree: what is left is a Chebyshev polynomial); if 1 - d r = e, 1/d
    is r (1 + e)(1 + e^2)(1 + e^4) to e^8.
    """
    r = (_PARABOLA[2] * d + _PARABOLA[1]) * d + _PARABOLA[0]
    e = 1.0 - d * r
    square = e * e
    return r * ((1.0 + e) * ((1.0 + square) * (1.0 + square * square)))


def minus_log_of_uniform(u: Any) -> Any:
    """Return -log(u) in float64 of float32 uniforms, cheaper: only the mantissa is put through in float64."""
    bits = lax.bitcast_convert_type(u, jnp.int32)
    exponent = (bits - jnp.int32(_SQRT_HALF_SINGLE)) >> 23
    m = lax.bitcast_convert_type(bits - (exponent << 23), jnp.float32).astype(jnp.float64)
    return -(exponent.astype(jnp.float64) * math.log(2.0) + _log_near_1(m))


def exp(x: Any) -> Any:
    """Return e^x of float64 numbers; 0 below -708, and e^708 above 708."""
    inside = jnp.clip(x, -708.0, 708.0)
    n = jnp.round(inside * (1.0 / math.log(2.0)))
    r = (inside - n * _LOG_2_HIGH) - n * _LOG_2_LOW
    series = jnp.full_like(r, 1.0 / math.factorial(_EXP_TERMS))
    for k in range(_EXP_TERMS - 1, -1, -1):
        series = series * r + 1.0 / math.factorial(k)
    scale = lax.bitcast_convert_type((n.astype(jnp.int64) + 1023) << 52, jnp.float64)
    return where(x < -708.0, 0.0, series * scale)


def where(mask: Any, yes: Any, no: Any) -> Any:
    """Return ``jnp.where(mask, yes, no)``; as a call of a function, which that is, it takes longer to compile."""
    shape = jnp.broadcast_shapes(*map(jnp.shape, (mask, yes, no)))
    dtype = jnp.result_type(yes, no)
    return lax.select(_spread(mask, shape, jnp.bool_), _spread(yes, shape, dtype), _spread(no, shape, dtype))


def _spread(value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    if not jnp.ndim(value):
        return lax.full(shape, value, dtype)
    array = lax.convert_element_type(value, dtype)
    return array if array.shape == shape else jnp.broadcast_to(array, shape)


class Elementary:
    """The namespace of JAX with this module's functions in place of its own."""

    exp, where = staticmethod(exp), staticmethod(where)

    @staticmethod
    def log(x: Any) -> Any:
        """Return log(x)."""
        return -minus_log(x)

    @staticmethod
    def log1p(x: Any) -> Any:
        """Return log(1 + x), for x so coarse that 1 + x is exact, as of a uniform."""
        return -minus_log(1.0 + x)

    @staticmethod
    def power(x: Any, y: Any) -> Any:
        """Return x^y of x above 0."""
        return exp(-y * minus_log(x))

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)


NAMESPACE = Elementary()
