"""Merge checks into one branch, to avoid deeply nested branches.

    check 1 %a                              %b = …
    %x = sin(…)                             %ok = %a and %b
    %b = …                          →       if %ok { %x = sin(…) … }
    check 2 %b                              else { return %a ? 2 : 1, with the found and the expected value }
    …

Operations that the second check needs run even if the first one fails, so they must be harmless: see `is_harmless`.
Other operations between the two follow in the branch. Checks keep their order: the first that fails is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.errors import UnsupportedError
from aotensor.ir.dialect import CheckOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar

_DEEPEST: Final = 160
"""Branches inside of one another: IR is printed by recursion, and Python's stack has 1000 frames."""
_DIVISIONS = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)


def first_group(
    ops: Sequence[Operation], is_apart: Callable[[Operation], bool]
) -> tuple[Sequence[Operation], Sequence[Operation]]:
    """The first checks with the harmless operations that they need, and the other operations; both are in order.

    ops: begin with a check. is_apart: predicate of operations that no check moves across.
    """
    needed: set[SSAValue] = set()
    members: set[Operation] = set()
    for op in reversed(_movable(ops, is_apart)):
        if isinstance(op, CheckOp) or any(x in needed for x in op.results):
            members.add(op)
            needed.update(op.operands)
    return [op for op in ops if op in members], [op for op in ops if op not in members]


def _movable(ops: Sequence[Operation], is_apart: Callable[[Operation], bool]) -> list[Operation]:
    """The harmless operations, and checks up to the first one, that need no result of any other operation."""
    found: list[Operation] = []
    left: set[SSAValue] = set()
    for op in ops:
        if is_apart(op):
            break
        is_ready = left.isdisjoint(op.operands)
        if isinstance(op, CheckOp):
            if not is_ready:
                break
            found.append(op)
        elif is_ready and is_harmless(op):
            found.append(op)
        else:
            left.update(op.results)
    return found


def is_harmless(op: Operation) -> bool:
    """True for scalar arithmetic, shape queries and reads of arguments at static positions, which cannot trap; false
    for a division by a possible 0.
    """
    if isinstance(op, _DIVISIONS):
        return _is_positive_literal(op.rhs)
    if isinstance(op, tensor.ExtractOp):
        return isinstance(op.tensor, BlockArgument) and _is_within(op)
    is_scalar = not any(isinstance(r.type, TensorType) for r in op.results)
    return isinstance(op, tensor.DimOp) or (op.name.startswith("arith.") and is_scalar)


def _is_positive_literal(x: SSAValue) -> bool:
    value = _literal(x)
    return value is not None and value > 0


def _literal(x: SSAValue) -> int | None:
    match x.owner:
        case arith.ConstantOp(value=IntegerAttr() as literal):
            return int(literal.value.data)
        case _:
            return None


def _is_within(op: tensor.ExtractOp) -> bool:
    """Are all indices literals within static extents?"""
    assert isinstance(op.tensor.type, TensorType)
    pairs = zip(map(_literal, op.indices), op.tensor.type.get_shape(), strict=True)
    return all(at is not None and 0 <= at < extent for at, extent in pairs)


def limit_depth(depth: int, function: func.FuncOp, op: Operation) -> None:
    """Raises: UnsupportedError if there would be too many branches inside of one another."""
    if depth > _DEEPEST:
        name = function.sym_name.data.removesuffix(".extents")
        where = f": {op.message.data.rpartition(': ')[0]}" if isinstance(op, CheckOp) else ""
        raise UnsupportedError(
            f"in function {name} more than {_DEEPEST} checks need values that are read after an earlier check{where}",
            hint="compute the positions in a loop, such as aotensor.tensor.scan",
        )


def all_hold(b: LoopBuilder, conditions: Sequence[Scalar]) -> Scalar:
    """True if all conditions hold. Uses `select`, so that conditions after a failed check may be poison."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = b.select(result, condition, b.constant(False, "bool"))
    return result


def first_failure(
    b: LoopBuilder, checks: Sequence[CheckOp], scalar: Callable[[SSAValue], Scalar]
) -> tuple[Scalar, Scalar, Scalar]:
    """(number, found, expected): the number of the first check that fails, if any, with its two values."""
    rows = [_record(b, check, scalar) for check in checks]
    result = rows[-1]
    for check, row in zip(reversed(checks[:-1]), reversed(rows[:-1]), strict=True):
        holds = scalar(check.condition)
        number, found, expected = (b.select(holds, later, own) for later, own in zip(result, row, strict=True))
        result = number, found, expected
    return result


def _record(b: LoopBuilder, check: CheckOp, scalar: Callable[[SSAValue], Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    found, expected = (b.cast(Scalar(scalar(x).ssa, "index"), "int64") for x in (check.found, check.expected))
    return b.constant(check.number.value.data, "int32"), found, expected
