"""SparseTensorType: matrices in compressed rows (CSR), columns (CSC) or rows of dense blocks (BSR), and variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array, Dim, TensorType, as_array
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.methods.sparse import SparseOperators
from aotensor.graph.variable import Constant, SharedVariable, Variable

SPARSE_FORMATS: Final = ("csc", "csr", "bsr")
BLOCKED: Final = "bsr"
"""The format that stores dense blocks, all of the blocksize that its type says."""
INDEX_DTYPES: Final = ("int32", "int64")
UNCOMPRESSED_DTYPES: Final = ("bool", *dtypes.HALVES)
"""Dtypes that a dense tensor may have and a sparse matrix may not."""


@cache
def scipy_sparse() -> Any:
    """The module scipy.sparse, imported at the first call."""
    import scipy.sparse

    return scipy.sparse


@dataclass(frozen=True, slots=True, init=False)
class SparseTensorType(TensorType):
    """Format, dtype, dims and index dtype of a sparse matrix.

    format: "csr", "csc" or "bsr". shape: two dims, as for a dense tensor; None for two unknown ones. index_dtype: of
    `indices` and `indptr`, int32 unless a static dim needs more, or as given. is_canonical: indices are sorted in
    every row (column of csc) and unique, as in all matrices but those that CSM builds from vectors; types are equal
    regardless of it. blocksize: rows and columns of a block of bsr, else None; stored entries of bsr are blocks.

    Raises: GraphValueError for another format, a number of dims other than 2, or a blocksize that is missing, does not
    divide the dims, or belongs to no bsr; GraphTypeError for a dtype that sparse matrices do not have (bool, float16).
    """

    format: str = "csr"
    index_dtype: str = "int32"
    is_canonical: bool = field(default=True, compare=False)
    blocksize: tuple[int, int] | None = None

    def __init__(
        self,
        format: str,
        dtype: str,
        shape: Sequence[Dim] | None = None,
        name: str | None = None,
        broadcastable: object = None,
        index_dtype: str | None = None,
        is_canonical: bool = True,
        blocksize: Sequence[int] | None = None,
    ) -> None:
        check_choice("a sparse format", format, SPARSE_FORMATS)
        dims = (None, None) if shape is None else tuple(shape)
        if len(dims) != 2:
            raise GraphValueError(f"a sparse matrix must have 2 dims, not {len(dims)}")
        if str(dtype) in UNCOMPRESSED_DTYPES:
            raise GraphTypeError(f"sparse matrices of {dtype} are not supported")
        super(SparseTensorType, self).__init__(dtype, dims)
        is_large = any(isinstance(dim, int) and dim > np.iinfo(np.int32).max for dim in self.shape)
        chosen = index_dtype or ("int64" if is_large else "int32")
        if chosen not in INDEX_DTYPES:
            raise GraphTypeError(f"the dtype of indices must be {' or '.join(INDEX_DTYPES)}, not {chosen}")
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "index_dtype", chosen)
        object.__setattr__(self, "is_canonical", is_canonical)
        object.__setattr__(self, "blocksize", checked_blocksize(format, blocksize, dims))

    @property
    def variable_class(self) -> type[Variable]:
        return SparseVariable

    @property
    def major(self) -> int:
        """The axis that is compressed: 0 for rows, 1 for columns."""
        return 1 if self.format == "csc" else 0

    def with_dtype(self, dtype: str) -> SparseTensorType:
        return self._with(dtype=dtype)

    def with_shape(self, shape: Sequence[Dim]) -> SparseTensorType:
        return self._with(shape=shape)

    def unsorted(self) -> SparseTensorType:
        """The same type for matrices with entries in any order, perhaps with duplicates."""
        return self._with(is_canonical=False)

    def sorted(self) -> SparseTensorType:
        """The same type for matrices in canonical form: sorted entries without duplicates."""
        return self._with(is_canonical=True)

    def in_format(self, format: str, blocksize: Sequence[int] | None = None) -> SparseTensorType:
        """The canonical type with the same dtype and dims in another format."""
        return self._with(format=format, is_canonical=True, blocksize=blocksize)

    def _with(self, **changes: Any) -> SparseTensorType:
        names = ("format", "dtype", "shape", "index_dtype", "is_canonical", "blocksize")
        return SparseTensorType(**({name: getattr(self, name) for name in names} | changes))

    def __call__(self, name: str | None = None) -> SparseVariable:
        """A variable of this type."""
        return SparseVariable(self, name=name)

    def __str__(self) -> str:
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        wide = ", int64 indices" if self.index_dtype == "int64" else ""
        return f"{self.kind} {self.dtype}[{dims}]{wide}"

    @property
    def kind(self) -> str:
        """The name of the format in messages; of bsr with the blocksize: `bsr 3x3`."""
        return self.format if self.blocksize is None else "{} {}x{}".format(self.format, *self.blocksize)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """`value` as a canonical SciPy matrix of this type: sorted indices, no duplicates. It is never changed.

        strict: accept a matrix of exactly this format and dtype, convert nothing but the order of its entries.
        allow_downcast: True permits float64 → float32 and the like. Any other format, dense arrays and nested lists are
        converted.

        Raises: GraphTypeError for a dtype, rank or static dim that does not fit, and for anything but a matrix;
        GraphValueError for an index out of range.
        """
        sparse = scipy_sparse()
        if hasattr(value, "to_scipy"):  # a CheckedPattern of the runtime
            value = value.to_scipy()
        if isinstance(value, Variable):
            raise GraphTypeError(f"expected a value of {self}, not the symbolic variable {value}")
        if strict and not (sparse.issparse(value) and value.format == self.format and value.dtype == self.dtype):
            raise GraphTypeError(f"expected a matrix of {self}, found {describe_value(value)}")
        if not sparse.issparse(value):
            dense = as_array(value)
            if dense.ndim != 2 or dense.dtype.kind not in "biufc":
                raise GraphTypeError(f"expected {self}, found {describe_value(value)}")
            value = sparse.csr_matrix(dense)
        found = self._converted(value, allow_downcast)
        for axis, (dim, extent) in enumerate(zip(self.shape, found.shape, strict=True)):
            if isinstance(dim, int) and dim != extent:
                raise GraphTypeError(f"expected extent {dim} along axis {axis} ({self}), found {extent}")
        return self._indexed(canonical_matrix(found))

    def _indexed(self, value: Any) -> Any:
        """A SciPy matrix with its indices in this type's index dtype, sharing its data."""
        if value.indices.dtype == self.index_dtype and value.indptr.dtype == self.index_dtype:
            return value
        largest = max(int(value.indices.max(initial=0)), int(value.indptr.max(initial=0)))
        if largest > np.iinfo(self.index_dtype).max:
            hint = "declare it with index_dtype='int64'"
            raise GraphTypeError(f"index {largest} does not fit {self.index_dtype} ({self})", hint=hint)
        found = type(value)(value.shape, dtype=value.dtype)  # the constructor would choose the index dtype itself
        found.data = value.data
        found.indices, found.indptr = (x.astype(self.index_dtype) for x in (value.indices, value.indptr))
        return found

    def _converted(self, value: Any, allow_downcast: bool | None) -> Any:
        if value.ndim != 2:
            raise GraphTypeError(f"expected {self}, found {describe_value(value)}")
        if value.dtype != self.dtype:
            fits = np.can_cast(value.dtype, self.dtype, "same_kind" if allow_downcast else "safe")
            if value.dtype.kind not in "biufc" or not fits:
                hint = (
                    "pass allow_input_downcast=True or convert it" if value.dtype.kind in "fc" else "convert it first"
                )
                raise GraphTypeError(f"{describe_value(value)} does not fit {self} without loss", hint=hint)
        if self.blocksize is not None:
            return self._in_blocks(value)
        kind = container(self.format)
        return value if type(value) is kind and value.dtype == self.dtype else kind(value, dtype=self.dtype)

    def _in_blocks(self, value: Any) -> Any:
        """Convert a SciPy matrix to this type's blocksize; itself if it has that.   Raises: GraphTypeError"""
        assert self.blocksize is not None
        for axis, (extent, block) in enumerate(zip(value.shape, self.blocksize, strict=True)):
            if extent % block:
                raise GraphTypeError(f"extent {extent} along axis {axis} is not a multiple of the blocks of {self}")
        kind = container(self.format)
        if value.format == self.format and value.blocksize == self.blocksize:
            return value if type(value) is kind and value.dtype == self.dtype else kind(value, dtype=self.dtype)
        if value.format in ("csr", "csc", "bsr"):
            value = canonical_matrix(value)
        return kind(value.tocsr(), dtype=self.dtype, blocksize=self.blocksize)

    def values_eq_approx(self, a: Any, b: Any, eps: float = 1e-6) -> bool:
        """True if two matrices agree within `eps` relative to the larger one; nan equals nan."""
        if a.shape != b.shape:
            return False
        x, y = a.toarray(), b.toarray()
        return bool(np.allclose(x, y, rtol=eps, atol=eps, equal_nan=True))

    def values_eq(self, a: Any, b: Any) -> bool:
        """True if two matrices have the same elements; nan equals nan."""
        return bool(a.shape == b.shape and np.array_equal(a.toarray(), b.toarray(), equal_nan=True))


def checked_blocksize(format: str, blocksize: Sequence[int] | None, dims: Sequence[Dim]) -> tuple[int, int] | None:
    """Check the blocksize of a format, and return it.   Raises: GraphValueError, see SparseTensorType"""
    if (format == BLOCKED) != (blocksize is not None):
        hint = "bsr_matrix(name, blocksize=(2, 2))" if format == BLOCKED else None
        raise GraphValueError(f"{format} {'needs' if format == BLOCKED else 'does not accept'} a blocksize", hint=hint)
    if blocksize is None:
        return None
    found = tuple(blocksize) if isinstance(blocksize, Sequence) else ()
    if len(found) != 2 or not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in found):
        raise GraphValueError(f"a blocksize must be two positive numbers, not {blocksize!r:.40}")
    for axis, (dim, block) in enumerate(zip(dims, found, strict=True)):
        if isinstance(dim, int) and dim % block:
            raise GraphValueError(f"extent {dim} along axis {axis} is not a multiple of {block}, the extent of a block")
    return int(found[0]), int(found[1])


def container(format: str) -> Any:
    """SciPy's class of sparse matrices in a format."""
    return getattr(scipy_sparse(), f"{format}_matrix")


def block_extents(data: Array) -> tuple[int, int]:
    """(rows, columns) of a stored entry: the blocksize of bsr, or (1, 1)."""
    return (data.shape[1], data.shape[2]) if data.ndim == 3 else (1, 1)


def canonical_matrix(value: Any) -> Any:
    """A SciPy matrix with sorted indices and without duplicates: `value` itself where it is so, else a copy.

    Raises: GraphValueError for an index out of range or an indptr that does not fit.
    """
    check_structure(value.data, value.indices, value.indptr, value.shape, value.format)
    if not _is_strictly_sorted(value.indices, value.indptr):
        value = value.copy()
        value.has_canonical_format = value.has_sorted_indices = False  # the cached flag may be stale
        value.sum_duplicates()
    return value


def check_structure(data: Array, indices: Array, indptr: Array, shape: Sequence[int] | Array, format: str) -> None:
    """Check that the arrays are a compressed matrix of this shape.   Raises: GraphValueError if they are not"""
    rows, columns = (shape[1], shape[0]) if format == "csc" else (shape[0], shape[1])
    if format == BLOCKED:
        height, width = block_extents(data)
        for extent, block, words in ((rows, height, "rows"), (columns, width, "columns")):
            if extent % block:
                raise GraphValueError(f"{extent} {words} are not a multiple of the {block} of a block")
        rows, columns = rows // height, columns // width
    if len(data) != len(indices):
        raise GraphValueError(f"{len(data)} values, but {len(indices)} indices")
    if len(indptr) != rows + 1:
        raise GraphValueError(f"indptr has {len(indptr)} elements instead of {rows + 1}")
    if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(np.diff(indptr) < 0):
        raise GraphValueError(f"indptr does not increase from 0 to {len(indices)}, the number of stored entries")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        worst = int(indices.max()) if indices.max() >= columns else int(indices.min())
        raise GraphValueError(f"index {worst} is outside of 0 … {columns - 1}")


def is_canonical_structure(
    data: Array, indices: Array, indptr: Array, shape: Sequence[int] | Array, format: str
) -> bool:
    """Are the arrays a valid compressed matrix with sorted indices and no duplicates?"""
    try:
        check_structure(data, indices, indptr, shape, format)
    except GraphValueError:
        return False
    return _is_strictly_sorted(indices, indptr)


def _is_strictly_sorted(indices: Array, indptr: Array) -> bool:
    rises = np.diff(indices) > 0
    starts = indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(indices))]
    rises[starts - 1] = True
    return bool(rises.all())


def describe_value(value: object) -> str:
    """Describe a value for error messages."""
    if scipy_sparse().issparse(value):
        matrix: Any = value
        return f"a {matrix.format} matrix of {matrix.dtype}{list(matrix.shape)}"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}{list(value.shape)}"
    return f"{type(value).__name__} {value!r:.40}"


class SparseVariable(SparseOperators, Variable):  # type: ignore[misc]  # sums and traces have other options
    """A sparse matrix of the symbolic graph."""

    __slots__ = ()

    @property
    def sparse_type(self) -> SparseTensorType:
        """The type."""
        assert isinstance(self.type, SparseTensorType)
        return self.type

    @property
    def format(self) -> str:
        """ "csr", "csc" or "bsr"."""
        return self.sparse_type.format

    @property
    def blocksize(self) -> tuple[int, int] | None:
        """(rows, columns) of a block of bsr; None for other formats."""
        return self.sparse_type.blocksize


class SparseConstantSignature(NamedTuple):
    """Key of a constant by type, values and pattern: nan equals nan, and −0.0 differs from 0.0."""

    type: SparseTensorType
    data: bytes
    indices: bytes
    indptr: bytes


class SparseConstant(SparseVariable, Constant):  # type: ignore[misc]
    """A sparse matrix whose values are known when the graph is built."""

    __slots__ = ()

    def __init__(self, data: Any, type: SparseTensorType | None = None, name: str | None = None) -> None:
        if not is_matrix(data):
            raise GraphTypeError(f"expected a SciPy matrix, found {describe_value(data)}")
        type = type or type_of_matrix(data)
        Variable.__init__(self, type, name=name)
        self.data = _frozen(type.filter(data).copy())

    @property
    def matrix(self) -> Any:
        """The SciPy matrix."""
        return self.data

    def signature(self) -> SparseConstantSignature:
        """A hashable key; constants of equal type, values and pattern have equal keys."""
        x = self.matrix
        return SparseConstantSignature(self.sparse_type, x.data.tobytes(), x.indices.tobytes(), x.indptr.tobytes())


class SparseTensorSharedVariable(SparseVariable, SharedVariable):  # type: ignore[misc]
    """A sparse matrix with state; the number of stored entries, and unknown extents, may change."""

    __slots__ = ()

    def __init__(self, value: Any, type: SparseTensorType, name: str | None = None) -> None:
        if not isinstance(type, SparseTensorType):
            raise GraphTypeError(f"expected the type of a sparse matrix, found {type!r:.60}")
        Variable.__init__(self, type, name=name)
        self._value = type.filter(value)
        self.default_update = None

    @coerced
    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Replace the value, converted from any format.   Raises: GraphTypeError for another dtype."""
        found: Any = self.sparse_type.filter(value)
        self._value = found if borrow else found.copy()


def _frozen(x: Any) -> Any:
    for part in (x.data, x.indices, x.indptr):
        part.flags.writeable = False
    return x


def type_of_matrix(value: Any) -> SparseTensorType:
    """The type of a SciPy matrix with static dims; formats other than csc and bsr become csr.

    Raises: GraphTypeError for a dtype that cannot be compiled.
    """
    format = value.format if value.format in SPARSE_FORMATS else "csr"
    blocksize = value.blocksize if format == BLOCKED else None
    return SparseTensorType(format, dtypes.canonical(value.dtype), value.shape, blocksize=blocksize)


def is_sparse(x: object) -> bool:
    """True for a sparse variable, and for a SciPy matrix."""
    return isinstance(x, SparseVariable) or (not isinstance(x, Variable | np.ndarray) and is_matrix(x))


def is_matrix(x: object) -> bool:
    """True for a SciPy matrix or sparse array."""
    return type(x).__module__.startswith("scipy.sparse")
