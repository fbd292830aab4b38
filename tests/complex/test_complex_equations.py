"""Sparse equations of complex numbers, by every method, against dense ones of NumPy; derivatives by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import Rop, grad

N = 7


def drawn(*shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def matrix(format: str, n: int = N) -> Any:
    """A regular matrix with entries on both sides of its diagonal, unsorted in its slices."""
    rng = np.random.default_rng(3)
    mask = (rng.random((n, n)) < 0.35) | np.eye(n, dtype=bool)
    found = ss.csr_matrix(drawn(n, n) * mask + np.diag(3 + 1j * rng.normal(size=n))).asformat(format)
    for k in range(n):
        part = slice(found.indptr[k], found.indptr[k + 1])
        found.indices[part], found.data[part] = found.indices[part][::-1].copy(), found.data[part][::-1].copy()
    found.has_sorted_indices = False
    return found


def solutions(A: Any, R: Any, z: Any, Z: Any) -> dict[str, Any]:
    return {
        "direct": sp.spsolve(A, z),
        "columns": sp.solve(A, Z, "direct"),
        "iterations": sp.solve(A, Z, "bicgstab", tol=1e-13, x0=Z * 2j),
        "real": sp.spsolve(R, z),
        "lower": sp.solve_triangular(A, z, lower=True),
        "upper": sp.solve_triangular(A, Z),
        "transposed": sp.solve_triangular(A, Z, trans=1),
        "adjoint": sp.solve_triangular(A, z, trans="C", lower=True),
        "unit": sp.solve_triangular(A, z, trans=1, unit_diagonal=True),
        "real_lower": sp.solve_triangular(R, Z, lower=True),
    }


def wanted(a: Any, r: Any, z: Any, Z: Any) -> dict[str, Any]:
    solve = np.linalg.solve
    lower, upper, unit = np.tril(a), np.triu(a), np.triu(a, 1) + np.eye(len(a))
    return {
        "direct": solve(a, z), "columns": solve(a, Z), "iterations": solve(a, Z), "real": solve(r, z),
        "lower": solve(lower, z),
        "upper": solve(upper, Z), "transposed": solve(upper.T, Z), "adjoint": solve(lower.conj().T, z),
        "unit": solve(unit.T, z), "real_lower": solve(np.tril(r), Z),
    }  # fmt: skip


@pytest.mark.shows("sparse/15-complex")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_solutions_are_those_of_dense_matrices(format: str) -> None:
    A, R = sp.matrix(format, "A", "complex128", ("n", "n")), sp.matrix(format, "R", "float64", ("n", "n"))
    z, Z = at.zvector("z", shape=("n",)), at.zmatrix("Z", shape=("n", "k"))
    f = aot.function([A, R, z, Z], solutions(A, R, z, Z), name="equations")
    a, given = matrix(format), (drawn(N, seed=1), drawn(N, 3, seed=2))
    right = wanted(a.toarray(), a.real.toarray(), *given)
    for found in (f(a, a.real, *given), f.reference(a, a.real, *given)):
        for key, value in right.items():
            assert found[key].dtype == "complex128"
            np.testing.assert_allclose(found[key], value, rtol=1e-10, atol=1e-11, err_msg=key)


@pytest.mark.shows("sparse/15-complex")
def test_hermitian_matrices_and_single_precision() -> None:
    m = matrix("csr")
    h = (m @ m.conj().T + 2 * ss.identity(N)).tocsc().astype("complex64")
    h.setdiag(h.diagonal().real + 5j)  # the imaginary part of the diagonal is not read by factors
    A, z = sp.csc_matrix("A", dtype="complex64"), at.tensor("z", dtype="complex64", shape=(None,))
    b = drawn(N).astype("complex64")
    found = aot.function([A, z], sp.solve(A, z, "cholesky"), name="factors")(h, b)
    h.setdiag(h.diagonal().real)
    exact = np.linalg.solve(h.toarray(), b)
    assert found.dtype == "complex64"
    np.testing.assert_allclose(found, exact, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(aot.function([A, z], sp.cg(A, z), name="steps")(h, b), exact, rtol=2e-4, atol=2e-4)


@pytest.mark.shows("sparse/15-complex")
def test_derivatives_by_differences() -> None:
    """In the entries of complex and real matrices and in b: both modes, and one mode of the other."""
    a = matrix("csr")
    entries, reals, z = at.zvector("entries"), at.vector("reals"), at.zvector("z", shape=(N,))
    made = [sp.CSR(x, a.indices, a.indptr, np.array(a.shape)) for x in (entries, reals)]
    symbols, point = [entries, reals, z], [a.data, a.data.real, drawn(N, seed=1)]
    along = [drawn(*x.shape, seed=5) if np.iscomplexobj(x) else drawn(*x.shape, seed=5).real for x in point]
    costs = {}
    for key, x in solutions(*made, z, at.stack([z, 2j * z], axis=1)).items():
        if key != "iterations":  # as accurate as its steps
            costs[key] = at.real(x * x * drawn(*x.eval(dict(zip(symbols, point, strict=True))).shape, seed=3)).sum()
    outputs, total = dict(costs), sum(costs[key] for key in ("direct", "transposed", "real"))
    for key, cost in costs.items():
        gradients = grad(cost, symbols, disconnected_inputs="ignore")
        outputs[f"pulled {key}"] = sum(at.real(g * t).sum() for g, t in zip(gradients, along, strict=True))
        outputs[f"pushed {key}"] = Rop(cost, symbols, along)
    pulled = sum(at.real(g * t).sum() for g, t in zip(grad(total, symbols), along, strict=True))
    outputs |= {"pulled total": pulled, "twice": Rop(pulled, symbols, along)}
    f = aot.function(symbols, outputs, name="slopes")
    chosen = [pulled, outputs["twice"]]
    compiled = aot.function(symbols, chosen, name="compiled")(*point)
    at_point = f.reference(*point)
    ahead, behind = (f.reference(*(v + s * 1e-6 * t for v, t in zip(point, along, strict=True))) for s in (1, -1))
    for key in costs:
        difference = (ahead[key] - behind[key]) / 2e-6
        for mode in ("pulled", "pushed"):
            np.testing.assert_allclose(at_point[f"{mode} {key}"], difference, rtol=1e-6, atol=1e-7, err_msg=key)
    second = (ahead["pulled total"] - behind["pulled total"]) / 2e-6
    np.testing.assert_allclose(at_point["twice"], second, rtol=1e-5)
    np.testing.assert_allclose(compiled, [at_point["pulled total"], at_point["twice"]], rtol=1e-9)


@pytest.mark.shows("sparse/15-complex")
@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (lambda A, z: sp.spsolve(A, z), "no pivot in row, counting real and imaginary parts apart, 2"),
        (lambda A, z: sp.solve_triangular(A, z, lower=True), "diagonal element 1 is zero"),
        (lambda A, z: sp.solve(A, z, "cholesky"), "the matrix is not symmetric"),
    ],
)
def test_singular_matrices_are_errors_at_the_call(solve: Any, message: str) -> None:
    A, z = sp.csr_matrix("A", dtype="complex128"), at.zvector("z")
    a = ss.csr_matrix(np.array([[2j, 0, 0], [1, 0, 0], [0, 0, 1]]))
    a = a + ss.csr_matrix((np.zeros(1), ([1], [1])), shape=(3, 3))
    with pytest.raises(np.linalg.LinAlgError, match=message):
        aot.function([A, z], solve(A, z), name="singular")(a, drawn(3))


@pytest.mark.shows("sparse/15-complex")
def test_an_indefinite_hermitian_matrix_is_an_error_at_the_call() -> None:
    A, z = sp.csr_matrix("A", dtype="complex128"), at.zvector("z")
    a = ss.csr_matrix(np.array([[2, 1j, 0], [-1j, -1, 0], [0, 0, 1]]))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        aot.function([A, z], sp.solve(A, z, "cholesky"), name="indefinite")(a, drawn(3))


def test_nothing_to_solve() -> None:
    A, z = sp.csr_matrix("A", dtype="complex128"), at.zvector("z")
    f = aot.function([A, z], [sp.spsolve(A, z), sp.solve_triangular(A, z)], name="nothing")
    assert [x.shape for x in f(ss.csr_matrix((0, 0), dtype="complex128"), np.zeros(0, "complex128"))] == [(0,), (0,)]
