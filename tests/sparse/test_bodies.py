"""Sparse matrices inside of loops, branches and composites; Jacobians, Hessians and batches of functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError
from aotensor.gradient import Lop, Rop, hessian, jacobian
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import vectorize_graph
from aotensor.graph.walk import leaves

VALUE = csr_matrix(random_array((5, 5), density=0.5, rng=np.random.default_rng(1)))
START = np.linspace(0.1, 0.9, 5)


def _power(x: Variable, start: Variable, steps: int = 3) -> Variable:
    """Four steps of v → tanh(x·v), by a loop that reads x as a non-sequence."""
    found: Variable = aot.scan(lambda v, m: at.tanh(sp.dot(m, v)), outputs_info=start, non_sequences=x, n_steps=steps)[
        0
    ]
    return found[-1]


def _agree(inputs: list[Variable], outputs: list[Variable], values: list[Any], expected: list[Any]) -> None:
    """Compiled, by the reference, and as expected."""
    f = aot.function(inputs, outputs)
    for found in (f(*values), f.reference(*values)):
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.toarray() if hasattr(one, "toarray") else one, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.shows("sparse/12-operators")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_a_loop_reads_a_sparse_matrix(format: str) -> None:
    """Value and gradients; that with respect to the matrix is structured."""
    x, v, d = sp.matrix(format, "x"), at.dvector("v"), at.dmatrix("d")
    cost = (_power(x, v) ** 2).sum()
    dense: Variable = aot.scan(lambda s: at.tanh(d @ s), outputs_info=v, n_steps=3)[0]
    plain = (dense[-1] ** 2).sum()
    expected = [y.eval({d: VALUE.toarray(), v: START}) for y in (plain, *aot.grad(plain, [d, v]))]
    expected[1] = np.where(VALUE.toarray() != 0, expected[1], 0)
    derivatives = aot.grad(cost, [x, v])
    assert derivatives[0].is_sparse
    _agree([x, v], [cost, *derivatives], [VALUE.asformat(format), START], expected)


def test_a_captured_product_of_matrices_and_a_constant() -> None:
    """What a step does with matrices from outside alone is done once outside; constants are in the body."""
    x, rows = sp.csr_matrix("x"), at.dmatrix("rows")
    twice = sp.structured_dot(x, x)
    found, _ = aot.map(lambda row: sp.dot(twice, row) + sp.dot(VALUE, row), rows)
    dense = VALUE.toarray()
    values = np.arange(15.0).reshape(3, 5)
    _agree([x, rows], [found], [VALUE, values], [values @ (dense @ dense + dense).T])


@pytest.mark.shows("sparse/8-get_item_2d")
def test_a_step_takes_rows() -> None:
    x = sp.csr_matrix("x")
    found, _ = aot.map(lambda i: x[i : i + 1].sum(), at.arange(5))
    cost = (found * np.arange(5.0)).sum()
    derivative = np.where(VALUE.toarray() != 0, np.arange(5.0)[:, None], 0)
    _agree([x], [found, aot.grad(cost, x)], [VALUE], [VALUE.toarray().sum(1), derivative])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: aot.scan(lambda row: row.sum(), sequences=x),
        lambda x: aot.scan(lambda m: m, outputs_info=x, n_steps=2),
        lambda x: aot.map(lambda i: x[i : i + 1], at.arange(2)),
    ],
)
def test_sparse_sequences_states_and_results_are_refused(wrong: Any) -> None:
    with pytest.raises(GraphTypeError, match="expected a dense tensor, found a sparse matrix"):
        wrong(sp.csr_matrix("x"))


@pytest.mark.parametrize("condition", [True, False])
def test_branches_may_be_sparse(condition: bool) -> None:
    """The patterns differ, and so may the extents."""
    c, x = at.scalar("c", dtype="bool"), sp.csr_matrix("x")
    chosen = aot.ifelse(c, x[1:], 2.0 * x[:, :3])
    sums = chosen.sum(axis=0)
    dense = VALUE.toarray()
    expected = dense[1:].copy() if condition else 2 * dense[:, :3]
    derivative = np.zeros((5, 5))
    if condition:
        derivative[1:] = dense[1:] != 0
    else:
        derivative[:, :3] = 2.0 * (dense[:, :3] != 0)
    cost = sp.sp_sum(chosen, sparse_grad=True)
    _agree([c, x], [chosen, sums, aot.grad(cost, x)], [condition, VALUE], [expected, expected.sum(0), derivative])


def test_branches_that_do_not_fit() -> None:
    x, y, d = sp.csr_matrix("x"), sp.csc_matrix("y"), at.dmatrix("d")
    with pytest.raises(GraphTypeError, match="must have one sparse format"):
        aot.ifelse(at.bscalar("c"), x, y)
    with pytest.raises(GraphTypeError, match="both branches must be sparse, or both dense"):
        aot.ifelse(at.bscalar("c"), x, d)
    with pytest.raises(GraphTypeError, match="must have one dtype"):
        aot.ifelse(at.bscalar("c"), x, sp.csr_matrix("z", dtype="float32"))


def test_composites_take_and_give_sparse_matrices() -> None:
    inner, w = sp.csr_matrix("inner"), at.dvector("w")
    op = aot.OpFromGraph([inner, w], [inner * 2.0, sp.dot(inner, w)])
    x, v = sp.csr_matrix("x"), at.dvector("v")
    matrix, vector = op(x, v)
    dense = VALUE.toarray()
    derivatives = aot.grad((vector**2).sum(), [x, v])
    expected = [2 * dense, dense @ START, np.outer(2 * dense @ START, START), 2 * dense.T @ dense @ START]
    f = aot.function([x, v], [matrix, vector, *derivatives])
    for found in (f(VALUE, START), f.reference(VALUE, START)):
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.toarray() if hasattr(one, "toarray") else one, wanted, rtol=1e-12)
    for wrong in (sp.csc_matrix("y"), at.dmatrix("d"), at.dvector("u")):
        with pytest.raises(GraphTypeError, match="must be of csr float64"):
            op(wrong, v)


@pytest.mark.shows("sparse/0-second-order", "sparse/0-pushforward")
def test_jacobians_and_hessians_through_sparse_matrices() -> None:
    data, v, u = at.dvector("data"), at.dvector("v"), at.dvector("u")
    x = sp.CSR(data, VALUE.indices, VALUE.indptr, VALUE.shape)
    y = at.tanh(sp.dot(x, at.tanh(sp.dot(x, v))))
    d = at.dvector("d")
    places = VALUE.nonzero()
    dense = at.set_subtensor(at.zeros((5, 5))[places[0], places[1]], d)
    plain = at.tanh(dense @ at.tanh(dense @ v))
    found = [jacobian(y, data), jacobian(y, v), hessian((y**2).sum(), data), Lop(y, data, u), Rop(y, v, u)]
    wanted = [jacobian(plain, d), jacobian(plain, v), hessian((plain**2).sum(), d), Lop(plain, d, u), Rop(plain, v, u)]
    known = {d: VALUE.data, v: START, u: START**2}
    expected = [np.asarray(one.eval({x: known[x] for x in leaves([one]) if x in known})) for one in wanted]
    _agree([data, v, u], found, [VALUE.data, START, START**2], expected)


@pytest.mark.shows("sparse/7-batching")
def test_batches_of_vectors_beside_a_sparse_matrix() -> None:
    x, v, samples = sp.csc_matrix("x"), at.dvector("v"), at.dmatrix("samples")
    found = vectorize_graph(at.tanh(sp.dot(x, v)), {v: samples})
    values = np.arange(15.0).reshape(3, 5) / 15
    _agree([x, samples], [found], [VALUE.tocsc(), values], [np.tanh(values @ VALUE.toarray().T)])


def test_gradients_of_loops_whose_steps_make_sparse_matrices() -> None:
    """cₜ₊₁ = (M ∘ Xₜ)cₜ: the matrix of a step is made again in the backward step, as it cannot be stacked."""
    m = csr_matrix(random_array((4, 4), density=0.5, rng=np.random.default_rng(3)))
    rng = np.random.default_rng(4)
    start, rows = rng.normal(size=4), rng.normal(size=(3, 4, 4))
    c, xs, matrix = at.vector("c", shape=[4]), at.tensor3("xs"), sp.csr_matrix("m", shape=(4, 4))
    last = aot.scan(lambda x, c, matrix: sp.mul(matrix, x) @ c, xs, [c], non_sequences=[matrix], return_updates=False)[
        -1
    ]
    f = aot.function([c, matrix, xs], aot.grad(at.sum(last), [c, matrix, xs]))
    dense, states, back = m.toarray(), [start], np.ones(4)
    for x in rows:
        states.append((dense * x) @ states[-1])
    of_rows, of_matrix = np.zeros_like(rows), np.zeros((4, 4))
    for t in reversed(range(3)):
        of_rows[t] = dense * np.outer(back, states[t])
        of_matrix += rows[t] * np.outer(back, states[t])
        back = (dense * rows[t]).T @ back
    for call in (f.reference, f):
        found = call(start, m, rows)
        np.testing.assert_allclose(found[0], back, 1e-12)
        np.testing.assert_allclose(found[1].toarray(), of_matrix * (dense != 0), 1e-12)
        np.testing.assert_allclose(found[2], of_rows, 1e-12)
