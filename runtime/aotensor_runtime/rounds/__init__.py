"""Rounds of map and merge over more rows than fit one machine: protocol, engines, and sources of rows.

    split = aotensor_runtime.rounds.open_rounds(library)          # of `aotensor split`, or rounds.library
    split(Threads(4), X="X.npy", y="y.npy", w=w)

Needs NumPy alone; Dask, h5py, zarr and pyarrow are imported where they are used.
"""

from __future__ import annotations

from aotensor_runtime.rounds.cluster import Dask
from aotensor_runtime.rounds.engines import Engine, Pool, Processes, Serial, Threads
from aotensor_runtime.rounds.files import Csr, Hdf5, Npy, Parquet, Zarr
from aotensor_runtime.rounds.progress import Bar
from aotensor_runtime.rounds.sources import Part, Source
from aotensor_runtime.rounds.split import BoundRounds, SplitFunction, open_rounds

__all__ = [
    "Bar",
    "BoundRounds",
    "Csr",
    "Dask",
    "Engine",
    "Hdf5",
    "Npy",
    "Parquet",
    "Part",
    "Pool",
    "Processes",
    "Serial",
    "Source",
    "SplitFunction",
    "Threads",
    "Zarr",
    "open_rounds",
]
