"""The exceptions a caller may catch; the command line turns each into one line and an exit code."""

from __future__ import annotations


class McettrError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line ends with."""

    exit_code = 2


class ScenarioError(McettrError):
    """Bad input in a scenario, sweep file, option or argument (exit code 2)."""


class OutputError(McettrError):
    """A result cannot be written or read (exit code 2)."""


class DeviceError(McettrError):
    """The device asked for cannot run (exit code 3)."""

    exit_code = 3


class BackendError(McettrError):
    """JAX cannot start, or cannot run in this process (exit code 3)."""

    exit_code = 3


class AnalyticError(McettrError):
    """A closed form was asked for where its assumptions do not hold."""
