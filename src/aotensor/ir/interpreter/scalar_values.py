"""Semantics of scalar operations, on whole NumPy arrays at once.

MLIR integers are signless. Here they are NumPy's signed ones, and unsigned operations convert explicitly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

import aotensor.ops.elementwise.special  # noqa: F401  (puts sigmoid, softplus, ... into the table)
from aotensor.core.types import Array, cast_array
from aotensor.errors import InternalError
from aotensor.ir.nest.chunks import ChunkSizeOp, ChunksOp, chunk_number
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.ops.elementwise.base import ELEMENTWISE, MAKERS, elementwise_named

Rule: TypeAlias = "Callable[..., Any]"


def numpy_dtype(element: Attribute) -> np.dtype[Any]:
    """The NumPy dtype that holds an element type: i1 is bool, all other integers are signed.

    Raises: InternalError for an element type that our IR does not use.
    """
    if isinstance(element, IndexType):
        return np.dtype(np.int64)
    if isinstance(element, IntegerType):
        return np.dtype(np.bool_) if element.width.data == 1 else np.dtype(f"i{element.width.data // 8}")
    if element in DTYPE_OF_FLOAT:
        return np.dtype(DTYPE_OF_FLOAT[element])
    raise InternalError(f"interpret: no array holds elements of type {element}")


def unset(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An uninitialized array with recognizable values: nan, the largest integer, true."""
    value = True if dtype.kind == "b" else np.iinfo(dtype).max if dtype.kind == "i" else np.nan
    return np.full(shape, value, dtype)


def compute(op: Operation, operands: Sequence[Array]) -> Array:
    """The result of a scalar operation on arrays that broadcast.

    Raises: InternalError for an operation without a rule, or a call of an unknown function.
    """
    kind = numpy_dtype(op.results[0].type)
    match op:
        case arith.ConstantOp(value=FloatAttr() | IntegerAttr() as literal):
            return np.asarray(literal.value.data).astype(kind)
        case arith.CmpiOp() | arith.CmpfOp():
            result = _compare(op, *operands)
        case arith.FPToUIOp():
            result = operands[0].astype(f"u{kind.itemsize}")
        case arith.BitcastOp():
            result = operands[0].view(kind)
        case ChunkSizeOp() | ChunksOp():
            result = np.asarray(chunk_number(op, [int(x) for x in operands]))
        case func.CallOp():
            result = _reference(op.callee.root_reference.data)(*operands)
        case _ if type(op) in _RULES:
            result = _RULES[type(op)](*operands)
        case _:
            raise InternalError(f"interpret: no rule for {op.name}")
    return _converted(np.asarray(result), kind)


def _converted(x: Array, kind: np.dtype[Any]) -> Array:
    """Convert x to `kind`. Integers of the same width keep their bits; a conversion to bool keeps the lowest bit."""
    if x.dtype == kind:
        return x
    if kind == np.bool_:
        return (x & 1).astype(kind)
    is_same_width = x.dtype.kind == "u" and kind.kind == "i" and x.dtype.itemsize == kind.itemsize
    return x.view(kind) if is_same_width else cast_array(x, kind)


def _reference(symbol: str) -> Rule:
    """The NumPy reference of a function such as `@aot.sigmoid.f64`, or `@aot.gammainc_1.f64`, a derivative."""
    name = symbol.removeprefix("aot.").rpartition(".")[0]
    base, *orders = re.sub(r"(_[0-9]+)+$", lambda found: found[0].replace("_", "."), name).split(".")
    if symbol.startswith("aot.") and (plain := elementwise_named(name)) is not None:
        return plain.row.reference
    if symbol.startswith("aot.") and base in MAKERS:
        return MAKERS[base](*map(int, orders)).row.reference
    raise InternalError(f"interpret: there is no scalar function @{symbol}")


def _unsigned(x: Array) -> Array:
    """The same bits as unsigned integers."""
    x = np.asarray(x)
    return x if x.dtype.kind in "bu" else x.view(f"u{x.dtype.itemsize}")


def _on_unsigned(rule: Rule) -> Rule:
    return lambda x, y: rule(_unsigned(x), _unsigned(y))


def _divide(x: Array, y: Array) -> Any:
    """The quotient x / y, rounded towards zero."""
    floor: Array = np.floor_divide(x, y)
    return floor + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0)))


_SIGNED: Final[dict[int, Rule]] = dict(
    enumerate((np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal))
)
_COMPARE_INTEGERS: Final[dict[int, Rule]] = _SIGNED | {
    number + 4: _on_unsigned(rule) for number, rule in _SIGNED.items() if number >= 2
}


def _is_unordered(x: Array, y: Array) -> Any:
    return np.isnan(x) | np.isnan(y)


def _unless_unordered(rule: Rule) -> Rule:
    return lambda x, y: rule(x, y) & ~_is_unordered(x, y)


def _or_unordered(rule: Rule) -> Rule:
    return lambda x, y: rule(x, y) | _is_unordered(x, y)


_ORDER: Final = (np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal)
_COMPARE_FLOATS: Final[dict[int, Rule]] = {
    0: lambda x, y: np.zeros_like(_is_unordered(x, y)),
    **{number + 1: _unless_unordered(rule) for number, rule in enumerate(_ORDER)},
    7: lambda x, y: ~_is_unordered(x, y),
    **{number + 8: _or_unordered(rule) for number, rule in enumerate(_ORDER)},
    14: _is_unordered,
    15: lambda x, y: np.ones_like(_is_unordered(x, y)),
}


def _compare(op: arith.CmpiOp | arith.CmpfOp, x: Array, y: Array) -> Any:
    table = _COMPARE_FLOATS if isinstance(op, arith.CmpfOp) else _COMPARE_INTEGERS
    return table[op.predicate.value.data](x, y)


def _same(x: Array) -> Array:
    """Return x: the rule of conversions that only change the dtype, which `compute` does."""
    return x


def _sign_extended(x: Array) -> Array:
    return -x.astype(np.int8) if x.dtype == np.bool_ else x


_RULES: Final[dict[type[Operation], Rule]] = {
    arith.AddiOp: np.add, arith.SubiOp: np.subtract, arith.MuliOp: np.multiply,
    arith.DivSIOp: _divide, arith.DivUIOp: _on_unsigned(np.floor_divide),
    arith.RemSIOp: np.fmod, arith.RemUIOp: _on_unsigned(np.remainder),
    arith.FloorDivSIOp: np.floor_divide, arith.CeilDivSIOp: lambda x, y: -np.floor_divide(-x, y),
    arith.MinSIOp: np.minimum, arith.MaxSIOp: np.maximum,
    arith.MinUIOp: _on_unsigned(np.minimum), arith.MaxUIOp: _on_unsigned(np.maximum),
    arith.AndIOp: np.bitwise_and, arith.OrIOp: np.bitwise_or, arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift, arith.ShRSIOp: np.right_shift, arith.ShRUIOp: _on_unsigned(np.right_shift),
    arith.SelectOp: np.where,
    arith.AddfOp: np.add, arith.SubfOp: np.subtract, arith.MulfOp: np.multiply, arith.DivfOp: np.divide,
    arith.NegfOp: np.negative, arith.MaximumfOp: np.maximum, arith.MinimumfOp: np.minimum,
    arith.MaxnumfOp: np.fmax, arith.MinnumfOp: np.fmin,
    arith.ExtFOp: _same, arith.TruncFOp: _same, arith.SIToFPOp: _same, arith.UIToFPOp: _unsigned,
    arith.FPToSIOp: _same, arith.ExtSIOp: _sign_extended, arith.ExtUIOp: _unsigned, arith.TruncIOp: _same,
    arith.IndexCastOp: _same,
    math.AbsFOp: np.abs, math.FloorOp: np.floor, math.CeilOp: np.ceil, math.TruncOp: np.trunc,
    math.RoundEvenOp: np.rint, math.SqrtOp: np.sqrt, math.CbrtOp: np.cbrt,
    math.ExpOp: np.exp, math.Exp2Op: np.exp2, math.ExpM1Op: np.expm1,
    math.LogOp: np.log, math.Log2Op: np.log2, math.Log10Op: np.log10, math.Log1pOp: np.log1p,
    math.SinOp: np.sin, math.CosOp: np.cos, math.TanOp: np.tan,
    math.AsinOp: np.arcsin, math.AcosOp: np.arccos, math.AtanOp: np.arctan, math.Atan2Op: np.arctan2,
    math.SinhOp: np.sinh, math.CoshOp: np.cosh, math.TanhOp: np.tanh,
    math.AsinhOp: np.arcsinh, math.AcoshOp: np.arccosh, math.AtanhOp: np.arctanh,
    math.ErfOp: lambda x: ELEMENTWISE["erf"].row.reference(x),
    math.PowFOp: np.power, math.CopySignOp: np.copysign, math.FmaOp: lambda x, y, z: x * y + z,
}  # fmt: skip
