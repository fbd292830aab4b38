"""Constructors of sparse variables, constants and shared variables, and tables of supported formats and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aotensor.config import config
from aotensor.core.types import Dim
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import (
    SPARSE_FORMATS,
    SparseConstant,
    SparseTensorSharedVariable,
    SparseTensorType,
    SparseVariable,
    describe_value,
    is_matrix,
    type_of_matrix,
)
from aotensor.graph.variable import Variable

sparse_formats: Final = list(SPARSE_FORMATS)
float_dtypes: Final = ["float32", "float64"]
int_dtypes: Final = ["int8", "int16", "int32", "int64"]
uint_dtypes: Final = ["uint8", "uint16", "uint32", "uint64"]
complex_dtypes: Final = ["complex64", "complex128"]
integer_dtypes: Final = int_dtypes + uint_dtypes
discrete_dtypes: Final = integer_dtypes
continuous_dtypes: Final = float_dtypes + complex_dtypes
all_dtypes: Final = discrete_dtypes + continuous_dtypes

csc_dmatrix: Final = SparseTensorType("csc", "float64")
csr_dmatrix: Final = SparseTensorType("csr", "float64")
csc_fmatrix: Final = SparseTensorType("csc", "float32")
csr_fmatrix: Final = SparseTensorType("csr", "float32")


@coerced
def matrix(
    format: str,
    name: str | None = None,
    dtype: str | None = None,
    shape: Sequence[Dim] | None = None,
    index_dtype: str | None = None,
    blocksize: Sequence[int] | None = None,
) -> SparseVariable:
    """A sparse matrix variable of a format ("csr", "csc" or "bsr"); dtype is floatX by default, the dims are unknown.

    blocksize: rows and columns of a block, for bsr alone.

    Raises: GraphValueError for another format, or a blocksize that does not fit it or divide the dims;
    GraphTypeError for a dtype that sparse matrices do not have.
    """
    return SparseTensorType(format, dtype or config.floatX, shape, index_dtype=index_dtype, blocksize=blocksize)(name)


@coerced
def csr_matrix(
    name: str | None = None,
    dtype: str | None = None,
    shape: Sequence[Dim] | None = None,
    index_dtype: str | None = None,
) -> SparseVariable:
    """A matrix in compressed rows: good where there are fewer rows than columns.   Raises: as `matrix`."""
    return matrix("csr", name, dtype, shape, index_dtype)


@coerced
def csc_matrix(
    name: str | None = None,
    dtype: str | None = None,
    shape: Sequence[Dim] | None = None,
    index_dtype: str | None = None,
) -> SparseVariable:
    """A matrix in compressed columns: good where there are more rows than columns.   Raises: as `matrix`."""
    return matrix("csc", name, dtype, shape, index_dtype)


@coerced
def bsr_matrix(
    name: str | None = None,
    dtype: str | None = None,
    shape: Sequence[Dim] | None = None,
    blocksize: Sequence[int] | None = None,
    index_dtype: str | None = None,
) -> SparseVariable:
    """A matrix in rows of dense blocks of one size: good where entries come in blocks, as unknowns of a node do.

    Its data are (blocks, rows of a block, columns of a block). Raises: as `matrix`.
    """
    return matrix("bsr", name, dtype, shape, index_dtype, blocksize)


@coerced
def bsr_dmatrix(
    name: str | None = None, shape: Sequence[Dim] | None = None, blocksize: Sequence[int] | None = None
) -> SparseVariable:
    """`bsr_matrix` of float64.   Raises: as `matrix`."""
    return matrix("bsr", name, "float64", shape, None, blocksize)


@coerced
def bsr_fmatrix(
    name: str | None = None, shape: Sequence[Dim] | None = None, blocksize: Sequence[int] | None = None
) -> SparseVariable:
    """`bsr_matrix` of float32.   Raises: as `matrix`."""
    return matrix("bsr", name, "float32", shape, None, blocksize)


@coerced
def constant(x: Any, name: str | None = None) -> SparseConstant:
    """A SciPy matrix or sparse array as a constant with its extents; the data are copied.

    Raises: GraphTypeError for anything else.
    """
    if not is_matrix(x):
        raise GraphTypeError(f"expected a SciPy sparse matrix, found {describe_value(x)}")
    return SparseConstant(x, name=name)


@coerced
def shared(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    format: str | None = None,
    shape: Sequence[Dim] | None = None,
    blocksize: Sequence[int] | None = None,
) -> SparseTensorSharedVariable:
    """A shared sparse matrix of the dtype of `value`, of its format unless `format` says another, of unknown extents.

    blocksize: of a bsr matrix; that of `value` unless given.

    The value is copied unless `borrow`. `strict`: refuse a value of another format.

    Raises: GraphTypeError for a Variable or a value that is not a matrix.
    """
    if isinstance(value, Variable) or not is_matrix(value):
        raise GraphTypeError(f"shared needs a SciPy sparse matrix, found {describe_value(value)}")
    known = type_of_matrix(value)
    chosen = format or known.format
    blocks = blocksize or (known.blocksize if chosen == known.format else None)
    type = SparseTensorType(chosen, known.dtype, shape, index_dtype=known.index_dtype, blocksize=blocks)
    found = type.filter(value, strict, allow_downcast)
    return SparseTensorSharedVariable(found if borrow else found.copy(), type, name)


sparse_constructor: Final = shared
