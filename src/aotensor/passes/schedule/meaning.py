"""The meaning of a nest, independent of its loops: each value as a function of iterations, down to the arguments.

    nest.for %i in %n {                                        z = (i < n) ↦ Σ (k < p) X[i, k]·w[k]
      %z = nest.value init %zero                          →    g = (k < p) ↦ Σ (i < n) X[i, k]·tanh(z(i))
      nest.for %k in %p { nest.do … -> (%s = %z[]) }
      …

A value is a closed term: its records, one for each statement that writes it. Registers, buffers, copies, loops over
blocks, and partial sums are normalised away, so two nests that compute the same have equal terms. Nests that cannot be
proved equal count as different, so the comparison is sound (Shashidhar et al. 2005, Verdoolaege et al. 2009).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.ops import DoOp, PrefetchOp, ValueOp
from aotensor.ir.nest.tree import loops_around, root_of
from aotensor.ir.upstream import walk
from aotensor.passes.nest.unroll_and_jam import is_reassociable
from aotensor.passes.schedule.partial import PartialSums, partial_sums
from aotensor.passes.schedule.reader import Reader, Unreadable, captured, facts
from aotensor.passes.schedule.shape import Shape
from aotensor.passes.schedule.table import Table, Term
from aotensor.passes.schedule.write_record import ORDERED, SET, ClosedTerm, Record, close, without_blocks, without_parts
from aotensor.passes.schedule.writers import frames

_UPDATES = (
    arith.AddfOp, arith.MulfOp, arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.MaxSIOp,
    arith.MaxUIOp, arith.MinSIOp, arith.MinUIOp, arith.MaximumfOp, arith.MinimumfOp,
)  # fmt: skip


@dataclass(frozen=True)
class Definition:
    """The meaning of a value: a closed term, and the order of that term's indices, None for the original order."""

    closed: ClosedTerm
    order: tuple[int, ...] | None

    def arguments(self, at: Sequence[Term]) -> Sequence[Term]:
        return at if self.order is None else [at[k] for k in self.order]


class Meaning(Reader):
    """The definitions of the values of one function. Raises: Unreadable for a loop or value without a term."""

    def __init__(self, table: Table, function: func.FuncOp) -> None:
        super().__init__(table, function)
        self.writers: dict[SSAValue, list[tuple[DoOp, int]]] = defaultdict(list)
        self.records: dict[tuple[DoOp, int], list[Record]] = {}
        """The records of each output of a statement; for a sum over chunks, of the total and of the chunk's part."""
        self.partial = {p.held: p for p in partial_sums(function)}
        self._added = {p.add: p for p in self.partial.values()}
        self._definitions: dict[SSAValue, Definition] = {}
        self._shapes: dict[SSAValue, Shape] = {}
        self._closed: dict[Term, ClosedTerm] = {}
        self._pending: set[SSAValue] = set()
        for op in (op for op in walk(function) if isinstance(op, DoOp)):
            for number, x in enumerate(op.outputs):
                self.writers[root_of(x)].append((op, number))

    def read_statements(self) -> None:
        """Define every value in program order, so that chains of values cause no deep recursion."""
        for op in (op for op in walk(self.function) if isinstance(op, DoOp)):
            try:
                for x in dict.fromkeys(map(root_of, op.inputs)):
                    if isinstance(x.owner, ValueOp) and x not in self.partial and op not in self._added:
                        self.definition(x)
            except Unreadable as error:
                error.op = error.op or op
                raise
        for x in list(self.writers):
            if isinstance(x.owner, ValueOp):
                self.definition(x)

    def effects(self) -> list[tuple[Operation, Term]]:
        """The observable effects of a function, in order: its checks and its results."""
        self.read_statements()
        found = []
        for op in self.function.body.block.ops:
            if not op.results and not isinstance(op, LoopOp | DoOp | PrefetchOp):
                found.append((op, self.operation(op, [self._operand(x) for x in (*op.operands, *captured(op))])))
        return found

    def all_of(self, x: SSAValue) -> Term:
        if not isinstance(x.owner, ValueOp):
            return self.scalar(x)
        assert isinstance(x.type, TensorType)
        definition = self.definition(x)
        places = [self.table.make("axis", k) for k in range(x.type.get_num_dims())]
        at = [*(self.variable(loop) for loop in loops_around(x.owner)), *places]
        if self.shape(x).is_rewritten:
            raise Unreadable(f"{name_of(x)} is read as a whole in a loop over blocks")
        elements = self.table.make("apply", None, (definition.closed.term, *definition.arguments(at)))
        return self.table.make("whole", None, (elements, *self.sizes(x.owner)))

    # --- values --------------------------------------------------------------------------------------------------

    def shape(self, x: SSAValue) -> Shape:
        if x not in self._shapes:
            assert isinstance(x.owner, ValueOp)
            accesses = [self.subscripts(op.writes[n][1]) for op, n in self.writers[x] if op.outputs[n] is x]
            self._shapes[x] = Shape(self, x.owner, accesses)
        return self._shapes[x]

    def definition(self, x: SSAValue) -> Definition:
        """The definition of a value. Raises: Unreadable for a value without a term, or one that depends on itself."""
        if x not in self._definitions:
            if x in self._pending:
                raise Unreadable(f"{name_of(x)} depends on itself")
            self._pending.add(x)
            found = self._definitions[x] = self._define(x)
            self._closed.setdefault(found.closed.term, found.closed)
            self._pending.discard(x)
        return self._definitions[x]

    def _define(self, x: SSAValue) -> Definition:
        value = x.owner
        assert isinstance(value, ValueOp) and isinstance(x.type, TensorType)
        if value.first is not None and x not in self.partial:
            raise Unreadable(f"{name_of(x)} is not a partial sum of a chunk that is added up after the chunks")
        init = None if value.init is None else self.scalar(value.init)
        statements: list[tuple[DoOp, int, PartialSums | None]] = []
        for op, number in self.writers[x]:
            part = self._added.get(op)
            if part is None:
                statements.append((op, number, None))
            else:
                self._check_parts(part)
                statements += [(other, n, part) for other, n in self.writers[part.held]]
        records: list[Record] = []
        for op, number, part in statements:
            record = without_parts(self._record(x, op, number, part), init, self, self._closed)
            self.records.setdefault((op, number), []).append(record)
            records.append(record)
        if len(records) == 1 and init is None and (copied := self._copied(records[0])) is not None:
            return copied
        kind = f"{x.type.element_type} {value.lanes.value.data if value.lanes else ''}{'first' if value.first else ''}"
        order = frames(x, [(op, number) for op, number, _ in statements], self) if len(records) > 1 else None
        return Definition(*close(records, order, init, kind, self))

    def _copied(self, record: Record) -> Definition | None:
        """The definition of a value that copies another one, at the same or permuted indices; None for other values."""
        node = self.table.nodes[record.made]
        if record.kind != SET or node.tag != "apply" or record.free:
            return None
        source, args = self._closed.get(node.args[0]), node.args[1:]
        if source is None or source.record is None or sorted(args) != sorted(record.at):
            return None
        if len(set(args)) < len(args) or not all(x in record.domains for x in args):
            return None
        for x, place in zip(args, source.record.at, strict=True):
            domain = self.whole(x)
            if domain is None or domain != source.record.domains[place] or domain != record.domains[x]:
                return None
        return Definition(source, tuple(record.at.index(x) for x in args))

    def _check_parts(self, part: PartialSums) -> None:
        """Check that every chunk has a private partial sum, and that all partial sums are added.

        Raises: Unreadable if not.
        """
        t, total = self.table, part.total
        assert isinstance(total.owner, ValueOp) and isinstance(part.held.owner, ValueOp)
        sizes = self.sizes(total.owner)
        chunks, steps = self.variable(part.loop), self.steps.get(self.variable(part.loop))
        added, written = self.subscripts(part.add.reads[0][1]), self.subscripts(part.add.writes[0][1])
        domains = self._record(total, part.add, 0, None).domains
        is_right = steps is not None and self.scalar(part.number) == chunks and added[1:] == written
        wholes = [t.make("range", None, (t.number(0), n)) for n in sizes]
        is_right = is_right and self.sizes(part.held.owner) == sizes and len(set(written)) == len(written)
        is_right = is_right and [domains.get(x) for x in written] == wholes
        count = t.nodes[self.domains[chunks]].args[1] if is_right else None
        is_right = is_right and domains.get(added[0]) == t.make("range", None, (t.number(1), count))  # type: ignore[arg-type]
        is_right = is_right and loops_around(part.loop) == loops_around(total.owner) == loops_around(part.parts.owner)  # type: ignore[arg-type]
        ways = {self.write_kind(op, n) for op, n in (*self.writers[part.held], (part.add, 0))}
        if not is_right or len(ways) > 1 or ways & {SET, ORDERED}:
            raise Unreadable(f"the sums of chunks in {name_of(part.held)} are not added up as they should")

    # --- statements ----------------------------------------------------------------------------------------------

    def _record(self, x: SSAValue, op: DoOp, number: int, part: PartialSums | None) -> Record:
        target, subscripts = op.writes[number]
        loops = [self.variable(loop) for loop in loops_around(op)]
        args, made = self.body(op)
        if op.scatter is not None:
            where = self.table.make("position", None, [args[op.scatter.value.data]])
            at = [where, *self.subscripts(subscripts)[1:]]
        else:
            at = self.subscripts(subscripts)
        wanted = x if part is None else part.held
        if target is wanted:
            at = self.shape(x).at(at)
        elif target is not wanted:
            at = [*(self.variable(loop) for loop in loops_around(x.owner)), *at, self.view(target)]  # type: ignore[arg-type]
        way = self.write_kind(op, number)
        if way not in (SET, ORDERED):
            owner = op.body.block.last_op.operands[number].owner  # type: ignore[union-attr]
            held = op.body.block.args[len(op.inputs) + number]
            other = next(y for y in owner.operands if y is not held)  # type: ignore[union-attr]
            result = made[other]
        elif way == SET:
            result = made[op.body.block.last_op.operands[number]]  # type: ignore[union-attr]
        else:
            result = self._in_order(op, number, made)
        domains = {v: self.domains[v] for v in loops}
        return without_blocks(Record(way, tuple(at), result, domains, tuple(loops)), self)

    def _in_order(self, op: DoOp, number: int, made: dict[SSAValue, Term]) -> Term:
        """The result of a statement in terms of the old elements, where its other outputs have their initial values."""
        t, parts = self.table, [made[y] for y in op.body.block.last_op.operands]  # type: ignore[union-attr]
        for other, held in enumerate(op.body.block.args[len(op.inputs) :]):
            if other == number or not held.uses:
                continue
            x, subscripts = op.writes[other]
            if not isinstance(x.owner, ValueOp) or op.scatter is not None:
                raise Unreadable(f"{name_of(x)} is updated together with another value, at elements that are not known")
            init = None if x.owner.init is None else self.scalar(x.owner.init)
            before = [(o, n) for o, n in self.writers[x] if o is not op]
            if any(self.write_kind(o, n) == ORDERED for o, n in before) or x in self.partial:
                raise Unreadable(f"{name_of(x)} is updated by several statements together with other values")
            if len(before) > 1 and frames(x, before, self) is not None:
                raise Unreadable(f"{name_of(x)} is set by several statements before it is updated with other values")
            records = [self._record(x, o, n, None) for o, n in before]
            begin = [] if init is None else [init]
            start = close(records, None, init, "start", self)[0].term if records else t.make("begin", None, begin)
            parts += [start, *self.shape(x).at(self.subscripts(subscripts))]
        return t.make("yield", number, parts)

    def view(self, view: SSAValue) -> Term:
        """The term of the shape of the view through which a value is written."""
        return self.table.make("view", str(view.type), [self.scalar(y) for y in view.owner.operands[1:]])  # type: ignore[union-attr]

    def write_kind(self, op: DoOp, number: int) -> str:
        """The kind of a write: sets an element, updates it in any order, or updates it in sequence."""
        block = op.body.block
        held = block.args[len(op.inputs) :]
        if not any(y.uses for y in held):
            return SET
        assert block.last_op is not None
        made, own = block.last_op.operands[number], held[number]
        owner = made.owner
        is_update = (
            isinstance(owner, _UPDATES) and own in owner.operands and own.has_one_use() and made.has_one_use()
            and is_reassociable(op) and not any(y.uses for y in held if y is not own)
        )  # fmt: skip
        return f"{owner.name}|{facts(owner)}" if is_update and isinstance(owner, Operation) else ORDERED

    def body(self, op: DoOp) -> tuple[list[Term], dict[SSAValue, Term]]:
        """The terms that a statement reads, and the terms of all values in its body."""
        t, block = self.table, op.body.block
        args = [self.read(x, self.subscripts(subscripts)) for x, subscripts in op.reads]
        olds = [t.make("old", k) for k in range(len(op.outputs))]
        made: dict[SSAValue, Term] = dict(zip(block.args, (*args, *olds), strict=True))

        def operand(x: SSAValue) -> Term:
            if x in made:
                return made[x]
            return self._operand(x)

        for inner in block.ops:
            if isinstance(inner, tensor.ExtractOp) and isinstance(inner.tensor.owner, ValueOp):
                element = self.read(inner.tensor, [operand(i) for i in inner.indices])
                made[inner.result] = t.make("gathered", None, (element,))  # it is not proved to be in bounds
                continue
            parts = [operand(x) for x in (*inner.operands, *captured(inner))]
            if isinstance(inner, tensor.ExtractOp | ExtractIfOp) or inner.results:
                for k, x in enumerate(inner.results):
                    made[x] = self.operation(inner, parts, k)
        for x in block.last_op.operands if block.last_op is not None else ():
            made.setdefault(x, operand(x))
        return args, made

    def read(self, x: SSAValue, subscripts: list[Term]) -> Term:
        """The term of an element that a statement reads."""
        if not isinstance(x.owner, ValueOp):
            return self.table.make("read", None, (self.all_of(x), *subscripts))
        definition = self.definition(x)
        at = self.shape(x).at(subscripts)
        return self.table.make("apply", None, (definition.closed.term, *definition.arguments(at)))


def name_of(x: SSAValue) -> str:
    """The name of a value in the nest's text, if it has one."""
    return f"%{x.name_hint}" if x.name_hint else "a value"
