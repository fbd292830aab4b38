"""Gaussian fields with a sparse precision matrix A: log |A|, entries of A⁻¹, draws.

d log|A| = ⟨Z, dA⟩,  Z = A⁻¹,  dZ = −Z·dA·Z at the stored entries. Z is the gradient of log |A|, so all derivatives of
Z are symmetric in their directions: each is its own adjoint, and one op has all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, Op, connected, disconnected, sum_terms
from aotensor.graph.operations import dense
from aotensor.graph.sparse_type import SparseVariable, scipy_sparse
from aotensor.graph.variable import Variable, Variables, as_tensor, constant
from aotensor.graph.walk import evaluate_all
from aotensor.ops.batching import check_nondifferentiable, repeated
from aotensor.ops.complex.blocks import is_complex
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import maximum
from aotensor.ops.elementwise.elementary import log, sqrt
from aotensor.ops.gradient_control import grad_not_implemented
from aotensor.ops.linalg.matrices import floating
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, extents_of, product
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.csm import matrix_of
from aotensor.sparse.direct.fields import CholeskyPivots, HalfSolve, SelectedEntries
from aotensor.sparse.direct.ops import solved_as_columns
from aotensor.sparse.linear.complex_systems import real_matrix, with_real_diagonal
from aotensor.sparse.linear.direct import symmetric_factors, symmetric_solver
from aotensor.sparse.linear.implicit import diagonal_blocks, equations, square_matrix
from aotensor.sparse.linear.solve import solve
from aotensor.sparse.op import Compressed
from aotensor.sparse.reformat import as_compressed

_COLUMNS: Final = 256
"""The reference solves for so many columns of the inverse at once."""


class FieldOp(Op):
    """An op on (data, indices, indptr, …) of a symmetric positive definite A.   slice: a compressed row or column"""

    slice: str

    def sizes(self, inputs: Sequence[Variable]) -> SymbolicExtent:
        """The extent n of the matrix, as the size that kernels need."""
        return extent_of(inputs[2], 0) - 1


@frozen_dataclass
class LogDeterminants(FieldOp):
    """(data, indices, indptr, count) → log |A| of `count` blocks of equal size on the diagonal.   (count,)

    Raises: GraphLinAlgError at run time for a matrix that is not symmetric or not positive definite.
    """

    name: ClassVar[str] = "sparse_log_determinants"
    notation: ClassVar[str] = "slogdet({0})"
    slice: str
    dim: Dim = None

    def infer_type(self, data: TensorType, *rest: TensorType) -> TensorType:
        return TensorType(data.dtype, (self.dim,))

    def reference(self, data: Array, indices: Array, indptr: Array, count: Array) -> Array:
        if len(indptr) == 1 or not count:
            return np.zeros(int(count), data.dtype)
        with np.errstate(all="ignore"):
            found: Array = np.log(symmetric_solver(self.slice, data, indices, indptr).pivots)
        return np.asarray(found.reshape(int(count), -1).sum(axis=1), data.dtype)

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        *matrix, count = inputs
        order, factors = symmetric_factors(self.slice, *matrix)
        logarithms = log(CholeskyPivots()(order, *factors))
        rows = self.sizes(inputs)
        if self.dim == 1:
            return [reshape(sum_of(logarithms), [1])]
        return [sum_of(reshape(logarithms, [count, _share(rows, count)]), axis=1)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        rows = self._by_matrix(inputs, SelectedInverse(self.slice)(*inputs[:3]))
        term = rows * dimshuffle(cotangents[0], [0, None])
        return [reshape(term, extents_of(inputs[0])), *(disconnected() for _ in inputs[1:])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        terms = SelectedInverse(self.slice)(*inputs[:3]) * tangents[0]
        return [sum_of(self._by_matrix(inputs, terms), axis=1)]

    def _by_matrix(self, inputs: Sequence[Variable], entries: Variable) -> Variable:
        count: SymbolicExtent = self.dim if isinstance(self.dim, int) else inputs[3]
        return reshape(entries, [count, _share(extent_of(inputs[0], 0), count)])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[k == 0] for k in range(len(node.inputs))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        data, indices, indptr, count = inputs
        samples = extent_of(data, 0)
        flat = diagonal_blocks(data, indices, indptr, self.sizes(inputs))
        found = LogDeterminants(self.slice)(*flat, as_tensor(product([samples, count])))
        return [reshape(found, [samples, self.dim if isinstance(self.dim, int) else count])]


def _share(whole: SymbolicExtent, count: SymbolicExtent) -> SymbolicExtent:
    """whole / count, for a count that divides `whole`; 0 if both are 0."""
    if isinstance(count, int):
        return whole // max(count, 1)
    return as_tensor(whole) // maximum(count, 1)


@frozen_dataclass
class SelectedInverse(FieldOp):
    """(data, indices, indptr, *directions) → A⁻¹ at the entries of A, or its derivative along directions.   (nnz,)

    directions: as data; the symmetric parts of the matrices that they are count. Of no directions it is A⁻¹ itself.
    """

    name: ClassVar[str] = "sparse_selected_inverse"
    notation: ClassVar[str] = "selected_inverse({0})"
    slice: str

    def infer_type(self, data: TensorType, *rest: TensorType) -> TensorType:
        return data

    def reference(self, data: Array, indices: Array, indptr: Array, *directions: Array) -> Array:
        """Σ over all orders of the directions of (−1)^k·Z·C₁·Z·…·C_k·Z, column by column."""
        n, found = len(indptr) - 1, np.zeros(len(indices))
        if n == 0:
            return found.astype(data.dtype)
        factors = symmetric_solver(self.slice, data, indices, indptr)
        csc = scipy_sparse().csc_array
        changes = [csc((c.astype(np.float64), indices, indptr), (n, n)) for c in directions]
        changes = [(c + c.T) / 2 for c in changes]
        for start in range(0, n, _COLUMNS):
            columns = np.arange(start, min(start + _COLUMNS, n))
            unit = np.zeros((n, len(columns)))
            unit[columns, columns - start] = 1
            entries = np.arange(indptr[start], indptr[columns[-1] + 1])
            owners = np.repeat(columns, np.diff(indptr)[columns]) - start
            for order in permutations(changes):
                x = factors.solve(unit)
                for change in order:
                    x = -factors.solve(change @ x)
                found[entries] += x[indices[entries], owners]
        return found.astype(data.dtype)

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        data, indices, indptr, *directions = inputs
        order, factors = symmetric_factors(self.slice, data, indices, indptr)
        given = stack(directions) if directions else zeros([0, extent_of(data, 0)], data.dtype)
        return [SelectedEntries(len(directions))(given, indices, indptr, order, *factors)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        positions = range(len(inputs))
        return [disconnected() if k in (1, 2) else self._along(k, inputs, cotangents[0]) for k in positions]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        terms = [self._along(k, inputs, t) for k, t in connected(tangents).items()]
        return [sum_terms(terms, dense.add)]

    def _along(self, position: int, inputs: Sequence[Variable], direction: Variable) -> Variable:
        """The derivative of the op with respect to one input along a direction; this linear map is its own adjoint."""
        if position == 0:
            return self(*inputs, direction)  # type: ignore[no-any-return]
        return self(*(direction if k == position else x for k, x in enumerate(inputs)))  # type: ignore[no-any-return]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[k not in (1, 2)] for k in range(len(node.inputs))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, [False, *is_batched[1:3]])
        example = inputs[list(is_batched).index(True)]
        data, indices, indptr, *directions = (
            x if on or k in (1, 2) else repeated(x, example)
            for k, (x, on) in enumerate(zip(inputs, is_batched, strict=True))
        )
        flat = diagonal_blocks(data, indices, indptr, self.sizes(inputs))
        along = [reshape(x, extents_of(flat[0])) for x in directions]
        return [reshape(self(*flat, *along), extents_of(data))]


@frozen_dataclass
class PrecisionDraws(FieldOp):
    """(data, indices, indptr, z) → x = R·z with R·Rᵀ = A⁻¹.   z, x: (n,) or (n, k)

    R = P·L⁻ᵀ·D^(−½)·Pᵀ. It is linear in z; derivatives with respect to A are not there.
    """

    name: ClassVar[str] = "sparse_precision_draws"
    notation: ClassVar[str] = "precision_draws({0}, {3})"
    slice: str
    is_transposed: bool = False

    def infer_type(self, data: TensorType, indices: TensorType, indptr: TensorType, z: TensorType) -> TensorType:
        return z

    def reference(self, data: Array, indices: Array, indptr: Array, z: Array) -> Array:
        slots = [Variable(TensorType(x.dtype.name, (None,) * x.ndim)) for x in (data, indices, indptr, z)]
        (found,) = evaluate_all(self.expand(slots), dict(zip(slots, (data, indices, indptr, z), strict=True)))
        return found

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        *matrix, z = inputs
        order, factors = symmetric_factors(self.slice, *matrix)
        scale = sqrt(CholeskyPivots()(order, *factors))
        scale = scale if z.ndim == 1 else dimshuffle(scale, [0, None])
        if self.is_transposed:
            return [HalfSolve(True)(z, order, *factors) / scale]
        return [HalfSolve()(z / scale, order, *factors)]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        for_z = PrecisionDraws(self.slice, not self.is_transposed)(*inputs[:3], cotangents[0])
        return [grad_not_implemented(self, 0, inputs[0], _FIXED), disconnected(), disconnected(), for_z]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        if 0 in connected(tangents):
            return [grad_not_implemented(self, 0, inputs[0], _FIXED)]
        return [self(*inputs[:3], tangents[3])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[k in (0, 3)] for k in range(len(node.inputs))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, [False, *is_batched[1:3]])
        data, indices, indptr, z = inputs
        z = z if is_batched[3] else repeated(z, data)
        if not is_batched[0]:
            return [solved_as_columns(lambda columns: self(data, indices, indptr, columns), z)]
        samples, n, *rest = extents_of(z)
        flat = diagonal_blocks(data, indices, indptr, n)
        return [reshape(self(*flat, reshape(z, [product([samples, n]), *rest])), extents_of(z))]


_FIXED: Final = "precision_draws has a derivative with respect to z only, not to A"


class Slogdet(NamedTuple):
    """sign: 1. logabsdet: log |A|. Both are scalars of the floating dtype of the matrix."""

    sign: Variable
    logabsdet: Variable


@coerced
def slogdet(A: Any) -> Slogdet:
    """(1, log |A|) of a sparse symmetric positive definite A, by its L·D·Lᵀ factors.   (n, n) → (), ()

    One entry of each pair across the diagonal is read, and of complex A, which is Hermitian, the real parts of the
    diagonal. A matrix without rows gives (1, 0).

    The derivative is that of the function of all matrices: A⁻ᵀ at the stored entries, as `selected_inverse` gives it,
    at the cost of about two factorisations; to any order. Factors are shared with `solve(A, b, "cholesky")`.

    Raises: LinAlgError at run time for a matrix that is not positive definite, with the place of the pivot, or that
    stores an entry without the one across the diagonal. GraphTypeError for a dense A; GraphValueError if A is not
    square (at run time where that is not known).
    """
    p = _square("slogdet", A)
    if is_complex(p.data):
        half = slogdet(real_matrix(with_real_diagonal(p))).logabsdet * 0.5
        return Slogdet(constant(1, dtype=half.dtype), half)
    one = constant(np.int64(1))
    (found,) = LogDeterminants(_slice(p), 1).apply(p.data, p.indices, p.indptr, one).outputs
    return Slogdet(constant(1, dtype=found.dtype), found[0])


@coerced
def selected_inverse(A: Any) -> SparseVariable:
    """A⁻¹ at the stored entries of a sparse symmetric positive definite A.   (n, n) → (n, n), with the pattern of A

    The entries follow from those of the factors without more of the inverse (Takahashi's equations), at the cost of
    about two factorisations. Variances of a Gaussian field with precision A are its diagonal,
    `sp.diag(sp.selected_inverse(A))`.

    Derivatives, −A⁻¹·dA·A⁻¹ at the stored entries for the symmetric part of dA, come from the same recursion, to any
    order; each costs three times as much as the one before.

    Raises: as `slogdet`; GraphTypeError for a complex matrix.
    """
    p = _square("selected_inverse", A)
    if is_complex(p.data):
        raise GraphTypeError(
            "selected_inverse: expected a real matrix", lines=[as_compressed(A).describe()],
            hint="use the gradient of slogdet(A): its stored entries are those of the inverse",
        )  # fmt: skip
    found = SelectedInverse(_slice(p))(p.data, p.indices, p.indptr)
    return matrix_of(replace(p, data=found))


@coerced
def precision_draws(A: Any, z: Any) -> Variable:
    """x = R·z with R·Rᵀ = A⁻¹: of normal z, draws with precision A.   z: (n,) or (n, k) → as z

    A: sparse, symmetric, positive definite. R comes from its L·D·Lᵀ factors, which `slogdet` and `solve` share: half of
    the work of a solution. Which R it is depends on the pattern of A.

    Derivatives: with respect to z, forward and reverse; one with respect to A is a NullTypeGradError.

    Raises: as `slogdet`; GraphTypeError for a complex matrix or another rank of z.
    """
    p, data, right = equations("precision_draws", A, z)
    if is_complex(data, right):
        raise GraphTypeError(
            "precision_draws: expected a real A and a real z", lines=[data.describe(), right.describe()]
        )
    return PrecisionDraws(_slice(p))(data, p.indices, p.indptr, right)  # type: ignore[no-any-return]


@frozen_dataclass
class Cholesky:
    """The factors of a sparse symmetric positive definite matrix; all its methods share one factorisation."""

    matrix: SparseVariable

    def solve(self, b: Any) -> Variable:
        """x with A·x = b.   (n,) or (n, k) → as b. See `sp.solve`"""
        return solve(self.matrix, b, "cholesky")

    def slogdet(self) -> Slogdet:
        """(1, log |A|); see `sp.slogdet`"""
        return slogdet(self.matrix)

    def selected_inverse(self) -> SparseVariable:
        """A⁻¹ at the entries of A; see `sp.selected_inverse`"""
        return selected_inverse(self.matrix)

    def draws(self, z: Any) -> Variable:
        """R·z with R·Rᵀ = A⁻¹; see `sp.precision_draws`"""
        return precision_draws(self.matrix, z)


@coerced
def cholesky(A: Any) -> Cholesky:
    """The factors of a sparse symmetric positive definite A, with methods solve, slogdet, selected_inverse and draws.

    A is factorised once in a function, whichever of them are used, and their derivatives.

    Raises: as `slogdet`.
    """
    _square("cholesky", A)
    return Cholesky(as_compressed(A))


def _square(name: str, A: Any) -> Compressed:
    """The vectors of a square matrix with floating data.   Raises: GraphTypeError, GraphValueError as `slogdet`."""
    p = square_matrix(name, A)
    return replace(p, data=floating(p.data))


def _slice(p: Compressed) -> str:
    return "column" if p.format == "csc" else "row"
