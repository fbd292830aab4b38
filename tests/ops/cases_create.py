"""Creation: allocation, ranges, identity matrices, triangles, diagonals."""

from __future__ import annotations

import numpy as np
from case import Case, between, normal, value

import aotensor.tensor as at

GRID = np.arange(12.0).reshape(3, 4)


def count(n: int) -> np.ndarray:
    """An extent as an input."""
    return np.array(n)


VALUES = [
    value("zeros", lambda: at.zeros((2, 3)), [], np.zeros((2, 3))),
    value("zeros-int", lambda n: at.zeros(n, dtype="int32"), [count(3)], np.zeros(3)),
    value("zeros-rank-0", lambda: at.zeros(()), [], 0.0),
    value("zeros-empty", lambda n: at.zeros((n, 2)), [count(0)], np.zeros((0, 2))),
    value("ones-of-shape", lambda x: at.ones(x.shape), [GRID], np.ones((3, 4))),
    value("ones-bool", lambda: at.ones((2,), dtype="bool"), [], [True, True]),
    value("empty", lambda: at.empty((2,)), [], [0, 0]),
    value("full", lambda n: at.full((n, 2), 7), [count(2)], np.full((2, 2), 7)),
    value("full-dtype", lambda: at.full(3, 7.5, dtype="int8"), [], [7, 7, 7]),
    value("zeros_like", at.zeros_like, [GRID], np.zeros((3, 4))),
    value("ones_like-dtype", lambda x: at.ones_like(x, dtype="int8"), [GRID], np.ones((3, 4))),
    value("full_like-int", lambda x: at.full_like(x, 2.9), [np.array([1, 2])], [2, 2]),
    value("full_like-rank-0", lambda x: at.full_like(x, 5), [np.float64(1.0)], 5),
    value("empty_like", at.empty_like, [GRID], np.zeros((3, 4))),
    value("identity_like", at.identity_like, [GRID], np.eye(3, 4)),
    value("identity", lambda n: at.identity(n), [count(3)], np.eye(3)),
    value("eye", lambda n, m: at.eye(n, m, 1), [count(3), count(5)], np.eye(3, 5, 1)),
    value("eye-below", lambda: at.eye(4, k=-2, dtype="int64"), [], np.eye(4, k=-2)),
    value("eye-outside", lambda: at.eye(2, 3, 7), [], np.zeros((2, 3))),
    value("eye-empty", lambda n: at.eye(n), [count(0)], np.zeros((0, 0))),
    value("tri", lambda n: at.tri(n, 5, 1), [count(3)], np.tri(3, 5, 1)),
    value("tri-below", lambda: at.tri(3, k=-1, dtype="bool"), [], np.tri(3, k=-1).astype(bool)),
    value("tril-int", lambda x: at.tril(x), [np.arange(9).reshape(3, 3)], np.tril(np.arange(9).reshape(3, 3))),
    value("tril_indices", lambda: at.tril_indices(3, 1, 4), [], np.tril_indices(3, 1, 4)),
    value("triu_indices", lambda: at.triu_indices(3, -1), [], np.triu_indices(3, -1)),
    value("arange-int", lambda n: at.arange(n), [count(4)], [0, 1, 2, 3]),
    value("arange-empty", lambda n: at.arange(n), [count(-2)], np.zeros(0)),
    value("arange-down", lambda a, b: at.arange(a, b, -2), [count(7), count(0)], [7, 5, 3, 1]),
    value("arange-down-exact", lambda a, b: at.arange(a, b, -2), [count(7), count(1)], [7, 5, 3]),
    value("arange-literal", lambda: at.arange(0.5, 3, 1), [], [0.5, 1.5, 2.5]),
    value("arange-static", lambda: at.arange(2, 11, 3), [], [2, 5, 8]),
    value("arange-dtype", lambda n: at.arange(n, dtype="float32"), [count(3)], [0, 1, 2]),
    value("arange-to-int8", lambda: at.arange(0, 2, 0.75, dtype="int8"), [], [0, 0, 1]),
    value("arange-of-shape", lambda x: at.arange(x.shape[0]), [GRID], [0, 1, 2]),
    value("diag-outside", lambda x: at.diag(x, 9), [GRID], np.zeros(0)),
    value("diag-bool", lambda x: at.diag(x), [np.array([True, True])], np.eye(2)),
]  # fmt: skip

SMOOTH = [
    Case(id="alloc-scalar", build=lambda v, n: at.alloc(v, n, 3), inputs=[np.float64(2.5), count(2)]),
    Case(id="alloc-vector", build=lambda v, n: at.alloc(v, n, 4), inputs=[np.arange(4.0), count(2)]),
    Case(id="alloc-column", build=lambda v, n: at.alloc(v, 3, n), inputs=[np.ones((3, 1)), count(2)]),
    Case(id="alloc-none", build=lambda v, n: at.alloc(v, n, 4), inputs=[np.arange(4.0), count(0)]),
    Case(id="alloc-of-shape", build=lambda v, x: at.alloc(v, x.shape), inputs=[np.float64(2.5), GRID], wrt=(0,)),
    Case(id="full-of-variable", build=lambda v: at.full((2, 3), v), inputs=[np.float64(2.5)]),
    Case(id="full_like-of-variable", build=lambda x, v: at.full_like(x, v), inputs=[GRID, np.float64(2.5)], wrt=(1,)),
    Case(id="full_like-of-row", build=lambda x, v: at.full_like(x, v), inputs=[GRID, np.ones((1, 4))], wrt=(1,)),
    Case(id="fill", build=lambda x, v: x.fill(v), inputs=[GRID, np.float64(2.5)]),
    Case(id="arange-derivatives", build=at.arange, inputs=[np.float64(0.25), np.float64(3.0), np.float64(0.6)],
         wrt=(0, 2)),
    Case(id="arange-start", build=lambda a: at.arange(a, 3, 1), inputs=[np.float64(0.5)], specials={0: 3.0}),
    Case(id="arange-float32", build=lambda a: at.arange(a, 3, 1), inputs=[np.float32(0.5)], specials={0: 3.0}),
    Case(id="arange-int-derivatives", build=at.arange, inputs=[count(1), count(7), count(2)], wrt=(0, 2), numeric=False,
         specials={0: 0.0, 2: 0.0}),
    Case(id="tril", build=at.tril, inputs=between(-1, 1, 3, 4)),
    Case(id="tril-above", build=lambda x: at.tril(x, 1), inputs=between(-1, 1, 4, 3)),
    Case(id="triu-batch", build=lambda x: at.triu(x, -1), inputs=between(-1, 1, 2, 4, 3)),
    Case(id="triu-empty", build=at.triu, inputs=between(-1, 1, 0, 3)),
    Case(id="diag-of-vector", build=at.diag, inputs=between(-1, 1, 3)),
    Case(id="diag-of-vector-above", build=lambda x: at.diag(x, 2), inputs=between(-1, 1, 3)),
    Case(id="diag-of-vector-below", build=lambda x: at.diag(x, -1), inputs=between(-1, 1, 3)),
    Case(id="diag-of-empty", build=at.diag, inputs=between(-1, 1, 0)),
    Case(id="diag-of-empty-above", build=lambda x: at.diag(x, 2), inputs=between(-1, 1, 0)),
    Case(id="diag-of-matrix", build=at.diag, inputs=between(-1, 1, 3, 4)),
    Case(id="diag-above", build=lambda x: at.diag(x, 2), inputs=between(-1, 1, 3, 4)),
    Case(id="diag-below", build=lambda x: at.diag(x, -2), inputs=between(-1, 1, 3, 4)),
    Case(id="diag-far-outside", build=lambda x: at.diag(x, -3), inputs=between(-1, 1, 3, 4)),
    Case(id="diag-static", build=at.diag, inputs=between(-1, 1, 3, 4), dims=[(3, 4)]),
    Case(id="diagonal-axes", build=lambda x: at.diagonal(x, 1, 2, 0), inputs=between(-1, 1, 3, 2, 4)),
    Case(id="diagonal-batch", build=lambda x: x.diagonal(0, -2, -1), inputs=between(-1, 1, 2, 3, 3)),
    Case(id="mask-of-triangle", build=lambda x, y: at.tril(x) * at.tri(3, 3, 1) + y * at.eye(3),
         inputs=normal((3, 3), (3, 3))),
    Case(id="fill-diagonal", build=at.fill_diagonal, inputs=lambda rng: [rng.normal(size=(3, 5)), np.array(2.5)]),
    Case(id="fill-diagonal-above", build=lambda a, v: at.fill_diagonal(a, v, offset=1),
         inputs=lambda rng: [rng.normal(size=(4, 2)), np.array(-1.0)]),
    Case(id="fill-diagonal-computed", build=lambda a, v: at.fill_diagonal(a, v, at.argmax(a[0]) - 2),
         inputs=lambda rng: [np.fliplr(np.vander([2.0, 3, 4, 5], 2)), np.array(-1.0)]),
]  # fmt: skip

CASES: list[Case] = [*VALUES, *SMOOTH]
