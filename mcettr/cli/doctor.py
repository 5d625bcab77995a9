"""`mcettr doctor`: what is installed, what can run, and what is missing."""

from __future__ import annotations

from mcettr.cli import options as o
from mcettr.cli import session as s

EXAMPLE = "Example:  mcettr doctor --json"


def doctor(json: o.JsonOption = False, quiet: o.QuietOption = False) -> None:
    """Show versions and devices, and how to install what is missing."""
    from mcettr.report.installation import inspect_installation, installation_text
    from mcettr.report.text import terminal_width

    found = inspect_installation()
    if json:
        s.emit_json(found)
    else:
        s.emit(installation_text(found, terminal_width()))
