"""Inputs of a cost count as used by its derivatives, also where these do not need their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import MissingInputError, UnusedInputError
from aotensor.gradient import Lop, Rop, grad, hessian, hessian_vector_product, jacobian, origins, subgraph_grad
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.graph.walk import leaves, toposort

X, Y, Z = at.dscalars("x", "y", "z")
V, W = at.dvectors("v", "w")
C = at.vector("c", shape=(3,))
A = sp.csr_matrix("A")
D = np.array([1.0, 2.0, 3.0])

LINEAR: list[tuple[str, list[Any], Callable[[], Any], list[Any], Any]] = [
    ("grad", [X], lambda: grad(2 * X, X), [5.0], 2.0),
    ("grad-further", [X], lambda: 3 * grad(2 * X, X) + 1, [5.0], 7.0),
    ("grad-of-a-sum", [X, Y, Z], lambda: grad(Z + X * Y, X), [1.0, 2.0, 3.0], 2.0),
    ("grad-that-is-an-input", [X, Y], lambda: grad(X * Y, X), [1.0, 2.0], 2.0),
    ("grad-that-is-a-constant", [X], lambda: grad(X * at.constant(4.0), X), [1.0], 4.0),
    ("grad-named", [X], lambda: grad(cost=2 * X, wrt=[X])[0], [5.0], 2.0),
    ("hessian", [C], lambda: hessian((C**2).sum(), C), [D], 2 * np.eye(3)),
    ("jacobian", [C], lambda: jacobian(2 * C, C), [D], 2 * np.eye(3)),
    ("jacobian-by-rows", [C], lambda: jacobian(2 * C, C, vectorize=False), [D], 2 * np.eye(3)),
    ("jacobian-sparse", [C], lambda: sp.dense_from_sparse(jacobian(2 * C, C, sparse=True)), [D], 2 * np.eye(3)),
    ("Lop", [C, V], lambda: Lop(2 * C, C, V), [D, D], 2 * D),
    ("Rop", [C, V], lambda: Rop(2 * C, C, V), [D, D], 2 * D),
    ("hessian-vector", [C, V], lambda: hessian_vector_product((C**2).sum(), C, V), [D, D], 2 * D),
    ("sparse", [A], lambda: sp.dense_from_sparse(grad(A.sum(), A)), [np.eye(2)], np.ones((2, 2))),
    ("subgraph", [X], lambda: subgraph_grad([X], end=[], cost=2 * X)[0][0], [5.0], 2.0),
]


@pytest.mark.parametrize(("id", "inputs", "build", "values", "expected"), LINEAR, ids=[row[0] for row in LINEAR])
def test_the_inputs_of_a_linear_cost_are_taken(
    id: str, inputs: list[Any], build: Callable[[], Any], values: list[Any], expected: Any
) -> None:
    f = aot.function(inputs, build())
    np.testing.assert_allclose(f(*values), expected)
    np.testing.assert_allclose(f.reference(*values), expected)


def test_other_inputs_are_still_unused() -> None:
    with pytest.raises(UnusedInputError, match="input z is not needed"):
        aot.function([X, Y, Z], grad(X * Y, X))
    grad(X * Y, X)  # gives y itself, which says nothing about x from now on
    with pytest.raises(UnusedInputError, match="input x is not needed"):
        aot.function([X, Y], Y + 1)


def test_a_cost_needs_no_inputs_that_its_derivative_does_not() -> None:
    assert aot.function([X], grad(X**2 + Y, X))(3.0) == 6.0
    assert grad(2 * X, X).eval() == 2.0
    with pytest.raises(MissingInputError, match="y is needed"):
        aot.function([X], grad(X**2 * Y, X))


def test_many_derivatives_are_checked_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each derivative of its own, the time to differentiate 500 inputs was three times as long."""
    walks: list[int] = []

    def counted(outputs: Iterable[Variable]) -> list[Apply]:
        found = toposort(outputs)
        walks.append(len(found))
        return found

    monkeypatch.setattr(origins, "toposort", counted)
    inputs = [at.dscalar(f"x{k}") for k in range(20)]
    cost = at.sum([at.sin(x) * y for x, y in pairwise(inputs)])
    for x, derivative in zip(inputs, grad(cost, inputs), strict=True):
        assert derivative.origins == (cost,)
        assert x not in leaves([derivative]) or len({*inputs} & {*leaves([derivative])}) <= 3
    assert len(walks) == 2


def test_intermediate_inputs_givens_and_copies() -> None:
    u = at.exp(X)
    assert aot.function([u], grad(2 * u, u))(3.0) == 2.0
    assert aot.function([Y], grad(2 * X, X), givens={X: Y})(3.0) == 2.0
    copy = aot.clone_replace(grad(2 * X + 0 * Y, X), {Y: Z})
    assert aot.function([X], copy)(3.0) == 2.0


@pytest.mark.parametrize("choose", [at.switch, aot.ifelse], ids=["switch", "ifelse"])
def test_a_choice_among_constants_is_connected_to_its_condition(choose: Any) -> None:
    """With derivative 0: both kinds of choice are constant but at a jump."""
    y = choose(X > 0, 1.0, 2.0)
    f = aot.function([X], [grad(y, X), Rop(y, X, at.constant(1.0)), grad(choose(X > 0, X * 3, 2.0), X)])
    for run in (f, f.reference):
        assert [float(value) for value in run(5.0)] == [0.0, 0.0, 3.0]
        assert [float(value) for value in run(-5.0)] == [0.0, 0.0, 0.0]
    several = choose(V.sum() > 0, at.constant(D), at.constant(2 * D))
    np.testing.assert_array_equal(aot.function([V], grad(several.sum(), V))(D), np.zeros(3))
