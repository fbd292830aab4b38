"""Ops on sparse matrices, most of which have the same names here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.pytensor.rules import Walk, rows, rule

_SAME: Final[Mapping[str, Callable[..., Any]]] = {
    "CSMProperties": sp.csm_properties, "GetItemList": sp.get_item_list,
    "GetItemListGrad": sp.get_item_list_grad, "GetItem2Lists": sp.get_item_2lists,
    "GetItem2ListsGrad": sp.get_item_2lists_grad, "GetItemScalar": sp.get_item_scalar,
    "Transpose": sp.transpose, "ColScaleCSC": sp.col_scale, "RowScaleCSC": sp.row_scale, "Diag": sp.diag,
    "EnsureSortedIndices": sp.ensure_sorted_indices, "Remove0": sp.remove0,
    "AddSS": sp.add_s_s, "AddSSData": sp.add_s_s_data, "AddSD": sp.add_s_d, "StructuredAddSV": sp.structured_add_s_v,
    "SparseSparseMultiply": sp.mul_s_s, "SparseDenseMultiply": sp.mul_s_d, "SparseDenseVectorMultiply": sp.mul_s_v,
    "TrueDot": sp.true_dot, "StructuredDot": sp.structured_dot, "SamplingDot": sp.sampling_dot, "Dot": sp.dot,
    "Usmm": sp.usmm, "StructuredDotGradCSC": sp.sdg_csc, "StructuredDotGradCSR": sp.sdg_csr,
    "CSMGrad": sp.csm_grad, "SquareDiagonal": sp.square_diagonal,
    "EqualSS": sp.equal_s_s, "EqualSD": sp.equal_s_d, "NotEqualSS": sp.not_equal_s_s, "NotEqualSD": sp.not_equal_s_d,
    "LessThanSS": sp.less_than_s_s, "LessThanSD": sp.less_than_s_d, "GreaterThanSS": sp.greater_than_s_s,
    "GreaterThanSD": sp.greater_than_s_d, "LessEqualSS": sp.less_equal_s_s, "LessEqualSD": sp.less_equal_s_d,
    "GreaterEqualSS": sp.greater_equal_s_s, "GreaterEqualSD": sp.greater_equal_s_d,
}  # fmt: skip
"""Class → function of the same operands."""

rows({
    **{f"sparse.{name}": lambda op, *inputs: _SAME[type(op).__name__](*inputs) for name in _SAME},
    "sparse.Cast": lambda op, x: sp.cast(x, op.out_type),
    "sparse.DenseFromSparse": lambda op, x: sp.dense_from_sparse(x, structured=bool(op.sparse_grad)),
    "sparse.SparseFromDense": lambda op, x: (sp.csr_from_dense if op.format == "csr" else sp.csc_from_dense)(x),
    "sparse.SpSum": lambda op, x: sp.sp_sum(x, axis=op.axis),
    "sparse.HStack": lambda op, *blocks: sp.hstack(blocks, op.format, op.dtype),
    "sparse.VStack": lambda op, *blocks: sp.vstack(blocks, op.format, op.dtype),
})  # fmt: skip


@rule("sparse.CSM")
def csm(walk: Walk, node: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """A compressed matrix of data, indices and indptr."""
    maker = {"csc": sp.CSC, "csr": sp.CSR}.get(node.op.format)
    if maker is None:
        raise Unsuited(f"its format is {node.op.format!r}, not csr or csc")
    return maker(data, indices, indptr, shape)


@rule("sparse.GetItem2d")
def get_item_2d(walk: Walk, node: Any, x: Any, *bounds: Any) -> Any:
    """A range of rows and of columns."""
    numbers = [getattr(bound, "data", bound) for bound in bounds]
    cut = [
        None if bound is None else int(n) if hasattr(n, "item") else bound
        for n, bound in zip(numbers, bounds, strict=True)
    ]
    return sp.get_item_2d(x, slice(*cut[:3]), slice(*cut[3:]))


@rule("sparse.ConstructSparseFromList")
def construct_from_list(walk: Walk, node: Any, shape: Any, values: Any, places: Any) -> Any:
    """A matrix with the rows of `values` at `places`; rows at a repeated place are added."""
    n, columns = values.shape
    indices = at.tile(places, (columns,))
    return sp.CSC(at.flatten(at.transpose(values)), indices, n * at.arange(columns + 1), shape)
