"""SUNDIALS: user functions by ctypes on structures of both index types, CVODES and IDAS from C, scikit-sundae."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from needs import path_of
from scipy.integrate import solve_ivp
from sundials_client import Vector, user_data

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError

RATES = np.array([0.04, 1e4, 3e7])
SPECIES = 100
FLOWS = 1.0 + np.arange(SPECIES) % 7
LIBRARIES = (
    "cvodes", "idas", "nvecserial", "sunmatrixsparse", "sunmatrixdense", "sunlinsolklu", "sunlinsoldense",
)  # fmt: skip


def robertson() -> aot.Function:
    """Three species, whose rates differ by nine orders of magnitude.   Source: Robertson (1966)"""
    t, y, k = at.scalar("t"), at.vector("y", shape=(3,)), at.vector("k", shape=(3,))
    first, last = -k[0] * y[0] + k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return aot.function([t, y, k], at.stack([first, -first - last, last]), name="rob", on_unused_input="ignore")


def network() -> aot.Function:
    """Species on a ring, which flow to their neighbour, and fast from the third one behind."""
    t, y, k = at.scalar("t"), at.vector("y", shape=(SPECIES,)), at.vector("k", shape=(SPECIES,))
    flow, fast = k * y * (1 + at.roll(y, -1)), 1e3 * (at.roll(y, 3) - y)
    return aot.function([t, y, k], at.roll(flow, 1) - flow + fast, name="net", on_unused_input="ignore")


def of_robertson(t: float, y: np.ndarray, k: np.ndarray) -> np.ndarray:
    first, last = -k[0] * y[0] + k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return np.array([first, -first - last, last])


def of_network(t: float, y: np.ndarray, k: np.ndarray) -> np.ndarray:
    flow = k * y * (1 + np.roll(y, -1))
    return np.asarray(np.roll(flow, 1) - flow + 1e3 * (np.roll(y, 3) - y))


def slopes_of_robertson(y: np.ndarray, k: np.ndarray) -> np.ndarray:
    first, last = np.array([-k[0], k[1] * y[2], k[1] * y[1]]), np.array([0, 2 * k[2] * y[1], 0])
    return np.array([first, -first - last, last])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> aot.driver.artifact.Artifact:
    folder = tmp_path_factory.mktemp("sundials")
    return aot.compile([robertson(), network()], folder, abi="sundials", name="stiff", opt_level=0)


class Matrix:
    """A sparse or dense SUNMatrix with indices of 32 or 64 bits."""

    def __init__(self, n: int, room: int, wide: bool, form: int | None) -> None:
        index = np.int64 if wide else np.int32
        self.n, self.form = n, form
        self.data = np.full(room, 7.0)
        self.indices, self.indptr = np.zeros(room, index), np.zeros(n + 1, index)
        sizes = np.array([n, n, room, n] if form is not None else [n, n], index).tobytes()
        pointers = [self.data.ctypes.data, form or 0, self.indices.ctypes.data, self.indptr.ctypes.data]
        self.content = sizes + np.array(pointers, np.int64).tobytes()
        self.buffer = ctypes.create_string_buffer(self.content)
        self.fields = (ctypes.c_void_p * 2)(ctypes.addressof(self.buffer), None)
        self.address = ctypes.c_void_p(ctypes.addressof(self.fields))

    def toarray(self) -> np.ndarray:
        if self.form is None:
            return self.data.reshape(self.n, self.n).T
        kind = scipy.sparse.csr_matrix if self.form else scipy.sparse.csc_matrix
        return np.asarray(kind((self.data, self.indices, self.indptr), (self.n, self.n)).toarray())


Y = np.array([0.9, 2e-5, 0.1])
T = ctypes.c_double(0.5)


def test_vectors(made: aot.driver.artifact.Artifact) -> None:
    lib, y, data = ctypes.CDLL(str(made.library)), Vector(Y), user_data(RATES)
    out, w = Vector(np.zeros(3)), np.array([1.0, -2.0, 0.5])
    given, slopes = Vector(w), slopes_of_robertson(Y, RATES)
    assert lib.rob_cv_rhs(T, y.address, out.address, data) == 0
    np.testing.assert_allclose(out.data, of_robertson(0, Y, RATES), rtol=1e-12)
    assert lib.rob_cv_jtimes(given.address, out.address, T, y.address, None, data, None) == 0
    np.testing.assert_allclose(out.data, slopes @ w, rtol=1e-12)
    assert lib.rob_cv_rhs_b(T, y.address, given.address, out.address, data) == 0
    np.testing.assert_allclose(out.data, -slopes.T @ w, rtol=1e-12)
    by_rates = np.array([[-Y[0], Y[1] * Y[2], 0], [Y[0], -Y[1] * Y[2], -(Y[1] ** 2)], [0, 0, Y[1] ** 2]])
    assert lib.rob_cv_quad_rhs_b(T, y.address, given.address, out.address, data) == 0
    np.testing.assert_allclose(out.data, by_rates.T @ w, rtol=1e-12)
    moved = [Vector(np.zeros(3)) for _ in range(2)]
    inputs, outputs = ((ctypes.c_void_p * 2)(*(v.address for v in x)) for x in ([given, given], moved))
    assert lib.rob_cv_sens_rhs(2, T, y.address, None, inputs, outputs, data, None, None) == 0
    for i, vector in enumerate(moved):
        np.testing.assert_allclose(vector.data, slopes @ w + by_rates[:, i], rtol=1e-12)
    cj = ctypes.c_double(3.0)
    assert lib.rob_ida_res(T, y.address, given.address, out.address, data) == 0
    np.testing.assert_allclose(out.data, w - of_robertson(0, Y, RATES), rtol=1e-12)
    assert lib.rob_ida_jtimes(T, y.address, None, None, given.address, out.address, cj, data, None, None) == 0
    np.testing.assert_allclose(out.data, 3 * w - slopes @ w, rtol=1e-12)


@pytest.mark.parametrize("form", [0, 1, None], ids=["csc", "csr", "dense"])
@pytest.mark.parametrize("wide", [True, False], ids=["int64", "int32"])
def test_matrices(made: aot.driver.artifact.Artifact, wide: bool, form: int | None) -> None:
    lib, y, data = ctypes.CDLL(str(made.library)), Vector(Y), user_data(RATES)
    room, suffix = (9, "_dense") if form is None else (8, "")
    slopes = slopes_of_robertson(Y, RATES)
    matrix, none = Matrix(3, room, wide, form), [None] * 3
    assert getattr(lib, f"rob_cv_jac{suffix}")(T, y.address, None, matrix.address, data, *none) == 0
    np.testing.assert_allclose(matrix.toarray(), slopes, rtol=1e-12)
    assert getattr(lib, f"rob_cv_jac_b{suffix}")(T, y.address, None, None, matrix.address, data, *none) == 0
    np.testing.assert_allclose(matrix.toarray(), -slopes.T, rtol=1e-12)
    cj = ctypes.c_double(3.0)
    assert getattr(lib, f"rob_ida_jac{suffix}")(T, cj, y.address, None, None, matrix.address, data, *none) == 0
    np.testing.assert_allclose(matrix.toarray(), 3 * np.eye(3) - slopes, rtol=1e-12)


def test_wrong_calls(made: aot.driver.artifact.Artifact) -> None:
    lib, y, data = ctypes.CDLL(str(made.library)), Vector(Y), user_data(RATES)
    out, none = Vector(np.zeros(3)), [None] * 3
    assert lib.rob_cv_rhs(T, y.address, out.address, None) == -1
    assert lib.rob_cv_rhs(T, y.address, None, data) == -1
    assert lib.rob_cv_rhs(T, Vector(np.array([np.nan, 0, 0])).address, out.address, data) == 1
    for wrong in (Matrix(3, 7, True, 0), Matrix(4, 20, True, 0), Matrix(4, 20, False, 1)):
        assert lib.rob_cv_jac(T, y.address, None, wrong.address, data, *none) == -1
    assert lib.rob_cv_jac_dense(T, y.address, None, Matrix(2, 4, False, None).address, data, *none) == -1
    assert lib.rob_cv_sens_rhs(4, T, y.address, None, None, None, data, None, None) == -1


def test_null_pointers(made: aot.driver.artifact.Artifact) -> None:
    """Each of the pointers that a callback reads, alone."""
    lib, y, v, data = ctypes.CDLL(str(made.library)), Vector(Y), Vector(np.ones(3)), user_data(RATES)
    out, none, cj, sparse = Vector(np.zeros(3)), [None] * 3, ctypes.c_double(3.0), Matrix(3, 20, True, 0)
    nothing, dense = (ctypes.c_void_p * 6)(), Matrix(3, 9, True, None)
    fields = (ctypes.c_void_p * 2)(None, ctypes.addressof(nothing))  # a vector whose elements are elsewhere
    away = ctypes.c_void_p(ctypes.addressof(fields))
    y_, v_, out_, matrix = y.address, v.address, out.address, sparse.address
    several, targets = (ctypes.c_void_p * 2)(v_, v_), (ctypes.c_void_p * 2)(out_, out_)
    calls = {
        "cv_rhs": (T, y_, out_, data), "cv_jtimes": (v_, out_, T, y_, None, data, None),
        "cv_rhs_b": (T, y_, v_, out_, data), "cv_quad_rhs_b": (T, y_, v_, out_, data),
        "ida_res": (T, y_, v_, out_, data), "ida_jtimes": (T, y_, None, None, v_, out_, cj, data, None, None),
        "cv_jac": (T, y_, None, matrix, data, *none), "ida_jac": (T, cj, y_, None, None, matrix, data, *none),
        "cv_jac_b": (T, y_, None, None, matrix, data, *none),
        "cv_jac_dense": (T, y_, None, dense.address, data, *none),
        "cv_sens_rhs": (2, T, y_, None, several, targets, data, None, None),
    }  # fmt: skip
    for name, given in calls.items():
        entry = getattr(lib, f"rob_{name}")
        assert entry(*given) == 0, name
        for k, one in enumerate(given):
            if isinstance(one, ctypes.c_double | int) or one is None:
                continue
            assert entry(*given[:k], None, *given[k + 1 :]) == -1, (name, k)
            if one in (y_, v_, out_):
                assert entry(*given[:k], away, *given[k + 1 :]) == -1, (name, k)


X, S, A = at.vector("x", shape=(2,)), at.scalar("s"), sp.csr_matrix("A", shape=(2, 2))
REFUSED: list[tuple[Callable[[], aot.Function], type[AotensorError], str]] = [
    (lambda: aot.function([X], X * 2, name="f"), GraphTypeError, "f has 1 inputs and 1 outputs, but a right-hand side"),
    (
        lambda: aot.function([X, S], X * S, name="f"),
        GraphTypeError,
        r"not a right-hand side f\(t, y, \*p\): x is float64",
    ),
    (
        lambda: aot.function([S, X], X[:1] * S, name="f"),
        GraphTypeError,
        r"not a right-hand side .* out is float64\[1\]",
    ),
    (lambda: dynamic(), GraphTypeError, r"z of f is float64\[n\], not a dense float64 array of static shape"),
    (
        lambda: aot.function([S, X, A], S * (A @ X), name="f"),
        GraphTypeError,
        "A of f is csr .*, not a dense float64 array",
    ),
    (lambda: aot.function([S, X], X * S * aot.shared(2.0, "c"), name="f"), GraphValueError, "shared variables, c"),
]


def dynamic() -> aot.Function:
    z = at.vector("z", shape=("n",))
    return aot.function([S, z], S * z, name="f")


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_is_refused(
    make: Callable[[], aot.Function], error: type[AotensorError], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        aot.compile(make(), tmp_path, abi="sundials", opt_level=0)


def test_without_parameters(tmp_path: Path) -> None:
    f = aot.function([S, X], at.stack([X[1], S - X[0]]), name="swing")
    lib = ctypes.CDLL(str(aot.compile(f, tmp_path, abi="sundials", opt_level=0).library))
    out = Vector(np.zeros(2))
    assert lib.swing_cv_rhs(ctypes.c_double(2.0), Vector(np.array([0.5, 3.0])).address, out.address, None) == 0
    assert np.array_equal(out.data, [3.0, 1.5]) and not hasattr(lib, "swing_cv_sens_rhs")


@pytest.mark.needs("sundials")
@pytest.mark.unlimited("the one test of SUNDIALS' own solvers", "ci")
def test_cvodes_and_idas_of_debian(made: aot.driver.artifact.Artifact, tmp_path: Path) -> None:
    source = Path(__file__).with_name("stiff_client.c")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-isystem", "/usr/include/suitesparse"]
    linked = [str(made.library), *(f"-lsundials_{name}" for name in LIBRARIES), "-lm"]
    folder = made.library.parent
    command = [path_of("cc"), *flags, str(source), f"-I{folder}", *linked, f"-Wl,-rpath,{folder}", "-o", "client"]
    subprocess.run(command, check=True, cwd=tmp_path)
    lines = subprocess.run(["./client"], check=True, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    found = [(line[0], np.array(line.split()[1:], float)) for line in lines]
    values = dict(found)

    def at_end(rates: np.ndarray) -> np.ndarray:
        solved = solve_ivp(of_robertson, (0, 40), [1, 0, 0], "Radau", args=(rates,), rtol=1e-10, atol=1e-14)
        return np.asarray(solved.y[:, -1])

    for name in "yi":
        np.testing.assert_allclose(values[name], at_end(RATES), rtol=2e-7)
    for i, sensitivity in enumerate(x for name, x in found if name == "s"):
        step = 1e-3 * RATES[i] * np.eye(3)[i]
        expected = (at_end(RATES + step) - at_end(RATES - step)) / (2 * step[i])
        np.testing.assert_allclose(sensitivity, expected, rtol=1e-4)

    def ring(rates: np.ndarray) -> np.ndarray:
        start = np.eye(SPECIES)[0]
        solved = solve_ivp(of_network, (0, 2), start, "LSODA", args=(rates,), rtol=1e-11, atol=1e-14)
        return np.asarray(solved.y[:, -1])

    np.testing.assert_allclose(values["n"], ring(FLOWS), atol=1e-9)
    for i in (0, 5, 40):
        step = 1e-3 * np.eye(SPECIES)[i]
        expected = (ring(FLOWS + step) - ring(FLOWS - step))[5] / 2e-3
        np.testing.assert_allclose(-values["q"][i], expected, rtol=1e-3)


@pytest.mark.needs("sundials", "c++")
def test_the_header_fits_the_types_of_cvodes(made: aot.driver.artifact.Artifact, tmp_path: Path) -> None:
    kinds = {"rhs": "CVRhsFn", "jac": "CVLsJacFn", "jac_dense": "CVLsJacFn", "jtimes": "CVLsJacTimesVecFn"}
    kinds |= {"rhs_b": "CVRhsFnB", "jac_b": "CVLsJacFnB", "quad_rhs_b": "CVQuadRhsFnB", "sens_rhs": "CVSensRhsFn"}
    lines = ["#include <cvodes/cvodes.h>", "#include <idas/idas.h>", '#include "stiff.h"']
    lines += [f"{kind} cv_{name} = rob_cv_{name};" for name, kind in kinds.items()]
    others = {"res": "IDAResFn", "jac": "IDALsJacFn", "jac_dense": "IDALsJacFn", "jtimes": "IDALsJacTimesVecFn"}
    lines += [f"{kind} ida_{name} = rob_ida_{name};" for name, kind in others.items()]
    (tmp_path / "types.cpp").write_text("\n".join(lines) + "\n")
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{made.library.parent}"]
    done = subprocess.run([path_of("c++"), *flags, "types.cpp"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("scikit-sundae")
def test_scikit_sundae_takes_the_functions(made: aot.driver.artifact.Artifact) -> None:
    cvode, lib = pytest.importorskip("sksundae.cvode"), made.load()

    def rhs(t: float, y: np.ndarray, yp: np.ndarray) -> None:
        yp[:] = lib.rob(t, y, RATES)

    def jacobian(t: float, y: np.ndarray, yp: np.ndarray, J: np.ndarray) -> None:
        for j, unit in enumerate(np.eye(3)):
            J[:, j] = lib.rob_product(t, y, RATES, unit)

    solver = cvode.CVODE(rhs, jacfn=jacobian, rtol=1e-9, atol=1e-13)
    found = solver.solve(np.array([0.0, 40.0]), np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(found.y[-1], [0.7158270688, 9.185534764e-6, 0.2841637457], rtol=1e-6)
