"""Strides of subscripts along loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.syntax import Subscript


def stride_along(index: Subscript, counter: SSAValue) -> int | None:
    """The constant increment of an index per iteration of the loop with this counter; 0 for an invariant index.

    None for an irregular index, such as one that is read from memory.
    """
    if index is counter:
        return 1
    if isinstance(index, int) or isinstance(index.owner, Block):
        return 0
    return _counter_factor(index.owner, counter)


def is_contiguous(subscripts: Sequence[Subscript], counter: SSAValue) -> bool:
    """Is an access contiguous from one iteration to the next, or invariant?"""
    strides = [stride_along(i, counter) for i in subscripts]
    return all(s == 0 for s in strides[:-1]) and (not strides or strides[-1] in (0, 1))


def _counter_factor(op: Operation, counter: SSAValue) -> int | None:
    strides = [stride_along(x, counter) for x in op.operands]
    match op:
        case arith.AddiOp():
            return None if None in strides else strides[0] + strides[1]  # type: ignore[operator]
        case arith.SubiOp():
            return None if None in strides else strides[0] - strides[1]  # type: ignore[operator]
        case arith.IndexCastOp():
            return strides[0]
        case _:
            return 0 if all(s == 0 for s in strides) and not op.regions else None


def split_by_counter(index: SSAValue, loop: LoopOp) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]] | None:
    """Split an index into a loop's counter and loop-invariant values: (values added, values subtracted); else None."""
    if index is loop.counter:
        return (), ()
    op = index.owner
    if is_fixed(index, loop):
        return None
    if isinstance(op, arith.SubiOp) and is_fixed(op.rhs, loop):
        found = split_by_counter(op.lhs, loop)
        return None if found is None else (found[0], (*found[1], op.rhs))
    if isinstance(op, arith.AddiOp):
        for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            found = split_by_counter(one, loop) if is_fixed(other, loop) else None
            if found is not None:
                return (*found[0], other), found[1]
    return None


def is_fixed(x: SSAValue, loop: LoopOp) -> bool:
    """Is a value loop-invariant: defined outside of a loop?"""
    return not loop.is_ancestor(x.owner)
