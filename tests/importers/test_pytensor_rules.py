"""Rules for ops of PyTensor, each beside NumPy or SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import scipy.sparse

pytensor = pytest.importorskip("pytensor", reason="no PyTensor: pip install 'aotensor[pytensor]'")

import pytensor.sparse as ps  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.raise_op import Assert, CheckAndRaise  # noqa: E402
from pytensor.tensor import fft  # noqa: E402
from pytensor.tensor.fourier import fft as fourier  # noqa: E402
from pytensor.tensor.random.basic import MvNormalRV  # noqa: E402
from pytensor.tensor.signal import convolve1d, convolve2d  # noqa: E402

try:
    from pytensor.tensor.linalg.solvers import tridiagonal
except ImportError:  # before PyTensor 3
    from pytensor.tensor._linalg.solve import tridiagonal

import aotensor as aot  # noqa: E402
from aotensor.importers.pytensor import NoCounterpart, from_pytensor, function  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


def test_factors_and_equations() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 4, 4))
    A, B, C = (pt.dmatrix(name) for name in "ABC")
    schur, complex_schur = pt.linalg.schur(A), pt.linalg.schur(A, output="complex")
    x = pt.linalg.solve_sylvester(A, B, C)
    f = function(
        [A, B, C],
        [
            *pt.linalg.qr(A, pivoting=True), *schur, *complex_schur, *pt.linalg.eig(A), x,
            pt.linalg.solve_continuous_lyapunov(A, B), *pytensor.grad(x.sum(), [A, B, C]),
        ],
    )  # fmt: skip
    *qr, t, z, tc, zc, w, v, solved, lyapunov, da, db, dc = f(a, b, c)
    found = [*qr, t, z, tc, zc, solved, lyapunov]
    wanted = [
        *scipy.linalg.qr(a, pivoting=True), *scipy.linalg.schur(a), *scipy.linalg.schur(a, output="complex"),
        scipy.linalg.solve_sylvester(a, b, c), scipy.linalg.solve_continuous_lyapunov(a, b),
    ]  # fmt: skip
    for ours, theirs in zip(found, wanted, strict=True):
        assert np.allclose(ours, theirs, rtol=1e-11, atol=1e-11)
    assert np.allclose(a @ v, v * w)
    for value, place in ((da, 0), (db, 1), (dc, 2)):
        steps = [np.zeros((4, 4)) for _ in range(3)]
        steps[place] = 1e-6 * rng.normal(size=(4, 4))
        ahead, behind = (
            scipy.linalg.solve_sylvester(*(x + sign * h for x, h in zip((a, b, c), steps, strict=True))).sum()
            for sign in (1, -1)
        )
        assert np.isclose((ahead - behind) / 2, (value * steps[place]).sum(), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("sort", ["lhp", "rhp", "iuc", "ouc"])
@pytest.mark.parametrize("output", ["real", "complex"])
def test_sorted_schur_forms_of_matrices_and_pencils(output: str, sort: str) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
    A, B = pt.dmatrix("A"), pt.dmatrix("B")
    stack = pt.dtensor3("stack")
    f = function(
        [A, B, stack],
        [
            *pt.linalg.schur(A, output=output, sort=sort), *pt.linalg.schur(stack, output=output, sort=sort),
            *pt.linalg.qz(A, B, output=output), *pt.linalg.qz(stack, B, output=output, sort=sort),
            *pt.linalg.qz(stack, B, output=output, sort=sort, return_eigenvalues=True),
            *pt.linalg.qz(A, B, output=output, return_eigenvalues=True)[2:4],
        ],
    )  # fmt: skip
    *found, alpha, beta = f(a[0], b[0], a)
    ordered = scipy.linalg.ordqz(a, b[0], sort, output)
    wanted = [
        *scipy.linalg.schur(a[0], output, sort=sort)[:2], *scipy.linalg.schur(a, output, sort=sort)[:2],
        *scipy.linalg.qz(a[0], b[0], output), *ordered[:2], *ordered[4:], *ordered,
    ]  # fmt: skip
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)
        assert ours.dtype == theirs.dtype
    values = scipy.linalg.eigvals(a[0], b[0])
    np.testing.assert_allclose(np.sort_complex(alpha / beta), np.sort_complex(values), rtol=1e-9)


def test_reflectors() -> None:
    """h, tau and r as LAPACK gives them, of every shape, and with pivots."""
    A = pt.dmatrix("A")
    f = function([A], [*pt.linalg.qr(A, mode="raw"), *pt.linalg.qr(A, mode="raw", pivoting=True)])
    rng = np.random.default_rng(7)
    upper = np.triu(rng.normal(size=(4, 4)))
    for a in (rng.normal(size=(4, 4)), rng.normal(size=(6, 3)), rng.normal(size=(3, 6)), upper, np.zeros((3, 2))):
        found = f(a)
        plain, pivoted = (scipy.linalg.qr(a, mode="raw", pivoting=pivots) for pivots in (False, True))
        for ours, theirs in zip(found, [*plain[0], plain[1], *pivoted[0], *pivoted[1:]], strict=True):
            assert ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-12, atol=1e-13)
    with pytest.raises(NoCounterpart, match="its mode is 'raw', which is not supported for complex matrices"):
        function([z := pt.zmatrix("z")], pt.linalg.qr(z, mode="raw"))
    with pytest.raises(NoCounterpart, match="its matrix is not square"):
        function([b := pt.matrix("b", shape=(4, 3))], pt.linalg.qr(b, mode="raw"))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_factors_of_tridiagonal_matrices(dtype: str) -> None:
    """As LAPACK's, and solutions by them, for one and several right-hand sides."""
    dl, d, du, b = (pt.vector(name, dtype=dtype) for name in ("dl", "d", "du", "b"))
    B = pt.matrix("B", dtype=dtype)
    factors = tridiagonal.LUFactorTridiagonal()(dl, d, du)
    solutions = [
        tridiagonal.SolveLUFactorTridiagonal(b_ndim=x.ndim, transposed=flag)(*factors, x)
        for x in (b, B)
        for flag in (False, True)
    ]
    f = function([dl, d, du, b, B], [*factors, *solutions])
    lapack = scipy.linalg.get_lapack_funcs("gttrf", dtype=dtype)
    rng = np.random.default_rng(8)
    for n in (3, 9):
        parts = [rng.normal(size=(2, k)) for k in (n - 1, n, n - 1, n)]
        *diagonals, one = ((x + 1j * y if dtype == "complex128" else x) for x, y in parts)
        many = np.stack([one, 2 - one], axis=1)
        *found, x, xt, X, Xt = f(*diagonals, one, many)
        for ours, theirs in zip(found, lapack(*diagonals)[:5], strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            np.testing.assert_allclose(ours, theirs, 1e-11, 1e-13)
        matrix = np.diag(diagonals[1]) + np.diag(diagonals[0], -1) + np.diag(diagonals[2], 1)
        for ours, a, side in ((x, matrix, one), (xt, matrix.T, one), (X, matrix, many), (Xt, matrix.T, many)):
            np.testing.assert_allclose(ours, np.linalg.solve(a, side), 1e-10, 1e-12)
    *_, x, xt, X, Xt = f(*(np.array(v, dtype) for v in ([], [2], [], [3], [[1, 4]])))
    assert (x.tolist(), xt.tolist(), X.tolist(), Xt.tolist()) == ([1.5], [1.5], [[0.5, 2]], [[0.5, 2]])


def test_gradients_and_batches_of_tridiagonal_equations() -> None:
    a, b = pt.dtensor3("a"), pt.dmatrix("b")
    x = pt.linalg.solve(a, b, assume_a="tridiagonal", b_ndim=1)
    f = pytensor.function([a, b], [x, *pytensor.grad((x**2).sum(), [a, b])], mode="AOTENSOR")
    rng = np.random.default_rng(9)
    matrices, side = rng.normal(size=(2, 4, 4)), rng.normal(size=(2, 4))
    matrices *= np.abs(np.subtract.outer(range(4), range(4))) <= 1
    wanted = np.linalg.solve(matrices, side[..., None])[..., 0]
    found = f(matrices, side)
    np.testing.assert_allclose(found[0], wanted, 1e-11)
    slope = np.linalg.solve(matrices.swapaxes(1, 2), 2 * wanted[..., None])[..., 0]
    np.testing.assert_allclose(found[2], slope, 1e-10)
    of_matrices = -slope[..., None] * wanted[:, None, :]
    for offset in (-1, 0, 1):
        ours, theirs = (x.diagonal(offset, 1, 2) for x in (found[1], of_matrices))
        np.testing.assert_allclose(ours, theirs, 1e-10)


@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 3)])
def test_transforms_over_all_axes_but_the_first(shape: tuple[int, ...]) -> None:
    """Parts along a last axis; PyTensor's gradients of them are transforms, too."""
    x = pt.tensor("x", dtype="float64", shape=shape)
    parts = fft.rfft(x)
    back = fft.irfft(parts, is_odd=shape[-1] % 2 == 1)
    value, axes = np.random.default_rng(0).normal(size=shape), tuple(range(1, len(shape)))
    f = function([x], [parts, back, pytensor.grad((parts**2).sum(), x), pytensor.grad((back**3).sum(), x)])
    found = f(value)
    wanted = np.fft.rfftn(value, axes=axes)
    half = np.r_[1, np.full(wanted.shape[-1] - 1, 2)]  # of an odd length all but the first are there twice
    np.testing.assert_allclose(found[0], np.stack([wanted.real, wanted.imag], axis=-1), 1e-12, 1e-12)
    np.testing.assert_allclose(found[1], value, 1e-12, 1e-12)
    slope = np.fft.irfftn(wanted / half, s=shape[1:], axes=axes, norm="forward") * 2
    np.testing.assert_allclose(found[2], slope, 1e-12, 1e-12)
    np.testing.assert_allclose(found[3], 3 * value**2, 1e-11, 1e-11)


@pytest.mark.parametrize("is_odd", [False, True])
def test_transforms_of_extents_of_run_time(is_odd: bool) -> None:
    """Without static shapes: one function for all of them."""
    x = pt.dtensor3("x")
    parts = fft.rfft(x)
    f = pytensor.function([x], [parts, fft.irfft(parts, is_odd=is_odd), pytensor.grad((parts**2).sum(), x)], "AOTENSOR")
    for shape in ((2, 3, 5), (1, 4, 7)) if is_odd else ((2, 3, 4), (1, 2, 2)):
        value = np.random.default_rng(0).normal(size=shape)
        wanted = np.fft.rfftn(value, axes=(1, 2))
        found = f(value)
        np.testing.assert_allclose(found[0], np.stack([wanted.real, wanted.imag], axis=-1), 1e-12, 1e-12)
        np.testing.assert_allclose(found[1], value, 1e-12, 1e-12)
        h = np.random.default_rng(1).normal(size=shape)
        ahead, behind = ((np.abs(np.fft.rfftn(value + step, axes=(1, 2))) ** 2).sum() for step in (h, -h))
        assert np.isclose((ahead - behind) / 2, (found[2] * h).sum(), rtol=1e-9)


def test_complex_transforms_along_one_axis() -> None:
    """Length and axis as numbers, and computed."""
    x, z, n, axis = pt.dmatrix("x"), pt.zmatrix("z"), pt.iscalar("n"), pt.iscalar("axis")
    f = pytensor.function([x, z], [fourier(x, 10, 0), fourier(z, None, None), fourier(x, x.shape[0], 1)], "AOTENSOR")
    g = pytensor.function([z, n, axis], fourier(z, n, axis), "AOTENSOR")
    rng = np.random.default_rng(5)
    for shape in ((8, 6), (12, 5)):
        a, b = rng.normal(size=shape), rng.normal(size=shape) + 1j * rng.normal(size=shape)
        wanted = [np.fft.fft(a, 10, 0), np.fft.fft(b), np.fft.fft(a, shape[0], 1)]
        for ours, theirs in zip(f(a, b), wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-12, 1e-12)
        for length, k in ((5, 0), (9, 1), (1, -1), (16, -2)):
            np.testing.assert_allclose(g(b, length, k), np.fft.fft(b, length, k), 1e-12, 1e-12)
    with pytest.raises(np.exceptions.AxisError, match="from -2 to 1"):
        g(b, 4, 2)
    with pytest.raises(ValueError, match="a transform must be at least 1"):
        g(b, 0, 1)


@pytest.mark.parametrize("sizes", [(7, 3), (3, 7), (1, 1)])
def test_convolutions(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    n, m = sizes
    x, y, X, Y = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("X"), pt.dmatrix("Y")
    modes = ("full", "valid", "same")
    cost = (convolve1d(x, y, mode="valid") ** 2).sum() + (convolve2d(X, Y, mode="valid") ** 2).sum()
    f = function(
        [x, y, X, Y],
        [convolve1d(x, y, mode=mode) for mode in modes]
        + [convolve2d(X, Y, mode=mode) for mode in modes]
        + [cost, *pytensor.grad(cost, [x, Y])],
    )
    a, b, A, B = rng.normal(size=n), rng.normal(size=m), rng.normal(size=(n, n + 1)), rng.normal(size=(m, m + 1))
    *found, _, slope, matrix_slope = f(a, b, A, B)
    wanted = [scipy.signal.convolve(*pair, mode=mode) for pair in ((a, b), (A, B)) for mode in modes]
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    h, H = 1e-6 * rng.normal(size=n), 1e-6 * rng.normal(size=B.shape)
    ahead, behind = (f(a + sign * h, b, A, B + sign * H)[6] for sign in (1, -1))
    assert np.isclose((ahead - behind) / 2, slope @ h + (matrix_slope * H).sum(), rtol=1e-5)


def test_shapes_and_checks_of_sparse_matrices() -> None:
    S, values, places = ps.csr_matrix("S"), pt.dmatrix("values"), pt.lvector("places")
    large = CheckAndRaise(KeyError, "too few rows")(S, pt.gt(S.shape[0], 2))
    made = ps.construct_sparse_from_list(pt.zeros((4, 3)), values, places)
    inputs = [S, values, places]
    outputs = [S.shape, S.shape[1], ps.dense_from_sparse(large), ps.dense_from_sparse(made)]
    f, g = function(inputs, outputs), pytensor.function(inputs, outputs, mode="AOTENSOR")
    matrix = scipy.sparse.random(5, 4, density=0.4, format="csr", random_state=0)
    rows = np.arange(6.0).reshape(2, 3)
    wanted = np.zeros((4, 3))
    wanted[[3, 0]] = rows
    for call in (f, g):
        shape, columns, dense, from_list = call(matrix, rows, np.array([3, 0]))
        assert shape.tolist() == [5, 4] and columns == 4
        assert np.array_equal(dense, matrix.toarray()) and np.array_equal(from_list, wanted)
    with pytest.raises(ValueError, match="too few rows"):
        f(matrix[:2], rows, np.array([3, 0]))
    with pytest.raises(KeyError, match="too few rows"):
        g(matrix[:2], rows, np.array([3, 0]))


def test_checks_in_batches() -> None:
    """A check that fails for one sample fails."""

    def checked(x: Any) -> Any:
        return Assert("negative")(x, pt.all(x >= 0)) * 2

    x = pt.dmatrix("x")
    f = pytensor.function([x], pt.vectorize(checked, "(n)->(n)")(x), mode="AOTENSOR")
    assert np.array_equal(f(np.ones((2, 3))), 2 * np.ones((2, 3)))
    with pytest.raises(AssertionError, match="negative"):
        f(np.array([[1.0], [-1.0]]))


def test_checks_of_complex_values() -> None:
    z, k = pt.zvector("z"), pt.lscalar("k")
    f = pytensor.function([z, k], Assert("odd")(z, pt.eq(k % 2, 0)).imag, "AOTENSOR")
    assert f(np.array([1 + 2j]), 4).tolist() == [2.0]
    with pytest.raises(AssertionError, match="odd"):
        f(np.array([1 + 2j]), 3)


def test_orders_along_an_axis_that_is_computed() -> None:
    """Of every axis the rank has, counted from either end; others are errors."""
    rng = np.random.default_rng(3)
    x, axis = pt.dtensor3("x"), pt.scalar("axis", dtype="int8")
    f = pytensor.function([x, axis], [pt.sort(x, axis), pt.argsort(x, axis)], mode="AOTENSOR")
    value = rng.normal(size=(2, 3, 4))
    for k in range(-3, 3):
        for ours, theirs in zip(f(value, k), [np.sort(value, k), np.argsort(value, k)], strict=True):
            assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    for k in (3, -4, 127):
        with pytest.raises(np.exceptions.AxisError, match="from -3 to 2"):
            f(value, k)
    v = pt.dvector("v")
    g = function([v, axis], pt.sort(v, axis))
    assert g(value[0, 0], -1).tolist() == g(value[0, 0], 0).tolist() == np.sort(value[0, 0]).tolist()
    with pytest.raises(ValueError, match="from -1 to 0"):
        g(value[0, 0], 1)


def test_slope_of_what_is_sorted_along_an_axis_that_is_computed() -> None:
    rng = np.random.default_rng(4)
    x, axis = pt.dtensor3("x"), pt.lscalar("axis")
    (ours, k), total = from_pytensor([x, axis], (pt.sort(x, axis) ** 2 * x).sum())
    value, h = rng.normal(size=(2, 3, 4)), 1e-6 * rng.normal(size=(2, 3, 4))
    slope = aot.function([ours, k], aot.grad(total, ours))(value, 1)
    ahead, behind = ((np.sort(value + step, 1) ** 2 * (value + step)).sum() for step in (h, -h))
    assert np.isclose((ahead - behind) / 2, (slope * h).sum(), rtol=1e-6)


def test_diagonals_of_any_rank_and_offset() -> None:
    m, cube, value, offset = pt.dmatrix("m"), pt.dtensor3("cube"), pt.dscalar("value"), pt.lscalar("offset")
    beside = pt.fill_diagonal_offset(m, value, offset)
    slopes = pytensor.grad((beside**2).sum(), [m, value])
    f = function([m, cube, value, offset], [pt.fill_diagonal(cube, value), pt.fill_diagonal(m, value), beside, *slopes])
    for shape in ((4, 4), (5, 3), (3, 5), (1, 2)):
        for k in (0, 1, -2, 7):
            x, y = np.arange(1.0, 1 + np.prod(shape)).reshape(shape), np.ones((3, 3, 3))
            on = np.eye(*shape, k, dtype=bool)
            whole, main, found, of_matrix, of_value = f(x, y, 9.0, k)
            np.fill_diagonal(y, 9.0)
            np.testing.assert_array_equal(whole, y)
            np.testing.assert_array_equal(main, np.where(np.eye(*shape, dtype=bool), 9.0, x))
            np.testing.assert_array_equal(found, np.where(on, 9.0, x))
            if on.any():  # PyTensor's own gradient is of other elements where there is no such diagonal
                np.testing.assert_array_equal(of_matrix, np.where(on, 0, 2 * x))
                np.testing.assert_array_equal(of_value, 18.0 * on.sum())
    with pytest.raises(ValueError, match="FillDiagonal: the extents"):
        f(np.ones((2, 2)), np.ones((2, 2, 3)), 9.0, 0)


def test_choices_by_number() -> None:
    number, rows, x = pt.lmatrix("number"), pt.dmatrix("rows"), pt.dvector("x")
    wrapped = pt.choose(number, [x, 2 * x, x**2], mode="wrap")
    (*inputs, v), outputs = from_pytensor([number, rows, x], [pt.choose(number, rows), wrapped])
    f = aot.function([*inputs, v], [*outputs, aot.grad(outputs[1].sum(), v)])
    a, table, at_x = np.array([[0, 2, 1], [2, 2, 0]]), np.arange(9.0).reshape(3, 3) ** 2, np.array([1.0, 3.0, 5.0])
    by_row, by_list, slope = f(a, table, at_x)
    np.testing.assert_array_equal(by_row, np.choose(a, table))
    np.testing.assert_array_equal(by_list, np.choose(a, [at_x, 2 * at_x, at_x**2]))
    np.testing.assert_array_equal(slope, np.choose(a, [np.ones(3), np.full(3, 2.0), 2 * at_x]).sum(axis=0))
    for wrong in (3, -1):
        with pytest.raises(ValueError, match=f"position {wrong} is out of range"):
            f(np.full((1, 3), wrong), table, at_x)


def test_shapes_whose_length_the_type_does_not_tell() -> None:
    i, j, shape = pt.lvector("i"), pt.lvector("j"), pt.lvector("shape")
    position = pt.ravel_multi_index((i, j), shape)
    f = function([i, j, shape], position)
    assert f([0, 2], [3, 1], [3, 4]).tolist() == [3, 9]
    with pytest.raises(ValueError, match="extent 3 along axis 0 instead of 2"):
        f([0], [0], [3, 4, 5])


@pytest.mark.parametrize("method", ["svd", "eigh"])
def test_normal_vectors_of_a_singular_covariance(method: str) -> None:
    state = pytensor.shared(np.random.default_rng(5))
    direction = np.array([1.0, -2.0, 0.5])
    rv = MvNormalRV(method=method)
    draws = function([], rv([1.0, 1.0, 1.0], np.outer(direction, direction), size=(4000,), rng=state))()
    along = (draws - 1) @ direction / (direction @ direction)
    np.testing.assert_allclose(draws - 1, np.outer(along, direction), atol=1e-7)
    assert abs(along.mean()) < 0.1
    assert abs(along.std() - 1) < 0.1


def test_normal_vectors_of_a_covariance_with_a_negative_eigenvalue() -> None:
    cov = np.array([[[1.0, 2.0], [2.0, 1.0]], [[2.0, 1.0], [1.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])
    state = pytensor.shared(np.random.default_rng(5))
    draws = function([], MvNormalRV(method="eigh")(np.zeros(2), cov, size=(5, 3), rng=state))()
    expected = MvNormalRV(method="eigh").rng_fn(np.random.default_rng(5), np.zeros((3, 2)), cov, (5, 3))
    assert np.isnan(expected[:, 0]).all() and np.isnan(draws[:, 0]).all()
    assert np.isfinite(draws[:, 1:]).all()


def test_parts_and_wholes_along_an_axis_that_is_computed() -> None:
    x, y, axis, size = pt.dmatrix("x"), pt.dmatrix("y"), pt.lscalar("axis"), pt.lscalar("size")
    whole = pt.join(axis, x, y)
    parts = pt.split(x, [size, x.shape[axis] - size], n_splits=2, axis=axis)
    fixed = pt.join(axis, pt.specify_shape(x, (3, 4)), pt.specify_shape(y, (3, 2)))
    slope = pytensor.grad((whole**3).sum(), y)
    f = function([x, y, axis, size], [whole, slope, *parts], on_unused_input="ignore")
    a = np.arange(12.0).reshape(3, 4)
    for k, b in ((0, np.ones((2, 4))), (1, np.full((3, 1), 2.0)), (-1, np.full((3, 2), 3.0)), (-2, np.zeros((0, 4)))):
        found, slopes, one, other = f(a, b, k, 2)
        np.testing.assert_array_equal(found, np.concatenate([a, b], axis=k))
        np.testing.assert_array_equal(slopes, 3 * b**2)
        np.testing.assert_array_equal(one, np.split(a, [2], axis=k)[0])
        np.testing.assert_array_equal(other, np.split(a, [2], axis=k)[1])
    with pytest.raises(ValueError, match="it must be from -2 to 1"):
        f(a, a, 2, 2)
    with pytest.raises(ValueError, match="extent"):
        f(a, np.ones((2, 4)), 1, 2)
    g = function([x, y, axis], fixed)
    assert g(a, np.ones((3, 2)), 1).shape == (3, 6)
    with pytest.raises(ValueError, match="extents"):
        g(a, np.ones((3, 2)), 0)
