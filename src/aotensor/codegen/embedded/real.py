"""Builder of floating-point functions that use integer operations on the bits of numbers."""

from __future__ import annotations

from aotensor.codegen import llvm
from aotensor.codegen.entry.code import Code
from aotensor.codegen.llvm import Module, Type, Value, constant, f64, i1, i32, i64


class Real(Code):
    """A function on numbers of one format, float32 or float64, under construction.

    word: the integer type of that width. bits: width of a number. mantissa: width of its fraction. bias: bias of its
    exponent.
    """

    def __init__(self, module: Module, name: str, kind: Type, arguments: int) -> None:
        super().__init__(module, name, kind, [kind] * arguments, exported=True)
        llvm.mark_function(self.function, '"no-builtins"', "memory(none)", "noinline")
        self.kind, self.word = kind, i64 if kind == f64 else i32
        self.bits, self.mantissa = (64, 52) if kind == f64 else (32, 23)
        self.bias = (1 << (self.bits - self.mantissa - 2)) - 1
        self.infinity = (2 * self.bias + 1) << self.mantissa

    def constant(self, value: int) -> Value:
        """A constant of the type `word`."""
        return constant(self.word, value)

    def raw(self, x: Value) -> Value:
        return self.builder.bitcast(x, self.word)

    def real(self, bits: Value) -> Value:
        return self.builder.bitcast(bits, self.kind)

    def magnitude(self, bits: Value) -> Value:
        return self.builder.and_(bits, self.constant((1 << (self.bits - 1)) - 1))

    def sign(self, bits: Value) -> Value:
        return self.builder.and_(bits, self.constant(-1 << (self.bits - 1)))

    def exponent(self, magnitude: Value) -> Value:
        """The biased exponent of a number, from the bits of its magnitude."""
        return self.builder.lshr(magnitude, self.constant(self.mantissa))

    def nan_when(self, condition: Value, x: Value) -> None:
        """Write: if condition, return a quiet nan, with x's bits if x is a nan."""
        nan = self.builder.or_(self.raw(x), self.constant(self.infinity | 1 << (self.mantissa - 1)))
        self.ret_if(condition, self.real(nan))

    def zeros_above(self, x: Value) -> Value:
        """The number of leading zero bits of x."""
        return llvm.intrinsic(self.builder, "ctlz", [x, constant(i1, 0)], overloads=[x.type])

    def normalised(self, magnitude: Value) -> tuple[Value, Value]:
        """(mantissa with its leading bit, biased exponent) of a finite nonzero number."""
        b = self.builder
        exponent, fraction = self.exponent(magnitude), b.and_(magnitude, self.constant((1 << self.mantissa) - 1))
        is_normal = b.icmp_unsigned("!=", exponent, self.constant(0))
        shift = b.sub(self.zeros_above(b.or_(fraction, self.constant(1))), self.constant(self.bits - 1 - self.mantissa))
        return (
            b.select(is_normal, b.or_(fraction, self.constant(1 << self.mantissa)), b.shl(fraction, shift)),
            b.select(is_normal, exponent, b.sub(self.constant(1), shift)),
        )
