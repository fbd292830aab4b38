"""Bit operations: logic, shifts, reinterpretation, counts, and the order and neighbours of floats."""

from __future__ import annotations

import numpy as np

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.importers.lax.table import Context, Equation, enter_functions, rule


def _unsigned(x: at.Variable) -> at.Variable:
    return at.bitcast(x, f"uint{_width(x)}")


def _width(x: at.Variable) -> int:
    return 8 * dtypes.itemsize(x.dtype)


def like(number: int, x: at.Variable) -> at.Variable:
    """A constant with the dtype of x: a Python literal would promote unsigned integers."""
    return at.constant(np.asarray(number, x.dtype))


def shifted_right(x: at.Variable, count: int) -> at.Variable:
    """⌊x/2ᵏ⌋ for a constant k: an arithmetic shift to the right."""
    return at.right_shift(x, like(count, x))


def _shifted_arithmetically(x: at.Variable, count: at.Variable) -> at.Variable:
    kind = f"int{_width(x)}"
    inside = at.bitcast(at.minimum(_unsigned(count), like(_width(x) - 1, _unsigned(x))), kind)
    return at.bitcast(at.right_shift(at.bitcast(x, kind), inside), x.dtype)


def _ones(x: at.Variable) -> at.Variable:
    """The number of set bits (population count): sums over pairs, groups of four and eight bits, then over bytes by one
    product.

    Source: Warren, Hacker's Delight, 5-1.
    """
    bits = _unsigned(x)
    if _width(x) < 32:
        return at.cast(_ones(at.cast(bits, "uint32")), x.dtype)

    def every(byte: int) -> at.Variable:
        return like(int.from_bytes(bytes([byte] * (_width(x) // 8))), bits)

    bits = bits - (shifted_right(bits, 1) & every(0x55))
    bits = (bits & every(0x33)) + (shifted_right(bits, 2) & every(0x33))
    bits = (bits + shifted_right(bits, 4)) & every(0x0F)
    return at.bitcast(shifted_right(bits * every(0x01), _width(x) - 8), x.dtype)


def _leading_zeros(x: at.Variable) -> at.Variable:
    """The number of leading zeros: set all bits below the highest set bit, then count the zeros."""
    bits, step = _unsigned(x), 1
    while step < _width(x):
        bits = bits | shifted_right(bits, step)
        step *= 2
    return at.bitcast(_ones(at.invert(bits)), x.dtype)


def in_order(x: at.Variable) -> at.Variable:
    """Map floats to integers in the same order, −nan first and nan last; integers stay unchanged."""
    if not dtypes.is_float(x.dtype):
        return x
    bits = at.bitcast(x, f"int{_width(x)}")
    return bits ^ at.logical_shift_right(shifted_right(bits, _width(x) - 1), at.ones_like(bits))


def _next(x: at.Variable, towards: at.Variable) -> at.Variable:
    """The next representable number after x in the direction of `towards` (nextafter); after 0, the smallest subnormal
    of that sign.
    """
    bits = at.bitcast(x, f"int{_width(x)}")
    is_away = at.eq(at.gt(towards, x), at.gt(x, 0))
    stepped = at.bitcast(bits + at.switch(is_away, 1, -1), x.dtype)
    smallest = at.constant(np.nextafter(np.zeros((), x.dtype), np.ones((), x.dtype)))
    from_zero = at.switch(at.gt(towards, 0), smallest, -smallest)
    moved = at.switch(at.eq(x, 0), from_zero, stepped)
    found = at.switch(at.eq(x, towards), towards, moved)
    return at.switch(at.isnan(x) | at.isnan(towards), x + towards, found)


enter_functions({
    "and": at.and_, "clz": _leading_zeros, "nextafter": _next, "not": at.invert, "or": at.or_,
    "eq_to": lambda x, y: at.eq(in_order(x), in_order(y)), "le_to": lambda x, y: at.le(in_order(x), in_order(y)),
    "lt_to": lambda x, y: at.lt(in_order(x), in_order(y)), "population_count": _ones,
    "shift_left": at.left_shift, "shift_right_arithmetic": _shifted_arithmetically,
    "shift_right_logical": at.logical_shift_right, "xor": at.xor,
})  # fmt: skip


def _is_long(equation: Equation) -> str:
    return "integers of 64 bits are not supported" if equation.invars[0].aval.dtype.itemsize > 4 else ""


@rule("mulhi", check=_is_long, note="of up to 32 bits")
def _high_word(context: Context, equation: Equation, x: at.Variable, y: at.Variable) -> at.Variable:
    """The upper half of the bits of an integer product."""
    wide = "int64" if dtypes.is_signed(x.dtype) else "uint64"
    return at.cast(shifted_right(at.cast(x, wide) * at.cast(y, wide), _width(x)), x.dtype)


def _is_of_another_width(equation: Equation) -> str:
    old, new = equation.invars[0].aval.dtype, np.dtype(equation.params["new_dtype"])
    is_alike = old.itemsize == new.itemsize and "b" not in (old.kind, new.kind)
    return "" if is_alike else "a bitcast to a dtype of another width is not supported"


@rule("bitcast_convert_type", check=_is_of_another_width, note="between dtypes of one width")
def _bitcast(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return at.bitcast(x, np.dtype(equation.params["new_dtype"]).name)
