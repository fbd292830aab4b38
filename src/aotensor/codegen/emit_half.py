"""Emit storage dtypes such as float16 and bfloat16: conversions to float32 and back.

    %y = arith.extf %x : f16 to f32      →    bitcast i16 to half, fpext            where the CPU has the instructions
                                              shifts, an addition of an exponent    elsewhere

Registers hold the bits as an integer, so that neither calling conventions nor a compiler runtime (`__extendhfsf2`) are
involved. Both methods give the same bits: conversions round to nearest, ties to even, and keep the upper bits of a nan,
which becomes quiet. bfloat16 always uses integer operations: the instructions of x86 treat denormal numbers as zero.
The integer operations work for each format of IEEE 754 that is narrower than float32.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, Float64Type
from xdsl.ir import Attribute

from aotensor.codegen import llvm
from aotensor.codegen.emit_state import Emitter, register_type
from aotensor.codegen.llvm import Builder, Type, Value
from aotensor.core.dtypes import DTYPES
from aotensor.ir.types import DTYPE_OF_FLOAT, is_half_type, lane_type

_QUIET: Final = 1 << 22  # of a nan of float32
_INFINITY: Final = 0x7F800000
_FRACTION: Final = 23  # bits of float32
_EXPONENT: Final = 8  # bits of float32


class _Format(NamedTuple):
    """A storage format of IEEE 754 in bits.

    bits: of a number. exponent: bits of that field. shift: bits of a fraction of float32 beyond those of this format.
    sign, infinity, quiet: the bits of −0, of infinity and of a quiet nan. bias, normal, beyond, denormal: bits of
    float32: the difference of both biases of exponents, the smallest normal number, the power of 2 above the largest
    number, and a number whose last bit is the smallest denormal number, so that it rounds what is added to it.
    has_instructions: may a CPU have instructions for conversions?
    """

    bits: int
    exponent: int
    shift: int
    sign: int
    infinity: int
    quiet: int
    bias: int
    normal: int
    beyond: int
    denormal: int
    has_instructions: bool


@cache
def _format_of(kind: Attribute) -> _Format:
    record = DTYPES[DTYPE_OF_FLOAT[lane_type(kind)]]
    fraction, least = record.digits - 1, record.exponent
    exponent, shift = record.bits - 1 - fraction, _FRACTION - fraction
    infinity = ((1 << exponent) - 1) << fraction
    return _Format(
        bits=record.bits,
        exponent=exponent,
        shift=shift,
        sign=1 << (record.bits - 1),
        infinity=infinity,
        quiet=infinity | 1 << (fraction - 1),
        bias=(126 + least) << _FRACTION,
        normal=(127 + least) << _FRACTION,
        beyond=(129 - least) << _FRACTION,
        denormal=(127 + least + shift) << _FRACTION,
        has_instructions=record.ir == "f16",
    )


def emit_conversion(e: Emitter, op: arith.ExtFOp | arith.TruncFOp) -> None:
    """Emit a conversion between a storage dtype and f32 or f64."""
    x, source, result = e.value(op.input), op.input.type, op.result.type
    b, wanted = e.builder, register_type(result)
    if isinstance(op, arith.ExtFOp):
        single = _extended(e, x, _format_of(source))
        e.set(op.result, single if single.type == wanted else b.fpext(single, wanted))
        return
    single = _odd(b, x) if isinstance(lane_type(source), Float64Type) else x
    e.set(op.result, _rounded(e, single, _format_of(result)))


def bits_of(value: float, kind: Attribute) -> int:
    """The bits of a constant of a storage dtype."""
    assert is_half_type(kind) and isinstance(kind, AnyFloat)
    return int.from_bytes(kind.pack([value]), "little")


def _extended(e: Emitter, x: Value, format: _Format) -> Value:
    """Convert a storage dtype to float32, which is exact."""
    b, single = e.builder, _with_lanes(x, llvm.f32)
    if e.has_half and format.has_instructions:
        return b.fpext(b.bitcast(x, _with_lanes(x, llvm.f16)), single)
    wide = b.zext(x, _with_lanes(x, llvm.i32))
    if format.exponent == _EXPONENT:  # the upper bits of a float32
        return b.bitcast(b.shl(wide, _same(wide, format.shift)), single)
    rest = b.shl(b.and_(wide, _same(wide, format.sign - 1)), _same(wide, format.shift))
    largest = format.infinity << format.shift
    exponent = b.and_(rest, _same(wide, largest))
    normal = b.add(rest, _same(wide, format.bias))
    is_special = b.icmp_unsigned("==", exponent, _same(wide, largest))
    special = b.add(normal, _same(wide, format.bias))
    is_nan = b.icmp_unsigned(">", special, _same(wide, _INFINITY))
    special = b.select(is_nan, b.or_(special, _same(wide, _QUIET)), special)
    moved = b.bitcast(b.add(rest, _same(wide, format.normal)), single)
    denormal = b.bitcast(b.fsub(moved, b.bitcast(_same(wide, format.normal), single)), wide.type)
    is_small = b.icmp_unsigned("==", exponent, _same(wide, 0))
    found = b.select(is_special, special, b.select(is_small, denormal, normal))
    sign = b.shl(b.and_(wide, _same(wide, format.sign)), _same(wide, 32 - format.bits))
    return b.bitcast(b.or_(found, sign), single)


def _rounded(e: Emitter, x: Value, format: _Format) -> Value:
    """Convert float32 to a storage dtype, rounded to nearest even."""
    b, stored, shift = e.builder, _with_lanes(x, llvm.integer(format.bits)), format.shift
    if e.has_half and format.has_instructions:
        return b.bitcast(b.fptrunc(x, _with_lanes(x, llvm.f16)), stored)
    bits = b.bitcast(x, _with_lanes(x, llvm.i32))
    if format.exponent == _EXPONENT:
        return b.trunc(_upper_bits(b, x, bits, shift), stored)
    size = b.and_(bits, _same(bits, 0x7FFFFFFF))
    is_odd = b.and_(b.lshr(size, _same(bits, shift)), _same(bits, 1))
    half = (1 << (shift - 1)) - 1
    normal = b.lshr(b.add(b.add(size, _same(bits, half - format.bias)), is_odd), _same(bits, shift))
    beside = b.fadd(b.bitcast(size, x.type), b.bitcast(_same(bits, format.denormal), x.type))
    denormal = b.sub(b.bitcast(beside, bits.type), _same(bits, format.denormal))
    payload = b.or_(
        b.and_(b.lshr(size, _same(bits, shift)), _same(bits, (1 << (_FRACTION - shift)) - 1)), _same(bits, format.quiet)
    )
    is_nan = b.icmp_unsigned(">", size, _same(bits, _INFINITY))
    special = b.select(is_nan, payload, _same(bits, format.infinity))
    is_small = b.icmp_unsigned("<", size, _same(bits, format.normal))
    is_large = b.icmp_unsigned(">=", size, _same(bits, format.beyond))
    found = b.select(is_large, special, b.select(is_small, denormal, normal))
    sign = b.and_(b.lshr(bits, _same(bits, 32 - format.bits)), _same(bits, format.sign))
    return b.trunc(b.or_(found, sign), stored)


def _upper_bits(b: Builder, x: Value, bits: Value, shift: int) -> Value:
    """Round the bits of a float32 to nearest even by a carry into the bits that remain."""
    upper = b.lshr(bits, _same(bits, shift))
    carried = b.add(b.add(bits, _same(bits, (1 << (shift - 1)) - 1)), b.and_(upper, _same(bits, 1)))
    is_nan = b.fcmp_unordered("uno", x, x)
    return b.select(is_nan, b.or_(upper, _same(bits, _QUIET >> shift)), b.lshr(carried, _same(bits, shift)))


def _odd(b: Builder, x: Value) -> Value:
    """Convert float64 to float32, rounded to odd (last bit set if inexact), so that a second rounding is correct.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers 57 (2008),
    theorem 1.
    """
    near = b.fptrunc(x, _with_lanes(x, llvm.f32))
    again = b.fpext(near, x.type)
    bits = b.bitcast(near, _with_lanes(x, llvm.i32))
    is_odd = b.icmp_unsigned("!=", b.and_(bits, _same(bits, 1)), _same(bits, 0))
    is_exact = b.fcmp_unordered("ueq", again, x)  # nan, too
    size, other = (llvm.intrinsic(b, "fabs", [y]) for y in (again, x))
    step = b.select(b.fcmp_ordered(">", size, other), _same(bits, -1), _same(bits, 1))
    found = b.select(b.or_(is_odd, is_exact), bits, b.add(bits, step))
    return b.bitcast(found, near.type)


def _with_lanes(x: Value, kind: Type) -> Type:
    """A vector type of `kind` with as many lanes as x has; `kind` itself for a scalar."""
    lanes: Any = llvm.count_of(x.type)
    return kind if lanes is None else llvm.vector(kind, lanes)


def _same(x: Value, number: int) -> Value:
    return llvm.constant(x.type, number)
