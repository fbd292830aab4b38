"""Sparse inputs and outputs in CasADi's convention: by ctypes, and inside of CasADi with its own graphs."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError

pytestmark = pytest.mark.level("ci", "its library takes 4 s to compile; test_casadi.py has dense ones")

N = 6
P = ss.csr_matrix(ss.diags_array([np.ones(N - 2), np.ones(N), np.ones(N - 1)], offsets=[-2, 0, 1], shape=(N, N)))
NONE = ss.csr_matrix((N, N))


def network() -> aot.Function:
    """Fluxes of a nonlinear network, whose weights are a CSR matrix; a CSC output; one that stores nothing."""
    W, K, Z = sp.csr_matrix("W", shape=(N, N)), sp.csc_matrix("K", shape=(N, N)), sp.csr_matrix("Z", shape=(N, N))
    x = at.vector("x", shape=(N,))
    fluxes = at.tanh(sp.structured_dot(W, x[:, None])[:, 0]) + sp.structured_dot(Z, x[:, None])[:, 0]
    inputs = [aot.In(W, pattern=P), x, aot.In(K, pattern=P.T), aot.In(Z, pattern=NONE)]
    return aot.function(inputs, {"y": fluxes, "S": W.T * 2 + K * K, "none": Z * 2}, name="network")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return aot.compile(network(), tmp_path_factory.mktemp("casadi_sparse"), abi="casadi", opt_level=0).library


@pytest.mark.unlimited("the library is made for the other tests, too", "ci")
def test_values_are_passed_by_columns(library: Path) -> None:
    lib = ctypes.CDLL(str(library))
    lib.network_sparsity_in.restype = ctypes.POINTER(ctypes.c_longlong)
    by_columns = P.tocsc()
    by_columns.sort_indices()
    wanted = [N, N, *by_columns.indptr, *by_columns.indices]
    assert lib.network_sparsity_in(ctypes.c_longlong(0))[: len(wanted)] == wanted
    rng = np.random.default_rng(0)
    W, x, K = rng.normal(size=P.nnz), rng.normal(size=N), rng.normal(size=P.nnz)
    y, S = np.zeros(N), np.zeros(P.nnz)
    given = (ctypes.c_void_p * 4)(W.ctypes.data, x.ctypes.data, K.ctypes.data, None)
    assert lib.network(given, (ctypes.c_void_p * 3)(y.ctypes.data, S.ctypes.data, None), None, None, 0) == 0
    weights = ss.csc_matrix((W, by_columns.indices, by_columns.indptr)).toarray()
    transposed = P.T.tocsc()
    transposed.sort_indices()
    both = ss.csc_matrix((K, transposed.indices, transposed.indptr)).toarray() ** 2 + 2 * weights.T
    np.testing.assert_allclose(y, np.tanh(weights @ x), rtol=1e-14)
    np.testing.assert_allclose(S, both.T[P.toarray() != 0], rtol=1e-14)


def test_patterns_that_casadi_would_miss(tmp_path: Path) -> None:
    A, B = sp.csr_matrix("A", shape=(2, 2)), sp.csr_matrix("B", shape=("n", 2))
    blocks = sp.bsr_matrix("C", shape=(4, 4), blocksize=(2, 2))
    x = at.matrix("x", shape=(2, 2))
    for f, message in (
        (aot.function([A], A * 2, name="f"), "A of f is csr .* CasADi needs the patterns of inputs before a call"),
        (aot.function([B], B * 2, name="f"), "B of f is csr .*, not a float64 matrix of static shape"),
        (aot.function([blocks], blocks * 2, name="f"), "C of f is bsr .*, not a float64 matrix of static shape"),
        (aot.function([x], sp.csr_from_dense(x), name="f"), "the pattern of out, an output of f, depends on x"),
    ):
        with pytest.raises(GraphTypeError, match=f"abi casadi: {message}"):
            aot.compile(f, tmp_path, abi="casadi")


@pytest.fixture
def ca() -> Iterator[Any]:
    casadi = pytest.importorskip("casadi", reason="no CasADi: pip install casadi")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield casadi


def native(ca: Any) -> Any:
    sparsity = ca.DM(P.tocsc()).sparsity()
    W, x, K = ca.MX.sym("W", sparsity), ca.MX.sym("x", N), ca.MX.sym("K", sparsity.T)
    Z = ca.MX.sym("Z", ca.Sparsity(N, N))
    return ca.Function("own", [W, x, K, Z], [ca.tanh(W @ x) + Z @ x, W.T * 2 + K * K, Z * 2])


@pytest.mark.needs("casadi")
def test_derivatives_and_patterns_are_casadis(ca: Any, library: Path) -> None:
    f, own = ca.external("network", str(library)), native(ca)
    rng = np.random.default_rng(1)

    def drawn(count: int, sparsity: Any) -> list[Any]:
        return [ca.DM(sparsity(k), rng.normal(size=sparsity(k).nnz())) for k in range(count)]

    point, tangent, cotangent = drawn(4, own.sparsity_in), drawn(4, own.sparsity_in), drawn(3, own.sparsity_out)
    nominal = [0, 0, 0]
    for ours, theirs, given in (
        (f, own, point),
        (f.jacobian(), own.jacobian(), [*point, *nominal]),
        (f.forward(1), own.forward(1), [*point, *nominal, *tangent]),
        (f.reverse(1), own.reverse(1), [*point, *nominal, *cotangent]),
        (f.reverse(1).jacobian(), own.reverse(1).jacobian(), [*point, *nominal, *cotangent, 0, 0, 0, 0]),
    ):
        for x, y in zip(ours(*given), theirs(*given), strict=True):
            assert x.nnz() <= y.nnz()
            np.testing.assert_allclose(ca.DM(x).full(), ca.DM(y).full(), rtol=1e-12, atol=1e-12)


@pytest.mark.needs("casadi")
def test_ipopt_with_a_sparse_input(ca: Any, library: Path) -> None:
    """Weights of a network are found from its fluxes: the sparse matrix is what the solver changes."""
    f, own = ca.external("network", str(library)), native(ca)
    rng = np.random.default_rng(2)
    true, x = rng.uniform(0.5, 1, P.nnz), rng.normal(size=(3, N))
    found = []
    for g in (f, own):
        w = ca.MX.sym("w", P.nnz)
        W = ca.MX(own.sparsity_in(0), w)
        target = [own(ca.DM(own.sparsity_in(0), true), row, 0, 0)[0] for row in x]
        residuals = ca.vertcat(*(g(W, row, 0, 0)[0] - y for row, y in zip(x, target, strict=True)))
        options = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": 0}
        solver = ca.nlpsol("s", "ipopt", {"x": w, "f": ca.sumsqr(residuals) + 1e-4 * ca.sumsqr(w)}, options)
        solution = solver(x0=0.1)
        assert solver.stats()["success"]
        found.append((solver.stats()["iter_count"], solution["x"].full()))
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-8)
