"""Emit float16 and bfloat16: storage types of two bytes, with conversions to float32 and back.

    %y = arith.extf %x : f16 to f32      →    bitcast i16 to half, fpext            where the CPU has the instructions
                                              shifts, an addition of an exponent    elsewhere

Registers hold the bits as an i16, so that neither calling conventions nor a compiler runtime (`__extendhfsf2`) are
involved. Both methods give the same bits: conversions round to nearest, ties to even, and keep the upper bits of a nan,
which becomes quiet. bfloat16 always uses integer operations: the instructions of x86 treat denormal numbers as zero.
"""

from __future__ import annotations

from typing import Any, Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float64Type, VectorType
from xdsl.ir import Attribute

from aotensor.codegen import llvm
from aotensor.codegen.emit_state import Emitter, register_type
from aotensor.codegen.llvm import Builder, Type, Value

_SIGN: Final = 0x8000
_QUIET: Final = 1 << 22  # of a nan of float32
_INFINITY: Final = 0x7F800000
_NORMAL: Final = 113 << 23  # 2⁻¹⁴, the smallest normal float16
_BEYOND: Final = 143 << 23  # 2¹⁶, above the largest float16
_DENORMAL: Final = 126 << 23  # ½: added to it, the bits of a float16 below 2⁻¹⁴ are the last ones of the float32
_BIAS: Final = 112 << 23


def is_half(kind: Attribute) -> bool:
    """Is a type f16 or bf16, or a vector of these?"""
    return isinstance(_lane(kind), Float16Type | BFloat16Type)


def emit_conversion(e: Emitter, op: arith.ExtFOp | arith.TruncFOp) -> None:
    """Emit a conversion between f16 or bf16 and f32 or f64."""
    x, source, result = e.value(op.input), op.input.type, op.result.type
    b, wanted = e.builder, register_type(result)
    if isinstance(op, arith.ExtFOp):
        single = _extended(e, x) if isinstance(_lane(source), Float16Type) else _extended_brain(b, x)
        e.set(op.result, single if single.type == wanted else b.fpext(single, wanted))
        return
    single = _odd(b, x) if isinstance(_lane(source), Float64Type) else x
    e.set(op.result, _rounded(e, single) if isinstance(_lane(result), Float16Type) else _rounded_brain(b, single))


def bits_of(value: float, kind: Attribute) -> int:
    """The bits of a constant of half type, as an i16."""
    assert isinstance(kind, Float16Type | BFloat16Type)
    return int.from_bytes(kind.pack([value]), "little")


def _lane(kind: Attribute) -> Attribute:
    return kind.element_type if isinstance(kind, VectorType) else kind


def _extended(e: Emitter, x: Value) -> Value:
    """Convert float16 to float32, which is exact."""
    b, single = e.builder, _with_lanes(x, llvm.f32)
    if e.has_half:
        return b.fpext(b.bitcast(x, _with_lanes(x, llvm.f16)), single)
    wide = b.zext(x, _with_lanes(x, llvm.i32))
    rest = b.shl(b.and_(wide, _same(wide, 0x7FFF)), _same(wide, 13))
    exponent = b.and_(rest, _same(wide, 0x1F << 23))
    normal = b.add(rest, _same(wide, _BIAS))
    is_special = b.icmp_unsigned("==", exponent, _same(wide, 0x1F << 23))
    special = b.add(normal, _same(wide, _BIAS))
    is_nan = b.icmp_unsigned(">", special, _same(wide, _INFINITY))
    special = b.select(is_nan, b.or_(special, _same(wide, _QUIET)), special)
    moved = b.bitcast(b.add(rest, _same(wide, _NORMAL)), single)
    denormal = b.bitcast(b.fsub(moved, b.bitcast(_same(wide, _NORMAL), single)), wide.type)
    is_small = b.icmp_unsigned("==", exponent, _same(wide, 0))
    found = b.select(is_special, special, b.select(is_small, denormal, normal))
    sign = b.shl(b.and_(wide, _same(wide, _SIGN)), _same(wide, 16))
    return b.bitcast(b.or_(found, sign), single)


def _rounded(e: Emitter, x: Value) -> Value:
    """Convert float32 to float16, rounded to nearest even."""
    b, half = e.builder, _with_lanes(x, llvm.integer(16))
    if e.has_half:
        return b.bitcast(b.fptrunc(x, _with_lanes(x, llvm.f16)), half)
    bits = b.bitcast(x, _with_lanes(x, llvm.i32))
    size = b.and_(bits, _same(bits, 0x7FFFFFFF))
    is_odd = b.and_(b.lshr(size, _same(bits, 13)), _same(bits, 1))
    normal = b.lshr(b.add(b.add(size, _same(bits, 0xFFF - _BIAS)), is_odd), _same(bits, 13))
    beside = b.fadd(b.bitcast(size, x.type), b.bitcast(_same(bits, _DENORMAL), x.type))
    denormal = b.sub(b.bitcast(beside, bits.type), _same(bits, _DENORMAL))
    payload = b.or_(b.and_(b.lshr(size, _same(bits, 13)), _same(bits, 0x3FF)), _same(bits, 0x7E00))
    is_nan = b.icmp_unsigned(">", size, _same(bits, _INFINITY))
    special = b.select(is_nan, payload, _same(bits, 0x7C00))
    is_small = b.icmp_unsigned("<", size, _same(bits, _NORMAL))
    is_large = b.icmp_unsigned(">=", size, _same(bits, _BEYOND))
    found = b.select(is_large, special, b.select(is_small, denormal, normal))
    sign = b.and_(b.lshr(bits, _same(bits, 16)), _same(bits, _SIGN))
    return b.trunc(b.or_(found, sign), half)


def _extended_brain(b: Builder, x: Value) -> Value:
    """Convert bfloat16 to float32: the value's bits are the upper half."""
    wide = b.zext(x, _with_lanes(x, llvm.i32))
    return b.bitcast(b.shl(wide, _same(wide, 16)), _with_lanes(x, llvm.f32))


def _rounded_brain(b: Builder, x: Value) -> Value:
    """Convert float32 to bfloat16, rounded to nearest even by a carry into the upper half."""
    bits = b.bitcast(x, _with_lanes(x, llvm.i32))
    upper = b.lshr(bits, _same(bits, 16))
    carried = b.add(b.add(bits, _same(bits, 0x7FFF)), b.and_(upper, _same(bits, 1)))
    is_nan = b.fcmp_unordered("uno", x, x)
    found = b.select(is_nan, b.or_(upper, _same(bits, _QUIET >> 16)), b.lshr(carried, _same(bits, 16)))
    return b.trunc(found, _with_lanes(x, llvm.integer(16)))


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
