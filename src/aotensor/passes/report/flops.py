"""Floating-point operations of one operation of loop IR."""

from __future__ import annotations

from functools import cache
from typing import Final, get_args

from xdsl.dialects.builtin import AnyFloat, VectorType
from xdsl.ir import Attribute, Operation

from aotensor.ir.types import lane_type

_FREE: Final = frozenset(
    {"constant", "select", "cmpf", "bitcast", "extf", "truncf", "sitofp", "uitofp", "copysign", "absf"}
)
_FLOATS: Final = frozenset(get_args(AnyFloat))


def flops_of(op: Operation) -> int:
    """Floating-point operations of one operation other than a loop or call; comparisons and casts count nothing."""
    if op.name == "vector.reduction":
        return max((float_lanes(x.type) for x in op.operands), default=0)
    each = _flops_of_a_lane(op.name)
    return each * float_lanes(op.results[0].type) if each and op.results else 0


@cache
def _flops_of_a_lane(operation: str) -> int:
    """Operations per lane, by an operation's name; a call counts as one instruction."""
    dialect, _, name = operation.partition(".")
    return 2 if name == "fma" else int(name == "call" or (dialect in ("arith", "math") and name not in _FREE))


def float_lanes(kind: Attribute) -> int:
    """The number of floating-point values in a result of this type."""
    count = kind.element_count() if isinstance(kind, VectorType) else 1
    return count if type(lane_type(kind)) in _FLOATS else 0
