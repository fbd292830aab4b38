"""Ops on sparse matrices that work row by row: a chunk applies the whole op, which is not expanded before the split.

A + B, A∘B    A + X, A∘X    A[:, 2:]    csr_from_dense(X)    remove0(A)    sampling_dot(X, W, A)    A @ M    AᵀA: a sum

Their expansions count the stored entries of all rows, or merge patterns, which no rule of a smaller op can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from aotensor.graph.op import Apply
from aotensor.sparse.arithmetic.add import AddSD
from aotensor.sparse.arithmetic.multiply import MulSD
from aotensor.sparse.arithmetic.operands import Canonical
from aotensor.sparse.arithmetic.pairs import PairOp
from aotensor.sparse.construct.cleanup import Canonical as Merged
from aotensor.sparse.construct.cleanup import Remove0
from aotensor.sparse.convert import SparseFromDense
from aotensor.sparse.index.windows import Submatrix
from aotensor.sparse.product.dots import Dot
from aotensor.sparse.product.sampling import SamplingDot
from aotensor.sparse.product.sparse_result import TrueDot
from aotensor.splitting.merges import pointwise, wide_sum
from aotensor.splitting.places import Merge, NodeView, NotSplittable, Rows

_CSR: Final = "csr matrices, whose rows are stored one after the other"


def is_row_wise(node: Apply) -> bool:
    """Is a node split as a whole? Products with a dense factor are expanded, which fuses them with what follows."""
    op = type(node.op)
    if op in (Dot, TrueDot):
        return all(x.is_sparse for x in node.inputs)
    return op in ROW_WISE or isinstance(node.op, PairOp)


def _check_rows(view: NodeView, k: int) -> None:
    """Raises: NotSplittable unless an input has rows along its first axis, stored as such."""
    x: Any = view.node.inputs[k]
    if x.is_sparse and (x.type.format != "csr" or x.type.blocksize is not None):
        raise NotSplittable(f"{x} is {x.type.format}, not csr: a chunk of rows is not a contiguous part of it", _CSR)
    if view.at[k].axis != 0 or not view.at[k].has_rows:
        raise NotSplittable(f"dim {view.over} is not the first axis of {x}")


def _by_rows(view: NodeView) -> Rows:
    """Rule of ops on operands with rows, and dense operands that are equal for all rows."""
    for k, x in enumerate(view.node.inputs):
        if view.at[k].is_local:
            _check_rows(view, k)
        elif x.ndim == 2 and not x.broadcastable[0]:
            raise NotSplittable(f"{x} is not known to have the rows of dim {view.over}", f"name its dim {view.over}")
    _check_result(view)
    return view.rows(0)


def _check_result(view: NodeView) -> None:
    y: Any = view.node.outputs[0]
    if y.is_sparse and y.type.format != "csr":
        raise NotSplittable(f"its result is {y.type.format}, not csr", _CSR)


def _columns(view: NodeView) -> Rows:
    op: Any = view.node.op
    if 0 in op.axes:
        raise NotSplittable(
            "it indexes the rows by position, and a chunk has only a part of them",
            "give it all rows, [:], or a weight of 0",
        )
    if any(place.is_local for place in view.at[1:]):
        raise NotSplittable("its column indices are computed from the rows, so they differ from chunk to chunk")
    _check_rows(view, 0)
    return view.rows(0)


def _sampling_dot_rule(view: NodeView) -> Rows:
    """Rule of p∘(d·eᵀ): rows of d and p, with a global e."""
    if view.at[1].is_local or not view.at[0].is_local or not view.at[2].is_local:
        raise NotSplittable(
            "its first dense factor and its pattern do not both have the rows, or its second factor has them too"
        )
    for k in (0, 2):
        _check_rows(view, k)
    return view.rows(0)


def _product(view: NodeView) -> Rows | Merge:
    """Rule of sparse products: A·M per row, Aᵀ·B as a sum over rows."""
    (left, right), op = view.at, view.node.op
    if left.axis == 0 and not right.is_local:
        _check_rows(view, 0)
        return view.rows(0)
    if left.axis != 1 or right.axis != 0:
        raise NotSplittable("each element of the product needs all rows")
    if isinstance(op, TrueDot):
        raise NotSplittable(
            "the pattern of a sum of sparse products depends on all rows", "A.T @ B, whose result is dense"
        )
    view.domain()
    dtype = view.node.outputs[0].dtype
    return pointwise("sum", lambda xs: op(*xs), dtype, wide_sum(dtype))


ROW_WISE: Final[Mapping[type, Callable[[NodeView], Rows | Merge]]] = {
    AddSD: _by_rows,
    Canonical: _by_rows,
    Dot: _product,
    MulSD: _by_rows,
    Merged: _by_rows,
    PairOp: _by_rows,
    Remove0: _by_rows,
    SamplingDot: _sampling_dot_rule,
    SparseFromDense: _by_rows,
    Submatrix: _columns,
    TrueDot: _product,
}
"""Rules of these ops."""
