"""solve: x with A·x = b for a sparse A, with the derivatives of the solution, whatever steps have led to it.

A·dx = db − dA·x,    b̄ = A⁻ᵀ·x̄,    Ā = −b̄·xᵀ at the stored entries of A
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.coercion import coerced, one_of
from aotensor.graph.op import Apply, Op, disconnected, is_disconnected, sum_terms
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.graph.walk import evaluate_all
from aotensor.ops.batching import check_steering, repeated
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import add, mul
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.linalg.matrices import both_floating
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.shape.axes import dimshuffle, matrix_transpose
from aotensor.ops.shape.extents import extent_of, product
from aotensor.ops.shape.fitting import fitting
from aotensor.ops.shape.join import join
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.compressed import at_columns, at_rows
from aotensor.sparse.csm import parts_of
from aotensor.sparse.linear.iterations import Equations, conjugate_gradients, stabilized_biconjugate_gradients
from aotensor.sparse.op import OTHER, Parts, as_sparse
from aotensor.sparse.product.dots import times

METHODS: Final = {"cg": conjugate_gradients, "bicgstab": stabilized_biconjugate_gradients}
PRECONDITIONERS: Final = ("jacobi", None)


@dataclass(frozen=True)
class SparseSolve(Op):
    """(data, indices, indptr, b, x0) → x with A·x = b for the square matrix A of these vectors.

    b, x0: (n,) or (n, k), of the floating dtype of data. The derivatives are those of the exact solution: x0 has none.
    tol, maxiter, preconditioner: as in `solve`, also for the equations of the derivatives.

    Raises: GraphTypeError for other ranks or dtypes.
    """

    name: ClassVar[str] = "sparse_solve"
    format: str
    method: str
    tol: float
    maxiter: int | None
    preconditioner: str | None

    def infer_type(
        self, data: TensorType, indices: TensorType, indptr: TensorType, b: TensorType, x0: TensorType
    ) -> TensorType:
        if b.rank not in (1, 2) or (x0.dtype, x0.rank, data.dtype) != (b.dtype, b.rank, b.dtype):
            raise GraphTypeError(f"{self.name}: b is a vector or a matrix in the dtype of A, and x0 is like it")
        return b

    def reference(self, *inputs: Array) -> Array:
        slots = [Variable(TensorType(x.dtype.name, (None,) * x.ndim)) for x in inputs]
        (found,) = evaluate_all(self.expand(slots), dict(zip(slots, inputs, strict=True)))
        return found

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        *_, b, x0 = inputs
        equations = Equations(self._parts(inputs), b, x0, self.tol, self.maxiter, self.preconditioner is not None)
        return [METHODS[self.method](equations)]

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        (data, indices, indptr, _, _), (x,), (ct,) = inputs, outputs, cotangents
        for_b = replace(self, format=OTHER[self.format])(data, indices, indptr, ct, zeros_like(ct))
        p = self._parts(inputs)
        entries = mul(at_rows(p, for_b), at_columns(p, x))
        for_data = -(entries if x.ndim == 1 else sum_of(entries, axis=1))
        return [for_data, disconnected(), disconnected(), for_b, disconnected()]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        (data, indices, indptr, _, _), (x,), (of_data, _, _, of_b, _) = inputs, outputs, tangents
        terms = [] if is_disconnected(of_b) else [of_b]
        if not is_disconnected(of_data):
            terms.append(-times(replace(self._parts(inputs), data=of_data), x))
        if not terms:
            return [disconnected()]
        right = sum_terms(terms, add)
        return [self(data, indices, indptr, right, zeros_like(right))]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True], [False], [False], [True], [False]]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        """Right-hand sides of one matrix are columns; matrices that differ are the blocks of one on the diagonal."""
        check_steering(self, [False, *is_batched[1:3]])
        data, indices, indptr, *sides = inputs
        example = inputs[list(is_batched).index(True)]
        b, x0 = (x if on else repeated(x, example) for x, on in zip(sides, is_batched[3:], strict=True))
        if is_batched[0]:
            return [self._blocks(data, indices, indptr, b, x0)]
        if b.ndim == 2:
            return [matrix_transpose(self(data, indices, indptr, matrix_transpose(b), matrix_transpose(x0)))]
        samples, n, width = (extent_of(b, axis) for axis in range(3))
        columns = [reshape(dimshuffle(x, [1, 0, 2]), [n, product([samples, width])]) for x in (b, x0)]
        found = self(data, indices, indptr, *columns)
        return [dimshuffle(reshape(found, [n, samples, width]), [1, 0, 2])]

    def _blocks(self, data: Variable, indices: Variable, indptr: Variable, b: Variable, x0: Variable) -> Variable:
        """The blocks share their steps, so right-hand sides are brought to one length before."""
        samples, n, rest = extent_of(b, 0), extent_of(b, 1), [extent_of(b, axis) for axis in range(2, b.ndim)]
        number = dimshuffle(cast(arange(samples), "int64"), [0, None])
        columns = cast(indices, "int64") + number * as_tensor(n)
        starts = cast(indptr[:-1], "int64") + number * as_tensor(extent_of(data, 1))
        flat = [reshape(x, [product([samples, extent_of(x, 1)])]) for x in (data, columns, starts)]
        end = cast(as_tensor(product([samples, extent_of(data, 1)])), "int64")
        height = _length(b)
        sides = [reshape(x / height, [product([samples, n]), *rest]) for x in (b, x0)]
        found = self(flat[0], flat[1], join(0, flat[2], dimshuffle(end, [None])), *sides)
        return mul(height, reshape(found, [samples, n, *rest]))

    def _parts(self, inputs: Sequence[Variable]) -> Parts:
        data, indices, indptr, b, _ = inputs
        n, dim = extent_of(b, 0), b.tensor_type.shape[0]
        return Parts(self.format, data, indices, indptr, n, n, (dim, dim), is_canonical=False)


def _length(b: Variable) -> Variable:
    """|b| along axis 1, 1 for zeros.   (s, n, …) → (s, 1, …)"""
    square = sum_of(b * b, axis=1, keepdims=True)
    return sqrt(switch(eq(square, 0), constant(1, dtype=b.dtype), square))


@coerced
def solve(
    A: Any,
    b: Any,
    method: str = "cg",
    tol: float = 1e-10,
    maxiter: int | None = None,
    x0: Any = None,
    preconditioner: str | None = "jacobi",
) -> Variable:
    """x with A·x = b.   A: sparse (n, n), b: (n,) or (n, k) → as b, in their common floating dtype

    method: "cg" for a symmetric positive definite A, "bicgstab" for any other one; they need products with A alone.
    tol: of |b − A·x| relative to |b|, for every column; not below 100 roundings of the dtype.
    maxiter: how many steps there may be, 10·n by default. x0: where to begin, zeros by default.
    preconditioner: "jacobi", the diagonal of A, or None.

    Derivatives are those of the solution, by equations with A or Aᵀ that are solved in the same way, and not by the
    steps: with respect to A at its stored entries, with respect to x0 none.

    Raises: LinAlgError at run time where the iteration has not come to a solution: b − A·x is looked at in the end.
    GraphTypeError for a dense A or another rank of b; GraphValueError if A is not square, extents differ (at run time
    where they are not known) or an option is unknown; UnsupportedError for method="direct".
    """
    if isinstance(method, str) and method == "direct":
        hint = "method='cg' for a symmetric positive definite matrix, else 'bicgstab'"
        raise UnsupportedError("solve: a direct method for sparse matrices is not there", hint=hint)
    one_of("solve: method", method, METHODS)
    one_of("solve: preconditioner", preconditioner, PRECONDITIONERS)
    if isinstance(maxiter, bool) or not (maxiter is None or (isinstance(maxiter, int) and maxiter > 0)):
        raise GraphValueError(f"solve: maxiter is a number of steps, not {maxiter!r}")
    matrix = as_sparse(A)
    rows, columns = matrix.sparse_type.shape
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise GraphValueError(f"solve: the matrix is not square, {rows} by {columns}", lines=[matrix.describe()])
    p = parts_of(matrix)
    right = as_tensor(b)
    if right.ndim not in (1, 2):
        raise GraphTypeError("solve: b is a vector or a matrix", lines=[right.describe()])
    data, right = both_floating(p.data, right)
    for extent, dim in ((p.rows, p.dims[0]), (p.columns, p.dims[1])):
        right = fitting(right, 0, extent, dim, "solve: extents of the matrix and of b")
    start = zeros_like(right) if x0 is None else _start(x0, right)
    op = SparseSolve(p.format, method, float(tol), maxiter, preconditioner)
    return op(data, p.indices, p.indptr, right, start)  # type: ignore[no-any-return]


def _start(x0: Any, b: Variable) -> Variable:
    found = cast(as_tensor(x0), b.dtype)
    if found.ndim != b.ndim:
        raise GraphTypeError("solve: x0 has another rank than b", lines=[found.describe(), b.describe()])
    for axis in range(b.ndim):
        found = fitting(found, axis, extent_of(b, axis), b.tensor_type.shape[axis], "solve: extents of b and of x0")
    return found


@coerced
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    tol: float = 1e-10,
    maxiter: int | None = None,
    preconditioner: str | None = "jacobi",
) -> Variable:
    """x with A·x = b by conjugate gradients, for a symmetric positive definite sparse A.   See `solve`."""
    return solve(A, b, "cg", tol, maxiter, x0, preconditioner)
