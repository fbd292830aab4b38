"""The product of two sparse matrices in one pass over its terms, which leaves rows in the order that they come in.

Columns and values of a row are filled in together: a workspace says where in the result each column is, so a term is
added to what is there, or opens a new entry (Gustavson 1978). Sorting costs more than that, so it is left to
`canonical`, which makes the sorted product instead where it is asked for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.op import Apply, connected, disconnected, sum_terms
from aotensor.graph.operands import is_complex
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.complex.parts import as_factor, join_parts, parts
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import add, sub
from aotensor.ops.shape.extents import extent_of
from aotensor.sparse.checks import lowered_sums
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import UnsortedMatrix, slices_of
from aotensor.sparse.patterns_product import (
    ENTRIES,
    ProductPattern,
    ProductValues,
    by_slices,
    check_inner,
    lowered_inner,
    nondifferentiable_of,
    triples,
)


@frozen_dataclass
class SparseProduct(UnsortedMatrix):
    """(indices, indptr, minor of p, then of q, x, y) → (data, indices, indptr) of p·q, in compressed rows.

    x, y: the values of p and of q, (nnz,), of one dtype, which is that of data; with complex values others are of the
    dtype of their parts. Every entry that some k has comes once, in the order of the first terms. q is canonical.

    Raises: GraphTypeError for values of two dtypes; GraphValueError at run time if q has not as many rows as p has
    columns.
    """

    name: ClassVar[str] = "sparse_product"
    takes_complex: ClassVar[bool] = True
    sees_discrete: ClassVar[bool] = False

    def infer_type(self, *types: TensorType) -> tuple[TensorType, ...]:
        ip, pp, _, iq, pq, _, x, y = types
        if dtypes.part_of(x.dtype) != dtypes.part_of(y.dtype) or {x.rank, y.rank} != {1}:
            raise GraphTypeError(f"{self.name}: expected vectors of values of one dtype, found {x} and {y}")
        dtype = self.index_dtype(ip, pp, iq, pq)
        values = TensorType(dtypes.promote(x.dtype, y.dtype), (None,))
        return values, TensorType(dtype, (None,)), TensorType(dtype, pp.shape)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        ip, pp, inner, iq, pq, _, x, y = inputs
        check_inner(inner, pq)
        p, q = triples(ip, pp, pq)
        indices, indptr, at = entries_by_first_term(slices_of(pp)[p], iq[q], len(pp) - 1)
        data = np.zeros(len(indices), np.result_type(x, y))
        with np.errstate(all="ignore"):
            np.add.at(data, at, x[p] * y[q])
        return data, indices, indptr

    def in_order(self, node: Apply) -> tuple[Variable, ...]:
        ip, pp, inner, iq, pq, minor, x, y = node.inputs
        indices, indptr = ProductPattern()(ip, pp, inner, iq, pq, minor)
        return _values("product_values", node, indices, indptr, x, y), indices, indptr

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        *nondifferentiable, x, y = inputs
        none, ct = [disconnected() for _ in nondifferentiable], cotangents[0]
        node, (_, indices, indptr) = outputs[0].owner, outputs
        return [
            *none,
            _values("product_left", node, indices, indptr, ct, y),
            _values("product_right", node, indices, indptr, x, ct),
        ]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        *_, x, y = inputs
        none = [disconnected(), disconnected()]
        pairs = [(x, t) if k else (t, y) for k, t in connected(tangents[-2:]).items()]
        node, (_, indices, indptr) = outputs[0].owner, outputs
        return [sum_terms([_values("product_values", node, indices, indptr, a, b) for a, b in pairs], add), *none]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [*([False] * 3 for _ in node.inputs[:-2]), *([True, False, False] for _ in range(2))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        *nondifferentiable, x, y = inputs
        check_nondifferentiable(self, is_batched[:-2], first=0)
        one = self._zero_node(nondifferentiable, x, y)  # its pattern is that of all samples
        _, indices, indptr = one.outputs
        return [_values("product_values", one, indices, indptr, x, y), indices, indptr]

    def without_values(self, node: Apply) -> Sequence[Variable] | None:
        *nondifferentiable, x, y = node.inputs
        return [node.outputs[0], *self._zero_node(nondifferentiable, x, y).outputs[1:]]

    def _zero_node(self, nondifferentiable: Sequence[Variable], x: Variable, y: Variable) -> Apply:
        """The node for the product of matrices of stored zeros, which has the same pattern."""
        entries = ((nondifferentiable[0], x.dtype), (nondifferentiable[3], y.dtype))
        return self.apply(*nondifferentiable, *(zeros((extent_of(indices, 0),), dtype) for indices, dtype in entries))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The outputs for complex values: the pattern with the product of real parts, other products on this
        pattern.
        """
        *nondifferentiable, x, y = inputs
        if not is_complex(x) and not is_complex(y):
            return None
        (u, *v), (s, *t) = (parts(z) if is_complex(z) else (z,) for z in (x, y))
        node = self.apply(*nondifferentiable, u, s)
        re, indices, indptr = node.outputs
        vt, ut, vs = (
            [_values("product_values", node, indices, indptr, a, b) for a in first for b in second]
            for first, second in ((v, t), ([u], t), (v, [s]))
        )
        return [join_parts(sub(re, *vt) if vt else re, sum_terms([*ut, *vs], add)), indices, indptr]

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> tuple[Tensor, ...]:
        ip, pp, inner, iq, pq, minor, x, y = inputs
        lowered_inner(b, inner, pq)
        v, dtype = b.scalars, dtypes.promote(ip.dtype, pp.dtype, iq.dtype, pq.dtype)
        extent = v.cast(b.item(minor), dtypes.INDEX)
        (indptr,) = b.pattern("product_count", [ip, pp, iq, pq], [extent], [(dtype, pp.extents)])
        lowered_sums(b, indptr, ENTRIES)
        nnz = v.cast(v.load(indptr, pp.extents[0] - 1), dtypes.INDEX)
        operands, results = [ip, pp, iq, pq, indptr, x, y], [(dtype, (nnz,)), (x.dtype, (nnz,))]
        indices, data = b.pattern("product_rows", operands, [extent], results)
        return data, indices, indptr


def entries_by_first_term(rows: Array, columns: Array, count: int) -> tuple[Array, Array, Array]:
    """(indices, indptr) of the distinct coordinates, in the order of their first term in each row; the entry of each
    term.

    rows: sorted. count: of the rows.
    """
    width = int(columns.max(initial=0)) + 1
    found, first, inverse = np.unique(rows * width + columns, return_index=True, return_inverse=True)
    order = np.argsort(first)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(found // width, minlength=count))])
    return found[order] % width, indptr, ranks[inverse]


def _values(kind: str, node: Apply | None, indices: Variable, indptr: Variable, x: Variable, y: Variable) -> Variable:
    """The op ProductValues of a kind, for the factors of a product node and the given pattern of the product."""
    assert node is not None
    ip, pp, inner, iq, pq, minor, *_ = node.inputs
    op = ProductValues(kind, is_whole=True)
    return op(ip, pp, iq, pq, indices, indptr, inner, minor, x, y)  # type: ignore[no-any-return]


def sparse_product(p: Compressed, q: Compressed) -> Compressed:
    """The matrix p·q in the format of p, not sorted, no duplicates; differentiable with respect to both data vectors.

    Raises: GraphValueError at run time if q has not as many rows as p has columns.
    """
    left, right = by_slices(p, q)
    dtype = dtypes.promote(p.data.dtype, q.data.dtype)
    op = SparseProduct()
    data, indices, indptr = op(
        *nondifferentiable_of(left, right), as_factor(left.data, dtype), as_factor(right.data, dtype)
    )
    return replace(p, data=data, indices=indices, indptr=indptr, columns=q.columns, dims=(p.dims[0], q.dims[1]),
                   is_canonical=False)  # fmt: skip
