"""Matrices in rows of blocks: types, kernels of all sizes, values at the boundary, what goes through csr."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.passes.target import Target
from aotensor.sparse.blocks.product import block_times
from aotensor.sparse.op import Compressed
from aotensor.sparse.rewrites import rewrite_sparse
from aotensor_runtime.abi import DTYPE_CODES, Sparse, Status

RNG = np.random.default_rng(11)


def matrix(rows: int, columns: int, blocksize: tuple[int, int], dtype: str = "float64", seed: int = 0) -> Any:
    """A canonical bsr matrix of so many blocks, about half of them stored."""
    rng = np.random.default_rng(seed)
    stored = rng.random((rows, columns)) < 0.5
    data = (rng.normal(size=(int(stored.sum()), *blocksize)) * 4).astype(dtype)
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))]).astype("int32")
    shape = (rows * blocksize[0], columns * blocksize[1])
    return scipy.sparse.bsr_matrix((data, np.nonzero(stored)[1].astype("int32"), indptr), shape=shape)


M = matrix(4, 3, (2, 3))
DENSE = M.toarray()
PATTERN = scipy.sparse.bsr_matrix((np.ones_like(M.data), M.indices, M.indptr), shape=M.shape).toarray() != 0


@pytest.mark.shows("sparse/1-bsr_matrix", "sparse/1-bsr_dmatrix", "sparse/0-blocks")
def test_types() -> None:
    A = sp.bsr_matrix("A", "float32", ("m", 6), (2, 3))
    assert (str(A.type), A.format, A.blocksize) == ("bsr 2x3 float32[m, 6]", "bsr", (2, 3))
    assert A.type == sp.matrix("bsr", "B", "float32", ("m", 6), blocksize=[2, 3]).type
    assert A.type != sp.bsr_matrix("A", "float32", ("m", 6), (2, 2)).type
    assert sp.bsr_dmatrix("A", blocksize=(2, 2)).dtype == "float64" != sp.bsr_fmatrix("A", blocksize=(2, 2)).dtype
    assert str(A.T.type) == "bsr 3x2 float32[6, m]"
    assert sp.constant(M).type == sp.SparseTensorType("bsr", "float64", (8, 9), blocksize=(2, 3))
    assert sp.csc_matrix("B").blocksize is None
    for wrong in ({"blocksize": None}, {"blocksize": (2,)}, {"blocksize": (0, 1)}, {"blocksize": (4, 4)}):
        with pytest.raises(GraphValueError, match=r"blocksize|multiple"):
            sp.bsr_matrix("A", shape=(6, 6), **wrong)
    with pytest.raises(GraphValueError, match="csr does not accept a blocksize"):
        sp.matrix("csr", blocksize=(2, 2))
    with pytest.raises(GraphValueError, match="extent 9 along axis 1 is not a multiple of 2"):
        sp.constant(M).tobsr((2, 2))
    with pytest.raises(GraphTypeError, match="numbers r and c"):
        sp.BSR(at.tensor3("x"), [0], [0, 1], [2, 2])
    with pytest.raises(GraphValueError, match="index 3"):
        sp.BSR(np.ones((1, 2, 2)), [3], [0, 1], [2, 4]).toarray().eval()


@pytest.mark.shows("sparse/1-filter", "sparse/0-duplicates")
def test_filter() -> None:
    type = sp.SparseTensorType("bsr", "float64", blocksize=(2, 3))
    assert type.filter(M) is M
    for value in (DENSE, DENSE.tolist(), M.tocsr(), M.tocoo(), M.tobsr((4, 1)), scipy.sparse.bsr_array(M)):
        found = type.filter(value)
        assert (found.format, found.blocksize) == ("bsr", (2, 3))
        np.testing.assert_array_equal(found.toarray(), DENSE)
    twice = scipy.sparse.bsr_matrix((np.ones((3, 2, 3)), [1, 0, 1], [0, 3]), shape=(2, 6))
    assert type.filter(twice).indices.tolist() == [0, 1]
    assert twice.indices.tolist() == [1, 0, 1]
    for wrong in (DENSE[:-1], M.astype("complex128"), DENSE[:, :-1]):
        with pytest.raises(GraphTypeError):
            type.filter(wrong)


SIZES = [((1, 1), 1), ((2, 3), 1), ((3, 5), 19), ((4, 8), 1), ((17, 18), 1), ((5, 3), 2), ((1, 8), 33)]


@pytest.mark.parametrize("fp", ["contract", "strict"])
@pytest.mark.shows("sparse/7-bsr")
def test_products(fp: str, tmp_path: Path) -> None:
    """Blocks of all sizes, and numbers of columns around those of vectors."""
    inputs: list[Variable] = []
    outputs, values, expected = [], [], []
    for number, ((height, width), k) in enumerate(SIZES):
        dtype = "float32" if number % 2 else "float64"
        A = matrix(7, 6, (height, width), dtype, number)
        names = [f"{name}{number}" for name in ("data", "indices", "indptr", "x", "y")]
        shapes = ((None, height, width), (None,), (8,), (6 * width, k), (7 * height, k if k < 19 else None))
        kinds = (dtype, "int32", "int32", dtype, dtype)
        given = [Variable(TensorType(d, s), name=n) for d, s, n in zip(kinds, shapes, names, strict=True)]
        data, indices, indptr, x, y = given
        p = Compressed(
            "bsr", data, indices, indptr, 7 * height, 6 * width, (7 * height, 6 * width), True, (height, width)
        )
        x_value, y_value = (RNG.normal(size=(n, k)).astype(dtype) for n in A.shape[::-1])
        inputs += given
        values += [A.data, A.indices, A.indptr, x_value, y_value]
        outputs += [block_times(p, x), block_times(p, y, is_transposed=True)]
        expected += [A @ x_value, A.T @ y_value]
    build = Build([aot.function(inputs, outputs, name="products")], "products", Options(fp=fp))
    (tmp_path / "libproducts.so").write_bytes(build.shared)
    for ours, other in zip(aot.load(tmp_path / "libproducts.so").products(*values), expected, strict=True):
        rtol, atol = (3e-5, 1e-4) if ours.dtype == "float32" else (1e-12, 1e-12)
        np.testing.assert_allclose(ours, other, rtol=rtol, atol=atol)


X, Z, D = RNG.normal(size=9), RNG.normal(size=8), RNG.normal(size=(8, 9))
E = scipy.sparse.eye_array(9, 4, format="csr")


def program() -> aot.Function:
    """What goes block by block and what goes by csr, derivatives of both, and state between calls."""
    A, E = sp.bsr_matrix("A", shape=("m", "n"), blocksize=(2, 3)), sp.csr_matrix("E", shape=("n", None))
    x, z, d = at.vector("x", shape=("n",)), at.vector("z", shape=("m",)), at.matrix("d", shape=("m", "n"))
    state = sp.shared(M, name="state")
    cost = (sp.structured_dot(A, x) ** 3).sum() + sp.sp_sum(sp.structured_exp(A) * d, sparse_grad=True)
    by_A = aot.grad(cost, A)
    outputs = {
        "y": sp.dot(A, x), "T": A.T, "csc": A.tocsc(), "other": A.tobsr((4, 1)),
        "back": (A.tocsr() * 2.0).tobsr((2, 3)), "sum": A + sp.bsr_from_dense(d, (2, 3)), "mixed": A + A.tocsr(),
        "rows": sp.row_scale(A, z), "own": A * A, "diagonal": A.diagonal(), "product": sp.structured_dot(A, E),
        "part": A[1:5, :], "data": sp.csm_data(A), "by_A": by_A, "again": aot.grad((by_A * d).sum(), A),
        "turned": aot.grad((sp.dot(z, A) ** 2).sum() + (sp.dot(A.T, z) ** 2).sum(), A),
    }  # fmt: skip
    return aot.function([A, x, z, d, E], outputs, updates={state: state * 2.0}, name="blocks")


def expected() -> dict[str, Any]:
    outer, cubes = np.outer((DENSE @ X) ** 2 * 3, X), np.exp(DENSE) * D
    again = 6 * np.outer(DENSE @ X * ((D * PATTERN) @ X), X) + np.exp(DENSE) * D * D
    return {
        "y": DENSE @ X, "T": DENSE.T, "csc": DENSE, "other": DENSE, "back": 2 * DENSE, "sum": DENSE + D,
        "mixed": 2 * DENSE, "rows": DENSE * Z[:, None], "own": DENSE**2, "diagonal": np.diag(DENSE),
        "product": DENSE[:, :4], "part": DENSE[1:5], "data": M.data, "by_A": (outer + cubes) * PATTERN,
        "again": again * PATTERN, "turned": 4 * np.outer(Z, DENSE.T @ Z),
    }  # fmt: skip


F = program()


@pytest.mark.shows("sparse/0-blocks", "sparse/3-bsr", "sparse/7-bsr", "sparse/2-BSR")
def test_program() -> None:
    """Compiled and in NumPy and SciPy: the dense formulas, in the formats that are promised."""
    for found in (F(M, X, Z, D, E), F.reference(M, X, Z, D, E)):
        for name, value in expected().items():
            ours = found[name].toarray() if scipy.sparse.issparse(found[name]) else found[name]
            np.testing.assert_allclose(ours, value, rtol=1e-12, atol=1e-13, err_msg=name)
        forms = {name: (x.format, getattr(x, "blocksize", None)) for name, x in found.items() if hasattr(x, "format")}
        assert forms == {
            **dict.fromkeys(("back", "sum", "rows", "own", "by_A", "again"), ("bsr", (2, 3))),
            "T": ("bsr", (3, 2)), "other": ("bsr", (4, 1)), "csc": ("csc", None),
            **dict.fromkeys(("mixed", "product", "part"), ("csr", None)),
        }  # fmt: skip


@pytest.mark.shows("sparse/0-blocks", "sparse/0-scipy-arrays", "sparse/0-duplicates", "sparse/0-unsorted")
def test_arguments() -> None:
    """Every class of SciPy and dense matrices, blocks of another size, any order, duplicates; and what is refused."""
    rows = np.repeat(np.arange(4), np.diff(M.indptr))
    order = np.lexsort((-M.indices, rows))
    data, indices = M.data[order], M.indices[order]
    halves = np.stack([data * 0.25, data * 0.75], axis=1).reshape(-1, 2, 3)
    twice = scipy.sparse.bsr_matrix((halves, np.repeat(indices, 2), M.indptr * 2), shape=M.shape)
    unsorted = scipy.sparse.bsr_array((data, indices, M.indptr), shape=M.shape)
    for given in (unsorted, twice, M.tocsr(), M.tocoo(), M.tobsr((4, 1)), DENSE):
        found = F(given, X, Z, D, E)
        np.testing.assert_allclose(found["y"], DENSE @ X, rtol=1e-13)
        np.testing.assert_allclose(found["T"].toarray(), DENSE.T, rtol=1e-14)
    assert type(F(unsorted, X, Z, D, E)["T"]).__name__ == "bsr_array"
    assert twice.indices.tolist() == np.repeat(indices, 2).tolist()
    empty = scipy.sparse.bsr_matrix((8, 9), blocksize=(2, 3))
    assert F(empty, X, Z, D, E)["by_A"].nnz == 0
    no_rows = F(scipy.sparse.bsr_matrix((0, 9), blocksize=(2, 3)), X, Z[:0], D[:0], E)
    assert (no_rows["y"].shape, no_rows["T"].shape) == ((0,), (9, 0))
    broken = M.copy()
    broken.indices = np.where(np.arange(len(broken.indices)) == 2, 3, broken.indices).astype("int32")
    with pytest.raises(IndexError, match="block column 3"):
        F(broken, X, Z, D, E)
    broken = M.copy()
    broken.indptr = broken.indptr[::-1].copy()
    with pytest.raises(ValueError, match="indptr"):
        F(broken, X, Z, D, E)
    with pytest.raises(ValueError, match="7 rows, expected a multiple of 2"):
        F(DENSE[:7], X, Z[:7], D[:7], E)


def test_constants_and_results_of_reference() -> None:
    x = at.vector("x", shape=(9,))
    np.testing.assert_allclose(sp.dot(sp.constant(M), x).eval({x: X}), DENSE @ X)
    np.testing.assert_allclose((sp.constant(M) @ M.T.tocsr()).eval(), DENSE @ DENSE.T)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that is cut into chunks of two rows of blocks."""
    A, x = sp.bsr_matrix("A", shape=("m", "n"), blocksize=(2, 3)), at.vector("x", shape=("n",))
    functions = [
        aot.function([A, x], sp.dot(A, x), name="product"),
        aot.function([A, x], aot.grad((sp.structured_dot(A, x) ** 2).sum(), [A, x]), name="gradients"),
    ]
    few = replace(Target(), chunk_work=64, sum_work=0, fewest_iterations=2, chunk_group=2, row_group=2)
    found = tmp_path_factory.mktemp("blocks") / "libblocks.so"
    found.write_bytes(Build(functions, "blocks", Options(facts=few)).shared)
    return found


@pytest.mark.shows("sparse/7-bsr")
def test_threads(path: Path) -> None:
    """Products of chunks of rows are bitwise those of one chunk."""
    library, B, v = aot.load(path), matrix(31, 20, (2, 3), seed=3), RNG.normal(size=60)
    one, several = ([library.product(B, v, num_threads=n), *library.gradients(B, v, num_threads=n)] for n in (1, 3))
    np.testing.assert_allclose(one[0], B @ v, rtol=1e-12, atol=1e-13)
    for a, b in zip(one, several, strict=True):
        assert getattr(a, "data", a).tobytes() == getattr(b, "data", b).tobytes()


def struct(x: Any) -> Sparse:
    """An aotensor_sparse of the arrays of a matrix, which must live on."""
    return Sparse(
        x.data.ctypes.data, x.indices.ctypes.data, x.indptr.ctypes.data, len(x.indices), (ctypes.c_int64 * 2)(*x.shape),
        DTYPE_CODES["float64"], DTYPE_CODES["int32"],
    )  # fmt: skip


@pytest.mark.shows("sparse/0-blocks")
def test_c(path: Path) -> None:
    """The typed entry: structs in any order, what is refused, and a result in two calls."""
    dll, y = ctypes.CDLL(str(path)), np.zeros(8)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (X, y)]

    def product(x: Any, m: int = 8, n: int = 9, shape: tuple[int, int] | None = None) -> int:
        given = struct(x)
        given.shape = (ctypes.c_int64 * 2)(*(shape or (m, n)))
        return int(dll.product(ctypes.c_int64(m), ctypes.c_int64(n), ctypes.byref(given), *pointers, None))

    order = np.lexsort((-M.indices, np.repeat(np.arange(4), np.diff(M.indptr))))
    for x in (M, scipy.sparse.bsr_matrix((M.data[order], M.indices[order], M.indptr), shape=M.shape)):
        y[:] = -1
        assert product(x) == 0
        np.testing.assert_allclose(y, DENSE @ X, rtol=1e-13, atol=1e-13)
    broken = M.copy()
    broken.indices[1] = 3
    assert product(broken) == Status.BAD_INDEX
    assert product(M, m=9) == Status.WRONG_EXTENT
    assert product(M, shape=(8, 6)) == Status.WRONG_EXTENT
    result, by_x = Sparse(), np.zeros(9)
    arguments = (ctypes.c_int64(8), ctypes.c_int64(9), ctypes.byref(struct(M)), pointers[0], ctypes.byref(result))

    def gradients() -> int:
        return int(dll.gradients(None, *arguments, ctypes.c_void_p(by_x.ctypes.data), None))

    assert gradients() == Status.OUTPUTS_NEEDED
    assert (result.nnz, tuple(result.shape)) == (len(M.indices), M.shape)
    blank = M.copy()
    for part in (blank.data, blank.indices, blank.indptr):
        part[:] = 0
    result = struct(blank)
    arguments = (*arguments[:4], ctypes.byref(result))
    assert gradients() == 0
    np.testing.assert_allclose(blank.toarray(), 2 * np.outer(DENSE @ X, X) * PATTERN, rtol=1e-13)
    np.testing.assert_allclose(by_x, 2 * DENSE.T @ (DENSE @ X), rtol=1e-12)


@pytest.mark.shows("sparse/0-blocks")
def test_what_goes_by_csr() -> None:
    """Equations, their gradients, stacks, comparisons and elements, by the reference."""
    band = np.diag(np.arange(4.0, 10.0)) + np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)
    A, b, v = sp.bsr_matrix("A", shape=("n", "n"), blocksize=(2, 2)), at.vector("b", shape=("n",)), np.arange(6.0)
    x, values = np.linalg.solve(band, v), {A: scipy.sparse.bsr_matrix(band, blocksize=(2, 2)), b: v}
    for y in (sp.spsolve(A, b), sp.cg(A, b), sp.solve(A, b, "cholesky")):
        np.testing.assert_allclose(y.eval(values), x, rtol=1e-8)
    found = sp.solve_triangular(A, b, lower=True).eval(values)
    np.testing.assert_allclose(found, np.linalg.solve(np.tril(band), v), rtol=1e-12)
    slope = aot.grad(sp.spsolve(A, b).sum(), A)
    assert slope.blocksize == (2, 2)
    stored = np.kron(np.diag([1, 1, 1]) + np.diag([1, 1], 1) + np.diag([1, 1], -1), np.ones((2, 2)))
    expected = -np.outer(np.linalg.solve(band.T, np.ones(6)), x) * stored
    np.testing.assert_allclose(slope.eval(values).toarray(), expected, rtol=1e-8, atol=1e-12)
    for y, value in ((sp.hstack([A, A]), np.hstack([band, band])), (sp.sp_zeros_like(A) < A, band > 0)):
        np.testing.assert_array_equal(y.eval(values).toarray(), value)
    assert A[1, 2].eval(values) == 1


@pytest.mark.shows("sparse/7-bsr")
def test_a_transpose_is_not_made_for_a_product() -> None:
    A, z, d = sp.bsr_matrix("A", blocksize=(2, 3)), at.vector("z"), at.matrix("d")
    for y, value in ((sp.dot(A.T, z), DENSE.T @ Z), (sp.structured_dot(d, A.T), D @ DENSE.T)):
        (found,) = rewrite_sparse([y], [A, z, d])
        assert [node.op.name for node in toposort([found]) if node.op.name == "sparse_transpose"] == []
        np.testing.assert_allclose(found.eval({A: M, **({z: Z} if y.ndim == 1 else {d: D})}), value)
