"""Products of dense and sparse matrices, and statistics made of them. Arguments and order of results are NPBench's."""

from __future__ import annotations

from typing import Any

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.tensor import Variable

Results = tuple[Variable, ...]


def gemm(alpha: Variable, beta: Variable, C: Variable, A: Variable, B: Variable) -> Results:
    """alpha A B + beta C."""
    return (alpha * A @ B + beta * C,)


def gemver(
    alpha: Any, beta: Any, A: Any, u1: Any, v1: Any, u2: Any, v2: Any, w: Any, x: Any, y: Any, z: Any
) -> Results:
    """A rank-2 update of A, and products with it."""
    A = A + at.outer(u1, v1) + at.outer(u2, v2)
    x = x + beta * y @ A + z
    return A, w + alpha * A @ x, x


def gesummv(alpha: Variable, beta: Variable, A: Variable, B: Variable, x: Variable) -> Results:
    """alpha A x + beta B x."""
    return (alpha * (A @ x) + beta * (B @ x),)


def k2mm(alpha: Variable, beta: Variable, A: Variable, B: Variable, C: Variable, D: Variable) -> Results:
    """alpha A B C + beta D."""
    return (alpha * A @ B @ C + beta * D,)


def k3mm(A: Variable, B: Variable, C: Variable, D: Variable) -> Results:
    """A B C D."""
    return (A @ B @ C @ D,)


def atax(A: Variable, x: Variable) -> Results:
    """Aᵀ A x."""
    return ((A @ x) @ A,)


def bicg(A: Variable, p: Variable, r: Variable) -> Results:
    """Aᵀ r and A p."""
    return r @ A, A @ p


def mvt(x1: Variable, x2: Variable, y_1: Variable, y_2: Variable, A: Variable) -> Results:
    """x1 + A y_1 and x2 + Aᵀ y_2."""
    return x1 + A @ y_1, x2 + y_2 @ A


def doitgen(NR: int, NQ: int, NP: int, A: Variable, C4: Variable) -> Results:
    """Each row of A times C4.   A: (NR, NQ, NP)"""
    return (A @ C4,)


def symm(alpha: Variable, beta: Variable, C: Variable, A: Variable, B: Variable) -> Results:
    """alpha S B + beta C, where S is symmetric with the lower triangle of A."""
    symmetric = at.tril(A) + at.tril(A, -1).T
    return (alpha * symmetric @ B + beta * C,)


def syrk(alpha: Variable, beta: Variable, C: Variable, A: Variable) -> Results:
    """The lower triangle of alpha A Aᵀ + beta C, and the upper one of C."""
    return (at.where(_lower(C), alpha * A @ A.T + beta * C, C),)


def syr2k(alpha: Variable, beta: Variable, C: Variable, A: Variable, B: Variable) -> Results:
    """The lower triangle of alpha (A Bᵀ + B Aᵀ) + beta C, and the upper one of C."""
    return (at.where(_lower(C), alpha * (A @ B.T + B @ A.T) + beta * C, C),)


def trmm(alpha: Variable, A: Variable, B: Variable) -> Results:
    """alpha Lᵀ B, where L has the strictly lower triangle of A and ones on the diagonal."""
    return (alpha * (B + at.tril(A, -1).T @ B),)


def _lower(square: Variable) -> Variable:
    """True on and below the diagonal."""
    rows = at.arange(square.shape[0])
    return rows[:, None] >= rows


def covariance(M: int, float_n: Variable, data: Variable) -> Results:
    """Covariances of the columns.   data: (n, M)"""
    centred = data - data.mean(axis=0)
    return (centred.T @ centred / (float_n - 1.0),)


def covariance2(M: int, float_n: Variable, data: Variable) -> Results:
    """Covariances of the columns, by a library function."""
    return (at.cov(data.T),)


def correlation(M: int, float_n: Variable, data: Variable) -> Results:
    """Correlations of the columns, 1 on the diagonal.   data: (n, M)"""
    deviation = data.std(axis=0)
    deviation = at.where(deviation <= 0.1, 1.0, deviation)
    scaled = (data - data.mean(axis=0)) / (at.sqrt(float_n) * deviation)
    return (at.where(at.eye(M, dtype="bool"), 1.0, scaled.T @ scaled),)


def spmv(A_row: Variable, A_col: Variable, A_val: Variable, x: Variable) -> Results:
    """A CSR matrix times x."""
    m, n = A_row.shape[0] - 1, x.shape[0]
    matrix = sp.CSR(A_val, at.cast(A_col, "int32"), at.cast(A_row, "int32"), at.stack([m, n]))
    return (sp.dot(matrix, x),)
