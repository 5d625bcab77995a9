"""What the shell offers for completion: presets and paths of fields."""

from __future__ import annotations

_PLAIN_CAUSES = ("node", "software", "gpu")
"""Names that causes often have, in place of a file's own."""


def sources(incomplete: str) -> list[str]:
    """Return the presets that begin so; files are the shell's own affair.

    >>> sources("rsc-2")
    ['rsc-2']
    """
    from mcettr.scenario.presets import preset_names

    return [name for name in preset_names() if name.startswith(incomplete)]


def paths(incomplete: str) -> list[str]:
    """Return the dotted paths that begin so.

    >>> paths("checkpoint.st")
    ['checkpoint.stall', 'checkpoint.storage_bandwidth']
    """
    from mcettr.scenario.catalogue import CAUSE, entries

    found = []
    for entry in entries():
        names = _PLAIN_CAUSES if CAUSE in entry.path else ("",)
        found += [entry.dotted.replace(CAUSE, name) for name in names]
    return [path for path in found if path.startswith(incomplete)]


def assignments(incomplete: str) -> list[str]:
    """Return the beginnings of ``PATH=VALUE`` that begin so.

    >>> assignments("job.h")
    ['job.horizon=']
    """
    return [f"{path}=" for path in paths(incomplete)]
