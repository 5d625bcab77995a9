"""Numbers inside nested records: turn several records that differ in numbers only into one of arrays, and map them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel


class MixedError(Exception):
    """Records differ in more than numbers; the text names two that should be the same."""


def overlay(current: Any, variants: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return `current` with an array in place of every number in which the variants differ.

    Parameters
    ----------
    current : model, dataclass, mapping, tuple or number
        What to change; may already hold arrays in other places.
    variants : sequence
        Records of the same kind, one for each entry of the new arrays in C order.
    shape : tuple of int
        Shape of the new arrays, ones where other axes vary.

    >>> overlay((1.0, 5.0), [(1.0, 5.0), (2.0, 5.0)], (2, 1))[1]
    5.0

    Raises
    ------
    MixedError
        The variants differ in a word, a kind or a length.
    """
    first = variants[0]
    if all(variant is first for variant in variants):
        return current
    if len({type(variant) for variant in variants}) > 1:
        raise MixedError(_two_texts(variants))
    if isinstance(first, BaseModel):
        fields = type(first).model_fields
        return current.model_copy(update={name: _field(current, variants, name, shape) for name in fields})
    if dataclasses.is_dataclass(first):
        names = [item.name for item in dataclasses.fields(first)]
        return dataclasses.replace(current, **{name: _field(current, variants, name, shape) for name in names})
    if isinstance(first, tuple):
        if len({len(variant) for variant in variants}) > 1:
            raise MixedError(_two_texts(variants))
        return tuple(overlay(current[i], [v[i] for v in variants], shape) for i in range(len(first)))
    if isinstance(first, dict):
        return {key: overlay(current[key], [v[key] for v in variants], shape) for key in first}
    if all(variant == first for variant in variants):
        return current
    if isinstance(first, (bool, int, float)):
        return np.array(variants, dtype=np.float64).reshape(shape)
    raise MixedError(_two_texts(variants))


def _field(current: Any, variants: Sequence[Any], name: str, shape: tuple[int, ...]) -> Any:
    return overlay(getattr(current, name), [getattr(variant, name) for variant in variants], shape)


def _two_texts(variants: Sequence[Any]) -> str:
    other = next(variant for variant in variants if variant != variants[0])
    return f"{variants[0]} and {other}"


def map_numbers(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a nested frozen record with `change` applied to every number and array in it; flags stay.

    >>> map_numbers((1.5, "s", True), lambda x: 2 * x)
    (3.0, 's', True)
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: map_numbers(getattr(value, item.name), change) for item in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    if isinstance(value, tuple):
        return tuple(map_numbers(item, change) for item in value)
    is_number = isinstance(value, (int, float, np.ndarray, np.number)) and not isinstance(value, bool)
    return change(value) if is_number else value
