"""Sums, products, comparisons, functions and reductions of sparse inputs, against SciPy: reference and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from agreement import FORMATS, both_ways, dense, stored

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Rop, grad, hessian_vector_product
from aotensor.graph.walk import leaves

D = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def another(format: str = "csr") -> Any:
    """A matrix with another pattern, which cancels one entry of `stored`."""
    return scipy.sparse.csr_matrix([[5.0, -1.0, 0.0], [0.0, 7.0, 1.0]]).asformat(format)


@pytest.mark.shows("sparse/5-numbers")
@FORMATS
def test_the_worked_example(format: str) -> None:
    m = scipy.sparse.csr_matrix([[0.0, 1, 0], [2, 0, 3]]).asformat(format)
    x, d = sp.matrix(format, "x"), at.matrix("d")
    weights = 10 * D
    product = sp.sp_sum((x * d) * weights)
    total = ((x + d) * weights).sum()
    outputs = [x * d, *grad(product, [x, d]), grad(total, x)]
    for y, for_x, for_d, structured in both_ways([x, d], outputs, m, D):
        np.testing.assert_array_equal(y.toarray(), [[0, 2, 0], [8, 0, 18]])
        np.testing.assert_array_equal(dense(for_x), [[10, 40, 90], [160, 250, 360]])
        np.testing.assert_array_equal(for_d, [[0, 20, 0], [80, 0, 180]])
        np.testing.assert_array_equal(structured.toarray(), [[0, 20, 0], [40, 0, 60]])
        assert (structured.format, structured.nnz) == (format, 3)


@pytest.mark.shows("sparse/5-add_s_s", "sparse/0-output-format", "sparse/0-explicit-zeros")
@pytest.mark.parametrize("second", ["csr", "csc"])
@FORMATS
def test_a_sum_has_the_union_of_patterns(format: str, second: str) -> None:
    x, y = sp.matrix(format, "x"), sp.matrix(second, "y")
    a, b = stored(format), another(second)
    for found in both_ways([x, y], x + y, a, b):
        np.testing.assert_array_equal(found.toarray(), a.toarray() + b.toarray())
        assert (found.format, found.nnz) == (format, 6)  # what cancels stays, and so does a stored zero
    for derivative in both_ways([x, y], grad(sp.sp_sum((x + y) * D), y), a, b):
        np.testing.assert_array_equal(dense(derivative), D)


@pytest.mark.shows("sparse/5-mul_s_s", "sparse/0-output-format")
@pytest.mark.parametrize("second", ["csr", "csc"])
@FORMATS
def test_a_product_has_the_common_pattern(format: str, second: str) -> None:
    x, y = sp.matrix(format, "x", dtype="float32"), sp.matrix(second, "y")
    a, b = stored(format, "float32"), another(second)
    assert (x * y).dtype == "float64"
    for found in both_ways([x, y], x * y, a, b):
        np.testing.assert_array_equal(found.toarray(), a.toarray() * b.toarray())
        assert (found.format, found.nnz) == (format, 2)


@pytest.mark.shows("sparse/5-add", "sparse/5-sub", "sparse/5-mul", "sparse/0-left-operand", "sparse/0-scipy-arrays")
def test_either_operand_may_be_sparse() -> None:
    x, d, s = sp.csr_matrix("x"), at.matrix("d"), at.scalar("s")
    shared, known = aot.shared(D, "shared"), at.constant(D)
    a = stored()
    m = a.toarray()
    sums = [d + x, x + d, shared + x, known + x, D + x, at.add(d, x), at.add(shared, x, D), d - x, shared - x, D - x]
    expected = [D + m] * 6 + [2 * D + m] + [D - m] * 3
    products = [d * x, x * d, shared * x, known * x, D * x, at.mul(d, x), at.mul(2, x, D), 2 * x, s * x, x * np.ones(3)]
    found = both_ways([x, d, s], [*sums, *products], a, D, 3.0)[1]
    for one, value in zip(found[: len(sums)], expected, strict=True):
        np.testing.assert_array_equal(one, value)
    for one, value in zip(found[len(sums) :], [D * m] * 6 + [2 * D * m, 2 * m, 3 * m, m], strict=True):
        assert one.nnz == 4
        np.testing.assert_array_equal(one.toarray(), value)
    b = another()
    arrays = [x + b, b + x, x * scipy.sparse.csr_array(b), d + b, sp.add(d, scipy.sparse.coo_array(b)), at.mul(d, b)]
    wanted = [m + b, b + m, b.multiply(m), D + b, D + b, b.multiply(D)]
    for one, value in zip(both_ways([x, d], arrays, a, D)[1], wanted, strict=True):
        np.testing.assert_array_equal(dense(one), dense(value))


@pytest.mark.shows("sparse/5-add")
def test_zero_adds_nothing() -> None:
    x = sp.csr_matrix("x")
    assert sp.add(0, x) is x
    assert x + 0 is x
    assert x - 0.0 is x
    total = sum([x, x, x])
    assert total.format == "csr"
    for found in both_ways([x], total, stored()):
        np.testing.assert_array_equal(found.toarray(), 3 * stored().toarray())
        assert found.nnz == 4
    np.testing.assert_array_equal((0 - x).eval({x: stored()}).toarray(), -stored().toarray())
    np.testing.assert_array_equal((x + 2).eval({x: stored()}), stored().toarray() + 2)


def test_terms_on_one_pattern_add_as_vectors() -> None:
    """No union is made for x + f(x), nor for the sum of gradients that x collects."""
    x = sp.csr_matrix("x", shape=("m", "n"))
    derivative = grad(sp.sp_sum(sp.sin(x) + x * x + sp.structured_exp(x), sparse_grad=True), x)
    f = aot.function([x], [x + sp.sin(x) - 2 * x, derivative])
    assert "union" not in f.ir("tensor")
    assert "positions" not in f.ir("tensor")
    a = stored()
    value, found = f(a)
    np.testing.assert_allclose(value.data, np.sin(a.data) - a.data, rtol=1e-14)
    np.testing.assert_allclose(found.data, np.cos(a.data) + 2 * a.data + np.exp(a.data), rtol=1e-14)


@FORMATS
def test_a_variable_that_is_used_several_times(format: str) -> None:
    """Cotangents that are dense, sparse of the own pattern, and sparse of another one add up."""
    x, y, d = sp.matrix(format, "x"), sp.csr_matrix("y"), at.matrix("d")
    a, b = stored(format), another()
    structured = sp.sp_sum(sp.sqr(x), sparse_grad=True)
    cost = structured + sp.sp_sum(x * y, sparse_grad=True) + (x + d).sum()
    mask = (stored("csr").astype(bool) + 0).toarray()
    mask[0, 2] = 1
    expected = 2 * a.toarray() + b.toarray() * ((b.toarray() != 0) & (mask != 0)) + mask
    for derivative in both_ways([x, y, d], grad(cost, x), a, b, D):
        np.testing.assert_array_equal(dense(derivative), expected)
    for derivative in both_ways([x, y, d], grad(cost + sp.sp_sum(x), x), a, b, D):
        np.testing.assert_array_equal(dense(derivative), expected + 1)
    direction = sp.matrix(format, "p")
    product = hessian_vector_product(sp.sp_sum(sp.sqr(x) * d), x, direction)
    for found in both_ways([x, d, direction], product, a, D, a):
        np.testing.assert_array_equal(dense(found), 2 * D * a.toarray())


def test_what_does_not_depend_has_a_sparse_zero() -> None:
    x, d = sp.csc_matrix("x"), at.matrix("d")
    derivative = grad(d.sum(), x, disconnected_inputs="ignore")
    for found in both_ways([x, d], derivative, stored("csc"), D):
        assert (found.format, found.nnz, found.shape) == ("csc", 0, (2, 3))
    n = sp.csr_matrix("n", dtype="int32")
    for found in both_ways([n], grad(sp.sp_sum(n * 1.5), n), stored("csr", "int32")):
        np.testing.assert_array_equal(dense(found), np.full((2, 3), 1.5))


@pytest.mark.shows("sparse/0-pushforward", "sparse/5-add_s_d", "sparse/5-mul_s_d", "sparse/10-sp_sum")
def test_tangents_may_be_sparse_or_dense() -> None:
    x, t = sp.csr_matrix("x"), at.matrix("t")
    u = sp.csc_matrix("u")
    a, b = stored(), another("csc")
    for tangent, value, point in ((t, D, D), (u, b, b.toarray())):
        outputs = [x * D, -x, x + D, sp.sp_sum(x, 1), x / D, x + x.T.T]
        pushed = [Rop(y, x, tangent) for y in outputs]
        expected = [point * D, -point, point, point.sum(1), point / D, 2 * point]
        for found in both_ways([x, tangent], pushed, a, value):
            for one, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(dense(one), wanted, rtol=1e-14)


@pytest.mark.shows("sparse/5-add_s_s_data")
def test_one_pattern_is_assumed_and_checked() -> None:
    x, y = sp.csr_matrix("x"), sp.csr_matrix("y")
    a = stored()
    f = aot.function([x, y], sp.add_s_s_data(x, y))
    np.testing.assert_array_equal(f(a, a).toarray(), 2 * a.toarray())
    with pytest.raises(GraphValueError, match="do not have the same stored entries"):
        f.reference(a, scipy.sparse.csr_matrix(D[:, ::-1] * (a.toarray() == 0)))
    with pytest.raises(ValueError):
        f(a, another()[:, :2].tocsr())
    for other in (sp.csc_matrix("y"), sp.csr_matrix("y", dtype="float32")):
        with pytest.raises(GraphTypeError, match="add_s_s_data: expected one format and dtype"):
            sp.add_s_s_data(x, other)


@pytest.mark.shows("sparse/0-shape-mismatch")
def test_shapes_that_differ() -> None:
    x, y = sp.csr_matrix("x", shape=(2, 3)), sp.csr_matrix("y", shape=(3, 3))
    with pytest.raises(GraphValueError, match="add_s_s: extents 2 and 3 along axis 0 differ"):
        x + y
    with pytest.raises(GraphValueError, match="mul_s_s: extents 2 and 3"):
        x * y
    with pytest.raises(GraphValueError):
        x * np.ones((2, 4))
    with pytest.raises(GraphValueError, match="the vector has 2 elements, and the matrix has extent 3"):
        sp.col_scale(x, np.ones(2))
    with pytest.raises(GraphValueError, match="is not broadcast"):
        sp.csr_matrix("z", shape=(1, 3)) + np.ones((2, 3))
    with pytest.raises(GraphValueError, match="rank 3"):
        x * np.ones((2, 2, 3))
    a, b, d, v = sp.csr_matrix("a"), sp.csc_matrix("b"), at.matrix("d"), at.vector("v")
    thin = sp.csr_matrix("thin", shape=(1, 3))
    for build in (sp.add, sp.mul, sp.lt):
        program = aot.function([thin, d], build(thin, d))
        assert program(stored()[:1], D[:1]).shape == (1, 3)
        for call in (program, program.reference):
            with pytest.raises(ValueError, match="extents"):
                call(stored()[:1], D)
    m, narrow = stored(), np.ones((2, 2))
    others = {b: scipy.sparse.csc_matrix(narrow), d: narrow, v: np.ones(2)}
    programs = [a + b, a * b, a + d, a * d, a / d, sp.lt(a, b), sp.lt(a, d), sp.mul(a, v), sp.structured_add_s_v(a, v),
                sp.col_scale(a, v), sp.row_scale(a.T, v)]  # fmt: skip
    for program in programs:
        other = next(x for x in others if x in leaves([program]))
        f = aot.function([a, other], program)
        for call in (f, f.reference):
            with pytest.raises(ValueError):
                call(m, others[other])


@pytest.mark.shows("sparse/0-wrong-kind", "sparse/6-rule")
def test_the_wrong_kind_of_operand() -> None:
    x, d, v = sp.csr_matrix("x"), at.matrix("d"), at.vector("v")
    for function in (sp.add, sp.sub, sp.mul, sp.lt, sp.eq):
        with pytest.raises(GraphTypeError, match="expected a sparse operand"):
            function(d, d)
        with pytest.raises(GraphTypeError, match="expected a sparse operand"):
            function(1, 2.0)
    for function in (sp.sin, sp.structured_exp, sp.neg, sp.abs, sp.conj, sp.sp_sum, sp.sparse_max, sp.sparse_mean):
        with pytest.raises(GraphTypeError, match="expected a sparse matrix"):
            function(d)
    for instance in (sp.add_s_d, sp.mul_s_d, sp.mul_s_v, sp.col_scale, sp.structured_add_s_v, sp.equal_s_d):
        with pytest.raises(GraphTypeError, match="expected a dense second operand"):
            instance(x, x)
    with pytest.raises(GraphTypeError, match="expected a vector"):
        sp.row_scale(x, d)
    with pytest.raises(GraphTypeError, match="structured_pow: argument 1 must be a scalar"):
        sp.structured_pow(x, v)
    with pytest.raises(GraphTypeError, match="must be elementwise"):
        sp.structured_elemwise(at.sum)(lambda x: x)(x)


@pytest.mark.shows("sparse/12-dense-functions", "sparse/6-sign", "sparse/6-sqr", "sparse/6-structured_elemwise")
def test_dense_functions_find_the_sparse_ones() -> None:
    x, d = sp.csc_matrix("x"), at.matrix("d")
    a = stored("csc")
    for name in ("sin", "tanh", "expm1", "sqrt", "sign", "sqr", "abs", "floor", "deg2rad", "neg"):
        y = getattr(at, name)(x)
        assert y.format == "csc"
        np.testing.assert_allclose(y.eval({x: a}).toarray(), getattr(at, name)(at.constant(a.toarray())).eval({}))
    assert sp.sgn is sp.sign
    assert sp.square is sp.sqr
    assert sp.structured_sin is sp.sin
    assert sp.structured_monoid is sp.structured_elemwise
    with pytest.raises(GraphTypeError, match="exp is not defined for sparse matrices") as caught:
        at.exp(x)
    assert "sp.structured_exp acts on stored entries, sp.dense_from_sparse makes it dense" in str(caught.value)
    for build in (lambda: at.true_div(d, x), lambda: at.maximum(x, d), lambda: at.sum(x), lambda: at.switch(x, d, d)):
        with pytest.raises(TypeError):
            build()
    np.testing.assert_array_equal(at.pow(x, 2).eval({x: a}).toarray(), a.toarray() ** 2)
    np.testing.assert_array_equal(at.true_div(x, 2).eval({x: a}).toarray(), a.toarray() / 2)
    assert (at.lt(x, d).dtype, at.eq(x, x).format) == ("uint8", "csc")
    np.testing.assert_array_equal(at.matmul(D.T, x).eval({x: a}), D.T @ a.toarray())


@pytest.mark.shows("sparse/5-operators", "sparse/12-densify")
def test_division_and_powers() -> None:
    x, y, s, d = sp.csr_matrix("x"), sp.csr_matrix("y"), at.scalar("s"), at.matrix("d")
    a = stored()
    m = a.toarray()
    found = both_ways([x, s, d], [x / 2, x / s, x / d, x**2, x**0.5, abs(-x)], a, 4.0, D)[1]
    for one, expected in zip(found, [m / 2, m / 4, m / D, m**2, m**0.5, m], strict=True):
        assert one.nnz == 4
        np.testing.assert_allclose(one.toarray(), expected, rtol=1e-14)
    assert (x / at.iscalar("n")).dtype == "float64"
    assert (sp.csr_matrix(dtype="int8") / 2).dtype == "float64"
    for build in (lambda: x / y, lambda: x**s, lambda: x**0, lambda: x**-1, lambda: x // 2, lambda: x % 2):
        with pytest.warns(UserWarning, match="makes the sparse matrix"):
            assert not build().is_sparse
    with pytest.warns(UserWarning):
        np.testing.assert_array_equal((x**s).eval({x: a, s: 3.0}), m**3)


COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "neq": np.not_equal, "lt": np.less, "gt": np.greater, "le": np.less_equal, "ge": np.greater_equal
}  # fmt: skip


@pytest.mark.shows("sparse/4-comparisons", "sparse/4-comparison-operators")
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    function, compared = COMPARISONS[name], getattr(sp, name)
    x, y, d = sp.csc_matrix("x", index_dtype="int64"), sp.csr_matrix("y"), at.matrix("d")
    a, b = stored("csc"), another()
    a.data[0] = np.nan
    m, n = a.toarray(), b.toarray()
    outputs = [compared(x, y), compared(x, d), compared(d, x), compared(x, 1), compared(0, x)]
    assert outputs[0].type == sp.SparseTensorType("csc", "uint8", index_dtype="int64")
    for both, right, left, one, zero in both_ways([x, y, d], outputs, a, b, D):
        assert (both.format, both.dtype) == ("csc", "uint8")
        assert both.nnz == function(m, n).sum()
        np.testing.assert_array_equal(both.toarray(), function(m, n))
        for found, expected in (
            (right, function(m, D)),
            (left, function(D, m)),
            (one, function(m, 1)),
            (zero, function(0, m)),
        ):
            assert found.dtype == "uint8"
            np.testing.assert_array_equal(found, expected)
    derivative = grad((compared(x, d) * d).sum(), x)
    assert derivative.is_sparse
    assert derivative.eval({x: a, d: D}).nnz == 0


def test_comparison_operators() -> None:
    x, d = sp.csr_matrix("x"), at.matrix("d")
    a = stored()
    for found, expected in ((x < d, a.toarray() < D), (x >= 1, a.toarray() >= 1), (d <= x, a.toarray() >= D)):  # type: ignore[operator]
        np.testing.assert_array_equal(found.eval({x: a, d: D}), expected)
    assert (x == x) is True
    assert (x != x) is False


@FORMATS
@pytest.mark.shows("sparse/6-rule", "sparse/0-explicit-zeros", "sparse/6-structured_exp", "sparse/6-structured_log")
def test_stored_zeros_are_mapped(format: str) -> None:
    x = sp.matrix(format, "x", shape=(2, 3), index_dtype="int64")
    a = stored(format)
    y = sp.structured_exp(x)
    assert y.type == x.type
    for found in both_ways([x], y, a):
        assert found.nnz == 4
        np.testing.assert_allclose(found.data, np.exp(a.data), rtol=1e-14)
    derivative = grad(sp.sp_sum(y * D), x)
    for found in both_ways([x], derivative, a):
        assert found.format == format
        np.testing.assert_allclose(found.toarray(), y.eval({x: a}).toarray() * D, rtol=1e-14)
    logs = both_ways([x], sp.structured_log(x), a)[1]
    np.testing.assert_array_equal(np.sort(logs.data)[0], -np.inf)


@pytest.mark.shows("sparse/4-conj", "sparse/4-abs", "sparse/4-neg")
def test_signs() -> None:
    x = sp.csr_matrix("x")
    assert x.conj() is x
    assert sp.conj is sp.conjugate is sp.structured_conjugate
    for found in both_ways([x], abs(-x), stored()):
        np.testing.assert_array_equal(found.toarray(), stored().toarray())
    for found in both_ways([x], grad(sp.sp_sum(-x * D), x), stored()):
        np.testing.assert_array_equal(dense(found), -D)


def test_nothing_is_changed() -> None:
    """Arguments with duplicates and unsorted entries come out as they went in."""
    a = scipy.sparse.csr_matrix((np.array([1.0, 2, 3, 4]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    before = a.data.copy(), a.indices.copy(), a.indptr.copy()
    x = sp.csr_matrix("x")
    merged = np.array([[5.0, 0, 1], [0, 4, 0]])
    found = both_ways([x], [sp.sp_sum(x), sp.sqr(x), x + x, x * D, grad(sp.sp_sum(sp.sqr(x)), x)], a)[1]
    for one, expected in zip(found, [10.0, merged**2, 2 * merged, merged * D, 2 * merged], strict=True):
        np.testing.assert_array_equal(dense(one), expected)
    for now, then in zip((a.data, a.indices, a.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.shows("sparse/0-duplicates", "sparse/0-unsorted")
def test_gradients_see_the_merged_matrix() -> None:
    """For CSM with a place twice each of its entries gets the derivative of their sum, whatever adds up on the way."""
    data = at.vector("data")
    x = sp.CSR(data, np.array([1, 1, 0]), np.array([0, 3, 3]), (2, 3))
    values = np.array([1.0, 2.0, 5.0])
    for cost, expected in (
        (sp.sp_sum(sp.sqr(x)), [6, 6, 10]),
        (sp.sp_sum(sp.sqr(x)) + (x + D).sum(), [7, 7, 11]),
        (sp.sp_sum(x * D) + sp.sp_sum(x, sparse_grad=True) + sp.sp_sum(x), [4, 4, 3]),
        (sp.sp_sum(x * x) + sp.sp_sum(sp.col_scale(x, np.array([1.0, 2, 3]))), [8, 8, 11]),
        (x.max() + x.sum(axis=1)[0], [1, 1, 2]),
    ):
        for found in both_ways([data], grad(cost, data), values):
            np.testing.assert_array_equal(found, expected)
