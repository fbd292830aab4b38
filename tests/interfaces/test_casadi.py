"""CasADi's convention: by ctypes, and inside of CasADi beside its own graphs."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from casadi_client import iterates

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import undefined_grad
from aotensor.verification.compilation import check_symbols
from aotensor_runtime import load
from aotensor_runtime.container import Container

HORIZON = 8
STATES = 2 * (HORIZON + 1)


def matrices(layout: str = "C") -> aot.Function:
    A, v, s = at.matrix("A", shape=(2, 3)), at.vector("v", shape=(3,)), at.scalar("s")
    outputs = {"y": A @ v * s, "T": aot.Out(at.tanh(A.T), layout=layout)}
    return aot.function([aot.In(A, layout=layout), v, s], outputs, name="mats")


def control() -> aot.Function:
    """A pendulum that is to be brought to rest: all states, then all torques; cost and defects of the dynamics."""
    w, start = at.vector("w", shape=(STATES + HORIZON,)), at.vector("start", shape=(2,))
    x, u = w[:STATES].reshape((HORIZON + 1, 2)), w[STATES:]
    cost = (x**2).sum() + 0.1 * (u**2).sum() + 10.0 * (x[-1] ** 2).sum()
    angle = x[:-1, 0] + 0.1 * x[:-1, 1]
    speed = x[:-1, 1] + 0.1 * (9.81 * at.sin(x[:-1, 0]) + u - 0.1 * x[:-1, 1])
    defects = at.concatenate([x[0] - start, x[1:, 0] - angle, x[1:, 1] - speed])
    return aot.function([w, start], {"cost": cost, "g": defects}, name="nmpc")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = aot.compile([matrices(), control()], tmp_path_factory.mktemp("casadi"), abi="casadi", opt_level=1)
    return made.library


def call(lib: Any, name: str, inputs: list[np.ndarray | None], outputs: list[np.ndarray | None]) -> int:
    given, wanted = (
        (ctypes.c_void_p * len(x))(*(y if y is None else y.ctypes.data for y in x)) for x in (inputs, outputs)
    )
    return int(getattr(lib, name)(given, wanted, None, None, 0))


@pytest.fixture(scope="session")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return aot.compile(matrices("F"), tmp_path_factory.mktemp("columns"), abi="casadi", opt_level=0).library


@pytest.mark.parametrize("layout", ["library", "columns"])
def test_arguments_are_column_major_and_may_be_null(layout: str, request: pytest.FixtureRequest) -> None:
    lib = ctypes.CDLL(str(request.getfixturevalue(layout)))
    A, v, s = np.arange(6.0).reshape(2, 3), np.array([1.0, -1.0, 2.0]), np.array([0.5])
    y, T = np.zeros(2), np.zeros(6)
    assert call(lib, "mats", [A.ravel(order="F"), v, s], [y, T]) == 0
    np.testing.assert_allclose(y, A @ v * 0.5, rtol=1e-15)
    np.testing.assert_allclose(T.reshape(3, 2, order="F"), np.tanh(A.T), rtol=1e-15)
    assert call(lib, "mats", [A.ravel(order="F"), None, s], [y, None]) == 0
    assert np.array_equal(y, [0.0, 0.0])
    given = (ctypes.c_void_p * 3)()
    assert lib.mats(None, given, None, None, 0) == 1 and lib.mats(given, None, None, None, 0) == 1
    assert lib.mats(given, given, None, None, 0) == 0


@pytest.mark.unlimited("the library is made for the other tests, too", "ci")
def test_symbols_and_patterns(library: Path) -> None:
    lib = ctypes.CDLL(str(library))
    lib.mats_sparsity_in.restype = lib.jac_mats_sparsity_out.restype = ctypes.POINTER(ctypes.c_longlong)
    lib.mats_name_out.restype = ctypes.c_char_p
    k = ctypes.c_longlong
    assert lib.mats_sparsity_in(k(0))[:11] == [2, 3, 0, 2, 4, 6, 0, 1, 0, 1, 0]
    # dy/dA: entry A[i, j] in column i + 2j touches y[i] alone
    assert lib.jac_mats_sparsity_out(k(0))[:15] == [2, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1, 0, 1, 0, 1]
    assert lib.mats_name_out(k(1)) == b"T"
    assert not lib.mats_sparsity_in(k(3)) and not lib.mats_sparsity_in(k(-(1 << 40)))
    sizes = (k * 4)(*[9] * 4)
    assert lib.mats_work(*(ctypes.byref(sizes, 8 * i) for i in range(4))) == 0
    assert list(sizes) == [3, 2, 0, 0]
    data = library.read_bytes()
    assert "exported" in check_symbols(data, Container(data).manifest())


def test_our_own_entries_have_other_names(library: Path) -> None:
    lib = load(library)
    assert lib.manifest.interfaces[0].functions == ("mats", "nmpc")
    header = library.with_name("mats.h").read_text()
    assert "int32_t mats_typed(" in header and "int32_t mats_call(" in header
    y, T = lib.mats(np.ones((2, 3)), np.ones(3), 2.0).values()
    assert np.array_equal(y, [6.0, 6.0]) and T.shape == (3, 2)


def test_a_column_major_function_is_called_itself(library: Path, columns: Path) -> None:
    names = [{spec.name for spec in load(path).manifest.functions} for path in (library, columns)]
    assert "mats_flat" in names[0] and "mats_flat" not in names[1] and "nmpc_flat" not in names[0]


def test_functions_that_casadi_cannot_call(tmp_path: Path) -> None:
    x, n = at.vector("x", shape=("n",)), at.vector("k", dtype="int32", shape=(2,))
    for inputs, name in (([x], "x"), ([n], "k")):
        with pytest.raises(GraphTypeError, match=f"abi casadi: {name} of f is .* not a float64 matrix of static shape"):
            aot.compile(aot.function(inputs, inputs[0] * 2, name="f"), tmp_path, abi="casadi")
    y = at.vector("y", shape=(2,))
    f, g = aot.function([y], y * 2, name="f"), aot.function([y], y * 2, name="f_work")
    with pytest.raises(GraphValueError, match="the interface casadi exports 'f_work'"):
        aot.compile([f, g], tmp_path, abi="casadi")


def test_a_derivative_that_is_not_there_is_not_exported(tmp_path: Path) -> None:
    y, z = at.vector("y", shape=(2,)), at.vector("z", shape=(2,))
    once = aot.OpFromGraph([z], [z**3], lop_overrides=lambda given, _, g: [g[0] * undefined_grad(3 * given[0] ** 2)])
    lib = ctypes.CDLL(
        str(aot.compile(aot.function([y], once(y), name="f"), tmp_path, abi="casadi", opt_level=0).library)
    )
    assert hasattr(lib, "adj1_f") and not hasattr(lib, "jac_adj1_f")


@pytest.fixture
def ca() -> Iterator[Any]:
    casadi = pytest.importorskip("casadi", reason="no CasADi: pip install casadi")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield casadi


def native(ca: Any) -> Any:
    w, start = ca.SX.sym("w", STATES + HORIZON), ca.SX.sym("start", 2)
    x, u = ca.reshape(w[:STATES], 2, HORIZON + 1), w[STATES:]
    cost = ca.sumsqr(x) + 0.1 * ca.sumsqr(u) + 10 * ca.sumsqr(x[:, -1])
    angle = x[0, :-1] + 0.1 * x[1, :-1]
    speed = x[1, :-1] + 0.1 * (9.81 * ca.sin(x[0, :-1]) + u.T - 0.1 * x[1, :-1])
    defects = ca.vertcat(x[:, 0] - start, (x[0, 1:] - angle).T, (x[1, 1:] - speed).T)
    return ca.Function("own", [w, start], [cost, defects], ["w", "start"], ["cost", "g"])


@pytest.mark.needs("casadi")
def test_derivatives_and_patterns_are_casadis(ca: Any, library: Path) -> None:
    f, own = ca.external("nmpc", str(library)), native(ca)
    rng = np.random.default_rng(1)
    point = [rng.normal(size=STATES + HORIZON), rng.normal(size=2), 0, 0]
    adjoint, tangent = [1.5, rng.normal(size=STATES)], [rng.normal(size=STATES + HORIZON), rng.normal(size=2)]
    for ours, theirs, given in (
        (f.jacobian(), own.jacobian(), point),
        (f.forward(1), own.forward(1), [*point, *tangent]),
        (f.reverse(1), own.reverse(1), [*point, *adjoint]),
        (f.reverse(1).jacobian(), own.reverse(1).jacobian(), [*point, *adjoint, 0, 0]),
    ):
        for x, y in zip(ours(*given), theirs(*given), strict=True):
            assert x.nnz() <= y.nnz()
            np.testing.assert_allclose(ca.DM(x).full(), ca.DM(y).full(), rtol=1e-12, atol=1e-12)


@pytest.mark.needs("casadi")
def test_ipopt_takes_the_same_iterates(ca: Any, library: Path) -> None:
    found = [iterates(ca, f, [1.0, 0.0], HORIZON) for f in (native(ca), ca.external("nmpc", str(library)))]
    assert len(found[0]) == len(found[1]) > 4
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-8)
