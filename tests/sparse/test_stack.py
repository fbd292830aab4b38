"""Stacks of sparse matrices, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Lop, Rop

RNG = np.random.default_rng(5)
PUT: list[tuple[Any, Any, Any]] = [
    (sp.hstack, scipy.sparse.hstack, [(3, 2), (3, 4), (3, 0)]),
    (sp.vstack, scipy.sparse.vstack, [(2, 3), (4, 3), (0, 3)]),
    (lambda blocks, format: sp.block_diag(*blocks, format=format), scipy.sparse.block_diag, [(2, 3), (4, 1), (0, 2)]),
]
WAYS = pytest.mark.parametrize(("put", "expected", "shapes"), PUT, ids=["hstack", "vstack", "block_diag"])


@WAYS
@pytest.mark.parametrize("target", ["csr", "csc"])
@pytest.mark.parametrize("formats", [("csr", "csr", "csr"), ("csc", "csc", "csc"), ("csr", "csc", "csr")])
@pytest.mark.shows("sparse/9-hstack", "sparse/9-vstack", "sparse/9-block_diag", "sparse/0-empty")
def test_stacks(put: Any, expected: Any, shapes: Any, target: str, formats: Any) -> None:
    """Blocks of unknown extents; gradients are slices in the format and dtype of their block."""
    blocks = [scipy.sparse.random(*shape, 0.5, format, rng=RNG) for shape, format in zip(shapes, formats, strict=True)]
    blocks[0] = blocks[0].astype("float32")
    xs = [sp.matrix(format, dtype=str(block.dtype)) for format, block in zip(formats, blocks, strict=True)]
    y = put(xs, format=target)
    whole = expected(blocks, target)
    g = scipy.sparse.random(*whole.shape, 0.7, target, rng=RNG)
    ct = sp.matrix(target, "ct")
    found, *pulled, pushed = aot.function([*xs, ct], [y, *Lop(y, xs, ct), Rop(y, xs, xs)]).reference(*blocks, g)
    assert (found.format, found.dtype, found.nnz) == (target, "float64", whole.nnz)
    np.testing.assert_array_equal(found.toarray(), whole.toarray())
    np.testing.assert_array_equal(pushed.toarray(), whole.toarray())
    mask = expected([scipy.sparse.csr_matrix(np.full(shape, k + 1)) for k, shape in enumerate(shapes)], "csr").toarray()
    for k, (derivative, block) in enumerate(zip(pulled, blocks, strict=True)):
        assert (derivative.format, derivative.dtype, derivative.shape) == (block.format, block.dtype, block.shape)
        np.testing.assert_allclose(derivative.toarray().ravel(), g.toarray()[mask == k + 1], rtol=1e-6)


@pytest.mark.shows("sparse/9-hstack", "sparse/9-vstack")
def test_types_of_stacks() -> None:
    a, b = sp.csr_matrix(shape=("n", 2), dtype="int8"), sp.csc_matrix(shape=("n", 3), dtype="float32")
    assert str(sp.hstack([a, b]).type) == "csc float32[n, 5]"
    assert str(sp.vstack([a.T, b.T[:, :]], format="csr", dtype="float64").type) == "csr float64[?, n]".replace("?", "5")
    assert str(sp.hstack([scipy.sparse.eye(3), scipy.sparse.eye(3, format="csc")]).type) == "csc float64[3, 6]"
    assert sp.HStack("csc") == sp.hstack([a, b]).owner.op != sp.HStack("csr")
    assert isinstance(sp.vstack([a.T, b.T]).owner.op, sp.VStack)
    assert issubclass(sp.HStack, sp.Stack)
    assert sp.block_diag(a, b).owner.op == sp.SparseBlockDiagonal(2, "csc")
    wide = sp.csr_matrix(shape=(2, 2), index_dtype="int64")
    assert sp.hstack([wide, sp.csr_matrix(shape=(2, 2))]).type.index_dtype == "int64"


@pytest.mark.shows("sparse/9-hstack", "sparse/9-vstack", "sparse/0-shape-mismatch")
def test_what_does_not_stack() -> None:
    a, b = sp.csr_matrix("a", shape=(2, 3)), sp.csr_matrix("b", shape=(4, 5))
    for put, what in ((sp.hstack, "rows"), (sp.vstack, "columns")):
        with pytest.raises(GraphValueError, match=f"{what} of the blocks differ"):
            put([a, b])
        with pytest.raises(GraphValueError, match="the list of blocks is empty"):
            put([])
        with pytest.raises(GraphTypeError, match="sparse matrix"):
            put([a, at.matrix()])
        for format in ("bsr", "coo"):
            with pytest.raises(GraphValueError, match=format):
                put([a, a], format=format)
        x, y = sp.csr_matrix("x"), sp.csr_matrix("y")
        f = aot.function([x, y], put([x, y]))
        with pytest.raises(GraphValueError, match=f"{what} of the blocks differ"):
            f.reference(scipy.sparse.eye(2, format="csr"), scipy.sparse.eye(3, format="csr"))
    with pytest.raises(GraphValueError, match="at least one matrix"):
        sp.block_diag()
    for blocks in ((a,), (a, b)):
        with pytest.raises(GraphValueError, match="bsr"):
            sp.block_diag(*blocks, format="bsr")


@pytest.mark.shows("sparse/9-hstack")
def test_discrete_blocks_have_a_zero_gradient() -> None:
    a, b = sp.csr_matrix("a", dtype="int32"), sp.csr_matrix("b")
    y, ct = sp.hstack([a, b]), at.matrix("ct")
    eye = scipy.sparse.eye(2, format="csr")
    zero, derivative = aot.function([a, b, ct], Lop(y, [a, b], ct), on_unused_input="ignore").reference(
        eye.astype("int32"), eye, np.ones((2, 4))
    )
    assert (zero.nnz, zero.dtype) == (0, "float64")
    np.testing.assert_array_equal(derivative, np.ones((2, 2)))
    only = sp.hstack([a, b], dtype="int64")
    assert Lop(only, b, at.zeros((2, 4))).type.dtype == "float64"


@pytest.mark.shows("sparse/9-block_diag")
def test_block_diag_of_one_and_of_dense_blocks() -> None:
    x, d = sp.csc_matrix("x"), at.matrix("d")
    assert sp.block_diag(x) is x
    assert sp.block_diag(x, format="csr").format == "csr"
    value = aot.function([x, d], sp.block_diag(x, d)).reference(
        scipy.sparse.eye(2, format="csc"), np.array([[0.0, 3.0]])
    )
    assert value.nnz == 3
    np.testing.assert_array_equal(value.toarray(), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 3]])


def test_compiled_stacks_check_extents() -> None:
    """Of the dense leaves that a compiled function takes."""
    x, y = sp.csr_matrix("x"), sp.csr_matrix("y")
    f = aot.function([x, y], sp.vstack([x, y], format="csr").toarray())
    m = scipy.sparse.csr_matrix(np.array([[0.0, 1.0], [2.0, 0.0]]))
    np.testing.assert_array_equal(f(m, m), scipy.sparse.vstack([m, m]).toarray())
    with pytest.raises(ValueError, match="columns of the blocks"):
        f(m, scipy.sparse.eye(3, format="csr"))


STACKS: dict[str, Any] = {
    "hstack": lambda x, y, format: sp.hstack([x, y], format),
    "vstack": lambda x, y, format: sp.vstack([x.T, y.T], format),
    "product": lambda x, y, format: sp.hstack([x, y], format) @ at.ones(4),
    "sum": lambda x, y, format: sp.sp_sum(sp.hstack([x, y], format), axis=0),
    "sum-of-sum": lambda x, y, format: sp.sp_sum(sp.add(x, y), axis=0),
}


@pytest.mark.parametrize("name", STACKS)
def test_extents_that_must_agree_are_checked(name: str) -> None:
    """In both formats, also where the type of one block says how many rows there are: no index leaves the matrix."""
    known, other = sp.csr_matrix("known", shape=(3, 2)), sp.csr_matrix("other")
    outputs = {f"out_{format}": STACKS[name](known, other, format) for format in ("csr", "csc")}
    fs = [aot.function([known, other], y, name=key) for key, y in outputs.items()]
    for rows in (1, 6):
        for f in fs:
            for call in (f, f.reference):
                with pytest.raises(ValueError, match=r"differ|along axis 0"):
                    call(scipy.sparse.csr_matrix(np.ones((3, 2))), scipy.sparse.csr_matrix(np.ones((rows, 2))))


def test_a_diagonal_of_blocks_in_a_list() -> None:
    """As SciPy takes them; a list of lists is one dense matrix."""
    x = sp.csr_matrix("x", shape=(2, 3))
    listed, apart = (sp.block_diag(*blocks, format="csr") for blocks in ([[x, np.eye(2)]], [x, np.eye(2)]))
    value = scipy.sparse.csr_matrix(np.arange(6.0).reshape(2, 3))
    for found in aot.function([x], [listed, apart]).reference(value):
        np.testing.assert_array_equal(found.toarray(), scipy.sparse.block_diag([value, np.eye(2)]).toarray())
    assert sp.block_diag([[1.0, 0.0], [0.0, 2.0]]).type.shape == (2, 2)
