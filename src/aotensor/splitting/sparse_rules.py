"""Splitting rules of sparse matrices of rows: their vectors, and the four linear ops along them."""

from __future__ import annotations

from typing import Any

from aotensor.splitting.merges import extent, pointwise, wide_sum
from aotensor.splitting.places import Merge, NodeView, NotSplittable, Rows

_STORED = "its storage order is along the other axis, so a chunk is not a contiguous part of its arrays"
_BLOCKS = "its rows are stored in blocks (bsr), which the border of a chunk may cut"
_HINT = "csr for chunks of rows, csc for chunks of columns"


def _major(format: str) -> int:
    return 0 if format == "csr" else 1


def _check_stored(view: NodeView) -> None:
    matrix: Any = view.node.inputs[0]
    if matrix.blocksize is not None:
        raise NotSplittable(_BLOCKS, "pass a csr matrix")
    if view.axis_of(0) != _major(matrix.format):
        raise NotSplittable(_STORED, _HINT)


def csm_properties(view: NodeView) -> Rows:
    """Rule of the vectors of a matrix with rows: stored values, columns, offsets of rows, shape."""
    _check_stored(view)
    over = view.domain()
    entries = f"entries of {view.node.inputs[0]}"
    return Rows((0,) * 4, (entries, entries, over, over), roles=("", "", "offsets", "shape"))


def matrix_extent(view: NodeView) -> Merge:
    """Rule of a matrix extent: the number of rows, or the number of columns, which is equal in all chunks."""
    op: Any = view.node.op
    _check_stored(view)
    return extent(lambda xs: op(xs[0]), view.domain() if op.axis == view.axis_of(0) else "")


def matrix_shape(view: NodeView) -> Rows:
    """Rule of the shape vector: the extents of a chunk."""
    domains = {view.at[k].domain for k in view.counts(0)} - {""}
    if len(domains) != 1:
        raise NotSplittable("both extents of the matrix are the number of rows")
    return Rows((0,), (domains.pop(),), view.counts(0), ("shape",))


def checked_structure(view: NodeView) -> Rows:
    """Rule of the structure check: a chunk checks its own vectors."""
    places = view.at[:3]
    if any(not place.is_local for place in places):
        raise NotSplittable("some of data, indices and indptr have all rows, others the rows of a chunk")
    return Rows((0,) * 3, tuple(x.domain for x in places), roles=tuple(x.role for x in places))


def csm(view: NodeView) -> Rows:
    """Rule of a matrix made of vectors: from the vectors of a chunk's rows."""
    op: Any = view.node.op
    data, indices, indptr, shape = view.at
    if not all(place.is_local for place in view.at) or data.domain != indices.domain:
        raise NotSplittable("data, indices, indptr and the shape do not all belong to the same rows of one matrix")
    if (indptr.role, shape.role) != ("offsets", "shape"):
        raise NotSplittable("data, indices, indptr and the shape do not all belong to the same rows of one matrix")
    return Rows((_major(op.format),), (indptr.domain,))


def segment_sum(view: NodeView) -> Rows:
    """Rule of sums of the stored entries of each row: per row."""
    x, indptr, count = view.at
    if x.axis != 0 or indptr.role != "offsets" or (count.role, count.domain) != ("count", indptr.domain):
        raise NotSplittable("it adds the stored entries in groups other than the rows")
    return Rows((0,), (indptr.domain,), frozenset({2}))


def expand_slices(view: NodeView) -> Rows:
    """Rule of values of rows repeated for their stored entries: per entry."""
    x, indptr, like = view.at
    if x.axis != 0 or indptr.role != "offsets" or not like.is_local or x.domain != indptr.domain:
        raise NotSplittable("it repeats values over groups of stored entries other than the rows")
    return Rows((0,), (like.domain,))


def take_at(view: NodeView) -> Rows:
    """Rule of reads of a global table at the columns of stored entries: per entry."""
    x, indices = view.at
    if not x.is_local:
        return view.rows(0)
    if x.axis == 0 or indices.is_local:
        raise NotSplittable("it reads rows by stored indices, which may be in other chunks")
    return view.rows(view.axis_of(0))


def sum_at(view: NodeView) -> Rows | Merge:
    """Rule of terms of stored entries summed by column: a sum over all rows."""
    op: Any = view.node.op
    x, indices, count = view.at
    if x.is_local and x.axis != 0 and not indices.is_local:
        return view.rows(view.axis_of(0))
    if not (x.is_local and indices.is_local) or count.is_local or (count.role == "count" and count.domain):
        raise NotSplittable("it adds to rows by stored indices, which may be in other chunks")
    dtype = view.node.outputs[0].dtype
    return pointwise("sum", lambda xs: op(*xs), dtype, wide_sum(dtype))
