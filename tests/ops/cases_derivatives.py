"""Derivatives as programs: ops that only derivatives are made of, and so second derivatives of where they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from case import Case

import aotensor.tensor as at
from aotensor.gradient import Rop, grad
from aotensor.graph.variable import Variable

WEIGHTS: Final = np.arange(1.0, 13.0).reshape(3, 4)
SPREAD: Final = np.array([[2.0, -1.0, 0.5, 3.0], [0.25, 4.0, -2.0, 1.5], [1.0, 0.1, -0.7, 2.2]])
SQUARE: Final = SPREAD[:, :3] + 3 * np.eye(3)
DEFINITE: Final = SQUARE @ SQUARE.T


def derivative(fn: Callable[[Variable], Variable]) -> Callable[[Variable], Variable]:
    """x → ∂/∂x of a weighted sum of fn(x), where the weights differ, so that no derivative is hidden by another."""

    def build(x: Any) -> Variable:
        y = fn(x)
        weights = WEIGHTS[: y.static_shape[0], : y.static_shape[1]] if y.ndim == 2 else WEIGHTS[0, : y.static_shape[0]]
        return grad((y * weights).sum(), x)  # type: ignore[no-any-return]

    return build


CASES: Final = [
    Case(
        id="derivative-of-det", build=lambda x: grad(at.linalg.det(x), x), inputs=[SQUARE], dims=[(3, 3)],
        rtol=1e-9, reason="cofactors of cofactors",
    ),
    Case(
        id="derivative-of-derivative-of-det", inputs=[SQUARE], dims=[(3, 3)],
        build=lambda x: grad((grad(at.linalg.det(x), x) * WEIGHTS[:, :3]).sum(), x),
        rtol=1e-9, reason="singular values and their vectors",
    ),
    Case(
        id="derivative-of-cholesky", build=derivative(at.linalg.cholesky), inputs=[DEFINITE], dims=[(3, 3)],
        rtol=1e-9, reason="the factor is solved with twice", keeps_places=True,
    ),
    Case(
        id="tangent-of-cholesky", build=lambda x, t: Rop(at.linalg.cholesky(x), x, t), inputs=[DEFINITE, SQUARE],
        dims=[(3, 3), (3, 3)], rtol=1e-9, reason="the factor is solved with twice", keeps_places=True,
    ),
    Case(id="derivative-of-norm", build=derivative(lambda x: at.norm(x, axis=1)), inputs=[SPREAD], dims=[(3, 4)]),
    Case(id="derivative-of-max", build=derivative(lambda x: at.max(x, axis=1)), inputs=[SPREAD], dims=[(3, 4)]),
    Case(id="derivative-of-sort", build=derivative(lambda x: at.sort(x, axis=1) ** 2), inputs=[SPREAD], dims=[(3, 4)]),
]  # fmt: skip
