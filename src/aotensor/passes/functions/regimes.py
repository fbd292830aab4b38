"""The regimes of a function: the sides of its outermost branches that contain loops.

    %y = scf.if %near { series } else { scf.if %low { series } else { fraction } }      regimes 0, 1, 2

An element belongs to one regime. Elements of one regime execute the same loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, scf, vector
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.upstream import walk
from aotensor.passes.scalar_math.table import has_loops
from aotensor.passes.scalar_math.widening import Widening


@dataclass(frozen=True)
class Decision:
    """A branch whose sides are regimes, or contain further decisions.

    before: the operations of its block before it, which have no loops. sides: the decision inside each side, or None.
    """

    branch: scf.IfOp
    before: Sequence[Operation]
    sides: tuple[Decision | None, Decision | None]

    def regimes(self) -> list[dict[Operation, int]]:
        """For each regime, the side of each branch that leads to it."""
        return [
            {self.branch: side, **rest}
            for side, inner in enumerate(self.sides)
            for rest in (inner.regimes() if inner is not None else [{}])
        ]

    def classify(self, widening: Widening) -> SSAValue:
        """Append the computation of the regime of each lane, as a vector of i64."""
        return self._numbers(widening, 0)[0]

    def _numbers(self, widening: Widening, first: int) -> tuple[SSAValue, int]:
        """Append the number of the regime of each lane, counted from `first`; and return the next number."""
        widening.run(self.before)
        condition, found = widening.values[self.branch.cond], list[SSAValue]()
        for inner in self.sides:
            if inner is None:
                number = widening.add(arith.ConstantOp(IntegerAttr(first, i64)))
                found.append(widening.add(vector.BroadcastOp(number, widening.wide(i64))))
                first += 1
            else:
                number, first = inner._numbers(widening, first)
                found.append(number)
        return widening.select(condition, *found), first


def decision(block: Block) -> Decision | None:
    """The first branch of a block that has loops inside; None if a loop precedes it, or there is none."""
    before = list[Operation]()
    for op in block.ops:
        if isinstance(op, scf.IfOp) and _loops(op):
            one, other = (decision(region.block) for region in op.regions)
            return Decision(op, before, (one, other))
        if _loops(op):
            return None
        before.append(op)
    return None


def _loops(op: Operation) -> bool:
    """Does an operation contain a loop, or call a function that has loops?"""
    return any(
        isinstance(x, scf.WhileOp) or (isinstance(x, func.CallOp) and has_loops(x.callee.root_reference.data))
        for x in walk(op)
    )
