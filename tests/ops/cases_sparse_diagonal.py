"""Diagonals of sparse matrices and matrices made of them, by their data."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, slope, value
from cases_sparse_convert import DATA, csc, csr, dense_of

import aotensor.sparse as sp
from aotensor.gradient import grad
from aotensor.ops.reduce.sums import sum as sum_over

V = np.array([1.0, 0.0, -2.0])
SQUARE = ([1, 0, 2, 1], [0, 2, 3, 4])
"""3×3, with two entries on the main diagonal."""


def _diag(make: Any, k: int) -> Case:
    dense = dense_of(DATA) if make is csr else dense_of(DATA).T
    return Case(
        id=f"sparse-diag-{make.__name__}{k:+d}",
        build=lambda data: sp.diag(make(data), k),
        inputs=[DATA],
        expected=np.diagonal(dense, k),
        shows=("sparse/8-diag",),
    )


DIAG = [_diag(make, k) for make in (csr, csc) for k in (0, 1, -1, 2, -3, 5, -5)]


def _triangle(name: str, make: Any, k: int) -> Case:
    dense = dense_of(DATA) if make is csr else dense_of(DATA).T
    return Case(
        id=f"sparse-{name}-{make.__name__}{k:+d}",
        build=lambda data: getattr(sp, name)(make(data), k).toarray(),
        inputs=[DATA],
        expected=getattr(np, name)(dense, k),
    )


TRIANGLES = [
    _triangle(name, make, k) for name in ("tril", "triu") for make, k in ((csr, 0), (csc, 1), (csr, -1), (csc, -9))
]

CASES = [
    *DIAG,
    *TRIANGLES,
    Case(id="sparse-tril-derivative", build=lambda data: grad(sum_over(sp.tril(csc(data), 1).toarray() ** 3), data),
         inputs=[DATA], expected=slope(lambda data: np.tril(dense_of(data).T, 1) ** 3)),
    Case(id="sparse-triu-regular", inputs=[DATA],
         build=lambda data: sp.dense_from_sparse(sp.triu(csr(data)), structured=False) ** 2,
         expected=np.triu(dense_of(DATA)) ** 2),
    value("sparse-tril-stored-zeros", lambda data: sp.csm_data(sp.tril(csr(data), 9)), [DATA], DATA),
    value("sparse-triu-int8", lambda data: sp.csm_data(sp.triu(csr(data), 1)), [np.arange(1, 6, dtype="int8")], [1]),
    value("sparse-tril-duplicates", lambda data: sp.tril(csr(data, [1, 1, 0], [0, 2, 3], (2, 3)), 1).toarray(),
          [np.array([1.0, 2.0, 4.0])], [[0, 3, 0], [4, 0, 0]]),
    Case(id="sparse-diag-square", build=lambda data: csr(data, *SQUARE, (3, 3)).diagonal(), inputs=[V.repeat(2)[:4]],
         expected=np.diag(dense_of(V.repeat(2)[:4], *SQUARE, (3, 3)))),
    Case(id="sparse-diag-derivative", build=lambda data: grad(sum_over(csc(data).diagonal(1) ** 3), data),
         inputs=[DATA], expected=slope(lambda data: np.diag(dense_of(data).T, 1) ** 3)),
    value("sparse-diag-empty", lambda data: sp.diag(csr(data, [], [0], (0, 0))), [np.zeros(0)], np.zeros(0)),
    value("sparse-diag-int8", lambda data: sp.diag(csr(data), -1), [np.arange(5, dtype="int8")], [1, 0, 4]),
    Case(id="sparse-trace", build=lambda data: csc(data).trace(), inputs=[DATA], expected=dense_of(DATA).trace(),
         shows=("sparse/10-others",)),
    *(
        Case(id=f"square-diagonal-{format}",
             build=lambda v, format=format: sp.square_diagonal(v, format).toarray() ** 2, inputs=[V],
             expected=np.diag(V**2), shows=("sparse/2-square_diagonal",))
        for format in ("csr", "csc")
    ),
    Case(id="square-diagonal-data", build=lambda v: sp.csm_data(sp.square_diagonal(v)), inputs=[V], expected=V),
    Case(id="square-diagonal-regular", inputs=[V],
         build=lambda v: sp.dense_from_sparse(sp.square_diagonal(v), structured=False) ** 2, expected=np.diag(V**2)),
    value("square-diagonal-empty", lambda v: sp.square_diagonal(v).toarray(), [np.zeros(0)], np.zeros((0, 0))),
    Case(id="square-diagonal-float32", build=lambda v: sp.diag(sp.square_diagonal(v, "csr")) * 2,
         inputs=[V.astype("float32")], expected=2 * V),
]  # fmt: skip
