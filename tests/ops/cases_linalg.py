"""Rows for linear algebra: factorisations, solves, inverses, determinants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations, product
from typing import Any

import numpy as np
from case import Case as AnyCase
from case import value

import aotensor.tensor as at
from aotensor.core.types import Array

Case = partial(AnyCase, keeps_places=True)
Draw = Callable[[np.random.Generator], Sequence[Array]]


def matrices(rng: np.random.Generator, *shape: int) -> Array:
    """Matrices with a large diagonal: well conditioned, for triangles too."""
    return np.asarray(rng.normal(size=shape) + (1.0 + shape[-1]) * np.eye(shape[-1]))


def positive(rng: np.random.Generator, *shape: int) -> Array:
    """Symmetric positive definite matrices; what stands above the diagonal is not read, and so is something else."""
    a = rng.normal(size=shape)
    full = a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])
    return np.asarray(np.tril(full) + np.triu(rng.normal(size=shape), 1))


def drawn(*makers: tuple[Callable[..., Array], tuple[int, ...]], dtype: str = "float64") -> Draw:
    """Inputs: one array per maker."""
    return lambda rng: [make(rng, *shape).astype(dtype) for make, shape in makers]


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return np.asarray(rng.normal(size=shape))


def singular(rng: np.random.Generator, *shape: int) -> Array:
    """Matrices of rank n − 1: one null vector on each side."""
    left, values, right = np.linalg.svd(rng.normal(size=shape))
    values[..., -1:] = 0
    return np.asarray((left * values[..., None, :]) @ right)


def is_cholesky(a: Array, c: Array) -> list[tuple[Any, Any]]:
    """c·cᵀ is the matrix whose lower triangle is read; c is lower triangular, with a positive diagonal."""
    return [
        (c @ transposed(c), of_lower(a)),
        (np.triu(c, 1), np.zeros(c.shape)),
        (np.sign(np.diagonal(c, axis1=-2, axis2=-1)), np.ones(c.shape[:-1])),
    ]


def transposed(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


def triangle(a: Array, lower: bool, trans: str, unit: bool) -> Array:
    """The matrix that `solve_triangular` solves with, of one with both triangles."""
    found = np.tril(a) if lower else np.triu(a)
    if unit:
        np.fill_diagonal(found, 1.0)
    return found if trans == "N" else found.T


def of_lower(a: Array) -> Array:
    """The symmetric matrix with this lower triangle."""
    return np.asarray(np.tril(a) + transposed(np.tril(a, -1)))


def solved(full: Callable[[Array], Any], core: int | None = None) -> Callable[..., Array]:
    """full(a)⁻¹·b by NumPy, in float64; b is of vectors for `core` 1, and by itself only if it is one."""

    def expected(a: Array, b: Array) -> Array:
        right = b.astype("float64")
        if (core or min(b.ndim, 2)) == 1:
            return np.asarray(np.linalg.solve(full(a.astype("float64")), right[..., None])[..., 0])
        return np.asarray(np.linalg.solve(full(a.astype("float64")), right))

    return expected


def eliminated(a: Array) -> tuple[Array, Array, Array]:
    """(p, l, u) of every matrix by Gauss's algorithm with partial pivoting; a[p] = l·u, and p as matrices."""
    n = a.shape[-1]
    samples = a.reshape(math.prod(a.shape[:-2]), n, n).astype("float64")
    rows = np.zeros((len(samples), n, n))
    lower, upper = np.zeros_like(samples), samples.copy()
    for p, low, up in zip(rows, lower, upper, strict=True):
        p[:] = np.eye(n)
        for k in range(n):
            pivot = k + int(np.argmax(np.abs(up[k:, k])))
            for x in (p, low, up):
                x[[k, pivot]] = x[[pivot, k]]
            low[k + 1 :, k] = up[k + 1 :, k] / up[k, k]
            up[k + 1 :] -= np.outer(low[k + 1 :, k], up[k])
        low += np.eye(n)
    return rows.swapaxes(1, 2).reshape(a.shape), lower.reshape(a.shape), np.triu(upper).reshape(a.shape)


def leibniz(a: Array) -> Array:
    """Determinants, as sums over permutations."""
    n = a.shape[-1]
    total = np.zeros(a.shape[:-2])
    for order in permutations(range(n)):
        sign = (-1) ** sum(order[i] > order[j] for j in range(n) for i in range(j))
        total = total + sign * np.prod(a[..., range(n), order].astype("float64"), axis=-1)
    return total


def of_matrix(name: str, build: Any, maker: Callable[..., Array] = matrices, **options: Any) -> list[AnyCase]:
    """Rows for a function of one matrix: sizes, batches, float32."""
    rows = [
        Case(id=f"{name}-{key}", build=build, inputs=drawn((maker, shape)), **options) for key, shape in SHAPES.items()
    ]
    return [*rows, Case(id=f"{name}-float32", build=build, inputs=drawn((maker, (4, 4)), dtype="float32"), **options)]


def of_system(
    name: str, build: Any, full: Callable[[Array], Any], maker: Callable[..., Array] = matrices, **options: Any
) -> list[AnyCase]:
    """Rows for a function of a matrix and a right-hand side.   full: the matrix that this solves with"""
    return [
        Case(
            id=f"{name}-{key}",
            build=partial(build, b_ndim=core),
            inputs=drawn((maker, a), (normal, b)),
            expected=solved(full, core),
            **options,
        )
        for key, a, b, core in SYSTEMS
    ] + [
        Case(
            id=f"{name}-float32",
            build=build,
            inputs=drawn((maker, (3, 3)), (normal, (3, 2)), dtype="float32"),
            expected=solved(full),
            **options,
        )
    ]


SHAPES = {"odd": (5, 5), "one": (1, 1), "empty": (0, 0), "batch": (3, 4, 4), "batches": (2, 3, 2, 2)}
SYSTEMS = [
    ("matrix", (5, 5), (5, 3), None),
    ("vector", (5, 5), (5,), None),
    ("one", (1, 1), (1, 1), None),
    ("empty", (0, 0), (0, 3), None),
    ("no_columns", (3, 3), (3, 0), None),
    ("batch", (3, 4, 4), (3, 4, 2), None),
    ("vectors", (3, 4, 4), (3, 4), 1),
    ("broadcast", (1, 4, 4), (2, 3, 4, 2), None),
    ("one_matrix", (3, 3), (4, 3), 1),
]
COFACTORS = np.array([[4.0, -3.0], [-2.0, 1.0]])


def cho_solved(c: Any, b: Any, b_ndim: int | None = None) -> Any:
    return at.cho_solve((c, True), b, b_ndim=b_ndim)


def lu_solved(a: Any, b: Any, b_ndim: int | None = None, trans: int = 0) -> Any:
    return at.lu_solve(at.lu_factor(a), b, trans, b_ndim=b_ndim)


CASES = [
    *of_matrix("cholesky", at.cholesky, positive, rtol=1e-11, identities=is_cholesky),
    Case(
        id="cholesky-upper",
        build=lambda x: at.cholesky(at.matrix_transpose(x), lower=False),
        inputs=drawn((positive, (3, 4, 4))),
        identities=lambda x, c: is_cholesky(x, transposed(c)),
    ),
    Case(
        id="cholesky-blocks",
        build=at.cholesky,
        inputs=drawn((positive, (2, 75, 75))),
        rtol=1e-10,
        atol=1e-12,
        identities=is_cholesky,
    ),
    Case(
        id="cholesky-integers",
        build=at.cholesky,
        inputs=[np.array([[4, 0], [2, 3]])],
        expected=[[2, 0], [1, np.sqrt(2)]],
    ),
    Case(
        id="cholesky-nan",
        build=lambda x: at.cholesky(x, on_error="nan"),
        inputs=lambda rng: [positive(rng, 3, 3, 3) * np.array([1.0, -1.0, 2.0])[:, None, None]],
        identities=lambda x, c: [(c[1], np.full((3, 3), np.nan)), *is_cholesky(x[[0, 2]], c[[0, 2]])],
        numeric=False,
    ),
    *(
        Case(
            id=f"solve_triangular-{'lower' if lower else 'upper'}-{trans}{'-unit' if unit else ''}",
            build=partial(at.solve_triangular, lower=lower, trans=trans, unit_diagonal=unit),
            inputs=drawn((matrices, (5, 5)), (normal, (5, 3))),
            expected=solved(partial(triangle, lower=lower, trans=trans, unit=unit)),
        )
        for lower, trans, unit in product((False, True), "NT", (False, True))
    ),
    *of_system("solve_triangular", partial(at.solve_triangular, lower=True), np.tril),
    Case(
        id="solve_triangular-nan",
        build=partial(at.solve_triangular, on_error="nan"),
        inputs=[np.array([[[1.0, 2.0], [7.0, 0.0]], [[1.0, 2.0], [7.0, 4.0]]]), np.ones((2, 2, 1))],
        expected=[[[np.nan], [np.nan]], [[0.5], [0.25]]],
        numeric=False,
    ),
    *of_system("solve", at.solve, np.asarray, rtol=1e-11),
    *of_system("solve-transposed", partial(at.solve, transposed=True), transposed, rtol=1e-11),
    *of_system("solve-pos", partial(at.solve, assume_a="pos", lower=True), of_lower, positive, rtol=1e-11),
    *(
        Case(
            id=f"solve-{kind.replace(' ', '_')}-{'lower' if lower else 'upper'}",
            build=partial(at.solve, assume_a=kind, lower=lower),
            inputs=drawn((maker, (4, 4)), (normal, (4, 2))),
            expected=solved(full),
            rtol=1e-11,
        )
        for kind, lower, maker, full in (
            ("sym", True, positive, of_lower),
            ("sym", False, matrices, lambda a: of_lower(a.T)),
            ("lower triangular", False, matrices, np.tril),
            ("upper triangular", False, matrices, np.triu),
        )
    ),
    Case(
        id="solve-nan",
        build=partial(at.solve, on_error="nan"),
        inputs=[np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [2.0, 5.0]]]), np.ones((2, 2, 1))],
        expected=[[[np.nan], [np.nan]], [[3.0], [-1.0]]],
        numeric=False,
    ),
    Case(
        id="solve-integers", build=at.solve, inputs=[np.array([[2, 1], [1, 3]]), np.array([3, 5])], expected=[0.8, 1.4]
    ),
    *of_system("cho_solve", cho_solved, lambda c: np.tril(c) @ transposed(np.tril(c)), rtol=1e-11),
    *of_matrix(
        "lu_factor",
        lambda a: at.lu_factor(a)[0],
        normal,
        rtol=1e-10,
        reason="pivots may be small",
        expected=lambda a: eliminated(a)[1] + eliminated(a)[2] - np.eye(a.shape[-1]),
    ),
    *of_matrix(
        "lu",
        lambda a: at.lu(a)[1:],
        normal,
        rtol=1e-10,
        reason="pivots may be small",
        expected=lambda a: eliminated(a)[1:],
    ),
    Case(
        id="lu-permute_l",
        build=lambda a: at.lu(a, permute_l=True),
        inputs=drawn((normal, (2, 4, 4))),
        rtol=1e-10,
        expected=lambda a: (eliminated(a)[0] @ eliminated(a)[1], eliminated(a)[2]),
    ),
    Case(
        id="lu-product",
        build=lambda a: at.matmul(at.matmul(at.lu(a)[0], at.lu(a)[1]), at.lu(a)[2]),
        inputs=drawn((normal, (2, 4, 4))),
        expected=np.asarray,
        rtol=1e-10,
    ),
    Case(
        id="lu-p_indices",
        build=lambda a: at.matmul(*at.lu(a, p_indices=True)[1:])[at.lu(a, p_indices=True)[0]],
        inputs=drawn((normal, (4, 4))),
        expected=np.asarray,
        rtol=1e-10,
    ),
    *of_system("lu_solve", lu_solved, np.asarray, rtol=1e-10),
    *of_system("lu_solve-transposed", partial(lu_solved, trans=1), transposed, rtol=1e-10),
    *of_matrix("inv", at.inv, rtol=1e-11, expected=lambda a: solved(np.asarray)(a, np.eye(a.shape[-1]))),
    Case(
        id="inv-nan",
        build=lambda x: at.inv(x, on_error="nan"),
        inputs=[np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [2.0, 5.0]]])],
        expected=[np.full((2, 2), np.nan), [[5.0, -2.0], [-2.0, 1.0]]],
        numeric=False,
    ),
    *of_matrix("det", at.det, normal, rtol=1e-10, expected=leibniz),
    *of_matrix("det-singular", at.det, singular, rtol=1e-9, atol=1e-13, expected=leibniz),
    Case(id="det-of_zeros", build=at.det, inputs=[np.zeros((1, 1))], expected=0.0, specials={0: np.ones((1, 1))}),
    Case(
        id="det-cofactors",
        build=at.det,
        inputs=[np.array([[1.0, 2.0], [3.0, 4.0]])],
        expected=np.array(-2.0),
        specials={0: COFACTORS},
    ),
    *of_matrix(
        "slogdet", at.slogdet, normal, rtol=1e-10, expected=lambda a: (np.sign(leibniz(a)), np.log(np.abs(leibniz(a))))
    ),
    Case(
        id="slogdet-singular",
        build=at.slogdet,
        inputs=[np.array([[1.0, 2.0], [2.0, 4.0]])],
        expected=(0.0, -np.inf),
        numeric=False,
    ),
    value("slogdet-of_nothing", lambda a: at.stack(at.slogdet(a)), [np.zeros((0, 0))], [1.0, 0.0]),
    value("det-of_nothing", at.det, [np.zeros((0, 0))], 1.0),
    *of_matrix(
        "trace", lambda a: at.linalg.trace(a, 0, -2, -1), normal, expected=lambda a: np.diagonal(a, 0, -2, -1).sum(-1)
    ),
]
