"""Convert a user's argument for an input with rows to a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.rounds.cluster import dask_source
from aotensor_runtime.rounds.files import file_source
from aotensor_runtime.rounds.sources import ArraySource, CompressedSource, JoinedSource, Source
from aotensor_runtime.sparse.values import Compressed, is_sparse, is_sparse_array


def as_source(name: str, value: object, axis: int) -> Source:
    """The source for an argument: a source, an array, a matrix, a file, several of them, a collection
    of Dask.

    Raises: ArgumentTypeError for anything else, by the name of the input; OSError for a file that cannot be read.
    """
    given: Any = value
    if hasattr(given, "part") and hasattr(given, "row_bytes"):
        return given  # type: ignore[no-any-return]
    if isinstance(given, str | Path):
        return file_source(Path(given), axis)
    if type(given).__module__.split(".")[0] in ("dask", "dask_expr"):
        return dask_source(given, axis)
    if is_sparse(given):
        if given.format not in ("csr", "csc"):
            raise ArgumentTypeError(
                f"{name}: a {given.format} matrix cannot be split into chunks", hint="pass csr or csc"
            )
        matrix = Compressed(
            given.format, tuple(given.shape), given.data, given.indices, given.indptr, is_sparse_array(given)
        )
        return CompressedSource(matrix, axis)
    if isinstance(given, list | tuple) and given and all(_is_piece(x) for x in given):
        try:
            return JoinedSource([as_source(name, x, axis) for x in given])
        except ArgumentValueError as error:
            found = error.diagnostic
            raise ArgumentValueError(f"{name}: {found.title}", lines=found.lines, hint=found.hint) from error
    array = np.asanyarray(given)
    if array.dtype.kind not in "biuf" or array.ndim <= axis:
        raise ArgumentTypeError(f"{name}: expected rows along axis {axis}, found {type(given).__name__} {given!r:.40}")
    return ArraySource(array, axis)


def _is_piece(x: object) -> bool:
    return isinstance(x, str | Path | np.ndarray) or is_sparse(x) or hasattr(x, "part")
