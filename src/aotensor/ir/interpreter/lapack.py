"""Semantics of aot.lapack, kind by kind, on NumPy matrices.

kind                 operands → results                       options
cholesky             A → L                                    L·Lᵀ = A, from the lower triangle of A; zeros above
cholesky_pullback    L, L̄ → Ā                                 the cotangent of the lower triangle of A; zeros above
lu_solve             F, p, B → X                              is_transposed: op(A)·X = B
lu_inverse           F, p → A⁻¹
lu_permutation       F, p → q                                 column q[k] of A is column k of A·P;
                                                              is_inverse: the inverse permutation of q
lu_adjugate          F, p → det(A)·A⁻¹                        also where A is singular
solve_triangular     A, B → X                                 op(A)·X = B (is_left) or X·op(A) = B; is_lower,
                                                              is_transposed, is_unit; a zero on the diagonal
                                                              is a failure
multiply_triangular  A, B → op(A)·B or B·op(A)                is_left, is_lower, is_transposed, is_unit
square_repeatedly    A, (s) → A^(2^s)
diagonal_solve       A, B → X                                 D·X = B for the diagonal D of A
tridiagonal_solve    A, B → X                                 op(T)·X = B for the tridiagonal part T of A; is_transposed

The module `ops.linalg.kinds` has all other kinds.

F and p are results of the kind `lu`. B may be a vector. Every rule returns its results and a failure: 0, or LAPACK's
info.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.core.types import Array
from aotensor.ir.dialect import DYNAMIC, LapackOp
from aotensor.ir.interpreter.scalar_values import numpy_dtype
from aotensor.ops.linalg.kinds import KINDS, evaluate
from aotensor.ops.linalg.matrices import exchanged_rows, scipy_linalg

Options: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[..., tuple[Sequence[Array], int]]


def _lapack(name: str, x: Array) -> Any:
    """The SciPy wrapper of a LAPACK function for the dtype of x."""
    return scipy_linalg().get_lapack_funcs(name, (x,))


def interpret_lapack(op: LapackOp, operands: Sequence[Array], sizes: Sequence[Array]) -> list[Array]:
    """The results of an `aot.lapack` operation, then its failure.

    Raises: InternalError if the extents of a result differ from those that the operation states.
    """
    rest = iter(sizes)
    results = []
    for x in op.tensors:
        extents = [int(next(rest)) if n == DYNAMIC else n for n in x.type.get_shape()]
        results.append(np.full(extents, np.nan if _is_float(x) else -1, numpy_dtype(x.type.element_type)))
    options = {name: op.option(name) for name in op.options.data}
    erases = bool(options.pop("nan_on_failure", False))
    kind = KINDS.get(op.kind.data)
    meaning, by_columns = (kind.meaning, kind.by_columns) if kind else (RULES[op.kind.data], False)
    failure = evaluate(meaning, operands, results, options, by_columns, erases)
    return [*results, np.asarray(failure, np.int64)]


def _is_float(x: Any) -> bool:
    return bool(numpy_dtype(x.type.element_type).kind == "f")


def _cholesky(a: Array) -> tuple[Sequence[Array], int]:
    if not a.size:
        return [a.copy()], 0
    factor, failed = _lapack("potrf", a)(a, lower=1, clean=1)
    missed = np.flatnonzero(np.isnan(np.diagonal(factor)))  # not every LAPACK detects nan
    return [factor], failed or (int(missed[0]) + 1 if len(missed) else 0)


def _cholesky_pullback(factor: Array, derivative: Array) -> tuple[Sequence[Array], int]:
    inner = np.tril(factor.T @ np.tril(derivative)) * (1 - 0.5 * np.eye(len(factor), dtype=factor.dtype))
    left = _solve_triangular(factor, inner, is_left=True, is_lower=True, is_transposed=True, is_unit=False)[0][0]
    both = _solve_triangular(factor, left, is_left=False, is_lower=True, is_transposed=False, is_unit=False)[0][0]
    return [np.tril(both) + np.tril(both.T, -1)], 0


def _lower_upper_exchanged(factors: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """The factors L and U, and the matrix Pᵀ, of A = L·U·Pᵀ."""
    exchanged = np.eye(len(factors), dtype=factors.dtype)
    for k, other in enumerate(exchanged_rows("lapack", pivots)):
        exchanged[[k, other]] = exchanged[[other, k]]
    return np.tril(factors), np.triu(factors, 1) + np.eye(len(factors), dtype=factors.dtype), exchanged


def _lu_solve(factors: Array, pivots: Array, b: Array, *, is_transposed: bool) -> tuple[Sequence[Array], int]:
    lower, upper, exchanged = _lower_upper_exchanged(factors, pivots)
    if not b.size:
        return [b.copy()], 0
    solve = partial(scipy_linalg().solve_triangular, check_finite=False)
    if is_transposed:
        return [solve(lower, solve(upper, exchanged @ b, trans=1), lower=True, trans=1)], 0
    return [exchanged.T @ solve(upper, solve(lower, b, lower=True))], 0


def _lu_permutation(factors: Array, pivots: Array, *, is_inverse: bool) -> tuple[Sequence[Array], int]:
    _, _, exchanged = _lower_upper_exchanged(factors, pivots)
    order = (exchanged.T if is_inverse else exchanged) @ np.arange(len(pivots))
    return [order.astype(np.int64)], 0


def _lu_inverse(factors: Array, pivots: Array) -> tuple[Sequence[Array], int]:
    if not factors.size:
        return [factors.copy()], 0
    inverse, failed = _lapack("getri", factors)(factors.T, exchanged_rows("lapack", pivots))
    return [inverse.T], failed


def _lu_adjugate(factors: Array, pivots: Array) -> tuple[Sequence[Array], int]:
    if not factors.size:
        return [factors.copy()], 0
    lower, upper, exchanged = _lower_upper_exchanged(factors, pivots)
    diagonal, info = np.diagonal(lower).copy(), np.finfo(factors.dtype)
    least = max(np.abs(diagonal).max() * info.eps, np.sqrt(info.tiny))
    diagonal = np.where(np.abs(diagonal) < least, least, diagonal)
    np.fill_diagonal(lower, diagonal)
    solve = partial(scipy_linalg().solve_triangular, check_finite=False)
    inverse = exchanged.T @ solve(upper, solve(lower, np.eye(len(lower), dtype=lower.dtype), lower=True))
    sign = (-1) ** int(np.sum(pivots != np.arange(len(pivots)) + 1))
    return [inverse * (np.prod(diagonal) * sign)], 0


def _triangle(a: Array, is_lower: bool, is_transposed: bool, is_unit: bool) -> Array:
    """op(A) of a triangular matrix: the selected triangle of A, with ones on its diagonal if `is_unit`."""
    read = np.tril(a) if is_lower else np.triu(a)
    if is_unit:
        np.fill_diagonal(read, 1)
    return read.T if is_transposed else read


def _solve_triangular(
    a: Array, b: Array, *, is_left: bool, is_lower: bool, is_transposed: bool, is_unit: bool
) -> tuple[Sequence[Array], int]:
    read = _triangle(a, is_lower, is_transposed, is_unit)
    zeros = np.flatnonzero(np.diagonal(read) == 0)
    if len(zeros):
        return [np.full_like(b, np.nan)], int(zeros[0]) + 1
    if not b.size:
        return [b.copy()], 0
    trtrs = _lapack("trtrs", a)
    if is_left:
        return [trtrs(read, b, lower=is_lower != is_transposed)[0]], 0
    return [trtrs(read.T, b.T, lower=is_lower == is_transposed)[0].T], 0


def _multiply_triangular(
    a: Array, b: Array, *, is_left: bool, is_lower: bool, is_transposed: bool, is_unit: bool
) -> tuple[Sequence[Array], int]:
    read = _triangle(a, is_lower, is_transposed, is_unit)
    return [read @ b if is_left else b @ read], 0


def _diagonal_solve(a: Array, b: Array) -> tuple[Sequence[Array], int]:
    zeros = np.flatnonzero(np.diagonal(a) == 0)
    with np.errstate(all="ignore"):
        return [(b.T / np.diagonal(a)).T], int(zeros[0]) + 1 if len(zeros) else 0


def _tridiagonal_solve(a: Array, b: Array, *, is_transposed: bool) -> tuple[Sequence[Array], int]:
    if len(a) == 1:
        return _diagonal_solve(a, b)
    a = a.T if is_transposed else a
    *_, x, failed = _lapack("gtsv", a)(*(np.diagonal(a, k) for k in (-1, 0, 1)), b)
    return [x], failed


def _square_repeatedly(a: Array, count: Array) -> tuple[Sequence[Array], int]:
    for _ in range(int(count[0])):
        a = a @ a
    return [a], 0


RULES: Final[Mapping[str, Rule]] = {
    "cholesky": _cholesky,
    "diagonal_solve": _diagonal_solve,
    "cholesky_pullback": _cholesky_pullback,
    "lu_adjugate": _lu_adjugate,
    "lu_inverse": _lu_inverse,
    "lu_permutation": _lu_permutation,
    "lu_solve": _lu_solve,
    "multiply_triangular": _multiply_triangular,
    "solve_triangular": _solve_triangular,
    "square_repeatedly": _square_repeatedly,
    "tridiagonal_solve": _tridiagonal_solve,
}
