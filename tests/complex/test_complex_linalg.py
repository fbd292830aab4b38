"""Solvers, inverses and exponentials of complex matrices: values against SciPy's, derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import grad, verify_grad


def drawn(*shape: int) -> np.ndarray[Any, Any]:
    """A complex array of normal numbers."""
    pair = np.random.default_rng(sum(shape)).normal(size=(2, *shape))
    return np.asarray(pair[0] + 1j * pair[1])


@pytest.mark.shows("tensor/12-matrices")
def test_values_and_gradients() -> None:
    A, b, B, R = (
        at.zmatrix("A"),
        at.zvector("b"),
        at.tensor("B", dtype="complex128", shape=("s", 3, 3)),
        at.zmatrix("R"),
    )
    a, v, batch, wide = drawn(4, 4), drawn(4), drawn(2, 3, 3), drawn(4, 2)
    H = a @ a.conj().T + np.eye(4)
    hermitian = A @ A.T.conj() + at.eye(4)
    rows: dict[str, tuple[Any, Any]] = {
        "solve": (at.solve(A, b), np.linalg.solve(a, v)),
        "solves": (at.solve(A, R, transposed=True), np.linalg.solve(a.T, wide)),
        "pos": (at.solve(hermitian, b, assume_a="pos"), np.linalg.solve(H, v)),
        "her": (at.solve(at.tril(hermitian), b, assume_a="her", lower=True), np.linalg.solve(H, v)),
        "inv": (at.inv(B), np.linalg.inv(batch)),
        "pinv": (at.pinv(R), np.linalg.pinv(wide)),
        "cholesky": (at.cholesky(hermitian), np.linalg.cholesky(H)),
        "upper": (at.cholesky(hermitian, lower=False), np.linalg.cholesky(H).conj().T),
        "expm": (at.expm(A), scipy.linalg.expm(a)),
        "power": (at.matrix_power(A, 3), np.linalg.matrix_power(a, 3)),
    }
    gradient = grad(at.abs(at.solve(A, b)).sum() + at.norm(at.inv(A)), A)
    f = aot.function([A, b, B, R], {**{key: row for key, (row, _) in rows.items()}, "grad": gradient}, name="solvers")
    found, reference = f(a, v, batch, wide), f.reference(a, v, batch, wide)
    for key, (_, wanted) in rows.items():
        np.testing.assert_allclose(found[key], wanted, rtol=1e-11, atol=1e-12, err_msg=key)
    np.testing.assert_allclose(found["grad"], reference["grad"], rtol=1e-10)
    verify_grad(
        lambda m, y: at.solve(m, y) + at.inv(m)[0] + at.expm(0.1 * m)[1] + at.cholesky(m @ m.T.conj())[2], [a, v]
    )


def test_backward_errors_are_those_of_the_real_solver() -> None:
    A, b = at.zmatrix("A"), at.zvector("b")
    f = aot.function([A, b], at.solve(A, b), name="ill")
    u, _, w = np.linalg.svd(drawn(20, 20))
    a, v = (u * np.logspace(0, -12, 20)) @ w, drawn(20)
    x = f(a, v)
    assert np.linalg.norm(a @ x - v) <= 1e-14 * np.linalg.norm(a) * np.linalg.norm(x)


@pytest.mark.shows("tensor/12-matrices")
def test_what_is_not_there_is_told() -> None:
    A = at.zmatrix("A")
    for name, refused in (
        ("solve_discrete_are", lambda: at.solve_discrete_are(A, A, A, A)),
        ("cov", lambda: at.cov(A)),
        ("corrcoef", lambda: at.corrcoef(A)),
    ):
        with pytest.raises(TypeError, match=f"{name}: does not accept complex values"):
            refused()
    assert at.identity_like(A).eval({A: np.ones((2, 2), complex)}).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(TypeError, match='assume_a="sym" is for real matrices'):
        at.solve(A, A, assume_a="sym")
    with pytest.raises(np.linalg.LinAlgError):
        aot.function([A], at.inv(A), name="singular")(np.zeros((2, 2), complex))
