"""Splitting rules of sparse matrices of rows: their vectors, and the four linear ops along them."""

from __future__ import annotations

from typing import Any

from aotensor.splitting.merges import extent, pointwise, wide_sum
from aotensor.splitting.places import Crossing, Merge, Rows, Seen

_STORED = "it is stored along its other axis, so a chunk of rows is not a part of its vectors"
_BLOCKS = "it has rows of blocks, which a chunk of rows may cut"
_HINT = "csr for chunks of rows, csc for chunks of columns"


def _major(format: str) -> int:
    return 0 if format == "csr" else 1


def _check_stored(seen: Seen) -> None:
    matrix: Any = seen.node.inputs[0]
    if matrix.blocksize is not None:
        raise Crossing(_BLOCKS, "a csr argument, which has single rows")
    if seen.axis_of(0) != _major(matrix.format):
        raise Crossing(_STORED, _HINT)


def csm_properties(seen: Seen) -> Rows:
    """The values of the stored entries, their columns, the offset of each row, and the shape."""
    _check_stored(seen)
    over = seen.domain()
    entries = f"entries of {seen.node.inputs[0]}"
    return Rows((0,) * 4, (entries, entries, over, over), roles=("", "", "offsets", "shape"))


def matrix_extent(seen: Seen) -> Merge:
    """The number of rows, or of columns, which is the same in all chunks."""
    op: Any = seen.node.op
    _check_stored(seen)
    return extent(lambda xs: op(xs[0]), seen.domain() if op.axis == seen.axis_of(0) else "")


def matrix_shape(seen: Seen) -> Rows:
    """The extents of a chunk of a matrix."""
    domains = {seen.at[k].domain for k in seen.counts(0)} - {""}
    if len(domains) != 1:
        raise Crossing("both extents of the matrix count rows")
    return Rows((0,), (domains.pop(),), seen.counts(0), ("shape",))


def checked_structure(seen: Seen) -> Rows:
    """Vectors that are checked to be a matrix."""
    places = seen.at[:3]
    if any(not place.is_local for place in places):
        raise Crossing("the vectors of a matrix are in part those of all rows")
    return Rows((0,) * 3, tuple(x.domain for x in places), roles=tuple(x.role for x in places))


def csm(seen: Seen) -> Rows:
    """A matrix from the vectors of a chunk's rows."""
    op: Any = seen.node.op
    data, indices, indptr, shape = seen.at
    if not all(place.is_local for place in seen.at) or data.domain != indices.domain:
        raise Crossing("the vectors of the matrix are not those of rows")
    if (indptr.role, shape.role) != ("offsets", "shape"):
        raise Crossing("the vectors of the matrix are not those of rows")
    return Rows((_major(op.format),), (indptr.domain,))


def segment_sum(seen: Seen) -> Rows:
    """The sum of the stored entries of each row."""
    x, indptr, count = seen.at
    if x.axis != 0 or indptr.role != "offsets" or (count.role, count.domain) != ("count", indptr.domain):
        raise Crossing("entries are added up along other slices than the rows")
    return Rows((0,), (indptr.domain,), frozenset({2}))


def expand_slices(seen: Seen) -> Rows:
    """The value of each row repeated for its stored entries."""
    x, indptr, like = seen.at
    if x.axis != 0 or indptr.role != "offsets" or not like.is_local or x.domain != indptr.domain:
        raise Crossing("values are repeated along other slices than the rows")
    return Rows((0,), (like.domain,))


def take_at(seen: Seen) -> Rows:
    """Rows of a table at the columns of stored entries."""
    x, indices = seen.at
    if not x.is_local:
        return seen.rows(0)
    if x.axis == 0 or indices.is_local:
        raise Crossing("it reads rows of other chunks")
    return seen.rows(seen.axis_of(0))


def sum_at(seen: Seen) -> Rows | Merge:
    """Terms of stored entries summed by column: a sum over all rows."""
    op: Any = seen.node.op
    x, indices, count = seen.at
    if x.is_local and x.axis != 0 and not indices.is_local:
        return seen.rows(seen.axis_of(0))
    if not (x.is_local and indices.is_local) or count.is_local or (count.role == "count" and count.domain):
        raise Crossing("it adds terms to rows of other chunks")
    dtype = seen.node.outputs[0].dtype
    return pointwise("sum", lambda xs: op(*xs), dtype, wide_sum(dtype))
