"""The steps of a direct solution as ops on vectors: elimination order, factorisation, solves with the factors.

An order follows from the pattern alone, so that of a pattern that is constant is found when the function is compiled.
Factors of one matrix are found once, however many equations with it or its transpose there are: equal ops are one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphLinAlgError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable, Variables
from aotensor.kernels.language import run_kernel
from aotensor.ops.batching import ExtentsOp, check_nondifferentiable
from aotensor.ops.gradient_control import grad_not_implemented
from aotensor.ops.linear import LinearOp
from aotensor.ops.shape.axes import dimshuffle, matrix_transpose
from aotensor.ops.shape.extents import extent_of, product
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.direct import cholesky, lu, lu_solve, ordering
from aotensor.sparse.patterns import IndexOp, OtherFormat, PatternRule

TOLERANCE: Final = 0.1
"""A diagonal element is the pivot if it is not smaller than this, relative to the largest element that could be."""
PARTS_OF_TABLE: Final = 6
LENGTH_OF_INFO: Final = 6


@frozen_dataclass
class EliminationOrder(PatternRule):
    """(indices, indptr, and those of the transposed pattern) → (order, is_full), both int64.   (n,), (1,)

    order: of the columns, such that factors stay sparse: by minimum degree in the graph of A + Aᵀ if all diagonal
    elements are stored, when is_full is 1, else of Aᵀ·A, whose factors hold those of A whichever rows are pivots.
    """

    name: ClassVar[str] = "elimination_order"
    notation: ClassVar[str] = "lu_factor({0}).order"

    def infer_type(
        self, indices: TensorType, indptr: TensorType, columns: TensorType, rows: TensorType
    ) -> tuple[TensorType, ...]:
        self.index_dtype(indices, indptr, columns, rows)
        (slices,) = indptr.shape
        return TensorType("int64", (slices - 1 if isinstance(slices, int) else None,)), TensorType("int64", (1,))

    def reference(self, indices: Array, indptr: Array, columns: Array, rows: Array) -> tuple[Array, ...]:
        n = len(indptr) - 1
        is_full = run_kernel(ordering.has_diagonal, n, indptr, indices)
        dense = ordering.longest_sparse(n)
        graph = n, indptr, indices, rows, columns, is_full, dense
        room = run_kernel(ordering.graph_room, *graph)
        lists, spare = (np.zeros(ordering.size_of_lists(n, room), np.int64) for _ in range(2))
        start, length, *work = (np.zeros(n + 1, np.int64) for _ in range(11))
        order = np.zeros(n, np.int64)
        used = run_kernel(ordering.neighbours, *graph, start, length, lists, work[0])
        run_kernel(ordering.minimum_degree, n, dense, len(lists), used, start, length, lists, spare, *work, order)
        return order, np.array([is_full])

    def lower(
        self, b: TensorBuilder, indices: Tensor, indptr: Tensor, columns: Tensor, rows: Tensor
    ) -> tuple[Tensor, ...]:
        n = indptr.extents[0] - 1
        return b.direct("order", [indices, indptr, columns, rows], [("int64", (n,)), ("int64", (1,))])


def elimination_order(indices: Array, indptr: Array) -> tuple[Array, ...]:
    """The outputs of EliminationOrder for a constant pattern."""
    _, columns, rows = OtherFormat().reference(indices, indptr, np.asarray(len(indptr) - 1))
    return EliminationOrder().reference(indices, indptr, columns, rows)


class FactorsOp(IndexOp):
    """An op whose outputs are factors. It has no derivatives: `DirectSolve` differentiates the solution instead."""

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [grad_not_implemented(self, position, x) for position, x in enumerate(inputs)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [grad_not_implemented(self, 0, inputs[0]) for _ in outputs]


@frozen_dataclass
class LuFactors(ExtentsOp, FactorsOp):
    """(data, indices, indptr, order, is_full) → factors of the matrix in compressed columns, as `sparse.direct.lu`
    says.

    (position (n,), table (6·n + 6,), info (6,), all int64; rows, segments in the dtype of indices; lower, upper as
    data). slice: what the user calls a column of it, "column", or "row" of what is its transpose. The factors are
    steps to a solution, which has the derivatives (`DirectSolve`); they have none. on_error: for a singular matrix,
    "raise", or "nan": then info[0] is not 0, the factors end at that column, and solutions with them are nan.

    Raises: GraphLinAlgError at run time for a matrix that is singular, unless on_error is "nan".
    """

    name: ClassVar[str] = "lu_factors"
    notation: ClassVar[str] = "lu_factor({0})"
    slice: str = "column"
    on_error: str = "raise"

    @property
    def message(self) -> str:
        return f"the matrix is singular: elimination finds no pivot in {self.slice} {{found}}"

    def infer_type(
        self, data: TensorType, indices: TensorType, indptr: TensorType, order: TensorType, is_full: TensorType
    ) -> tuple[TensorType, ...]:
        self.index_dtype(indices, indptr)
        (n,) = order.shape
        table = PARTS_OF_TABLE * (n + 1) if isinstance(n, int) else None
        known = [TensorType("int64", (extent,)) for extent in (n, table, LENGTH_OF_INFO)]
        return *known, *(TensorType(x.dtype, (None,)) for x in (indices, data, indices, data))

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        found = factors_of(*inputs)
        info = found[2]
        if info[0] and self.on_error == "raise":
            raise GraphLinAlgError(self.message.format(found=info[0] - 1))
        return found

    def lower(
        self, b: TensorBuilder, data: Tensor, indices: Tensor, indptr: Tensor, order: Tensor, is_full: Tensor
    ) -> tuple[Tensor, ...]:
        (n,), v = order.extents, b.scalars
        table = (n + 1) * PARTS_OF_TABLE
        known: list[tuple[str, tuple[Extent | None]]] = [("int64", (x,)) for x in (n, table, LENGTH_OF_INFO)]
        own: list[tuple[str, tuple[Extent | None]]] = [(x.dtype, (None,)) for x in (indices, data, indices, data)]
        found = b.direct("lu", [data, indices, indptr, order, is_full], [*known, *own])
        if self.on_error == "raise":
            place = v.cast(v.load(found[2], 0), dtypes.INDEX)
            b.check(v.compare("eq", place, v.index(0)), self.message, place - 1, kind="linalg")
        return found


def factors_of(data: Array, indices: Array, indptr: Array, order: Array, is_full: Array) -> tuple[Array, ...]:
    """The outputs of LuFactors by the kernel; info[0] is 1 plus the column without a pivot, or 0."""
    n = len(order)
    room = 8 * len(data) + 4 * n + 4
    position, table, info, *marks = (np.zeros(size, np.int64) for size in (n, 6 * n + 6, 6, *[n + 1] * LU_MARKS))
    x, part, sums = (np.zeros(n, data.dtype) for _ in range(3))
    grown = [np.zeros(room, dtype) for dtype in (np.int64, data.dtype, np.int64, data.dtype)]
    run_kernel(lu.begin_factors, n, position, table, info, x, *marks[:2])
    tolerance = TOLERANCE if is_full[0] else 1.0
    k = 0
    while k < n and not info[0]:
        known = n, tolerance, room, indptr, indices, data, order, position, table
        k = run_kernel(lu.factor_columns, k, *known, *grown, info, x, part, sums, *marks)
        room *= 2
        grown = [np.resize(v, room) for v in grown]
    if not info[0]:
        run_kernel(lu.name_rows, n, position, table, grown[0], info)
    return position, table, info, *(v[:count] for v, count in zip(grown, info[2:], strict=True))


LU_MARKS: Final = 10
"""The workspaces of `lu.factor_columns` that hold n integers each."""


@frozen_dataclass
class LuSolve(LinearOp):
    """(b, order, and the outputs of LuFactors) → x with A·x = b, or Aᵀ·x = b.   b, x: (n,) or (n, k)"""

    name: ClassVar[str] = "sparse_lu_solve"
    notation: ClassVar[str] = "lu_solve(..., {0})"
    is_transposed: bool

    def infer_type(self, b: TensorType, *factors: TensorType) -> TensorType:
        return b

    def reference(self, b: Array, order: Array, *factors: Array) -> Array:
        n, many, x = len(b), int(np.prod(b.shape[1:])), np.zeros(b.size, b.dtype)
        position, table, info, *values = factors
        work = np.zeros(b.size, b.dtype), np.zeros(n, b.dtype)
        flags = n, many, int(self.is_transposed)
        run_kernel(lu_solve.solve_factored, *flags, order, position, table, info, *values, b.ravel(), *work, x)
        return x.reshape(b.shape)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        adjoint = replace(self, is_transposed=not self.is_transposed)
        return adjoint(cotangent, *inputs[1:])  # type: ignore[no-any-return]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        b, *factors = inputs
        return [solved_as_columns(lambda columns: self(columns, *factors), b)]

    def lower(self, b: TensorBuilder, right: Tensor, *factors: Tensor) -> Tensor:
        kind = "lu_solve_transposed" if self.is_transposed else "lu_solve"
        (x,) = b.direct(kind, [right, *factors], [(right.dtype, right.extents)])
        return x


@frozen_dataclass
class CholeskyFactors(ExtentsOp, FactorsOp):
    """(data, indices, indptr, order) → factors of a symmetric matrix, as `sparse.direct.cholesky` says.

    (table (4·n + 4,), info (4,), both int64; rows in the dtype of indices; lower as data). They have no derivatives, as
    those of LuFactors. on_error: for a matrix that is not positive definite, "raise" or "nan", as in LuFactors.

    Raises: GraphLinAlgError at run time for a matrix that is not positive definite, unless on_error is "nan", and for
    one that stores an entry without the one across the diagonal.
    """

    name: ClassVar[str] = "cholesky_factors"
    notation: ClassVar[str] = "cholesky({0})"
    slice: str = "column"
    on_error: str = "raise"

    @property
    def message(self) -> str:
        return f"the matrix is not positive definite: elimination finds no positive pivot in {self.slice} {{found}}"

    @property
    def unpaired(self) -> str:
        return "the matrix is not symmetric: row and column {found} store entries at different places"

    def infer_type(
        self, data: TensorType, indices: TensorType, indptr: TensorType, order: TensorType
    ) -> tuple[TensorType, ...]:
        self.index_dtype(indices, indptr)
        (n,) = order.shape
        table = TensorType("int64", (4 * (n + 1) if isinstance(n, int) else None,))
        return table, TensorType("int64", (4,)), *(TensorType(x.dtype, (None,)) for x in (indices, data))

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        found = symmetric_factors_of(*inputs)
        place = found[1][0]
        if place < 0:
            raise GraphLinAlgError(self.unpaired.format(found=-1 - place))
        if place and self.on_error == "raise":
            raise GraphLinAlgError(self.message.format(found=place - 1))
        return found

    def lower(
        self, b: TensorBuilder, data: Tensor, indices: Tensor, indptr: Tensor, order: Tensor
    ) -> tuple[Tensor, ...]:
        (n,), v = order.extents, b.scalars
        known: list[tuple[str, tuple[Extent | None]]] = [("int64", ((n + 1) * 4,)), ("int64", (4,))]
        own: list[tuple[str, tuple[Extent | None]]] = [(x.dtype, (None,)) for x in (indices, data)]
        found = b.direct("cholesky", [data, indices, indptr, order], [*known, *own])
        place = v.cast(v.load(found[1], 0), dtypes.INDEX)
        b.check(place >= 0, self.unpaired, -place - 1, kind="linalg")
        if self.on_error == "raise":
            b.check(place <= 0, self.message, place - 1, kind="linalg")
        return found


def symmetric_factors_of(data: Array, indices: Array, indptr: Array, order: Array) -> tuple[Array, ...]:
    """The outputs of CholeskyFactors by the kernel; info[0] identifies the column at fault."""
    n = len(order)
    table, info, position, *marks = (np.zeros(size, np.int64) for size in (4 * n + 4, 4, *[n + 1] * 9))
    rows = np.zeros(2 * len(data) + 2 * n + 4, np.int64)
    run_kernel(cholesky.begin_patterns, n, order, position, table, info, *marks[:2])
    unpaired = np.zeros(len(indices), np.int64)
    info[0] = -run_kernel(cholesky.first_unpaired, n, indptr, indices, marks[2], unpaired, marks[3])
    k = 0
    while k < n and not info[0]:
        known = n, len(rows), indptr, indices, order, position, table
        k = run_kernel(cholesky.find_patterns, k, *known, rows, info, *marks[:5])
        rows = np.resize(rows, 2 * len(rows))
    run_kernel(cholesky.sort_rows, n, table, rows, info, marks[0], np.zeros(info[2], np.int64))
    lower, pattern = np.zeros(info[3], data.dtype), (n, indptr, indices, data, order, position, table, rows)
    node_of, *rest = marks[3], *marks[:3], marks[4], np.zeros(n, data.dtype)
    run_kernel(cholesky.factor_nodes, *pattern, lower, info, node_of, *rest)
    return table, info, rows[: info[2]], lower


@frozen_dataclass
class CholeskySolve(LinearOp):
    """(b, order, and the outputs of CholeskyFactors) → x with A·x = b for a symmetric A.   b, x: (n,) or (n, k)"""

    name: ClassVar[str] = "sparse_cholesky_solve"
    notation: ClassVar[str] = "cho_solve(..., {0})"

    def infer_type(self, b: TensorType, *factors: TensorType) -> TensorType:
        return b

    def reference(self, b: Array, *factors: Array) -> Array:
        n, many, x = len(b), int(np.prod(b.shape[1:])), np.zeros(b.size, b.dtype)
        work = np.zeros(b.size, b.dtype), np.zeros(n, b.dtype)
        run_kernel(lu_solve.solve_symmetric, n, many, *factors, b.ravel(), *work, x)
        return x.reshape(b.shape)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return self(cotangent, *inputs[1:])  # type: ignore[no-any-return]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        b, *factors = inputs
        return [solved_as_columns(lambda columns: self(columns, *factors), b)]

    def lower(self, b: TensorBuilder, right: Tensor, *factors: Tensor) -> Tensor:
        (x,) = b.direct("cholesky_solve", [right, *factors], [(right.dtype, right.extents)])
        return x


def solved_as_columns(solve: Callable[..., Variable], *sides: Variable) -> Variable:
    """`solve` for right-hand sides of one matrix, (samples, n) or (samples, n, k), which are merged as columns."""
    if sides[0].ndim == 2:
        return matrix_transpose(solve(*map(matrix_transpose, sides)))
    samples, n, width = (extent_of(sides[0], axis) for axis in range(3))
    columns = (reshape(dimshuffle(b, [1, 0, 2]), [n, product([samples, width])]) for b in sides)
    return dimshuffle(reshape(solve(*columns), [n, samples, width]), [1, 0, 2])
