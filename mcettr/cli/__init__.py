"""The command line: one file a command, each a parse, a call and a print.

Nothing heavy is imported here or at the top of a command's file, so that help answers at once.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from mcettr.cli import check, doctor, optimize, presets, run, solve, sweep
from mcettr.cli.interrupts import INTERRUPTED, Watch, interrupted_text
from mcettr.cli.session import emit, note
from mcettr.errors import McettrError

__all__ = ["app", "main", "program"]

BACKEND_FAILED = 3

# plain help and errors: the rich ones put escape codes into pipes where CI variables ask for colour
app = typer.Typer(
    name="mcettr",
    help="How much of a training cluster's time becomes kept work: Monte Carlo ETTR of large GPU training jobs.",
    epilog="Start with:  mcettr check rsc-1 --set job.gpus=12288",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(short_help="Simulate one scenario.", epilog=run.EXAMPLE)(run.run)
app.command(short_help="Simulate a grid of scenarios.", epilog=sweep.EXAMPLE)(sweep.sweep)
app.command(short_help="Find the value that meets a target.", epilog=solve.EXAMPLE)(solve.solve)
app.command(short_help="Find the value with the best ETTR.", epilog=optimize.EXAMPLE)(optimize.optimize)
app.command(short_help="Validate a scenario; exact answers at once.", epilog=check.EXAMPLE)(check.check)
app.command(short_help="List what ships, with its sources.", epilog=presets.EXAMPLE)(presets.presets)
app.command(short_help="Show versions, devices and what is missing.", epilog=doctor.EXAMPLE)(doctor.doctor)

_OPTIONS = {name: name for name in ("vary", "target", "confidence", "timelines", "precision", "seed")} | {
    "deadlines": "deadline",
    "deadline": "deadline",
}
"""Names of options by those of the arguments in Python."""

_ClickError: type[Exception] = typer.BadParameter.__mro__[2]
"""Base of all usage errors, which typer has moved between releases: BadParameter, UsageError, this."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        emit(f"mcettr {version('mcettr')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Parse what stands before the command."""


def program() -> int:
    """Run the command line as a program of its own, which signals end within a second; return its exit code."""
    watch = Watch()
    return watch.ended(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: done. 1: the question has no answer. 2: bad input. 3: the backend failed. 130: interrupted.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show must not end the program
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(list(sys.argv[1:] if argv is None else argv), prog_name="mcettr", standalone_mode=False)
    except McettrError as error:
        return _failed(_in_options(str(error)), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except ImportError as error:
        return _failed(f"{error}; `mcettr doctor` says what is missing", BACKEND_FAILED)
    except _ClickError as error:
        return _usage_error(error)
    except RuntimeError as error:
        if not _is_backend(error):
            raise
        return _failed(f"the backend failed: {error}", BACKEND_FAILED)
    if code == INTERRUPTED:
        note(interrupted_text())
    return code if isinstance(code, int) else 0


def _usage_error(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(context.get_help() if context else error)
        return 2
    command = context.command_path if context else "mcettr"
    message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    return _failed(f"{message} (`{command} --help` lists what it takes)", 2)


def _in_options(message: str) -> str:
    """Return the message of an error with the name of an argument as that of the option."""
    if message.startswith("axis "):
        return f"--{message}"
    name, colon, rest = message.partition(": ")
    return f"--{_OPTIONS[name]}{colon}{rest}" if name in _OPTIONS else message


def _failed(message: str, code: int) -> int:
    from mcettr.scenario.document import one_line

    print(f"mcettr: error: {one_line(message)}", file=sys.stderr)
    return code


def _is_backend(error: RuntimeError) -> bool:
    """Return whether JAX or its compiler raised the error: out of memory, a lost device, a failed compilation."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(error, jax.errors.JaxRuntimeError)
