"""Matrices in rows of blocks: rows from blocks on a constant pattern to a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from case import Case, slope, value

import aotensor.sparse as sp
from aotensor.core.types import Dim
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.sparse.convert import stored_everywhere

INDICES, INDPTR = [2, 0, 1, 1], [0, 2, 2, 4]
"""Three rows of blocks of three: one out of order, an empty one, and one with a block that comes twice."""
SORTED = [0, 2, 1, 2]
RNG = np.random.default_rng(5)
BLOCKS = RNG.normal(size=(4, 2, 3))
SHAPE = (6, 9)
COLUMN, ROW, FULL = RNG.normal(size=9), RNG.normal(size=6), RNG.normal(size=SHAPE)
COLUMNS, ROWS = RNG.normal(size=(9, 5)), RNG.normal(size=(4, 6))


def bsr(data: Variable, indices: Sequence[int] = INDICES, indptr: Sequence[int] = INDPTR) -> Variable:
    """The matrix of these blocks, whatever their size."""
    height, width = (int(n or 0) for n in data.static_shape[1:])
    shape = (3 * height, 3 * width)
    return sp.BSR(data, np.array(indices, "int32"), np.array(indptr, "int32"), shape)  # type: ignore[no-any-return]


def dense_of(data: np.ndarray, indices: Sequence[int] = INDICES, indptr: Sequence[int] = INDPTR) -> np.ndarray:
    grid = np.zeros((3, 3, *data.shape[1:]), data.dtype)
    np.add.at(grid, (np.repeat(np.arange(3), np.diff(indptr)), np.array(indices)), data)
    return grid.transpose(0, 2, 1, 3).reshape(3 * data.shape[1], 3 * data.shape[2])


def _scipy() -> Any:
    """The matrix of these blocks as SciPy's csr, sorted and without duplicates."""
    matrix = scipy.sparse.bsr_matrix((BLOCKS, INDICES, INDPTR), SHAPE).tocsr()
    matrix.sum_duplicates()
    return matrix


def on_blocks(id: str, build: Callable[..., Any], *more: np.ndarray, data: Any = None, **options: Any) -> Case:
    """A row for blocks in any order, and other arrays."""
    blocks = BLOCKS if data is None else data
    dims: list[tuple[Dim, ...]] = [(None, *blocks.shape[1:])]
    dims += [tuple(1 if n == 1 else None for n in x.shape) for x in more]
    return Case(
        id=f"bsr-{id}", inputs=[blocks, *more], dims=dims, build=lambda x, *rest: build(bsr(x), *rest), **options
    )


def _derivative(build: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the sum of cubes with respect to the first: its own derivatives are second ones."""
    return lambda x, *rest: grad(sum_over(build(bsr(x), *rest) ** 3), x)


def derivative_on(
    id: str, build: Callable[..., Any], formula: Callable[..., Any], *more: np.ndarray, compiles: bool = True
) -> Case:
    """The gradient of a row on blocks.   formula: of the dense matrix and the other arrays"""
    dims: list[tuple[Dim, ...]] = [(None, 2, 3), *((None,) * x.ndim for x in more)]
    return Case(
        id=f"bsr-{id}-derivative",
        inputs=[BLOCKS, *more],
        dims=dims,
        build=_derivative(build),
        expected=slope(lambda x, *rest: formula(dense_of(x), *rest) ** 3),
        compiles=compiles,
    )


def product(kind: str, dtype: str, shape: tuple[int, int], k: int) -> Case:
    """A·x or x·A of blocks of a size and k columns; 0 is a vector."""
    blocks = RNG.normal(size=(4, *shape)) * 3
    left = kind == "left"
    n = 3 * shape[0 if left else 1]
    x = RNG.normal(size=((k, n) if left else (n, k)) if k else n) * 3
    blocks, x = blocks.astype(dtype), x.astype(dtype)
    dense = dense_of(blocks)
    options = {"wrt": ()} if dtype.startswith("int") else {}
    return on_blocks(
        f"{kind}-{dtype}-{shape[0]}x{shape[1]}-{k}",
        (lambda A, x: sp.dot(x, A)) if left else sp.dot,
        x,
        data=blocks,
        expected=x @ dense if left else dense @ x,
        shows=("sparse/7-bsr",),
        **options,
    )


PRODUCTS = [
    product("dot", "float64", (2, 3), 0),
    product("dot", "int32", (2, 2), 0),
    product("left", "int16", (2, 3), 3),
    product("left", "float64", (4, 3), 3),
    on_blocks("dot-transposed", lambda A, x: sp.dot(A.T, x), ROW, expected=dense_of(BLOCKS).T @ ROW),
    on_blocks("dot-mixed", sp.dot, COLUMN.astype("float32"), numeric=False, reason="float32",
              expected=dense_of(BLOCKS) @ COLUMN.astype("float32")),
    on_blocks("dot-empty", sp.dot, COLUMNS[:, :0], expected=np.zeros((6, 0))),
    on_blocks("structured-dot", sp.structured_dot, COLUMNS, expected=dense_of(BLOCKS) @ COLUMNS),
    on_blocks("usmm", lambda A, x, z: sp.usmm(2.0, A, x, z), COLUMNS, np.ones((6, 5)),
              expected=2 * dense_of(BLOCKS) @ COLUMNS + 1),
    on_blocks("dot-sparse", lambda A: sp.dot(A, A.T), expected=dense_of(BLOCKS) @ dense_of(BLOCKS).T, compiles=False),
    derivative_on("dot", sp.dot, np.matmul, COLUMN, compiles=False),
    derivative_on("structured-dot", sp.structured_dot, np.matmul, COLUMNS),
    derivative_on("left", lambda A, x: sp.dot(x, A), lambda A, x: x @ A, ROWS, compiles=False),
]  # fmt: skip

CONVERSIONS = [
    on_blocks("toarray", lambda A: A.toarray(), expected=dense_of(BLOCKS), shows=("sparse/3-bsr",)),
    on_blocks("tocsr", lambda A: sp.csm_data(A.tocsr()), shows=("sparse/3-bsr",), compiles=False,
              expected=_scipy().data),
    on_blocks("tocsc", lambda A: A.tocsc().toarray(), expected=dense_of(BLOCKS), compiles=False),
    on_blocks("other-blocks", lambda A: sp.csm_data(A.tobsr((3, 1))) ** 2, shows=("sparse/3-bsr",), compiles=False,
              expected=_scipy().tobsr((3, 1)).data ** 2),
    on_blocks("there-and-back", lambda A: sp.csm_data((A.tocsr() * 2.0).tobsr((2, 3))), compiles=False,
              expected=2 * _scipy().tobsr((2, 3)).data),
    on_blocks("transpose", lambda A: A.T.toarray(), expected=dense_of(BLOCKS).T, compiles=False),
    Case(id="bsr-from-dense", build=lambda x: sp.csm_data(sp.bsr_from_dense(x, (3, 3))), inputs=[FULL], compiles=False,
         ragged=True, expected=FULL.reshape(2, 3, 3, 3).transpose(0, 2, 1, 3).reshape(6, 3, 3),
         shows=("sparse/3-bsr",)),
    Case(id="bsr-stored-everywhere", inputs=[FULL], dims=[SHAPE],
         build=lambda x: sp.csm_data(stored_everywhere(x, "bsr", (2, 3))) ** 2,
         expected=FULL.reshape(3, 2, 3, 3).transpose(0, 2, 1, 3).reshape(9, 2, 3) ** 2),
    value("bsr-from-dense-indices", lambda x: sp.csm_indices(sp.bsr_from_dense(x, (2, 3))), [dense_of(BLOCKS)],
          [0, 2, 1], ragged=True),
    derivative_on("toarray", lambda A: A.toarray(), lambda A: A),
    derivative_on("tocsr", lambda A: sp.csm_data(A.tocsr()), lambda A: A, compiles=False),
]  # fmt: skip

ARITHMETIC = [
    on_blocks("add", lambda A, d: (A + A + sp.bsr_from_dense(d, (2, 3))).toarray(), FULL, ragged=True, compiles=False,
              expected=2 * dense_of(BLOCKS) + FULL),
    on_blocks("add-csr", lambda A: (A + A.tocsr()).toarray(), expected=2 * dense_of(BLOCKS), compiles=False,
              shows=("sparse/0-blocks",)),
    on_blocks("add-dense", lambda A, d: A - d, FULL, expected=dense_of(BLOCKS) - FULL),
    on_blocks("scale", lambda A, d: (A * d * 3 / 2.0).toarray(), FULL, expected=dense_of(BLOCKS) * FULL * 1.5,
              shows=("sparse/5-bsr",)),
    on_blocks("scale-columns", lambda A, v: (A * v).toarray(), COLUMN, expected=dense_of(BLOCKS) * COLUMN),
    on_blocks("scale-rows", lambda A, v: sp.row_scale(A, v).toarray(), ROW, compiles=False,
              expected=dense_of(BLOCKS) * ROW[:, None]),
    on_blocks("times-itself", lambda A: (A * -A).toarray(), expected=-(dense_of(BLOCKS) ** 2), compiles=False),
    on_blocks("structured", lambda A: sp.structured_exp(sp.structured_add(A, 0.5)).toarray(), shows=("sparse/6-bsr",),
              expected=np.where(dense_of(BLOCKS) != 0, np.exp(dense_of(BLOCKS) + 0.5), 0)),
    on_blocks("cast", lambda A: A.astype("float32").toarray(), numeric=False, rtol=1e-7, reason="float32 in between",
              expected=dense_of(BLOCKS)),
    *(on_blocks(f"sum-{axis}", lambda A, axis=axis: A.sum(axis=axis), expected=dense_of(BLOCKS).sum(axis),
                shows=("sparse/10-bsr",)) for axis in (None, 0, 1)),
    on_blocks("diagonal", lambda A: A.diagonal(1), expected=np.diag(dense_of(BLOCKS), 1), compiles=False),
    derivative_on("sum", lambda A: A.sum(axis=0), lambda A: A.sum(axis=0), compiles=False),
    derivative_on("times", lambda A, d: (A * A * d).toarray(), lambda A, d: A * A * d, FULL, compiles=False),
]  # fmt: skip

CASES = PRODUCTS + CONVERSIONS + ARITHMETIC
