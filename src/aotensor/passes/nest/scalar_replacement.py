"""Scalar replacement: keep each value in a register, or in the smallest buffer that serves all its readers.

    %z = nest.value[%n] init %zero                nest.for %i in %n {
    nest.for %i in %n {                             %z = nest.value init %zero : tensor<f64>
      nest.for %k in %p { %z[%i] += … }      →      nest.for %k in %p { %z[] += … }
      nest.do(%v = %z[%i]) …                        nest.do(%v = %z[]) …
    }                                             }

A value becomes a register if it is complete, as one number, before all its readers in the same iteration. Other readers
need memory, for one iteration of the loops that all readers share. So a declaration sinks into those loops, and loses
the axes that they iterate over. A sum in memory is preceded by a loop that fills it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.location import locate
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import axis_of, gather_accesses, gathers, loops_around, sole_writer, statements, writers
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed


@ir_pass("scalar-replacement", level="nest", topic="memory", former="place-values")
def scalar_replacement(module: ModuleOp) -> None:
    """Scalar replacement: a value that is complete where it is read becomes a register; others get memory for the
    axes that their readers do not share.
    """
    for function in functions_of(module):
        for value in [op for op in function.body.block.ops if isinstance(op, ValueOp)]:
            if found := writers(value.result):  # an empty or filled tensor has no writer
                _Placement(value, found[0] if len(found) == 1 else _first(function, set(found))).run()


def _first(function: func.FuncOp, ops: Container[DoOp]) -> DoOp:
    return next(op for op in statements(function) if op in ops)


@dataclass(eq=False)
class _Placement:
    """A value with the statement that writes it (or its first part) and its readers.

    complete: the number of loops around the point where the value is complete. bound: for each axis, the number of the
    loop that iterates over it, counted from 0 for the outermost one.
    """

    value: ValueOp
    writer: DoOp

    def __post_init__(self) -> None:
        self.path = loops_around(self.writer)
        number = len(self.writer.inputs) + list(self.writer.outputs).index(self.value.result)
        self.written = self.writer.access(number)
        is_index = [axis_of(self.written, loop) is not None for loop in self.path]
        self.is_sum = self.value.init is not None and False in is_index
        self.complete = is_index.index(False) if self.is_sum else len(self.path)
        counters = {loop.counter: number for number, loop in enumerate(self.path)}
        self.bound = [counters.get(i) if isinstance(i, SSAValue) else None for i in self.written]
        is_whole = self.writer.scatter is None and sole_writer(self.value.result) is not None
        self.is_register = is_whole and all(n is not None and n < self.complete for n in self.bound)

    def run(self) -> None:
        if not self.is_sum:
            self._begin_with_numbers()
        near, others, shared = self._readers()
        register = memory = None
        if self.is_register and (near or self.is_sum or not others):
            register = self._declare((), self.complete, self.value.init if self.is_sum else None)
            self._access([self.writer, *near], register, ())
        if others or register is None:
            kept = [axis for axis, number in enumerate(self.bound) if number is None or number >= shared]
            memory = self._declare(kept, self._outermost(shared), None)
            if register is not None:
                self._store(register, memory, kept)
            else:
                self._access([self.writer], memory, kept)
                if self.is_sum:
                    self._fill(memory, kept)
            self._access([op for op in others if isinstance(op, DoOp)], memory, kept)
        self._report(register is not None, memory is not None, others)
        self.value.result.replace_all_uses_with(register if memory is None else memory)  # type: ignore[arg-type]
        self._declaration_block.erase_op(self.value)

    def _report(self, is_register: bool, is_memory: bool, others: Sequence[Operation]) -> None:
        x = self.value.result
        if is_register and not is_memory:
            applied("scalar replacement: {} stays in a register", self.value, size=[x])
        elif (
            is_memory and (reader := next((op for op in others if not isinstance(op, func.ReturnOp)), None)) is not None
        ):
            reason, hint = (
                "several iterations write parts of it",
                "order the axes so that its sum is the innermost loop",
            )
            if self.is_register:
                reason = "{} reads it in another loop" if isinstance(reader, DoOp) else "{} reads all of it"
                hint = (
                    "fuse that reader into the same loop; remarks of `fuse` say why it is not"
                    if isinstance(reader, DoOp)
                    else ""
                )
            missed("no scalar replacement of {}: " + reason, self.value, reader, size=[x], hint=hint)

    @property
    def _declaration_block(self) -> Block:
        block = self.value.parent
        assert block is not None
        return block

    # --- readers -------------------------------------------------------------------------------------------------

    def _readers(self) -> tuple[list[DoOp], list[Operation], int]:
        """(statements that read the value from a register, other readers, number of loops that all of these share)."""
        near: list[DoOp] = []
        others: list[Operation] = []
        shared = len(self.path)
        for op in dict.fromkeys(_reader(use.operation) for use in self.value.result.uses):
            if op is self.writer:
                continue
            is_access = isinstance(op, tensor.ExtractOp) and not op.indices
            if isinstance(op, DoOp):
                is_access = self.value.result not in gathers(op)
            common = self._common_loops(op) if isinstance(op, DoOp) else 0
            if is_access and self.is_register and common >= self.complete:
                near += [op] if isinstance(op, DoOp) else []
            else:
                others.append(op)
                shared = min(shared, common)
        return near, others, min(shared, self.complete)

    def _common_loops(self, other: DoOp) -> int:
        """The number of loops that enclose both the writer and a reader that uses their counters where it gathers.

        A tensor that is gathered from keeps an axis.
        """
        count = 0
        gathered = [indices for x, indices in gather_accesses(other) if x is self.value.result]
        for a, b in zip(self.path, loops_around(other), strict=False):
            axes = [axis for axis, number in enumerate(self.bound) if number == count]
            if a is not b or any(indices[axis] is not a.counter for indices in gathered for axis in axes):
                break
            if gathered and all(number is not None and number <= count for number in self.bound):
                break
            count += 1
        return count

    def _outermost(self, depth: int) -> int:
        """The smallest loop depth to declare the value at unchanged: iterations there have separate elements."""
        while depth and depth - 1 not in self.bound and axis_of(self.written, self.path[depth - 1]) is not None:
            depth -= 1
        return depth

    # --- rewriting -----------------------------------------------------------------------------------------------

    def _declare(self, kept: Sequence[int], depth: int, init: SSAValue | None) -> SSAValue:
        """Declare the value with only the axes `kept`, inside `depth` loops."""
        kind = self.value.result.type
        assert isinstance(kind, TensorType)
        shape = kind.get_shape()
        unknown = iter(self.value.sizes)
        sizes = [next(unknown) if n == DYNAMIC_INDEX else None for n in shape]
        made = ValueOp(
            [n for axis in kept if (n := sizes[axis]) is not None],
            TensorType(kind.element_type, [shape[axis] for axis in kept]),
            init,
        )
        made.location = self.value.location
        made.result.name_hint = self.value.result.name_hint
        self._insert(made, depth)
        return made.result

    def _insert(self, op: Operation, depth: int) -> None:
        """Insert an operation inside `depth` loops, before the loop or statement there that contains the writer."""
        if depth == 0:
            self._declaration_block.insert_op_before(op, self.value)
        else:
            self.path[depth - 1].body.block.insert_op_before(op, self._holder(depth))

    def _holder(self, depth: int) -> Operation:
        return self.path[depth] if depth < len(self.path) else self.writer

    def _access(self, statements: Sequence[DoOp], target: SSAValue, kept: Sequence[int]) -> None:
        """Rewrite statements to access `target`, with the subscripts of the axes `kept`, instead of the value."""
        if kept and len(kept) == len(self.written):  # the replacement of the value does it
            return

        def changed(x: SSAValue, subscripts: list[Subscript]) -> tuple[SSAValue, list[Subscript]]:
            return (target, [subscripts[axis] for axis in kept]) if x is self.value.result else (x, subscripts)

        for op in statements:
            op.set_accesses([changed(*read) for read in op.reads], [changed(*write) for write in op.writes])
            for gather in list(op.body.block.ops):
                if isinstance(gather, tensor.ExtractOp | ExtractIfOp) and gather.tensor is self.value.result:
                    indices, first = list(gather.indices), int(isinstance(gather, ExtractIfOp))
                    before, behind = gather.operands[:first], gather.operands[first + 1 + len(indices) :]
                    gather.operands = [*before, target, *(indices[axis] for axis in kept), *behind]

    def _store(self, register: SSAValue, memory: SSAValue, kept: Sequence[int]) -> None:
        """Insert a copy of the complete number from the register to memory."""
        block = Block(arg_types=[self._element] * 2)
        block.add_op(YieldOp(block.args[0]))
        copy = DoOp([(register, [])], [(memory, [self.written[axis] for axis in kept])], Region(block))
        locate(copy, self.writer.location)
        holder = self._holder(self.complete)
        assert holder.parent is not None
        holder.parent.insert_op_after(copy, holder)

    def _fill(self, memory: SSAValue, kept: Sequence[int]) -> None:
        """Insert loops that initialize the elements to which the loops from depth `complete` on add."""
        assert self.value.init is not None
        outside = {axis for axis, number in enumerate(self.bound) if number is not None and number < self.complete}
        body = Block(arg_types=[self._element])
        body.add_op(YieldOp(self.value.init))
        counters: dict[int, Subscript] = {axis: self.written[axis] for axis in outside}
        blocks: list[tuple[SSAValue, Block]] = []
        for axis in kept:
            if axis not in outside:
                block = Block(arg_types=[IndexType()])
                counters[axis] = block.args[0]
                blocks.append((self._extent(axis), block))
        op: Operation = DoOp([], [(memory, [counters[axis] for axis in kept])], Region(body))
        for extent, block in reversed(blocks):
            block.add_op(op)
            op = ForOp(extent, block)
        locate(op, self.writer.location)
        self._insert(op, self.complete)

    def _extent(self, axis: int) -> SSAValue:
        kind = self.value.result.type
        assert isinstance(kind, TensorType)
        shape = kind.get_shape()
        if shape[axis] == DYNAMIC_INDEX:
            return self.value.sizes[list(shape[:axis]).count(DYNAMIC_INDEX)]
        constant = arith.ConstantOp(IntegerAttr(shape[axis], IndexType()))
        constant.location = self.value.location
        self._declaration_block.insert_op_before(constant, self.value)
        return constant.result

    def _begin_with_numbers(self) -> None:
        """If the statement does not accumulate, let it read the initial value as a number."""
        if self.value.init is not None:
            number = len(self.writer.inputs) + list(self.writer.outputs).index(self.value.result)
            self.writer.body.block.args[number].replace_all_uses_with(self.value.init)

    @property
    def _element(self) -> Attribute:
        kind = self.value.result.type
        assert isinstance(kind, TensorType)
        element: Attribute = kind.element_type
        return element


def _reader(op: Operation) -> Operation:
    """The statement that contains an operation, or the operation itself."""
    parent = op.parent_op()
    return parent if isinstance(parent, DoOp) else op
