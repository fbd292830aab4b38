"""Remove copies: compute values directly in their destination, such as a column of a stacked tensor.

    nest.for %i in %n { … -> (%y[%i]) }
    nest.for %i in %n {                           →      nest.for %i in %n { … -> (%z[%i, 3]) }
      nest.do(%v = %y[%i]) -> (%z[%i, 3]) }

As in MLIR's elimination of empty tensors: the producer of an element is given the destination of the copy. A copy of a
copy becomes a copy of the original. An accumulator is copied once it is complete. A copy of the result of an operation
that keeps the order of all elements, as it adds or drops axes of extent 1, becomes a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ReshapeOp
from aotensor.ir.location import builder_before, locate
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import gathers, known_extent, loops_around, perfect_nest, root_of, sole_writer, writers
from aotensor.passes.nest.extents import ExtentKey, Extents
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied


@ir_pass("eliminate-copies", level="nest", topic="memory")
def eliminate_copies(module: ModuleOp) -> None:
    """Computes values that are only copied (stacked columns) in their destination; a copy of a copy reads the
    original; a copy of a result with other axes of extent 1 becomes a view.
    """
    for function in functions_of(module):
        for root in list(function.body.block.ops):
            if (copy := _copy_of(root)) is not None:
                _read_origin(copy)
        extents: Extents | None = None
        for root in list(function.body.block.ops):
            if (copy := _copy_of(root)) is not None and _is_of_result(copy):
                extents = extents or Extents(function)
                if _keeps_order(copy, extents):
                    _make_view(copy)
        for root in list(function.body.block.ops):
            if (copy := _copy_of(root)) is not None and _is_whole(copy) and _has_place(copy):
                _eliminate(copy)


class _Copy(NamedTuple):
    """A nest that copies each element of one tensor once into a value.

    at: subscripts of the source. to: subscripts of the destination. Both have 0 instead of the counter of a loop of one
    iteration. extents: counter → extent of each other loop.
    """

    root: Operation
    statement: DoOp
    at: Sequence[Subscript]
    to: Sequence[Subscript]
    extents: dict[Subscript, SSAValue | int]

    @property
    def source(self) -> SSAValue:
        return self.statement.inputs[0]

    @property
    def dest(self) -> SSAValue:
        return self.statement.outputs[0]


def _copy_of(root: Operation) -> _Copy | None:
    """Match a nest that only copies; None for any other nest."""
    loops, op = perfect_nest(root)
    if not isinstance(op, DoOp) or op.scatter is not None or len(op.inputs) != 1 or len(op.outputs) != 1:
        return None
    last = op.body.block.first_op
    if not isinstance(last, YieldOp) or last.values[0] is not op.body.block.args[0]:
        return None
    extents: dict[Subscript, SSAValue | int] = {}
    for loop in loops:
        if not isinstance(loop, ForOp) or not loop.is_whole:
            return None
        known = known_extent(loop)
        if known != 1:
            extents[loop.counter] = loop.upper if known is None else known
    at, to = ([0 if _is_counter(n) and n not in extents else n for n in access] for access in op.accesses)
    written = [n for n in to if n in extents]
    is_each_once = len(written) == len(set(written)) == len(extents)
    is_plain = all(isinstance(n, int) or n in extents for n in (*at, *to))
    return _Copy(root, op, at, to, extents) if is_each_once and is_plain else None


def _is_counter(index: Subscript) -> bool:
    return isinstance(index, BlockArgument)


def _read_origin(copy: _Copy) -> None:
    """Let a copy of a copy read the original, and replace a copy of a filled tensor by a fill."""
    made = copy.source.owner
    writer = sole_writer(copy.source)
    if not isinstance(made, ValueOp) or made.init is not None or writer is None:
        return
    number = _filled_with(writer)
    origin = _copy_of(_root(writer))
    if number is not None:
        body = Block(arg_types=[number.type])
        body.add_op(YieldOp(number))
        fill = DoOp([], copy.statement.writes, Region(body))
        locate(fill, copy.statement.location)
        Rewriter.replace_op(copy.statement, fill, [])
    elif origin is not None and _covers(origin, made):
        where = dict(zip(origin.to, copy.at, strict=True))
        at = [where[n] if n in origin.extents else n for n in origin.at]
        copy.statement.set_accesses([(origin.source, at)], copy.statement.writes)
    else:
        return
    _erase_unread(made)


def _covers(copy: _Copy, dest: ValueOp) -> bool:
    """Does a copy write all elements of the destination?"""
    return all(copy.extents.get(n, 1) == extent for n, extent in zip(copy.to, _extents(dest), strict=True))


def _filled_with(statement: DoOp) -> SSAValue | None:
    """The number that a statement fills its output with; None if it does not fill."""
    last = statement.body.block.first_op
    if statement.inputs or statement.scatter is not None or len(statement.outputs) != 1:
        return None
    is_number = isinstance(last, YieldOp) and isinstance(last.values[0].owner, Operation)
    return last.values[0] if is_number and isinstance(last, YieldOp) else None


def _erase_unread(value: ValueOp) -> None:
    """Erase a value and the nest that writes it, if it has no reader."""
    users = [use.operation for use in value.result.uses]
    if all(isinstance(op, DoOp) and _only_writes(op, value.result) and len(op.outputs) == 1 for op in users):
        for op in users:
            Rewriter.erase_op(_root(op))
        Rewriter.erase_op(value)


def _is_of_result(copy: _Copy) -> bool:
    """Is the result of an operation other than a nest copied, to a value that nothing else writes?"""
    source, dest = root_of(copy.source).owner, copy.dest.owner
    is_result = isinstance(source, Operation) and not isinstance(source, ValueOp | arith.ConstantOp)
    return is_result and isinstance(dest, ValueOp) and dest.init is None and sole_writer(copy.dest) is copy.statement


def _keeps_order(copy: _Copy, extents: Extents) -> bool:
    """Are all elements copied in the order of memory, with other axes of extent 1?"""

    def axes(x: SSAValue, at: Sequence[Subscript]) -> list[tuple[Subscript, ExtentKey]]:
        return [(i, n) for i, n in zip(at, extents.shape(x), strict=True) if n != 1]

    read = axes(copy.source, copy.at)
    is_whole = all(i in copy.extents and extents.key(copy.extents[i]) == n for i, n in read)
    return is_whole and read == axes(copy.dest, copy.to)


def _make_view(copy: _Copy) -> None:
    """Replace a copy by a view of the source."""
    declaration = copy.dest.owner
    assert isinstance(declaration, ValueOp)
    applied("removed the copy of {}: it is a view", copy.source, size=[copy.source])
    view = builder_before(copy.root).insert(ReshapeOp(copy.source, declaration.sizes, copy.dest.type))
    Rewriter.erase_op(copy.root)
    Rewriter.replace_op(declaration, [], [view.result])


def _is_whole(copy: _Copy) -> bool:
    """Is all of the source copied, written once per element by other nests, and read by the copy alone?"""
    source, dest = copy.source.owner, copy.dest.owner
    if not isinstance(source, ValueOp) or not isinstance(dest, ValueOp) or source.init is not None or source is dest:
        return False
    others = [use.operation for use in source.result.uses if use.operation is not copy.statement]
    if not others or not all(isinstance(op, DoOp) and _only_writes(op, source.result) for op in others):
        return False
    pairs = list(zip(copy.at, _extents(source), strict=True))
    read = [n for n in copy.at if n in copy.extents]
    return len(read) == len(set(read)) == len(copy.extents) and all(copy.extents.get(n, 1) == m for n, m in pairs)


def _only_writes(op: DoOp, x: SSAValue) -> bool:
    """Does a statement only write elements of x, each once, at loop counters, without a read?"""
    if op.scatter is not None or x in op.inputs or x in gathers(op):
        return False
    arguments = op.body.block.args[len(op.inputs) :]
    return not any(argument.uses for argument, y in zip(arguments, op.outputs, strict=True) if y is x)


def _extents(value: ValueOp) -> list[SSAValue | int]:
    assert isinstance(value.result.type, TensorType)
    sizes = iter(value.sizes)
    return [next(sizes) if n == DYNAMIC_INDEX else n for n in value.result.type.get_shape()]


def _has_place(copy: _Copy) -> bool:
    """Can the destination be declared before all nests that will write to it? Its sizes must be known there."""
    sizes = [x.owner for x in copy.dest.owner.operands if isinstance(x.owner, Operation)]  # type: ignore[union-attr]
    roots = [_root(writer) for writer in writers(copy.source)]
    return all(size.is_before_in_block(root) for size in sizes for root in roots)


def _root(op: Operation) -> Operation:
    """The outermost loop around a statement, or the statement itself."""
    return next(iter(loops_around(op)), op)


def _eliminate(copy: _Copy) -> None:
    """Let the writers of the copy's source write to the destination instead, and erase the copy."""
    source, dest, made, declaration = copy.source, copy.dest, copy.source.owner, copy.dest.owner
    assert isinstance(made, ValueOp) and isinstance(declaration, ValueOp)
    applied("removed the copy of {}: it is computed in the destination", made, size=[source])
    axes = {n: axis for axis, n in enumerate(copy.at) if n in copy.extents}
    Rewriter.erase_op(copy.root)
    for writer in writers(source):
        root = _root(writer)
        if not declaration.is_before_in_block(root):
            assert declaration.parent is not None and root.parent is not None
            declaration.parent.detach_op(declaration)
            root.parent.insert_op_before(declaration, root)

        def changed(x: SSAValue, at: list[Subscript]) -> tuple[SSAValue, list[Subscript]]:
            return (dest, [at[axes[n]] if n in axes else n for n in copy.to]) if x is source else (x, at)

        writer.set_accesses(writer.reads, [changed(*write) for write in writer.writes])
        _drop_single_iterations(writer)
    Rewriter.erase_op(made)


def _drop_single_iterations(statement: DoOp) -> None:
    """Move a statement out of single-iteration loops whose counter no output uses."""
    for loop in loops_around(statement):
        counter = loop.counter
        if known_extent(loop) != 1 or any(counter in at for _, at in statement.writes):
            continue
        reads = [(x, [0 if n is counter else n for n in at]) for x, at in statement.reads]
        statement.set_accesses(reads, statement.writes)
        if counter.uses:
            builder = builder_before(_root(statement))
            counter.replace_all_uses_with(builder.insert(arith.ConstantOp(IntegerAttr(0, IndexType()))).result)
        block = loop.parent
        assert block is not None
        for op in list(loop.body.block.ops):
            loop.body.block.detach_op(op)
            block.insert_op_before(op, loop)
        Rewriter.erase_op(loop)
