"""Result files: written aside and renamed, so that a file is whole or not there; read back as they were."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from zipfile import BadZipFile

from mcettr.errors import OutputError
from mcettr.report import answer_dataset, interim, objects, xlsx_file
from mcettr.report.csv_file import write_csv
from mcettr.report.json_file import read_json, write_json
from mcettr.report.netcdf_file import read_netcdf, write_netcdf
from mcettr.report.tables import result_table
from mcettr.text import reason
from mcettr.units import shown

if TYPE_CHECKING:
    import xarray as xr

    from mcettr.report.answer_dataset import Answer

    Result: TypeAlias = xr.Dataset | Answer


def result_pieces(result: Result) -> Iterator[str]:
    """Return a result as the JSON text that commands print, in pieces."""
    if not isinstance(result, answer_dataset.Answer):
        yield from objects.result_json(result) if objects.is_whole(result) else ["{}"]
    else:
        yield objects.to_json(answer_dataset.answer_object(result))


def _write_parquet(result: xr.Dataset, path: Path) -> None:
    import pandas as pd

    pd.DataFrame({column.header: column.values for column in result_table(result).columns}).to_parquet(path)


def _write_zarr(result: xr.Dataset, path: Path) -> None:
    result.to_zarr(path, consolidated=False)


_WRITERS: dict[str, Callable[[xr.Dataset, Path], None]] = {
    ".nc": write_netcdf,
    ".csv": write_csv,
    ".xlsx": xlsx_file.write_xlsx,
    ".parquet": _write_parquet,
    ".zarr": _write_zarr,
}
_ENDINGS = (".nc", ".csv", ".xlsx", ".json", ".parquet", ".zarr")
_READERS: dict[str, Callable[[Path], xr.Dataset]] = {".nc": read_netcdf, ".json": read_json}
EXTRA_LIBRARIES = {".nc": "h5py", ".parquet": "pyarrow", ".zarr": "zarr"}
"""What some endings need that a minimal installation may lack."""
_WRITE_BITS = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def check_outputs(names: Sequence[str], inputs: Sequence[str] = ()) -> tuple[Path, ...]:
    """Return the paths of result files, once it is sure that each can be written; nothing is left behind.

    Parameters
    ----------
    names : sequence of str
        File names as the user gave them.
    inputs : sequence of str
        Files that are read for the result (names that are no files do no harm): none of them is overwritten.

    Raises
    ------
    OutputError
        An ending is unknown or lacks its library, a folder is missing or cannot be written to, a file is read-only or
        an input, or two are the same.
    """
    paths = tuple(Path(name) for name in names)
    for path in paths:
        _check_ending(path)
        _check_place(path)
    keep_inputs(paths, inputs)
    for i, path in enumerate(paths):
        if _real(path) in [_real(other) for other in paths[:i]]:
            raise OutputError(f"{path}: expected each output once, found it twice; drop one")
    return paths


def keep_inputs(outputs: Sequence[Path], inputs: Sequence[str]) -> None:
    """Refuse outputs that are one of the files that were read."""
    for path in outputs:
        for source in inputs:
            if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
                raise OutputError(f"{path}: expected a file of its own, found an input of this command; rename it")


def check_sizes(outputs: Sequence[Path], n_cells: int, n_deadlines: int = 0) -> None:
    """Refuse before a run what no sheet of a workbook will hold.

    Parameters
    ----------
    outputs : sequence of Path
        Files to be written.
    n_cells, n_deadlines : int
        Cells of the grid (a row each), and deadlines (four columns each).
    """
    for path in outputs:
        if path.suffix.lower() == ".xlsx":
            with _named(path):
                xlsx_file.check_size(n_cells, 4 * n_deadlines, "results")


def _check_ending(path: Path) -> None:
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        found = ending or "none"
        raise OutputError(f"{path}: expected a file ending in {', '.join(_ENDINGS)}, found {found}; use one of them")
    library = EXTRA_LIBRARIES.get(ending)
    if library is not None and find_spec(library) is None:
        raise OutputError(f"{path}: {ending} files need {library}, which is not installed; run: pip install {library}")


def _real(path: Path) -> Path:
    """Return where a file really lies: links are followed, so that a link stays one."""
    return Path(os.path.realpath(path))


def _check_place(path: Path) -> None:
    real = _real(path)
    folder = real.parent
    if not folder.is_dir():
        raise OutputError(f"{path}: expected an existing folder, found none at {folder}; make it first")
    if real.is_dir() and path.suffix.lower() != ".zarr":
        raise OutputError(f"{path}: expected a place for a file, found a folder; give another name")
    if real.exists() and not (real.is_file() or real.is_dir()):
        raise OutputError(f"{path}: expected an ordinary file, found a device or pipe; give another name")
    if real.exists() and not (real.stat().st_mode & _WRITE_BITS and os.access(real, os.W_OK)):
        raise OutputError(f"{path}: expected a file one can write to, found it read-only; give another name")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"{path}: expected a folder one can write to, found {reason(error)}; take another") from None


def write_result(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result to a file, the format by its ending: .nc .csv .xlsx .json (.parquet, .zarr with their library).

    The file appears under its name only when it is whole; one that was there stays until then, and keeps its
    permissions. Links are followed.

    Parameters
    ----------
    result : Dataset, SolveResult or OptimizeResult
        What `simulate`, `sweep`, `solve` or `optimize` returned.
    path : str or path
        The file.

    Raises
    ------
    OutputError
        The file cannot be written, or the result is none.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise OutputError(f"path: expected the name of a file, found {shown(path)}; write it like 'result.nc'")
    (target,) = check_outputs([os.fspath(path)])
    with _named(target), aside(target) as place:
        _write(result, place)


def _write(result: Result, place: Path) -> None:
    dataset, ending = answer_dataset.as_dataset(result), place.suffix.lower()
    if ending == ".json":
        write_json(result_pieces(result), dataset, place)
    else:
        _WRITERS[ending](dataset, place)


@contextmanager
def aside(target: Path) -> Iterator[Path]:
    """Give a place in the same folder to write to; in the end what is there gets the name of the target."""
    real = _real(target)
    folder = interim.make_folder(real.parent)
    try:
        place = folder / target.name  # its ending says the format, whatever a link points to
        yield place
        if real.is_dir():
            shutil.rmtree(real)
        elif real.exists():
            shutil.copymode(real, place)
        place.replace(real)
        interim.written.append(target)
    finally:
        interim.remove_folder(folder)


@contextmanager
def _named(target: Path) -> Iterator[None]:
    """Put the user's own name of a file in front of what goes wrong inside."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{target}: expected to write it, found {reason(error)}; choose another place") from None
    except OutputError as error:
        raise OutputError(f"{target}: {error}") from None


def read_result(path: str | os.PathLike[str]) -> xr.Dataset:
    """Return a result from a .nc or .json file that `write_result` or a command wrote, identical to the last bit.

    The answer of `solve` or `optimize` comes back as the points tried, with the answer as JSON in `attrs["answer"]`.

    Raises
    ------
    OutputError
        The file is not there, is of another kind, or was changed by hand.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise OutputError(f"path: expected the name of a file, found {shown(path)}; write it like 'result.nc'")
    source = Path(path)
    reader = _READERS.get(source.suffix.lower())
    if reader is None:
        raise OutputError(f"{source}: expected a file ending in {' or '.join(_READERS)}, found another; use one")
    if not source.is_file():
        raise OutputError(f"{source}: expected a result file, found none; check the path")
    try:
        return reader(source)
    except OutputError as error:
        raise OutputError(f"{source}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BadZipFile, RecursionError) as error:
        found = " ".join(str(error).split())[:200]
        raise OutputError(f"{source}: expected a result of mcettr, found {found}; write it anew") from None
