"""Merge consecutive checks into one branch, to avoid deeply nested branches.

    check 1 %a                              %ok = %a and %b
    %b = …                                  if %ok { … }
    check 2 %b                      →       else { return %a ? 2 : 1, with the found and the expected value }
    …

Operations between them run even if an earlier check fails, so they must be harmless: see `is_harmless`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Operation, SSAValue

from aotensor.ir.dialect import CheckOp
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar

_DIVISIONS = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp)


def group_length(ops: Sequence[Operation], is_apart: Callable[[Operation], bool]) -> int:
    """The number of operations at the start of `ops` that form a group: checks and harmless operations between them.

    is_apart: predicate of operations that end a group.
    """
    length = 0
    for position, op in enumerate(ops):
        if isinstance(op, CheckOp):
            length = position + 1
        elif is_apart(op) or not is_harmless(op):
            break
    return length


def is_harmless(op: Operation) -> bool:
    """True for scalar arithmetic and shape queries, which cannot trap; false for a division by a possible 0."""
    if isinstance(op, _DIVISIONS):
        return _is_positive_literal(op.rhs)
    is_scalar = not any(isinstance(r.type, TensorType) for r in op.results)
    return isinstance(op, tensor.DimOp) or (op.name.startswith("arith.") and is_scalar)


def _is_positive_literal(x: SSAValue) -> bool:
    op = x.owner
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and op.value.value.data > 0


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
