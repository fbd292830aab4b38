"""Nothing of a side that is not taken reaches a derivative, and behind a scalar condition nothing of it is computed.

What is expected is the derivative of the side that is taken, in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from executions import both

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.driver.prepare import prepare
from aotensor.errors import LinAlgError
from aotensor.gradient import Lop, Rop, grad, hessian, jacobian
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import batch
from aotensor.graph.walk import toposort
from aotensor.ops.scan.branch import Branch

NAN = np.nan


@dataclass(frozen=True)
class Piece:
    """y = build(x) at points, with y, y′ and y″ there; elements of vectors do not meet."""

    id: str
    build: Callable[[Variable], Variable]
    at: Sequence[float]
    value: Sequence[float]
    first: Sequence[float]
    second: Sequence[float]
    is_scalar: bool = False


def _wild(x: Variable) -> Variable:
    """x³, whose derivative and tangent are nan at 0 and whose value is nan below."""
    return at.log(x) * 0 + x**3


def _nested(x: Variable) -> Variable:
    inner = aot.ifelse(x < 1, at.sqrt(x) * at.log(x), _wild(x))
    return aot.ifelse(x <= 0, x**2, inner * 2)


def _in_both(x: Variable) -> Variable:
    shared = at.sqrt(x)
    return aot.ifelse(x > 0, shared**4, x * 3) + x


def _of_condition(x: Variable) -> Variable:
    return aot.ifelse(at.log(x) > -10, x**2, 5 * x)


def _loop(x: Variable) -> Variable:
    """x or x² four times, from 1."""
    found: Variable = aot.scan(
        lambda old, x: aot.ifelse(x <= 0, old * (x + 1), old * _wild(x)),
        outputs_info=at.constant(1.0), non_sequences=[x], n_steps=2, return_updates=False,
    )[-1]  # fmt: skip
    return found


def _mapped(x: Variable) -> Variable:
    found: Variable = aot.map(lambda row: aot.ifelse(row <= 0, row**2, _wild(row)), x, return_updates=False)
    return found


def _batched(x: Variable) -> Variable:
    """The choice of one sample made for all: a choice by elements."""
    one = at.dscalar("one")
    return batch([_nested(one)], {one: x})[0]


def _rows(x: Variable) -> Variable:
    """|row| of rows of 1 element where it is not 0."""
    rows = x.dimshuffle(0, None)
    length = at.sqrt((rows**2).sum(axis=1))
    return at.switch(length > 0, length, 0)


SCALARS = [
    Piece("ifelse", lambda x: aot.ifelse(x <= 0, x**2, _wild(x)), [0, -2, 2], [0, 4, 8], [0, -4, 12], [2, 2, 12], True),
    Piece("nested", _nested, [0, -2, 2], [0, 4, 16], [0, -4, 24], [2, 2, 24], True),
    Piece("shared", _in_both, [0, -1, 4], [0, -4, 20], [4, 4, 9], [0, 0, 2], True),
    Piece("condition", _of_condition, [0, 3], [0, 9], [5, 6], [0, 2], True),
    Piece("scan", _loop, [0, 2], [1, 64], [2, 192], [2, 480], True),
]
VECTORS = [
    Piece("map", _mapped, [0, -2, 2], [0, 4, 8], [0, -4, 12], [2, 2, 12]),
    Piece("batch", _batched, [0, -2, 2], [0, 4, 16], [0, -4, 24], [2, 2, 24]),
    Piece("switch", lambda x: at.switch(x > 0, at.log(x), 1), [0, -1, 2], [1, 1, np.log(2)], [0, 0, 0.5],
          [0, 0, -0.25]),
    Piece("switch-chain", lambda x: at.sqr(at.switch(x > 0, at.sqrt(x), x)), [0, -1, 2], [0, 1, 2], [0, -2, 1],
          [2, 2, 0]),
    Piece("switch-condition", lambda x: at.switch(at.log(x) > 0, x**2, x), [0, 0.5, 2], [0, 0.5, 4], [1, 1, 4],
          [0, 0, 2]),
    Piece("switch-twice", lambda x: at.switch(x > 0, at.switch(x > 1, at.log(x - 1), x), 0), [0, 1, 3],
          [0, 1, np.log(2)], [0, 1, 0.5], [0, 0, -0.25]),
    Piece("maximum", lambda x: at.maximum(at.log(x), -1), [0, 0.1, 2], [-1, -1, np.log(2)], [0, 0, 0.5], [0, 0, -0.25]),
    Piece("minimum", lambda x: at.minimum(-at.log(x), 1), [0, 0.1, 2], [1, 1, -np.log(2)], [0, 0, -0.5], [0, 0, 0.25]),
    Piece("clip", lambda x: at.clip(at.log(x), -1, 1), [0, 2, 9], [-1, np.log(2), 1], [0, 0.5, 0], [0, -0.25, 0]),
    Piece("rows", _rows, [0, -3, 2], [0, 3, 2], [0, -1, 1], [0, 0, 0]),
    Piece("of-floor", lambda x: x + at.log(at.floor(x)) * 0, [0.5, 1.5], [NAN, 1.5], [1, 1], [0, 0]),
    Piece("to-floor", lambda x: x + at.floor(at.log(x)), [0.0, 1.5], [-np.inf, 1.5], [1, 1], [0, 0]),
]  # fmt: skip


@pytest.mark.shows("gradient/11-choose-kink")
@pytest.mark.parametrize("piece", [*SCALARS, *VECTORS], ids=lambda piece: piece.id)
def test_derivatives_are_those_of_the_side_that_is_taken(piece: Piece) -> None:
    x = at.dscalar("x") if piece.is_scalar else at.dvector("x")
    y = piece.build(x)
    total = y if piece.is_scalar else y.sum()
    one = at.ones_like(x)
    derivative = grad(total, x)
    outputs = [
        y, derivative, Rop(y, x, one),
        grad(derivative if piece.is_scalar else derivative.sum(), x, disconnected_inputs="ignore"),
        Rop(derivative, x, one, disconnected_outputs="ignore"),
        Lop(Rop(y, x, one), x, one, disconnected_inputs="ignore"),
        jacobian(y, x).sum(axis=-1) if not piece.is_scalar else jacobian(y, x),
    ]  # fmt: skip
    expected = [piece.value, piece.first, piece.first, *[piece.second] * 3, piece.first]
    for k, point in enumerate(piece.at if piece.is_scalar else [np.array(piece.at, float)]):
        for found, wanted in zip(both(outputs, {x: point}), expected, strict=True):
            np.testing.assert_allclose(found, wanted[k] if piece.is_scalar else wanted, rtol=1e-12, atol=1e-12)


def test_hessians_of_a_choice() -> None:
    x = at.dvector("x")
    cost = aot.ifelse(x[0] > 0, (at.log(x) ** 2).sum(), (x**2).sum() * x[1])
    (found,) = both([hessian(cost, x)], {x: np.array([0.0, 3.0])})
    np.testing.assert_allclose(found, [[6.0, 0.0], [0.0, 18.0]])


def test_a_side_with_other_extents() -> None:
    x, c = at.dvector("x"), at.dscalar("c")
    y = aot.ifelse(c > 0, at.log(x[:2]), x[1:] ** 2)
    derivative = grad((y**2).sum(), x)
    values = np.array([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(both([derivative], {x: values, c: -1.0})[0], [0, 4, 32, 108])
    np.testing.assert_allclose(both([derivative], {x: values + 1, c: 1.0})[0], [0, np.log(2), 0, 0], atol=1e-15)


def test_several_values_of_which_some_are_read() -> None:
    x, c = at.dscalar("x"), at.dscalar("c")
    first, second = aot.ifelse(c > 0, [x**2, at.log(x)], [at.log(x), x**3])
    for c_value, wanted in ((1.0, 0.0), (-1.0, NAN)):
        np.testing.assert_allclose(both([grad(first, x)], {x: 0.0, c: c_value})[0], wanted if c_value > 0 else np.inf)
    np.testing.assert_allclose(both([grad(first + second, x)], {x: 2.0, c: -1.0})[0], 0.5 + 12)


def test_what_a_side_is_made_of_may_be_differentiated_for() -> None:
    x, c = at.dscalar("x"), at.dscalar("c")
    side = at.log(x)
    y = aot.ifelse(c > 0, x**2, side * x)
    derivatives = grad(y, [side, x])
    np.testing.assert_allclose(both(derivatives, {x: 0.0, c: 1.0}), [0, 0])
    np.testing.assert_allclose(both(derivatives, {x: 2.0, c: -1.0}), [2, np.log(2) + 1])


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sparse_values(format: str) -> None:
    A, c = sp.matrix(format, "A", "float64"), at.dscalar("c")
    y = aot.ifelse(c > 0, sp.sqr(A), sp.structured_log(A))
    derivative = grad(sp.sp_sum(y, sparse_grad=True), A)
    value = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]]).asformat(format)
    value.data[0] = 0.0  # stored: the derivative of the logarithm is infinite there
    f = aot.function([A, c], derivative)
    for run in (f, f.reference):
        np.testing.assert_allclose(run(value, 1.0).toarray(), 2 * value.toarray())
        assert np.isinf(run(value, -1.0).data).sum() == 1


FAILS = np.array([[-1.0, 0.0], [0.0, 1.0]])
HOLDS = np.array([[4.0, 0.0], [0.0, 9.0]])


def _logdet(A: Variable) -> Variable:
    return at.log(at.diag(at.linalg.cholesky(A))).sum()


def test_no_side_fails_that_is_not_taken() -> None:
    """Neither in the reference nor compiled, though value and gradient need one factor."""
    A = at.dmatrix("A")
    y = aot.ifelse(A[0, 0] > 0, _logdet(A), A.sum())
    f = aot.function([A], [y, *[grad(y**2, A)]])
    for run in (f, f.reference):
        np.testing.assert_allclose(run(HOLDS)[0], np.log(6.0))
        np.testing.assert_allclose(run(HOLDS)[1], np.log(6.0) / HOLDS.diagonal() * np.eye(2), atol=1e-15)
        np.testing.assert_allclose(run(FAILS)[1], np.zeros((2, 2)))
        with pytest.raises(LinAlgError):
            run(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_no_side_fails_that_no_step_takes() -> None:
    """Rows, matrices and fixed values alike: neither in front of the loop nor for all rows at once."""
    x, k, A, r = at.dvector("x"), at.ivector("k"), at.dtensor3("A"), at.dvector("r")
    options: Any = {"return_updates": False}
    picked = aot.map(lambda i: aot.ifelse(i < 3, x[i], at.constant(0.0)), k, **options)
    logdets = aot.map(lambda a: aot.ifelse(a[0, 0] > 0, _logdet(a), a.sum()), A, **options)
    total = aot.scan(
        lambda row, old: aot.ifelse(row > 0, old + row * _logdet(A[1]), old + row),
        sequences=r, outputs_info=at.constant(0.0), **options,
    )[-1]  # fmt: skip
    derivatives = grad(picked.sum() + logdets.sum() + total, [x, A, r])
    values = {x: E, k: np.array([0, 5, 2], "int32"), A: np.stack([HOLDS, FAILS]), r: np.array([-1.0, -2.0])}
    found = both([picked, logdets, total, *derivatives], values)
    np.testing.assert_allclose(found[0], [1, 0, 3])
    np.testing.assert_allclose(found[1], [np.log(6.0), 0])
    np.testing.assert_allclose(found[2], -3)
    np.testing.assert_allclose(found[3], [1, 0, 1])
    np.testing.assert_allclose(found[4], [np.diag(0.5 / HOLDS.diagonal()), np.ones((2, 2))])
    np.testing.assert_allclose(found[5], [1, 1])


def test_value_and_gradient_share_what_a_side_computes() -> None:
    A = at.dmatrix("A")
    y = aot.ifelse(A[0, 0] > 0, _logdet(A), A.sum())
    nodes = toposort(prepare([y, grad(y**2, A)], [A]))
    bodies = [body.nodes for node in nodes if isinstance(node.op, Branch) for body in (node.op.then, node.op.otherwise)]
    names = [node.op.name for body in bodies for node in body]
    assert names.count("cholesky") == 1 and "cholesky" not in [node.op.name for node in nodes]


def test_a_choice_inside_of_the_same_choice_is_made_already() -> None:
    x, c = at.dvector("x"), at.dscalar("c")
    y = aot.ifelse(c > 0, at.sin(aot.ifelse(c > 0, x**2, at.log(x))), x)
    f = prepare([y], [x, c])
    (branch,) = [node for node in toposort(f) if isinstance(node.op, Branch)]
    (fused,) = branch.op.then.nodes  # type: ignore[attr-defined]
    assert [node.op.name for node in fused.op.body.nodes] == ["sqr", "sin"]
    np.testing.assert_allclose(both([y], {x: E, c: 1.0})[0], np.sin(E**2))


E = np.array([1.0, 2.0, 3.0])


def _through(derivative: Any) -> list[str]:
    return [node.op.name for node in toposort([derivative])]


def test_a_choice_of_finite_things_costs_one_choice() -> None:
    """Both ways meet in one switch; the cotangent is not masked on the way."""
    x = at.dvector("x")
    derivative = grad(at.switch(x > 0, at.sin(x), at.cos(x)).sum(), x)
    assert _through(derivative).count("switch") == 2, "the value, which lends its extents, and the derivative"


def test_a_long_chain_of_choices_stays_linear() -> None:
    """Each step reads a scalar, whose cotangent is a sum behind all choices so far."""
    x, b = at.dvector("x"), at.dscalar("b")

    def steps(count: int) -> Variable:
        y = x
        for _ in range(count):
            y = at.maximum(y * b, 0.5 * y)
        return grad(y.sum(), b)  # type: ignore[no-any-return]

    sizes = [len(toposort([steps(count)])) for count in (20, 40, 80)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    values = {x: np.array([1.0, -1.0]), b: 2.0}
    np.testing.assert_allclose(both([steps(5)], values)[0], 5 * 2.0**4)  # 0.5 is the larger one of −2 and −0.5 …


@pytest.mark.parametrize("sparse_grad", [True, False])
def test_regular_derivatives_of_sparse_values(sparse_grad: bool) -> None:
    A, c = sp.csr_matrix("A", "float64"), at.dscalar("c")
    y = aot.ifelse(c > 0, sp.sp_sum(sp.sqr(A), sparse_grad=sparse_grad), sp.sp_sum(A, sparse_grad=sparse_grad))
    f = aot.function([A, c], grad(y, A))
    value = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    for run in (f, f.reference):
        np.testing.assert_allclose(run(value, 1.0).toarray(), 2 * value.toarray())
        wanted = (value.toarray() != 0) if sparse_grad else np.ones((2, 2))
        np.testing.assert_allclose(run(value, -1.0).toarray(), wanted)
