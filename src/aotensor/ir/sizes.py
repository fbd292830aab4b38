"""Checks that numbers of elements do not overflow: no tensor has more than MAX_ELEMENTS elements.

    %t = linalg.generic … -> tensor<?x?xf64>       %n · %m, as a float64, against 2^60: an `aot.check` before it

The rule makes every product over the extents of a tensor, every number of bytes and every sum of a few extents a number
of 63 bits, so that later levels need no checks. Extents of 0 count as 1, as in NumPy.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from aotensor.core import dtypes
from aotensor.core.types import MAX_ELEMENTS
from aotensor.errors import GraphConvergenceError, GraphError, GraphIndexError, GraphLinAlgError, GraphValueError
from aotensor.ir.index_builder import Extent, IndexBuilder
from aotensor.ir.scalar_builder import Scalar

TOO_LARGE: Final = "{found} elements or more are too many: an array has at most {expected}"
_Shape: TypeAlias = "tuple[int, Counter[SSAValue]]"
"""The factors of a number of elements: the product of the constant ones, and the others."""
_ANYTHING: Final = (-(1 << 63), (1 << 63) - 1)
_KINDS: Final = {
    "value": GraphValueError,
    "index": GraphIndexError,
    "linalg": GraphLinAlgError,
    "convergence": GraphConvergenceError,
}
_ORDERED: Final[Sequence[Callable[[int, int], bool]]] = (operator.lt, operator.le, operator.gt, operator.ge)
_COMPARE: Final[Sequence[Callable[[int, int], bool]]] = (operator.eq, operator.ne, *_ORDERED, *_ORDERED)
"""Predicates of `arith.cmpi` by number."""
_UNSIGNED: Final = 6
"""The number of the first unsigned predicate."""


class Sizes:
    """The facts about numbers of elements that are known while a function is built."""

    def __init__(self) -> None:
        self._given: list[_Shape] = []
        self._bounds: dict[SSAValue, Sequence[Extent]] = {}
        self._checked: set[tuple[int, frozenset[tuple[SSAValue, int]]]] = set()
        self._ranges: dict[SSAValue, tuple[int, int]] = {}

    def copy(self) -> Sizes:
        """A copy, for a builder whose checks hold at one insertion point only."""
        other = Sizes()
        other._given, other._bounds, other._ranges = self._given, self._bounds, self._ranges
        other._checked = set(self._checked)
        return other

    def add_extents(self, extents: Sequence[Extent]) -> None:
        """Record the extents of an existing array: its number of elements fits, and so does any part of its shape."""
        self._given.append(_shape(extents))

    def bound(self, extent: Scalar, shape: Sequence[Extent]) -> None:
        """Record that `extent` is at most the number of elements of an array of this shape."""
        self._bounds[extent.ssa] = shape

    def number(self, x: SSAValue) -> int | None:
        """The integer value of arithmetic on constants, else None."""
        low, high = self._range(x)
        return low if low == high else None

    def truth_of(self, condition: SSAValue) -> bool | None:
        """The truth value of a condition that constants determine, else None."""
        op = condition.owner
        if isinstance(op, arith.CmpiOp):
            (x, y), predicate = map(self.number, op.operands), int(op.predicate.value.data)
            if x is None or y is None or (predicate >= _UNSIGNED and min(x, y) < 0):
                return None
            return _COMPARE[predicate](x, y)
        if isinstance(op, arith.AndIOp | arith.OrIOp):
            sides, ends = [self.truth_of(x) for x in op.operands], isinstance(op, arith.OrIOp)
            return ends if ends in sides else None if None in sides else not ends
        return None

    def refusal(self, text: str, found: Extent, expected: Extent, kind: str) -> GraphError:
        """The error of a check that always fails."""
        numbers = [n if isinstance(n, int) else self.number(n.ssa) for n in (found, expected)]
        said = ["..." if n is None else n for n in numbers]
        error = _KINDS[kind](text.format(found=said[0], expected=said[1]))
        error.is_located = True
        return error

    def need_check(self, extents: Sequence[Extent]) -> bool:
        """Does a shape need a check that its number of elements fits? True only once for each shape.

        Raises: GraphValueError if the number is known not to fit.
        """
        known, unknown = _shape(extents)
        if known > MAX_ELEMENTS:
            raise GraphValueError(TOO_LARGE.format(found=known, expected=MAX_ELEMENTS))
        key = known, frozenset(unknown.items())
        if not unknown or key in self._checked:
            return False
        self._checked.add(key)
        if self._is_part_of_given(extents):
            return False
        most = known
        for x, count in unknown.items():
            most *= max(self._range(x)[1], 1) ** count
        return most >= 1 << 60

    def _is_part_of_given(self, extents: Sequence[Extent]) -> bool:
        bounds = [self._bounds.get(n.ssa, [n]) if isinstance(n, Scalar) else [n] for n in extents]
        known, unknown = _shape([n for shape in bounds for n in shape])
        return any(known <= most and unknown <= others for most, others in self._given)

    def _range(self, x: SSAValue) -> tuple[int, int]:
        """The least and the largest value of integer arithmetic on extents, as far as these are known."""
        pending = [x]
        while pending:  # no recursion: a join of many parts is a long chain of sums
            y = pending[-1]
            op = y.owner
            if y in self._ranges:
                pending.pop()
            elif isinstance(op, tensor.DimOp):
                self._ranges[y] = 0, MAX_ELEMENTS
            elif not isinstance(op, Operation) or not isinstance(op, _KNOWN):
                self._ranges[y] = _ANYTHING
            elif missing := [operand for operand in op.operands if operand not in self._ranges]:
                pending.extend(missing)
            elif isinstance(op, arith.SelectOp) and (verdict := self.truth_of(op.cond)) is not None:
                self._ranges[y] = self._ranges[op.lhs if verdict else op.rhs]
            else:
                low, high = _interval(op, [self._ranges[operand] for operand in op.operands])
                fits = _ANYTHING[0] <= low and high <= _ANYTHING[1]
                self._ranges[y] = (low, high) if fits else _ANYTHING
        return self._ranges[x]


_KNOWN: Final = (
    arith.ConstantOp, arith.IndexCastOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp,
    arith.SelectOp, arith.FloorDivSIOp, arith.DivSIOp, arith.CmpiOp, arith.ExtSIOp, arith.ExtUIOp,
)  # fmt: skip


def _interval(op: Operation, operands: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The interval of an operation's result by interval arithmetic, as in MLIR's integer range analysis."""
    match op:
        case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
            return op.value.value.data, op.value.value.data
        case arith.IndexCastOp() | arith.ExtSIOp():
            return operands[0]
        case arith.ExtUIOp() if operands[0][0] >= 0:
            return operands[0]
        case arith.AddiOp():
            (a, b), (c, d) = operands
            return a + c, b + d
        case arith.SubiOp():
            (a, b), (c, d) = operands
            return a - d, b - c
        case arith.MuliOp():
            ends = [x * y for x in operands[0] for y in operands[1]]
            return min(ends), max(ends)
        case arith.MinSIOp():
            (a, b), (c, d) = operands
            return min(a, c), min(b, d)
        case arith.MaxSIOp():
            (a, b), (c, d) = operands
            return max(a, c), max(b, d)
        case arith.SelectOp():
            (a, b), (c, d) = operands[1:]
            return min(a, c), max(b, d)
        case arith.FloorDivSIOp() | arith.DivSIOp() if operands[1][0] >= 1:  # rounds towards zero, or at most 1 lower
            (a, b), _ = operands
            return min(a, -1 if a < 0 else 0), max(b, 0)
        case _:
            return _ANYTHING


def has_fitting_count(v: IndexBuilder, extents: Sequence[Extent]) -> tuple[Scalar, Scalar]:
    """(whether a shape has at most MAX_ELEMENTS elements, their number, or 2^62 if there are more).

    It is computed as a float64, with an error of a few units of 2^-53 and without overflow.
    """
    known, unknown = _shape(extents)
    count = v.constant(float(known), "float64")
    for x, times in unknown.items():
        for _ in range(times):
            n = Scalar(x, dtypes.INDEX if isinstance(x.type, IndexType) else "int64")
            count = v.mul(count, v.cast(v.maximum(n, v.constant(1, n.dtype)), "float64"))
    fits = v.compare("le", count, v.constant(float(MAX_ELEMENTS), "float64"))
    return fits, v.cast(v.minimum(count, v.constant(2.0**62, "float64")), "index")


def _shape(extents: Sequence[Extent]) -> _Shape:
    """The constant factor of a number of elements, and its unknown factors; products such as n·m are split."""
    known, unknown = 1, Counter[SSAValue]()
    pending = [n if isinstance(n, int) else n.ssa for n in reversed(extents)]
    while pending:
        n = pending.pop()
        op = None if isinstance(n, int) else n.owner
        if isinstance(n, int):
            known *= n or 1
        elif isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            known *= max(op.value.value.data, 1)
        elif isinstance(op, arith.IndexCastOp | arith.MuliOp):
            pending.extend(reversed(op.operands))
        else:
            unknown[n] += 1
    return known, unknown
