"""Sparse inputs whose pattern a user declares: only their values vary, so the pattern is a constant of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.sparse_type import SparseTensorType, SparseVariable, container, scipy_sparse
from aotensor.graph.variable import Variable, constant
from aotensor.ops.batching import TrailingOp
from aotensor.ops.linear import LinearOp
from aotensor.sparse.construct.create import csm_data, csm_indices, csm_indptr
from aotensor.sparse.csm import matrix_of
from aotensor.sparse.op import Compressed

_WRONG_PLACES: Final = "the stored entries of {name} are at other places than in its declared pattern"


def checked_pattern(name: str, x: Variable, pattern: Any) -> Any:
    """Check a declared pattern, and return it as a SciPy matrix of ones in the format of x, with sorted indices.

    pattern: a SciPy sparse matrix or array, whose stored entries count whatever their values are, or a dense matrix
    that is not 0 there.

    Raises: GraphTypeError for an x that is not a CSR or CSC matrix of static shape, or a pattern that is not a matrix;
    GraphValueError for one of another shape
    """
    kind = x.type
    if not isinstance(kind, SparseTensorType) or kind.format == "bsr":
        raise GraphTypeError(
            f"{name}: pattern is supported only for CSR and CSC matrices, not for {kind}", lines=[x.describe()]
        )
    if not all(isinstance(n, int) for n in kind.shape):
        raise GraphTypeError(
            f"{name}: a matrix with a pattern must have a static shape, not {kind}",
            lines=[x.describe()],
            hint=f"give its extents as numbers: sp.{kind.format}_matrix({x.name!r}, shape=(3, 2))",
        )
    sparse = scipy_sparse()
    given = pattern if sparse.issparse(pattern) else np.asarray(pattern)
    if given.ndim != 2 or given.dtype.kind not in "biufc":
        raise GraphTypeError(
            f"{name}: pattern must be a SciPy sparse matrix, not {type(pattern).__name__} {pattern!r:.40}",
            hint="sp.csr_matrix, sp.csc_matrix or sp.coo_matrix of scipy.sparse, with an entry wherever one is stored",
        )
    if given.shape != kind.shape:
        shapes = (" x ".join(map(str, shape)) for shape in (given.shape, kind.shape))
        raise GraphValueError("{}: pattern is {}, and the matrix is {}".format(name, *shapes), lines=[x.describe()])
    rows, columns = sparse.coo_matrix(given).coords if sparse.issparse(given) else np.nonzero(given)
    major, minor = (columns, rows) if kind.format == "csc" else (rows, columns)
    places = np.unique(np.stack([major, minor]).astype("int64"), axis=1)
    counts = np.bincount(places[0], minlength=given.shape[kind.major])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(kind.index_dtype)
    ones = np.ones(places.shape[1])
    return container(kind.format)((ones, places[1].astype(kind.index_dtype), indptr), shape=kind.shape)


def with_values(x: SparseVariable, pattern: Any, data: Variable) -> SparseVariable:
    """A matrix of the type of x with a checked pattern and the stored values `data`.   data: (nnz,)"""
    kind = x.sparse_type
    indices, indptr = _constants(kind, pattern)
    rows, columns = pattern.shape
    return matrix_of(Compressed(kind.format, data, indices, indptr, rows, columns, (rows, columns), is_canonical=True))


def _constants(kind: SparseTensorType, pattern: Any) -> tuple[Variable, Variable]:
    """indices and indptr of a pattern as constants in the index dtype of a type."""
    return constant(pattern.indices, dtype=kind.index_dtype), constant(pattern.indptr, dtype=kind.index_dtype)


def on_pattern(name: str, x: SparseVariable, pattern: Any) -> SparseVariable:
    """x with a checked constant pattern, after a run-time check that x has this pattern.

    Raises: GraphValueError at run time if it is another one.
    """
    known = _constants(x.sparse_type, pattern)
    data = OnPattern(name, len(pattern.indices))(csm_data(x), csm_indices(x), csm_indptr(x), *known)
    return with_values(x, pattern, data)


def check_pattern(function: str, name: str, value: Any, pattern: Any) -> None:
    """Check that a canonical SciPy matrix has the declared pattern.   Raises: GraphValueError"""
    if value.nnz != pattern.nnz:
        text = _wrong_count(name).format(expected=pattern.nnz, found=value.nnz)
        raise GraphValueError(f"{function}: {text}")
    if not (np.array_equal(value.indices, pattern.indices) and np.array_equal(value.indptr, pattern.indptr)):
        raise GraphValueError(f"{function}: {_WRONG_PLACES.format(name=name)}")


@frozen_dataclass
class OnPattern(TrailingOp, LinearOp):
    """(data, indices, indptr, known indices, known indptr) → data, after a check that both patterns are equal.

    matrix: its name in messages. count: its number of stored entries.

    Raises: GraphValueError at run time if the patterns differ.
    """

    name: ClassVar[str] = "on_pattern"
    notation: ClassVar[str] = "{0}"
    is_check: ClassVar[bool] = True
    matrix: str
    count: int

    def infer_type(self, data: TensorType, *patterns: TensorType) -> TensorType:
        return TensorType(data.dtype, (self.count,))

    def reference(self, data: Array, indices: Array, indptr: Array, *known: Array) -> Array:
        if len(data) != self.count:
            text = _wrong_count(self.matrix)
            raise GraphValueError(text.format(expected=self.count, found=len(data)))
        if not all(np.array_equal(x, y) for x, y in zip((indices, indptr), known, strict=True)):
            raise GraphValueError(_WRONG_PLACES.format(name=self.matrix))
        return data

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def lower(self, b: TensorBuilder, data: Tensor, *patterns: Tensor) -> Tensor:
        v = b.scalars
        found = data.extents[0]
        text = _wrong_count(self.matrix)
        b.check(v.compare("eq", v.index(found), v.index(self.count)), text, found, self.count)
        for x, y in zip(patterns[:2], patterns[2:], strict=True):
            agree = b.tabulate(y.extents, "bool", lambda w, i, x=x, y=y: w.compare("eq", w.load(x, i), w.load(y, i)))
            b.check(b.item(b.reduce("and", agree, [0])), _WRONG_PLACES.format(name=self.matrix))
        return b.reshape(data, [self.count])


def _wrong_count(name: str) -> str:
    """The message for another number of stored entries, to be formatted with `expected` and `found`."""
    return f"the pattern of {name} has {{expected}} stored entries, not {{found}}"
