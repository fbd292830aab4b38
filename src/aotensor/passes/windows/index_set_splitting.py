"""Index set splitting: split loops where conditions of their statements change, so that most iterations need none.

    nest.for %i in %n {                              nest.for %i = %c0 to %a { … }
      nest.do {                                      nest.for %i = %a to %b {
        %k = arith.subi %i, %a                 →       nest.do { tensor.extract %v[%i - %a] }
        %c = arith.cmpi ult, %k, %m                  }
        aot.extract_if %c, %v[%k], %x                nest.for %i = %b to %n { … }
      }
    }

Index set splitting (Allen & Kennedy, Optimizing Compilers for Modern Architectures, 5.7): between the largest start and
the least end of all windows every condition on the counter holds. In a nest the middle part is split again, along its
inner loop; the outer parts keep their conditions, and have few iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Final, NamedTuple

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.core import dtypes
from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ExtractIfOp, ReshapeOp
from aotensor.ir.index_builder import Extent, IndexBuilder
from aotensor.ir.location import builder_before
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.strides import is_fixed, split_by_counter
from aotensor.ir.nest.tree import gathers, is_register, known_extent, known_number, statements
from aotensor.ir.scalar_builder import CONTRACT, Scalar
from aotensor.ir.upstream import walk
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed

_BELOW: Final = 6  # arith.cmpi's predicate number of `ult`
FEWEST: Final = 16
"""Smallest trip count of a loop that is worth splitting."""
LARGEST: Final = 400
"""Largest number of operations of a loop that is split, as there may be three copies."""
_ALLOWS: Final = {
    "its trip count is short": f"at least {FEWEST} iterations",
    "its body is large": f"at most {LARGEST} operations in an iteration",
    "a part would read what another part writes": "a result that is not read in the same loop",
    "another loop over the same strip or chunk reads what it writes": "a result that is not read in the same strip",
}
"""Reason why a loop is not split → hint how to change that."""


@ir_pass(
    "index-set-splitting",
    level="nest",
    topic="loops",
    reference="decisions/0022-windows-are-reads-under-a-condition.md",
    former="split-loops",
)
def index_set_splitting(module: ModuleOp) -> None:
    """Index set splitting of loops whose statements have conditions on the counter (reads of windows): the middle
    part, nearly all iterations, has none.
    """
    for function in functions_of(module):
        for op in list(function.body.block.ops):
            if isinstance(op, ForOp):
                _split(op)


class _Condition(NamedTuple):
    """The unsigned comparison counter + offsets < extent. offsets: values that are added or subtracted."""

    op: arith.CmpiOp
    added: tuple[SSAValue, ...]
    subtracted: tuple[SSAValue, ...]


def _split(loop: ForOp) -> None:
    """Split a loop, then the inner loops of its middle part."""
    found = list(_conditions(loop))
    reason = _reason_against(loop)
    if found and reason is None:
        before = builder_before(loop)
        b = IndexBuilder(before, CONTRACT)
        start = 0 if loop.lower is None else _extent(loop.lower)
        with b.active():
            first, end = _range(b, found, start, _extent(loop.upper))
        low, high = b.index(first).ssa, b.index(end).ssa
        if first != start:
            part = loop.clone()
            part.set_bounds(low, b.index(start).ssa)
            before.insert(part)
        behind = loop.clone()
        behind.set_bounds(loop.upper, high)
        loop.set_bounds(high, low)
        assert loop.parent is not None
        loop.parent.insert_op_after(behind, loop)
        for condition in found:
            _assume(condition.op)
        applied("split the index set of loop {}: {} conditions hold in its middle part", loop, len(found))
    elif found:
        missed(
            "index set of loop {} not split: {}",
            loop,
            reason,
            hint=_ALLOWS.get(reason or "", ""),
        )
    for op in list(loop.body.block.ops):
        if isinstance(op, ForOp):
            _split(op)


def _reason_against(loop: ForOp) -> str | None:
    """The reason why a loop is not split; None if it can be split."""
    extent = known_extent(loop)
    if extent is not None and extent < FEWEST:
        return "its trip count is short"
    if loop.step is not None or loop.schedule.is_grouped:
        return "it is unrolled or vectorized already"
    if sum(1 for _ in walk(loop)) > LARGEST:
        return "its body is large"
    written, read = _written(loop), _read(statements(loop))
    if (written & read) - _values(loop):
        return "a part would read what another part writes"
    strip = _strip_of(loop)
    if strip is not None:
        others = (op for op in statements(strip) if not loop.is_ancestor(op))
        rings = {x for x in written if isinstance(x.owner, ValueOp) and x.owner.folded is not None}
        if (written & _read(others)) - _values(strip) - rings:
            return "another loop over the same strip or chunk reads what it writes"
    return None


def _strip_of(loop: ForOp) -> ForOp | None:
    """The loop over strips or chunks of iterations whose body has this loop over a strip or chunk."""
    owner = loop.lower.owner if loop.lower is not None else None
    strip = owner.parent_op() if isinstance(owner, Block) else None
    return strip if isinstance(strip, ForOp) and strip.step is not None else None


def _written(loop: ForOp) -> set[SSAValue]:
    """The memory that the statements of a loop write, except registers."""
    return {_memory(x) for op in statements(loop) for x in op.outputs if not is_register(x)}


def _read(ops: Iterable[DoOp]) -> set[SSAValue]:
    """The memory that statements read, except registers."""
    return {_memory(x) for op in ops for x in (*op.inputs, *gathers(op)) if not is_register(x)}


def _values(loop: ForOp) -> set[SSAValue]:
    """The values that a loop declares: they are private to an iteration."""
    return {op.result for op in walk(loop) if isinstance(op, ValueOp)}


def _memory(x: SSAValue) -> SSAValue:
    """The value that owns the memory of x, through views and reuse."""
    while isinstance(x.owner, ReshapeOp | ValueOp):
        source = x.owner.source if isinstance(x.owner, ReshapeOp) else x.owner.over
        if source is None:
            break
        x = source
    return x


# --- conditions ------------------------------------------------------------------------------------------------------


def _conditions(loop: ForOp) -> Iterator[_Condition]:
    """The conditions in a loop: comparisons of its counter plus a loop-invariant offset with a loop-invariant bound."""
    for statement in statements(loop):
        for op in statement.body.block.ops:
            if isinstance(op, arith.CmpiOp) and op.predicate.value.data == _BELOW and is_fixed(op.rhs, loop):
                found = split_by_counter(op.lhs, loop)
                if found is not None:
                    yield _Condition(op, *found)


def _range(b: IndexBuilder, conditions: list[_Condition], start: Extent, end: Extent) -> tuple[Extent, Extent]:
    """The subrange of start … end in which all conditions hold."""
    lows, highs = list[Extent](), list[Extent]()
    for extent, added, subtracted in dict.fromkeys((one.op.rhs, one.added, one.subtracted) for one in conditions):
        lows.append(sum(map(_extent, subtracted)) - sum(map(_extent, added)))
        highs.append(lows[-1] + _extent(extent))
    low, high = reduce(b.imax, lows), reduce(b.imin, highs)
    first = start if low == 0 else b.imax(b.imin(low, end), start)  # counters are nonnegative
    return first, b.imax(b.imin(high, end), first)


def _extent(x: SSAValue) -> Extent:
    number = known_number(x)
    return Scalar(x, dtypes.INDEX) if number is None else number


# --- where they hold -------------------------------------------------------------------------------------------------


def _assume(condition: Operation) -> None:
    """Simplify the users of a condition that always holds."""
    for user in [use.operation for use in condition.results[0].uses]:
        match user:
            case arith.AndIOp():
                (other,) = (x for x in user.operands if x is not condition.results[0])
                Rewriter.replace_op(user, [], [other])
            case ExtractIfOp():
                read = tensor.ExtractOp(user.tensor, list(user.indices), user.result.type)
                read.location = user.location
                Rewriter.replace_op(user, read)
            case arith.SelectOp() if user.cond is condition.results[0]:
                Rewriter.replace_op(user, [], [user.lhs])
            case _:
                pass
    if not condition.results[0].uses:
        Rewriter.erase_op(condition)
