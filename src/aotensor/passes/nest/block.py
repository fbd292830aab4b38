"""Strip-mine loops that mix inner loops with elementary functions of one number per row, and distribute the blocks.

    for i:                              for block of rows:
      z = Σ_k X[i,k]·w[k]                 for i in block: z[i] = Σ_k X[i,k]·w[k]
      r = sigmoid(z)·y[i]         →       for i in block: r[i] = sigmoid(z[i])·y[i]      (vectorised)
      for k: g[k] += X[i,k]·r             for i in block: for k: g[k] += X[i,k]·r[i]

The rows of a block stay in cache from the first phase to the last, so memory is still read once; the elementary
functions run over whole vectors. Strip-mining and loop distribution as in Allen & Kennedy (2001), chapter 9.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import func, math
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.context import functions_of
from aotensor.ir.index_builder import end_of_block
from aotensor.ir.location import LocatedBuilder, builder_at_end, builder_before, locate
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.tree import copied_register, is_register
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.ir.upstream import walk
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

LONG_SLICE: Final = 256  # assumed entries per slice: blocks of 16 slices
_CHEAP: Final = (math.AbsFOp, math.FloorOp, math.CeilOp, math.CopySignOp)


@ir_pass(
    "strip-mine",
    level="nest",
    topic="loops",
    former="block-rows",
    options={"elements": Option(1, 1 << 20, "elements of a block of rows", ("block_elements",))},
)
def strip_mine(module: ModuleOp, target: Target) -> None:
    """Strip-mines a loop that mixes inner loops with elementary functions of single rows into phases over a block
    of rows.
    """
    for function in functions_of(module):
        for op in list(function.body.block.ops):
            if isinstance(op, ForOp) and op.is_whole and _is_mixed(op):
                if _crosses_numbers(op):
                    applied("strip-mined loop {} over rows, so that its elementary functions are vectorized", op)
                    _Blocking(op, target).run()
                else:
                    missed(
                        "loop {} not strip-mined: more than one scalar per row is live between its phases",
                        op,
                        hint="reduce each row before the elementary functions",
                    )


def _is_mixed(loop: ForOp) -> bool:
    """True if the body has both innermost loops and calls of elementary functions."""
    held = list(loop.body.block.ops)
    inner = [op for op in held if isinstance(op, LoopOp)]
    if not inner or any(isinstance(op, LoopOp) for other in inner for op in other.body.block.ops):
        return False
    return any(isinstance(op, DoOp) and _is_expensive(op) for op in held)


def _is_expensive(statement: DoOp) -> bool:
    return any(
        isinstance(op, func.CallOp) or (op.name.startswith("math.") and not isinstance(op, _CHEAP))
        for op in statement.body.block.ops
    )


def _crosses_numbers(loop: ForOp) -> bool:
    """True if every value that is live between phases is one number per row, not a buffer."""
    return all(is_register(op.result) for op in loop.body.block.ops if isinstance(op, ValueOp))


@dataclass(eq=False)
class _Phase:
    """Consecutive operations that become one loop over the rows of a block. `block` is the body of that loop."""

    holds_loops: bool
    ops: list[Operation] = field(default_factory=list)
    block: Block = field(default_factory=lambda: Block(arg_types=[IndexType()]))
    row: SSAValue | None = None
    """The index of the row within its block."""


class _Blocking:
    """Rewrites one loop into a loop over blocks of rows, with one inner loop per phase."""

    def __init__(self, loop: ForOp, target: Target) -> None:
        self.loop, self.target = loop, target
        self.phases = _phases(loop)
        self.home = {op: phase for phase in self.phases for op in phase.ops}
        self.outer = Block(arg_types=[IndexType()])
        self.start = self.outer.args[0]

    def run(self) -> None:
        before = builder_before(self.loop)
        rows = self._block_size(before)
        b = builder_at_end(self.outer, self.loop.location)
        end = end_of_block(b, self.start, rows, self.loop.upper)
        registers = [op for op in self.loop.body.block.ops if isinstance(op, ValueOp)]
        for op in list(self.loop.body.block.ops):
            self.loop.body.block.detach_op(op)
        for phase in self.phases:
            phase.block.add_ops(phase.ops)
        for register in registers:
            self._move_declaration(register, b)
        for phase in self.phases:
            self._use_own_counter(phase)
            b.insert(ForOp(end, phase.block, lower=self.start))
        before.insert(ForOp(self.loop.upper, self.outer, step=rows))
        assert self.loop.parent is not None
        self.loop.parent.erase_op(self.loop)

    def _block_size(self, b: Builder) -> SSAValue:
        """The number of rows per block: as many as fit in cache, rounded to a multiple of the smallest block."""
        inner = next(op for op in self.loop.body.block.ops if isinstance(op, LoopOp))
        smallest, largest = self.target.smallest_block, self.target.largest_block

        with ScalarBuilder(b).active() as s:
            length = s.index(LONG_SLICE) if isinstance(inner, EntriesOp) else Scalar(inner.upper, "index")  # type: ignore[attr-defined]
            length = s.maximum(length, s.index(1))
            rows = s.index(self.target.block_elements) / length / smallest * smallest
            return s.maximum(s.minimum(rows, s.index(largest)), s.index(smallest)).ssa

    def _move_declaration(self, register: ValueOp, b: Builder) -> None:
        """Move a register's declaration to the phase that writes it; later phases read it from a buffer."""
        x = register.result
        users = [self._top(use.operation) for use in x.uses]
        writer = next(op for op in users if _writes(op, x))
        home = self.home[writer]
        home.block.insert_op_before(register, home.block.first_op)  # type: ignore[arg-type]
        others = [op for op in dict.fromkeys(users) if self.home[op] is not home]
        if not others:
            return
        kind = register.result.type
        assert isinstance(kind, TensorType)
        rows = ValueOp([], TensorType(kind.element_type, [self.target.largest_block]))
        locate(rows, register.location)
        b.insert(rows)
        copy = _copy(x, rows.result, self._row(home))
        locate(copy, register.location)
        home.block.insert_op_after(copy, writer)
        for op in others:
            for statement in [inner for inner in walk(op) if isinstance(inner, DoOp)]:
                subscripts = [self._row(self.home[op])]
                reads = [(rows.result, subscripts) if y is x else (y, s) for y, s in statement.reads]
                statement.set_accesses(reads, statement.writes)

    def _top(self, op: Operation) -> Operation:
        """The operation directly in the loop's body that contains `op`, or `op` itself."""
        while op not in self.home:
            parent = op.parent_op()
            assert parent is not None
            op = parent
        return op

    def _row(self, phase: _Phase) -> SSAValue:
        if phase.row is None:
            b = LocatedBuilder(InsertPoint.at_start(phase.block), self.loop.location)
            with ScalarBuilder(b).active():
                phase.row = (Scalar(phase.block.args[0], "index") - Scalar(self.start, "index")).ssa
        return phase.row

    def _use_own_counter(self, phase: _Phase) -> None:
        counter = self.loop.counter
        for op in walk(phase.block):
            for position, x in enumerate(op.operands):
                if x is counter:
                    op.operands[position] = phase.block.args[0]


def _phases(loop: ForOp) -> list[_Phase]:
    """Split the body into phases of loops and of statements; a statement that stores a loop's result joins the loop."""
    phases: list[_Phase] = []
    for op in loop.body.block.ops:
        if isinstance(op, ValueOp):
            continue
        holds_loops = isinstance(op, LoopOp) or (
            bool(phases) and phases[-1].holds_loops and _stores(op, phases[-1].ops)
        )
        if not phases or phases[-1].holds_loops != holds_loops:
            phases.append(_Phase(holds_loops))
        phases[-1].ops.append(op)
    return phases


def _stores(op: Operation, written: Iterable[Operation]) -> bool:
    """Does a statement only copy a register that one of the `written` operations writes?"""
    register = copied_register(op) if isinstance(op, DoOp) else None
    return register is not None and any(_writes(other, register) for other in written)


def _writes(op: Operation, x: SSAValue) -> bool:
    return any(isinstance(inner, DoOp) and x in inner.outputs for inner in walk(op))


def _copy(register: SSAValue, buffer: SSAValue, row: SSAValue) -> DoOp:
    kind = register.type
    assert isinstance(kind, TensorType)
    body = Block(arg_types=[kind.element_type] * 2)
    body.add_op(YieldOp(body.args[0]))
    return DoOp([(register, [])], [(buffer, [row])], Region(body))
