"""Identity matrices, triangles and diagonals: ops that depend on j − i."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType, normalise_axis, within_reach
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.batching import ExtentsOp, TrailingOp
from aotensor.ops.create import known_extents, lowered_extents, split_shape
from aotensor.ops.elementwise.compare import cast, eq, ge, le, switch
from aotensor.ops.linear import ConstantOp, LinearOp
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, as_extents, dim_of, dims_at, extent_of, extents_of

_MATRIX = "expected a rank of at least 2"


@frozen_dataclass
class Band(ExtentsOp, ConstantOp):
    """y[i, j] = 1 where j − i is `offset` (predicate "eq") or at most `offset` ("le"), else 0.   extents → (n, m)"""

    name: ClassVar[str] = "band"
    dims: tuple[Dim, ...]
    predicate: str
    offset: int
    dtype: str

    def infer_type(self, *extents: TensorType) -> TensorType:
        return TensorType(self.dtype, self.dims)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        return TensorType(self.dtype, dims_at(self.name, self.dims, node.inputs, known))

    def reference(self, *extents: Array) -> Array:
        rows, columns = known_extents(self.name, self.dims, extents)
        make = np.eye if self.predicate == "eq" else np.tri
        return make(rows, columns, self.offset).astype(self.dtype)

    def lower(self, b: TensorBuilder, *extents: Tensor) -> Tensor:
        def element(s: ScalarBuilder, i: Scalar, j: Scalar) -> Scalar:
            return s.cast(_band(s, self.predicate, self.offset, i, j), self.dtype)

        return b.tabulate(lowered_extents(b, self.dims, extents), self.dtype, element)


def _band(s: ScalarBuilder, predicate: str, offset: int, i: Extent, j: Extent) -> Scalar:
    """Emit the comparison of j with i + offset, without negative numbers."""
    return s.compare(predicate, s.index(j + max(-offset, 0)), s.index(i + max(offset, 0)))


def _offset(name: str, k: Any) -> int | Variable:
    """Convert the offset of a diagonal to an int or an int64 scalar.   Raises: GraphTypeError for a non-integer."""
    offset = as_extent(k, f"{name}: k")
    return within_reach(offset) if isinstance(offset, int) else cast(offset, "int64")


def _column_minus_row(rows: SymbolicExtent, columns: SymbolicExtent) -> Variable:
    """The matrix with j − i at row i and column j."""
    return dimshuffle(arange(columns), [None, 0]) - dimshuffle(arange(rows), [0, None])


def _band_op(name: str, predicate: str, n: Any, m: Any, k: Any, dtype: DTypeLike | None) -> Variable:
    shape, wanted = [n, n if m is None else m], dtypes.canonical(dtype or config.floatX)
    dims, extents = split_shape(name, shape)
    offset = _offset(name, k)
    if dtypes.is_complex(wanted):
        return cast(_band_op(name, predicate, n, m, k, dtypes.part_of(wanted)), wanted)
    if isinstance(offset, int):
        return Band(dims, predicate, offset, wanted)(*extents)  # type: ignore[no-any-return]
    compare = eq if predicate == "eq" else le
    return cast(compare(_column_minus_row(*as_extents(shape)), offset), wanted)


@public(numpy="eye")
@coerced
def eye(n: Any, m: Any = None, k: Any = 0, dtype: DTypeLike | None = None) -> Variable:
    """Ones on diagonal k, zeros elsewhere.   → (n, m), m = n by default, floatX by default

    k: an int or an integer scalar, here and below.
    """
    return _band_op("eye", "eq", n, m, k, dtype)


@public(numpy="identity")
def identity(n: Any, dtype: DTypeLike | None = None) -> Variable:
    """The identity matrix.   → (n, n), floatX by default"""
    return eye(n, dtype=dtype)


@coerced
def identity_like(x: Any, dtype: DTypeLike | None = None) -> Variable:
    """Ones on the diagonal, in the shape of the matrix x, and its dtype unless one is given. x gets no gradient.

    Raises: GraphTypeError if x is not a matrix.
    """
    x = as_tensor(x)
    if x.ndim != 2:
        raise GraphTypeError(f"identity_like: expected a matrix, found rank {x.ndim}", lines=[x.describe()])
    return eye(extent_of(x, 0), extent_of(x, 1), dtype=dtype or x.dtype)


@public(numpy="tri")
@coerced
def tri(n: Any, m: Any = None, k: Any = 0, dtype: DTypeLike | None = None) -> Variable:
    """Ones on and below diagonal k, zeros above.   → (n, m), m = n by default, floatX by default"""
    return _band_op("tri", "le", n, m, k, dtype)


@frozen_dataclass
class Triangle(TrailingOp, LinearOp):
    """x with zeros above diagonal `offset` (lower) or below it (upper).   (…, n, m) → (…, n, m)"""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "triangle"
    is_lower: bool
    offset: int

    def infer_type(self, x: TensorType) -> TensorType:
        if x.rank < 2:
            raise GraphTypeError(_MATRIX)
        return x

    def reference(self, x: Array) -> Array:
        return np.tril(x, self.offset) if self.is_lower else np.triu(x, self.offset)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return self(cotangent)  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        predicate = "le" if self.is_lower else "ge"

        def element(s: ScalarBuilder, *indices: Scalar) -> Scalar:
            keeps = _band(s, predicate, self.offset, *indices[-2:])
            return s.select(keeps, s.load(x, *indices), s.constant(0, x.dtype))

        return b.tabulate(x.extents, x.dtype, element)


@public(numpy="tril")
@coerced
def tril(x: Any, k: Any = 0) -> Variable:
    """x with zeros above diagonal k of its last two axes.   Raises: GraphTypeError below rank 2."""
    return _triangle("tril", x, k, is_lower=True)


@public(numpy="triu")
@coerced
def triu(x: Any, k: Any = 0) -> Variable:
    """x with zeros below diagonal k of its last two axes.   Raises: GraphTypeError below rank 2."""
    return _triangle("triu", x, k, is_lower=False)


def _triangle(name: str, x: Any, k: Any, is_lower: bool) -> Variable:
    offset = _offset(name, k)
    if isinstance(offset, int):
        return Triangle(is_lower, offset)(x)  # type: ignore[no-any-return]
    x = as_tensor(x)
    if x.ndim < 2:
        raise GraphTypeError(f"{name}: {_MATRIX}", lines=[x.describe()])
    beside = _column_minus_row(*extents_of(x)[-2:])
    return switch((le if is_lower else ge)(beside, offset), x, constant(0, dtype=x.dtype))


def _indices(positions: tuple[Array, ...]) -> tuple[Constant, Constant]:
    rows, columns = positions
    return constant(rows.astype("int64")), constant(columns.astype("int64"))


@public(numpy="tril_indices")
@coerced
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Constant, Constant]:
    """Rows and columns of the entries on and below diagonal k of an (n, m) matrix, as int64 vectors; n, m are ints."""
    return _indices(np.tril_indices(n, k, m))


@public(numpy="triu_indices")
@coerced
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Constant, Constant]:
    """Rows and columns of the entries on and above diagonal k of an (n, m) matrix, as int64 vectors; n, m are ints."""
    return _indices(np.triu_indices(n, k, m))


# --- diagonals -------------------------------------------------------------------------------------------------------


@frozen_dataclass
class ExtractDiagonal(TrailingOp, LinearOp):
    """y[…, p] = x[…, p + max(−offset, 0), p + max(offset, 0)], empty for a diagonal outside.   (…, n, m) → (…, l)"""

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "extract_diagonal"
    notation: ClassVar[str] = "diagonal"
    offset: int

    def infer_type(self, x: TensorType) -> TensorType:
        if x.rank < 2:
            raise GraphTypeError(_MATRIX)
        return TensorType(x.dtype, (*x.shape[:-2], self._dim(*x.shape[-2:])))

    def _dim(self, rows: Dim, columns: Dim) -> Dim:
        if rows == columns and self.offset == 0:
            return rows
        return self._length(rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None

    def _length(self, rows: int, columns: int) -> int:
        return max(min(rows - max(-self.offset, 0), columns - max(self.offset, 0)), 0)

    def reference(self, x: Array) -> Array:
        return np.array(_diagonal(x, self.offset))

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return alloc_diagonal(cotangent, extents_of(inputs[0])[-2:], self.offset)

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        length = _diagonal_length(b, self.offset, *x.extents[-2:])

        def element(s: ScalarBuilder, *indices: Scalar) -> Scalar:
            *batch, p = indices
            return s.load(x, *batch, p + max(-self.offset, 0), p + max(self.offset, 0))

        return b.tabulate([*x.extents[:-2], length], x.dtype, element)


def _diagonal(x: Array, offset: int) -> Array:
    """The diagonal by NumPy, which accepts offsets of 32 bits only."""
    rows, columns = x.shape[-2:]
    return np.diagonal(x, max(-rows, min(offset, columns)), -2, -1)


def _diagonal_length(b: TensorBuilder, offset: int, rows: Extent, columns: Extent) -> Extent:
    v = b.scalars
    below, right = rows - max(-offset, 0), columns - max(offset, 0)
    return v.imax(v.imin(below, right), 0)


@frozen_dataclass
class AllocDiagonal(TrailingOp, LinearOp):
    """Zeros with d on diagonal `offset` of the last two axes: d, *extents → matrix.   (…, l) → (…, n, m)

    dims: (n, m), each a number, or a name or None for the next extent.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "alloc_diagonal"
    notation: ClassVar[str] = "diag({0})"
    dims: tuple[Dim, ...]
    offset: int

    def infer_type(self, d: TensorType, *extents: TensorType) -> TensorType:
        if d.rank < 1:
            raise GraphTypeError("a diagonal needs a rank of at least 1")
        return TensorType(d.dtype, (*d.shape[:-1], *self.dims))

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        (d, *_), dims = types, dims_at(self.name, self.dims, node.inputs[1:], known)
        rows, columns = (dim if isinstance(dim, int) else None for dim in dims)
        if rows is not None and columns is not None:
            self._check_length(d.static_shape[-1], len(_diagonal(np.broadcast_to(False, (rows, columns)), self.offset)))
        return TensorType(d.dtype, (*d.shape[:-1], *dims))

    def _check_length(self, found: int | None, wanted: int) -> None:
        if found not in (None, wanted):
            raise GraphValueError(f"{self.name}: {found} values for a diagonal of length {wanted}")

    def reference(self, d: Array, *extents: Array) -> Array:
        rows, columns = known_extents(self.name, self.dims, extents)
        result = np.zeros((*d.shape[:-1], rows, columns), d.dtype)
        self._check_length(d.shape[-1], _diagonal(result, self.offset).shape[-1])
        p = np.arange(d.shape[-1])
        result[..., p + max(-self.offset, 0), p + max(self.offset, 0)] = d
        return result

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return ExtractDiagonal(self.offset)(cotangent)  # type: ignore[no-any-return]

    def lower(self, b: TensorBuilder, d: Tensor, *extents: Tensor) -> Tensor:
        rows, columns = lowered_extents(b, self.dims, extents)
        length = _diagonal_length(b, self.offset, rows, columns)
        b.same_extent([d.extents[-1], length], "extents of the diagonal")

        zero = b.broadcast(b.constant(0, d.dtype), [*d.extents[:-1], 1])
        padded = b.concatenate([d, zero], len(d.extents) - 1)

        def element(s: ScalarBuilder, *indices: Scalar) -> Scalar:
            """The element of d on the diagonal, a padded zero elsewhere: no read is out of bounds, even for empty d."""
            *batch, i, j = indices
            position = s.index(i - max(-self.offset, 0))
            found = s.select(_band(s, "eq", self.offset, i, j), position, s.index(length))
            return s.load(padded, *batch, found)

        return b.tabulate([*d.extents[:-1], rows, columns], d.dtype, element)


def alloc_diagonal(d: Variable, extents: Sequence[SymbolicExtent], offset: int) -> Variable:
    """Zeros of the two extents, with d on a diagonal."""
    symbolic = [extent for extent in extents if isinstance(extent, Variable)]
    return AllocDiagonal(tuple(map(dim_of, extents)), offset)(d, *symbolic)  # type: ignore[no-any-return]


@public(numpy="diagonal", method="diagonal")
@coerced
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Diagonal `offset` of the planes of two axes, as a new last axis; empty where it lies outside.

    Raises: GraphTypeError below rank 2, GraphValueError for equal axes or one out of range.
    """
    x = as_tensor(x)
    if x.ndim < 2:
        raise GraphTypeError(f"diagonal: {_MATRIX}", lines=[x.describe()])
    first, second = normalise_axis(axis1, x.ndim), normalise_axis(axis2, x.ndim)
    if first == second:
        raise GraphValueError(f"diagonal: axes {axis1} and {axis2} are the same", lines=[x.describe()])
    others = [axis for axis in range(x.ndim) if axis not in (first, second)]
    return ExtractDiagonal(within_reach(offset))(dimshuffle(x, [*others, first, second]))  # type: ignore[no-any-return]


extract_diag = diagonal


@public(numpy="diag")
@coerced
def diag(x: Any, k: int = 0) -> Variable:
    """The square matrix with the vector x on diagonal k, or diagonal k of the matrix x.

    Raises: GraphTypeError for another rank.
    """
    x = as_tensor(x)
    offset = within_reach(k)
    if x.ndim == 2:
        return ExtractDiagonal(offset)(x)  # type: ignore[no-any-return]
    if x.ndim != 1:
        raise GraphTypeError("diag: needs a vector or a matrix", lines=[x.describe()])
    extent = extent_of(x, 0)
    side = extent if offset == 0 else extent + (offset if offset > 0 else -offset)
    return alloc_diagonal(x, [side, side], offset)


@coerced
def fill_diagonal(a: Any, val: Any, offset: Any = 0) -> Variable:
    """`a` with `val` on its diagonal, or on the one `offset` above it.   a: (n, m), val: () → (n, m), dtype of a

    offset: an int or an integer scalar.

    Raises: GraphTypeError unless `a` is a matrix and `val` a scalar that fits the dtype of `a` without loss.
    """
    a, val = as_tensor(a), as_tensor(val)
    if a.ndim != 2 or val.ndim != 0:
        lines = [a.describe(), val.describe()]
        raise GraphTypeError("fill_diagonal: expected a matrix and a scalar", lines=lines)
    if dtypes.promote(a.dtype, val.dtype) != a.dtype:
        lines = [a.describe(), val.describe()]
        raise GraphTypeError(
            f"fill_diagonal: a value of {val.dtype} does not fit a matrix of {a.dtype}",
            lines=lines,
            hint="cast it first",
        )
    rows, columns = extents_of(a)
    return switch(eye(rows, columns, offset, dtype="bool"), cast(val, a.dtype), a)
