"""Shifts, counts of bits, and the same bits as another dtype."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder
from aotensor.core.types import Array
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise


def _whole(*operands: str) -> tuple[tuple[str, ...], str]:
    """Signature of integer ops: the promoted dtype.   Raises: GraphTypeError for floats and bool"""
    common = dtypes.promote(*operands)
    if common not in dtypes.INTEGERS:
        raise GraphTypeError(f"it is not defined for {common}", hint="cast to an integer dtype")
    return (common,) * len(operands), common


def _shift(x: str, y: str) -> tuple[tuple[str, ...], str]:
    """Signature of left_shift and right_shift: the promoted integer dtype; uint64 may be shifted by a signed
    integer.
    """
    return (("uint64",) * 2, "uint64") if x == "uint64" and y in dtypes.INTEGERS else _whole(x, y)


def _byte(*operands: str) -> tuple[tuple[str, ...], str]:
    """Signature of bitwise_count: integers give uint8."""
    return _whole(*operands)[0], "uint8"


def _is_inside(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Emit whether y is at least 0 and less than the number of bits of x: LLVM leaves other shifts undefined."""
    few = y < 8 * dtypes.itemsize(x.dtype)
    return few & (y >= 0) if dtypes.is_signed(y.dtype) else few


def _shifted_left(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    inside, nothing = _is_inside(s, x, y), s.constant(0, x.dtype)
    return s.select(inside, x << s.select(inside, y, nothing), nothing)


def _shifted_right(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    inside, nothing = _is_inside(s, x, y), s.constant(0, x.dtype)
    shifted = x >> s.select(inside, y, nothing)
    if not dtypes.is_signed(x.dtype):
        return s.select(inside, shifted, nothing)
    all_signs = x >> (8 * dtypes.itemsize(x.dtype) - 1)
    return s.select(inside, shifted, all_signs)


left_shift = elementwise(
    "left_shift",
    "x · 2^y of integers: the bits of x moved up by y; 0 where y is negative or not below the number of bits.",
    np.left_shift,
    _shifted_left,
    (None, None),
    _shift,
    numpy="left_shift",
    operator="<<",
)
right_shift = elementwise(
    "right_shift",
    "⌊x / 2^y⌋ of integers: the bits of x moved down by y; 0, or −1 for negative x, where y is negative or not below "
    "the number of bits.",
    np.right_shift,
    _shifted_right,
    (None, None),
    _shift,
    numpy="right_shift",
    operator=">>",
)


def _unsigned_shift(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    is_inside = (y >= 0) & (y < bits)
    count = np.where(is_inside, y, 0).astype(f"uint{bits}")
    shifted = np.right_shift(x.view(f"uint{bits}"), count).view(x.dtype)
    return np.where(is_inside, shifted, np.zeros((), x.dtype))


def _shifted_right_logically(s: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    kind = f"uint{8 * dtypes.itemsize(x.dtype)}"
    inside, nothing = _is_inside(s, x, y), s.constant(0, kind)
    count = s.select(inside, s.bitcast(y, kind), nothing)
    return s.bitcast(s.select(inside, s.bitcast(x, kind) >> count, nothing), x.dtype)


logical_shift_right = elementwise(
    "logical_shift_right",
    "The bits of x moved down by y with zeros above them, as C shifts an unsigned integer; in the dtype of x, 0 where "
    "y is negative or not below the number of bits.",
    _unsigned_shift,
    _shifted_right_logically,
    (None, None),
    _shift,
)


def _count_ones(s: ScalarBuilder, x: Scalar) -> Scalar:
    """Emit the number of 1 bits of x: bits in pairs, fours, bytes, then all bytes by one product (Warren, 5-1)."""
    magnitude = s.select(x < 0, -x, x) if dtypes.is_signed(x.dtype) else x
    kind = f"uint{8 * dtypes.itemsize(x.dtype)}"
    v, bits = s.bitcast(magnitude, kind), 8 * dtypes.itemsize(x.dtype)

    def every(byte: int) -> Scalar:
        return s.constant(int.from_bytes(bytes([byte]) * (bits // 8), "little"), kind)

    v = v - ((v >> 1) & every(0x55))
    v = (v & every(0x33)) + ((v >> 2) & every(0x33))
    v = (v + (v >> 4)) & every(0x0F)
    return s.cast((v * every(1)) >> (bits - 8) if bits > 8 else v, "uint8")


bitwise_count = elementwise(
    "bitwise_count",
    "The number of ones among the bits of |x|, as uint8.",
    np.bitwise_count,
    _count_ones,
    (None,),
    _byte,
    numpy="bitwise_count",
)


@cache
def _bitcast(dtype: str) -> Elementwise:
    def reference(x: Array) -> Array:
        return np.ascontiguousarray(x).view(dtype).reshape(np.shape(x))

    def signature(operand: str) -> tuple[tuple[str, ...], str]:
        if dtypes.itemsize(operand) != dtypes.itemsize(dtype) or "bool" in (operand, dtype):
            raise GraphTypeError(
                f"the bits of {operand} cannot be reinterpreted as {dtype}",
                hint=f"use a dtype of {8 * dtypes.itemsize(operand)} bits other than bool",
            )
        return (operand,), dtype

    return Elementwise(
        Row(
            "bitcast", f"the bits of x as {dtype}", reference, lambda s, x: s.bitcast(x, dtype), (None,), signature,
            parameters=(("dtype", dtype),),
        )
    )  # fmt: skip


MAKERS["bitcast"] = _bitcast


@coerced
def bitcast(x: Any, dtype: Any) -> Variable:
    """The bits of x as another dtype of the same size, as `x.view(dtype)` of NumPy; the derivative is 0.

    Raises: GraphTypeError for a dtype of another size, for bool, complex and halves; UnsupportedError for one that
    cannot be compiled.
    """
    variable, wanted = as_tensor(x), dtypes.canonical(dtype)
    if dtypes.is_half(variable.dtype) or dtypes.is_half(wanted):
        raise GraphTypeError(
            f"bitcast: half floats are computed in float32, so {variable.dtype} cannot become {wanted}"
        )
    if dtypes.is_complex(variable.dtype) or dtypes.is_complex(wanted):
        raise GraphTypeError(
            f"bitcast: the bits of {variable.dtype} cannot be reinterpreted as {wanted}",
            hint="bitcast the real and the imaginary part",
        )
    return variable if variable.dtype == wanted else _bitcast(wanted)(variable)
