"""Rows in files that are larger than memory: `.npy`, shards of sparse matrices, HDF5, zarr, Parquet and Arrow.

Only the rows of a part are read, with plain reads if the format permits, so that address space stays bounded, too.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.rounds.sources import CompressedSource, JoinedSource, Source, kind_of, slices_of
from aotensor_runtime.sparse.values import Compressed


def file_source(path: Path, axis: int) -> Source:
    """The source for a file, by its suffix; for a folder, the joined sources of its files, by name.

    Raises: ArgumentTypeError for an unknown suffix, OSError for a file that cannot be read.
    """
    match path.suffix:
        case ".npy":
            return Npy(path, axis)
        case ".npz":
            return Csr(path, axis)
        case ".parquet":
            return Parquet(path, axis=axis)
        case ".zarr":
            return Zarr(path, axis)
    if path.is_dir():
        return JoinedSource([file_source(x, axis) for x in sorted(path.iterdir()) if not x.name.startswith(".")])
    path.stat()
    raise ArgumentTypeError(
        f"{path}: rows are read from .npy, .npz (scipy.sparse.save_npz), .parquet, .zarr and folders of them",
        hint="HDF5: aotensor_runtime.rounds.Hdf5(path, dataset)" if path.suffix in (".h5", ".hdf5") else None,
    )


@dataclass(frozen=True)
class FilePart:
    """Rows `start` to before `stop` of a file source."""

    source: Any
    start: int
    stop: int

    @property
    def where(self) -> str:
        """The file and the rows, for messages."""
        return f"{self.source.path}, rows {self.start} to {self.stop}"

    def read(self) -> Any:
        """Read the rows.   Raises: ArgumentValueError for a file that is damaged, or has changed"""
        try:
            found = self.source.read(self.start, self.stop)
        except (ValueError, EOFError, KeyError) as error:
            raise ArgumentValueError(f"{self.where}: cannot be read ({error})") from error
        if found.shape[self.source.axis] != self.stop - self.start:
            raise ArgumentValueError(f"{self.where}: the file has only {found.shape[self.source.axis]} rows")
        return found


class FileSource:
    """Base of file sources. Subclasses set axis, length, row_bytes and `_kind`, and read rows."""

    path: Path
    axis: int
    length: int
    row_bytes: float
    cuts: tuple[int, ...] = ()
    _kind = ""

    def part(self, start: int, stop: int) -> FilePart:
        """The part with these rows, to be read later."""
        return FilePart(self, start, stop)

    def kind(self) -> str:
        """dtype, and extents of all axes but that of the rows."""
        return self._kind

    def _describe(self, dtype: Any, shape: Sequence[int], axis: int) -> None:
        if not 0 <= axis < len(shape):
            raise ArgumentTypeError(f"{self.path}: expected rows along axis {axis}, found shape {tuple(shape)}")
        self.axis, self.length, self._kind = axis, int(shape[axis]), kind_of(dtype, shape, axis)
        self.row_bytes = float(np.dtype(dtype).itemsize * np.prod([n for k, n in enumerate(shape) if k != axis]))


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """(shape, is column-major, dtype) of a `.npy` file.   Raises: ValueError for another file"""
    version = npy.read_magic(file)
    return (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)


class Npy(FileSource):
    """An array in a `.npy` file.   Raises: ArgumentTypeError for another file, OSError"""

    def __init__(self, path: str | Path, axis: int = 0) -> None:
        self.path = Path(path)
        with self.path.open("rb") as file:
            try:
                self._shape, self._is_fortran, self._dtype = _header(file)
            except ValueError as error:
                raise ArgumentTypeError(f"{self.path}: this is not an array of NumPy ({error})") from error
            self._offset = file.tell()
        self._describe(self._dtype, self._shape, axis)

    def read(self, start: int, stop: int) -> Any:
        """Read rows, by one read if they are contiguous."""
        if (self._is_fortran and len(self._shape) > 1) or self.axis:
            whole = np.load(self.path, mmap_mode="r")
            return np.array(whole[(slice(None),) * self.axis + (slice(start, stop),)])
        size = int(np.prod(self._shape[1:]))
        with self.path.open("rb") as file:
            file.seek(self._offset + start * int(self.row_bytes))
            found = np.fromfile(file, self._dtype, (stop - start) * size)
        return found.reshape(-1, *self._shape[1:]) if size else found.reshape(stop - start, *self._shape[1:])


class Csr(FileSource):
    """A shard of a sparse matrix, as `scipy.sparse.save_npz` writes it: read whole, and kept while parts are read."""

    def __init__(self, path: str | Path, axis: int = 0) -> None:
        self.path = Path(path)
        with np.load(self.path) as file:
            if "format" not in file or "indptr" not in file:
                raise ArgumentTypeError(f"{self.path}: this is not a compressed matrix of SciPy")
            format, rows, columns = file["format"].item(), *map(int, file["shape"])
            self._format = format.decode() if isinstance(format, bytes) else str(format)
            indptr = file["indptr"]
        shape = (rows, columns)
        with zipfile.ZipFile(self.path) as members, members.open("data.npy") as member:
            _, _, dtype = _header(member)
        self._describe(dtype, shape, axis)
        CompressedSource(Compressed(self._format, shape, indptr[:0], indptr[:0], indptr), axis)
        self._kind = f"{self._format} {self._kind}"
        self.row_bytes = (dtype.itemsize + indptr.itemsize) * int(indptr[-1]) / max(self.length, 1)

    @cached_property
    def _matrix(self) -> Compressed:
        with np.load(self.path) as file:
            shape = (int(file["shape"][0]), int(file["shape"][1]))
            return Compressed(self._format, shape, file["data"], file["indices"], file["indptr"])

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_matrix"}

    def read(self, start: int, stop: int) -> Compressed:
        """Rows of the shard."""
        return slices_of(self._matrix, start, stop)


class Hdf5(FileSource):
    """A dataset of an HDF5 file; needs h5py."""

    def __init__(self, path: str | Path, dataset: str, axis: int = 0) -> None:
        import h5py

        self.path, self.dataset = Path(path), dataset
        with h5py.File(self.path, "r") as file:
            if dataset not in file:
                raise ArgumentTypeError(f"{self.path}: there is no dataset {dataset!r}")
            found = file[dataset]
            self._describe(found.dtype, found.shape, axis)

    def read(self, start: int, stop: int) -> Any:
        """Rows."""
        import h5py

        with h5py.File(self.path, "r") as file:
            return file[self.dataset][(slice(None),) * self.axis + (slice(start, stop),)]


class Zarr(FileSource):
    """An array in a zarr store; needs zarr."""

    def __init__(self, path: str | Path, axis: int = 0) -> None:
        self.path = Path(path)
        found = self._array
        self._describe(found.dtype, found.shape, axis)

    @cached_property
    def _array(self) -> Any:
        import zarr

        return zarr.open_array(str(self.path), mode="r")

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_array"}

    def read(self, start: int, stop: int) -> Any:
        """Rows."""
        return np.asarray(self._array[(slice(None),) * self.axis + (slice(start, stop),)])


class Parquet(FileSource):
    """Columns of a Parquet file, as a matrix, or as a vector if `columns` is one name; needs pyarrow.

    columns: by default all. Parts begin at row groups.
    """

    def __init__(self, path: str | Path, columns: str | Sequence[str] | None = None, axis: int = 0) -> None:
        from pyarrow import parquet

        self.path = Path(path)
        with parquet.ParquetFile(self.path) as file:
            schema, meta = file.schema_arrow, file.metadata
            groups = [meta.row_group(k).num_rows for k in range(meta.num_row_groups)]
        names = [columns] if isinstance(columns, str) else list(columns or schema.names)
        missing = [name for name in names if name not in schema.names]
        if missing:
            raise ArgumentTypeError(f"{self.path}: the table has no column {missing[0]!r}")
        self.columns, self._is_vector = names, isinstance(columns, str)
        dtype = np.result_type(*(schema.field(name).type.to_pandas_dtype() for name in names))
        length = sum(groups)
        self._dtype = dtype
        self._describe(dtype, (length,) if self._is_vector else (length, len(names)), axis)
        if axis:
            raise ArgumentTypeError(
                f"{self.path}: the rows of a table are its first axis; it cannot be split along axis {axis}"
            )
        self._starts = np.cumsum([0, *groups]).tolist()
        self.cuts = tuple(self._starts[:-1])

    def read(self, start: int, stop: int) -> Any:
        """Read rows, from the row groups that contain them."""
        from pyarrow import parquet

        first = max(int(np.searchsorted(self._starts, start, "right")) - 1, 0)
        last = int(np.searchsorted(self._starts, stop, "left"))
        with parquet.ParquetFile(self.path) as file:
            table = file.read_row_groups(list(range(first, last)), columns=self.columns, use_threads=False)
        table = table.slice(start - self._starts[first], stop - start)
        vectors = [np.asarray(table.column(name)).astype(self._dtype, copy=False) for name in self.columns]
        if any(table.column(name).null_count for name in self.columns):
            raise ArgumentValueError(f"{self.path}: values are missing in rows {start} to {stop}")
        return vectors[0] if self._is_vector else np.stack(vectors, axis=1)
