"""A function of many elements: it sorts them by regime, and computes each regime on vectors.

    func.func private @aot.gammainc.f64.block(%n, %a, %x, %y) {
      for i < n by lanes: number[i … ] = …                            which series or fraction, and how long
      for i < n: p = start[number[i]]++; place[i] = p; a′[p] = a[i]; x′[p] = x[i]
      for each regime: for p by lanes: y′[p … ] = series on vectors, under a mask
      for i < n: y[i] = y′[place[i]]
    }

Lanes of a vector then execute the same loops, and an element's result does not depend on its neighbours: a lane that is
done keeps its values (`scalar_math/widening.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith, func, vector
from xdsl.dialects.builtin import Float64Type, MemRefType, UnitAttr, VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar
from aotensor.ir.types import f64, i1, i64, index
from aotensor.passes.functions.regimes import Decision, decision
from aotensor.passes.outlining.outline import NO_ALIAS
from aotensor.passes.scalar_math.table import CALLED, CALLEES, define, define_length
from aotensor.passes.scalar_math.widening import Widening

LONGEST: Final = 256
"""Elements of a block: its buffers stay in the first level cache."""
_BUCKETS: Final = 16
"""Buckets of the lengths of the elements of a regime."""
NO_SIDES: Final[Mapping[Operation, int]] = {}


def buffer_type(lanes: int) -> MemRefType[Float64Type]:
    """The type of the buffers of a block: the last vector may begin at the last element."""
    return MemRefType(f64, [LONGEST + lanes])


def block_symbol(symbol: str) -> str:
    """The symbol of the function of a block: `aot.gammainc.f64.block`."""
    return f"{symbol}.block"


def define_block_function(symbol: str, lanes: int, has_tables: bool) -> func.FuncOp:
    """Build `@<symbol>.block(n, operands…, result)` of a scalar function of float64.

    n: number of elements, at most `LONGEST`. operands, result: buffers of `buffer_type`.
    """
    scalar = define(symbol, has_tables)
    buffer = buffer_type(lanes)
    count = len(scalar.body.block.args)
    made = func.FuncOp(block_symbol(symbol), ([index, *[buffer] * (count + 1)], []), visibility="private")
    made.attributes |= {NO_ALIAS: UnitAttr(), CALLED: UnitAttr()}
    n, *operands, result = made.body.block.args
    b = LoopBuilder(Builder(InsertPoint.at_end(made.body.block)), NO_FAST_MATH)
    with b.active():
        _BlockFunction(b, scalar, define_length(symbol, _BUCKETS), lanes).fill(Scalar(n, "index"), operands, result)
    b.builder.insert(func.ReturnOp())
    return made


class _BlockFunction:
    """Builds the body of a block's function."""

    def __init__(self, b: LoopBuilder, scalar: func.FuncOp, length: func.FuncOp | None, lanes: int) -> None:
        self.b, self.scalar, self.length, self.lanes = b, scalar, length, lanes

    def fill(self, n: Scalar, operands: Sequence[SSAValue], result: SSAValue) -> None:
        """Build everything between the arguments and the return."""
        tree = decision(self.scalar.body.block)
        if tree is None and self.length is None:
            self._compute(0, n, operands, result, {})
            return
        b, regimes = self.b, [{}] if tree is None else tree.regimes()
        buckets = 1 if self.length is None else _BUCKETS
        sorted_operands = [b.on_stack(buffer_type(self.lanes)) for _ in operands]
        sorted_result = b.on_stack(buffer_type(self.lanes))
        count = len(regimes) * buckets
        place, starts = (b.on_stack(MemRefType(i64, [size])) for size in (LONGEST, count + 1))
        numbers = b.on_stack(MemRefType(i64, [LONGEST + self.lanes]))
        self._classify(tree, n, operands, numbers)
        self._sort(count, n, operands, numbers, starts, place, sorted_operands)
        first: Extent = 0
        for k, sides in enumerate(regimes):
            end = b.position(starts, (k + 1) * buckets - 1)
            self._compute(first, end, sorted_operands, sorted_result, sides)
            first = end

        def move(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            b.store(b.fetch(sorted_result, [b.position(place, i)], "float64"), result, [i])
            return ()

        b.loop(0, n, (), move)

    def _classify(self, tree: Decision | None, n: Scalar, operands: Sequence[SSAValue], numbers: SSAValue) -> None:
        """Build: numbers[i] = the number of element i by regime and length."""

        def body(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            b, mask = self.b, self._mask(n, i)
            number = None if tree is None else tree.classify(self._widening(self.scalar, i, operands, mask))
            if self.length is not None:
                widening = self._widening(self.length, i, operands, mask)
                bucket = self._run(self.length, widening, None)
                kind = VectorType(i64, [self.lanes])
                bucket = b.make(arith.FPToSIOp, (bucket,), "raw", kind).ssa
                if number is not None:
                    scale = b.emit(vector.BroadcastOp(b.constant(_BUCKETS, "int64").ssa, kind), "raw").ssa
                    number = (Scalar(number, "int64") * Scalar(scale, "int64")).ssa
                    bucket = (Scalar(number, "int64") + Scalar(bucket, "int64")).ssa
                number = bucket
            assert number is not None
            b.store_vector(number, numbers, [i], None)
            return ()

        self.b.loop(0, n, (), body, step=self.lanes, is_unrolled=False)

    def _sort(
        self,
        count: int,
        n: Scalar,
        operands: Sequence[SSAValue],
        numbers: SSAValue,
        starts: SSAValue,
        place: SSAValue,
        sorted_operands: Sequence[SSAValue],
    ) -> None:
        """Build a counting sort: place[i] = position of element i by number; starts[k] = end of those of number k."""
        b, one, zero = self.b, self.b.constant(1, "int64"), self.b.constant(0, "int64")

        def clear(k: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            b.store(zero, starts, [k])
            return ()

        def tally(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            after = b.position(numbers, i) + 1
            b.store(b.fetch(starts, [after], "int64") + one, starts, [after])
            return ()

        def begin(k: Scalar, before: list[Scalar]) -> Sequence[Scalar]:
            total = before[0] + b.fetch(starts, [k], "int64")
            b.store(total, starts, [k])
            return (total,)

        def move(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            number = b.position(numbers, i)
            start = b.fetch(starts, [number], "int64")
            b.store(start + one, starts, [number])
            b.store(start, place, [i])
            at = b.position(place, i)
            for source, target in zip(operands, sorted_operands, strict=True):
                b.store(b.fetch(source, [i], "float64"), target, [at])
            return ()

        b.loop(0, count + 1, (), clear)
        b.loop(0, n, (), tally, is_vectorisable=False)
        b.loop(0, count, [zero], begin, is_vectorisable=False)
        b.loop(0, n, (), move, is_vectorisable=False)

    def _compute(
        self, first: Extent, end: Scalar, operands: Sequence[SSAValue], result: SSAValue, sides: Mapping[Operation, int]
    ) -> None:
        """Build: result[i] = the function of elements first … end, all of one regime."""

        def body(i: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
            mask = self._mask(end, i)
            found = self._run(self.scalar, self._widening(self.scalar, i, operands, mask, sides), mask)
            self.b.store_vector(found, result, [i], None)
            return ()

        self.b.loop(first, end, (), body, step=self.lanes, is_unrolled=False)

    def _run(self, function: func.FuncOp, widening: Widening, mask: SSAValue | None) -> SSAValue:
        """Build the result of a function on vectors."""
        *ops, last = function.body.block.ops
        widening.run(ops, mask)
        return widening.values[last.operands[0]]

    def _mask(self, end: Scalar, i: Scalar) -> SSAValue:
        """Build the mask of the elements i, i + 1, … before `end`."""
        left = self.b.index(end - i)
        return self.b.emit(vector.CreateMaskOp([left.ssa], VectorType(i1, [self.lanes])), "raw").ssa

    def _widening(
        self,
        function: func.FuncOp,
        i: Scalar,
        operands: Sequence[SSAValue],
        mask: SSAValue,
        sides: Mapping[Operation, int] = NO_SIDES,
    ) -> Widening:
        """A widening at the builder's place, whose arguments are the operands of elements i, i + 1, …

        Lanes beyond the mask compute element i again: other memory could hold slow operands, such as subnormal numbers.
        """
        b, values = self.b, dict[SSAValue, SSAValue]()
        for argument, buffer in zip(function.body.block.args, operands, strict=True):
            loaded = b.load_vector(buffer, [i], self.lanes, None)
            first = b.emit(
                vector.BroadcastOp(b.fetch(buffer, [i], "float64").ssa, VectorType(f64, [self.lanes])), "raw"
            )
            values[argument] = b.select(Scalar(mask, "raw"), loaded, first).ssa
        return Widening(self.lanes, b.builder.insertion_point.block, CALLEES, values, sides)
