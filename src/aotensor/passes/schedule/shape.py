"""The full indices of a value, independent of where it is declared: a register in a loop has one per iteration.

nest.for %c in %n step 64 {
  %b = nest.value : tensor<64xf64>                  %b has an element for each i < n
  nest.for %i = %c to … { nest.do … -> (%b[%i - %c]) }
}
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from aotensor.ir.nest.ops import ValueOp
from aotensor.ir.nest.tree import loops_around
from aotensor.passes.schedule.reader import Reader, Unreadable
from aotensor.passes.schedule.table import Term


class Shape:
    """Maps a value's subscripts to full indices, which do not depend on the block of iterations it is declared in.

    accesses: the subscripts at which it is written.
    """

    def __init__(self, reader: Reader, value: ValueOp, accesses: Sequence[Sequence[Term]]) -> None:
        self.reader, self.value = reader, value
        self.scope = [reader.variable(loop) for loop in loops_around(value)]
        t = reader.table
        rank = len(accesses[0]) if accesses else 0
        self.shifts: list[Term | None] = [None] * rank
        for axis in range(rank):
            for block in reversed(self.scope):
                steps = reader.steps.get(block)
                if steps is None:
                    continue
                start = t.add(steps.low, t.multiply(steps.step, block))
                if all(self._is_in(t.add(access[axis], start), block) for access in accesses):
                    self.shifts[axis] = start
                    break
        self.dropped: dict[Term, Hashable] = {}
        for access in accesses[:1]:
            inner = [*self.scope, *self._shifted(access)]
            for block in self.scope:
                ways = [way for x in inner if (way := self._block_division(x, block)) is not None]
                if ways:
                    self.dropped[block] = ways[0]

    @property
    def is_rewritten(self) -> bool:
        return bool(self.dropped) or any(x is not None for x in self.shifts)

    def at(self, subscripts: Sequence[Term]) -> list[Term]:
        """The full indices of an access. Raises: Unreadable if the access exceeds its block."""
        inner = [*self.scope, *self._shifted(subscripts)]
        for block, way in self.dropped.items():
            if not any(self._block_division(x, block) == way for x in inner):
                raise Unreadable("an element of a buffer is read in another block of iterations than it is written in")
        return [x for x in inner if x not in self.dropped]

    def _shifted(self, subscripts: Sequence[Term]) -> list[Term]:
        if not self.shifts:
            return list(subscripts)
        add = self.reader.table.add
        return [x if s is None else add(x, s) for x, s in zip(subscripts, self.shifts, strict=True)]

    def _is_in(self, x: Term, block: Term) -> bool:
        return self._block_division(x, block) is not None

    def _block_division(self, x: Term, block: Term) -> Hashable | None:
        """How a block divides the iterations of an index; None if it does not."""
        domain = self.reader.domains.get(x)
        found = [] if domain is None else self.reader.blocks_of(domain)
        return next((way for y, way in found if y == block), None)
