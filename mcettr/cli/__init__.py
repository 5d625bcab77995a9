"""The command line: one file a command, each a parse, a call and a print.

Nothing heavy is imported here or at the top of a command's file, so that help answers at once.
"""

from __future__ import annotations

import gc
import io
import shutil
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from mcettr.cli import check, doctor, fields, init, optimize, presets, run, schema, solve, sweep
from mcettr.cli.interrupts import INTERRUPTED, Watch, interrupted_text
from mcettr.cli.session import StdoutError, emit, note, stdout_failed
from mcettr.errors import McettrError, Mistake

__all__ = ["app", "main", "program"]

BACKEND_FAILED = 3
_NARROWEST, _WIDEST = 40, 100
INTERNAL = 70
"""Exit code of a fault of the program itself, as in sysexits.h."""

# plain help and errors: the rich ones put escape codes into pipes where CI variables ask for colour
app = typer.Typer(
    name="mcettr",
    help="How much of a training cluster's time becomes kept work: Monte Carlo ETTR of large GPU training jobs.",
    epilog="Start with:  mcettr check rsc-1 --set job.gpus=12288",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(short_help="Simulate one scenario.", epilog=run.EXAMPLE)(run.run)
app.command(short_help="Simulate a grid of scenarios.", epilog=sweep.EXAMPLE)(sweep.sweep)
app.command(short_help="Find the value that meets a target.", epilog=solve.EXAMPLE)(solve.solve)
app.command(short_help="Find the value with the best ETTR.", epilog=optimize.EXAMPLE)(optimize.optimize)
app.command(short_help="Validate a scenario; exact answers at once.", epilog=check.EXAMPLE)(check.check)
app.command(short_help="List what ships, with its sources.", epilog=presets.EXAMPLE)(presets.presets)
app.command(short_help="Print a commented scenario to start from.", epilog=init.EXAMPLE)(init.init)
app.command(short_help="List the fields of scenarios.", epilog=fields.EXAMPLE)(fields.fields)
app.command(short_help="Print the JSON Schema for editors.", epilog=schema.EXAMPLE)(schema.schema)
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
        import mcettr

        emit(f"mcettr {mcettr.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Parse what stands before the command."""


_GC_THRESHOLD = 100_000
"""New objects between two collections: loading modules makes many and leaves no garbage (it saves 80 ms of a start)."""


def program() -> int:
    """Run the command line as a program of its own, which signals end within a second; return its exit code."""
    gc.set_threshold(_GC_THRESHOLD)
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
    words = list(sys.argv[1:] if argv is None else argv)
    is_json = "--json" in words
    try:
        code = app(words, prog_name="mcettr", standalone_mode=False, terminal_width=_help_width())
    except McettrError as error:
        return _failed(error, is_json)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except OSError as error:
        if error.filename is not None:  # of a file that nobody expected to fail
            return _bug(error)
        return _failed(stdout_failed(error), is_json)  # typer prints the help
    except ImportError as error:
        return _failed(_BackendError(f"{error}; `mcettr doctor` says what is missing"), is_json)
    except _ClickError as error:
        return _usage_error(error, is_json)
    except RuntimeError as error:
        if not _is_backend(error):
            return _bug(error)
        return _failed(_BackendError(f"the backend failed: {error}"), is_json)
    except Exception as error:
        return _bug(error)
    if code == INTERRUPTED:
        note(interrupted_text())
    return code if isinstance(code, int) else 0


class _BackendError(McettrError):
    """The backend failed."""

    exit_code = BACKEND_FAILED


def _bug(error: Exception) -> int:
    """Print what nobody foresaw; exit code 1 would mean that the question has no answer."""
    traceback.print_exception(error)
    note(f"error: {type(error).__name__}: this is a fault of mcettr itself; please report it with the lines above")
    return INTERNAL


def _help_width() -> int:
    """Return the letters on a line of help; typer's own choice is never below 50."""
    columns = shutil.get_terminal_size((80, 24)).columns
    return min(max(columns, _NARROWEST), _WIDEST) - 2


def _usage_error(error: Exception, is_json: bool) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(context.get_help() if context else error)
        return 2
    command = context.command_path if context else "mcettr"
    message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    return _failed(McettrError(f"{message} (`{command} --help` lists what it takes)"), is_json)


def _in_options(message: str) -> str:
    """Return the message of an error with the name of an argument as that of the option."""
    if message.startswith("axis "):
        return f"--{message}"
    name, colon, rest = message.partition(": ")
    return f"--{_OPTIONS[name]}{colon}{rest}" if name in _OPTIONS else message


def _by_option(mistake: Mistake) -> Mistake:
    """Return the mistake with the name of an argument as that of the option, in its path or else its message."""
    if mistake.path is None:
        return replace(mistake, message=_in_options(mistake.message))
    named = _in_options(f"{mistake.path}: ").removesuffix(": ")
    return replace(mistake, path=named)


def _failed(error: McettrError, is_json: bool) -> int:
    """Print an error, as JSON on stdout or in a line for each mistake on stderr, and return its exit code."""
    if is_json and not isinstance(error, StdoutError):
        from mcettr.report.objects import to_json

        emit(to_json(type(error)(*map(_by_option, error.errors)).to_json()))
    else:
        for line in str(error).splitlines():
            print(f"mcettr: error: {_in_options(line)}", file=sys.stderr)
    return error.exit_code


def _is_backend(error: RuntimeError) -> bool:
    """Return whether JAX or its compiler raised the error: out of memory, a lost device, a failed compilation."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(error, jax.errors.JaxRuntimeError)
