"""Scalars with operators: the notation of the math library.

A `Value` is an SSA scalar together with the builder that emits it. All arithmetic is plain IEEE, except `fma`, which
may round once or twice.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

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

    def value(self, x: Scalar) -> Value:
        """A scalar as a Value of this builder."""
        return Value(x.ssa, x.dtype, self)

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
class Value(Scalar):
    """A scalar in a formula, whose operators emit operations by the builder of the formula."""

    builder: FormulaBuilder

    def operate(self, verb: str, *operands: Any) -> Value:
        if not all(isinstance(x, Value | float | int) for x in operands):
            return NotImplemented  # type: ignore[no-any-return]  # Jet's reflected operator is used
        return self.builder.value(self.builder.operate(verb, *operands))

    @property
    def format(self) -> Format:
        return FORMATS[self.dtype]

    @property
    def is_double(self) -> bool:
        return self.dtype == "float64"

    def like(self, number: Number) -> Value:
        """A number as a Value of this dtype."""
        return number if isinstance(number, Value) else self.builder.value(self.builder.constant(number, self.dtype))

    def bitcast(self, dtype: str) -> Value:
        return self.builder.value(self.builder.bitcast(self, dtype))

    def bits(self) -> Value:
        """The bit pattern of a float as an unsigned integer."""
        return self.bitcast(self.format.unsigned)

    def cast(self, dtype: str) -> Value:
        return self.builder.value(self.builder.cast(self, dtype))

    def eq(self, other: Number) -> Value:
        return self.operate("eq", self, other)

    def ne(self, other: Number) -> Value:
        return self.operate("ne", self, other)

    def truncated(self) -> Value:
        """x truncated to at most 26 significant bits (float32: 12): products of two such numbers are exact."""
        form = self.format
        dropped = form.fraction_bits // 2 + 1
        return (self.bits() & ~((1 << dropped) - 1)).bitcast(self.dtype)

    def call(self, name: str, *others: Number) -> Value:
        """Call the scalar function of that name with this and further operands, without inlining it."""
        return self.builder.value(self.builder.special(name, self, *map(self.like, others)))

    # --- functions that some machines have --------------------------------------------------------------------------

    @property
    def has_tables(self) -> bool:
        """Does the machine have `sixteenth_power` and `scaled` for this dtype?"""
        return self.builder.has_tables and self.is_double

    def sixteenth_power(self) -> Value:
        """2**(k/16) for the k in the low four bits of this pattern, correctly rounded."""
        return self.builder.value(self.builder.special("sixteenth_power", self, dtype="float64"))

    def rest_of_sixteenth_power(self) -> Value:
        """2**(k/16) minus its correctly rounded value, see `sixteenth_power`."""
        return self.builder.value(self.builder.special("rest_of_sixteenth_power", self, dtype="float64"))

    def scaled(self, n: Value) -> Value:
        """x·2**⌊n⌋ for any n, rounded once."""
        return self.builder.value(self.builder.special("scaled", self, n))

    # --- functions that LLVM has ------------------------------------------------------------------------------------

    def sqrt(self) -> Value:
        return self.builder.value(self.builder.math("sqrt", self))

    def with_sign_of(self, other: Value) -> Value:
        return self.builder.value(self.builder.math2("copysign", self, other))


def where(condition: Value, x: Number, y: Number) -> Value:
    """x where the condition holds, else y; at least one of them is a Value."""
    model = x if isinstance(x, Value) else y
    assert isinstance(model, Value), "two numbers have no dtype"
    b = condition.builder
    return b.value(b.select(condition, model.like(x), model.like(y)))


def at_least(bound: float, x: Value) -> Value:
    """max(bound, x) that propagates nan: one instruction on most machines."""
    return where(x < bound, bound, x)


def at_most(bound: float, x: Value) -> Value:
    """min(bound, x) that propagates nan: one instruction on most machines."""
    return where(x > bound, bound, x)


def fma(x: Value, y: Number, z: Number) -> Value:
    """x·y + z, rounded once or twice, depending on the target."""
    return x.builder.value(x.builder.fma(x, x.like(y), x.like(z)))


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
    results = formula(inner.value(x))
    inner.builder.insert(scf.YieldOp(*(value.ssa for value in results)))
    Builder(InsertPoint.at_end(rest.block)).insert(scf.YieldOp(*(value.ssa for value in otherwise)))
    op = scf.IfOp(condition.ssa, [value.ssa.type for value in otherwise], then, rest)
    outer.builder.insert(op)
    return tuple(Value(ssa, value.dtype, outer) for ssa, value in zip(op.results, otherwise, strict=True))
