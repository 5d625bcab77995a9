"""Which tests run each time: with `-m slow` the others run too."""

from collections.abc import Iterable
from typing import Any

import pytest


def often(names: Iterable[Any], *chosen: Any) -> list[Any]:
    """Return parameters of a test of which only those chosen run each time, and the others with `-m slow`.

    >>> [bool(one.marks) for one in often(["a", "b"], "b")]
    [True, False]
    """
    found = list(names)
    if missing := set(chosen) - set(found):
        raise ValueError(f"expected names among {found}, found {sorted(missing)}")
    return [pytest.param(name, marks=() if name in chosen else pytest.mark.slow, id=str(name)) for name in found]
