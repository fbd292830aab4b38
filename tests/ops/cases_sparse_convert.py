"""Sparse to dense and back, transposes, casts: rows from a data vector on a constant pattern to a tensor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from case import NAN, Case, value

import aotensor.sparse as sp
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.sparse.convert import stored_everywhere

M = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
DATA = np.array([1.0, 2.0, 3.0, 0.5, -0.0])
INDICES, INDPTR = [2, 0, 1, 1, 2], [0, 1, 3, 3, 5]
"""csr of 4×3 with an unsorted row, an empty one, and a stored zero; csc of 3×4."""
DOUBLE = ([1, 1, 0], [0, 2, 3], (2, 3))
"""2×3 with duplicate entries."""


def csr(data: Variable, indices: Any = INDICES, indptr: Any = INDPTR, shape: Any = (4, 3)) -> Variable:
    return sp.CSR(data, np.array(indices, "int32"), np.array(indptr, "int32"), shape)  # type: ignore[no-any-return]


def csc(data: Variable, indices: Any = INDICES, indptr: Any = INDPTR, shape: Any = (3, 4)) -> Variable:
    return sp.CSC(data, np.array(indices, "int32"), np.array(indptr, "int32"), shape)  # type: ignore[no-any-return]


def dense_of(data: np.ndarray, indices: Any = INDICES, indptr: Any = INDPTR, shape: Any = (4, 3)) -> np.ndarray:
    result = np.zeros(shape, data.dtype)
    for row, (start, stop) in enumerate(pairwise(indptr)):
        np.add.at(result[row], np.array(indices[start:stop], "int64"), data[start:stop])
    return result


def _derivative(build: Callable[..., Variable]) -> Callable[..., Variable]:
    """The gradient of the sum of cubes: its own derivatives are second ones."""
    return lambda x: grad(sum_over(build(x) ** 3), x)


def _scipy(data: np.ndarray, format: str) -> Any:
    """The matrix of `csr` or `csc`, as SciPy's."""
    make = scipy.sparse.csr_matrix if format == "csr" else scipy.sparse.csc_matrix
    return make((data, INDICES, INDPTR), (4, 3) if format == "csr" else (3, 4))


def _dense(m: Any) -> np.ndarray:
    return np.asarray(m.toarray())


def _both(id: str, build: Callable[[Variable], Variable], expected: Callable[[Any], Any], **options: Any) -> list[Case]:
    """A row for data of csr, and one for csc.   expected: of SciPy's matrix"""
    return [
        Case(id=f"{id}-{format}", build=lambda data, make=make: build(make(data)), inputs=[DATA],
             expected=expected(_scipy(DATA, format)), **options)
        for format, make in (("csr", csr), ("csc", csc))
    ]  # fmt: skip


DENSE = [
    *_both("dense-from-sparse", sp.dense_from_sparse, _dense, shows=("sparse/3-dense_from_sparse",)),
    *_both("dense-from-sparse-regular", lambda x: sp.dense_from_sparse(x, structured=False), _dense),
    *_both("toarray", lambda x: x.todense(), _dense, shows=("sparse/3-toarray",)),
    value("dense-from-sparse-value", lambda data: csr(data).toarray(), [DATA], dense_of(DATA)),
    value("dense-from-sparse-int8", lambda data: csc(data).toarray(), [np.arange(5, dtype="int8")],
          dense_of(np.arange(5, dtype="int8")).T),
    Case(id="dense-from-sparse-float32", build=lambda data: csr(data).toarray(), inputs=[DATA.astype("float32")],
         expected=dense_of(DATA)),
    Case(id="dense-from-sparse-duplicates", build=lambda data: csr(data, *DOUBLE).toarray(),
         inputs=[np.array([2.0, 3.0, 4.0])], expected=[[0, 5, 0], [4, 0, 0]], shows=("sparse/0-duplicates",)),
    Case(id="dense-from-sparse-duplicates-derivative", build=_derivative(lambda data: csr(data, *DOUBLE).toarray()),
         inputs=[np.array([2.0, 3.0, 4.0])], expected=[75, 75, 48]),
    Case(id="dense-from-sparse-as-many-entries-as-rows", inputs=[DATA[:4]],
         expected=[[0] * 4, [2, 0, 0, 1], [0] * 4, [0, 3, 0.5, 0]],
         build=lambda data: csr(data, [3, 0, 1, 2], [0, 0, 2, 2, 4], (4, 4)).toarray()),
    Case(id="dense-from-sparse-empty", build=lambda data: csr(data, [], [0] * 3, (2, 0)).toarray(),
         inputs=[np.zeros(0)], expected=np.zeros((2, 0)), shows=("sparse/0-empty",)),
    Case(id="dense-from-sparse-no-rows", build=lambda data: csr(data, [], [0], (0, 3)).toarray(), inputs=[np.zeros(0)],
         expected=np.zeros((0, 3))),
    Case(id="dense-from-sparse-derivative", build=_derivative(lambda data: csr(data).toarray()), inputs=[DATA],
         expected=3 * DATA**2),
]  # fmt: skip

FROM_DENSE = [
    Case(
        id=f"sparse-from-dense-{name}-{kind}",
        build=lambda x, make=make, structured=structured: make(x, structured=structured).toarray() ** 2,
        inputs=[M + 1 if kind == "full" else M],
        expected=(M + 1 if kind == "full" else M) ** 2,
        numeric=kind == "full",
        ragged=True,
        shows=("sparse/3-csr_from_dense",),
    )
    for name, make in (("csr", sp.csr_from_dense), ("csc", sp.csc_from_dense))
    for kind, structured in (("full", False), ("zeros", True))
] + [
    value("csr-from-dense-parts", lambda x: sp.csm_properties(sp.csr_from_dense(x))[:3], [M],
          ([1.0, 2.0, 3.0], [1, 0, 2], [0, 1, 3]), ragged=True),
    value("csc-from-dense-data", lambda x: sp.csm_data(sp.csc_from_dense(x)), [M], [2.0, 1.0, 3.0], ragged=True),
    value("csc-from-dense-indices", lambda x: sp.csm_indices(sp.csc_from_dense(x)), [M], [1, 0, 1], ragged=True),
    value("csc-from-dense-indptr", lambda x: sp.csm_indptr(sp.csc_from_dense(x)), [M], [0, 1, 2, 3]),
    value("csr-from-dense-nan", lambda x: sp.csm_data(sp.csr_from_dense(x)), [np.array([[NAN, -0.0, 0.0, 1.0]])],
          [NAN, 1.0], ragged=True, shows=("sparse/0-stored-nan",)),
    value("csr-from-dense-vector", lambda x: sp.csr_from_dense(x).toarray(), [np.array([1.0, 0.0])], [[1.0, 0.0]],
          ragged=True),
    value("csr-from-dense-scalar", lambda x: sp.csr_from_dense(x).toarray(), [np.array(2.0)], [[2.0]], ragged=True),
    value("csr-from-dense-int16", lambda x: sp.csr_from_dense(x).toarray(), [M.astype("int16")], M, ragged=True),
    value("csr-from-dense-empty", lambda x: sp.csr_from_dense(x).toarray(), [np.zeros((0, 3))], np.zeros((0, 3)),
          ragged=True),
]  # fmt: skip

EVERYWHERE = [
    Case(
        id=f"stored-everywhere-{format}",
        build=lambda x, format=format: sp.csm_data(stored_everywhere(x, format)) ** 2,
        inputs=[np.arange(6.0).reshape(2, 3)],
        expected=np.arange(6.0).reshape(2, 3).ravel(order) ** 2,
    )
    for format, order in (("csr", "C"), ("csc", "F"))
]

TRANSPOSE = [
    *_both("sparse-transpose", lambda x: x.T.toarray(), lambda m: m.toarray().T, shows=("sparse/4-transpose",)),
    value("sparse-transpose-value", lambda data: csr(data).transpose().toarray(), [DATA], dense_of(DATA).T),
    Case(
        id="sparse-transpose-derivative",
        build=_derivative(lambda data: csr(data).T.toarray()),
        inputs=[DATA],
        expected=3 * DATA**2,
    ),
]

CASTS = [
    *_both("sparse-cast-float32", lambda x: sp.fcast(x).toarray(), _dense, shows=("sparse/3-casts",), rtol=1e-7,
           numeric=False, reason="float32 in between"),
    Case(id="sparse-cast-from-float32", build=lambda data: sp.dcast(csr(data)).toarray() ** 2,
         inputs=[DATA.astype("float32")], expected=dense_of(DATA**2)),
    Case(id="sparse-cast-to-int16", build=lambda data: csr(data).astype("int16").toarray(), inputs=[DATA * 3.5],
         numeric=False, expected=dense_of((DATA * 3.5).astype("int16")), shows=("sparse/3-cast",)),
    value("sparse-cast-saturates", lambda data: sp.csm_data(sp.bcast(csc(data))),
          [np.array([NAN, 1e9, -1e9, 2.7, -2.7])], [0, 127, -128, 2, -2]),
    value("sparse-cast-from-int", lambda data: sp.lcast(csr(data)).astype("float32").toarray(),
          [np.arange(5, dtype="int8")], dense_of(np.arange(5.0))),
    Case(id="sparse-cast-through-int", build=lambda data: sp.dcast(sp.icast(csr(data))).toarray() ** 2, inputs=[DATA],
         numeric=False, expected=dense_of(np.trunc(DATA) ** 2)),
]  # fmt: skip

REFORMAT = [
    *_both("sparse-reformat-csc", lambda x: sp.csm_data(sp.csc_from_dense(x)) ** 2, lambda m: m.tocsc().data ** 2,
           shows=("sparse/3-csr_from_dense",)),
    *_both("sparse-reformat-csr", lambda x: sp.csr_from_dense(x).toarray() ** 2, lambda m: m.toarray() ** 2),
    Case(id="sparse-reformat-derivative", build=_derivative(lambda data: sp.csc_from_dense(csr(data)).toarray()),
         inputs=[DATA], expected=3 * DATA**2),
    Case(id="sparse-reformat-duplicates", build=lambda data: sp.csc_from_dense(csr(data, *DOUBLE)).toarray(),
         inputs=[np.array([2.0, 3.0, 4.0])], expected=[[0, 5, 0], [4, 0, 0]]),
    value("sparse-reformat-indices", lambda data: sp.csm_indices(sp.csc_from_dense(csr(data))), [DATA],
          [1, 1, 3, 0, 3]),
    value("sparse-reformat-empty", lambda data: sp.csc_from_dense(csr(data, [], [0], (0, 3))).toarray(), [np.zeros(0)],
          np.zeros((0, 3))),
    value("sparse-cast-duplicates", lambda data: sp.csm_data(csr(data, *DOUBLE).astype("int8")),
          [np.array([0.6, 0.6, 2.7])], [1, 2]),
]  # fmt: skip

CASES = DENSE + FROM_DENSE + EVERYWHERE + TRANSPOSE + CASTS + REFORMAT
