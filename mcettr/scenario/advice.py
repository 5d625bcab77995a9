"""What to write instead: the known words nearest to one that is not known."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

_FEW, _NEAREST = 8, 5
_COMPARED = 80


def nearest(found: str, known: Sequence[str]) -> str:
    """Return advice that names the known words nearest to `found`: all where they are few, else five.

    >>> nearest("gpu", ("gpus", "work"))
    "did you mean 'gpus'?"
    >>> nearest("x", ("gpus", "work"))
    'known are gpus, work'
    """
    found = found[:_COMPARED]
    if close := get_close_matches(found, known, n=1):
        return f"did you mean {close[0]!r}?"
    if len(known) <= _FEW:
        return f"known are {', '.join(known)}"
    some = get_close_matches(found, known, n=_NEAREST, cutoff=0.0)
    return f"the nearest of {len(known)} known ones are {', '.join(some)}"


def nearest_of(found: str, known: Sequence[str]) -> str:
    """Return the same advice, to end a message with.

    >>> nearest_of("gama", ("gamma", "uniform"))
    "; did you mean 'gamma'?"
    """
    return f"; {nearest(found, known)}"
