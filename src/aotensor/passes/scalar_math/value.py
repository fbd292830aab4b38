"""Scalars with operators: the notation of the math library.

A `Value` is an SSA scalar together with the builder that emits it, so that formulas are written with operators. Python
numbers combined with a Value become constants of its dtype. All arithmetic is plain IEEE, except `fma`, which may round
once or twice.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar, ScalarBuilder

Number: TypeAlias = "Value | float"


@dataclass(frozen=True, slots=True)
class Format:
    """An IEEE binary format: the integer dtype of the same width, its fields and derived constants."""

    unsigned: str
    fraction_bits: int
    exponent_bits: int
    bias: int
    smallest_normal: float
    tiny: float  # |x| below it: 1 + x rounds to 1, and x + x²/2 to x

    @property
    def round_shift(self) -> float:
        """1.5·2**fraction_bits: adding it rounds to an integer, whose two's complement fills the low bits."""
        return 1.5 * 2.0**self.fraction_bits

    @property
    def one_bits(self) -> int:
        return self.bias << self.fraction_bits

    @property
    def fraction_mask(self) -> int:
        return (1 << self.fraction_bits) - 1

    def pattern(self, number: float) -> int:
        """The bits of a number in this format."""
        wide = self.unsigned == "uint64"
        return int.from_bytes(struct.pack("<d" if wide else "<f", number), "little")


FORMATS: Final = {
    "float32": Format("uint32", 23, 8, 127, 2.0**-126, 2.0**-26),
    "float64": Format("uint64", 52, 11, 1023, 2.0**-1022, 2.0**-55),
}


class FormulaBuilder(ScalarBuilder):
    """Builds plain IEEE operations for the body of one function; equal constants are emitted once.

    Code built `inside` a block of a branch or a loop may use all values defined before it.

    has_tables: does the machine have `Value.sixteenth_power` and `Value.scaled` (`passes/target.py`)?
    """

    def __init__(self, builder: Builder, has_tables: bool = False) -> None:
        super().__init__(builder, NO_FAST_MATH)
        self.has_tables = has_tables
        self._constants: dict[tuple[str, bytes | int], Scalar] = {}
        self._outermost: Block | None = None

    def constant(self, value: bool | int | float, dtype: str) -> Scalar:
        key = (dtype, struct.pack("<d", value) if isinstance(value, float) else int(value))
        if key not in self._constants:
            if self._outermost is None:
                self._constants[key] = super().constant(value, dtype)
            else:  # at the start of the function, so that it dominates every block
                here, self.builder = self.builder, Builder(InsertPoint.at_start(self._outermost))
                self._constants[key] = super().constant(value, dtype)
                self.builder = here
        return self._constants[key]

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Context manager: build operations at the end of a block that is nested in the current one."""
        here, outermost = self.builder, self._outermost
        if outermost is None:
            self._outermost = here.insertion_point.block
        self.builder = Builder(InsertPoint.at_end(block))
        yield
        self.builder, self._outermost = here, outermost


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A scalar in a formula, with operators that emit operations."""

    builder: FormulaBuilder
    scalar: Scalar

    @property
    def dtype(self) -> str:
        return self.scalar.dtype

    @property
    def format(self) -> Format:
        return FORMATS[self.dtype]

    @property
    def is_double(self) -> bool:
        return self.dtype == "float64"

    def like(self, number: Number) -> Value:
        """A number as a Value of this dtype."""
        if isinstance(number, Value):
            return number
        return Value(self.builder, self.builder.constant(number, self.dtype))

    # --- arithmetic; on integers it wraps -------------------------------------------------------------------------

    def __add__(self, other: Number) -> Value:
        if not isinstance(other, Value | float | int):
            return NotImplemented  # Jet's reflected operator is used
        return Value(self.builder, self.builder.add(self.scalar, self.like(other).scalar))

    def __radd__(self, other: float) -> Value:
        return self.like(other) + self

    def __sub__(self, other: Number) -> Value:
        if not isinstance(other, Value | float | int):
            return NotImplemented  # Jet's reflected operator is used
        return Value(self.builder, self.builder.sub(self.scalar, self.like(other).scalar))

    def __rsub__(self, other: float) -> Value:
        return self.like(other) - self

    def __mul__(self, other: Number) -> Value:
        if not isinstance(other, Value | float | int):
            return NotImplemented  # Jet's reflected operator is used
        return Value(self.builder, self.builder.mul(self.scalar, self.like(other).scalar))

    def __rmul__(self, other: float) -> Value:
        return self.like(other) * self

    def __truediv__(self, other: Number) -> Value:
        if not isinstance(other, Value | float | int):
            return NotImplemented  # Jet's reflected operator is used
        return Value(self.builder, self.builder.div(self.scalar, self.like(other).scalar))

    def __rtruediv__(self, other: float) -> Value:
        return self.like(other) / self

    def __neg__(self) -> Value:
        return Value(self.builder, self.builder.neg(self.scalar))

    def __abs__(self) -> Value:
        return Value(self.builder, self.builder.abs(self.scalar))

    # --- bits -----------------------------------------------------------------------------------------------------

    def __and__(self, other: Number) -> Value:
        return Value(self.builder, self.builder.and_(self.scalar, self.like(other).scalar))

    def __or__(self, other: Number) -> Value:
        return Value(self.builder, self.builder.or_(self.scalar, self.like(other).scalar))

    def __xor__(self, other: Number) -> Value:
        return Value(self.builder, self.builder.xor(self.scalar, self.like(other).scalar))

    def __invert__(self) -> Value:
        return Value(self.builder, self.builder.not_(self.scalar))

    def __lshift__(self, other: Number) -> Value:
        return Value(self.builder, self.builder.shift_left(self.scalar, self.like(other).scalar))

    def __rshift__(self, other: Number) -> Value:
        """Shift right: arithmetic for signed integers, logical for unsigned ones."""
        return Value(self.builder, self.builder.shift_right(self.scalar, self.like(other).scalar))

    def bitcast(self, dtype: str) -> Value:
        return Value(self.builder, self.builder.bitcast(self.scalar, dtype))

    def bits(self) -> Value:
        """The bit pattern of a float as an unsigned integer."""
        return self.bitcast(self.format.unsigned)

    def cast(self, dtype: str) -> Value:
        return Value(self.builder, self.builder.cast(self.scalar, dtype))

    # --- comparison: false for nan, except `ne` --------------------------------------------------------------------

    def __lt__(self, other: Number) -> Value:
        return self._compare("lt", other)

    def __le__(self, other: Number) -> Value:
        return self._compare("le", other)

    def __gt__(self, other: Number) -> Value:
        return self._compare("gt", other)

    def __ge__(self, other: Number) -> Value:
        return self._compare("ge", other)

    def eq(self, other: Number) -> Value:
        return self._compare("eq", other)

    def ne(self, other: Number) -> Value:
        return self._compare("ne", other)

    def _compare(self, predicate: str, other: Number) -> Value:
        return Value(self.builder, self.builder.compare(predicate, self.scalar, self.like(other).scalar))

    def truncated(self) -> Value:
        """x truncated to at most 26 significant bits (float32: 12): products of two such numbers are exact."""
        form = self.format
        dropped = form.fraction_bits // 2 + 1
        return (self.bits() & ~((1 << dropped) - 1)).bitcast(self.dtype)

    def call(self, name: str, *others: Number) -> Value:
        """Call the scalar function of that name with this and further operands, without inlining it."""
        return Value(self.builder, self.builder.special(name, self.scalar, *(self.like(x).scalar for x in others)))

    # --- functions that some machines have --------------------------------------------------------------------------

    @property
    def has_tables(self) -> bool:
        """Does the machine have `sixteenth_power` and `scaled` for this dtype?"""
        return self.builder.has_tables and self.is_double

    def sixteenth_power(self) -> Value:
        """2**(k/16) for the k in the low four bits of this pattern, correctly rounded."""
        return Value(self.builder, self.builder.special("sixteenth_power", self.scalar, dtype="float64"))

    def rest_of_sixteenth_power(self) -> Value:
        """2**(k/16) minus its correctly rounded value, see `sixteenth_power`."""
        return Value(self.builder, self.builder.special("rest_of_sixteenth_power", self.scalar, dtype="float64"))

    def scaled(self, n: Value) -> Value:
        """x·2**⌊n⌋ for any n, rounded once."""
        return Value(self.builder, self.builder.special("scaled", self.scalar, n.scalar))

    # --- functions that LLVM has ------------------------------------------------------------------------------------

    def sqrt(self) -> Value:
        return Value(self.builder, self.builder.math("sqrt", self.scalar))

    def with_sign_of(self, other: Value) -> Value:
        return Value(self.builder, self.builder.math2("copysign", self.scalar, other.scalar))


def where(condition: Value, x: Number, y: Number) -> Value:
    """x where the condition holds, else y; at least one of them is a Value."""
    model = x if isinstance(x, Value) else y
    assert isinstance(model, Value), "two numbers have no dtype"
    b = condition.builder
    return Value(b, b.select(condition.scalar, model.like(x).scalar, model.like(y).scalar))


def at_least(bound: float, x: Value) -> Value:
    """max(bound, x) that propagates nan: one instruction on most machines."""
    return where(x < bound, bound, x)


def at_most(bound: float, x: Value) -> Value:
    """min(bound, x) that propagates nan: one instruction on most machines."""
    return where(x > bound, bound, x)


def fma(x: Value, y: Number, z: Number) -> Value:
    """x·y + z, rounded once or twice, depending on the target."""
    return Value(x.builder, x.builder.fma(x.scalar, x.like(y).scalar, x.like(z).scalar))


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Σ coefficients[i]·xⁱ, with even and odd powers summed separately: half the dependent steps of Horner's rule."""
    if len(coefficients) < 4:
        return _horner(x, coefficients)
    square = x * x
    return fma(x, _horner(square, coefficients[1::2]), _horner(square, coefficients[::2]))


def _horner(x: Value, coefficients: Sequence[float]) -> Value:
    *rest, last = coefficients
    result = x.like(last)
    for coefficient in reversed(rest):
        result = fma(result, x, coefficient)
    return result


def rarely(
    condition: Value, formula: Callable[[Value], tuple[Value, ...]], x: Value, otherwise: tuple[Value, ...]
) -> tuple[Value, ...]:
    """formula(x) where the condition holds, else `otherwise`, by a branch that skips the work in scalar code."""
    outer = x.builder
    then, rest = Region(Block()), Region(Block())
    inner = FormulaBuilder(Builder(InsertPoint.at_end(then.block)), outer.has_tables)
    results = formula(Value(inner, x.scalar))
    inner.builder.insert(scf.YieldOp(*(value.scalar.ssa for value in results)))
    Builder(InsertPoint.at_end(rest.block)).insert(scf.YieldOp(*(value.scalar.ssa for value in otherwise)))
    op = scf.IfOp(condition.scalar.ssa, [value.scalar.ssa.type for value in otherwise], then, rest)
    outer.builder.insert(op)
    return tuple(Value(outer, Scalar(ssa, value.dtype)) for ssa, value in zip(op.results, otherwise, strict=True))
