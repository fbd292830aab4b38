"""Coalesce a perfect nest into one loop if its operands are accessed in memory order.

    nest.for %i in %n {                              %x' = aot.reshape %x[%n · %m]
      nest.for %j in %m {                            nest.for %c in %n · %m {
        nest.do(%x[%i, %j]) -> (%y[%i, %j])   →        nest.do(%x'[%c]) -> (%y'[%c])

A short inner loop leaves vectors half empty; the coalesced one fills them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ReshapeOp
from aotensor.ir.location import builder_before
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import is_register, known_extent
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed


@ir_pass("coalesce", level="nest", topic="loops")
def coalesce(module: ModuleOp) -> None:
    """Coalesces a perfect nest over contiguous memory into one loop."""
    for function in functions_of(module):
        _coalesce_in(function.body.block)


def _coalesce_in(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, LoopOp):
            chain = _chain(op)
            if len(chain) > 1:
                applied("coalesced {1} loops of {0}: their operands are contiguous", op, len(chain))
                _Coalescing(chain).run()
            else:
                _coalesce_in(op.body.block)


def _chain(root: LoopOp) -> list[ForOp]:
    """The loops from `root` inwards that can be coalesced; empty if there are none."""
    chain: list[ForOp] = []
    op = root
    while isinstance(op, ForOp) and op.is_whole:
        chain.append(op)
        first = op.body.block.first_op
        if not isinstance(first, LoopOp) or first is not op.body.block.last_op:
            break
        op = first
    if len(chain) < 2 or isinstance(chain[-1].body.block.first_op, LoopOp):
        return []
    counters = [loop.counter for loop in chain]
    held = list(chain[-1].body.block.ops)
    if not all(isinstance(x, DoOp) or (isinstance(x, ValueOp) and is_register(x.result)) for x in held):
        return []
    statements = [x for x in held if isinstance(x, DoOp)]
    are_subscripts = all(isinstance(use.operation, DoOp) for counter in counters for use in counter.uses)
    fits = are_subscripts and all(_runs_along_memory(x, counters) for x in statements)
    if not fits:
        hint = "give operands whose axes are in the order of the result's, without a transpose"
        missed("loops of {} not coalesced: an operand is not contiguous along them", root, hint=hint)
    return chain if fits else []


def _runs_along_memory(statement: DoOp, counters: Sequence[SSAValue]) -> bool:
    """True if each operand has the loop counters as consecutive subscripts in this order, or has none of them."""
    for x, subscripts in (*statement.reads, *statement.writes):
        assert isinstance(x.type, TensorType)
        axes = [axis for axis, index in enumerate(subscripts) if index in counters]
        order = [subscripts[axis] for axis in axes]
        if axes and (order != list(counters) or axes != list(range(axes[0], axes[0] + len(counters)))):
            return False
        if axes and any(_loop_of(i) is None for i, n in zip(subscripts, x.type.get_shape(), strict=True) if n < 0):
            return False  # the extents of unmerged axes are taken from their loops
    return True


class _Coalescing:
    """Rewrites a chain of nested loops into one. views: (tensor, first merged axis) → view with merged axes."""

    def __init__(self, chain: Sequence[ForOp]) -> None:
        self.chain = chain
        self.counters = [loop.counter for loop in chain]
        self.b = builder_before(chain[0])
        self.views: dict[tuple[SSAValue, int], SSAValue] = {}
        known = [known_extent(loop) for loop in chain]
        self.total: int | None = prod(n for n in known if n is not None) if None not in known else None
        self.extent = self._extent()

    def run(self) -> None:
        root, inner = self.chain[0], self.chain[-1]
        block = root.parent
        assert block is not None
        loop = ForOp(self.extent, Block(arg_types=[IndexType()]))
        loop.location = root.location
        held = [inner.body.block.detach_op(op) for op in list(inner.body.block.ops)]
        for op in held:
            if isinstance(op, DoOp):
                reads = [self._access(x, subscripts, loop) for x, subscripts in op.reads]
                op.set_accesses(reads, [self._access(x, subscripts, loop) for x, subscripts in op.writes])
        loop.body.block.add_ops(held)
        block.insert_op_before(loop, root)
        block.erase_op(root)

    def _extent(self) -> SSAValue:
        if self.total is not None:
            return self.b.insert(arith.ConstantOp(IntegerAttr(self.total, IndexType()))).result
        with ScalarBuilder(self.b).active():
            return reduce(operator.mul, (Scalar(loop.upper, "index") for loop in self.chain)).ssa

    def _access(self, x: SSAValue, subscripts: list[Subscript], loop: ForOp) -> tuple[SSAValue, list[Subscript]]:
        """Return the view to access and its subscripts, with the chain's axes merged."""
        if self.counters[0] not in subscripts:
            return x, subscripts
        first = subscripts.index(self.counters[0])
        behind = first + len(self.chain)
        if (x, first) not in self.views:
            self.views[x, first] = self._view(x, subscripts, first, behind)
        return self.views[x, first], [*subscripts[:first], loop.counter, *subscripts[behind:]]

    def _view(self, x: SSAValue, subscripts: Sequence[Subscript], first: int, behind: int) -> SSAValue:
        assert isinstance(x.type, TensorType)
        shape = x.type.get_shape()
        merged = DYNAMIC_INDEX if self.total is None else self.total
        kind = TensorType(x.type.element_type, [*shape[:first], merged, *shape[behind:]])
        sizes = [_size(subscripts[axis]) for axis in range(first) if shape[axis] == DYNAMIC_INDEX]
        sizes += [self.extent] if self.total is None else []
        sizes += [_size(subscripts[axis]) for axis in range(behind, len(shape)) if shape[axis] == DYNAMIC_INDEX]
        return self.b.insert(ReshapeOp(x, sizes, kind)).result


def _size(index: Subscript) -> SSAValue:
    """The extent of the axis that a subscript iterates over."""
    loop = _loop_of(index)
    assert loop is not None
    return loop.upper


def _loop_of(index: Subscript) -> ForOp | None:
    """The loop whose counter this subscript is, if that loop covers a whole extent; else None."""
    owner = index.owner if isinstance(index, SSAValue) else None
    loop = owner.parent_op() if isinstance(owner, Block) else None
    return loop if isinstance(loop, ForOp) and loop.is_whole else None
