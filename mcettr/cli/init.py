"""`mcettr init`: a scenario to start from."""

from __future__ import annotations

from mcettr.cli import session as s

EXAMPLE = "Example:  mcettr init > job.yaml"


def init() -> None:
    """Print a scenario that runs, with a comment on each field; all others stand in it, switched off."""
    from mcettr.scenario.template import template

    s.emit(template().rstrip("\n"))
