"""Rows for linear algebra: factorisations, solves, inverses, determinants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np
from case import Case as AnyCase

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


SHAPES = {"odd": (5, 5), "one": (1, 1), "empty": (0, 0), "batch": (3, 4, 4), "batches": (2, 3, 2, 2)}

CASES = [
    *(
        Case(id=f"cholesky-{name}", build=at.cholesky, inputs=drawn((positive, shape)), rtol=1e-11)
        for name, shape in SHAPES.items()
    ),
    Case(id="cholesky-float32", build=at.cholesky, inputs=drawn((positive, (4, 4)), dtype="float32")),
    Case(
        id="cholesky-upper",
        build=lambda x: at.cholesky(at.matrix_transpose(x), lower=False),
        inputs=drawn((positive, (3, 4, 4))),
    ),
    Case(id="cholesky-integers", build=at.cholesky, inputs=[np.array([[4, 0], [2, 3]])]),
    *(
        Case(
            id=f"solve_triangular-{'lower' if lower else 'upper'}-{trans}{'-unit' if unit else ''}",
            build=lambda a, b, lower=lower, trans=trans, unit=unit: at.solve_triangular(
                a, b, lower=lower, trans=trans, unit_diagonal=unit
            ),
            inputs=drawn((matrices, (5, 5)), (normal, (5, 3))),
        )
        for lower, trans, unit in product((False, True), "NT", (False, True))
    ),
]
