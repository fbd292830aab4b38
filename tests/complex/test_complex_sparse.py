"""Sparse matrices of complex entries: every family of ops in both formats, beside real and complex operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import Rop, grad, verify_grad


def drawn(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """A complex array of normal numbers."""
    pair = np.random.default_rng((seed, *shape)).normal(size=(2, *shape))
    return np.asarray(pair[0] + 1j * pair[1])


def matrix(m: int, n: int, format: str, dtype: str = "complex128", seed: int = 0) -> Any:
    """A SciPy matrix with stored entries of which one is 0, an empty row and an empty column."""
    dense = drawn(m, n, seed=seed)
    stored = np.random.default_rng((seed, m, n)).random((m, n)) < 0.6
    stored[0, 0], stored[1, :], stored[:, 1] = True, False, False
    coo = scipy.sparse.coo_matrix((dense[stored], np.nonzero(stored)), shape=(m, n))
    found = coo.asformat(format)
    found.data[0] = 0
    return found.astype(dtype) if np.dtype(dtype).kind == "c" else found.real.astype(dtype)


def values(A: Any, B: Any, R: Any, z: Any, x: Any, D: Any) -> dict[str, Any]:
    """Programs of complex matrices A, B, a real one R, a complex and a real vector and a complex dense matrix."""
    return {
        "neg": -A,
        "add": sp.add(A, B),
        "add_real": sp.add(A, R),
        "real_add": sp.add(R, A),
        "sub": sp.sub(A, R),
        "add_dense": sp.add(A, D),
        "add_row": sp.add(A, z),
        "real_add_dense": sp.add(R, D),
        "structured_add": sp.structured_add_s_v(A, x),
        "mul": sp.mul(A, B),
        "mul_real": sp.mul(A, R),
        "mul_dense": sp.mul(A, D),
        "mul_vector": sp.mul(R, z),
        "mul_scalar": A * (2 - 1j),
        "real_scalar": R * 2j,
        "div": A / D,
        "div_real": A / (x + 1),
        "rows": sp.row_scale(A, x[:5]),
        "columns": sp.col_scale(R, z),
        "pow": A**3,
        "transposed": A.T,
        "turned": A.tocsc() if A.format == "csr" else A.tocsr(),
        "real": A.real,
        "imag": A.imag,
        "conj": A.conj(),
        "no_imag": R.imag,
        "dense": A.toarray(),
        "sparse": sp.csr_from_dense(at.switch(at.gt(at.abs(D), 1), D, 0)),
        "ccast": sp.ccast(A),
        "zcast": sp.zcast(R),
        "ones": sp.sp_ones_like(A),
        "zeros": sp.sp_zeros_like(A),
        "clean": sp.remove0(A),
        "abs": abs(A),
        "exp": sp.structured_exp(A),
        "sqrt": sp.structured_sqrt(A),
        "tanh": at.tanh(A),
        "sign": sp.sign(A),
        "sum": A.sum(),
        "sums": A.sum(axis=0),
        "row_sums": A.sum(axis=1, keepdims=True),
        "mean": A.mean(axis=1),
        "diag": sp.diag(A),
        "trace": A[:, :5].trace(),
        "diagonal": sp.square_diagonal(z),
        "equal": sp.eq(A, B),
        "differ": sp.neq(A, R),
        "dot": sp.dot(A, z),
        "dot_real": sp.dot(A, x),
        "real_dot": sp.dot(R, z),
        "from_left": sp.dot(x[:5], A),
        "matrix": sp.structured_dot(A, D.T),
        "left_matrix": sp.dot(D.T, A),
        "product": sp.structured_dot(A, B.T),
        "product_real": sp.structured_dot(A, R.T),
        "real_product": sp.structured_dot(R, A.T),
        "true_dot": sp.true_dot(A, D.T),
        "sampled": sp.sampling_dot(D[:, :2], D[:, :2].T[:, :5].T[[0, 1, 2, 3, 4, 0]], A),
        "sampled_real": sp.sampling_dot(D[:, :2].real, D[:, 2:4].real[[0, 1, 2, 3, 4, 0]], A),
        "at_entries": sp.structured_dot_grad(A, D.T, D[:, :5] * 1.0),
        "usmm": sp.usmm(2j, A, D.T, D[:, :5] * 1.0),
        "element": A[0, 0] + A[2, 3],
        "window": A[1:, ::2],
        "gathered": A[[0, 2, 0]],
        "elements": A[[0, 2, 0], [0, 3, 0]],
        "hstack": sp.hstack([A, R], format="csr"),
        "vstack": sp.vstack([R, A]),
        "blocks": sp.block_diag(A, R),
    }


def wanted(A: Any, B: Any, R: Any, z: Any, x: Any, D: Any) -> dict[str, Any]:
    """The same of dense arrays, in NumPy."""
    P = A.tocoo()
    stored = np.zeros(A.shape, bool)
    stored[P.row, P.col] = True
    pattern_r = np.zeros(A.shape, bool)
    pattern_r[R.tocoo().row, R.tocoo().col] = True
    a, b, r = A.toarray(), B.toarray(), R.toarray()
    on = lambda v: np.where(stored, v, 0)  # noqa: E731
    e = D[:, :2][[0, 1, 2, 3, 4, 0]]
    return {
        "neg": -a, "add": a + b, "add_real": a + r, "real_add": r + a, "sub": a - r, "add_dense": a + D,
        "add_row": a + z, "real_add_dense": r + D, "structured_add": on(a + x), "mul": a * b, "mul_real": a * r,
        "mul_dense": a * D, "mul_vector": r * z, "mul_scalar": a * (2 - 1j), "real_scalar": r * 2j, "div": a / D,
        "div_real": a / (x + 1), "rows": a * x[:5, None], "columns": r * z, "pow": a**3, "transposed": a.T,
        "turned": a, "real": a.real, "imag": a.imag, "conj": a.conj(), "no_imag": 0 * r, "dense": a,
        "sparse": np.where(np.abs(D) > 1, D, 0), "ccast": a.astype("complex64"), "zcast": r.astype("complex128"),
        "ones": on(np.ones_like(a)), "zeros": 0 * a, "clean": a, "abs": np.abs(a), "exp": on(np.exp(a)),
        "sqrt": np.sqrt(a), "tanh": np.tanh(a), "sign": np.sign(a), "sum": a.sum(), "sums": a.sum(axis=0),
        "row_sums": a.sum(axis=1, keepdims=True), "mean": a.mean(axis=1), "diag": np.diag(a), "trace": a[:, :5].trace(),
        "diagonal": np.diag(z), "equal": a == b, "differ": a != r, "dot": a @ z, "dot_real": a @ x, "real_dot": r @ z,
        "from_left": x[:5] @ a, "matrix": a @ D.T, "left_matrix": D.T @ a, "product": a @ b.T, "product_real": a @ r.T,
        "real_product": r @ a.T, "true_dot": a @ D.T, "sampled": a * (D[:, :2] @ e.T),
        "sampled_real": a * (D[:, :2].real @ D[:, 2:4].real[[0, 1, 2, 3, 4, 0]].T),
        "at_entries": on(D[:, :5] @ D), "usmm": 2j * (a @ D.T) + D[:, :5],
        "element": a[0, 0] + a[2, 3], "window": a[1:, ::2], "gathered": a[[0, 2, 0]],
        "elements": a[[0, 2, 0], [0, 3, 0]], "hstack": np.hstack([a, r]), "vstack": np.vstack([r, a]),
        "blocks": np.block([[a, np.zeros((5, 6))], [np.zeros((5, 6)), r]]),
    }  # fmt: skip


@pytest.mark.shows("sparse/0-complex")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_every_op_has_the_values_of_the_dense_matrix(format: str) -> None:
    other = {"csr": "csc", "csc": "csr"}[format]
    A = sp.matrix(format, "A", "complex128", ("m", "n"))
    B = sp.matrix(other, "B", "complex128", ("m", "n"))
    R = sp.matrix(format, "R", "float64", ("m", "n"))
    z, x, D = at.zvector("z", shape=("n",)), at.vector("x", shape=("n",)), at.zmatrix("D", shape=("m", "n"))
    f = aot.function([A, B, R, z, x, D], values(A, B, R, z, x, D), name="complex_entries")
    given = matrix(5, 6, format), matrix(5, 6, other, seed=1), matrix(5, 6, format, "float64", seed=2)
    vectors = drawn(6), np.arange(6.0), drawn(5, 6)
    found, reference, right = f(*given, *vectors), f.reference(*given, *vectors), wanted(*given, *vectors)
    for key, value in right.items():
        for who in (found, reference):
            got = who[key].toarray() if scipy.sparse.issparse(who[key]) else who[key]
            dtype = "uint8" if key in ("equal", "differ") else np.asarray(value).dtype.name
            assert got.dtype == dtype, key
            np.testing.assert_allclose(got, value, rtol=1e-12, atol=1e-13, err_msg=key)
            if scipy.sparse.issparse(who[key]):
                assert who[key].nnz == found[key].nnz


PROGRAMS: dict[str, Any] = {
    "dot": lambda A, B, R, z, x, D: sp.dot(A, z),
    "dot_real": lambda A, B, R, z, x, D: sp.dot(A, x),
    "real_dot": lambda A, B, R, z, x, D: sp.dot(R, D.T),
    "product": lambda A, B, R, z, x, D: sp.structured_dot(R, sp.transpose(A * B)),
    "div_real": lambda A, B, R, z, x, D: A / (x + 1),
    "mul_dense": lambda A, B, R, z, x, D: sp.mul(R, D) + B,
    "add": lambda A, B, R, z, x, D: sp.sub(R, A.conj()),
    "parts": lambda A, B, R, z, x, D: A.real + 2 * A.imag,
    "abs": lambda A, B, R, z, x, D: abs(A) * z,
    "exp": lambda A, B, R, z, x, D: sp.structured_exp(A)[1:, ::2],
    "cast": lambda A, B, R, z, x, D: sp.hstack([sp.zcast(R), A, R], format="csr"),
    "sampled": lambda A, B, R, z, x, D: sp.sampling_dot(D[:, :2], D.T[:, :2].real, R),
    "at_entries": lambda A, B, R, z, x, D: sp.structured_dot_grad(R, D.T, D[:, :5] * 1.0),
    "usmm": lambda A, B, R, z, x, D: sp.usmm(x[0], A, D.T, D[:, :5]),
    "scales": lambda A, B, R, z, x, D: sp.row_scale(sp.col_scale(R, z), x[:5]).sum(axis=0),
    "rows": lambda A, B, R, z, x, D: A[[0, 2, 0]].mean(axis=1),
    "diagonal": lambda A, B, R, z, x, D: sp.diag(A[:, :5]) + sp.square_diagonal(z).sum(axis=0)[:5],
}  # fmt: skip


COMPILED = ("dot_real", "real_dot", "product", "mul_dense", "sampled", "cast", "scales")
"""Programs whose derivatives are compiled too: those of the other ones are made of the same."""


@pytest.mark.shows("sparse/0-complex-gradients")
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_derivatives_by_differences_and_their_duals(format: str) -> None:
    other = {"csr": "csc", "csc": "csr"}[format]
    given = matrix(5, 6, format), matrix(5, 6, other, seed=1), matrix(5, 6, format, "float64", seed=2)
    for one in given:
        one.data[0] = 0.5
    a, b, r, z, x = at.zvector("a"), at.zvector("b"), at.vector("r"), at.zvector("z", shape=(6,)), at.vector("x")
    x, D = at.vector("x", shape=(6,)), at.zmatrix("D", shape=(5, 6))
    made = [
        sp.CSM(one.format)(data, one.indices, one.indptr, np.array([5, 6]))
        for one, data in zip(given, (a, b, r), strict=True)
    ]
    symbols = [a, b, r, z, x, D]
    point = [*(one.data for one in given), drawn(6), np.arange(6.0) + 0.5, drawn(5, 6)]
    along = [drawn(*v.shape, seed=9) if np.iscomplexobj(v) else drawn(*v.shape, seed=9).real for v in point]
    costs, slopes = {}, {}
    for key, program in PROGRAMS.items():
        y = program(*made, z, x, D)
        y = sp.dense_from_sparse(y) if y.is_sparse else y
        w = drawn(*y.eval(dict(zip(symbols, point, strict=True))).shape, seed=3)
        costs[key] = at.real(y * y * w).sum()
        gradients = grad(costs[key], symbols, disconnected_inputs="ignore")
        assert [g.dtype for g in gradients] == [v.dtype for v in symbols], key
        pulled = sum(at.real(g * t).sum() for g, t in zip(gradients, along, strict=True))
        slopes[key] = pulled
        slopes[f"{key}, forward"] = Rop(costs[key], symbols, along)
        slopes[f"{key}, twice"] = Rop(pulled, symbols, along)
    outputs = {**costs, **{f"slope of {k}": x for k, x in slopes.items()}}
    f = aot.function(symbols, outputs, name="derivatives")
    compiled = {k: x for k, x in outputs.items() if k.removeprefix("slope of ").split(",")[0] in COMPILED}
    at_point, reference = aot.function(symbols, compiled, name="compiled")(*point), f.reference(*point)
    ahead, behind = (f.reference(*(v + s * 1e-6 * t for v, t in zip(point, along, strict=True))) for s in (1, -1))
    for key in costs:
        difference = (ahead[key] - behind[key]) / 2e-6
        second = (ahead[f"slope of {key}"] - behind[f"slope of {key}"]) / 2e-6
        for name, value in ((key, difference), (f"{key}, forward", difference), (f"{key}, twice", second)):
            for found in (at_point, reference):
                if found is at_point and key not in COMPILED:
                    continue
                np.testing.assert_allclose(found[f"slope of {name}"], value, rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.shows("sparse/0-complex")
def test_matrices_as_they_come() -> None:
    A, z = sp.csc_matrix("A", dtype="complex64"), at.zvector("z")
    f = aot.function([A], [A * 2, A.sum(), A.T], name="as_they_come")
    unordered = scipy.sparse.csc_matrix(
        (drawn(5).astype("complex64"), np.array([2, 0, 2, 1, 1]), np.array([0, 3, 5])), shape=(3, 2)
    )
    kept = unordered.data.copy()
    dense = unordered.toarray()
    given = (unordered, scipy.sparse.csr_array(unordered), unordered.tocoo(), dense, dense.real.astype("float32"))
    for value in (
        *given,
        scipy.sparse.csc_matrix((0, 2), dtype="complex64"),
        scipy.sparse.csc_matrix((3, 0), dtype="f4"),
    ):
        twice, total, turned = f(value)
        plain = value.toarray() if scipy.sparse.issparse(value) else value
        np.testing.assert_allclose(twice.toarray(), 2 * plain, rtol=1e-6)
        np.testing.assert_allclose(total, plain.sum(), rtol=1e-6)
        assert (twice.dtype, turned.format, turned.shape) == ("complex64", "csr", plain.shape[::-1])
    assert np.array_equal(unordered.data, kept)
    with pytest.raises(TypeError, match="complex128"):
        f(unordered.astype("complex128"))
    R = sp.csr_matrix("R", dtype="float64")
    with pytest.raises(TypeError, match="expected float64"):
        aot.function([R], R.sum())(unordered)
    shared, constant = sp.shared(unordered.tocsr(), "S"), sp.constant(unordered)
    g = aot.function([z], [shared.sum(), sp.dot(constant, z)], updates={shared: sp.ccast(shared * 1j)}, name="kept")
    np.testing.assert_allclose(g(drawn(2))[1], dense @ drawn(2), rtol=1e-6)
    np.testing.assert_allclose(g(drawn(2))[0], 1j * dense.sum(), rtol=1e-6)
    assert shared.get_value().dtype == "complex64"


@pytest.mark.shows("sparse/0-complex")
def test_blocks_loops_and_branches() -> None:
    B, Q = sp.bsr_matrix("B", "complex128", ("m", "n"), (2, 2)), sp.csr_matrix("Q", "complex128", ("q", "q"))
    z = at.zvector("z", shape=("q",))
    states = at.scan(lambda s: sp.dot(Q, s), outputs_info=[z], n_steps=3, return_updates=False)
    cost = at.sqr(at.abs(states[-1])).sum()
    chosen = at.ifelse(cost > 0, Q, Q * 2j)
    f = aot.function([B, Q, z], [sp.dot(B, z), B * 2j, B.T, states[-1], grad(cost, z), chosen], name="loops_of_complex")
    b, q, v = scipy.sparse.bsr_matrix(drawn(4, 4), blocksize=(2, 2)), matrix(4, 4, "csr"), drawn(4)
    cube = np.linalg.matrix_power(q.toarray(), 3)
    for found in (f(b, q, v), f.reference(b, q, v)):
        product, twice, turned, last, slope, same = found
        np.testing.assert_allclose(product, b @ v, rtol=1e-12)
        np.testing.assert_allclose(twice.toarray(), 2j * b.toarray(), rtol=1e-12)
        np.testing.assert_allclose(turned.toarray(), b.toarray().T, rtol=1e-12)
        np.testing.assert_allclose(last, cube @ v, rtol=1e-12)
        np.testing.assert_allclose(slope, 2 * cube.T @ (cube @ v).conj(), rtol=1e-12)
        np.testing.assert_allclose(same.toarray(), q.toarray(), rtol=1e-12)
    assert twice.format == "bsr"


def test_gradients_of_products_are_computed_at_the_stored_entries() -> None:
    A, x, Y = sp.csr_matrix("A", "complex128", (41, 37)), at.zvector("x", shape=(37,)), at.zmatrix("Y", shape=(37, 3))
    data = sp.csm_data(A)
    M = sp.CSR(data, *sp.csm_properties(A)[1:])
    cost = at.sqr(at.abs(sp.dot(M, x))).sum() + at.sqr(at.abs(sp.dot(M, Y))).sum()
    f = aot.function([A, x, Y], grad(cost, data), name="sampled")
    a, v, y = matrix(41, 37, "csr"), drawn(37), drawn(37, 3)
    full = 2 * np.outer((a @ v).conj(), v) + 2 * (a @ y).conj() @ y.T
    np.testing.assert_allclose(f(a, v, y), full[a.tocoo().row, a.tocoo().col], rtol=1e-11)
    assert "41x37xf64" not in f.ir("tensor-opt")


def test_a_matrix_of_vectors_that_come_from_another_is_a_result() -> None:
    """Its check is made when the function is flattened, after all else has been taken apart."""
    A, z = sp.csr_matrix("A", dtype="complex64"), at.cvector("z")
    data, *structure = sp.csm_properties(A)
    dense = np.array([[1 + 2j, 0, 3], [0, 0, -1j]], "complex64")
    matrix = scipy.sparse.csr_matrix(dense)
    found = aot.function([A], sp.CSR(at.conj(data) * 2, *structure))(matrix)
    assert np.allclose(found.toarray(), 2 * dense.conj()) and found.dtype == "complex64"
    given = aot.function([A, z], sp.CSR(z, *structure))
    assert np.allclose(given(matrix, matrix.data * 1j).toarray(), dense * 1j)
    with pytest.raises(ValueError, match="data and indices"):
        given(matrix, matrix.data[:2])


@pytest.mark.shows("sparse/0-complex-refused")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda A, z: A.max(), "sparse_max: complex numbers have no order"),
        (lambda A, z: A < A, "less_than_s_s: complex numbers have no order"),
        (lambda A, z: sp.ge(A, 1.0), "greater_equal_s_d: complex numbers have no order"),
        (lambda A, z: sp.structured_minimum(A, 1.0), "structured_minimum: .*have no order"),
        (lambda A, z: sp.ceil(A), "structured_ceil: .*have no order"),
        (lambda A, z: sp.structured_sigmoid(A), "structured_sigmoid: .*does not accept complex values"),
        (lambda A, z: sp.dcast(A), "complex128 to float64 would drop the imaginary parts"),
        (lambda A, z: grad(A.sum(), A), "cost must be real"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make(sp.csr_matrix("A", dtype="complex128"), at.zvector("z"))


def test_verify_grad_takes_complex_data() -> None:
    a = matrix(4, 5, "csr")
    verify_grad(lambda data, x: sp.dot(sp.CSR(data, a.indices, a.indptr, np.array(a.shape)), x), [a.data, drawn(5)])
