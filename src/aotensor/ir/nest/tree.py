"""Queries on a tree of loops and statements that several passes use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.ir.dialect import ExtractIfOp, ReshapeOp
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import BalanceOp, DoOp, ValueOp
from aotensor.ir.nest.strides import stride_along
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.upstream import walk


def perfect_nest(root: Operation) -> tuple[list[LoopOp], Operation]:
    """The loops of the perfect nest at `root`, the outermost first, and the innermost operation."""
    loops: list[LoopOp] = []
    op = root
    while isinstance(op, LoopOp):
        loops.append(op)
        first = op.body.block.first_op
        if first is None or first is not op.body.block.last_op:
            break
        op = first
    return loops, op


def loops_around(op: Operation) -> list[LoopOp]:
    """The loops around an operation, the outermost first."""
    found: list[LoopOp] = []
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        if isinstance(parent, LoopOp):
            found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def statements(op: Operation) -> Iterator[DoOp]:
    """Every statement in an operation, in program order."""
    return (x for x in walk(op) if isinstance(x, DoOp))


Derivation: TypeAlias = tuple[SSAValue, ...]
"""How iterations are divided: the `indptr` of a slice and its entries, or of chunks balanced by entries."""


def root_of(x: SSAValue) -> SSAValue:
    """The value that a view refers to."""
    while isinstance(x.owner, ReshapeOp):
        x = x.owner.source
    return x


def is_injective(subscripts: Sequence[Subscript], loop: LoopOp) -> bool:
    """Does an access touch a different element in each iteration of the loop?"""
    return axis_of(subscripts, loop) is not None or any(stride_along(x, loop.counter) for x in subscripts)


def axis_of(subscripts: Sequence[Subscript], loop: LoopOp) -> tuple[int, Derivation] | None:
    """The axis of an access that a loop iterates over, and how the loop's iterations divide that axis.

    The division is (): none; an indptr, which divides entries into slices; or that of a block of iterations, of which
    the index is a counter or the block's number. Balanced blocks (`nest.balance`) differ from blocks of equal size.
    """
    counter = loop.counter
    for axis, index in enumerate(subscripts):
        if index is counter or (isinstance(index, SSAValue) and _is_number_of(index, loop)):
            return axis, ()
    for axis, index in enumerate(subscripts):
        if isinstance(index, BlockArgument):
            inner = index.block.parent_op()
            if isinstance(inner, EntriesOp):
                way: Derivation | None = () if inner.slice is counter else _block_derivation(inner.slice, counter)
                if way is not None:
                    return axis, (inner.indptr, *way)
            way = _block_derivation(index, counter)
            if way is not None:
                return axis, way
    return None


def _is_number_of(index: SSAValue, loop: LoopOp) -> bool:
    """Is an index the number of the step of a loop, counter / step?"""
    op = index.owner
    return isinstance(op, arith.DivUIOp) and isinstance(loop, ForOp) and tuple(op.operands) == (loop.counter, loop.step)


def _block_derivation(index: SSAValue, start: SSAValue) -> Derivation | None:
    """How the loop of an index iterates over the block that starts at `start`; None if it does not."""
    while isinstance(index, BlockArgument):
        loop = index.block.parent_op()
        if not isinstance(loop, ForOp) or loop.lower is None:
            return None
        index = loop.lower
        way = _derivation(index, start)
        if way is not None:
            return way
    return None


def _derivation(index: SSAValue, start: SSAValue) -> Derivation | None:
    """How `index` derives from `start`: equal, its balanced start, or its maximum with another value; else None."""
    if index is start:
        return ()
    if isinstance(index.owner, BalanceOp):
        return (index.owner.indptr,) if index.owner.row is start else None
    if not isinstance(index.owner, arith.MaxSIOp):
        return None
    return next((way for x in index.owner.operands if (way := _derivation(x, start)) is not None), None)


def gathers(statement: DoOp) -> set[SSAValue]:
    """The tensors that a statement reads at computed indices."""
    return {x.tensor for x in statement.body.block.ops if isinstance(x, tensor.ExtractOp | ExtractIfOp)}


def gather_accesses(statement: DoOp) -> Iterator[tuple[SSAValue, list[SSAValue]]]:
    """The reads of a statement at computed indices: each tensor with the index of each axis."""
    for op in statement.body.block.ops:
        if isinstance(op, tensor.ExtractOp | ExtractIfOp):
            yield op.tensor, list(op.indices)


def streams(loop: EntriesOp) -> list[SSAValue]:
    """The vectors that the statements of a loop read along the loop's entries."""
    reads = (read for op in loop.body.block.ops if isinstance(op, DoOp) for read in op.reads)
    return list(dict.fromkeys(x for x, subscripts in reads if len(subscripts) == 1 and subscripts[0] is loop.counter))


def scatters_along(statement: DoOp, loop: LoopOp) -> bool:
    """Does a statement scatter at positions that it reads along the loop?"""
    return statement.scatter is not None and loop.counter in statement.access(statement.scatter.value.data)


def gives_positions(statement: DoOp) -> bool:
    """Does a statement compute positions at which another statement scatters?"""
    return any(
        isinstance(op := use.operation, DoOp) and op.scatter is not None and op.inputs[op.scatter.value.data] is x
        for x in statement.outputs for use in x.uses
    )  # fmt: skip


def used_values(op: Operation) -> dict[SSAValue, None]:
    """The outside values that an operation and its regions use, each once, in order."""
    inside: set[object] = set()
    found: dict[SSAValue, None] = {}
    for inner in walk(op):
        for x in inner.operands:
            found.setdefault(x)
        for region in inner.regions:
            inside.update(region.blocks)
        inside.add(inner)
    return {x: None for x in found if x.owner not in inside}


def declaration_of(x: SSAValue) -> ValueOp | None:
    """The declaration of a value that statements write; None for arguments and results of other operations."""
    return x.owner if isinstance(x.owner, ValueOp) else None


def copied_register(statement: DoOp) -> SSAValue | None:
    """The register that a statement only copies; None for any other statement."""
    body = statement.body.block
    if len(statement.inputs) != 1 or not is_register(statement.inputs[0]) or len(list(body.ops)) != 1:
        return None
    assert body.last_op is not None
    return statement.inputs[0] if tuple(body.last_op.operands) == body.args[:1] else None


def writers(x: SSAValue) -> list[DoOp]:
    """The statements that write a value."""
    return [op for use in x.uses if isinstance(op := use.operation, DoOp) and x in op.outputs]


def sole_writer(x: SSAValue) -> DoOp | None:
    """The only statement that writes a value, if it writes it once; None if others write parts of it."""
    found: DoOp | None = None
    for use in x.uses:
        op = use.operation
        if isinstance(op, DoOp) and use.index >= len(op.inputs):
            if found is not None:
                return None
            found = op
    return found


def is_written(x: SSAValue) -> bool:
    """Does a value have defined elements: is it not a declared value that no statement writes?"""
    value = declaration_of(x)
    if value is None or value.init is not None:
        return True
    views = [use.operation.result for use in x.uses if isinstance(use.operation, ReshapeOp)]
    return bool(writers(x)) or any(writers(view) for view in views)


def is_updated(x: SSAValue) -> bool:
    """Is a value a reduction: does it have an initial value that statements update?"""
    value = declaration_of(x)
    return value is not None and value.init is not None


def is_tensor(x: SSAValue) -> bool:
    """Is a value a tensor, not a scalar?"""
    return isinstance(x.type, TensorType)


def is_register(x: SSAValue) -> bool:
    """Is a value a single number, or a vector, in a register?"""
    if not isinstance(x.owner, ValueOp) or not isinstance(x.type, TensorType):
        return False
    return not x.type.get_shape() or x.owner.lanes is not None


def known_extent(loop: LoopOp) -> int | None:
    """The trip count of a loop if it is constant, else None."""
    return known_number(loop.upper) if isinstance(loop, ForOp) and loop.is_whole else None


def known_number(x: SSAValue) -> int | None:
    """The integer of a constant; None for any other value."""
    source = x.owner
    if isinstance(source, arith.ConstantOp) and isinstance(source.value, IntegerAttr):
        return source.value.value.data
    return None


def without_loop(loops: Sequence[LoopOp], loop: LoopOp) -> list[Operation]:
    """Remove one loop from a perfect nest; return the remaining nest."""
    rest = [other for other in loops if other is not loop]
    ops = [loops[-1].body.block.detach_op(op) for op in list(loops[-1].body.block.ops)]
    for outer in loops[:-1]:
        for op in list(outer.body.block.ops):
            outer.body.block.detach_op(op)
    for outer in reversed(rest):
        outer.body.block.add_ops(ops)
        ops = [outer]
    return ops


def merged_loops(nests: Sequence[Sequence[LoopOp]], shared: Sequence[LoopOp]) -> LoopOp:
    """Merge one loop of each of several perfect nests into one loop around the remaining nests."""
    first = shared[0]
    for loops, loop in zip(nests, shared, strict=True):
        first.body.block.add_ops(without_loop(loops, loop))
        if loop is not first:
            loop.counter.replace_all_uses_with(first.counter)
            loop.erase()
    return first


def range_of(loop: LoopOp) -> object:
    """A key that is equal for loops of equal range: their extent, or the indptr of their entries."""
    if isinstance(loop, EntriesOp):
        return "entries", loop.indptr
    assert isinstance(loop, ForOp)
    return loop.upper if loop.is_whole else loop
