"""Match matrix products among linalg.generic operations, and decide which products call a library kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Final

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

# A static product below this many multiply-adds is faster as plain generated loops.
LIBRARY_THRESHOLD: Final = 16 * 16 * 16


@dataclass(frozen=True)
class MatrixProduct:
    """C[m, n] = Σ_k A[m, k]·B[k, n] of floats, where A and B may each be stored transposed."""

    a: SSAValue
    b: SSAValue
    transpose_a: bool
    transpose_b: bool
    dims: tuple[int, int, int]
    """The iteration space's dims for m, n and k."""


def matrix_product(op: linalg.GenericOp) -> MatrixProduct | None:
    """The matrix product that a generic computes; None if it computes anything else."""
    if len(op.inputs) != 2 or len(op.results) != 1 or not _is_multiply_add(op):
        return None
    maps = [_dims(m.data) for m in op.indexing_maps]
    if any(m is None or len(m) != 2 for m in maps):
        return None
    x, y, out = (tuple(m) for m in maps if m is not None)
    k = next((d for d in range(3) if d not in out), None)
    if len(set(out)) != 2 or k is None or op.indexing_maps.data[0].data.num_dims != 3:
        return None
    m, n = out
    first, second = op.inputs
    if set(x) == {n, k} and set(y) == {m, k}:
        x, y, first, second = y, x, second, first
    if set(x) != {m, k} or set(y) != {k, n}:
        return None
    return MatrixProduct(first, second, x == (k, m), y == (n, k), (m, n, k))


def is_library_product(op: linalg.GenericOp) -> bool:
    """True for a matrix product that is not statically known to be small."""
    product = matrix_product(op)
    if product is None:
        return False
    x, y, result = (v.type for v in (product.a, product.b, op.results[0]))
    assert isinstance(x, TensorType) and isinstance(y, TensorType) and isinstance(result, TensorType)
    if DYNAMIC_INDEX in (*x.get_shape(), *y.get_shape(), *result.get_shape()):
        return True
    return prod(result.get_shape()) * x.get_shape()[0 if product.transpose_a else 1] >= LIBRARY_THRESHOLD


def _dims(map: AffineMap) -> tuple[int, ...] | None:
    dims = [e.position for e in map.results if isinstance(e, AffineDimExpr)]
    return tuple(dims) if len(dims) == len(map.results) else None


def _is_multiply_add(op: linalg.GenericOp) -> bool:
    """Is the body `out + a·b` on floats, starting from a fill?"""
    body = list(op.body.block.ops)
    if len(body) != 3 or not isinstance(op.outputs[0].owner, tensor.SplatOp):
        return False
    product, total, result = body
    args = op.body.block.args
    return (
        isinstance(product, arith.MulfOp)
        and isinstance(total, arith.AddfOp)
        and isinstance(args[2].type, AnyFloat)
        and set(product.operands) == {args[0], args[1]}
        and set(total.operands) == {args[2], product.result}
        and list(result.operands) == [total.result]
    )
