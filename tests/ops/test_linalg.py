"""Linear algebra beyond the case tables: what is refused and when, what is read, second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphLinAlgError, GraphTypeError, GraphValueError
from aotensor.gradient import Lop, grad, jacobian
from aotensor.graph.variable import Variable

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
INDEFINITE = np.array([[1.0, 0.0], [2.0, 1.0]])
ZERO = np.array([[1.0, 3.0], [5.0, 0.0]])
TALL = np.ones((3, 2))

FAILURES: list[tuple[str, Callable[..., Any], list[Array], str]] = [
    ("cholesky", at.cholesky, [INDEFINITE], "not positive definite: its leading minor of order 2"),
    ("cholesky-batch", at.cholesky, [np.stack([np.eye(2), -np.eye(2)])], "leading minor of order 1 is not positive"),
    ("cholesky-nan", at.cholesky, [np.full((2, 2), np.nan)], "leading minor of order 1 is not positive"),
    ("pos", partial(at.solve, assume_a="pos", lower=True), [INDEFINITE, np.ones(2)], "not positive definite"),
    ("solve", at.solve, [SINGULAR, np.ones(2)], "the matrix is singular: pivot 2 is zero"),
    ("sym", partial(at.solve, assume_a="sym"), [SINGULAR, np.ones(2)], "the matrix is singular"),
    ("inv", at.inv, [SINGULAR], "the matrix is singular: pivot 2 is zero"),
    ("triangular", at.solve_triangular, [ZERO, np.ones(2)], "entry 2 of its diagonal is zero"),
    ("lower", partial(at.solve, assume_a="lower triangular"), [ZERO, TALL[:2]], "entry 2 of its diagonal is zero"),
    ("cho_solve", lambda c, b: at.cho_solve((c, True), b), [ZERO, np.ones(2)], "entry 2 of its diagonal is zero"),
]

MISFITS: list[tuple[str, Callable[..., Any], list[Array], str]] = [
    ("cholesky", at.cholesky, [TALL], "rows and columns of a square matrix differ: .*3.* and .*2"),
    ("inv", at.inv, [TALL], "rows and columns of a square matrix differ: .*3.* and .*2"),
    ("det", at.det, [TALL], "rows and columns of a square matrix differ: .*3.* and .*2"),
    ("solve", at.solve, [np.eye(2), np.ones(3)], "extents of the matrix and the right-hand side differ"),
    ("triangular", at.solve_triangular, [np.eye(2), TALL], "extents of the matrix and the right-hand side differ"),
    ("batch", at.solve_triangular, [np.ones((2, 3, 3)), np.ones((4, 3, 1))], "(leading dims|along axis 0)"),
]


def function_of(build: Callable[..., Any], arrays: list[Array]) -> aot.Function:
    symbols = [
        Variable(TensorType(array.dtype.name, (None,) * array.ndim), name=f"x{k}") for k, array in enumerate(arrays)
    ]
    return aot.function(symbols, build(*symbols), name="checked")


@pytest.mark.shows("tensor/7-checks", "tensor/11-failures")
@pytest.mark.parametrize(("id", "build", "arrays", "text"), FAILURES, ids=[row[0] for row in FAILURES])
def test_a_matrix_without_result_is_a_linalg_error(
    id: str, build: Callable[..., Any], arrays: list[Array], text: str
) -> None:
    """The same from reference and library, and of NumPy's class."""
    f = function_of(build, arrays)
    for call in (f.reference, f):
        with pytest.raises(np.linalg.LinAlgError, match=text) as caught:
            call(*arrays)
        assert isinstance(caught.value, ValueError)
    with pytest.raises(GraphLinAlgError):
        f.reference(*arrays)


@pytest.mark.shows("tensor/7-checks")
@pytest.mark.parametrize(("id", "build", "arrays", "text"), MISFITS, ids=[row[0] for row in MISFITS])
def test_extents_that_do_not_fit_are_found_at_run_time(
    id: str, build: Callable[..., Any], arrays: list[Array], text: str
) -> None:
    f = function_of(build, arrays)
    for call in (f.reference, f):
        with pytest.raises(ValueError, match=text):
            call(*arrays)


@pytest.mark.shows("tensor/7-checks")
def test_types_are_refused_at_once() -> None:
    vector, tall, cube = at.vector("v"), at.tensor("t", shape=(3, 2)), at.tensor("c", shape=(4, 2, 2))
    for refused in (at.cholesky, at.inv, at.det, at.slogdet, at.lu_factor):
        with pytest.raises(GraphTypeError, match="rank"):
            refused(vector)
        with pytest.raises(GraphValueError, match="rows and columns of a square matrix differ, 2 and 3"):
            refused(tall)
    with pytest.raises(GraphTypeError, match="right-hand side of rank 1 or more"):
        at.solve(tall, 1.0, b_ndim=1)
    with pytest.raises(GraphTypeError, match="expected a matrix"):
        at.solve_triangular(vector, vector)
    with pytest.raises(GraphValueError, match="do not broadcast"):
        at.solve(cube, at.tensor("b", shape=(5, 2, 1)))


@pytest.mark.shows("tensor/7-checks")
@pytest.mark.parametrize(
    "refused",
    [
        lambda a: at.cholesky(a, on_error="ignore"),
        lambda a: at.inv(a, on_error=0),
        lambda a: at.solve(a, a, assume_a="sparse"),
        lambda a: at.solve(a, a, on_error="zero"),
        lambda a: at.solve(a, a, b_ndim=3),
        lambda a: at.solve_triangular(a, a, trans=3),
        lambda a: at.solve_triangular(a, a, on_error=None),
    ],
)
def test_options_are_refused_at_once(refused: Callable[[Variable], Any]) -> None:
    with pytest.raises(GraphValueError, match="one of"):
        refused(at.matrix("a"))
    with pytest.raises(GraphTypeError, match="cannot both be True"):
        at.lu(at.matrix("a"), permute_l=True, p_indices=True)


def test_only_the_named_triangle_is_read() -> None:
    """nan in the other one leaves no trace, in values and in derivatives."""
    a, b = at.matrix("a"), at.vector("b")
    upper = np.triu(np.full((4, 4), np.nan), 1)
    low = np.tril(np.ones((4, 4))) + 5 * np.eye(4)
    programs = [
        (at.cholesky(a), upper),
        (at.cholesky(a, lower=False), upper.T),
        (at.solve_triangular(a, b, lower=True), upper),
        (at.solve_triangular(a, b), upper.T),
        (at.solve_triangular(a, b, unit_diagonal=True), upper.T + np.diag([np.nan] * 4)),
        (at.solve(a, b, assume_a="pos", lower=True), upper),
        (at.solve(a, b, assume_a="sym"), upper.T),
        (at.solve(a, b, assume_a="lower triangular"), upper),
        (at.cho_solve((a, False), b), upper.T),
    ]
    outputs = [x for program, _ in programs for x in (program, grad((program * program).sum(), a))]
    f = aot.function([a, b], outputs, name="triangles", on_unused_input="ignore")
    clean = f(low + np.tril(low, -1).T, np.arange(4.0))
    for number, (_, spoilt) in enumerate(programs):
        program = aot.function([a, b], outputs[2 * number : 2 * number + 2], on_unused_input="ignore")
        for found, wanted in zip(
            program(low + np.tril(low, -1).T + spoilt, np.arange(4.0)), clean[2 * number :], strict=False
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_users_of_scipy_expect() -> None:
    rng = np.random.default_rng(5)
    matrix, right = rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    a, b = at.matrix("a"), at.matrix("b")
    packed, exchanges = at.lu_factor(a)
    outputs = [packed, exchanges, *at.lu(a), *at.lu(a, p_indices=True), *at.slogdet(a), at.det(a), at.solve(a, b)]
    found = aot.function([a, b], outputs, name="factors")(matrix, right)
    expected = [
        *scipy.linalg.lu_factor(matrix), *scipy.linalg.lu(matrix), *scipy.linalg.lu(matrix, p_indices=True),
        *np.linalg.slogdet(matrix), np.linalg.det(matrix), np.linalg.solve(matrix, right),
    ]  # fmt: skip
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
    assert found[1].dtype == np.int32 and found[5].dtype == np.int64


def test_the_derivative_of_cholesky_lives_in_the_lower_triangle() -> None:
    """Numbers of the specification."""
    a = at.matrix("a")
    weights, point = np.array([[1.0, 2], [3, 4]]), np.array([[4.0, 2], [2, 3]])
    derivative = Lop(at.cholesky(a), a, weights).eval({a: point})
    np.testing.assert_allclose(derivative, [[0.22855, 0], [0.08579, 1.41421]], atol=5e-6)


@pytest.mark.parametrize(
    "build",
    [
        at.cholesky,
        lambda a: at.solve_triangular(a, at.sin(a), lower=True, trans=1),
        lambda a: at.solve(a, at.sin(a)),
        lambda a: at.solve(a, at.sin(a), assume_a="pos"),
        at.inv,
        at.det,
        lambda a: at.slogdet(a)[1],
        lambda a: at.lu_factor(a)[0],
        lambda a: grad(at.sin(at.det(a) / 9), a),
    ],
    ids=["cholesky", "triangular", "solve", "pos", "inv", "det", "slogdet", "lu", "cofactors"],
)
def test_derivatives_can_be_differentiated(build: Callable[[Variable], Variable]) -> None:
    """The Hessian of a sum of sines against central differences of the gradient; by Jacobian, so batches are in it."""
    a = at.matrix("a", shape=(3, 3))
    rng = np.random.default_rng(3)
    point = rng.normal(size=(3, 3))
    point = point @ point.T + 3 * np.eye(3)
    derivative = grad(at.sin(build(a)).sum(), a)
    hessian = jacobian(derivative.ravel(), a)
    f = aot.function([a], [derivative, hessian], name="hessian")
    found = f(point)[1]
    np.testing.assert_allclose(found, f.reference(point)[1], rtol=1e-8, atol=1e-12)
    for _ in range(3):
        direction, h = rng.normal(size=(3, 3)), 1e-5
        expected = (f(point + h * direction)[0] - f(point - h * direction)[0]) / (2 * h)
        np.testing.assert_allclose(found.reshape(3, 3, 9) @ direction.ravel(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.shows("tensor/11-det")
def test_singular_matrices_have_cofactors() -> None:
    """Rank n − 1: the outer product of the null vectors; less: zero. To rounding errors, from library and reference."""
    a = at.matrix("a")
    f = aot.function([a], [at.det(a), grad(at.det(a), a)], name="cofactors")
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 8):
        left, values, right = np.linalg.svd(rng.normal(size=(n, n)))
        for lost in (1, 2):
            values[max(n - lost, 0) :] = 0
            point = (left * values) @ right
            for value, derivative in (f(point), f.reference(point)):
                expected = np.zeros((n, n))
                if lost == 1 or n == 1:
                    sign = np.linalg.det(left) * np.linalg.det(right)
                    expected = sign * np.prod(values[: n - 1]) * np.outer(left[:, -1], right[-1])
                np.testing.assert_allclose(derivative, expected, atol=1e-13 * max(np.abs(point).max(), 1) ** n * 10)
                assert abs(value) < 1e-13 * max(np.abs(point).max(), 1) ** n


def test_an_extent_may_depend_on_linear_algebra() -> None:
    a = at.matrix("a")
    f = aot.function([a], at.arange(at.cast(at.det(a), "int64")), name="extent")
    assert f.reference(2 * np.eye(2)).tolist() == f(2 * np.eye(2)).tolist() == [0, 1, 2, 3]
    assert f(np.eye(3)).tolist() == [0]


@pytest.mark.shows("tensor/7-namespaces")
def test_namespaces_agree() -> None:
    for name in at.linalg.__all__:
        assert getattr(at.linalg, name) is getattr(at, name)
