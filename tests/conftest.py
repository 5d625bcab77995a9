"""What all tests share: a folder for compiled programs, one for all processes of a session and none of the user's."""

import os
import shutil
import tempfile

import pytest

_made = "" if "PYTEST_XDIST_WORKER" in os.environ else tempfile.mkdtemp(prefix="mcettr-tests-")
if _made:
    os.environ["MCETTR_CACHE"] = _made


def pytest_unconfigure(config: pytest.Config) -> None:
    del config
    if _made:
        shutil.rmtree(_made, ignore_errors=True)
