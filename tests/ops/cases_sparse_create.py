"""Matrices of rows at given places, the gradient of data as an op, and matrices with fewer entries, by their data."""

from __future__ import annotations

import numpy as np
from case import NAN, Case, value
from cases_sparse_convert import DATA, DOUBLE, csc, csr, dense_of

import aotensor.sparse as sp
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.sums import sum as sum_over

VALUES = np.array([[1.0, 0.0, -2.0], [0.5, 3.0, 4.0], [2.0, -1.0, 1.5]])
ROWS = np.array([2, 0, 2])
PLACED = np.array([[0.5, 3, 4], [0, 0, 0], [3, -1, -0.5], [0, 0, 0]])
TEMPLATE = np.zeros((4, 3))
PATTERN = [np.array(x, "int32") for x in ([2, 0, 1, 1, 2], [0, 1, 3, 3, 5], [4, 3])]
OTHER = [np.array(x, "int32") for x in ([1, 0, 2], [0, 0, 2, 2, 3], [4, 3])]
G = np.array([10.0, 20.0, 30.0])


UNSORTED = ([2, 2, 0, 1], [0, 3, 3, 4])
"""3×3 with a place that comes twice, a row out of order and an empty one."""


def _square(dense: np.ndarray, is_transposed: bool) -> np.ndarray:
    return (dense.T if is_transposed else dense) ** 2


def _placed(values: Variable, rows: Variable) -> Variable:
    return sp.construct_sparse_from_list(TEMPLATE, values, rows)  # type: ignore[no-any-return]


def _csm_grad(g: Variable) -> Variable:
    return sp.csm_grad(DATA, *PATTERN, g, *OTHER)  # type: ignore[no-any-return]


def _sorted(data: Variable, indices: list[int]) -> Variable:
    return sp.ensure_sorted_indices(csr(data, indices, [0, 3], (1, 3)))


CONSTRUCT = [
    Case(id="construct-sparse", build=lambda values: _placed(values, ROWS).toarray(), inputs=[VALUES], expected=PLACED,
         shows=("sparse/2-construct_sparse_from_list", "sparse/14-construct")),
    Case(id="construct-sparse-rows", build=lambda v, rows: _placed(v, rows).toarray() ** 2, inputs=[VALUES, ROWS],
         wrt=(0,), ragged=True, expected=PLACED**2),
    Case(id="construct-sparse-regular", inputs=[VALUES],
         build=lambda v: sp.dense_from_sparse(_placed(v, ROWS), structured=False) ** 2, expected=PLACED**2),
    Case(id="construct-sparse-derivative", build=lambda v: grad(sum_over(_placed(v, ROWS).toarray() ** 3), v),
         inputs=[VALUES], expected=3 * PLACED[ROWS] ** 2),
    value("construct-sparse-float32", lambda v: _placed(v, np.array([], "int32")).toarray(),
          [np.zeros((0, 3), "float32")], np.zeros((4, 3), "float32")),
    value("construct-sparse-no-columns", lambda v: sp.construct_sparse_from_list(np.zeros((2, 0)), v, ROWS).toarray(),
          [np.zeros((3, 0))], np.zeros((2, 0))),
]  # fmt: skip

CSM_GRAD = [
    Case(id="csm-grad", build=_csm_grad, inputs=[G], expected=[0, 20, 10, 0, 30], shows=("sparse/2-CSMGrad",)),
    Case(id="csm-grad-derivative", build=lambda g: grad(sum_over(_csm_grad(g) ** 3), g), inputs=[G], expected=3 * G**2),
]

CLEAN = [
    *(
        Case(id=f"sparse-{op.__name__.replace('_', '-')}-{make.__name__}", inputs=[DATA[:4]], numeric=False,
             ragged=ragged, shows=(f"sparse/2-{op.__name__}",),
             build=lambda x, op=op, make=make: op(make(x, *UNSORTED, (3, 3))).toarray() ** 2,
             expected=_square(dense_of(DATA[:4], *UNSORTED, (3, 3)), make is csc))
        for op, ragged in ((sp.remove0, True), (sp.clean, True), (sp.ensure_sorted_indices, False))
        for make in (csr, csc)
    ),
    value("sparse-remove0-parts", lambda x: sp.csm_indices(sp.remove0(csr(x))), [DATA], [2, 0, 1, 1], ragged=True),
    value("sparse-remove0-nan", lambda x: sp.csm_data(sp.eliminate_zeros(csr(x))), [np.array([NAN, 0, -0.0, 1, 0])],
          [NAN, 1], ragged=True),
    value("sparse-remove0-apart", lambda x: sp.csm_data(sp.remove0(csr(x, *DOUBLE))), [np.array([1.0, -1.0, 0.0])],
          [1, -1], ragged=True),
    value("sparse-clean-merges", lambda x: sp.csm_data(sp.clean(csr(x, *DOUBLE))), [np.array([1.0, -1.0, 2.0])], [2],
          ragged=True),
    value("sparse-clean-none-left", lambda x: sp.clean(csr(x, *DOUBLE)).toarray(), [np.zeros(3)], np.zeros((2, 3)),
          ragged=True),
    Case(id="sparse-sorted-data", build=lambda x: sp.csm_data(_sorted(x, [2, 0, 1])), inputs=[G],
         expected=[20, 30, 10]),
    value("sparse-sorted-duplicates", lambda x: sp.csm_data(_sorted(x, [2, 0, 0])), [G], [20, 30, 10]),
    value("sparse-sorted-indices", lambda x: sp.csm_indices(_sorted(x, [2, 0, 0])), [G], [0, 0, 2]),
    Case(id="sparse-remove0-derivative", numeric=False, ragged=True, inputs=[DATA],
         build=lambda x: grad(sum_over(sp.remove0(csr(x)).toarray() ** 3), x), expected=3 * DATA**2),
    value("sparse-clean-int16", lambda x: sp.clean(csc(x)).toarray(), [np.arange(5, dtype="int16")],
          dense_of(np.arange(5, dtype="int16")).T, ragged=True),
]  # fmt: skip

CASES = CONSTRUCT + CSM_GRAD + CLEAN
