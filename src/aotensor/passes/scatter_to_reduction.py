"""Turn scatter-adds into a fill into reductions by index, whose loop can be fused with others.

    %z = linalg.generic { %zero }                          %p = linalg.generic ins(%i) { %in < 0 ? %in + %n : %in }
    %g = aot.scatter "add" %y into %z[%i] {axes = [0]}  →  %s = tensor.splat %zero
                                                           %g = aot.sum_at %y at %p from %s

Gradients of `a[group]` have this form: the terms, and other sums over the same samples, are computed in the loop that
adds them. A scatter with another tensor as initial value, or with several index arrays, is kept: it starts with a
copy.
"""

from __future__ import annotations

from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect_sparse import ScatterOp, SumAtOp
from aotensor.ir.index_builder import generic, index_map
from aotensor.ir.location import LocatedBuilder, builder_before, locate
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.ir.types import shape_of
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.windows.inline_slices import fill_of

_ALLOWS: Final = {
    "its initial value is a tensor": "scatter into zeros, and add the tensor afterwards",
    "its positions are not one vector along the first axis": "use one vector of positions, along axis 0",
}
"""Reason why a scatter is not turned into a reduction → hint how to change that."""


@ir_pass("scatter-to-reduction", level="tensor", topic="loops", former="sum-scatters")
def scatter_to_reduction(module: ModuleOp) -> None:
    """Turns a scatter-add into zeros by one index vector (the gradient of `a[group]`) into a reduction by position,
    whose loop can be fused.
    """
    for function in functions_of(module):
        positions: dict[tuple[SSAValue, object], SSAValue] = {}
        for op in list(function.body.block.ops):
            if isinstance(op, ScatterOp) and op.kind.data == "add":
                reason = _reason_against(op)
                if reason is None:
                    applied(
                        "turned the scatter {} into a reduction by position, which can be fused", op, size=[op.source]
                    )
                    _sum(op, positions)
                else:
                    missed(
                        "scatter {} not turned into a reduction: {}",
                        op,
                        reason,
                        size=[op.source],
                        hint=_ALLOWS.get(reason, ""),
                    )


def _reason_against(op: ScatterOp) -> str | None:
    """The reason why a scatter cannot become a reduction by index, None if it can."""
    if fill_of(op.dest) is None:
        return "its initial value is a tensor"
    if list(op.axes.get_values()) != [0] or len(shape_of(op.indices[0])) != 1:
        return "its positions are not one vector along the first axis"
    if (shape_of(op.indices[0])[0] == 1) != (shape_of(op.source)[0] == 1):
        return "it has one position"
    assert isinstance(op.dest.type, TensorType)
    element = op.dest.type.element_type
    is_number = isinstance(element, AnyFloat) or (isinstance(element, IntegerType) and element.width.data > 1)
    return None if is_number and op.fastmath is not None else "its elements are not numbers"


def _sum(op: ScatterOp, positions: dict[tuple[SSAValue, object], SSAValue]) -> None:
    """Replace a scatter by a reduction by index. positions: cache of (indices, extent) → normalised positions."""
    b, number = builder_before(op), fill_of(op.dest)
    assert number is not None and op.fastmath is not None and isinstance(op.dest.type, TensorType)
    sizes = _sizes(op.dest)
    extent = sizes[0] if shape_of(op.dest)[0] < 0 else shape_of(op.dest)[0]
    key = op.indices[0], extent
    if key not in positions:
        positions[key] = _from_start(b, op.indices[0], extent)
    init = b.insert(tensor.SplatOp(number, sizes, op.dest.type)).result
    made = b.insert(SumAtOp(op.source, positions[key], init, op.fastmath))
    Rewriter.replace_op(op, [], [made.result])


def _from_start(b: LocatedBuilder, indices: SSAValue, extent: SSAValue | int) -> SSAValue:
    """Normalise indices: negative ones count from the end of an axis of that extent."""
    kind = indices.type
    assert isinstance(kind, TensorType) and isinstance(kind.element_type, IntegerType)
    element = kind.element_type
    zero = b.insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result
    none = b.insert(arith.ConstantOp(IntegerAttr(0, element))).result
    if isinstance(extent, int):
        extent = b.insert(arith.ConstantOp(IntegerAttr(extent, IndexType()))).result
    dtype = f"int{element.width.data}"
    whole = ScalarBuilder(b).make(arith.IndexCastOp, [extent], dtype, element)
    sizes = [b.insert(tensor.DimOp(indices, zero)).result] if shape_of(indices)[0] < 0 else []
    empty = b.insert(tensor.EmptyOp(sizes, kind)).tensor
    body = Block(arg_types=[element, element])
    found = Scalar(body.args[0], dtype)
    with ScalarBuilder(Builder(InsertPoint.at_end(body))).active() as s:
        chosen = s.select(found < Scalar(none, dtype), found + whole, found)
    body.add_op(linalg.YieldOp(chosen.ssa))
    own = index_map(1, AffineMap.identity(1).results)
    op = generic([indices], [empty], Region(body), [own, own], [IteratorTypeAttr(IteratorType.PARALLEL)])
    locate(op, b.location)
    return b.insert(op).results[0]


def _sizes(x: SSAValue) -> list[SSAValue]:
    """The dynamic extents of a filled tensor."""
    op = x.owner
    if isinstance(op, linalg.GenericOp):
        op = op.outputs[0].owner
    assert isinstance(op, tensor.SplatOp | tensor.EmptyOp)
    return list(op.dynamicSizes if isinstance(op, tensor.SplatOp) else op.dynamic_sizes)
