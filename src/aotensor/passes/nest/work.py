"""Estimate the work of loop iterations, as a number or an index value computed before the loop.

The unit is one operation of a vectorized loop on one core of a current machine. It is an estimate for decisions at run
time, computed from extents alone, so that equal sizes get equal decisions.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from math import prod
from typing import Final

from xdsl.dialects import arith, func, math, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.index_builder import Extent, IndexBuilder
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, PrefetchOp, ValueOp
from aotensor.ir.nest.tree import axis_of, is_register, known_extent, statements
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.scalar_math.table import is_called

UNIT: Final = 5e-11
"""Seconds per unit of work."""
_ACCESS: Final = 2
"""Units: sequential read or write of an element."""
_JUMP: Final = 8
"""Units: access to an element at a random address."""
_SLOW: Final = 6
"""Units: a division or a square root."""
_ELEMENTARY: Final = 8
"""Units: an elementary function per vector lane, or a scalar loop."""
_ELEMENTARY_ALONE: Final = 32
"""Units: an elementary function of a single number, which takes as long as one of a whole vector."""
_LONG: Final = 4000
"""Units: a function with loops and branches, such as the incomplete gamma function: 200 ns."""
_CHAIN: Final = 4
"""Units: latency of one addition in a chain of scalar additions."""
_TYPICAL: Final = 16
"""Assumed trip count of a loop whose trip count is not known before it begins."""
CHEAP: Final = (math.AbsFOp, math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp, math.CopySignOp)
_ROOTS: Final = (arith.DivfOp, math.SqrtOp, math.RsqrtOp, arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)


def work_of_iteration(b: IndexBuilder, loop: LoopOp) -> Extent:
    """The estimated work of one iteration, or of one row of a loop over blocks of rows. b: builds before the loop."""
    return _Work(b, loop).total(loop.body.block.ops)


class _Work:
    """Estimates the work of operations inside a loop, as a number or as index arithmetic before the loop."""

    def __init__(self, b: IndexBuilder, outermost: LoopOp) -> None:
        self.b, self.outermost = b, outermost
        self._trips_of: dict[SSAValue, Extent] = {}

    def total(self, ops: Iterable[Operation]) -> Extent:
        """The work of operations that are executed once each, as a sum of products of trip counts."""
        terms = self._terms(ops)
        total: Extent = terms.pop((), 0)
        for trips, number in terms.items():
            total += prod((self._trips_of[x] for x in trips), start=number)
        return total

    def _terms(self, ops: Iterable[Operation]) -> Counter[tuple[SSAValue, ...]]:
        """Terms of the work: trip counts of the loops around operations → work of these operations per iteration."""
        found = Counter[tuple[SSAValue, ...]]({(): 0})
        for op in ops:
            if not isinstance(op, LoopOp):
                found[()] += work_of(op)
                continue
            trips = self._trips(op)
            for around, number in self._terms(op.body.block.ops).items():
                if isinstance(trips, int):
                    found[around] += trips * number
                elif number:
                    self._trips_of[trips.ssa] = trips
                    found[(trips.ssa, *around)] += number
        return found

    def _trips(self, loop: LoopOp) -> Extent:
        known = known_extent(loop)
        if known is not None:
            return known
        if isinstance(loop, EntriesOp):
            return self._mean_length(loop)
        assert isinstance(loop, ForOp)
        if loop.lower is not None:
            # The loop over rows of a block counts as one row; a remainder loop is counted with the vectorized one.
            return 1
        trips, step = (1 if x is None else self._outside(x) for x in (loop.upper, loop.step))
        return _TYPICAL if trips is None or step is None else quotient(self.b, trips, step)

    def _outside(self, x: SSAValue) -> Extent | None:
        """A loop bound, recomputed before the outermost loop; None if it is not invariant there."""
        op = x.owner
        if not isinstance(op, Operation):
            return None if self.outermost.is_ancestor(op) else Scalar(x, "index")
        if not self.outermost.is_ancestor(op) or isinstance(op, arith.ConstantOp):
            return self.b.as_extent(Scalar(x, "index"))
        makers: dict[type[Operation], Callable[[Extent, Extent], Extent]] = {
            arith.AddiOp: operator.add, arith.SubiOp: operator.sub, arith.MuliOp: operator.mul,
            arith.MinSIOp: self.b.imin, arith.MaxSIOp: self.b.imax, arith.DivSIOp: partial(quotient, self.b),
        }  # fmt: skip
        if type(op) not in makers:
            return None
        left, right = map(self._outside, op.operands)
        return None if left is None or right is None else makers[type(op)](left, right)

    def _mean_length(self, loop: EntriesOp) -> Extent:
        """The mean number of entries per slice, plus one."""
        slices = extent(self.b, loop.indptr, 0)
        entries = [
            n for op in statements(loop) for x, subscripts in op.reads
            if subscripts and subscripts[0] is loop.counter and (n := extent(self.b, x, 0)) is not None
        ]  # fmt: skip
        if slices is None or not entries:
            return _TYPICAL
        return quotient(self.b, entries[0], slices) + 1  # an indptr has at least one element


def arithmetic_along(statement: DoOp, loop: LoopOp) -> int:
    """The work of a statement's floating-point arithmetic in a scalar loop, without memory accesses."""
    is_sum = statement.scatter is None and any(axis_of(subscripts, loop) is None for _, subscripts in statement.writes)
    work = _CHAIN if is_sum else 0
    for op in statement.body.block.ops:
        if not isinstance(op, tensor.ExtractOp | ExtractIfOp) and any(isinstance(x.type, AnyFloat) for x in op.results):
            cost = work_of(op)
            work += _ELEMENTARY_ALONE if cost >= _ELEMENTARY else cost
    return work


def rows_of_chunk(b: IndexBuilder, count: Extent, work: Extent, least: Extent, most: Extent, group: Extent) -> Extent:
    """Iterations per chunk, out of `count`: whole groups, such that the number of chunks is even, or one.

    work: work per iteration. least: minimum work per chunk. most: maximum number of chunks.
    """
    pairs = quotient(b, count * work, least * 2)
    chunks = b.imax(b.imin(pairs, quotient(b, most, 2)) * 2, 1)
    rows = b.imax(quotient(b, count + (chunks - 1), chunks), 1)
    return quotient(b, rows + (group - 1), group) * group


def extent(b: IndexBuilder, x: SSAValue, axis: int) -> Extent | None:
    """The extent of a tensor's axis; None if it is not known where the tensor is declared."""
    assert isinstance(x.type, TensorType)
    known = x.type.get_shape()[axis]
    if known != DYNAMIC_INDEX:
        return int(known)
    if isinstance(x, BlockArgument):
        return b.emit(tensor.DimOp(x, b.index(axis).ssa), "index")
    if isinstance(x.owner, ValueOp):
        position = list(x.type.get_shape()[:axis]).count(DYNAMIC_INDEX)
        return b.as_extent(Scalar(x.owner.sizes[position], "index"))
    return None


def elements(b: IndexBuilder, x: SSAValue) -> Extent:
    """The number of elements of a value that statements write."""
    assert isinstance(x.owner, ValueOp) and isinstance(x.type, TensorType)
    total: Extent = 1
    for axis in range(len(x.type.get_shape())):
        n = extent(b, x, axis)
        assert n is not None
        total *= n
    return total


def work_of(op: Operation) -> int:
    """The work of one execution of an operation; 0 for a loop."""
    match op:
        case DoOp():
            jumps = op.scatter is not None
            accesses = sum(_JUMP if jumps else _ACCESS for x in op.outputs if not is_register(x))
            accesses += sum(_ACCESS for x in op.inputs if not is_register(x))
            return accesses + sum(map(work_of, op.body.block.ops))
        case tensor.ExtractOp() | ExtractIfOp():
            return _JUMP
        case PrefetchOp() | ValueOp() | arith.ConstantOp():
            return 0
        case func.CallOp():
            return _LONG if is_called(op.callee.root_reference.data) else _ELEMENTARY
        case _ if isinstance(op, _ROOTS):
            return _SLOW
        case _ if op.regions or (op.name.startswith("math.") and not isinstance(op, CHEAP)):
            return _ELEMENTARY
        case _:
            return 1


def quotient(b: IndexBuilder, x: Extent, y: Extent) -> Extent:
    """x // y for x ≥ 0 and y > 0, folded if both are numbers."""
    if isinstance(x, int) and isinstance(y, int):
        return x // y
    return x if y == 1 else b.as_extent(b.index(x) / y)
