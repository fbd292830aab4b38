"""Equations with a sparse matrix, in terms of its data and of the right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case, slope
from cases_sparse_products import Program, both, on_data, unstored

import aotensor.sparse as sp
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.sums import sum as sum_over

GENERAL = np.array([[4.0, 1.0, 0.0, -1.0], [0.0, 5.0, 0.0, 2.0], [1.0, 0.0, 3.0, 0.0], [0.0, -2.0, 1.0, 6.0]])
HALF = np.array([[3.0, 1.0, 0.0, 0.5], [0.0, 2.5, -1.0, 0.0], [0.0, 0.0, 4.0, 1.0], [0.0, 0.0, 0.0, 2.0]])
"""Half of a symmetric positive definite matrix, which is this plus its transpose."""

COLUMN = np.array([1.0, -2.0, 0.5, 3.0])
COLUMNS = np.array([[1.0, 2.0], [-2.0, 0.5], [0.5, -1.0], [3.0, 4.0]])
SOLVED: dict[str, Any] = {
    "rtol": 1e-9,
    "atol": 1e-12,
    "reason": "an iteration ends at a residual; roundings decide after which step",
}


EXACT: dict[str, Any] = {
    **SOLVED,
    "reason": "sums in another order",
    "dense": GENERAL,
    "mask": GENERAL != 0,
    "keeps_places": True,
}


def symmetric(**options: Any) -> Program:
    """A⁻¹·b by conjugate gradients for A = H + Hᵀ, which stays symmetric when data change."""
    return lambda H, b, *x0: sp.cg(sp.add(H, H.T), b, *x0, tol=1e-13, **options)


def general(A: Variable, b: Variable) -> Variable:
    return sp.solve(A, b, "bicgstab", tol=1e-13)


def direct(A: Variable, b: Variable) -> Variable:
    return sp.spsolve(A, b)


def cholesky(H: Variable, b: Variable) -> Variable:
    """By factors of H + Hᵀ, which stays symmetric when data change."""
    return sp.solve(sp.add(H, H.T), b, "cholesky")


def log_determinant(H: Variable) -> Variable:
    """log |H + Hᵀ|."""
    return sp.slogdet(sp.add(H, H.T)).logabsdet


def inverse_entries(H: Variable) -> Variable:
    """The stored entries of (H + Hᵀ)⁻¹, row after row."""
    return sp.csm_data(sp.selected_inverse(sp.add(H, H.T).tocsr()))


def draws(H: Variable, z: Variable) -> Variable:
    """Draws with precision H + Hᵀ, whose derivative with respect to H is not there."""
    return sp.precision_draws(sp.add(H, H.T), z)


def _entries_of_inverse(half: np.ndarray) -> np.ndarray:
    full = half + half.T
    return np.asarray(np.linalg.inv(full)[full != 0])


def triangle(**options: Any) -> Program:
    """A triangle of a matrix, whose other entries are not read."""
    return lambda A, b: sp.solve_triangular(A, b, **options)


def _unit(a: np.ndarray) -> np.ndarray:
    """With ones on the diagonal."""
    return a - np.diag(np.diag(a)) + np.eye(len(a))


def _derivative(program: Program) -> Program:
    """The gradient of the sum of squares with respect to b: its derivatives are second ones."""
    return lambda A, b: grad(sum_over(program(A, b) ** 2), b)


def _whole(half: np.ndarray) -> np.ndarray:
    return half + half.T


def _solved(full: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Any]:
    """x with full(A)·x = b, by NumPy; b is a vector or a matrix, and there may be a guess of x."""
    return lambda A, b, *guess: np.linalg.solve(full(A), b)


def _most(program: Program, dense: Any, full: Callable[[np.ndarray], np.ndarray], name: str) -> list[Case]:
    """What `_all` has that another way to a solution could do differently."""
    kinds = "-vector-csr", "-vector-csc", "-matrix-csr", "-float32-csr", "-derivative-csr"
    return [case for case in _all(program, dense, full, name) if case.id.endswith(tuple(name + x for x in kinds))]


def _all(program: Program, dense: Any, full: Callable[[np.ndarray], np.ndarray], name: str) -> list[Case]:
    """Rows for a way to solve full(A)·x = b."""
    solved = _solved(full)
    on = {"dense": dense, "mask": dense != 0, "keeps_places": True, "formula": solved, **SOLVED}
    single = {**on, "dense": dense.astype("float32"), "dtype": "float32"}
    return [
        *both(f"{name}-vector", program, COLUMN, **on),
        *both(f"{name}-matrix", program, COLUMNS, **on),
        on_data(f"{name}-float32", program, COLUMN.astype("float32"), **{**single, "rtol": 1e-7, "atol": 1e-9}),
        on_data(f"{name}-int64-indices", program, COLUMN, index_dtype="int64", **on),
        on_data(f"{name}-static", program, COLUMN, dims=[(int((dense != 0).sum()),), (4,)], **on),
        on_data(f"{name}-no-columns", program, COLUMNS[:, :0], **on),
        on_data(f"{name}-zero", program, 0 * COLUMN, **on),
        on_data(
            f"{name}-derivative",
            _derivative(program),
            COLUMN,
            **{**on, "formula": slope(lambda A, b: solved(A, b) ** 2, 1)},
        ),
    ]


OF_HALF: dict[str, Any] = {
    **SOLVED,
    "reason": "sums in another order",
    "dense": HALF,
    "mask": HALF != 0,
    "keeps_places": True,
}


def _slope_of_squares(half: np.ndarray) -> np.ndarray:
    """The gradient of Σ Z² over the entries of H + Hᵀ with respect to those of H."""
    full = half + half.T
    inverse = np.linalg.inv(full)
    found = -inverse @ np.where(full != 0, 2 * inverse, 0) @ inverse
    return np.asarray((found + found.T)[full != 0])


def _is_draw(data: np.ndarray, z: np.ndarray, x: np.ndarray) -> list[tuple[Any, Any]]:
    """xᵀ·A·x = zᵀ·z"""
    full = unstored("csr", data, HALF != 0)
    return [(x.T @ (full + full.T) @ x, z.T @ z)]


CASES: list[Case] = [
    *_all(symmetric(), HALF, _whole, "cg"),
    *_all(general, GENERAL, np.asarray, "bicgstab"),
    *_all(direct, GENERAL, np.asarray, "direct"),
    *_most(cholesky, HALF, _whole, "cholesky"),
    *both("log-determinant", log_determinant, formula=lambda H: np.linalg.slogdet(H + H.T)[1], **OF_HALF),
    on_data(
        "log-determinant-gradient",
        lambda H: sp.csm_data(grad(log_determinant(H), H)),
        **OF_HALF,
        formula=lambda H: 2 * np.linalg.inv(H + H.T)[H + H.T != 0],
    ),
    *both("selected-inverse", inverse_entries, formula=_entries_of_inverse, **OF_HALF),
    on_data(
        "selected-inverse-gradient",
        lambda H: sp.csm_data(grad((inverse_entries(H) ** 2).sum(), H)),
        **OF_HALF,
        formula=_slope_of_squares,
    ),
    on_data("precision-draws", draws, COLUMN, wrt=(1,), identities=_is_draw, **OF_HALF),
    on_data("precision-draws-matrix", draws, COLUMNS, wrt=(1,), identities=_is_draw, **OF_HALF),
    *_most(triangle(lower=True), GENERAL, np.tril, "triangle-lower"),
    *both(
        "triangle-upper-unit",
        triangle(unit_diagonal=True),
        COLUMNS,
        expected=np.linalg.solve(_unit(np.triu(GENERAL)), COLUMNS),
        **EXACT,
    ),
    *both(
        "triangle-transposed",
        triangle(trans="T"),
        COLUMN,
        expected=np.linalg.solve(np.triu(GENERAL).T, COLUMN),
        **EXACT,
    ),
    on_data(
        "cg-plain",
        symmetric(preconditioner=None),
        COLUMN,
        dense=HALF,
        mask=HALF != 0,
        formula=_solved(_whole),
        keeps_places=True,
        **SOLVED,
    ),
    on_data(
        "cg-start",
        symmetric(),
        COLUMN,
        COLUMN,
        dense=HALF,
        mask=HALF != 0,
        formula=_solved(_whole),
        wrt=(0, 1),
        keeps_places=True,
        **SOLVED,
    ),
]
