"""Counter-based random words: Threefry-2x32 with 13 rounds, and the one way a word becomes a uniform.

Source: Salmon, Moraes, Dror and Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3". With 13 rounds or more the
authors know of no statistical flaw (Random123's documentation of Threefry2x32); 20 are their default, and slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
ROUNDS = 13
_PARITY = np.uint32(0x1BD11BDA)
_LARGEST = np.float32(1.0 - 2.0**-24)


def threefry2x32(key: tuple[Any, Any], counter: tuple[Any, Any], rounds: int = ROUNDS) -> tuple[Any, Any]:
    """Return the two 32-bit words of the block at `counter` under `key` (Salmon et al. 2011, section 3.2).

    Parameters
    ----------
    key, counter : pair of uint32 arrays
        NumPy or JAX arrays that broadcast against one another.
    rounds : int
        Mixing rounds; after every fourth the key is added.

    Examples
    --------
    >>> zero = np.zeros(1, np.uint32)
    >>> [hex(int(word[0])) for word in threefry2x32((zero, zero), (zero, zero))]
    ['0x9d1c5ec6', '0x8bd50731']
    """
    keys = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    a, b = counter[0] + keys[0], counter[1] + keys[1]
    for number in range(rounds):
        rotation = _ROTATIONS[number // 4 % 2][number % 4]
        a = a + b
        b = ((b << np.uint32(rotation)) | (b >> np.uint32(32 - rotation))) ^ a
        if number % 4 == 3:
            injection = number // 4 + 1
            a = a + keys[injection % 3]
            b = b + keys[(injection + 1) % 3] + np.uint32(injection)
    return a, b


def fine_uniform(word: Any) -> Any:
    """Return float64 uniforms strictly inside (0, 1) that keep the whole word: equally fine at both ends.

    >>> [float(u) for u in 2.0**33 * fine_uniform(np.array([0, 2**32 - 1], np.uint32))]
    [1.0, 8589934591.0]
    """
    return (word.astype(np.float64) + 0.5) * 2.0**-32


def uniform(word: Any, xp: Any = np) -> Any:
    """Return float32 uniforms strictly inside (0, 1), the same to the bit in NumPy and JAX.

    The word goes through int32 (its conversion to float is the quick one) and one half is added, so the smallest value
    is 2^-32 and -log reaches 22; the largest is 1 - 2^-24, the float32 next below 1.

    Examples
    --------
    >>> [float(u) for u in uniform(np.array([0, 2**32 - 1], np.uint32))]
    [2.3283064365386963e-10, 0.9999999403953552]
    """
    whole = (word >> np.uint32(1)).astype(np.int32).astype(np.float32)
    return xp.minimum((whole + np.float32(0.5)) * np.float32(2.0**-31), _LARGEST)
