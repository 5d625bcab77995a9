"""NetCDF: the whole result, to the last bit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


def write_netcdf(result: xr.Dataset, path: Path) -> None:
    """Write a result as netCDF4.

    The file is made in memory and then copied: where the disk is full, HDF5 would print an error for every object it
    cannot close and take the process down with it, whereas a copy that fails is one `OSError`.
    """
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    texts = {name: labels.astype(str) for name, labels in result.coords.items() if labels.dtype.kind == "O"}
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        result.assign_coords(texts).dump_to_store(H5NetCDFStore(file))
    path.write_bytes(buffer.getbuffer())


def read_netcdf(path: Path) -> xr.Dataset:
    """Return the result that `write_netcdf` wrote."""
    import xarray as xr

    with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as result:
        return result.load()
