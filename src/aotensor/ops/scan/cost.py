"""Decide which ops are recomputed instead of stored."""

from __future__ import annotations

from typing import Final

from aotensor.graph.op import Op
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.diagonal import Band
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.gradient_control import ViewOp
from aotensor.ops.index import Subtensor
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.broadcast import SpecifyShape
from aotensor.ops.shape.extents import Shape, ShapeI
from aotensor.ops.shape.reshape import Reshape

_ARITHMETIC: Final = frozenset({
    "abs", "add", "and_", "cast", "clip", "eq", "ge", "gt", "identity", "int_div", "invert", "isfinite", "isinf",
    "isnan", "le", "lt", "maximum", "minimum", "mul", "neg", "neq", "or_", "reciprocal", "second", "sign", "sqr", "sub",
    "switch", "true_div", "trunc_div", "xor",
})  # fmt: skip
_MOVES: Final = (Alloc, Band, DimShuffle, FullLike, Reshape, Shape, ShapeI, SpecifyShape, Subtensor, ViewOp)


def is_cheap(op: Op) -> bool:
    """Does the op cost at most as much as reading a stored result? True for arithmetic and moves."""
    return isinstance(op, _MOVES) or (isinstance(op, Elementwise) and op.name in _ARITHMETIC)
