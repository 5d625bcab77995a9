"""What all tests share: a folder for compiled programs, none of the user's, and the same drawn inputs each time."""

import os
import shutil
import tempfile

import pytest
from hypothesis import settings

# A change is judged by the same inputs as the one before it; --hypothesis-profile=default tries others.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

_made = "" if "PYTEST_XDIST_WORKER" in os.environ else tempfile.mkdtemp(prefix="mcettr-tests-")
if _made:
    os.environ["MCETTR_CACHE"] = _made


def pytest_unconfigure(config: pytest.Config) -> None:
    del config
    if _made:
        shutil.rmtree(_made, ignore_errors=True)
