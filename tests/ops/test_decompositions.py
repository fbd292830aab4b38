"""Decompositions: what is refused, what is undefined, types, sizes at which LAPACK works in blocks, identities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array, TensorType
from aotensor.errors import NullTypeGradError
from aotensor.gradient import Rop, grad, hessian, jacobian
from aotensor.graph.variable import Variable

NAN_2 = np.full((2, 2), np.nan)
SIZES = [(1, 1), (2, 3), (65, 40), (40, 130), (97, 97)]


def symbol(*dims: Any, dtype: str = "float64") -> Variable:
    return Variable(TensorType(dtype, dims), name="x")


def drawn(rng: np.random.Generator, *shape: int) -> Array:
    return np.asarray(rng.normal(size=shape))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: at.eigh(symbol(3)), TypeError, "eigh: expected a matrix"),
        (lambda: at.eigh(symbol(2, 3)), ValueError, "eigh: rows and columns of a square matrix differ, 2 and 3"),
        (lambda: at.eigh(symbol(2, 2), "lower"), ValueError, "UPLO must be one of 'L', 'U', 'l', 'u', not 'lower'"),
        (lambda: at.eigvalsh(symbol(2, 3)), ValueError, "eigh: rows and columns"),
        (lambda: at.svd(symbol(3)), TypeError, "svd: expected a matrix"),
        (lambda: at.svd(symbol(3), compute_uv=False), TypeError, "svd: expected a matrix"),
        (lambda: at.qr(symbol(3)), TypeError, "qr: expected a matrix"),
        (lambda: at.qr(symbol(3, 3), "raw"), ValueError, "qr: mode must be one of 'reduced'"),
        (lambda: at.pinv(symbol(3)), TypeError, "pinv: expected a matrix"),
        (lambda: at.pinv(symbol(3, 2), symbol()), TypeError, "rcond must be a number, not"),
        (lambda: at.pinv(symbol(3, 2), True), TypeError, "rcond must be a number, not True"),
        (lambda: at.pinv(symbol(3, 2), hermitian=True), ValueError, "expected a square matrix, found 3 by 2"),
        (lambda: at.expm(symbol(2, 3)), ValueError, "expm: rows and columns"),
        (lambda: at.norm(symbol(2, 3), "nuclear"), ValueError, "norm: ord 'nuclear' is not defined for a matrix"),
        (lambda: at.norm(symbol(2), "nuc"), ValueError, "norm: ord 'nuc' is not defined for a vector"),
    ],
)
def test_what_is_refused_when_built(build: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build()


@pytest.mark.parametrize("op", [at.eigvalsh, lambda x: at.eigh(x)[1], at.expm], ids=["eigvalsh", "eigh", "expm"])
def test_matrices_that_turn_out_not_to_be_square(op: Callable[[Variable], Variable]) -> None:
    x = symbol(None, None)
    f = aot.function([x], op(x), name="square_only")
    for call in (f, f.reference):
        with pytest.raises(ValueError, match="rows and columns of a square matrix differ"):
            call(np.ones((2, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_what_is_not_finite_gives_nan(n: int, bad: float, of_two: aot.Function) -> None:
    """LAPACK gives nan for some of these matrices and an error for others; the next one of the batch is as ever."""
    x = np.stack([np.eye(n), np.eye(n)])
    x[0, -1, 0] = bad
    for call in (of_two, of_two.reference):
        for result in call(x):
            assert np.isnan(result[0]).all()
            assert np.isfinite(result[1]).all()


@pytest.fixture(scope="module")
def of_two() -> aot.Function:
    x = symbol(2, None, None)
    outputs = [*at.eigh(x), at.eigvalsh(x), *at.svd(x), *at.svd(x, False), at.svd(x, compute_uv=False), at.pinv(x)]
    outputs += [at.norm(x, ord, axis=(1, 2)) for ord in (2, -2, "nuc")]
    return aot.function([x], outputs, name="of_two")


def test_what_is_not_read_may_be_nan(rng: np.random.Generator) -> None:
    x = symbol(3, 3)
    f = aot.function([x], [at.eigvalsh(x), *at.eigh(x)], name="lower_only")
    for call in (f, f.reference):
        for result in call(np.triu(np.full((3, 3), np.nan), 1) + np.tril(drawn(rng, 3, 3))):
            assert np.isfinite(result).all()


def test_nan_has_a_qr_and_an_exponential_of_nan() -> None:
    x = symbol(2, 2)
    f = aot.function([x], [at.qr(x, "r"), at.expm(x)], name="nan_passes")
    for call in (f, f.reference):
        triangle, power = call(NAN_2)
        assert np.isnan(triangle[0]).all()
        assert np.isnan(power).all()


def test_infinity_does_not_square_for_ever() -> None:
    x = symbol(2, 2)
    assert np.isnan(aot.function([x], at.expm(x), name="of_infinity")(np.full((2, 2), np.inf))).all()


# --- what is undefined -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vectors", "text"),
    [
        (lambda x: at.svd(x)[0], "gradient of svd .* not implemented: singular vectors have derivatives where"),
        (lambda x: at.svd(x)[2], "gradient of svd .* not implemented: singular vectors have derivatives where"),
        (lambda x: at.qr(x, "complete")[0], "gradient of qr .* not implemented: q has a derivative in the mode"),
    ],
)
def test_completed_vectors_have_no_derivative(vectors: Callable[[Variable], Variable], text: str) -> None:
    x = symbol(3, 2)
    with pytest.raises(NullTypeGradError, match=text):
        grad(vectors(x).sum(), x)
    with pytest.raises(NullTypeGradError, match=text):
        Rop(vectors(x), x, at.ones_like(x))


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_what_completed_factors_determine_has_second_derivatives(shape: tuple[int, int]) -> None:
    """Singular values and r are those of the reduced factors, whose derivatives have tests of their own."""
    x, value = symbol(*shape), np.random.default_rng(5).normal(size=shape)
    k = min(shape)
    pairs = [(at.svd(x, full_matrices)[1] ** 3 for full_matrices in (True, False))]
    if shape[0] >= shape[1]:
        pairs.append(at.qr(x, mode)[1][:k] ** 2 for mode in ("complete", "reduced"))
    for pair in pairs:
        weights = np.linspace(1, 2, shape[0] * shape[1]).reshape(shape)
        slopes = [grad((grad((y * at.cos(y)).sum(), x) * weights).sum(), x) for y in pair]
        complete, reduced = aot.function([x], slopes, name="slopes").reference(value)
        np.testing.assert_allclose(complete, reduced, rtol=1e-9, atol=1e-9)
        pushed = [Rop(grad(y.sum(), x), x, at.constant(weights)) for y in [at.svd(x, True)[1], at.svd(x, False)[1]]]
        found, expected = aot.function([x], pushed, name="pushed").reference(value)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_square_matrix_completes_nothing() -> None:
    """Where the type says so, all vectors have derivatives."""
    for x in (symbol("n", "n"), symbol(3, 3)):
        assert str(at.svd(x)[0].owner.op) == "svd{full_matrices=False}"
        assert str(at.qr(x, "complete")[0].owner.op) == "qr{is_complete=False}"
    assert str(at.qr(symbol(2, 3), "complete")[0].owner.op) == "qr{is_complete=False}"


def test_factorisations_of_two_triangles_are_not_shared() -> None:
    x, value = symbol(4, 4), np.random.default_rng(2).normal(size=(4, 4))
    lower, (upper, vectors) = at.eigh(x, UPLO="L")[0], at.eigh(x, UPLO="U")
    found = aot.function([x], {"lower": lower, "upper": upper, "vectors": vectors}, name="triangles")(value)
    for key in ("lower", "upper"):
        np.testing.assert_allclose(found[key], np.linalg.eigvalsh(value, key[0].upper()), rtol=1e-12)
    symmetric = np.triu(value) + np.triu(value, 1).T
    np.testing.assert_allclose(symmetric @ found["vectors"], found["vectors"] * found["upper"], atol=1e-12)


def test_what_is_not_used_is_not_computed() -> None:
    """Values alone take the kinds that compute no vectors; a gradient shares its vectors with the values."""
    x = symbol(3, 2)
    for build, alone, whole in [
        (lambda x: at.eigvalsh(x.T @ x), "eigvalsh", "eigh"),
        (lambda x: at.svd(x, compute_uv=False), "singular_values", "svd"),
        (lambda x: at.svd(x)[1], "singular_values", "svd"),
        (lambda x: at.qr(x, "r"), "qr_r", "qr"),
    ]:
        values = aot.function([x], build(x), name="alone").ir("tensor-opt")
        derivatives = aot.function([x], [build(x), grad((build(x) ** 2).sum(), x)], name="whole").ir("tensor-opt")
        assert values.count(f'kind = "{alone}"') == values.count("aot.lapack") == 1
        assert derivatives.count(f'kind = "{whole}"') == 1
        assert f'kind = "{alone}"' not in derivatives


# --- types -----------------------------------------------------------------------------------------------------------


def test_names_pass_through() -> None:
    w, v = at.eigh(symbol("b", "n", None))
    assert (w.type.shape, v.type.shape) == (("b", "n"), ("b", "n", "n"))
    shapes = [x.type.shape for x in at.svd(symbol("n", "m"))]
    assert shapes == [("n", "n"), (None,), ("m", "m")]
    shapes = [x.type.shape for x in at.svd(symbol(4, 3), full_matrices=False)]
    assert shapes == [(4, 3), (3,), (3, 3)]
    assert [x.type.shape for x in at.qr(symbol("n", "n"))] == [("n", "n"), ("n", "n")]
    assert at.pinv(symbol("b", "n", "m")).type.shape == ("b", "m", "n")
    assert at.expm(symbol("n", None)).type.shape == ("n", "n")


def test_what_is_discrete_counts_as_float64() -> None:
    x = symbol(2, 2, dtype="int32")
    results = [*at.eigh(x), *at.svd(x), *at.qr(x), at.pinv(x), at.expm(x), at.norm(x, "nuc")]
    assert {y.dtype for y in results} == {"float64"}


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def factors() -> Any:
    x, s = symbol(None, None), at.matrix("s")
    w, v = at.eigh(s)
    outputs = [w, v, *at.svd(x, False), *at.svd(x), *at.qr(x), *at.qr(x, "complete"), at.pinv(x), at.expm(s)]
    return aot.function([x, s], outputs, name="factors")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_factors_of_any_size(factors: Any, size: tuple[int, int], rng: np.random.Generator) -> None:
    """One library for all shapes, beyond the sizes where LAPACK starts to work in blocks."""
    rows, columns = size
    k = min(size)
    x = drawn(rng, *size)
    s = x @ x.T / columns
    w, v, u, d, vt, full_u, _, full_vt, q, r, full_q, full_r, inverse, power = factors(x, s)
    close: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(w, np.linalg.eigvalsh(s), **close)
    np.testing.assert_allclose((v * w) @ v.T, s, **close)
    np.testing.assert_allclose((u * d) @ vt, x, **close)
    np.testing.assert_allclose((full_u[:, :k] * d) @ full_vt[:k], x, **close)
    for orthogonal, extent in ((v, rows), (full_u, rows), (full_vt, columns), (full_q, rows)):
        np.testing.assert_allclose(orthogonal @ orthogonal.T, np.eye(extent), **close)
    np.testing.assert_allclose(q @ r, x, **close)
    np.testing.assert_allclose(full_q @ full_r, x, **close)
    np.testing.assert_allclose(r, np.linalg.qr(x)[1], **close)
    assert np.all(np.tril(full_r, -1) == 0)
    np.testing.assert_allclose(inverse, np.linalg.pinv(x), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(power, scipy.linalg.expm(s), rtol=1e-9, atol=1e-9 * np.abs(power).max())


@pytest.mark.parametrize("norm", [1e-8, 1.0, 6.0, 50.0, 600.0])
def test_exponentials_of_any_size(norm: float, rng: np.random.Generator) -> None:
    """exp(x)·exp(−x) = 1, and exp of a symmetric matrix through its eigenvalues."""
    x = symbol(None, None)
    f = aot.function([x], at.expm(x), name="exponential")
    a = drawn(rng, 5, 5)
    a = norm * (a + a.T) / np.linalg.norm(a + a.T, 2)
    w, v = np.linalg.eigh(a)
    np.testing.assert_allclose(f(a), (v * np.exp(w)) @ v.T, rtol=1e-11, atol=1e-11 * np.exp(norm))


def test_vectors_keep_their_signs(rng: np.random.Generator) -> None:
    """The rule decides, not LAPACK: the first component that is not small is positive."""
    x = symbol(None, None)
    f = aot.function([x], [at.eigh(x)[1], at.svd(x)[0]], name="with_signs")
    for _ in range(5):
        a = drawn(rng, 6, 6)
        for vectors in f(a + a.T):
            large = np.abs(vectors) >= 0.37 * np.abs(vectors).max(axis=0)
            assert np.all(vectors[large.argmax(axis=0), range(6)] > 0)


# --- derivatives -----------------------------------------------------------------------------------------------------


def test_the_gradient_lives_in_the_triangle_that_is_read(rng: np.random.Generator) -> None:
    x = symbol(3, 3)
    a = drawn(rng, 3, 3)
    for uplo, other in (("L", np.triu), ("U", np.tril)):
        derivative = grad(at.eigh(x, uplo)[1][0].sum() + at.eigvalsh(x, uplo)[0], x).eval({x: a})
        assert np.all(other(derivative, 1 if uplo == "L" else -1) == 0)
        assert np.all(derivative[np.tril_indices(3) if uplo == "L" else np.triu_indices(3)] != 0)


def test_the_jacobian_of_eigenvalues_is_one_batch(rng: np.random.Generator) -> None:
    """∂w_k/∂a = v_k·v_kᵀ, folded; the second derivative of Σw² = ‖a‖² is constant."""
    t = symbol(3)
    base, direction = drawn(rng, 3, 3), drawn(rng, 3, 3)
    w = at.eigvalsh(base + base.T + at.diag(t) @ (direction + direction.T))
    assert jacobian(w, t).eval({t: drawn(rng, 3)}).shape == (3, 3)
    squares = (at.eigvalsh(base + base.T + at.diag(t)) ** 2).sum()
    np.testing.assert_allclose(hessian(squares, t).eval({t: drawn(rng, 3)}), 2 * np.eye(3), atol=1e-9)


def test_equal_eigenvalues_leave_no_nan() -> None:
    x = symbol(3, 3)
    w, v = at.eigh(x)
    cost = (v**3).sum() + (w**3).sum()
    derivative = grad(cost, x)
    for value in (np.eye(3), np.diag([1.0, 1.0, 2.0]), np.zeros((3, 3))):
        assert np.isfinite(derivative.eval({x: value})).all()
        assert np.isfinite(grad((derivative**2).sum(), x).eval({x: value})).all()


def test_a_large_direction_does_not_spoil_the_derivative_of_expm() -> None:
    """d exp(x)·v is linear in v: 1e12 times the direction is 1e12 times the result, digit by digit."""
    x, v = symbol(2, 2), symbol(2, 2)
    moved = Rop(at.expm(x), x, v)
    values = {x: np.array([[0.1, 0.2], [-0.3, 0.4]]), v: np.array([[1.0, 2.0], [3.0, 4.0]])}
    small = moved.eval(values)
    np.testing.assert_allclose(moved.eval(values | {v: 1e12 * values[v]}), 1e12 * small, rtol=1e-14)
    expected = scipy.linalg.expm_frechet(values[x], values[v], compute_expm=False)
    np.testing.assert_allclose(small, expected, rtol=1e-12)


def test_second_derivatives_of_a_pseudoinverse_are_those_of_the_inverse() -> None:
    """At full rank, for a matrix of condition 1e4, along a direction."""
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.normal(size=(5, 5)))[0] for _ in range(2))
    x, d, w = at.matrix("x", shape=(5, 5)), rng.normal(size=(5, 5)), rng.normal(size=(5, 5))
    seconds = []
    for invert in (at.pinv, at.inv):
        slope = aot.grad(at.sum(invert(x) * w), x)
        seconds.append(aot.grad(at.sum(slope * d), x))
    value = left @ np.diag([1.0, 0.3, 0.1, 1e-2, 1e-4]) @ right
    found, wanted = aot.function([x], seconds).reference(value)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
