"""The work of each line of the model: bytes and elements of memory that it touches, and operations.

    for i in n: for k in p: z += X[i, k] * w[k]      8·n·p bytes of X, 8·p of w, 2·n·p operations

Bytes are counted once per element that a statement touches: the least traffic possible. An access counts for the
line of its statement, an operation for its own line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import AnyFloat, FileLineColLoc, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ProductOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import gathers, is_register, loops_around
from aotensor.passes.nest.work import CHEAP
from aotensor.passes.report.numbers import Numbers


@dataclass
class Work:
    """The work of one line of the model in one call, for one set of dims.

    bytes: bytes of elements, each counted once per statement. gathers: number of elements at computed positions.
    flops: number of additions, multiplications, divisions and similar operations. elementary: number of calls of
    functions such as exp, which are many flops each.
    """

    bytes: float = 0.0
    gathers: float = 0.0
    flops: float = 0.0
    elementary: float = 0.0


@dataclass
class LineWork:
    """Collects the work of each line. sets: number of sets of dims. trips: trip counts of loops, for each set of dims.

    guesses: number of enclosing loops with unknown trip counts; lines with work inside such loops are left out.
    """

    sets: int
    trips: dict[LoopOp, list[float]] = field(default_factory=dict)
    guesses: int = 0
    _lines: dict[tuple[str, int], list[Work]] = field(default_factory=dict)
    _unknown: set[tuple[str, int]] = field(default_factory=set)

    @property
    def lines(self) -> dict[tuple[str, int], list[Work]]:
        """(file, line) → work for each set of dims, for the lines whose work is known."""
        return {key: work for key, work in self._lines.items() if key not in self._unknown}

    def leave_out(self, op: Operation) -> None:
        """Leave out the line of an operation whose work is unknown."""
        if isinstance(op.location, FileLineColLoc):
            self._unknown.add((op.location.filename.data, op.location.line.data))

    def statement(self, op: DoOp, times: Sequence[float], sets: Sequence[Numbers]) -> None:
        """Add the work of a statement that is executed `times` times, for each set of dims."""
        jumps = {*gathers(op), *(op.outputs if op.scatter is not None else ())}
        for x, subscripts in (*op.reads, *op.writes):
            if is_register(x) or not isinstance(x.type, TensorType):
                continue
            for work, time, touched in zip(
                self._at(op), times, self._elements_touched(op, x, subscripts, sets), strict=True
            ):
                if x in jumps:
                    work.gathers += time
                work.bytes += _itemsize(x) * touched
        for inner in op.body.block.ops:
            if not any(isinstance(y.type, AnyFloat) for y in inner.results):
                continue
            for work, time in zip(self._at(inner, op), times, strict=True):
                if isinstance(inner, _ARITHMETIC):
                    work.flops += time
                elif inner.name.startswith(("math.", func.CallOp.name)) and not isinstance(inner, CHEAP):
                    work.elementary += time

    def product(
        self, op: ProductOp, multiplications: Sequence[float], times: Sequence[float], sets: Sequence[Numbers]
    ) -> None:
        """Add the work of a matrix product."""
        for k, work in enumerate(self._at(op)):
            work.flops += 2 * multiplications[k]
            work.bytes += times[k] * sum(_itemsize(x) * _elements(x, sets[k]) for x in (op.a, op.b, op.result))

    def _at(self, op: Operation, otherwise: Operation | None = None) -> list[Work]:
        location = op.location if isinstance(op.location, FileLineColLoc) or otherwise is None else otherwise.location
        if not isinstance(location, FileLineColLoc):
            return [Work() for _ in range(self.sets)]  # of no line: nobody asks for it
        key = location.filename.data, location.line.data
        if self.guesses:
            self._unknown.add(key)
        return self._lines.setdefault(key, [Work() for _ in range(self.sets)])

    def _elements_touched(
        self, op: DoOp, x: SSAValue, subscripts: Sequence[Subscript], sets: Sequence[Numbers]
    ) -> list[float]:
        """The number of distinct elements of a tensor that a statement touches, for each set of dims.

        This is the product of the trip counts of the loops that the subscripts depend on, and at most the size of the
        tensor.
        """
        used: set[object] = {index for index in subscripts if isinstance(index, SSAValue)}
        found = [1.0] * self.sets
        for loop in reversed(loops_around(op)):
            if loop.counter not in used:
                continue
            found = [n * m for n, m in zip(found, self.trips.get(loop, found), strict=True)]
            first = loop.slice if isinstance(loop, EntriesOp) else loop.lower if isinstance(loop, ForOp) else None
            if isinstance(first, BlockArgument):  # the chunk, block or slice that it goes over
                used.add(first)
        most = [_elements(x, numbers) for numbers in sets]
        return [min(n, limit) if limit else n for n, limit in zip(found, most, strict=True)]


_ARITHMETIC: Final = (
    arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, arith.NegfOp, arith.MaximumfOp, arith.MinimumfOp,
    arith.MaxnumfOp, arith.MinnumfOp, math.SqrtOp, math.AbsFOp, math.FmaOp,
)  # fmt: skip


def _itemsize(x: SSAValue) -> int:
    element = x.type.element_type if isinstance(x.type, TensorType) else x.type
    bits = getattr(element, "bitwidth", 64)
    return max(int(bits if isinstance(bits, int) else bits.data) // 8, 1)


def _elements(x: SSAValue, numbers: Numbers) -> float:
    """The number of elements of a tensor; 0 if an extent is unknown."""
    total = 1.0
    for axis in range(len(x.type.get_shape()) if isinstance(x.type, TensorType) else 0):
        total *= numbers.extent(x, axis) or 0
    return total
