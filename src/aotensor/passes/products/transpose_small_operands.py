"""Copy an operand of many short sums transposed, so that vectors hold results instead of terms.

    for n:                                         for j, i: T[j, i] = Q[i, j]
      for i in 10: for j in 10:                    for n:
        y[n, i] += Q[i, j]·x[n, j]         →         for j in 10: for i in 10:
                                                       y[n, i] += T[j, i]·x[n, j]

A vectorized sum ends with a horizontal reduction, which takes longer than all of a short sum; if the results are
contiguous instead, it is not needed. Q is copied once, and read for each n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, Float32Type, Float64Type, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.forms import TENSOR_FORM
from aotensor.ir.index_builder import dimension, generic, index_map
from aotensor.ir.location import LocatedBuilder, builder_before, locate
from aotensor.passes.nest.extents import Extents, ExtentValues
from aotensor.passes.nest.vectorize_known_trip_count import short_widths
from aotensor.passes.products.contraction import is_library_product
from aotensor.passes.products.sums_of_products import SumOfProducts, sum_of_products
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied
from aotensor.passes.target import Target

LONGEST: Final = 4
"""Largest length of a sum, in vectors, for which its horizontal reduction matters."""
FEWEST: Final = 16
"""Smallest number of products per element of a factor for which the copy is negligible."""


@ir_pass(
    "transpose-small-operands",
    level="nest",
    topic="vectors",
    former="transpose-factors",
    needs=TENSOR_FORM,
    gives=TENSOR_FORM,
)
def transpose_small_operands(module: ModuleOp, target: Target) -> None:
    """Copies a small matrix operand transposed, so that the vector axis is the output axis (avoids horizontal
    reductions).
    """
    for function in functions_of(module):
        for op in list(function.body.block.ops):
            product = sum_of_products(op) if isinstance(op, linalg.GenericOp) else None
            if product is not None and (number := _factor_to_turn(product, target)) is not None:
                factor = product.chain[-1].inputs[number]
                applied("{} reads a transposed copy of {}: its sums are short", op, factor, size=[factor])
                _turn(function, product, number)


def _factor_to_turn(product: SumOfProducts, target: Target) -> int | None:
    """The number of the input to transpose: a short sum runs over its last axis, and it has the result's last axis."""
    if len(product.summed) != 1 or not product.result or not _is_plain(product):
        return None
    (summed,), last, (one, two) = product.summed, product.result[-1], product.factors
    for number, factor, other in zip(product.inputs, (one, two), (two, one), strict=True):
        if factor.axes[-1:] != (summed,) or last not in factor.axes or last in other.axes or summed not in other.axes:
            continue
        extents, kind = dict(zip(factor.axes, factor.shape, strict=True)), factor.element
        assert isinstance(kind, Float32Type | Float64Type)
        lanes = target.lanes(kind.bitwidth)
        repeats = [n for axis, n in zip(other.axes, other.shape, strict=True) if axis not in factor.axes]
        is_often_read = any(n == DYNAMIC_INDEX or n >= FEWEST for n in repeats)
        if is_often_read and 1 < extents[summed] <= LONGEST * lanes and short_widths(extents[last], lanes):
            return number
    return None


def _is_plain(product: SumOfProducts) -> bool:
    """Is a product one loop over terms, or one that stores and one that sums terms, without a library kernel?"""
    op = product.chain[-1]
    if len(product.chain) > 1:
        map = op.indexing_maps.data[-1].data
        return len(product.chain) == 2 and map == AffineMap.identity(map.num_dims) and _is_parallel(op)
    return not is_library_product(op)


def _is_parallel(op: linalg.GenericOp) -> bool:
    is_parallel = all(kind.data == IteratorType.PARALLEL for kind in op.iterator_types)
    return is_parallel and isinstance(op.outputs[0].owner, tensor.EmptyOp)


def _turn(function: func.FuncOp, product: SumOfProducts, number: int) -> None:
    """Let a product read a transposed copy of an input, and store its result in the matching order."""
    root, op, last = product.chain[0], product.chain[-1], product.result[-1]
    read = 0
    if op is not root:
        read = next(n for n, x in enumerate(root.inputs) if x is op.results[0])
        last = _position(root.indexing_maps.data[read].data, last)  # each dim of the product is one of its axes
    map = op.indexing_maps.data[number].data
    order = _with_last(len(map.results), _position(map, last))
    op.operands[number] = _copy(function, builder_before(op), op.inputs[number], order)
    _permute(op, number, order)
    if op is not root:
        order = _with_last(len(op.iterator_types), last)
        _permute(op, len(op.inputs), order)
        _permute(root, read, order)
        _keep(op, order)


def _keep(op: linalg.GenericOp, order: Sequence[int]) -> None:
    """Store the result of a generic with permuted axes. Axes of unknown extent keep their position."""
    empty = op.outputs[0].owner
    assert isinstance(empty, tensor.EmptyOp)
    b, kind = builder_before(op), _permuted(op.results[0], order)
    out = b.insert(tensor.EmptyOp(empty.dynamic_sizes, kind)).tensor
    body = Region()
    op.body.move_blocks(body)
    maps, kinds = op.indexing_maps.data, op.iterator_types.data
    new = generic(op.inputs, [out], body, maps, kinds)
    new.location = op.location
    Rewriter.replace_op(op, new)


def _position(map: AffineMap, dim: int) -> int:
    """The axis of a tensor that dim number `dim` indexes."""
    return next(axis for axis, e in enumerate(map.results) if e == dimension(dim))


def _with_last(rank: int, axis: int) -> list[int]:
    """The numbers of all axes, with `axis` moved to the end."""
    return [*(n for n in range(rank) if n != axis), axis]


def _permuted(x: SSAValue, order: Sequence[int]) -> TensorType:
    assert isinstance(x.type, TensorType)
    shape = x.type.get_shape()
    return TensorType(x.type.element_type, [shape[axis] for axis in order])


def _permute(op: linalg.GenericOp, number: int, order: Sequence[int]) -> None:
    """Permute the axes of an operand in its indexing map."""
    maps = list(op.indexing_maps.data)
    old = maps[number].data
    maps[number] = index_map(old.num_dims, tuple(old.results[axis] for axis in order))
    op.properties["indexing_maps"] = ArrayAttr(maps)


def _copy(function: func.FuncOp, b: LocatedBuilder, x: SSAValue, order: Sequence[int]) -> SSAValue:
    """Build a copy of x with permuted axes."""
    extents, kind = Extents(function), _permuted(x, order)
    values, shape = ExtentValues(function, extents), extents.shape(x)
    sizes = [
        values.value_of(shape[axis]) for axis, n in zip(order, kind.get_shape(), strict=True) if n == DYNAMIC_INDEX
    ]
    out = b.insert(tensor.EmptyOp(sizes, kind)).tensor
    body = Block(arg_types=[kind.element_type] * 2)
    body.add_op(linalg.YieldOp(body.args[0]))
    rank = len(order)
    maps = [index_map(rank, tuple(dimension(order.index(axis)) for axis in range(rank)))]
    maps.append(index_map(rank, tuple(map(dimension, range(rank)))))
    op = generic([x], [out], Region(body), maps, [IteratorTypeAttr(IteratorType.PARALLEL)] * rank)
    locate(op, b.location)
    return b.insert(op).results[0]
