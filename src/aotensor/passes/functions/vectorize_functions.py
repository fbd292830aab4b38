"""Compute functions with parameters (`gammainc`, `jv`, …) for blocks of elements, on vectors.

    scf.for %i = 0 to %n {             scf.for %s = 0 to %n step 256 {
      …  %a, %x                          scf.for %j = 0 to %m { …  %a, %x at %s + %j, stored to buffers }
      %y = @aot.gammainc(%a, %x)    →    @aot.gammainc.f64.block(%m, buffers)
      …  %y                              scf.for %j = 0 to %m { …  %y from its buffer }
    }                                  }

Such a function has loops whose trip counts depend on its operands, so LLVM does not vectorize a loop that calls it. The
function of a block sorts its elements by regime, and computes each regime with one element per lane
(`block_function.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.ir.location import LocatedBuilder, builder_before
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.ir.types import f64
from aotensor.ir.upstream import ParallelOp, declare_special_functions, walk
from aotensor.passes.exponentials import PREFIX
from aotensor.passes.functions.block_function import LONGEST, block_symbol, buffer_type, define_block_function
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.scalar_math.table import is_called, is_vector_symbol
from aotensor.passes.target import Target

_FEWEST: Final = 8
"""Trip count below which a vector costs more than single elements."""
_VECTORS: Final = 2
"""Vector registers of a value: two dependence chains hide the latency of divisions."""


@ir_pass(
    "vectorize-functions",
    level="loops",
    topic="vectors",
    unless=("checks", "no-vectors", "scalar", "unoptimised"),
)
def vectorize_functions(module: ModuleOp, target: Target) -> None:
    """Computes functions with parameters (`gammainc`, `betainc`, `jv`, …) for blocks of 256 elements: sorts them by
    regime (series, continued fraction, expansion) and by estimated trip count, and computes each regime on vectors. A
    lane that has finished its loop waits for the others, so that results do not depend on neighbouring elements.
    """
    lanes = _VECTORS * target.register_bits // f64.bitwidth
    wanted = dict[str, None]()
    for function in [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]:
        for loop in [op for op in walk(function) if isinstance(op, scf.ForOp)]:
            for call in _distribute(loop, lanes):
                wanted[call] = None
    for symbol in wanted:
        module.body.block.add_op(define_block_function(symbol, lanes, target.has_tables))
    if wanted:
        declare_special_functions(module)  # those of vectors


@dataclass(frozen=True)
class _Job:
    """A call, the operations of the loop that compute its operands, and the buffers of a block."""

    call: func.CallOp
    operations: Sequence[Operation]
    operands: Sequence[SSAValue]
    result: SSAValue


def _distribute(loop: scf.ForOp, lanes: int) -> list[str]:
    """Rewrite a loop that calls functions with parameters; return the symbols of their forms for float64."""
    calls = [op for op in loop.body.block.ops if _is_function(op)]
    if not calls:
        return []
    chosen, slices = list[func.CallOp](), list[list[Operation]]()
    for call in calls:
        found = _reason_against(loop) or _slice(loop, call, chosen)
        if isinstance(found, str):
            missed("{} computed one element at a time: {}", call, found)
        else:
            applied("{} computed for blocks of {} elements, on vectors of {}", call, LONGEST, lanes)
            chosen.append(call)
            slices.append(found)
    if not chosen:
        return []
    home = _home(loop)
    on_stack = LoopBuilder(LocatedBuilder(InsertPoint.at_start(home), loop.location))
    jobs = list[_Job]()
    for call, operations in zip(chosen, slices, strict=True):
        *operands, result = (on_stack.on_stack(buffer_type(lanes)) for _ in range(len(call.arguments) + 1))
        jobs.append(_Job(call, operations, operands, result))
    _Distribution(loop, jobs).rewrite()
    return [_wide_symbol(job.call) for job in jobs]


def _is_function(op: Operation) -> bool:
    if not isinstance(op, func.CallOp):
        return False
    symbol = op.callee.root_reference.data
    return symbol.startswith(PREFIX) and not is_vector_symbol(symbol) and is_called(symbol)


def _wide_symbol(call: func.CallOp) -> str:
    """The symbol of a function for float64: float32 uses its code."""
    return f"{call.callee.root_reference.data.rpartition('.')[0]}.f64"


def _reason_against(loop: scf.ForOp) -> str:
    """Why a loop cannot be split into blocks; "" if it can."""
    lower, upper, step = (_constant(x) for x in (loop.lb, loop.ub, loop.step))
    if step != 1:
        return "the loop has a step"
    if lower is not None and upper is not None and upper - lower < _FEWEST:
        return f"the loop has {max(upper - lower, 0)} iterations"
    writes = any(_writes(op) for op in loop.body.block.ops)
    if writes and "parallel_accesses" not in loop.attributes:
        return "an iteration may read what an earlier one writes"
    return ""


def _constant(x: SSAValue) -> int | None:
    owner = x.owner
    is_constant = isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr)
    return owner.value.value.data if is_constant else None  # type: ignore[union-attr]


def _writes(op: Operation) -> bool:
    """May an operation write memory?"""
    if isinstance(op, func.CallOp):
        return not op.callee.root_reference.data.startswith(PREFIX)
    return not op.name.startswith(("arith.", "math.")) and not isinstance(
        op, memref.LoadOp | memref.DimOp | scf.YieldOp
    )


def _slice(loop: scf.ForOp, call: func.CallOp, chosen: Sequence[func.CallOp]) -> list[Operation] | str:
    """The operations of an iteration that compute the operands of a call, in order; or why they cannot come first.

    chosen: earlier calls, whose results are in buffers by then.
    """
    block, wanted, pending = loop.body.block, set[Operation](), list(call.arguments)
    while pending:
        x = pending.pop()
        owner = x.owner
        if isinstance(owner, Block):
            if owner is block and isinstance(x, BlockArgument) and x.index > 0:
                return "its operands depend on the iteration before"
            continue
        if owner.parent is not block or owner in wanted or owner in chosen:
            continue
        if owner.regions or _writes(owner):
            return "another loop or branch computes its operands"
        wanted.add(owner)
        pending += owner.operands
    written, has_others = set[SSAValue](), False
    for op in block.ops:
        if op in wanted and isinstance(op, memref.LoadOp) and (has_others or op.memref in written):
            return "its operands are read after a write"
        if isinstance(op, memref.StoreOp):
            written.add(op.memref)
        else:
            has_others = has_others or _writes(op)
    return [op for op in block.ops if op in wanted]


def _home(loop: scf.ForOp) -> Block:
    """The block whose buffers a loop uses: that of the function, or of the chunk that one thread executes."""
    around: Operation | None = loop.parent_op()
    while not isinstance(around, func.FuncOp | ParallelOp):
        assert around is not None
        around = around.parent_op()
    return around.body.block


class _Distribution:
    """Rewrites a loop as loops over the elements of a block, one before each call and one for everything else."""

    def __init__(self, loop: scf.ForOp, jobs: Sequence[_Job]) -> None:
        self.loop, self.jobs = loop, jobs
        self.b = LoopBuilder(builder_before(loop), NO_FAST_MATH)

    def rewrite(self) -> None:
        """Replace the loop."""
        b, loop = self.b, self.loop
        lower, upper = Scalar(loop.lb, "index"), Scalar(loop.ub, "index")
        carried = [Scalar(x, "raw") for x in loop.iter_args]

        def block(start: Scalar, values: list[Scalar]) -> Sequence[Scalar]:
            count = b.index(b.imin(upper - start, LONGEST))
            for job in self.jobs:
                b.use_location_of(job.call)
                b.loop(
                    0, count, (), lambda j, _, job=job: self._operands(start, j, job),  # type: ignore[misc]
                    attributes=["parallel_accesses"],
                )  # fmt: skip
                symbol = block_symbol(_wide_symbol(job.call))
                b.builder.insert(func.CallOp(symbol, [count.ssa, *job.operands, job.result], []))
            b.use_location_of(loop)
            found = b.loop(0, count, values, lambda j, inner: self._rest(start, j, inner))
            last = b.builder.insertion_point.block.last_op
            assert last is not None
            last.attributes |= loop.attributes
            return found

        with b.active():
            found = b.loop(lower, upper, carried, block, step=LONGEST, is_vectorisable=False, is_unrolled=False)
        Rewriter.replace_op(loop, [], [x.ssa for x in found])

    def _operands(self, start: Scalar, j: Scalar, job: _Job) -> Sequence[Scalar]:
        """Build the operands of one element, and store them."""
        used = {x for op in (*job.operations, job.call) for x in op.operands}
        before = [one for one in self.jobs[: self.jobs.index(job)] if one.call.results[0] in used]
        values = self._copy(start, j, (), before, job.operations)
        for x, buffer in zip(job.call.arguments, job.operands, strict=True):
            value = Scalar(values.get(x, x), "raw")
            if x.type != f64:
                value = self.b.make(arith.ExtFOp, (value.ssa,), "float64", f64)
            self.b.store(value, buffer, [j])
        return ()

    def _rest(self, start: Scalar, j: Scalar, carried: Sequence[Scalar]) -> Sequence[Scalar]:
        """Build an iteration of the loop, with the results of the calls from their buffers."""
        calls = {job.call for job in self.jobs}
        *ops, end = self.loop.body.block.ops
        values = self._copy(start, j, carried, self.jobs, [op for op in ops if op not in calls])
        return [Scalar(values.get(x, x), "raw") for x in end.operands]

    def _copy(
        self, start: Scalar, j: Scalar, carried: Sequence[Scalar], jobs: Sequence[_Job], ops: Sequence[Operation]
    ) -> dict[SSAValue, SSAValue]:
        """Copy operations of the loop for element start + j; return old value → new value.

        jobs: those whose results are in their buffers.
        """
        counter, *others = self.loop.body.block.args
        values: dict[SSAValue, SSAValue] = {counter: self.b.index(start + j).ssa}
        values.update(zip(others, (x.ssa for x in carried), strict=False))
        for job in jobs:
            result = job.call.results[0]
            value = self.b.fetch(job.result, [j], "float64").ssa
            is_narrow = result.type != f64
            values[result] = self.b.make(arith.TruncFOp, (value,), "raw", result.type).ssa if is_narrow else value
        for op in ops:
            self.b.builder.insert(op.clone(values))
        return values
