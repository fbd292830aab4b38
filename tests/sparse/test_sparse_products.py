"""Products of sparse arguments against SciPy, the worked example of the tables, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import vectorize_graph
from aotensor.graph.walk import evaluate_all

m = ss.csr_matrix([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
B = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
W = np.array([[1.0, 2.0], [3.0, 4.0]])
FORMATS = pytest.mark.parametrize("format", ["csr", "csc"])


def _values(outputs: list[Variable], values: dict[Variable, Any]) -> list[Any]:
    return [x.toarray() if ss.issparse(x) else x for x in evaluate_all(outputs, values)]


@pytest.mark.shows("sparse/7-numbers")
@FORMATS
def test_the_worked_example(format: str) -> None:
    x, d = sp.matrix(format, "x"), at.dmatrix("d")
    values = {x: m.asformat(format), d: B}
    assert np.array_equal(_values([sp.dot(x, d)], values)[0], [[3, 4], [17, 22]])
    for product, for_x in (
        (sp.dot, [[5, 11, 17], [11, 25, 39]]),
        (sp.structured_dot, [[0, 11, 0], [11, 0, 39]]),
    ):
        derivatives = grad((product(x, d) * W).sum(), [x, d])
        assert derivatives[0].is_sparse == (product is sp.structured_dot)
        found = _values(derivatives, values)
        assert np.array_equal(found[0], for_x)
        assert np.array_equal(found[1], [[6, 8], [1, 2], [9, 12]])
    e = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    (sampled,) = evaluate_all([sp.sampling_dot(W, e, x)], values)
    assert np.array_equal(sampled.toarray(), [[0, 2, 0], [6, 0, 21]]) and sampled.format == format
    assert np.array_equal(_values([sp.usmm(2, x, d, np.ones((2, 2)))], values)[0], [[7, 9], [35, 45]])


@pytest.mark.shows("sparse/7-numbers")
@FORMATS
def test_the_worked_example_compiled(format: str) -> None:
    x, d = sp.matrix(format, "x"), at.dmatrix("d")
    value = m.asformat(format)
    derivatives = grad((sp.dot(x, d) * W).sum(), [x, d]) + grad((sp.structured_dot(x, d) * W).sum(), [x, d])
    f = aot.function([x, d], [sp.dot(x, d), sp.usmm(2, x, d, np.ones((2, 2))), *derivatives])
    found = [one.toarray() if ss.issparse(one) else one for one in f(value, B)]
    for_d = [[6, 8], [1, 2], [9, 12]]
    wanted: list[Any] = [[[3, 4], [17, 22]], [[7, 9], [35, 45]]]
    wanted += [[[5, 11, 17], [11, 25, 39]], for_d, [[0, 11, 0], [11, 0, 39]], for_d]
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.shows("sparse/7-true_dot")
@pytest.mark.shows("sparse/7-structured_dot")
def test_sparse_results_store_what_the_patterns_make() -> None:
    x, y = sp.csr_matrix("x"), sp.csc_matrix("y")
    left = ss.csr_matrix([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    right = ss.csc_matrix([[1.0, 0.0], [-1.0, 4.0], [0.0, 5.0]])
    f = aot.function([x, y], [sp.structured_dot(x, y), sp.true_dot(x, y), sp.true_dot(x, y.toarray())])
    for found in (f(left, right), f.reference(left, right)):
        for one, nnz in zip(found, (4, 4, 4), strict=True):
            assert one.format == "csr" and one.nnz == nnz
            assert np.array_equal(one.toarray(), (left @ right).toarray())


@pytest.mark.shows("sparse/7-true_dot")
def test_true_dot_says_of_which_kind_its_gradients_are() -> None:
    x, y, d = sp.csr_matrix("x"), sp.csc_matrix("y"), at.dmatrix("d")
    other = ss.csc_matrix(B)
    for program, wrt, kinds in (
        (sp.true_dot(x, y), [x, y], ["csr", "csc"]),
        (sp.true_dot(x, d), [x, d], ["csr", None]),
        (sp.true_dot(x, d, grad_preserves_dense=False), [x, d], ["csr", "csc"]),
    ):
        derivatives = grad((sp.dense_from_sparse(program) * W).sum(), wrt)
        assert [getattr(derivative.type, "format", None) for derivative in derivatives] == kinds
        found = _values(derivatives, {x: m, y: other, d: B})
        assert np.array_equal(found[0], W @ B.T) and np.array_equal(found[1], m.T @ W)
    assert sp.TrueDot(True) != sp.TrueDot(False)


@pytest.mark.shows("sparse/7-matmul")
def test_operators_and_dense_functions_find_the_sparse_product() -> None:
    x, d, v = sp.csr_matrix("x"), at.dmatrix("d"), at.dvector("v")
    for build, op in (
        (lambda: x @ d, sp.Dot),
        (lambda: d @ x, sp.Dot),
        (lambda: v @ x, sp.Dot),
        (lambda: np.ones(2) @ x, sp.Dot),
        (lambda: at.matmul(x, v), sp.Dot),
        (lambda: x @ m.T, sp.Dot),
        (lambda: x.dot(d), sp.StructuredDot),
        (lambda: at.dot(d, x), sp.StructuredDot),
    ):
        assert isinstance(build().owner.op, op)  # type: ignore[no-untyped-call]


@pytest.mark.shows("sparse/7-batching")
def test_a_batch_of_dense_operands() -> None:
    x, d, many = sp.csr_matrix("x"), at.dmatrix("d"), at.dtensor3("many")
    found = vectorize_graph(sp.structured_dot(x, d), {d: many})
    samples = np.stack([B, -B, 2 * B])
    assert np.array_equal(evaluate_all([found], {x: m, many: samples})[0], m.toarray() @ samples)


X, D, V = sp.csr_matrix("X", shape=(2, 3)), at.dmatrix("D", shape=(4, 2)), at.dvector("V")


@pytest.mark.parametrize(
    "build, kind",
    [
        (lambda: sp.dot(D, D), GraphTypeError),
        (lambda: sp.dot(X, 2.0), GraphTypeError),
        (lambda: sp.dot(X, at.dtensor3("T")), GraphTypeError),
        (lambda: sp.dot(X, D), GraphValueError),
        (lambda: sp.dot(X, X), GraphValueError),
        (lambda: sp.structured_dot(X, D), GraphValueError),
        (lambda: sp.structured_dot(D, D), GraphTypeError),
        (lambda: sp.true_dot(X, V), GraphTypeError),
        (lambda: sp.true_dot(D, D), GraphTypeError),
        (lambda: sp.true_dot(X, D), GraphValueError),
        (lambda: sp.sampling_dot(D, D, X), GraphValueError),
        (lambda: sp.sampling_dot(X, D, X), GraphTypeError),
        (lambda: sp.sampling_dot(D, D, D), GraphTypeError),
        (lambda: sp.usmm(1.0, D, D, D), GraphTypeError),
        (lambda: sp.usmm(1.0, X, at.dmatrix(), X), GraphTypeError),
        (lambda: sp.usmm(1.0, X, at.dmatrix(), V), GraphTypeError),
        (lambda: sp.usmm([1.0, 2.0], X, at.dmatrix(), at.dmatrix()), GraphValueError),
        (lambda: sp.sdg_csr(V, V, D, D), GraphTypeError),
        (lambda: sp.structured_dot_grad(X, D, D), GraphValueError),
    ],
)
def test_what_is_refused_when_it_is_built(build: Callable[[], Variable], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        build()


@pytest.mark.shows("sparse/13-structured_dot")
@FORMATS
def test_extents_are_compared_at_the_call(format: str) -> None:
    x, d, e, z = sp.matrix(format, "x"), at.dmatrix("d"), at.dmatrix("e"), at.dmatrix("z")
    value, fit = m.asformat(format), np.ones((2, 2))
    for program, inputs, wrong in (
        (sp.dot(x, d), [x, d], [value, fit]),
        (sp.structured_dot(x, d), [x, d], [value, fit]),
        (sp.dot(d, x), [x, d], [value, B.T]),
        (sp.sampling_dot(d, e, x), [x, d, e], [value, B, B]),
        (sp.usmm(1.0, x, d, z), [x, d, z], [value, B, B]),
    ):
        f = aot.function(inputs, program)
        for call in (f, f.reference):
            with pytest.raises(ValueError, match=r"differ|do not fit|expected shapes|are expected, found"):
                call(*wrong)
