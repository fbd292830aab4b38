"""Verify that the tree of a nest preserves every dependence.

A value may be read, or updated, only when the accessed element is complete. So its writers precede its readers; and if
both are in a loop that does not contain the value's declaration, each iteration must read only elements that the same
iteration has written: both accesses use the loop's counter along the same axis. That holds for reads at computed
indices, too: if no index is the counter, the value must be complete before the loop begins. If rows are written one by
one, as in a stack, all must be written.

    nest.for %i in %n {                                 %z = nest.value[%n]
      nest.do … -> (%s = %z[%i])                        nest.for %i in %n {
      nest.do(%v = %z[%i]) …        right                 nest.do … -> (%s = %z[%i])
    }                                                     nest.do(%v = %z[0]) …         wrong
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ExtractIfOp, ReshapeOp
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, PrefetchOp, ValueOp
from aotensor.ir.nest.strides import stride_along
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import (
    Derivation,
    axis_of,
    gather_accesses,
    is_register,
    is_tensor,
    known_extent,
    loops_around,
    root_of,
    statements,
)
from aotensor.ir.upstream import walk


def verify_nests(module: ModuleOp) -> None:
    """Check every dependence of the nests in a module.

    Raises: VerifyException that names the value, the two statements and the loop of a violated dependence.
    """
    for function in functions_of(module):
        _Verification(function).run()


@dataclass(frozen=True, eq=False)
class Access:
    """An access of an operation to a value through a view. subscripts: None if unknown, or for the whole value."""

    op: Operation
    view: SSAValue
    subscripts: Sequence[Subscript] | None
    is_write: bool
    is_read: bool


class _Verification:
    def __init__(self, function: func.FuncOp) -> None:
        self.function = function
        self.accesses: dict[SSAValue, list[Access]] = defaultdict(list)
        self.order: dict[Operation, int] = {}

    def run(self) -> None:
        for number, op in enumerate(walk(self.function)):
            self.order[op] = number
            for access in accesses_of(op):
                self.accesses[root_of(access.view)].append(access)
        for x, accesses in self.accesses.items():
            if isinstance(x.owner, ValueOp):
                self._check_value(x, x.owner, accesses)
        for loop in walk(self.function):
            if isinstance(loop, LoopOp) and loop.schedule.lanes > 1 and not any(map(_is_loop, loop.body.block.ops)):
                _check_lanes(loop)

    def _check_value(self, x: SSAValue, value: ValueOp, accesses: Sequence[Access]) -> None:
        writers = [access for access in accesses if access.is_write]
        outside = set(loops_around(value))
        if value.over is not None:
            self._check_memory(value, root_of(value.over), accesses)
        for reader in accesses:
            if not reader.is_read:
                continue
            for writer in writers:
                if writer.op is not reader.op:
                    self._check_pair(x, writer, reader, outside)
            is_empty = value.init is None and not any(writer.op is not reader.op for writer in writers)
            if is_empty and isinstance(reader.op, DoOp) and not reader.is_write:
                raise _broken(x, reader.op, "is read, but nothing writes it")
        if value.init is None and is_tensor(x):
            _check_rows(x, accesses)

    def _check_pair(self, x: SSAValue, writer: Access, reader: Access, outside: set[LoopOp]) -> None:
        if self.order[reader.op] < self.order[writer.op]:
            if reader.is_write:
                return  # the swapped pair is checked, too
            raise _broken(x, reader.op, "is read before it is written")
        if writer.is_read and reader.is_write and _combination(writer) == _combination(reader):
            return  # parts of one sum, whose terms may be added in any order
        if isinstance(x.owner, ValueOp) and x.owner.folded is not None:
            _check_window(x, writer, reader)
            return
        around = set(loops_around(reader.op))
        for loop in loops_around(writer.op):
            if loop not in around or loop in outside:
                continue
            written, read = (_along(access, loop) for access in (writer, reader))
            if written is None or read != written or not _has_same_axes(writer.view, reader.view, written[0]):
                raise _broken(x, reader.op, f"is read in a loop over {_name(loop.counter)} in which it is not complete")

    def _check_memory(self, value: ValueOp, old: SSAValue, accesses: Sequence[Access]) -> None:
        """Check that a value that reuses memory is written only at the last read of the old one."""
        last = max(self.order[access.op] for access in self.accesses[old])
        for access in accesses:
            if not access.is_write or self.order[access.op] > last:
                continue
            same = [a for a in self.accesses[old] if a.op is access.op]
            behind = [a for a in self.accesses[old] if self.order[a.op] > self.order[access.op]]
            later = [a for a in behind if not are_disjoint(access, a)]
            if later or any(a.subscripts != access.subscripts for a in same):
                raise _broken(old, access.op, "is overwritten before it is read for the last time")


def _check_rows(x: SSAValue, accesses: Sequence[Access]) -> None:
    """Check that all rows that are read are written, if writers use constant positions along an axis."""
    assert isinstance(x.type, TensorType)
    writers = [access for access in accesses if access.is_write]
    if any(access.view is not x or access.subscripts is None for access in writers):
        return
    for axis, extent in enumerate(x.type.get_shape()):
        written = {access.subscripts[axis] for access in writers if access.subscripts is not None}
        if extent == DYNAMIC_INDEX or not written or not all(isinstance(n, int) for n in written):
            continue
        for reader in accesses:
            missing = _positions(reader, axis, extent) - written if reader.is_read and reader.view is x else set()
            if missing:
                where = ", ".join(map(str, sorted(missing)))
                raise _broken(x, reader.op, f"is read at {where} along axis {axis}, where nothing writes it")


def _positions(reader: Access, axis: int, extent: int) -> set[int]:
    """The positions along an axis that are certainly read: one constant, all in a whole loop, else none."""
    index = None if reader.subscripts is None else reader.subscripts[axis]
    if isinstance(index, int):
        return {index}
    loop = index.block.parent_op() if isinstance(index, BlockArgument) else None
    is_all = index is None or (isinstance(loop, ForOp) and loop.is_whole and known_extent(loop) == extent)
    return set(range(extent)) if is_all else set()


def _check_window(x: SSAValue, writer: Access, reader: Access) -> None:
    """Check that a buffer for the last rows is written row by row, and read later in the same steps.

    The distance is computed by the pass that folds the value, and not checked here.
    """
    rows = None if writer.subscripts is None else writer.subscripts[0]
    loop = rows.block.parent_op() if isinstance(rows, BlockArgument) else None
    steps = loop.parent_op() if loop is not None else None
    if not isinstance(loop, ForOp) or not isinstance(steps, ForOp) or not steps.is_ancestor(reader.op):
        raise _broken(x, reader.op, "holds the last rows only, and is read where others may have taken their place")


def are_disjoint(one: Access, other: Access) -> bool:
    """Are two accesses disjoint along an axis, because the loop of one begins where the loop of the other ends?"""
    for axis, (i, j) in enumerate(zip(one.subscripts or (), other.subscripts or (), strict=False)):
        loops = [x.block.parent_op() for x in (i, j) if isinstance(x, BlockArgument)]
        match loops:
            case [ForOp() as before, ForOp() as behind] if before.upper is behind.lower:
                if _has_same_axes(one.view, other.view, axis):
                    return True
    return False


def _is_loop(op: Operation) -> bool:
    return isinstance(op, LoopOp)


def _check_lanes(loop: LoopOp) -> None:
    """Check that accesses of vector lanes are contiguous in memory, or invariant; only gathers may be irregular."""
    for op in statements(loop):
        accesses: list[tuple[SSAValue, Sequence[Subscript]]] = [*op.reads, *op.writes]
        read = [x for x in op.body.block.ops if isinstance(x, tensor.ExtractOp | ExtractIfOp)]
        accesses += [(x.tensor, list(x.indices)) for x in read]
        for x, subscripts in accesses:
            strides = [stride_along(i, loop.counter) for i in subscripts]
            if not is_register(x) and (any(strides[:-1]) or (strides and strides[-1] not in (0, 1, None))):
                raise _broken(x, op, f"has no vectors along {_name(loop.counter)}")


def accesses_of(op: Operation) -> Iterator[Access]:
    """The accesses of an operation itself, without its regions; a view has none."""
    if isinstance(op, ValueOp):
        if op.part is not None:  # whose row it is
            yield Access(op, op.part, None, is_write=True, is_read=False)
    elif isinstance(op, DoOp):
        arguments = op.body.block.args[len(op.inputs) :]
        for x, subscripts in op.reads:
            yield Access(op, x, subscripts, is_write=False, is_read=True)
        for argument, (x, subscripts) in zip(arguments, op.writes, strict=True):
            known = None if op.scatter is not None else subscripts
            yield Access(op, x, known, is_write=True, is_read=bool(argument.uses))
        for x, indices in gather_accesses(op):
            yield Access(op, x, indices, is_write=False, is_read=True)
    elif not isinstance(op, LoopOp | PrefetchOp | ReshapeOp) and not isinstance(op.parent_op(), DoOp):
        for x in op.operands:
            if is_tensor(x):
                yield Access(op, x, None, is_write=False, is_read=True)


def _combination(access: Access) -> type[Operation] | None:
    """The operation by which a statement updates the accessed output; None if it does not update it."""
    if not isinstance(access.op, DoOp):
        return None
    made = access.op.body.block.last_op
    number = next(k for k, x in enumerate(access.op.outputs) if x is access.view)
    owner = made.operands[number].owner if made is not None else None
    return type(owner) if isinstance(owner, Operation) else None


def _along(access: Access, loop: LoopOp) -> tuple[int, Derivation] | None:
    return None if access.subscripts is None else axis_of(access.subscripts, loop)


def _has_same_axes(x: SSAValue, y: SSAValue, last: int) -> bool:
    """Do two views of one value have the same axes up to axis `last`?"""
    assert isinstance(x.type, TensorType) and isinstance(y.type, TensorType)
    return x is y or x.type.get_shape()[: last + 1] == y.type.get_shape()[: last + 1]


def _broken(x: SSAValue, op: Operation, what: str) -> VerifyException:
    return VerifyException(f"{_name(x)} {what}: {str(op).splitlines()[0]}")


def _name(x: SSAValue) -> str:
    return f"%{x.name_hint}" if x.name_hint else "a value"
