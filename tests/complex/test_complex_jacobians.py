"""Jacobians of complex values: complex derivatives, refusals of what has none, real variables, second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.errors import GraphTypeError, UnsupportedError
from aotensor.gradient import hessian, jacobian

POINT = np.array([0.4 + 0.7j, -1.3 + 0.6j, 0.9 - 1.1j])
RNG = np.random.default_rng(3)
M = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
W = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
R = RNG.normal(size=(3, 3))
STORED = scipy.sparse.csr_matrix(np.where(np.abs(W) > 1, W, 0))

HOLOMORPHIC: dict[str, tuple[Callable[[Any], Any], Array]] = {
    "square": (lambda z: z * z, POINT),
    "functions": (lambda z: at.exp(1j * z) / z + z**2.5 + 2**z, POINT),
    "products": (lambda z: z @ at.constant(W) * (at.constant(R) @ z), POINT),
    "einsum": (lambda z: at.einsum("ij,jk,kl->il", z, W, z), M),
    "parts": (lambda z: at.real(z) + 1j * at.imag(z) + z.conj().conj(), POINT),
    "inverse": (at.inv, M),
    "solve": (lambda z: at.solve(z, at.constant(POINT)) + at.solve_triangular(z, POINT), M),
    "right": (lambda z: at.solve(at.constant(R), z) + at.solve(at.constant(W), z), POINT),
    "transform": (lambda z: at.fft(z, n=5), POINT),
    "transforms": (at.ifft2, M),
    "exponential": (at.expm, 0.3 * M),
    "determinant": (at.det, M),
    "sparse": (lambda z: sp.dot(sp.as_sparse_variable(STORED), z * z), POINT),
    "entries": (lambda z: sp.dot(sp.CSR(z, [0, 2, 1], [0, 1, 2, 3], [3, 3]), at.constant(W)), POINT),
    "shapes": (lambda z: at.concatenate([z[1:], 2 * z[:1], at.ones(2)]), POINT),
    "update": (lambda z: at.set_subtensor(z[0], z[1] * z[2]), POINT),
    "choice": (lambda z: at.switch(at.real(z) > 0, z * z, at.sin(z)), POINT),
    "branch": (lambda z: at.ifelse(at.real(z)[0] > 0, z * z, z), POINT),
    "running": (lambda z: at.cumsum(z) ** 2 + at.cumprod(z) + at.prod(z) + z.mean(), POINT),
    "roots": (at.sqrtm, M @ M.conj().T + 0.1j * np.eye(3)),
    "equation": (lambda z: at.solve_sylvester(z, z, at.constant(W)), M),
}
OTHERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "conjugate": (lambda z: z * z.conj(), r"conj\(z\) is not made at .*test_complex_jacobians.py"),
    "size": (lambda z: at.abs(z) * z, r"abs\(z\) is not made at .*test_complex_jacobians.py"),
    "real part": (lambda z: at.real(z) * z, r"real\(z\) \* z is not made at"),
    "imaginary part": (lambda z: 1j * at.imag(z), r"1j \* imag\(z\) is not made at"),
    "product with a real part": (lambda z: at.real(z) @ at.constant(W), "is not made at"),
    "angle": (lambda z: z * at.angle(z), "is not made at"),
    "inner product": (lambda z: at.vecdot(z, z), r"conj\(z\) is not made at"),
    "sign": (at.sign, "is not made at"),
    "transform of a part": (lambda z: at.rfft(at.real(z)), "is not made at"),
    "matrix of a part": (lambda z: at.solve(at.diag(at.real(z)), z), "is not made at"),
    "side of a part": (lambda z: at.solve(at.diag(z), at.real(z)), "is not made at"),
    "hermitian": (lambda z: at.cholesky(at.outer(z, z.conj())), "is not made at"),
    "vectors": (lambda z: at.svd(at.outer(z, z))[0], "is not made at"),
    "loop": (lambda z: at.scan(lambda old: old * old, outputs_info=[z], n_steps=2, return_updates=False)[-1], "scan"),
    "extents apart": (lambda z: (at.real(z)[0] + at.zeros(2)).sum() + 1j * (at.imag(z)[0] + at.zeros(3)).sum(), ""),
}


def differences(f: Callable[[Array], Any], point: Array, is_complex: bool = True) -> Array:
    """∂f/∂x by differences along real parts, for holomorphic f also along imaginary ones, which agree."""
    step, columns = 1e-6, []
    for index in np.ndindex(point.shape):
        unit = np.zeros(point.shape)
        unit[index] = step
        column = (f(point + unit) - f(point - unit)) / (2 * step)
        if is_complex:
            turned = (f(point + 1j * unit) - f(point - 1j * unit)) / (2j * step)
            np.testing.assert_allclose(turned, column, rtol=1e-5, atol=1e-6)
        columns.append(column)
    found = np.moveaxis(np.array(columns), 0, -1)
    return found.reshape(found.shape[:-1] + point.shape)


@pytest.mark.shows("gradient/13-jacobian")
@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_complex_derivatives_and_theirs(name: str) -> None:
    function, point = HOLOMORPHIC[name]
    z = at.tensor("z", dtype="complex128", shape=point.shape)
    y = function(z)
    first = jacobian(y, z)
    second = jacobian((first * first).sum(), z, disconnected_inputs="ignore")
    f = aot.function([z], [y, first, second], name=name)
    found = f.reference(point)
    assert found[1].dtype == np.complex128
    slope = differences(lambda at_point: f.reference(at_point)[0], point)
    np.testing.assert_allclose(found[1], slope, rtol=1e-6, atol=1e-6)
    curve = differences(lambda at_point: (f.reference(at_point)[1] ** 2).sum(), point)
    np.testing.assert_allclose(found[2], curve, rtol=1e-4, atol=1e-4 * np.abs(curve).max())


@pytest.mark.shows("gradient/13-jacobian")
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_holomorphic_is_refused_with_its_line(name: str) -> None:
    function, wanted = OTHERS[name]
    z = at.zvector("z", shape=(3,))
    with pytest.raises(UnsupportedError, match="not known to be a holomorphic function of z") as caught:
        jacobian(function(z), z)
    assert "test_complex_jacobians.py" in str(caught.value)
    assert caught.match(wanted)


def test_closed_forms_compiled() -> None:
    z, A, w = at.zvector("z", shape=(3,)), at.zmatrix("A", shape=(3, 3)), at.cvector("w", shape=(2,))
    x = at.vector("x", shape=(3,))
    inverse = at.inv(A)
    found = {
        "square": jacobian(z * z, z),
        "looped": jacobian(z * z, z, vectorize=False),
        "pattern": jacobian(z * z, z, sparse=True),
        "inverse": jacobian(inverse, A),
        "transform": jacobian(at.fft(z), z),
        "scalar": jacobian((z * z).sum(), z),
        "narrow": jacobian(w * w, w),
        "fixed": jacobian(z * x, z),
        "twice": jacobian(jacobian(z**3, z).sum(0), z),
        "by_real": jacobian(at.exp(1j * x), x),
        "by_real_rows": jacobian((at.exp(1j * x) * z).sum(), x),
        "by_real_sparse": jacobian(at.exp(1j * x), x, sparse=True),
        "both": jacobian(x * z, [x, z])[0],
        "through": jacobian(at.abs(at.exp(1j * x) + 1), x),
    }
    f = aot.function([z, A, w, x], found, name="closed", mode="DEBUG_MODE")
    point, narrow = np.array([0.5, -1.0, 2.0]), POINT[:2].astype("complex64")
    y = f(POINT, M, narrow, point)
    for name in ("square", "looped"):
        np.testing.assert_allclose(y[name], np.diag(2 * POINT), rtol=1e-15)
    np.testing.assert_allclose(y["pattern"].toarray(), np.diag(2 * POINT), rtol=1e-15)
    assert y["pattern"].nnz == 3
    np.testing.assert_allclose(y["inverse"], -np.einsum("ik,lj->ijkl", np.linalg.inv(M), np.linalg.inv(M)), rtol=1e-12)
    np.testing.assert_allclose(y["transform"], np.fft.fft(np.eye(3)), atol=1e-14)
    np.testing.assert_allclose(y["scalar"], 2 * POINT)
    assert y["narrow"].dtype == np.complex64
    np.testing.assert_allclose(y["narrow"], np.diag(2 * narrow), rtol=1e-6)
    np.testing.assert_allclose(y["fixed"], np.diag(point))
    np.testing.assert_allclose(y["twice"], np.diag(6 * POINT), rtol=1e-14)
    turned = 1j * np.exp(1j * point)
    np.testing.assert_allclose(y["by_real"], np.diag(turned), rtol=1e-14)
    np.testing.assert_allclose(y["by_real_rows"], turned * POINT, rtol=1e-14)
    np.testing.assert_allclose(y["by_real_sparse"].toarray(), np.diag(turned), rtol=1e-14)
    np.testing.assert_allclose(y["both"], np.diag(POINT))
    np.testing.assert_allclose(y["through"], np.diag(-np.sin(point / 2)), rtol=1e-12)


def test_refusals_and_zeros() -> None:
    z, x, n = at.zvector("z", shape=(3,)), at.vector("x", shape=(3,)), at.zvector("n")
    with pytest.raises(GraphTypeError, match="z is complex, and the expression is real") as caught:
        jacobian(at.real(z), z)
    assert "use grad of real scalars" in str(caught.value)
    with pytest.raises(GraphTypeError, match="hessian: z is complex"):
        hessian(at.abs(z).sum(), z)
    zeros = jacobian(at.exp(1j * x), z, disconnected_inputs="ignore")
    np.testing.assert_array_equal(zeros.eval({x: np.ones(3), z: POINT}), np.zeros((3, 3), complex))
    for size in (0, 1, 3):
        np.testing.assert_array_equal(jacobian(n * n, n).eval({n: POINT[:size]}), np.diag(2 * POINT[:size]))
    held = z.conj()
    constant = jacobian(z * held, z, consider_constant=[held])
    np.testing.assert_allclose(constant.eval({z: POINT}), np.diag(POINT.conj()))


def test_against_jax() -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        jnp = jax.numpy

        def theirs(v: Any) -> Any:
            return jnp.linalg.solve(jnp.outer(v, v) + W, jnp.fft.fft(jnp.exp(v)))

        z = at.zvector("z", shape=(3,))
        ours = jacobian(at.solve(at.outer(z, z) + W, at.fft(at.exp(z))), z)
        found = aot.function([z], ours, name="ours").reference(POINT)
        for mode in (jax.jacrev, jax.jacfwd):
            np.testing.assert_allclose(found, mode(theirs, holomorphic=True)(POINT), rtol=1e-10)
