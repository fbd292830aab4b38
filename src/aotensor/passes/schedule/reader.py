"""Terms for the scalars, indices and loops of a function, and the domain of each loop.

A loop with a step and the loop over each of its blocks together cover one extent, for any block size:

    nest.for %c in %n step %s {                           block k begins with s·k, k < ⌈n / s⌉
      %e = min(%c + %s, %n)                         →
      nest.for %i = %c to %e { … }                        i is in block k; over all k it is in 0 … n
    }
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import BalanceOp, ValueOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import used_values
from aotensor.ir.upstream import walk
from aotensor.passes.schedule.table import Table, Term

_NOTES: Final = frozenset({"operandSegmentSizes"})
"""Attributes that do not affect the result of an operation."""


@dataclass(frozen=True)
class Steps:
    """A loop with a step: block k begins at low + step·k; the last block ends at high."""

    low: Term
    high: Term
    step: Term


class Unreadable(Exception):
    """Raised where terms cannot express the meaning of a function: the reason, and the statement if known."""

    op: Operation | None = None


class Reader:
    """Reads one function into terms, which are equal for equal functions up to the names of loop variables."""

    def __init__(self, table: Table, function: func.FuncOp) -> None:
        self.table = table
        self.function = function
        self.variables: dict[LoopOp, Term] = {}
        self.domains: dict[Term, Term] = {}
        """Variable → its domain: `range`, `in` a block, or `entries`."""
        self.steps: dict[Term, Steps] = {}
        """The variables that count blocks → their loops."""
        self._known: dict[SSAValue, Term] = {}
        for number, x in enumerate(function.body.block.args):
            self._known[x] = table.make("argument", number)

    # --- loops ---------------------------------------------------------------------------------------------------

    def variable(self, loop: LoopOp) -> Term:
        """The variable that counts a loop's iterations, from 0 if the loop has a step."""
        if loop not in self.variables:
            self._enter(loop)
        return self.variables[loop]

    def _enter(self, loop: LoopOp) -> None:
        t, x = self.table, self.table.variable()
        self.variables[loop] = x
        self._known[loop.counter] = x
        if isinstance(loop, EntriesOp):
            self.domains[x] = t.make("entries", None, (self.scalar(loop.slice), self.all_of(loop.indptr)))
            return
        assert isinstance(loop, ForOp)
        low = t.number(0) if loop.lower is None else self.scalar(loop.lower)
        high = self.scalar(loop.upper)
        step = t.number(1) if loop.step is None else self.scalar(loop.step)
        if t.value(step) == 1:
            self.domains[x] = self.interval(low, high)
            return
        self.steps[x] = Steps(low, high, step)
        self.domains[x] = self.interval(t.number(0), t.round_up(t.subtract(high, low), step))
        self._known[loop.counter] = t.add(low, t.multiply(step, x))

    def interval(self, low: Term, high: Term) -> Term:
        """The domain of iterations from low to high; a block of a loop with a step if the bounds are those of one."""
        for x in sorted(self.table.free(low)):
            for kind in (self._as_block(x, low, high), self._as_balanced(x, low, high)):
                if kind is not None:
                    return kind
        return self.table.make("range", None, (low, high))

    def _as_block(self, x: Term, low: Term, high: Term) -> Term | None:
        t, steps = self.table, self.steps.get(x)
        if steps is None or low != t.add(steps.low, t.multiply(steps.step, x)):
            return None
        behind = t.add(low, steps.step)
        ends = [t.extremum("min", [behind, steps.high])]
        if self._is_divided(steps):
            outer = t.nodes[steps.high]
            ends += [t.extremum("min", [behind, y]) for y in (outer.args if outer.tag == "min" else ())]
            if outer.tag == "balance":
                ends.append(t.extremum("min", [behind, outer.args[1]]))
        if high not in ends:
            return None
        return t.make("in", "block", (steps.low, steps.high, steps.step, x))

    def _is_divided(self, steps: Steps) -> bool:
        """Does the enclosing block consist of whole blocks of this loop, so that none exceeds it?"""
        t, outer = self.table, self.table.nodes[steps.high]
        if outer.tag == "balance":
            return outer.args[3] == steps.step
        for y in outer.args if outer.tag == "min" else ():
            length = t.subtract(y, steps.low)
            node, a, b = t.nodes[length], t.value(length), t.value(steps.step)
            if (node.tag == "mul" and steps.step in node.args) or (a and b and a % b == 0):
                return True
            if node.tag == "lin" and b and not any(c % b for c in (node.fact[0], *node.fact[1])):  # type: ignore[index]
                return True
        return False

    def _as_balanced(self, x: Term, low: Term, high: Term) -> Term | None:
        t, steps = self.table, self.steps.get(x)
        first, last = t.nodes[low], t.nodes[high]
        if steps is None or first.tag != "balance" or last.tag != "balance" or first.args[1:] != last.args[1:]:
            return None
        start = t.add(steps.low, t.multiply(steps.step, x))
        end = t.extremum("min", [t.add(start, steps.step), steps.high])
        row, extent, size = first.args[:3]
        if (row, last.args[0]) != (start, end) or (extent, size) != (steps.high, steps.step):
            return None
        return t.make("in", "balanced", (steps.low, steps.high, steps.step, x, *first.args[3:]))

    def blocks_of(self, domain: Term) -> list[tuple[Term, Hashable]]:
        """The blocks that contain a domain's iterations, the innermost first: their variables and their division."""
        found: list[tuple[Term, Hashable]] = []
        while (node := self.table.nodes[domain]).tag == "in":
            found.append((node.args[3], (node.fact, node.args[:3], node.args[4:])))
            domain = self.interval(*node.args[:2])
        return found

    def whole(self, x: Term) -> Term | None:
        """The domain of a variable over all blocks together; None if the blocks may not cover the extent."""
        domain, t = self.domains.get(x), self.table
        while domain is not None and (node := t.nodes[domain]).tag == "in":
            low, high, step, block = node.args[:4]
            count = self.interval(t.number(0), t.round_up(t.subtract(high, low), step))
            if self.domains.get(block) != count or t.nodes[count].tag != "range":
                return None
            domain = self.interval(low, high)
        return domain

    # --- scalars -------------------------------------------------------------------------------------------------

    def scalar(self, x: SSAValue) -> Term:
        """The term of a scalar that an operation between loops computes."""
        pending = [x]
        while pending:
            last = pending[-1]
            missing = [y for y in _operands(last) if y not in self._known and y not in pending]
            if last in self._known or not missing:
                pending.pop()
                if last not in self._known:
                    self._known[last] = self._result(last)
            else:
                pending += missing
        return self._known[x]

    def all_of(self, x: SSAValue) -> Term:
        """The term of a whole tensor: an argument, a result, or, if known, the content that statements write."""
        return self.scalar(x)

    def subscripts(self, indices: list[Subscript]) -> list[Term]:
        return [self.table.number(i) if isinstance(i, int) else self.scalar(i) for i in indices]

    def _result(self, x: SSAValue) -> Term:
        if isinstance(x, BlockArgument):
            loop = x.block.parent_op()
            if not isinstance(loop, LoopOp):
                raise Unreadable(f"{x} is not a counter of a loop")
            self.variable(loop)
            return self._known[x]
        assert isinstance(x, OpResult)
        op = x.op
        match op:
            case BalanceOp():
                return self.table.make("balance", None, map(self._operand, op.operands))
            case tensor.DimOp():
                return self._extent(op)
        return self.operation(op, [self._operand(y) for y in (*op.operands, *captured(op))], x.index)

    def _operand(self, x: SSAValue) -> Term:
        return self.all_of(x) if isinstance(x.type, TensorType) else self.scalar(x)

    def _extent(self, op: tensor.DimOp) -> Term:
        t, axis = self.table, self.table.value(self.scalar(op.index))
        owner = op.source.owner
        if isinstance(owner, ValueOp) and axis is not None:
            sizes = self.sizes(owner)
            if axis >= len(sizes):
                raise Unreadable(f"a value has no axis {axis}")
            return sizes[axis]
        return t.make("dim", None, (self.all_of(op.source), self.scalar(op.index)))

    def sizes(self, value: ValueOp) -> list[Term]:
        """The terms of a value's extents."""
        unknown = iter(value.sizes)
        kind = value.result.type
        assert isinstance(kind, TensorType)
        return [self.scalar(next(unknown)) if n < 0 else self.table.number(n) for n in kind.get_shape()]

    def operation(self, op: Operation, args: list[Term], number: int = 0) -> Term:
        """The term of result `number` of an operation with the given operands."""
        t = self.table
        if op.results and isinstance(op.results[0].type, IndexType):
            match op:
                case arith.ConstantOp(value=IntegerAttr() as value):
                    return t.number(value.value.data)
                case arith.AddiOp():
                    return t.add(*args)
                case arith.SubiOp():
                    return t.subtract(*args)
                case arith.MuliOp():
                    return t.multiply(*args)
                case arith.DivUIOp() | arith.DivSIOp():
                    return t.divide(*args)
                case arith.MinSIOp():
                    return t.extremum("min", args)
                case arith.MaxSIOp():
                    return t.extremum("max", args)
                case ChunkSizeOp():
                    groups = t.make("op", (op.name, number, facts(op), ""), args)
                    return t.multiply(t.extremum("max", [groups, t.number(1)]), args[-1])
                case ChunksOp():
                    return t.round_up(*args)
        return t.make("op", (op.name, number, facts(op), str(op.results[number].type) if op.results else ""), args)


def facts(op: Operation) -> Hashable:
    """A key that identifies an operation apart from its operands: attributes, and the operations in its regions."""
    texts = _attribute_key(op)
    return (texts, _region_key(op)) if op.regions else texts


def _attribute_key(op: Operation) -> Hashable:
    told = {**op.properties, **op.attributes}
    return tuple(sorted((name, str(x)) for name, x in told.items() if name not in _NOTES))


def captured(op: Operation) -> list[SSAValue]:
    """The values from outside that operations in the regions of an operation use."""
    return [x for x in used_values(op) if x not in op.operands] if op.regions else []


def _region_key(op: Operation) -> Hashable:
    """A key of the operations in the regions of an operation, with numbers for the values that they use and define."""
    numbers: dict[SSAValue, int] = {}
    for x in (*op.operands, *captured(op)):
        numbers.setdefault(x, len(numbers))
    rows: list[Hashable] = []
    for inner in walk(op):
        for x in (*(x for region in inner.regions for block in region.blocks for x in block.args), *inner.results):
            numbers.setdefault(x, len(numbers))
        if inner is not op:
            used = tuple(numbers[x] for x in inner.operands)
            rows.append((inner.name, _attribute_key(inner), used, tuple(str(x.type) for x in inner.results)))
    return tuple(rows)


def _operands(x: SSAValue) -> list[SSAValue]:
    if not isinstance(x, OpResult) or isinstance(x.op, ValueOp):
        return []
    used = (*x.op.operands, *captured(x.op))
    return [y for y in used if not isinstance(y.type, TensorType) and not isinstance(y, BlockArgument)]
