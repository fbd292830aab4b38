"""Split a loop over all entries by row where statements on rows produce its operands or use its results.

    nest.for %p in %nnz { A }                     nest.for %i in %rows {
                                         →          nest.entries %p of %i in %indptr { A } }
    nest.for %i in %rows {
      nest.entries %p of %i in %indptr { B } }

The entries of all slices (rows of CSR, columns of CSC), one slice after the other, are all entries; A and B can then
share both loops.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.location import locate
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp
from aotensor.ir.nest.tree import perfect_nest
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed


@dataclass(eq=False)
class _Nest:
    """A statement with its loops. `entries` is its loop over entries, or the loop to be split into one."""

    root: ForOp
    statement: DoOp
    entries: LoopOp
    position: int
    """Index of the nest, in the order of the function."""


@ir_pass("split-by-row", level="nest", topic="loops", former="divide-slices")
def split_by_row(module: ModuleOp) -> None:
    """Splits a loop over entries into loops over rows and their entries, where its producer or consumer is a
    segment sum.
    """
    for function in functions_of(module):
        _divide(function.body.block)


def _divide(block: Block) -> None:
    positions: dict[Operation, int] = {op: number for number, op in enumerate(block.ops)}
    nests = [_nest(op, number) for op, number in positions.items() if isinstance(op, ForOp)]
    pending = deque(nest for nest in nests if isinstance(nest.entries, EntriesOp))
    if not pending:
        return
    neighbours = _neighbours(nests)
    while pending:
        one = pending.popleft()
        assert isinstance(one.entries, EntriesOp)
        indptr, rows = one.entries.indptr, one.root.upper
        for other in neighbours[one]:
            known = all(_position(x, positions) < other.position for x in (indptr, rows))
            if isinstance(other.entries, ForOp) and not known:
                missed(
                    "{} not split by row: the rows of {} are computed after it",
                    other.statement,
                    one.statement,
                    hint="give the pattern as an input, or compute it before",
                )
            if isinstance(other.entries, ForOp) and known:  # else they may depend on the statement's results
                applied("split {} by row, like {}", other.statement, one.statement)
                _divide_one(other, rows, indptr)
                pending.append(other)


def _nest(root: ForOp, position: int) -> _Nest:
    loops, statement = perfect_nest(root)
    assert isinstance(statement, DoOp)
    entries = next((loop for loop in loops if isinstance(loop, EntriesOp)), root)
    return _Nest(root, statement, entries, position)


def _neighbours(nests: list[_Nest]) -> dict[_Nest, list[_Nest]]:
    """For each nest, the nests that exchange values with it entry by entry, rather than slice by slice."""
    made: dict[SSAValue, tuple[_Nest, int | None]] = {}
    for nest in nests:
        for x, subscripts in nest.statement.writes:
            made[x] = nest, _axis(nest, subscripts)
    found: dict[_Nest, list[_Nest]] = defaultdict(list)
    for nest in nests:
        for x, subscripts in nest.statement.reads:
            maker, axis = made.get(x, (None, None))
            if maker is not None and axis is not None and axis == _axis(nest, subscripts):
                found[nest].append(maker)
                found[maker].append(nest)
    return found


def _axis(nest: _Nest, subscripts: list[SSAValue | int]) -> int | None:
    return next((axis for axis, index in enumerate(subscripts) if index is nest.entries.counter), None)


def _position(x: SSAValue, positions: dict[Operation, int]) -> int:
    return positions.get(x.owner, -1) if isinstance(x.owner, Operation) else -1


def _divide_one(nest: _Nest, rows: SSAValue, indptr: SSAValue) -> None:
    """Replace the outermost loop by a loop over slices and one over each slice's entries, with the old counter."""
    old, outer = nest.root, Block(arg_types=[IndexType()])
    block = old.parent
    assert block is not None
    nest.entries = EntriesOp(outer.args[0], indptr, old.detach_region(old.body))
    outer.add_op(nest.entries)
    nest.root = ForOp(rows, outer)
    locate(nest.root, old.location)
    block.insert_op_before(nest.root, old)
    block.erase_op(old)
