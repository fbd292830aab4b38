"""The builder of scalar operations: arith and math, selected by dtype.

The same methods serve the bodies of `linalg.generic`, index arithmetic and the polynomial expansions of math functions.
Every method inserts its operation at the builder's insertion point and returns the result.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self

from xdsl.builder import Builder
from xdsl.dialects import arith, func, math, vector
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, VectorType, i1, i64
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from aotensor.core import builders, dtypes
from aotensor.core.types import LARGEST_INT
from aotensor.ir.types import element_type, index
from aotensor.ir.upstream import RemfOp, special_symbol

NO_FAST_MATH: Final = arith.FastMathFlagsAttr("none")
CONTRACT: Final = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
_NOTHING: Final[Mapping[str, Attribute]] = {}
_WRAPS: Final[Mapping[str, Attribute]] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_CONTRACTED: Final[Mapping[str, Attribute]] = {"fastmath": CONTRACT}
EITHER_ZERO: Final = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])

RAW: Final = "raw"
"""The dtype of a `Scalar` whose SSA type says all that is needed: a vector, or an operand that is only moved."""

# math.* operations of one operand, under the names that NumPy users know
_UNARY_MATH: Final[dict[str, type[Operation]]] = {
    "exp": math.ExpOp, "exp2": math.Exp2Op, "expm1": math.ExpM1Op,
    "log": math.LogOp, "log2": math.Log2Op, "log10": math.Log10Op, "log1p": math.Log1pOp,
    "sqrt": math.SqrtOp, "cbrt": math.CbrtOp,
    "sin": math.SinOp, "cos": math.CosOp, "tan": math.TanOp,
    "arcsin": math.AsinOp, "arccos": math.AcosOp, "arctan": math.AtanOp,
    "sinh": math.SinhOp, "cosh": math.CoshOp, "tanh": math.TanhOp,
    "arcsinh": math.AsinhOp, "arccosh": math.AcoshOp, "arctanh": math.AtanhOp,
    "erf": math.ErfOp, "floor": math.FloorOp, "ceil": math.CeilOp, "trunc": math.TruncOp, "rint": math.RoundEvenOp,
}  # fmt: skip
_BINARY_MATH: Final[dict[str, type[Operation]]] = {
    "arctan2": math.Atan2Op, "pow": math.PowFOp, "copysign": math.CopySignOp,
}  # fmt: skip
_FLOAT_PREDICATES: Final = {
    name: {"predicate": IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index(word), i64), "fastmath": NO_FAST_MATH}
    for name, word in {
        "eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "is_nan": "uno",
    }.items()
}  # fmt: skip
_SIGNED_PREDICATES, _UNSIGNED_PREDICATES = (
    {
        name: {"predicate": IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(word), i64)}
        for name, word in {
            "eq": "eq", "ne": "ne", "lt": f"{sign}lt", "le": f"{sign}le", "gt": f"{sign}gt", "ge": f"{sign}ge",
        }.items()
    }
    for sign in "su"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scalar(builders.Scalar):
    """An SSA scalar with its dtype, since MLIR's signless types do not determine it (int8 and uint8 are both i8).

    The active builder emits what operators make. The difference of an extent and itself is the int 0.
    """

    ssa: SSAValue
    dtype: str

    def operate(self, verb: str, *operands: Any) -> Self:
        return _ACTIVE.get().operate(verb, *operands)  # type: ignore[return-value]


_ACTIVE: Final[ContextVar[ScalarBuilder]] = ContextVar("active builder of scalars")


class ScalarBuilder:
    """Emits scalar operations. Operands of one operation have one dtype; `cast` converts.

    fastmath: the flags of floating-point add, sub, mul, div and neg.
    """

    def __init__(self, builder: Builder, fastmath: arith.FastMathFlagsAttr = CONTRACT) -> None:
        self.builder = builder
        self.fastmath = fastmath

    @contextmanager
    def active(self) -> Iterator[Self]:
        """Context manager: operators on scalars emit by this builder."""
        token = _ACTIVE.set(self)
        try:
            yield self
        finally:
            _ACTIVE.reset(token)

    def operate(self, verb: str, *operands: Any) -> Scalar:
        """Emit an operator by the name of its method, or a comparison by its predicate."""
        model = next(x for x in operands if isinstance(x, Scalar))
        scalars = [x if isinstance(x, Scalar) else self.constant_like(x, model) for x in operands]
        if verb in _SIGNED_PREDICATES:
            return self.compare(verb, *scalars)
        result: Scalar = getattr(self, verb)(*scalars)
        return result

    @contextmanager
    def using(self, fastmath: arith.FastMathFlagsAttr) -> Iterator[None]:
        """Context manager: floating-point operations have these flags."""
        before, self.fastmath = self.fastmath, fastmath
        try:
            yield
        finally:
            self.fastmath = before

    def emit(self, op: Operation, dtype: str) -> Scalar:
        """Insert an operation with one result; return it as a scalar of `dtype`."""
        self.builder.insert(op)
        return Scalar(op.results[0], dtype)

    def make(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        dtype: str,
        result: Attribute | None = None,
        properties: Mapping[str, Attribute] = _NOTHING,
    ) -> Scalar:
        """Insert an operation with one result, by default of the type of its first operand, without verification.

        Constructors of xDSL infer types and check operands, which takes four times as long.
        """
        kinds = [operands[0].type if result is None else result]
        return self.emit(kind.create(operands=operands, result_types=kinds, properties=properties), dtype)

    # --- constants -----------------------------------------------------------------------------------------------

    def constant(self, value: bool | int | float, dtype: str) -> Scalar:
        """A constant. Integers wrap into their width; floats may be nan or infinite."""
        attr: Attribute
        attr = FloatAttr(float(value), element_type(dtype)) if dtypes.is_float(dtype) else _integer(int(value), dtype)
        return self.make(arith.ConstantOp, (), dtype, element_type(dtype), {"value": attr})

    def constant_like(self, value: bool | int | float, model: Scalar) -> Scalar:
        """A constant of the dtype of `model`; of a vector, in all lanes."""
        number, kind = self.constant(value, model.dtype), model.ssa.type
        return self.emit(vector.BroadcastOp(number.ssa, kind), model.dtype) if type(kind) is VectorType else number

    def index(self, value: int) -> Scalar:
        return self.constant(value, dtypes.INDEX)

    # --- arithmetic ----------------------------------------------------------------------------------------------

    def add(self, x: Scalar, y: Scalar) -> Scalar:
        """x + y; integers wrap, bools are combined by `or`."""
        return self._arithmetic(arith.AddfOp, arith.OrIOp if x.dtype == "bool" else arith.AddiOp, x, y)

    def sub(self, x: Scalar, y: Scalar) -> Scalar:
        return self._arithmetic(arith.SubfOp, arith.SubiOp, x, y)

    def mul(self, x: Scalar, y: Scalar) -> Scalar:
        """x · y; integers wrap, bools are combined by `and`."""
        return self._arithmetic(arith.MulfOp, arith.AndIOp if x.dtype == "bool" else arith.MuliOp, x, y)

    def div(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y: of floats by IEEE; of integers truncated, and undefined for y = 0, which the caller must exclude."""
        return self._arithmetic(arith.DivfOp, arith.DivSIOp if dtypes.is_signed(x.dtype) else arith.DivUIOp, x, y)

    def unsigned_div(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y of indices, as unsigned numbers."""
        return self._on_ints(arith.DivUIOp, x, y)

    def rem(self, x: Scalar, y: Scalar) -> Scalar:
        """The remainder of the truncating division, with the sign of x; of integers undefined for y = 0."""
        if dtypes.is_float(x.dtype):
            return self.emit(RemfOp(x.ssa, y.ssa, NO_FAST_MATH), x.dtype)
        return self._on_ints(arith.RemSIOp if dtypes.is_signed(x.dtype) else arith.RemUIOp, x, y)

    def floordiv(self, x: Scalar, y: Scalar) -> Scalar:
        """⌊x / y⌋ of indices, for y other than 0."""
        return self._on_ints(arith.FloorDivSIOp, x, y)

    def neg(self, x: Scalar) -> Scalar:
        if dtypes.is_float(x.dtype):
            return self.emit(arith.NegfOp(x.ssa, fastmath=self.fastmath), x.dtype)
        return self.sub(self.constant(0, x.dtype), x)

    def fma(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """x·y + z, fused if the target can: one or two roundings. Not for code that needs exactly one."""
        product = self.make(arith.MulfOp, (x.ssa, y.ssa), x.dtype, properties=_CONTRACTED)
        return self.make(arith.AddfOp, (product.ssa, z.ssa), x.dtype, properties=_CONTRACTED)

    def maximum(self, x: Scalar, y: Scalar) -> Scalar:
        """The larger of x and y; nan if either is nan. Of 0 and -0 either one, if sums may be reassociated."""
        return self._extremum(arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp, x, y)

    def minimum(self, x: Scalar, y: Scalar) -> Scalar:
        """The smaller of x and y; nan if either is nan."""
        return self._extremum(arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp, x, y)

    def abs(self, x: Scalar) -> Scalar:
        if dtypes.is_float(x.dtype):
            return self.emit(math.AbsFOp(x.ssa), x.dtype)
        if not dtypes.is_signed(x.dtype):
            return x
        return self.select(self.compare("lt", x, self.constant(0, x.dtype)), self.neg(x), x)

    def math(self, name: str, x: Scalar) -> Scalar:
        """Emit a function of one float of the math dialect, by its NumPy name: exp, log1p, arcsin, rint, ..."""
        return self.make(_UNARY_MATH[name], (x.ssa,), x.dtype, properties={"fastmath": self.fastmath})

    def math2(self, name: str, x: Scalar, y: Scalar) -> Scalar:
        """Emit a function of two floats of the math dialect: arctan2, pow, copysign."""
        return self.make(_BINARY_MATH[name], (x.ssa, y.ssa), x.dtype, properties={"fastmath": self.fastmath})

    def special(self, name: str, *operands: Scalar, dtype: str | None = None) -> Scalar:
        """Call a scalar function that the math dialect lacks (`sigmoid`, `gammaln`, ...), as `@aot.<name>.<dtype>`.

        The function is declared at its first call; expand-math defines it.
        """
        kind = operands[0].dtype
        symbol = special_symbol(name, kind)
        result = element_type(dtype or kind)
        return self.emit(func.CallOp(symbol, [x.ssa for x in operands], [result]), dtype or kind)

    # --- comparison, logic, choice -------------------------------------------------------------------------------

    def compare(self, predicate: str, x: Scalar, y: Scalar) -> Scalar:
        """Compare x and y, vectors lane by lane: eq ne lt le gt ge. With a nan the result is false, except for ne."""
        result = VectorType(i1, x.ssa.type.get_shape()) if type(x.ssa.type) is VectorType else i1
        if dtypes.is_float(x.dtype):
            return self.make(arith.CmpfOp, (x.ssa, y.ssa), "bool", result, _FLOAT_PREDICATES[predicate])
        table = _SIGNED_PREDICATES if dtypes.is_signed(x.dtype) else _UNSIGNED_PREDICATES
        return self.make(arith.CmpiOp, (x.ssa, y.ssa), "bool", result, table[predicate])

    def below(self, x: Scalar, y: Scalar) -> Scalar:
        """Compare two indices as unsigned numbers: 0 ≤ x < y for y ≥ 0."""
        return self.make(arith.CmpiOp, (x.ssa, y.ssa), "bool", i1, _UNSIGNED_PREDICATES["lt"])

    def select(self, condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where the condition holds, else y."""
        return self.make(arith.SelectOp, (condition.ssa, x.ssa, y.ssa), x.dtype, x.ssa.type)

    def and_(self, x: Scalar, y: Scalar) -> Scalar:
        return self._on_ints(arith.AndIOp, x, y)

    def or_(self, x: Scalar, y: Scalar) -> Scalar:
        return self._on_ints(arith.OrIOp, x, y)

    def xor(self, x: Scalar, y: Scalar) -> Scalar:
        return self._on_ints(arith.XOrIOp, x, y)

    def not_(self, x: Scalar) -> Scalar:
        """The bitwise complement of x; the logical one of a bool."""
        return self.xor(x, self.constant_like(1 if x.dtype == "bool" else -1, x))

    def shift_left(self, x: Scalar, y: Scalar) -> Scalar:
        return self._on_ints(arith.ShLIOp, x, y)

    def shift_right(self, x: Scalar, y: Scalar) -> Scalar:
        """Shift x right by y bits: arithmetic for signed integers, logical for unsigned ones."""
        return self._on_ints(arith.ShRSIOp if dtypes.is_signed(x.dtype) else arith.ShRUIOp, x, y)

    def is_nan(self, x: Scalar) -> Scalar:
        return self.compare("is_nan", x, x)

    def is_inf(self, x: Scalar) -> Scalar:
        return self.compare("eq", self.abs(x), self.constant(pymath.inf, x.dtype))

    # --- conversion ----------------------------------------------------------------------------------------------

    def bitcast(self, x: Scalar, dtype: str) -> Scalar:
        """Reinterpret the bits of x as another dtype of the same width."""
        if element_type(dtype) == x.ssa.type:
            return Scalar(x.ssa, dtype)
        return self.make(arith.BitcastOp, (x.ssa,), dtype, element_type(dtype))

    def cast(self, x: Scalar, dtype: str) -> Scalar:
        """Convert x like `astype`: float to int truncates, saturates at the bounds and maps nan to 0; bool is `x != 0`.

        A cast of uint64 to index saturates too.
        """
        if x.dtype == dtype:
            return x
        if dtypes.is_half(x.dtype) and dtype != dtypes.compute_of(x.dtype):
            return self.cast(self.cast(x, dtypes.compute_of(x.dtype)), dtype)
        if dtype == "bool":
            return self.compare("ne", x, self.constant(0, x.dtype))
        if dtypes.is_half(dtype) and not dtypes.is_float(x.dtype):  # rounded once: float64 holds 32 bits
            return self.cast(self.cast(x, "float32" if dtypes.itemsize(x.dtype) <= 2 else "float64"), dtype)
        if dtypes.is_float(x.dtype):
            return self._float_to_float(x, dtype) if dtypes.is_float(dtype) else self._float_to_int(x, dtype)
        if dtypes.is_float(dtype):
            return self._int_to_float(x, dtype)
        return self._int_to_int(x, dtype)

    def as_index(self, x: SSAValue) -> Scalar:
        """A signed integer of any width as an index."""
        return self.make(arith.IndexCastOp, (x,), dtypes.INDEX, index)

    def _float_to_float(self, x: Scalar, dtype: str) -> Scalar:
        op = arith.ExtFOp if dtypes.itemsize(dtype) > dtypes.itemsize(x.dtype) else arith.TruncFOp
        return self.make(op, (x.ssa,), dtype, element_type(dtype))

    def _int_to_float(self, x: Scalar, dtype: str) -> Scalar:
        if x.dtype == dtypes.INDEX:
            x = self._int_to_int(x, "int64")
        op = arith.SIToFPOp if dtypes.is_signed(x.dtype) else arith.UIToFPOp
        return self.make(op, (x.ssa,), dtype, element_type(dtype))

    def _float_to_int(self, x: Scalar, dtype: str) -> Scalar:
        if dtype == dtypes.INDEX:
            return self._int_to_int(self._float_to_int(x, "int64"), dtypes.INDEX)
        bits, signed = 8 * dtypes.itemsize(dtype), dtypes.is_signed(dtype)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        # 2**bits is exact in every float, the largest integer may not be: compare with the bound that is exact
        above = self.compare("ge", x, self.constant(float(high + 1), x.dtype))
        below = self.compare("le", x, self.constant(float(low), x.dtype))
        safe = self.select(self.or_(self.or_(above, below), self.is_nan(x)), self.constant(0.0, x.dtype), x)
        op = arith.FPToSIOp if signed else arith.FPToUIOp
        value = self.make(op, (safe.ssa,), dtype, element_type(dtype))
        value = self.select(above, self.constant(high, dtype), value)
        return self.select(below, self.constant(low, dtype), value)

    def _int_to_int(self, x: Scalar, dtype: str) -> Scalar:
        if dtypes.INDEX in (x.dtype, dtype):
            origin = x.ssa.owner
            if dtype == dtypes.INDEX and isinstance(origin, arith.IndexCastOp) and origin.input.type == index:
                return Scalar(origin.input, dtype)  # a round trip of casts: the extent stays the same SSA value
            if x.dtype == "uint64":  # numbers above every extent stay above them
                x = self.minimum(x, self.constant(LARGEST_INT, "uint64"))
            if x.dtype != dtypes.INDEX:
                x = self._int_to_int(x, "int64")
                return self.make(arith.IndexCastOp, (x.ssa,), dtype, element_type(dtype))
            return self._int_to_int(self.make(arith.IndexCastOp, (x.ssa,), "int64", element_type("int64")), dtype)
        old, new = dtypes.itemsize(x.dtype), dtypes.itemsize(dtype)
        if x.dtype == "bool":
            return self.make(arith.ExtUIOp, (x.ssa,), dtype, element_type(dtype))
        if old == new:
            return Scalar(x.ssa, dtype)
        if new < old:
            return self.make(arith.TruncIOp, (x.ssa,), dtype, element_type(dtype))
        widen = arith.ExtSIOp if dtypes.is_signed(x.dtype) else arith.ExtUIOp
        return self.make(widen, (x.ssa,), dtype, element_type(dtype))

    # --- internals -----------------------------------------------------------------------------------------------

    def _arithmetic(self, on_floats: type[Operation], on_ints: type[Operation], x: Scalar, y: Scalar) -> Scalar:
        assert x.dtype == y.dtype, (x.dtype, y.dtype)
        if _is_on_floats(x):
            return self.make(on_floats, (x.ssa, y.ssa), x.dtype, properties={"fastmath": self.fastmath})
        return self._on_ints(on_ints, x, y)

    def _on_ints(self, kind: type[Operation], x: Scalar, y: Scalar) -> Scalar:
        return self.make(kind, (x.ssa, y.ssa), x.dtype, properties=integer_properties(kind))

    def _extremum(
        self,
        on_floats: type[Operation],
        on_signed: type[Operation],
        on_unsigned: type[Operation],
        x: Scalar,
        y: Scalar,
    ) -> Scalar:
        if dtypes.is_float(x.dtype):
            is_free = FastMathFlag.REASSOC in self.fastmath.data  # ordering -0 and 0 costs three operations on x86
            properties = {"fastmath": EITHER_ZERO if is_free else NO_FAST_MATH}
            return self.make(on_floats, (x.ssa, y.ssa), x.dtype, properties=properties)
        return self._on_ints(on_signed if dtypes.is_signed(x.dtype) else on_unsigned, x, y)


def _is_on_floats(x: Scalar) -> bool:
    """Is x a float, or a vector of floats?"""
    if x.dtype != RAW:
        return dtypes.is_float(x.dtype)
    return isinstance(x.ssa.type.element_type if isinstance(x.ssa.type, VectorType) else x.ssa.type, AnyFloat)


@lru_cache(4096)
def _integer(value: int, dtype: str) -> Attribute:
    """An integer literal, wrapped into the width of its dtype."""
    bits = 8 * dtypes.itemsize(dtype)
    number = value if dtype == "bool" else (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return IntegerAttr(number, element_type(dtype))


def integer_properties(kind: type[Operation]) -> Mapping[str, Attribute]:
    """The properties of an operation on two integers whose result may wrap."""
    return _WRAPS if kind in (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp) else _NOTHING
