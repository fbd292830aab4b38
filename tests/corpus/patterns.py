"""Sparse matrices in parts: patterns that come from values, compared, united and multiplied."""

from __future__ import annotations

import aotensor.tensor as at
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.shape.extents import extents_of
from aotensor.sparse.compressed_axes import TakePresent
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import on_intersection, on_union, other_format, positions_in
from aotensor.sparse.sample import densified
from aotensor.sparse.sparse_product import sparse_product
from corpus.program import InOut, matrix, program


def positive(x: Variable) -> Compressed:
    """The positive elements of a matrix."""
    mask = x > 0
    rows, columns = at.nonzero(mask)
    lengths = at.cast(mask, "int64").sum(axis=1)
    indptr = at.concatenate([at.zeros([1], "int64"), at.cumsum(lengths)])
    return Compressed("csr", x[rows, columns], columns, indptr, *extents_of(x), (None, None), is_canonical=True)


@program
def sparse_products() -> InOut:
    x, y = matrix("x", "n", "m"), matrix("y", "m", "k")
    product = sparse_product(positive(x), other_format(positive(y)))
    return [x, y], [densified(product), grad((product.data**2).sum(), x)]


@program
def sparse_patterns() -> InOut:
    x, y = matrix("x", "n", "m"), matrix("y", "n", "m")
    p, q = positive(x), positive(y)
    common, (left, right) = TakePresent()(q.data, positions_in(p, q)), on_union(p, q)
    both = [m.data for m in on_intersection(p, q)]
    sums = [(common * p.data).sum(), (left.data + 2 * right.data).sum(), (both[0] * both[1]).sum()]
    return [x, y], [densified(other_format(p)), *sums]
