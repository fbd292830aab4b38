"""solve: x with A·x = b for a sparse A, by factors or by iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.graph.walk import evaluate_all
from aotensor.ops.complex.blocks import is_complex
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linalg.matrices import ON_ERROR
from aotensor.ops.shape.extent_checks import fitting
from aotensor.ops.shape.extents import extent_of
from aotensor.sparse.csm import parts_of
from aotensor.sparse.linear.complex_systems import solved_by_parts, with_real_diagonal
from aotensor.sparse.linear.direct import DirectSolve
from aotensor.sparse.linear.implicit import Solve, equations, square
from aotensor.sparse.linear.iterations import Equations, conjugate_gradients, stabilized_biconjugate_gradients
from aotensor.sparse.op import OTHER, Compressed

METHODS: Final = {"cg": conjugate_gradients, "bicgstab": stabilized_biconjugate_gradients}
DIRECT: Final = ("direct", "cholesky")
PRECONDITIONERS: Final = ("jacobi", None)
TOLERANCE: Final = 1e-10


@frozen_dataclass
class SparseSolve(Solve):
    """(data, indices, indptr, b, x0) → x by iterations from x0, which has no derivatives.

    b, x0: (n,) or (n, k), of the floating dtype of data. tol, maxiter, preconditioner, on_error: as in `solve`, also
    for the equations of the derivatives.

    Raises: GraphTypeError for other ranks or dtypes.
    """

    name: ClassVar[str] = "sparse_solve"
    notation: ClassVar[str] = "solve"
    shares_steps: ClassVar[bool] = True
    format: str
    method: str
    tol: float
    maxiter: int | None
    preconditioner: str | None
    on_error: str = "raise"

    def infer_type(
        self, data: TensorType, indices: TensorType, indptr: TensorType, b: TensorType, x0: TensorType
    ) -> TensorType:
        self.check_types(data, b, x0)
        return b

    def reference(self, *inputs: Array) -> Array:
        slots = [Variable(TensorType(x.dtype.name, (None,) * x.ndim)) for x in inputs]
        (found,) = evaluate_all(self.expand(slots), dict(zip(slots, inputs, strict=True)))
        return found

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        *_, b, x0 = inputs
        is_scaled = self.preconditioner is not None
        equations = Equations(self.matrix(inputs), b, x0, self.tol, self.maxiter, is_scaled, self.on_error)
        return [METHODS[self.method](equations)]

    def matrix(self, inputs: Sequence[Variable]) -> Compressed:
        return square(self.format, inputs)

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        op = replace(self, format=OTHER[self.format]) if is_transposed else self
        return op(*inputs[:3], b, zeros_like(b))  # type: ignore[no-any-return]


@coerced
def solve(
    A: Any,
    b: Any,
    method: str = "cg",
    tol: float = TOLERANCE,
    maxiter: int | None = None,
    x0: Any = None,
    preconditioner: str | None = "jacobi",
    on_error: str = "raise",
) -> Variable:
    """x with A·x = b.   A: sparse (n, n), b: (n,) or (n, k) → as b, in their common floating dtype

    method: "direct" by L·U factors of A with partial pivoting, in an order that keeps them sparse (also as `spsolve`);
    "cholesky" by L·D·Lᵀ factors of a symmetric positive definite A, of each pair of whose entries one is read;
    "cg" for a symmetric positive definite A, "bicgstab" for any other one: these need products with A alone. Symmetric
    means Hermitian for a complex A; of its diagonal factors read the real parts. Of iterations, tol: of |b − A·x|
    relative to |b|, for every column; not below 100 roundings of the dtype.
    maxiter: how many steps there may be, 10·n by default. x0: where to begin, zeros by default.
    preconditioner: "jacobi", the diagonal of A, or None. on_error: where there is no solution, "raise" (LinAlgError, at
    run time) or "nan", for all of x from factors, for a column from iterations, and in a batch for that matrix.

    Equations of complex numbers are solved as real ones of twice the size, in the order of the elements.

    Derivatives are those of the solution, by equations with A or Aᵀ that are solved in the same way, and not by the
    steps: with respect to A at its stored entries, with respect to x0 none.

    Raises: LinAlgError at run time for a matrix that is singular, or not positive definite, with the place of the
    pivot, or where the iteration has not come to a solution: b − A·x is looked at in the end; with on_error="nan" only
    for a "cholesky" of a matrix that stores an entry without the one across the diagonal. GraphTypeError for a dense
    A or another rank of b; GraphValueError if A is not square, extents differ (at run time where they are not known),
    or an option is unknown or not for the method.
    """
    check_choice("solve: method", method, (*DIRECT, *METHODS))
    check_choice("solve: preconditioner", preconditioner, PRECONDITIONERS)
    check_choice("solve: on_error", on_error, ON_ERROR)
    if isinstance(maxiter, bool) or not (maxiter is None or (isinstance(maxiter, int) and maxiter > 0)):
        raise GraphValueError(f"solve: maxiter must be None or a positive number of steps, not {maxiter!r}")
    p, data, right = equations("solve", A, b)
    if method == "cholesky" and is_complex(data):
        data = with_real_diagonal(replace(p, data=data)).data
    if method in DIRECT:
        if x0 is not None or maxiter is not None or tol != TOLERANCE or preconditioner != "jacobi":
            raise GraphValueError(
                f"solve: method {method!r} factorises, and uses neither x0 nor tol, maxiter or preconditioner"
            )
        op: Solve = DirectSolve(p.format, method == "cholesky", is_of_parts=is_complex(data), on_error=on_error)
        return _solved(op, replace(p, data=data), right)
    start = zeros_like(right) if x0 is None else _start(x0, right)
    op = SparseSolve(p.format, method, float(tol), maxiter, preconditioner, on_error)
    return _solved(op, replace(p, data=data), right, start)


def _solved(op: Solve, p: Compressed, *sides: Variable) -> Variable:
    """The solution by an op on vectors; complex equations are solved as real ones."""
    if not is_complex(*sides):
        return op(p.data, p.indices, p.indptr, *sides)  # type: ignore[no-any-return]
    return solved_by_parts(lambda matrix, *reals: _solved(op, parts_of(matrix), *reals), p, *sides)


def _start(x0: Any, b: Variable) -> Variable:
    found = cast(as_tensor(x0), b.dtype)
    if found.ndim != b.ndim:
        raise GraphTypeError(
            f"solve: x0 must have the rank of b, {b.ndim}, not {found.ndim}", lines=[found.describe(), b.describe()]
        )
    for axis in range(b.ndim):
        found = fitting(found, axis, extent_of(b, axis), b.tensor_type.shape[axis], "solve: extents of b and of x0")
    return found


@coerced
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    tol: float = TOLERANCE,
    maxiter: int | None = None,
    preconditioner: str | None = "jacobi",
    on_error: str = "raise",
) -> Variable:
    """x with A·x = b by conjugate gradients, for a symmetric positive definite sparse A.   See `solve`."""
    return solve(A, b, "cg", tol, maxiter, x0, preconditioner, on_error)


@coerced
def spsolve(A: Any, b: Any, *, on_error: str = "raise") -> Variable:
    """x with A·x = b by L·U factors of a sparse A, as SciPy's `spsolve`.   See `solve`."""
    return solve(A, b, "direct", on_error=on_error)
