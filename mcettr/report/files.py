"""Result files: written aside and renamed, so that a file is whole or not there; read back as they were."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from mcettr.errors import OutputError
from mcettr.report import interim
from mcettr.report.csv_file import read_csv, write_csv
from mcettr.report.objects import result_json
from mcettr.report.tables import result_table
from mcettr.report.xlsx_file import read_xlsx, write_xlsx

if TYPE_CHECKING:
    import xarray as xr


def _write_netcdf(result: xr.Dataset, path: Path) -> None:
    result.to_netcdf(path, engine="h5netcdf")


def _read_netcdf(path: Path) -> xr.Dataset:
    import xarray as xr

    with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as result:
        return result.load()


def _write_json(result: xr.Dataset, path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(result_json(result))
        stream.write("\n")


def _write_parquet(result: xr.Dataset, path: Path) -> None:
    import pandas as pd

    pd.DataFrame({column.header: column.values for column in result_table(result).columns}).to_parquet(path)


def _write_zarr(result: xr.Dataset, path: Path) -> None:
    result.to_zarr(path, consolidated=False)


_WRITERS: dict[str, Callable[[xr.Dataset, Path], None]] = {
    ".nc": _write_netcdf,
    ".csv": write_csv,
    ".xlsx": write_xlsx,
    ".json": _write_json,
    ".parquet": _write_parquet,
    ".zarr": _write_zarr,
}
_READERS: dict[str, Callable[[Path], xr.Dataset]] = {".nc": _read_netcdf, ".csv": read_csv, ".xlsx": read_xlsx}
EXTRA_LIBRARIES = {".nc": "h5py", ".parquet": "pyarrow", ".zarr": "zarr"}
"""What some endings need that a minimal installation may lack."""


def check_outputs(names: Sequence[str], endings: Sequence[str] = tuple(_WRITERS)) -> tuple[Path, ...]:
    """Return the paths of result files, once it is sure that each can be written; nothing is left behind.

    Parameters
    ----------
    names : sequence of str
        File names as the user gave them.
    endings : sequence of str
        The endings that make sense for the result.

    Raises
    ------
    OutputError
        An ending is unknown or lacks its library, a folder is missing or cannot be written to, or two are the same.
    """
    paths = tuple(Path(name) for name in names)
    for path in paths:
        _check_ending(path, endings)
        _check_place(path)
    for i, path in enumerate(paths):
        if path.absolute() in [other.absolute() for other in paths[:i]]:
            raise OutputError(f"{path}: expected each output once, found it twice; drop one")
    return paths


def _check_ending(path: Path, endings: Sequence[str]) -> None:
    ending = path.suffix.lower()
    if ending not in endings:
        found = ending or "none"
        raise OutputError(f"{path}: expected a file ending in {', '.join(endings)}, found {found}; use one of them")
    library = EXTRA_LIBRARIES.get(ending)
    if library is not None and find_spec(library) is None:
        raise OutputError(f"{path}: {ending} files need {library}, which is not installed; run: pip install {library}")


def _check_place(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise OutputError(f"{path}: expected an existing folder, found none at {folder}; make it first")
    if path.is_dir() and path.suffix.lower() != ".zarr":
        raise OutputError(f"{path}: expected a place for a file, found a folder; give another name")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"{path}: expected a folder one can write to, found {_reason(error)}; take another") from None


def _reason(error: OSError) -> str:
    return f"'{(error.strerror or str(error)).lower()}'"


def write_result(result: xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write a result to a file, the format by its ending: .nc .csv .xlsx .json (.parquet, .zarr with their library).

    The file appears under its name only when it is whole; one that was there stays until then.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    (target,) = check_outputs([os.fspath(path)])
    write_aside(target, lambda aside: _WRITERS[target.suffix.lower()](result, aside))


def write_aside(target: Path, write: Callable[[Path], None]) -> None:
    """Let `write` make a file under another name in the same folder, then give it its own."""
    folder = interim.make_folder(target.parent)
    try:
        aside = folder / target.name
        write(aside)
        if target.is_dir():
            shutil.rmtree(target)
        aside.replace(target)
        interim.written.append(target)
    except OSError as error:
        raise OutputError(f"{target}: expected to write it, found {_reason(error)}; choose another place") from None
    finally:
        interim.remove_folder(folder)


def read_result(path: str | os.PathLike[str]) -> xr.Dataset:
    """Return a result from a file that `write_result` wrote: .nc or .csv to the last bit, .xlsx within 1e-15.

    Raises
    ------
    OutputError
        The file is not there, is of another kind, or was changed by hand.
    """
    source = Path(path)
    reader = _READERS.get(source.suffix.lower())
    if reader is None:
        raise OutputError(f"{source}: expected a file ending in {', '.join(_READERS)}, found another; use one of them")
    if not source.is_file():
        raise OutputError(f"{source}: expected a result file, found none; check the path")
    try:
        return reader(source)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise OutputError(f"{source}: expected a result of mcettr, found {error}; write it anew") from None
