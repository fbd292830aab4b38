"""Sparse matrices in files: .npz as SciPy writes them, .mtx, and .json; several ones in one .npz by their names.

one matrix in an .npz:         format, shape, data, indices, indptr           scipy.sparse.save_npz
a matrix S among other arrays: S.format, S.shape, S.data, S.indices, S.indptr
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor_cli.options import Refusal
from aotensor_cli.reading.market import read_market

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_FIELDS: Final = ("format", "shape", "data", "indices", "indptr")
_SHOWN: Final = 20
"""Entries that are printed."""


def is_matrix(x: Any) -> bool:
    """Is a value a sparse matrix?"""
    return not isinstance(x, np.ndarray)


def matrix_of(path: Path) -> Any:
    """Read a Matrix Market file as a CSR matrix or an array.   Raises: ValueError for other content"""
    found = read_market(path)
    if isinstance(found, np.ndarray):
        return found
    return _sparse().coo_matrix((found.values, (found.rows, found.columns)), shape=found.shape).tocsr()


def values_of_archive(path: Path, arrays: Mapping[str, AnyArray]) -> dict[str | None, Any]:
    """The arrays of an .npz, and the matrices whose parts they are.   Raises: ValueError for parts that do not fit"""
    if {"format", "shape", "data"} <= arrays.keys():
        return {None: _sparse().load_npz(path)}
    names = [key.removesuffix(".format") for key in arrays if key.endswith(".format")]
    used = {f"{name}.{part}" for name in names for part in _FIELDS}
    found: dict[str | None, Any] = {key: x for key, x in arrays.items() if key not in used}
    for name in names:
        found[name] = _from_parts({part: arrays[f"{name}.{part}"] for part in _FIELDS})
    return found


def members(name: str, x: Any) -> dict[str, AnyArray]:
    """A matrix as arrays of an .npz."""
    return {f"{name}.{part}": np.asarray(getattr(x, part)) for part in _FIELDS}


def tree_of(x: Any) -> Any:
    """An array or a matrix as JSON values."""
    if is_matrix(x):
        return {part: np.asarray(getattr(x, part)).tolist() for part in _FIELDS}
    if x.dtype.kind == "c":
        return np.array([str(z) for z in x.ravel().tolist()], dtype=object).reshape(x.shape).tolist()
    return x.tolist()


def from_tree(tree: Mapping[str, Any]) -> Any:
    """The matrix that `tree_of` has written.   Raises: ValueError for anything else"""
    if set(tree) != set(_FIELDS):
        raise ValueError(f"a matrix must have {', '.join(_FIELDS)}")
    return _from_parts({key: np.asarray(value) for key, value in tree.items()})


def _from_parts(parts: Mapping[str, AnyArray]) -> Any:
    form, data, shape = str(parts["format"]), parts["data"], parts["shape"]
    if form not in ("csr", "csc", "bsr"):
        raise ValueError(f"the format {form!r} is unknown")
    whole = {key: parts[key] for key in ("shape", "indices", "indptr")}
    if shape.shape != (2,) or any(x.dtype.kind not in "iu" and x.size for x in whole.values()):
        raise ValueError("shape, indices and indptr must be integers")
    if data.ndim != (3 if form == "bsr" else 1):
        raise ValueError("data of bsr must be blocks, and data of other formats numbers")
    indices, indptr = (whole[key].astype("int64") for key in ("indices", "indptr"))
    return getattr(_sparse(), f"{form}_matrix")((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))


def content_of_one(path: Path, x: Any) -> bytes:
    """A matrix as an .npz that SciPy reads, or an .mtx.   Raises: Refusal for another suffix"""
    buffer = io.BytesIO()
    match path.suffix:
        case ".npz":
            _sparse().save_npz(buffer, x, compressed=False)
        case ".mtx":
            import_module("scipy.io").mmwrite(buffer, x)
        case _:
            raise Refusal(f"{path}: a sparse matrix does not fit a {path.suffix} file", "use .npz, .mtx or .json")
    return buffer.getvalue()


def text_of(key: str, x: Any) -> str:
    """A text of format, dtype, extents and the first entries of a matrix."""
    listed = x.tocoo()
    entries = islice(zip(listed.row, listed.col, listed.data.tolist(), strict=True), _SHOWN)
    more = [f"  ... {x.nnz - _SHOWN} more"] if x.nnz > _SHOWN else []
    head = f"{key} = {x.format} {x.dtype}[{x.shape[0]}, {x.shape[1]}], {x.nnz} stored"
    return "\n".join([head, *(f"  ({i}, {j})  {value!r}" for i, j, value in entries), *more])


def stored_values(x: Any, y: Any) -> tuple[AnyArray, AnyArray]:
    """The values of two matrices of one shape wherever one of them stores something."""
    indices, values = zip(*(_flat_entries(m) for m in (x, y)), strict=True)
    union = np.union1d(*indices)
    found = []
    for index, value in zip(indices, values, strict=True):
        full = np.zeros(len(union), value.dtype)
        full[np.searchsorted(union, index)] = value
        found.append(full)
    return found[0], found[1]


def _flat_entries(x: Any) -> tuple[AnyArray, AnyArray]:
    """Flat indices of the stored entries, counted in row-major order, and their values."""
    canonical = x.tocsr(copy=True)
    canonical.sum_duplicates()
    listed = canonical.tocoo()
    return listed.row.astype(np.int64) * x.shape[1] + listed.col, listed.data


def _sparse() -> Any:
    return import_module("scipy.sparse")
