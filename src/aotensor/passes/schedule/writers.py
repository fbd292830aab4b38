"""Values that several statements write: does the order of the writes matter?

    nest.for %i in %n {                                  columns of %z: each element is written by one of them,
      nest.do … -> (%a = %z[%i, 0])                      in any order
      nest.do … -> (%b = %z[%i, 1])
    }

It does not if each element is set at most once and then updated in any order. Otherwise the loops around the statements
are part of the value's meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from aotensor.ir.nest.ops import DoOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import loops_around
from aotensor.passes.schedule.table import Table, Term
from aotensor.passes.schedule.write_record import ORDERED, SET

if TYPE_CHECKING:
    from aotensor.passes.schedule.meaning import Meaning


def are_different(one: Sequence[Term], other: Sequence[Term], table: Table) -> bool:
    """Are two lists of subscripts always different, because they have different constants on an axis?"""
    numbers = ([table.value(i) for i in at] for at in (one, other))
    return len(one) == len(other) and any(
        i is not None and j is not None and i != j for i, j in zip(*numbers, strict=True)
    )


def constant_subscripts(x: SSAValue, view: SSAValue, subscripts: Sequence[Subscript] | None) -> list[Subscript]:
    """The subscripts of an access, as written; empty for an access through a view, or if they are read from memory."""
    return [] if view is not x or subscripts is None else list(subscripts)


def frames(x: SSAValue, writers: Sequence[tuple[DoOp, int]], meaning: Meaning) -> list[Term] | None:
    """For each statement that writes a value, its loops and subscripts; None if the order does not matter."""
    ways = [meaning.write_kind(op, number) for op, number in writers]
    sets = [writer for writer, way in zip(writers, ways, strict=True) if way == SET]
    if ways.count(ORDERED) < 2 and all(_are_disjoint(x, one, other, meaning) for one, other in combinations(sets, 2)):
        return None
    found, around = [], list[object]()
    for op, number in writers:
        loops = loops_around(op)
        shared = sum(loop in around for loop in loops)
        found.append(_frame(op, number, shared, meaning))
        around = list(loops)
    return found


def _are_disjoint(x: SSAValue, one: tuple[DoOp, int], other: tuple[DoOp, int], meaning: Meaning) -> bool:
    at = [_at(x, *writer, meaning) for writer in (one, other)]
    return are_different(at[0], at[1], meaning.table)


def _at(x: SSAValue, op: DoOp, number: int, meaning: Meaning) -> list[Term]:
    view, subscripts = op.writes[number]
    return meaning.subscripts(constant_subscripts(x, view, None if op.scatter is not None else subscripts))


def _frame(op: DoOp, number: int, shared: int, meaning: Meaning) -> Term:
    t = meaning.table
    variables = [meaning.variable(loop) for loop in loops_around(op)]
    new = {x: t.make("bound", k) for k, x in enumerate(variables)}
    at = meaning.subscripts(list(op.writes[number][1]))
    terms = [*at, *(meaning.domains[x] for x in variables)]
    known: dict[Term, Term] = {}
    return t.make("frame", (shared, len(at)), [t.replace(y, new, known) for y in terms])
