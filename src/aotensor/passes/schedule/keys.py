"""Keys that compare functions, statements and records of two nests: equal keys mean equal content."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.ir import Operation, SSAValue

from aotensor.ir.dialect import ReshapeOp
from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.ops import BalanceOp, DoOp, PrefetchOp, ValueOp
from aotensor.ir.nest.tree import root_of
from aotensor.ir.upstream import walk
from aotensor.passes.schedule.legality import without_names
from aotensor.passes.schedule.meaning import Meaning
from aotensor.passes.schedule.reader import facts
from aotensor.passes.schedule.table import Node, Table, Term
from aotensor.passes.schedule.write_record import Record, term_of, without_blocks


def facts_of(function: func.FuncOp) -> Hashable:
    """A key of a function: its attributes."""
    return tuple(sorted((k, str(x)) for k, x in {**function.properties, **function.attributes}.items()))


DIVISIONS: Final = (arith.DivSIOp, arith.DivUIOp)
_PURE: Final = (
    arith.ConstantOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.CmpiOp,
    arith.SelectOp, BalanceOp, ChunkSizeOp, ChunksOp, PrefetchOp, ReshapeOp, ValueOp, DoOp, LoopOp, func.ReturnOp,
)  # fmt: skip
"""Operations that may be anywhere: they cannot fail, or are checked separately."""


def unverifiable(function: func.FuncOp) -> Iterator[Operation]:
    """Operations between statements whose correctness only the compiler knows: extents exist, indices are in bounds."""
    for op in walk(function):
        inner = op.parent_op()
        if op is not function and not isinstance(op, _PURE) and isinstance(inner, LoopOp | func.FuncOp):
            yield op


def result_key(op: Operation, meaning: Meaning) -> Hashable:
    """A key that identifies the results of an operation, independent of the loops around it."""
    terms = [meaning.scalar(x) for x in op.results]
    domains = [meaning.domains[x] for term in terms for x in sorted(meaning.table.free(term)) if x in meaning.domains]
    return op.name, without_names([*terms, *domains], meaning.table)


def records_of(meaning: Meaning) -> Iterator[tuple[DoOp, Record]]:
    """The records of every statement, in textual order."""
    for op in walk(meaning.function):
        if isinstance(op, DoOp):
            for number in range(len(op.outputs)):
                for record in meaning.records.get((op, number), ()):
                    yield op, record


def read_term(record: Record, meaning: Meaning) -> Term:
    """The term that a statement computes, with its iterations but without its destination."""
    reads = Record("reads", (), record.made, record.domains, record.loops)
    return term_of(without_blocks(reads, meaning), meaning.table)


def statements_touching(op: Operation) -> Iterator[DoOp]:
    """The statements inside of a loop, or the statements that write a value."""
    if isinstance(op, LoopOp):
        yield from (x for x in walk(op) if isinstance(x, DoOp))
    else:
        yield from (u.operation for x in op.results for u in x.uses if isinstance(u.operation, DoOp))


def loops_of(function: func.FuncOp) -> list[LoopOp]:
    """Every loop of a function, in textual order."""
    return [op for op in walk(function) if isinstance(op, LoopOp)]


def rows_of(function: func.FuncOp) -> Hashable:
    """A key of a function's operations: names, attributes, operands and result types."""
    numbers: dict[SSAValue, int] = {}
    rows: list[Hashable] = []
    for op in walk(function):
        for x in (*op.results, *(x for region in op.regions for block in region.blocks for x in block.args)):
            numbers[x] = len(numbers)
        told = tuple(sorted((k, str(x)) for k, x in {**op.properties, **op.attributes}.items()))
        rows.append(
            (op.name, told, tuple(numbers.get(x, -1) for x in op.operands), tuple(str(x.type) for x in op.results))
        )
    return tuple(rows)


def outputs_of(meaning: Meaning) -> Hashable:
    """The terms that are stored in outputs, and the number of the output that holds each result of a function."""
    values = [op for op in walk(meaning.function) if isinstance(op, ValueOp) and op.output is not None]
    lying = sorted((op.output.value.data, meaning.definition(op.result).closed.term) for op in values if op.output)
    last = meaning.function.body.block.last_op
    returned: list[int | None] = []
    for x in last.operands if last is not None else ():
        found = root_of(x)
        while isinstance(found.owner, ValueOp) and found.owner.over is not None:
            found = root_of(found.owner.over)
        output = found.owner.output if isinstance(found.owner, ValueOp) else None
        returned.append(None if output is None else output.value.data)
    return (tuple(lying), tuple(returned))


def memory_reuses(function: func.FuncOp) -> list[tuple[SSAValue, SSAValue]]:
    """Pairs of a value and the value whose memory it reuses."""
    return [(op.result, op.over) for op in walk(function) if isinstance(op, ValueOp) and op.over is not None]


def names_in(op: DoOp) -> tuple[str, ...]:
    """The names of the operations in a statement."""
    return tuple(x.name for x in op.body.block.ops)


def attributes_of(op: DoOp) -> Hashable:
    """The attributes of the operations in a statement."""
    return tuple(facts(x) for x in op.body.block.ops)


def has_same_body(op: DoOp, other: Operation) -> bool:
    """Do two statements consist of the same operations, with equal numbers of operands?"""
    return isinstance(other, DoOp) and names_in(op) == names_in(other) and len(op.operands) == len(other.operands)


def facts_of_record(record: Record, t: Table) -> tuple[Hashable, ...]:
    """A key of a record: its result and its destination, without its iterations."""
    node = t.nodes[term_of(record, t)]
    count = node.fact[1]  # type: ignore[index]
    return (node.fact, node.args[: count + 1], node.args[count + 1 :])


def model_line(op: Operation | None) -> str:
    """The line of the model that an operation has as location."""
    location: LocationAttr | None = None if op is None else op.location
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}"
    return "the model"


def balances_of(meaning: Meaning) -> list[Node]:
    """The terms of the chunk bounds that balance entries."""
    found = [op for op in walk(meaning.function) if isinstance(op, BalanceOp)]
    return [meaning.table.nodes[meaning.scalar(op.result)] for op in found]
