"""NumPy semantics of `aot.pattern`, kind by kind; the results are also those of the graph's op:

    transpose        (indices, indptr) over (minor)       → the order of the entries in the transpose, and the sorted
                                                            indices and the indptr of the transpose
    positions        (pattern p, q) over (minor)          → for each entry of p its position in q, else −1
    union            (pattern p, q) over ()               → indices, with room for all of p and q, and indptr of all
                                                            entries; where the entries of p and of q are among them
    product_room     (pattern p, indptr of q) over (minor) → an upper bound on the entries of p·q: for each row the
                                                            lengths of the rows of q that contribute, or minor
    product          (pattern p, q) over (minor)          → indices, with some room to spare, and indptr of p·q
    product_count    (pattern p, q) over (minor)          → indptr of p·q
    product_rows     (pattern p, q, indptr of p·q, values of p, of q) over (minor) → indices and values of p·q, in
                                                            the order in which entries first occur, not sorted
    product_values   (pattern p, q, c, values) over (minor) → Σ over triples at the entries of c;
                                                            product_left: at entries of p; product_right: of q

    block_product    (pattern p of blocks, blocks, x in rows of blocks) over (rows of blocks of the result) → p·x;
                                                            block_product_turned → the transpose of p, times x

A pattern is (indices, indptr). Elements after the last entry, in a vector with room to spare, are undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.interpreter.scalar_values import numpy_dtype, unset
from aotensor.sparse.blocks.product import BlockProduct
from aotensor.sparse.patterns import Intersection, OtherFormat, PositionsIn, Union, slices_of
from aotensor.sparse.patterns_product import ProductPattern, ProductValues
from aotensor.sparse.sparse_product import SparseProduct


def interpret_pattern(op: PatternOp, operands: Sequence[Array]) -> list[Array]:
    """The results of one `aot.pattern` operation. Raises: InternalError for indices out of bounds."""
    arguments, rest = operands[: len(op.arguments)], operands[len(op.arguments) :]
    found = _found(op.kind.data, arguments, rest[: len(op.extents)])
    if op.kind.data in ("intersection", "union", "product"):
        pending = iter(rest[len(op.extents) :])
        found = tuple(_with_room(x, result, pending) for x, result in zip(found, op.tensors, strict=True))
    return [np.asarray(x, _dtype_of(out)) for x, out in zip(found, op.tensors, strict=True)]


def _found(kind: str, arguments: Sequence[Any], extents: Sequence[Array]) -> tuple[Array, ...]:
    match (kind, *arguments):
        case "transpose", indices, indptr:
            return OtherFormat().reference(indices, indptr, _bound(extents[0], indices))
        case "positions", ip, pp, iq, pq:
            minor = _bound(extents[0], ip, iq)
            return (PositionsIn().reference(ip, pp, minor, iq, pq, minor),)
        case "intersection", ip, pp, iq, pq:
            minor = _bound(extents[0], ip, iq)
            return Intersection().reference(ip, pp, minor, iq, pq, minor)
        case "union", ip, pp, iq, pq:
            minor = np.asarray(np.concatenate([ip, iq]).max(initial=0) + 1)
            return Union().reference(ip, pp, minor, iq, pq, minor)
        case "product_room", ip, pp, pq:
            _bound(np.asarray(len(pq) - 1), ip)
            lengths = np.zeros(len(pp) - 1, np.int64)
            np.add.at(lengths, slices_of(pp), np.diff(pq)[ip])
            return (np.minimum(lengths, extents[0]).sum(keepdims=True),)
        case "product", ip, pp, iq, pq:
            inner = _bound(np.asarray(len(pq) - 1), ip)
            return ProductPattern().reference(ip, pp, inner, iq, pq, _bound(extents[0], iq))
        case "product_count", ip, pp, iq, pq:
            inner = _bound(np.asarray(len(pq) - 1), ip)
            return (ProductPattern().reference(ip, pp, inner, iq, pq, _bound(extents[0], iq))[1],)
        case "product_rows", ip, pp, iq, pq, _, x, y:
            inner, minor = _bound(np.asarray(len(pq) - 1), ip), _bound(extents[0], iq)
            data, indices, _ = SparseProduct().reference(ip, pp, inner, iq, pq, minor, x, y)
            return indices, data
        case "block_product" | "block_product_turned", indices, indptr, data, x:
            is_transposed = kind == "block_product_turned"
            _bound(extents[0] if is_transposed else np.asarray(len(x)), indices)
            return (BlockProduct(is_transposed).reference(indices, indptr, extents[0], data, x),)
        case _, ip, pp, iq, pq, ic, pc, x, y:
            inner, minor = _bound(np.asarray(len(pq) - 1), ip), _bound(extents[0], iq, ic)
            return (ProductValues(kind).reference(ip, pp, iq, pq, ic, pc, inner, minor, x, y),)
        case _:
            raise InternalError(f"interpret: aot.pattern {kind} does not work on {len(arguments)} vectors")


def _bound(extent: Array, *indices: Array) -> Array:
    """Return `extent` after a check that all indices are below it. Raises: InternalError if they are not."""
    for x in indices:
        if len(x) and not (x.min() >= 0 and x.max() < extent):
            raise InternalError(f"interpret: indices {x.min()} to {x.max()} on an axis of {extent}")
    return extent


def _with_room(x: Array, result: SSAValue, sizes: Iterator[Array]) -> Array:
    """Copy x to the start of a vector with the size that the operation states.

    sizes: iterator over the operation's dynamic sizes. Raises: InternalError if the vector is too small.
    """
    assert isinstance(result.type, TensorType)
    (extent,) = result.type.get_shape()
    room = int(next(sizes)) if extent == DYNAMIC_INDEX else extent
    if len(x) > room:
        raise InternalError(f"interpret: {len(x)} indices do not fit a vector of {room}")
    whole = unset((room,), _dtype_of(result))
    whole[: len(x)] = x
    return whole


def _dtype_of(result: SSAValue) -> np.dtype[Any]:
    assert isinstance(result.type, TensorType)
    return numpy_dtype(result.type.element_type)
