"""Sparse matrices beside, below and after each other, by the data of the blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case, value
from cases_sparse_convert import DATA, csc, csr, dense_of

import aotensor.sparse as sp
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.sums import sum as sum_over

OTHER = np.array([4.0, -1.0, 0.25])
INDICES, INDPTR = [1, 0, 2], [0, 2, 2, 2, 3]
"""csr of 4×3, csc of 3×4, unsorted."""
SHORT = ([0, 1], [0, 1, 2])
"""csr of 2×3, csc of 3×2."""

A, B, S = dense_of(DATA), dense_of(OTHER, INDICES, INDPTR), dense_of(OTHER[:2], *SHORT, (2, 3))


def _pair(put: Callable[..., Variable], first: Any, second: Any, **options: Any) -> Callable[..., Variable]:
    """Blocks of two data vectors, put together."""
    return lambda x, y: put([first(x), second(y, INDICES, INDPTR)], **options)


def _expected(put: Callable[..., Any], first: Any, second: Any) -> np.ndarray:
    return put([A if first is csr else A.T, B if second is csr else B.T])  # type: ignore[no-any-return]


def _mixed(data: Variable) -> Variable:
    """csc of 4×3 from the data of csr."""
    return sp.csc_from_dense(csr(data))


def _rows(name: str, put: Callable[..., Variable], numpy: Callable[..., Any]) -> list[Case]:
    found = []
    for make in (csr, csc):
        for format in ("csr", "csc"):
            build = _pair(put, make, make, format=format)
            id = f"sparse-{name}-{make.__name__}-as-{format}"
            expected = _expected(numpy, make, make)
            found += [
                Case(id=id, build=lambda x, y, build=build: build(x, y).toarray(), inputs=[DATA, OTHER],
                     expected=expected, shows=(f"sparse/9-{name}",)),
                Case(id=f"{id}-regular", inputs=[DATA, OTHER], expected=expected**2,
                     build=lambda x, y, build=build: sp.dense_from_sparse(build(x, y), structured=False) ** 2),
            ]  # fmt: skip
    return found


def _diagonal(x: Variable, y: Variable, format: str = "csc") -> Variable:
    return sp.block_diag(csr(x), csc(y, *SHORT, (3, 2)), format=format)


_BLOCKS = np.block([[A, np.zeros((4, 2))], [np.zeros((3, 3)), S.T]])

CASES = [
    *_rows("hstack", sp.hstack, np.hstack),
    *_rows("vstack", sp.vstack, np.vstack),
    Case(id="sparse-hstack-mixed", inputs=[DATA, OTHER], expected=np.hstack([A, B]),
         build=lambda x, y: sp.hstack([_mixed(x), csr(y, INDICES, INDPTR)], "csr").toarray()),
    Case(id="sparse-hstack-data", inputs=[DATA, OTHER],
         expected=[1, 16, 1, 4, 9, 0.25, 0, 0.0625],
         build=lambda x, y: sp.csm_data(sp.hstack([csr(x), csr(y, INDICES, INDPTR)], "csr")) ** 2),
    value("sparse-hstack-indices", lambda x, y: sp.csm_indices(_pair(sp.hstack, csr, csr, format="csr")(x, y)),
          [DATA, OTHER], [2, 4, 3, 0, 1, 1, 2, 5]),
    value("sparse-hstack-indptr", lambda x, y: sp.csm_indptr(_pair(sp.hstack, csr, csr, format="csr")(x, y)),
          [DATA, OTHER], [0, 3, 5, 5, 8]),
    Case(id="sparse-hstack-dtypes", inputs=[DATA.astype("float32"), OTHER], expected=np.hstack([A, B]),
         build=lambda x, y: _pair(sp.hstack, csr, csr)(x, y).toarray()),
    Case(id="sparse-hstack-int", inputs=[DATA, np.arange(3, dtype="int8")], wrt=(0, 1), numeric=False,
         expected=np.hstack([A, dense_of(np.arange(3.0), INDICES, INDPTR)]),
         build=lambda x, y: _pair(sp.hstack, csr, csr)(x, y).toarray()),
    Case(id="sparse-vstack-as-int", inputs=[DATA, OTHER], numeric=False, expected=np.trunc(np.vstack([A, B])),
         build=lambda x, y: _pair(sp.vstack, csr, csr, dtype="int32")(x, y).toarray()),
    Case(id="sparse-vstack-three", inputs=[DATA, OTHER, OTHER[:2]], expected=np.vstack([A, B, S]),
         build=lambda x, y, z: sp.vstack([csr(x), csr(y, INDICES, INDPTR), csr(z, *SHORT, (2, 3))]).toarray()),
    Case(id="sparse-hstack-derivative", inputs=[DATA, OTHER], expected=3 * DATA**2,
         build=lambda x, y: grad(sum_over(_pair(sp.hstack, csc, csc)(x, y).toarray() ** 3), x)),
    Case(id="sparse-vstack-empty", inputs=[DATA, np.zeros(0)], expected=A,
         build=lambda x, y: sp.vstack([csr(x), csr(y, [], [0], (0, 3))]).toarray(), shows=("sparse/0-empty",)),
    Case(id="sparse-hstack-no-columns", inputs=[DATA, np.zeros(0)], expected=A,
         build=lambda x, y: sp.hstack([csr(x), csr(y, [], [0] * 5, (4, 0))], "csr").toarray()),
    *(
        Case(id=f"sparse-block-diag-{format}", inputs=[DATA, OTHER[:2]], expected=_BLOCKS,
             build=lambda x, y, format=format: _diagonal(x, y, format).toarray(), shows=("sparse/9-block_diag",))
        for format in ("csr", "csc")
    ),
    Case(id="sparse-block-diag-regular", inputs=[DATA, OTHER[:2]],
         build=lambda x, y: sp.dense_from_sparse(_diagonal(x, y), structured=False) ** 2, expected=_BLOCKS**2),
    Case(id="sparse-block-diag-dense", inputs=[DATA, B], ragged=True, numeric=False,
         expected=np.block([[A, np.zeros((4, 3))], [np.zeros((4, 3)), B]]) ** 2,
         build=lambda x, y: sp.block_diag(csr(x), y).toarray() ** 2),
]  # fmt: skip
