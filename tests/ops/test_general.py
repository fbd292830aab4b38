"""General matrices in compiled code: all sizes in one library, what is not finite, what fails, what is refused."""

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
from aotensor.gradient import grad
from aotensor.graph.variable import Variable

pytestmark = pytest.mark.level("ci", "the library takes 8 s to compile; rows of the op tables have its ops")

SIZES = [0, 1, 2, 3, 7, 70]


def symbol(*dims: Any, dtype: str = "float64", name: str = "x") -> Variable:
    return Variable(TensorType(dtype, dims), name=name)


def real_outputs(a: Variable, b: Variable) -> dict[str, Variable]:
    near = at.eye(a.shape[0]) + a / 20
    (t, z), (w, v), (q, r, order) = at.schur(a), at.eig(a), at.qr(b, pivoting=True)
    return {
        "schur": t, "schur_z": z, "eig": w, "eig_v": v, "eigvals": at.eigvals(b), "sqrtm": at.sqrtm(near, "nan"),
        "logm": at.logm(near, "nan"), "sylvester": at.solve_sylvester(near, near, b), "q": q, "r": r, "order": order,
        "lyapunov": at.solve_continuous_lyapunov(near, b), "discrete": at.solve_discrete_lyapunov(near / 3, b),
        "tridiagonal": at.solve(near, b, assume_a="tridiagonal"), "diagonal": at.solve(near, b, assume_a="diagonal"),
    }  # fmt: skip


def complex_outputs(a: Variable, b: Variable) -> dict[str, Variable]:
    near = at.eye(a.shape[0]) + a / 20
    (t, z), (w, v) = at.schur(a), at.eig(a)
    return {
        "schur": t, "schur_z": z, "eig": w, "eig_v": v, "eigvals": at.eigvals(b), "sqrtm": at.sqrtm(near, "nan"),
        "logm": at.logm(near, "nan"), "sylvester": at.solve_sylvester(near, near, b),
        "lyapunov": at.solve_continuous_lyapunov(near, b),
    }  # fmt: skip


FAILURES: dict[str, tuple[Callable[[Variable], Variable], str]] = {
    "sqrtm": (at.sqrtm, "eigenvalue 2 has no root, or none in the right half plane: cast the matrix to complex128"),
    "logm": (at.logm, "eigenvalue 2 has no logarithm, or a complex one: cast the matrix to complex128"),
    "tridiagonal": (lambda a: at.solve(0 * a + 1, a[0], assume_a="tridiagonal"), "singular: pivot 2 is zero"),
    "diagonal": (lambda a: at.solve(a + 1, a[0], assume_a="diagonal"), "singular: entry 2 of its diagonal is zero"),
    "riccati": (lambda a: at.solve_discrete_are(2 * at.eye(2) + 0 * a, 0 * a, at.eye(2), at.eye(2)), "no stabilising"),
}


@pytest.fixture(scope="module")
def functions() -> dict[str, aot.Function]:
    pairs = {
        dtype: [symbol(None, None, dtype=dtype, name=name) for name in "ab"] for dtype in ("float64", "complex128")
    }
    made = {
        "real": aot.function(pairs["float64"], real_outputs(*pairs["float64"]), name="real"),
        "complex": aot.function(pairs["complex128"], complex_outputs(*pairs["complex128"]), name="complex_"),
    }
    a = pairs["float64"][0]
    return made | {key: aot.function([a], build(a), name=key) for key, (build, _) in FAILURES.items()}


@pytest.fixture(scope="module")
def library(functions: dict[str, aot.Function], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return aot.compile(list(functions.values()), tmp_path_factory.mktemp("general"), name="general", opt_level=0).load()


def drawn(rng: np.random.Generator, n: int, kind: str) -> list[Array]:
    found = [rng.normal(size=(n, n)) for _ in range(4)]
    return found[:2] if kind == "real" else [found[0] + 1j * found[1], found[2] + 1j * found[3]]


@pytest.mark.shows("tensor/7-schur")
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("n", SIZES)
def test_all_sizes(
    n: int, kind: str, functions: dict[str, aot.Function], library: Any, rng: np.random.Generator
) -> None:
    f = functions[kind]
    inputs = drawn(rng, n, kind)
    found, expected = library[f.name](*inputs), f.reference(*inputs)
    for key, value in expected.items():
        assert found[key].dtype == value.dtype
        np.testing.assert_allclose(found[key], value, rtol=1e-7, atol=1e-9 * np.abs(value).max(initial=1), err_msg=key)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_what_is_not_finite_gives_nan(kind: str, functions: dict[str, aot.Function], library: Any) -> None:
    bad = np.array([[1.0, np.inf], [np.nan, 2.0]], float if kind == "real" else complex)
    f = functions[kind]
    for call in (library[f.name], f.reference):
        results = call(bad, bad)
        for key in ("schur", "schur_z", "eig", "eig_v", "eigvals", "sqrtm", "logm", "sylvester", "lyapunov"):
            assert np.isnan(results[key]).all(), key


@pytest.mark.parametrize("name", list(FAILURES))
def test_what_fails_is_told(name: str, functions: dict[str, aot.Function], library: Any) -> None:
    for call in (library[name], functions[name].reference):
        with pytest.raises(np.linalg.LinAlgError, match=FAILURES[name][1]):
            call(np.diag([1.0, -1.0]))


def test_values_are_those_of_scipy(rng: np.random.Generator) -> None:
    a, b = drawn(rng, 5, "real")
    q, r = a @ a.T + np.eye(5), b @ b.T + np.eye(5)
    x, y = symbol(5, 5), symbol(5, 5, name="y")
    both = {x: a, y: b}
    np.testing.assert_allclose(
        at.solve_discrete_are(x, y, q, r).eval(both), scipy.linalg.solve_discrete_are(a, b, q, r)
    )
    for method in ("direct", "bilinear"):
        expected = scipy.linalg.solve_discrete_lyapunov(a, b, method=method)
        np.testing.assert_allclose(at.solve_discrete_lyapunov(x, y, method).eval(both), expected, rtol=1e-9)
    w, v = at.eig(x)
    np.testing.assert_allclose((x @ v - v * w).eval(both), 0, atol=1e-12)
    assert at.eig(x)[0].eval(both).tolist() == scipy.linalg.eigvals(a).tolist()
    banded = np.triu(np.tril(a, 1), -1)
    expected = scipy.linalg.solve(banded, b, assume_a="tridiagonal")
    np.testing.assert_allclose(at.solve(x, y, assume_a="tridiagonal").eval(both), expected, rtol=1e-9)


@pytest.mark.shows("tensor/7-schur")
def test_a_schur_form_has_no_derivative() -> None:
    x = symbol(2, 2)
    with pytest.raises(NullTypeGradError, match="its blocks come in an order that may jump"):
        grad(at.schur(x)[0].sum(), x)


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: at.schur(symbol(3)), TypeError, "schur: expected a matrix"),
        (lambda: at.schur(symbol(2, 3)), ValueError, "schur: expected a square matrix, found 2 by 3"),
        (lambda: at.schur(symbol(2, 2), "imag"), ValueError, "schur: output must be one of 'real'"),
        (lambda: at.eig(symbol(2, 3)), ValueError, "eig: expected a square matrix"),
        (lambda: at.eigvals(symbol(2)), TypeError, "eigvals: expected a matrix"),
        (lambda: at.sqrtm(symbol(2, 3)), ValueError, "sqrtm: expected a square matrix"),
        (lambda: at.logm(symbol(2, 2), "ignore"), ValueError, "logm: on_error must be one of 'raise'"),
        (lambda: at.solve_sylvester(symbol(2, 2), symbol(3, 3), symbol(3, 2)), ValueError, "rows of q and of the left"),
        (
            lambda: at.solve_continuous_lyapunov(symbol(2, 2), symbol(3, 3)),
            ValueError,
            "solve_continuous_lyapunov: extents of",
        ),
        (
            lambda: at.solve_discrete_lyapunov(symbol(2, 2), symbol(2, 2), "smith"),
            ValueError,
            "method must be one of None",
        ),
        (
            lambda: at.solve_discrete_are(*[symbol(2, 2)] * 3, symbol(2, 2, dtype="complex128")),
            TypeError,
            "solve_discrete_are: does not accept complex values",
        ),
        (
            lambda: at.solve(symbol(2, 2), symbol(2), assume_a="band"),
            ValueError,
            "solve: assume_a must be one of 'gen'",
        ),
        (lambda: at.qr(symbol(3), pivoting=True), TypeError, "qr: expected a matrix"),
    ],
)
def test_what_is_refused(build: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build()
