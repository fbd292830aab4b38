"""Eliminate fills whose elements are overwritten slice by slice, as in gradients of functions that read columns.

    %zeros = linalg.generic outs(%e) { yield %zero }                      %new = tensor.empty
    %1 = tensor.insert_slice %a into %zeros[0, 0] [%n, 1] [1, 1]     →    %1 = tensor.insert_slice %a into %new[0, 0] …
    %2 = tensor.insert_slice %b into %1[0, 1] [%n, 1] [1, 1]              %2 = tensor.insert_slice %b into %1[0, 1] …

The result is then assembled from parts (`assemblies`): the loops that compute the slices store them in the result,
without buffers and copies of their own. Positions without a slice get one of the fill's number.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.location import builder_before
from aotensor.passes.nest.extents import Extents, ExtentValues
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.windows.assemblies import axis_of_parts, chain_of, is_last, position_of
from aotensor.passes.windows.inline_slices import fill_of

_MOST_FILLED: Final = 2.0
"""Positions without a slice, for each position with one, up to which stores of single numbers replace the fill."""


@ir_pass("eliminate-fills", level="tensor", topic="memory")
def eliminate_fills(module: ModuleOp) -> None:
    """Removes the fill of a tensor whose slices along a small axis are all overwritten: the loops that compute the
    slices store them in the tensor, as in gradients of functions that read columns.
    """
    for function in functions_of(module):
        inserts = [op for op in function.body.block.ops if isinstance(op, tensor.InsertSliceOp)]
        if inserts:
            fills = _Fills(function)
            for op in inserts:
                if is_last(op):
                    fills.visit(op)


class _Fills:
    """The overwritten fills of one function."""

    def __init__(self, function: func.FuncOp) -> None:
        self.extents = Extents(function)
        self.index = ExtentValues(function, self.extents).value_of

    def visit(self, last: tensor.InsertSliceOp) -> None:
        """Eliminate the fill that the chain of insertions that ends with `last` overwrites."""
        chain = chain_of(last)
        filled = chain[-1].dest
        number, axis = fill_of(filled), axis_of_parts(chain, self.extents)
        if number is None or axis is None:
            return
        extent = self.extents.shape(filled)[axis]
        if not isinstance(extent, int):
            return
        rest = sorted(set(range(extent)) - {position_of(op, axis) for op in chain})
        if len(rest) > _MOST_FILLED * len(chain):
            missed(
                "fill of {} kept: {} of {} slices are overwritten",
                last,
                len(chain),
                extent,
                size=[filled],
                hint="no change needed: one fill costs less than a store for each other slice",
            )
            return
        applied("stored the slices of {} where they are computed, without a fill", last, size=[filled])
        whole = self._empty(filled, chain[-1])
        for position in rest:
            whole = self._insert_number(number, whole, position, chain[-1], axis)
        chain[-1].operands[1] = whole
        maker = filled.owner
        if not filled.uses and isinstance(maker, Operation):
            Rewriter.erase_op(maker)

    def _empty(self, like: SSAValue, before: Operation) -> SSAValue:
        """A new tensor of the type and the extents of another one, without values."""
        kind = like.type
        assert isinstance(kind, TensorType)
        shape = zip(self.extents.shape(like), kind.get_shape(), strict=True)
        sizes = [self.index(key) for key, n in shape if n == DYNAMIC_INDEX]
        made = builder_before(before).insert(tensor.EmptyOp(sizes, kind)).tensor
        self.extents.replace(like, made)
        return made

    def _insert_number(
        self, number: SSAValue, whole: SSAValue, position: int, part: tensor.InsertSliceOp, axis: int
    ) -> SSAValue:
        """The tensor with a slice of one number at a position, inserted before another slice of the same extents."""
        kind = part.source.type
        assert isinstance(kind, TensorType)
        b, rank = builder_before(part), len(kind.get_shape())
        body = Block([linalg.YieldOp(number)], arg_types=[kind.element_type])
        maps = [AffineMapAttr(AffineMap.identity(rank))]
        parallel = [IteratorTypeAttr(IteratorType.PARALLEL)] * rank
        source = b.insert(linalg.GenericOp([], [self._empty(part.source, part)], Region(body), maps, parallel, [kind]))
        offsets = [position if n == axis else 0 for n in range(rank)]
        sizes = part.static_sizes.get_values()
        made = tensor.InsertSliceOp.get(
            source.results[0], whole, sizes, offsets, sizes=part.sizes, result_type=whole.type
        )
        self.extents.replace(whole, b.insert(made).result)
        return made.result
