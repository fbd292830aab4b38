"""Check that the order of a nest's loops and statements preserves every dependence.

An element is read after all writes to it: in the same iteration of each common loop, later in the text. The same is
required of a value that reuses memory, and of the readers of the former value.

    nest.for %i in %n {                                    nest.for %i in %n {
      nest.do … -> (%s = %z[%i])                             nest.do(%v = %z[%i]) …        read before it is written
      nest.do(%v = %z[%i]) …             right               nest.do … -> (%s = %z[%i])
    }                                                      }
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.ops import STORAGE, DoOp, OverAttr, ValueOp
from aotensor.ir.nest.tree import loops_around, root_of
from aotensor.ir.nest.verify import Access, accesses_of, are_disjoint
from aotensor.ir.upstream import walk
from aotensor.passes.schedule.meaning import Meaning
from aotensor.passes.schedule.reader import Unreadable
from aotensor.passes.schedule.table import Term
from aotensor.passes.schedule.write_record import ORDERED, SET
from aotensor.passes.schedule.writers import are_different, constant_subscripts


class Broken(Exception):
    """A violated dependence of a nest: its source and destination operations, the value, and how it is violated."""

    def __init__(self, value: SSAValue, first: Operation, second: Operation, how: str) -> None:
        super().__init__(how)
        self.value, self.first, self.second, self.how = value, first, second, how


@dataclass(frozen=True, eq=False)
class _Step:
    """An access to an element, with the element's indices; None if these are unknown."""

    access: Access
    at: list[Term] | None
    kind: str


class Order:
    """Checks that one function preserves every dependence."""

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.places: dict[Operation, int] = {}
        self.steps: dict[SSAValue, list[_Step]] = defaultdict(list)
        for number, op in enumerate(walk(meaning.function)):
            self.places[op] = number
            for access in accesses_of(op):
                self.steps[root_of(access.view)].append(self._step(access))

    def check(self) -> None:
        """Check all dependences. Raises: Broken for a violated one."""
        taken: set[SSAValue] = set()
        for x, steps in list(self.steps.items()):
            if isinstance(x.owner, ValueOp):
                if x.owner.folded is not None:
                    raise Unreadable(
                        "the sweeps of overlapped tiles keep only their last rows; schedules are supported without "
                        "that pass: --disable-pass overlapped-tiling"
                    )
                if x.owner.over is not None and root_of(x.owner.over) in taken:
                    raise Unreadable("two values share the memory of the same value")
                if x.owner.over is not None:
                    taken.add(root_of(x.owner.over))
                part = self.meaning.partial.get(x)
                if part is not None:  # the first chunk updates the total itself
                    self._check_first(part.total, steps)
                self._check_value(x, x.owner, steps)
        for op in self.places:
            self._check_results(op)

    def _step(self, access: Access) -> _Step:
        meaning, x = self.meaning, access.view
        way = "read"
        if access.is_write and isinstance(access.op, ValueOp):
            way = SET  # a row of it
        elif access.is_write:
            assert isinstance(access.op, DoOp)
            way = meaning.write_kind(access.op, list(access.op.outputs).index(x))
        if access.subscripts is None or not isinstance(x.owner, ValueOp):
            return _Step(access, None, way)
        return _Step(access, meaning.shape(x).at(meaning.subscripts(list(access.subscripts))), way)

    # --- values --------------------------------------------------------------------------------------------------

    def _check_value(self, x: SSAValue, value: ValueOp, steps: list[_Step]) -> None:
        writers = [s for s in steps if s.access.is_write]
        scope = {*loops_around(value)}
        for reader in steps:
            if not reader.access.is_read:
                continue
            others = [w for w in writers if w.access.op is not reader.access.op]
            for writer in others:
                if self._are_different(x, writer.access, reader.access):
                    continue
                self._check_pair(x, writer, reader, scope)
            is_statement = isinstance(reader.access.op, DoOp) and not reader.access.is_write
            if not writers and value.init is None and is_statement:
                raise Broken(x, value, reader.access.op, "is read, but it is never written")
        old, seen = value.over, {x}
        while old is not None and old not in seen:
            self._check_memory(x, value, root_of(old), writers)
            seen.add(old)
            old = old.owner.over if isinstance(old.owner, ValueOp) else None

    def _check_pair(self, x: SSAValue, writer: _Step, reader: _Step, scope: set[LoopOp]) -> None:
        first, second = writer.access.op, reader.access.op
        if reader.access.is_write and writer.kind == reader.kind and writer.kind not in (SET, ORDERED):
            return  # partial sums, in any order
        if reader.kind == ORDERED and writer.kind == ORDERED:
            return  # in sequence, as the terms of both state
        if self.places[second] < self.places[first]:
            how = "is updated before it is set" if reader.access.is_write else "is read before it is written"
            raise Broken(x, first, second, how)
        around = {*loops_around(second)}
        for loop in loops_around(first):
            if loop in around and loop not in scope and not self._coincide_per_iteration(writer, reader, loop):
                raise Broken(
                    x, first, second, f"is read in a loop over {_name(loop)} that has not yet written all of it"
                )

    def _are_different(self, x: SSAValue, one: Access, other: Access) -> bool:
        at = [self.meaning.subscripts(constant_subscripts(x, a.view, a.subscripts)) for a in (one, other)]
        return are_different(at[0], at[1], self.meaning.table)

    def _coincide_per_iteration(self, one: _Step, other: _Step, loop: LoopOp) -> bool:
        """Do two accesses touch the same element only in the same iteration of a loop?"""
        if one.at is None or other.at is None:
            return False
        return any(
            (way := self._dependence(x, loop)) is not None and way == self._dependence(y, loop)
            for x, y in zip(one.at, other.at, strict=False)
        )

    def _dependence(self, x: Term, loop: LoopOp) -> object | None:
        """How an index depends on a loop: by its counter, or by the iterations of its blocks; None if it does not."""
        meaning, variable = self.meaning, self.meaning.variable(loop)
        if x == variable:
            return "counter"
        domain = meaning.domains.get(x)
        if domain is None:
            return None
        node = meaning.table.nodes[domain]
        if node.tag == "entries":
            way = self._dependence(node.args[0], loop)
            return None if way is None else (way, node.args[1])
        return dict(meaning.blocks_of(domain)).get(variable)

    def _check_first(self, total: SSAValue, steps: list[_Step]) -> None:
        for writer in self.steps[total]:
            for update in steps:
                if writer.kind == SET and update.access.is_write:
                    self._check_pair(total, writer, _Step(update.access, None, "first"), set())

    # --- memory --------------------------------------------------------------------------------------------------

    def _check_memory(self, x: SSAValue, value: ValueOp, old: SSAValue, writers: list[_Step]) -> None:
        """Check that a value that reuses memory writes each element only after the last read of the old one."""
        owner = old.owner
        if not isinstance(owner, Operation):
            raise Unreadable(f"a value shares the memory of %{old.name_hint}, which belongs to the caller")
        if isinstance(owner, ValueOp) and self.meaning.sizes(owner) != self.meaning.sizes(value):
            raise Unreadable("a value shares the memory of a value with other extents")
        scope = {*loops_around(owner)}
        for before in self.steps[old]:
            for writer in writers:
                first, second = before.access.op, writer.access.op
                shared = ({*loops_around(first)} & {*loops_around(second)}) - scope
                is_above = self.places[second] < self.places[first]
                if is_above and not shared and are_disjoint(writer.access, before.access):
                    continue
                is_same = first is not second or before.access.subscripts == writer.access.subscripts
                if is_above or not is_same or not all(self._meet(before, writer, x, scope) for x in shared):
                    raise Broken(old, first, second, "is overwritten before it is read for the last time")

    def _meet(self, one: _Step, other: _Step, loop: LoopOp, scope: set[LoopOp]) -> bool:
        """Do two accesses of the same memory, by two values, touch an element only in the same iteration of a loop?"""
        a, b = one.access, other.access
        if a.subscripts is None or b.subscripts is None or self._form(a.view) != self._form(b.view):
            return False
        pairs = zip(*(self.meaning.subscripts(list(x.subscripts or ())) for x in (a, b)), strict=True)
        return any(
            not self._dependences(i, loop, scope).isdisjoint(self._dependences(j, loop, scope)) for i, j in pairs
        )

    def _form(self, view: SSAValue) -> Term | None:
        """The term of the shape of the view through which a value is accessed; None for an access without a view."""
        return None if isinstance(view.owner, ValueOp) else self.meaning.view(view)

    def _dependences(self, index: Term, loop: LoopOp, scope: set[LoopOp]) -> set[object]:
        """The ways in which a subscript depends on a loop, each with the loop-invariant remainder of the subscript."""
        meaning, found = self.meaning, set[object]()
        fixed = {meaning.variable(outer) for outer in scope}
        for x in meaning.table.free(index):
            rest, way = meaning.table.subtract(index, x), self._dependence(x, loop)
            if way is not None and meaning.table.free(rest) <= fixed:
                found.add((way, rest))
        return found

    def _check_results(self, op: Operation) -> None:
        """Check that an operand that an operation overwrites is not read later."""
        storage = op.attributes.get(STORAGE)
        for one in getattr(storage, "data", ()):
            if isinstance(one, OverAttr):
                old = root_of(op.operands[one.operand.data])
                for step in self.steps[old]:
                    if self.places[step.access.op] > self.places[op]:
                        raise Broken(old, step.access.op, op, "is overwritten before it is read for the last time")


def _name(loop: LoopOp) -> str:
    return f"%{loop.counter.name_hint}" if loop.counter.name_hint else "its elements"
