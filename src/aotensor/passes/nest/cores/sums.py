"""Dependence analysis for parallel loops: are iterations independent, except for reassociable reductions?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from aotensor.ir.dialect import ReshapeOp
from aotensor.ir.extents import sources
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp, YieldOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import axis_of, gather_accesses, is_injective, is_register, loops_around, statements
from aotensor.ir.upstream import walk
from aotensor.passes.nest.unroll_and_jam import is_reassociable

_NOTHING: Final[Mapping[type[Operation], float]] = {
    arith.AddfOp: 0.0, arith.MulfOp: 1.0, arith.MaximumfOp: float("-inf"), arith.MinimumfOp: float("inf"),
    arith.AddiOp: 0, arith.MuliOp: 1, arith.OrIOp: 0, arith.XOrIOp: 0, arith.AndIOp: -1,
}  # fmt: skip
"""The neutral element of each combining operation; for comparisons of integers it depends on their width."""
_ORDERS: Final = (arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp)


@dataclass(frozen=True)
class Sum:
    """A reduction: a value from outside a loop that its statements update by a reassociable operation."""

    value: ValueOp
    combine: Operation
    is_scattered: bool
    """Are elements updated at indices read from memory?  Then few terms per element are likely."""

    @property
    def kind(self) -> TensorType[Attribute]:
        kind = self.value.result.type
        assert isinstance(kind, TensorType)
        return kind

    @property
    def is_number(self) -> bool:
        return is_register(self.value.result)


def sums_of(loop: ForOp) -> list[Sum] | str:
    """The reductions of a loop if its iterations are otherwise independent; if not, the reason as text."""
    if any(isinstance(op, ValueOp) and not _has_known_size(op) for op in walk(loop)):
        return "it allocates memory of data-dependent size"
    if loop.schedule.lanes > 1 and not loop.schedule.masked:
        return "it is a vector"
    found: dict[SSAValue, Sum] = {}
    owned: dict[SSAValue, list[Sequence[Subscript]]] = defaultdict(list)
    for statement in statements(loop):
        for number, (x, subscripts) in enumerate(statement.writes):
            root = _memory(x)
            if isinstance(root.owner, Operation) and loop.is_ancestor(root.owner):
                continue  # private to the iteration
            if statement.scatter is None and is_injective(subscripts, loop):
                owned[root].append(subscripts)
                continue
            combine = _combination(statement, number)
            if combine is None or not isinstance(x.owner, ValueOp) or x.owner.lanes is not None:
                return f"iterations write to the same elements of a {_kind(x)}"
            if any(is_injective(subscripts, outer) for outer in loops_around(loop)):
                return f"each iteration of an outer loop updates a part of a {_kind(x)}"
            if x in found and type(found[x].combine) is not type(combine):
                return f"a {_kind(x)} is updated in several ways"
            found[x] = Sum(x.owner, combine, statement.scatter is not None)
    for statement in statements(loop):
        for x, read in _reads(statement):
            root = _memory(x)
            if root in owned and any(not _coincide_per_iteration(read, one, loop) for one in owned[root]):
                return "an iteration reads what another iteration writes"
    return list(found.values())


def _reads(statement: DoOp) -> Iterator[tuple[SSAValue, Sequence[Subscript]]]:
    yield from statement.reads
    yield from gather_accesses(statement)


def _coincide_per_iteration(read: Sequence[Subscript], written: Sequence[Subscript], loop: LoopOp) -> bool:
    """Do two accesses touch the same element only in the same iteration of the loop?"""
    along = axis_of(written, loop)
    return read == written or (along is not None and along == axis_of(read, loop))


def _memory(x: SSAValue) -> SSAValue:
    """The value that owns the memory of x: follow views and reuse of memory."""
    while True:
        if isinstance(x.owner, ReshapeOp):
            x = x.owner.source
        elif isinstance(x.owner, ValueOp) and x.owner.over is not None:
            x = x.owner.over
        else:
            return x


def _has_known_size(value: ValueOp) -> bool:
    """Does the size of a value depend on the extents of arguments only?"""
    if is_register(value.result):
        return True
    for x in sources(value.sizes, tensor.DimOp):
        if not isinstance(x.owner, Operation) or not (
            x.owner.name.startswith("arith.")
            or (isinstance(x.owner, tensor.DimOp) and not isinstance(x.owner.source.owner, Operation))
        ):
            return False
    return True


def _combination(statement: DoOp, number: int) -> Operation | None:
    """The operation by which a statement updates output `number`; None if it may not be reassociated."""
    last = statement.body.block.last_op
    assert isinstance(last, YieldOp)
    combine, held = last.values[number].owner, statement.body.block.args[len(statement.inputs) + number]
    if not isinstance(combine, Operation) or (type(combine) not in _NOTHING and not isinstance(combine, _ORDERS)):
        return None
    if held not in combine.operands or not held.has_one_use() or not is_reassociable(statement):
        return None
    return combine


def _kind(x: SSAValue) -> str:
    return "number" if is_register(x) else "tensor"


def neutral(sum: Sum) -> FloatAttr[AnyFloat] | IntegerAttr[IntegerType]:
    """The neutral element of a reduction, such as 0 for a sum, 1 for a product, −∞ for a maximum."""
    kind = sum.kind.element_type
    if isinstance(kind, AnyFloat):
        return FloatAttr(_NOTHING[type(sum.combine)], kind)
    assert isinstance(kind, IntegerType)
    bits = kind.width.data
    limits: dict[type[Operation], int] = {
        arith.MaxSIOp: -(1 << bits - 1), arith.MinSIOp: (1 << bits - 1) - 1, arith.MaxUIOp: 0, arith.MinUIOp: -1,
    }  # fmt: skip
    number = limits.get(type(sum.combine))
    return IntegerAttr(int(_NOTHING[type(sum.combine)]) if number is None else number, kind)
