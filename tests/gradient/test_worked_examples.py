"""Worked examples: expressions with the numbers that they must give, by the reference and compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import (
    Lop,
    Rop,
    disconnected_grad,
    grad,
    grad_clip,
    grad_scale,
    hessian,
    hessian_vector_product,
    jacobian,
    zero_grad,
)
from aotensor.graph.variable import Variable

X, Y, G, F = at.dscalar("x"), at.dscalar("y"), at.dscalar("g"), at.fscalar("f")
V, W, M, K = at.dvector("v"), at.dvector("w"), at.dmatrix("m"), at.ivector("i")
E = np.array([1.0, 2.0, 3.0])


@dataclass(frozen=True)
class Example:
    """What is computed, from what values, and what it must be."""

    make: Callable[[], Any]
    values: dict[Variable, Any]
    expected: list[Any]


def _named_square() -> Variable:
    c = X**2
    c.name = "c"
    found = grad(c, X)
    assert found.name == "(dc/dx)"
    return found


def _sines() -> Variable:
    h = at.sin(V)
    return jacobian(V * h, V, consider_constant=[h])


EXAMPLES: dict[str, Example] = {
    "grad of x²": Example(_named_square, {X: 3.0}, [6.0]),
    "grad of grad of x³": Example(lambda: grad(grad(X**3, X), X), {X: 2.0}, [12.0]),
    "third derivative of x³": Example(lambda: grad(grad(grad(X**3, X), X), X), {X: 2.0}, [6.0]),
    "x·disconnected_grad(x)": Example(lambda: grad(X * disconnected_grad(X), X), {X: 3.0}, [3.0]),
    "zero_grad(x)²": Example(lambda: grad(zero_grad(X) ** 2, X), {X: 3.0}, [0.0]),
    "sum(v·x)": Example(lambda: grad(at.sum(V * X), [V, X]), {V: E[1:], X: 4.0}, [[4, 4], 5]),
    "sum(v·v·v)": Example(lambda: grad(at.sum(V * V * V), V), {V: E[1:]}, [[12, 27]]),
    "known gradient of xy": Example(
        lambda: grad(None, [X, Y], known_grads={X * Y: G}), {X: 2.0, Y: 3.0, G: 10.0}, [30, 20]
    ),
    "known gradient of the cost": Example(
        lambda: grad(c := (X * Y) ** 2, X, known_grads={c: at.constant(10.0)}), {X: 2.0, Y: 3.0}, [360]
    ),
    "known gradient of v²": Example(lambda: grad(None, V, known_grads={V**2: W}), {V: E[:2], W: E[:2] + 2}, [[6, 16]]),
    "Lop of v²": Example(lambda: Lop(V**2, V, E), {V: E}, [[2, 8, 18]]),
    "Lop of v² and 3v": Example(lambda: Lop([V**2, 3 * V], V, [E, E]), {V: E}, [[5, 14, 27]]),
    "Rop of v²": Example(lambda: Rop(V**2, V, E), {V: E}, [[2, 8, 18]]),
    "Rop of v·w": Example(
        lambda: Rop(V * W, [V, W], [np.ones(3), np.ones(3)]), {V: E, W: 2 * E}, [[3, 6, 9]]
    ),
    "Rop of dot(M, v)": Example(
        lambda: Rop(at.dot(M, V), M, np.eye(2, 3)), {M: np.ones((2, 3)), V: E}, [[1, 2]]
    ),
    "Rop with respect to integers": Example(
        lambda: Rop(2.5 * K, K, np.array([1.5, 2.5, 3.5])), {K: np.array([1, 2, 3], "int32")}, [[3.75, 6.25, 8.75]]
    ),
    "jacobian of v²": Example(lambda: jacobian(V**2, V), {V: E}, [np.diag([2, 4, 6])]),
    "hessian of Σv³": Example(lambda: hessian(at.sum(V**3), V), {V: E}, [np.diag([6, 12, 18])]),
    "hessian of Σv²w": Example(
        lambda: hessian(at.sum(V**2 * W), [V, W]), {V: E, W: E + 1}, [np.diag([4, 6, 8]), np.zeros((3, 3))]
    ),
    "hessian of Σ2v": Example(lambda: hessian(at.sum(2 * V), V), {V: E}, [np.zeros((3, 3))]),
    "hvp of Σv³": Example(lambda: hessian_vector_product(at.sum(V**3), V, np.ones(3)), {V: E}, [[6, 12, 18]]),
    "jacobian with a constant factor": Example(_sines, {V: E}, [np.diag([0.84147098, 0.90929743, 0.14112001])]),
    "grad_clip and plain": Example(
        lambda: [grad(grad_clip(X, -1, 1) ** 2, X), grad(X**2, X)], {X: 2.0}, [1.0, 4.0]
    ),
    "grad_scale in float32": Example(
        lambda: [grad(at.sin(grad_scale(F, -1.0)), F), grad(at.sin(F), F)], {F: 2.0}, [0.41614681, -0.41614681]
    ),
    "shapes of jacobians": Example(
        lambda: [jacobian(at.stack([X**2]), X), *jacobian(V * X, [X, V])], {X: 3.0, V: E}, [[6.0], E, 3 * np.eye(3)]
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Array]]:
    """All examples in one library."""
    every = [X, Y, G, F, V, W, M, K]
    built = {name: _listed(example.make()) for name, example in EXAMPLES.items()}
    functions = [
        aot.function(every, outputs, name=f"example_{k}", on_unused_input="ignore")
        for k, outputs in enumerate(built.values())
    ]
    library = aot.compile(functions, tmp_path_factory.mktemp("examples"), name="examples", opt_level=0).load()
    plain: dict[Variable, Any] = {
        X: 0.0, Y: 0.0, G: 0.0, F: np.float32(0), V: E, W: E, M: np.ones((2, 3)), K: np.zeros(3, "int32"),
    }  # fmt: skip
    results = {}
    for (name, example), f in zip(EXAMPLES.items(), functions, strict=True):
        values = {**plain, **example.values}
        results[name] = library[f.name](*(values[x] for x in every))
    return results


def _listed(found: Any) -> list[Variable]:
    return [found] if isinstance(found, Variable) else list(found)


@pytest.mark.shows("gradient/13-square", "gradient/13-cube", "gradient/13-disconnected", "gradient/13-zero")
@pytest.mark.shows("gradient/13-product", "gradient/13-cubes", "gradient/13-known", "gradient/13-known-cost")
@pytest.mark.shows("gradient/13-known-vector", "gradient/13-lop", "gradient/13-lop-two", "gradient/13-rop")
@pytest.mark.shows("gradient/13-rop-two", "gradient/13-rop-matrix", "gradient/13-rop-integer", "gradient/13-jacobian")
@pytest.mark.shows("gradient/13-hessian", "gradient/13-hessian-two", "gradient/13-hessian-linear", "gradient/13-hvp")
@pytest.mark.shows("gradient/13-jacobian-constant", "gradient/13-clip", "gradient/13-scale")
@pytest.mark.parametrize("name", EXAMPLES)
def test_by_the_reference(name: str) -> None:
    example = EXAMPLES[name]
    for found, expected in zip(_listed(example.make()), example.expected, strict=True):
        np.testing.assert_allclose(found.eval(example.values), expected, rtol=1e-7)


@pytest.mark.shows("gradient/13-square", "gradient/13-cube", "gradient/13-disconnected", "gradient/13-zero")
@pytest.mark.shows("gradient/13-product", "gradient/13-cubes", "gradient/13-known", "gradient/13-known-cost")
@pytest.mark.shows("gradient/13-known-vector", "gradient/13-lop", "gradient/13-lop-two", "gradient/13-rop")
@pytest.mark.shows("gradient/13-rop-two", "gradient/13-rop-matrix", "gradient/13-rop-integer", "gradient/13-jacobian")
@pytest.mark.shows("gradient/13-hessian", "gradient/13-hessian-two", "gradient/13-hessian-linear", "gradient/13-hvp")
@pytest.mark.shows("gradient/13-jacobian-constant", "gradient/13-clip", "gradient/13-scale")
@pytest.mark.parametrize("name", EXAMPLES)
def test_compiled(name: str, compiled: dict[str, list[Array]]) -> None:
    for found, expected in zip(compiled[name], EXAMPLES[name].expected, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7)
