"""Derivatives of solutions of sparse equations by the implicit function theorem, for every solution method.

A·dx = db − dA·x,    b̄ = A⁻ᵀ·x̄,    Ā = −b̄·xᵀ at the stored entries of A
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.operands import is_complex
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.batching import check_nondifferentiable, repeated
from aotensor.ops.complex.parts import real
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.linalg.matrices import both_floating
from aotensor.ops.linear import SolveOp
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, product
from aotensor.ops.shape.join import join
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.compressed_axes import at_columns, at_rows
from aotensor.sparse.csm import parts_of
from aotensor.sparse.direct.ops import solved_as_columns
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import PatternRule
from aotensor.sparse.product.dots import times
from aotensor.sparse.reformat import as_compressed


class Solve(SolveOp):
    """(data, indices, indptr, b, …) → x with A·x = b, and the derivatives of the exact solution.   b: (n,) or (n, k)

    shares_steps: all equations of a call end their steps at the same time. on_error: "raise", or "nan" for an x of nan.
    """

    shares_steps: ClassVar[bool] = False
    side: ClassVar[int] = 3
    on_error: str = "raise"

    @abstractmethod
    def matrix(self, inputs: Sequence[Variable]) -> Compressed:
        """The matrix A in compressed form."""

    def read(self, inputs: Sequence[Variable], data: Variable) -> Variable:
        """`data`, with 0 in place of entries that the op does not read."""
        return data

    def check_types(self, data: TensorType, *sides: TensorType) -> None:
        """Check that right-hand sides have equal types, with the dtype of data.   Raises: GraphTypeError"""
        b, *_ = sides
        if b.rank not in (1, 2) or any((x.dtype, x.rank) != (data.dtype, b.rank) for x in sides):
            raise GraphTypeError(
                f"{self.name}: expected a vector or matrix b of the dtype of A, and an x0 of the same dtype and rank"
            )

    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        return times(replace(self.matrix(inputs), data=self.read(inputs, tangent)), x)

    def outer(self, position: int, inputs: Sequence[Variable], y: Variable, x: Variable) -> Variable:
        p = self.matrix(inputs)
        entries = mul(at_rows(p, y), at_columns(p, x))
        return self.read(inputs, entries if x.ndim == 1 else sum_of(entries, axis=1))

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        """The solutions for a batch: right-hand sides of one matrix become columns, several matrices diagonal blocks.

        If a failure gives nan, several matrices are solved one by one instead, so that it does not affect the others.
        """
        check_nondifferentiable(self, [False, *is_batched[1:3]])
        data, indices, indptr, *sides = inputs
        example = inputs[list(is_batched).index(True)]
        sides = [x if on else repeated(x, example) for x, on in zip(sides, is_batched[3:], strict=True)]
        if is_batched[0]:
            if self.on_error == "nan":
                each = Loop(lambda a, *row: self(a, indices, indptr, *row), [data, *sides], None, None)
                return [each.run(-1, self.name)[0][0]]
            return [self._blocks(data, indices, indptr, *sides)]
        return [solved_as_columns(lambda *columns: self(data, indices, indptr, *columns), *sides)]

    def _blocks(self, data: Variable, indices: Variable, indptr: Variable, *sides: Variable) -> Variable:
        """Solve with several matrices as one block-diagonal matrix; right-hand sides of shared iterations are scaled
        to |b| = 1.
        """
        b = sides[0]
        samples, n, rest = extent_of(b, 0), extent_of(b, 1), [extent_of(b, axis) for axis in range(2, b.ndim)]
        flat = diagonal_blocks(data, indices, indptr, n)
        height = _length(b) if self.shares_steps else None
        scaled = [x if height is None else x / height for x in sides]
        flat_sides = [reshape(x, [product([samples, n]), *rest]) for x in scaled]
        found = self(*flat, *flat_sides)
        together = reshape(found, [samples, n, *rest])
        return together if height is None else mul(height, together)


def diagonal_blocks(
    data: Variable, indices: Variable, indptr: Variable, n: SymbolicExtent
) -> tuple[Variable, Variable, Variable]:
    """Matrices (n, n) of one pattern as one block-diagonal matrix: (data, indices, indptr).   data: (samples, nnz)"""
    samples, nnz = extent_of(data, 0), extent_of(data, 1)
    number = dimshuffle(cast(arange(samples), "int64"), [0, None])
    columns = cast(indices, "int64") + number * as_tensor(n)
    starts = cast(indptr[:-1], "int64") + number * as_tensor(nnz)
    flat = [reshape(x, [product([samples, extent_of(x, 1)])]) for x in (data, columns, starts)]
    end = cast(as_tensor(product([samples, nnz])), "int64")
    return flat[0], flat[1], join(0, flat[2], dimshuffle(end, [None]))


def square(format: str, inputs: Sequence[Variable]) -> Compressed:
    """The matrix of the equations; its extents are taken from b."""
    data, indices, indptr, b, *_ = inputs
    n, dim = extent_of(b, 0), b.tensor_type.shape[0]
    return Compressed(format, data, indices, indptr, n, n, (dim, dim), is_canonical=False)


def _length(b: Variable) -> Variable:
    """|b| along axis 1, and 1 where that is 0.   (s, n, …) → (s, 1, …)"""
    square = sum_of(b * b, axis=1, keepdims=True)
    return sqrt(switch(eq(square, 0), constant(1, dtype=b.dtype), square))


def square_matrix(name: str, A: Any) -> Compressed:
    """The vectors of a square matrix; unknown extents are compared at run time.

    Raises: GraphTypeError for a dense A; GraphValueError if A is not square.
    """
    matrix = as_compressed(A)
    rows, columns = matrix.sparse_type.shape
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise GraphValueError(f"{name}: expected a square matrix, found {rows} by {columns}", lines=[matrix.describe()])
    p = parts_of(matrix)
    is_known = p.dims[0] is not None and p.dims[0] == p.dims[1]
    return p if is_known else replace(p, indptr=SquareStarts()(p.indptr, as_tensor(p.minor)))


@frozen_dataclass
class SquareStarts(PatternRule):
    """(indptr, minor) → indptr, after a check that the matrix is square."""

    name: ClassVar[str] = "square_starts"
    notation: ClassVar[str] = "{0}"
    is_check: ClassVar[bool] = True

    def infer_type(self, indptr: TensorType, minor: TensorType) -> TensorType:
        return indptr

    def reference(self, indptr: Array, minor: Array) -> Array:
        if len(indptr) - 1 != minor:
            raise GraphValueError(f"{_SQUARE} differ: {len(indptr) - 1} and {minor}")
        return indptr

    def lower(self, b: TensorBuilder, indptr: Tensor, minor: Tensor) -> Tensor:
        wanted = b.scalars.cast(b.item(minor), dtypes.INDEX)
        b.same_extent([indptr.extents[0] - 1, wanted], _SQUARE)
        return indptr


_SQUARE: Final = "the matrix must be square: its rows and columns"


def equations(name: str, A: Any, b: Any) -> tuple[Compressed, Variable, Variable]:
    """The vectors of a square matrix A, then its data and b in their common floating dtype; a real A keeps real
    data.

    Raises: GraphTypeError for a dense A or another rank of b; GraphValueError if A is not square or extents differ.
    """
    p, right = square_matrix(name, A), as_tensor(b)
    if right.ndim not in (1, 2):
        raise GraphTypeError(f"{name}: b must be a vector or a matrix", lines=[right.describe()])
    data, wide = both_floating(p.data, right)
    if is_complex(wide) and not is_complex(p.data):
        data = real(data)  # a real matrix stays one beside complex right-hand sides
    right = wide
    for extent, dim in ((p.rows, p.dims[0]), (p.columns, p.dims[1])):
        right = fitting(right, 0, extent, dim, f"{name}: extents of the matrix and of b")
    return p, data, right
