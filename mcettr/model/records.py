"""Maps nested frozen records: to every number, and to every law."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from mcettr.model.distributions import Distribution


def map_leaves(value: Any, number: Callable[[Any], Any], law: Callable[[Distribution], Distribution]) -> Any:
    """Return a nested record with `number` applied to every number or array, and `law` to every duration law.

    Words, flags and None stay.

    >>> from mcettr.model.params import Checkpoint
    >>> map_leaves(Checkpoint(1.0, 2.0, 2.0), lambda x: 2 * x, lambda law: law).write_time_s
    4.0
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Distribution):
        return law(value)
    if isinstance(value, tuple):
        return tuple(map_leaves(item, number, law) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (item.name for item in dataclasses.fields(value))
        changed = {name: map_leaves(getattr(value, name), number, law) for name in names}
        return dataclasses.replace(value, **changed)
    return number(value)
