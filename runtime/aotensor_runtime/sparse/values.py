"""Sparse arguments as CSR, CSC or BSR arrays of the right dtypes, and sparse results as SciPy's classes.

SciPy's objects are never changed: a conversion makes a new object. SciPy is not loaded for arguments,
since a caller with a sparse matrix has loaded it; results load it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor_runtime.arguments import as_plain, pattern, to_array
from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.arrays.plain import NUMBERS, AnyArray
from aotensor_runtime.errors import AotensorError, ArgumentIndexError, ArgumentTypeError, ArgumentValueError
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, SparseValue

Value: TypeAlias = "AnyArray | Compressed"
"""A sparse value as a function accepts and returns it, before it is an object of SciPy."""


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """A sparse matrix as its arrays; data of bsr are (blocks, rows of a block, columns of a block).

    is_array: is it one of SciPy's sparse arrays, or of its matrices?
    """

    format: str
    shape: tuple[int, int]
    data: AnyArray
    indices: AnyArray
    indptr: AnyArray
    is_array: bool = False

    @property
    def arrays(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Pattern, data, indices and indptr, as a library expects them."""
        return pattern(self.shape), self.data, self.indices, self.indptr

    def copy(self) -> Compressed:
        """A copy with its own memory."""
        data, indices, indptr = (np.array(x, order="C") for x in (self.data, self.indices, self.indptr))
        return Compressed(self.format, self.shape, data, indices, indptr, self.is_array)

    @property
    def blocksize(self) -> tuple[int, int] | None:
        """Rows and columns of a block of bsr, else None."""
        return (self.data.shape[1], self.data.shape[2]) if self.format == "bsr" else None

    @property
    def is_canonical(self) -> bool:
        """Are the indices of each row (column of csc) ascending? The matrix is known to be valid."""
        rises = self.indices[1:] > self.indices[:-1]  # differences of unsigned numbers would wrap
        borders = self.indptr[(self.indptr > 0) & (self.indptr < len(self.indices))] - 1
        rises[borders] = True
        return bool(rises.all())

    def to_scipy(self) -> Any:
        """The SciPy object on the same memory: csr_matrix, csc_matrix, csr_array or csc_array.

        Raises: AotensorError if SciPy is not installed.
        """
        kind, members = _class_of(self.format, self.is_array)
        if members is not None:
            result = kind.__new__(kind)
            own = {"_shape": self.shape, "data": self.data, "indices": self.indices, "indptr": self.indptr}
            vars(result).update(members | own)
            return result
        result = kind((self.data, self.indices, self.indptr), shape=self.shape, copy=False)
        if result.indices.dtype != self.indices.dtype:  # SciPy narrows indices that fit
            result.indices, result.indptr = self.indices, self.indptr
        return result


def shown(value: Value) -> Any:
    """A value as it is returned to users."""
    return value.to_scipy() if isinstance(value, Compressed) else value


def from_arrays(value: SparseValue, arrays: Sequence[AnyArray], is_array: bool) -> Compressed:
    """The matrix from its four arrays."""
    shape, data, indices, indptr = arrays
    rows, columns = shape.shape
    return Compressed(value.format, (rows, columns), data, indices, indptr, is_array)


def is_sparse(value: object) -> bool:
    """Is it a sparse matrix or array of SciPy, or one of ours?"""
    scipy = sys.modules.get("scipy.sparse")
    return isinstance(value, Compressed) or (scipy is not None and bool(scipy.issparse(value)))


def is_sparse_array(value: object) -> bool:
    """Does a sparse value belong to SciPy's sparse arrays?"""
    if isinstance(value, Compressed):
        return value.is_array
    return not isinstance(value, sys.modules["scipy.sparse"].spmatrix)


def to_compressed(spec: FunctionSpec, value: object, target: SparseValue) -> Compressed:
    """`value` in the format and with the dtypes of an input, on its own arrays if they fit.

    A dense matrix, or a nested list, stores what is not 0.

    Raises: ArgumentTypeError for anything but a matrix, and for dtypes that would lose values; ArgumentValueError and
    ArgumentIndexError for a malformed one in another format, or indices beyond 32 bits.
    """
    given: Any = value if is_sparse(value) else _from_dense(spec, value, target)
    if len(given.shape) != 2:
        raise ArgumentTypeError(f"{spec.name}: {target.name} has rank {len(given.shape)}, expected 2")
    is_array = is_sparse_array(given)
    if given.format != target.format or getattr(given, "blocksize", None) != target.blocksize:
        given = _in_format(spec, shown(given), target)
    _, data, indices, indptr = spec.inputs[target.first : target.first + 4]
    pointers = _indices(spec, given.indptr, target, indptr.dtype)
    count = int(pointers[-1]) if pointers.ndim == 1 and len(pointers) else -1
    entries, minor = given.data, given.indices
    if 0 <= count < min(len(entries), len(minor)):  # SciPy allows unused space after the last entry
        entries, minor = entries[:count], minor[:count]
    entries = to_array(spec, entries, data)
    minor = _indices(spec, minor, target, indices.dtype, _minor(given.shape, target))
    is_same = entries is given.data and minor is given.indices and pointers is given.indptr
    if is_same and isinstance(given, Compressed):
        return given  # its pattern may be checked
    rows, columns = map(int, given.shape)
    return Compressed(target.format, (rows, columns), entries, minor, pointers, is_array)


def _minor(shape: Sequence[int], target: SparseValue) -> int:
    """The extent that bounds the indices of a matrix."""
    extent = int(shape[1 - target.major])
    return extent if target.blocksize is None else extent // target.blocksize[1]


def _from_dense(spec: FunctionSpec, value: object, target: SparseValue) -> Compressed:
    hint = f"pass scipy.sparse.{target.format}_matrix(...), or a dense matrix"
    try:
        dense = as_plain(spec, value, target.name)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(error.diagnostic.title, hint=error.diagnostic.hint or hint) from error
    kinds = f"{NUMBERS}c" if target.dtype.startswith("complex") else NUMBERS
    if dense.ndim != 2 or dense.dtype.kind not in kinds:
        is_array = dense.dtype.kind in f"{NUMBERS}c"
        found = f"an array of {dense.dtype}{list(dense.shape)}" if is_array else type(value).__name__
        raise ArgumentTypeError(
            f"{spec.name}: {target.name} is {found}, expected a sparse matrix in format {target.format}",
            hint=hint,
        )
    if target.blocksize is not None:
        _check_blocks(spec, dense.shape, target)
        height, width = target.blocksize
        grid = dense.reshape(dense.shape[0] // height, height, dense.shape[1] // width, width).transpose(0, 2, 1, 3)
        stored = (grid != 0).any(axis=(2, 3))
        return Compressed("bsr", dense.shape, grid[stored], np.nonzero(stored)[1], _starts(stored.sum(axis=1)))
    major = dense if target.major == 0 else dense.T
    slices, minor = np.nonzero(major)
    starts = _starts(np.bincount(slices, minlength=len(major)))
    rows, columns = dense.shape
    return Compressed(target.format, (rows, columns), major[slices, minor], minor, starts)


def _starts(counts: AnyArray) -> AnyArray:
    """The indptr of rows or columns with these numbers of entries."""
    return np.concatenate([np.zeros(1, "int64"), np.cumsum(counts, dtype="int64")])


def _check_blocks(spec: FunctionSpec, shape: Sequence[int], target: SparseValue) -> None:
    """Raises: ArgumentValueError for extents that the blocks do not divide"""
    for extent, block, words in zip(shape, target.blocksize or (1, 1), ("rows", "columns"), strict=True):
        if extent % block:
            raise ArgumentValueError(
                f"{spec.name}: {target.name} has {extent} {words}, expected a multiple of {block}, as its blocks have"
            )


def to_value(spec: FunctionSpec, value: object, target: ArgumentSpec | SparseValue) -> Value:
    """Convert an argument to the form of an input.   Raises: as `to_array` and `to_compressed`"""
    if isinstance(target, SparseValue):
        return to_compressed(spec, value, target)
    if is_sparse(value):
        raise ArgumentTypeError(
            f"{spec.name}: {target.name} is a sparse matrix, expected an array of dtype {target.dtype}",
            hint="pass its .toarray()",
        )
    return to_array(spec, value, target)


def _indices(
    spec: FunctionSpec, indices: AnyArray, target: SparseValue, wanted: str, limit: int | None = None
) -> AnyArray:
    """Indices in the dtype of the signature, if they fit.   limit: the extent that they index, or None"""
    dtype = DTYPES[wanted]
    if not isinstance(indices, np.ndarray) or indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{spec.name}: {target.name} has indices that are not a vector of integers")
    if indices.dtype == dtype:
        return indices if indices.flags.aligned else indices.copy()
    if not np.can_cast(indices.dtype, dtype) and len(indices):
        bounds = np.iinfo(dtype)
        worst = max(int(indices.max()), int(indices.min()), key=abs)
        if limit is not None and limit <= bounds.max and not bounds.min <= worst <= bounds.max:
            raise ArgumentIndexError(f"{spec.name}: {target.name} has index {worst}, but its extent is {limit}")
        if not bounds.min <= worst <= bounds.max:
            raise ArgumentValueError(
                f"{spec.name}: {target.name} has {indices.dtype} indices that do not fit {dtype}",
                hint=f"declare {target.name} with index_dtype='int64'" if wanted == "int32" else None,
            )
    return indices.astype(dtype)


def _in_format(spec: FunctionSpec, value: Any, target: SparseValue) -> Any:
    """Convert to the format of the signature, after a check, as SciPy does not check its operand."""
    try:
        if value.format in ("csr", "csc", "bsr"):
            twin = type(value)((value.data, value.indices, value.indptr), shape=value.shape, copy=False)
            twin.check_format(full_check=True)
            value = twin
        elif value.format == "coo":
            value = type(value)((value.data, (value.row, value.col)), shape=value.shape, copy=False)
        if target.blocksize is None:
            return value.asformat(target.format)
        _check_blocks(spec, value.shape, target)
        return value.tocsr(copy=True).tobsr(blocksize=target.blocksize)
    except (ValueError, IndexError) as error:
        kind = ArgumentIndexError if "ind" in str(error) and "indptr" not in str(error) else ArgumentValueError
        raise kind(f"{spec.name}: {target.name} is malformed ({error})") from error


_MEMBERS: Final = {"_shape", "maxprint", "data", "indices", "indptr"}


@cache
def _class_of(form: str, is_array: bool) -> tuple[Any, dict[str, Any] | None]:
    """A SciPy class and the attributes of its objects, if these are the known ones.

    Objects are then built from attributes, in a tenth of the time of the constructor, which checks them.
    """
    try:
        module = importlib.import_module("scipy.sparse")
    except ImportError as error:
        raise AotensorError(
            "a sparse result has a class of SciPy, which is not installed", hint="pip install scipy"
        ) from error
    kind = getattr(module, f"{form}_{'array' if is_array else 'matrix'}")
    data = np.ones((1, 1, 1) if form == "bsr" else 1)
    sample = kind((data, np.zeros(1, "int32"), np.array([0, 1], "int32")), shape=(1, 1))
    return kind, vars(sample) if vars(sample).keys() == _MEMBERS else None
