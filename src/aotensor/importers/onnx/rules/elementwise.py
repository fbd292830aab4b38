"""Arithmetic, comparisons and logic, element by element; two operands broadcast as in NumPy."""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.base import Unsuited
from aotensor.importers.onnx.node import Node
from aotensor.importers.onnx.rules.table import RULES, row, rule
from aotensor.importers.onnx.tensors import dtype_of

_PLAIN: Final = {
    "Abs": at.abs, "Neg": at.neg, "Sign": at.sign, "Sqrt": at.sqrt, "Exp": at.exp, "Log": at.log, "Erf": at.erf,
    "Ceil": at.ceil, "Floor": at.floor, "Round": at.round_half_to_even, "IsNaN": at.isnan,
    "Sin": at.sin, "Cos": at.cos, "Tan": at.tan, "Asin": at.arcsin, "Acos": at.arccos, "Atan": at.arctan,
    "Sinh": at.sinh, "Cosh": at.cosh, "Tanh": at.tanh, "Asinh": at.arcsinh, "Acosh": at.arccosh, "Atanh": at.arctanh,
    "Reciprocal": at.reciprocal, "Sigmoid": at.sigmoid, "Softplus": at.softplus,
    "Add": at.add, "Sub": at.sub, "Mul": at.mul,
    "Equal": at.eq, "Less": at.lt, "LessOrEqual": at.le, "Greater": at.gt, "GreaterOrEqual": at.ge,
    "And": at.and_, "Or": at.or_, "Xor": at.xor, "Not": at.invert,
    "BitwiseAnd": at.bitwise_and, "BitwiseOr": at.bitwise_or, "BitwiseXor": at.bitwise_xor, "BitwiseNot": at.invert,
    "Where": at.switch,
}  # fmt: skip
RULES.update({("", name): row(function) for name, function in _PLAIN.items()})


def is_float(x: Any) -> bool:
    """Is a variable of a floating dtype?"""
    return "float" in x.type.dtype


def widened(x: Any) -> Any:
    """x, converted to float32 if it is a 16-bit float, where squares of a few hundred overflow; other runtimes widen
    too.
    """
    return at.cast(x, "float32") if dtypes.is_half(x.type.dtype) else x


def scalar(value: float, like: Any) -> Any:
    """A constant with the dtype of `like`, so that results are not promoted."""
    return at.constant(value, dtype=like.type.dtype)


@rule("Div")
def div(node: Node, x: Any, y: Any) -> Any:
    """x / y; integer quotients are rounded toward zero, as in C."""
    return at.true_div(x, y) if is_float(x) else at.trunc_div(x, y)


@rule("Mod")
def mod(node: Node, x: Any, y: Any) -> Any:
    """The remainder with the sign of y, or with `fmod` that of x, which is exact for floats, too."""
    return at.fmod(x, y) if node["fmod"] else at.mod(x, y)


@rule("Pow")
def power(node: Node, x: Any, y: Any) -> Any:
    """x to the power y, in the dtype of x."""
    if is_float(x) or not is_float(y):
        return at.pow(x, at.cast(y, x.type.dtype))
    return at.cast(at.pow(at.cast(x, "float64"), y), x.type.dtype)


@rule("BitShift")
def shift(node: Node, x: Any, y: Any) -> Any:
    """Shift left or right by y bits; if all bits are shifted out: 0, or -1 for a negative x shifted right."""
    if node["direction"] not in ("LEFT", "RIGHT"):
        raise Unsuited(f"its direction is {node['direction']!r}, which is not supported")
    return at.left_shift(x, y) if node["direction"] == "LEFT" else at.right_shift(x, y)


@rule("IsInf")
def is_infinite(node: Node, x: Any) -> Any:
    """True for infinities, of both signs or of one."""
    below, above = node["detect_negative"], node["detect_positive"]
    if below and above:
        return at.isinf(x)
    if not below and not above:
        return at.zeros_like(x, dtype="bool")
    return at.and_(at.isinf(x), at.gt(x, scalar(0, x)) if above else at.lt(x, scalar(0, x)))


@rule("Max")
def maximum(node: Node, *inputs: Any) -> Any:
    """The largest of any number of tensors; NaN wins."""
    return reduce(at.maximum, inputs)


@rule("Min")
def minimum(node: Node, *inputs: Any) -> Any:
    """The smallest of any number of tensors; NaN wins."""
    return reduce(at.minimum, inputs)


@rule("Sum")
def total(node: Node, *inputs: Any) -> Any:
    """The sum of any number of tensors."""
    return reduce(at.add, inputs)


@rule("Mean")
def mean(node: Node, *inputs: Any) -> Any:
    """The mean of any number of tensors."""
    return reduce(at.add, inputs) / scalar(len(inputs), inputs[0])


@rule("Clip")
def clip(node: Node, x: Any, low: Any = None, high: Any = None) -> Any:
    """x between two optional bounds; `high` where low > high."""
    if low is not None:
        x = at.maximum(x, low)
    return x if high is None else at.minimum(x, high)


@rule("Cast")
def cast(node: Node, x: Any) -> Any:
    """Convert to another dtype; floats are truncated toward zero for integers."""
    return at.cast(x, dtype_of(node["to"], "the result"))


@rule("CastLike")
def cast_like(node: Node, x: Any, like: Any) -> Any:
    """Convert to the dtype of another tensor."""
    return at.cast(x, like.type.dtype)


@rule("Identity")
def identity(node: Node, x: Any) -> Any:
    """x itself."""
    return x
