"""What the tests of the commands read."""

from __future__ import annotations

import json
from typing import Any

import pytest

Capture = pytest.CaptureFixture[str]


def parsed(text: str) -> Any:
    """Return the one JSON object that a text is, refusing what JSON does not know."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    assert "\x1b" not in text
    return json.loads(text, parse_constant=refuse)
