"""Emit arith and math operations, on scalars and vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, MemRefType, VectorType
from xdsl.ir import Operation

from aotensor.codegen import llvm
from aotensor.codegen.emit_half import bits_of, emit_conversion
from aotensor.codegen.emit_state import Emitter, Handler, fast_math, register_type
from aotensor.codegen.llvm import Value
from aotensor.codegen.targets.systems import OTHER_32, system_of
from aotensor.errors import InternalError
from aotensor.ir.types import is_half_type
from aotensor.ir.upstream import RemfOp

_FLOAT_BINARY: Final[dict[type[Operation], str]] = {
    arith.AddfOp: "fadd", arith.SubfOp: "fsub", arith.MulfOp: "fmul", arith.DivfOp: "fdiv",
    RemfOp: "frem",
}  # fmt: skip
_WRAPPING_BINARY: Final[dict[type[Operation], str]] = {
    arith.AddiOp: "add", arith.SubiOp: "sub", arith.MuliOp: "mul", arith.ShLIOp: "shl",
}  # fmt: skip
_INT_BINARY: Final[dict[type[Operation], str]] = {
    arith.DivSIOp: "sdiv", arith.DivUIOp: "udiv", arith.RemSIOp: "srem", arith.RemUIOp: "urem",
    arith.AndIOp: "and_", arith.OrIOp: "or_", arith.XOrIOp: "xor", arith.ShRSIOp: "ashr", arith.ShRUIOp: "lshr",
}  # fmt: skip
_INTRINSICS: Final[dict[type[Operation], str]] = {
    arith.MaximumfOp: "maximum", arith.MinimumfOp: "minimum", arith.MaxnumfOp: "maxnum", arith.MinnumfOp: "minnum",
    arith.MaxSIOp: "smax", arith.MinSIOp: "smin", arith.MaxUIOp: "umax", arith.MinUIOp: "umin",
    math.SqrtOp: "sqrt", math.FloorOp: "floor", math.CeilOp: "ceil", math.TruncOp: "trunc",
    math.RoundEvenOp: "roundeven", math.AbsFOp: "fabs", math.CopySignOp: "copysign", math.FmaOp: "fma",
    math.CtPopOp: "ctpop",
}  # fmt: skip
_FLAGGED_INTRINSICS: Final[dict[type[Operation], str]] = {
    math.AbsIOp: "abs", math.CountLeadingZerosOp: "ctlz", math.CountTrailingZerosOp: "cttz",
}  # fmt: skip
_CASTS: Final[dict[type[Operation], str]] = {
    arith.ExtFOp: "fpext", arith.TruncFOp: "fptrunc", arith.ExtSIOp: "sext", arith.ExtUIOp: "zext",
    arith.TruncIOp: "trunc", arith.SIToFPOp: "sitofp", arith.UIToFPOp: "uitofp", arith.FPToSIOp: "fptosi",
    arith.FPToUIOp: "fptoui", arith.BitcastOp: "bitcast",
}  # fmt: skip
_SYMBOLS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def _constant(e: Emitter, op: arith.ConstantOp) -> None:
    kind = register_type(op.result.type)
    match op.value:
        case FloatAttr() if is_half_type(op.result.type):
            e.set(op.result, llvm.constant(kind, bits_of(op.value.value.data, op.result.type)))
        case IntegerAttr() | FloatAttr():
            e.set(op.result, llvm.constant(kind, op.value.value.data))
        case DenseIntOrFPElementsAttr() if isinstance(op.result.type, VectorType):
            e.set(op.result, llvm.constant(kind, op.value.get_values()))
        case _:
            raise InternalError(f"emit: a constant of type {op.result.type} cannot occur in loop IR")


def _float_binary(e: Emitter, op: Any) -> None:
    build = getattr(e.builder, _FLOAT_BINARY[type(op)])
    e.set(op.result, build(e.value(op.lhs), e.value(op.rhs), flags=fast_math(op.fastmath)))


def _negf(e: Emitter, op: arith.NegfOp) -> None:
    e.set(op.result, e.builder.fneg(e.value(op.operand), flags=fast_math(op.fastmath)))


def _wrapping_binary(e: Emitter, op: Any) -> None:
    overflow = {flag.value for flag in op.overflow_flags.data} if op.overflow_flags is not None else set()
    build = getattr(e.builder, _WRAPPING_BINARY[type(op)])
    e.set(op.result, build(e.value(op.lhs), e.value(op.rhs), flags=tuple(sorted(overflow))))


def _int_binary(e: Emitter, op: Any) -> None:
    e.set(op.result, getattr(e.builder, _INT_BINARY[type(op)])(e.value(op.lhs), e.value(op.rhs)))


def _floordivsi(e: Emitter, op: arith.FloorDivSIOp) -> None:
    """Emit ⌊x / y⌋: the truncated quotient, one less if there is a remainder and the signs differ."""
    x, y = e.value(op.lhs), e.value(op.rhs)
    quotient, inexact, negative = _divide(e, x, y)
    below = e.builder.and_(inexact, negative)
    e.set(op.result, e.builder.add(quotient, e.builder.sext(below, quotient.type)))


def _ceildivsi(e: Emitter, op: arith.CeilDivSIOp) -> None:
    """Emit ⌈x / y⌉: the truncated quotient, one more if there is a remainder and the signs agree."""
    x, y = e.value(op.lhs), e.value(op.rhs)
    quotient, inexact, negative = _divide(e, x, y)
    above = e.builder.and_(inexact, e.builder.not_(negative))
    e.set(op.result, e.builder.add(quotient, e.builder.zext(above, quotient.type)))


def _divide(e: Emitter, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """(truncated quotient x / y, whether there is a remainder, whether the signs of x and y differ)."""
    zero = llvm.constant(x.type, 0)
    inexact = e.builder.icmp_signed("!=", e.builder.srem(x, y), zero)
    negative = e.builder.icmp_signed("<", e.builder.xor(x, y), zero)
    return e.builder.sdiv(x, y), inexact, negative


def _ceildivui(e: Emitter, op: arith.CeilDivUIOp) -> None:
    x, y = e.value(op.lhs), e.value(op.rhs)
    inexact = e.builder.icmp_unsigned("!=", e.builder.urem(x, y), llvm.constant(x.type, 0))
    e.set(op.result, e.builder.add(e.builder.udiv(x, y), e.builder.zext(inexact, x.type)))


def _extended_product(e: Emitter, op: arith.MulUIExtendedOp | arith.MulSIExtendedOp) -> None:
    """Emit both halves of a product of two n-bit integers."""
    lanes, bits = llvm.count_of(e.value(op.lhs).type), llvm.element_of(e.value(op.lhs).type).width
    wide = llvm.integer(2 * bits) if lanes is None else llvm.vector(llvm.integer(2 * bits), lanes)
    widen = e.builder.sext if isinstance(op, arith.MulSIExtendedOp) else e.builder.zext
    product = e.builder.mul(widen(e.value(op.lhs), wide), widen(e.value(op.rhs), wide))
    narrow = e.value(op.lhs).type
    e.set(op.results[0], e.builder.trunc(product, narrow))
    e.set(op.results[1], e.builder.trunc(e.builder.lshr(product, llvm.constant(wide, bits)), narrow))


def _extended_sum(e: Emitter, op: arith.AddUIExtendedOp) -> None:
    """Emit x + y modulo 2ⁿ, and the carry."""
    total = e.builder.add(e.value(op.lhs), e.value(op.rhs))
    e.set(op.results[0], total)
    e.set(op.results[1], e.builder.icmp_unsigned("<", total, e.value(op.lhs)))


def _intrinsic(e: Emitter, op: Operation) -> None:
    flags = fast_math(op.properties["fastmath"]) if "fastmath" in op.properties else ()  # type: ignore[arg-type]
    operands = [e.value(x) for x in op.operands]
    name = _INTRINSICS[type(op)]
    if name in _LARGER_OR_SMALLER and system_of(e.module.triple) is OTHER_32:
        e.set(op.results[0], _larger_or_smaller(e, name, operands[0], operands[1]))
    else:
        e.set(op.results[0], llvm.intrinsic(e.builder, name, operands, flags=flags))


_LARGER_OR_SMALLER: Final = {"maximum": (">", "and_"), "minimum": ("<", "or_")}


def _larger_or_smaller(e: Emitter, name: str, x: Value, y: Value) -> Value:
    """Emit maximum or minimum without LLVM's intrinsics.

    LLVM 20 fails on them for ARM processors with float32 arithmetic only, and for those without floating point calls
    functions that C libraries do not have yet."""
    comparison, join = _LARGER_OR_SMALLER[name]
    b = e.builder
    chosen = b.select(b.fcmp_ordered(comparison, x, y), x, y)
    word = llvm.i64 if x.type == llvm.f64 else llvm.i32
    bits = getattr(b, join)(b.bitcast(x, word), b.bitcast(y, word))  # of 0 and -0
    chosen = b.select(b.fcmp_ordered("==", x, y), b.bitcast(bits, x.type), chosen)
    return b.select(b.fcmp_unordered("uno", x, y), b.fadd(x, y), chosen)


def _flagged_intrinsic(e: Emitter, op: Operation) -> None:
    """Emit an intrinsic with a flag for undefined special cases; here all cases are defined."""
    x = e.value(op.operands[0])
    name = _FLAGGED_INTRINSICS[type(op)]
    e.set(op.results[0], llvm.intrinsic(e.builder, name, [x, llvm.constant(llvm.i1, 0)], overloads=[x.type]))


def _unexpanded(e: Emitter, op: Operation) -> None:
    raise InternalError(
        f"emit: {op.name} has no LLVM intrinsic and should have been expanded", lines=[f"in function {e.function.name}"]
    )


def _cast(e: Emitter, op: Operation) -> None:
    if isinstance(op, arith.ExtFOp | arith.TruncFOp) and any(map(is_half_type, (op.input.type, op.result.type))):
        emit_conversion(e, op)
        return
    build = getattr(e.builder, _CASTS[type(op)])
    e.set(op.results[0], build(e.value(op.operands[0]), register_type(op.results[0].type)))


def _index_cast(e: Emitter, op: arith.IndexCastOp) -> None:
    """Convert between index, which is i64, and integers: sign-extend or truncate."""
    value, kind = e.value(op.input), register_type(op.result.type)
    old, new = llvm.element_of(value.type).width, llvm.element_of(kind).width
    if llvm.is_constant(value):
        e.set(op.result, llvm.constant(kind, value.constant))
    elif new < old:
        e.set(op.result, e.builder.trunc(value, kind))
    else:
        e.set(op.result, e.builder.sext(value, kind) if new > old else value)


def _cmpi(e: Emitter, op: arith.CmpiOp) -> None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    compare = e.builder.icmp_unsigned if predicate.startswith("u") else e.builder.icmp_signed
    e.set(op.result, compare(_SYMBOLS[predicate[-2:]], e.value(op.lhs), e.value(op.rhs)))


def _cmpf(e: Emitter, op: arith.CmpfOp) -> None:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    operands = e.value(op.lhs), e.value(op.rhs)
    e.set(op.result, e.builder.fcmp_ordered(predicate, *operands, flags=list(fast_math(op.fastmath))))


def _select(e: Emitter, op: arith.SelectOp) -> None:
    condition = e.value(op.cond)
    if isinstance(op.result.type, MemRefType):
        pairs = zip(e.flatten([op.lhs]), e.flatten([op.rhs]), strict=True)
        e.bind([op.result], [e.builder.select(condition, x, y) for x, y in pairs])
    else:
        e.set(op.result, e.builder.select(condition, e.value(op.lhs), e.value(op.rhs)))


HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    **dict.fromkeys(math.Math.operations, _unexpanded),
    **dict.fromkeys(_FLOAT_BINARY, _float_binary),
    **dict.fromkeys(_WRAPPING_BINARY, _wrapping_binary),
    **dict.fromkeys(_INT_BINARY, _int_binary),
    **dict.fromkeys(_INTRINSICS, _intrinsic),
    **dict.fromkeys(_FLAGGED_INTRINSICS, _flagged_intrinsic),
    **dict.fromkeys(_CASTS, _cast),
    arith.ConstantOp: _constant,
    arith.NegfOp: _negf,
    arith.FloorDivSIOp: _floordivsi,
    arith.CeilDivSIOp: _ceildivsi,
    arith.CeilDivUIOp: _ceildivui,
    arith.MulUIExtendedOp: _extended_product,
    arith.MulSIExtendedOp: _extended_product,
    arith.AddUIExtendedOp: _extended_sum,
    arith.IndexCastOp: _index_cast,
    arith.CmpiOp: _cmpi,
    arith.CmpfOp: _cmpf,
    arith.SelectOp: _select,
}
