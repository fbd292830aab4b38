"""Holomorphic functions of complex numbers: NumPy is the reference, real formulas are compiled.

Their derivative rules are those of real functions, by the convention for cotangents (`parts`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import log as real_log
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.graph.op import Apply, Op, connected, sum_terms
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.batching import align_rank
from aotensor.ops.complex import formulas
from aotensor.ops.complex.parts import join_arrays, join_parts, parts, real, same_shape, to_complex
from aotensor.ops.elementwise import powers
from aotensor.ops.elementwise.arithmetic import add, mul, sqr
from aotensor.ops.elementwise.base import broadcast_to_result, elementwise_named, unbroadcast
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.elementwise.elementary import cos, cosh, log, sin, sinh, sqrt
from aotensor.ops.elementwise.scipy_reference import scipy_special
from aotensor.ops.linear import zero_gradient

Derivative: TypeAlias = Callable[..., Variable]
"""(g, *inputs, y) ↦ ∂f/∂xᵢ·g"""


@frozen_dataclass
class Function:
    """A holomorphic function.

    reference: NumPy on complex arrays, and, if `mixes`, on real ones: then a real operand stays real. formula: on
    pairs. derivatives: one per operand, or for any number of them (g, position, inputs, y) ↦ term.
    """

    reference: Callable[..., Any]
    formula: Callable[..., formulas.Number]
    derivatives: tuple[Derivative, ...] | Derivative
    mixes: bool = False


@frozen_dataclass
class ComplexFunction(Op):
    """y[…] = f(z₁[…], …) with broadcasting, for some complex operand.   exponent: for `int_pow` only"""

    takes_complex: ClassVar[bool] = True
    is_holomorphic: ClassVar[bool] = True
    function: str
    exponent: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.function

    @property
    def notation(self) -> str:  # type: ignore[override]
        real = elementwise_named(self.function)
        return real.notation if real is not None else ""

    def __str__(self) -> str:
        return self.function if self.exponent is None else f"{self.function}{{exponent={self.exponent}}}"

    @property
    def _literals(self) -> tuple[int, ...]:
        return () if self.exponent is None else (self.exponent,)

    def infer_type(self, *types: TensorType) -> TensorType:
        return TensorType(dtypes.promote(*(x.dtype for x in types)), broadcast_shapes([x.shape for x in types]))

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return super().evaluate(node, inputs)

    def reference(self, *inputs: Array) -> Any:
        common = dtypes.promote(*(dtypes.name_of(x.dtype) for x in inputs))
        row = FUNCTIONS[self.function]
        is_kept = [row.mixes and x.dtype.kind != "c" for x in inputs]
        operands = [
            np.asarray(x, dtypes.part_of(common) if kept else common) for x, kept in zip(inputs, is_kept, strict=True)
        ]
        return row.reference(*operands, *self._literals)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (y,), (g,) = outputs, cotangents
        return [self._pulled(self._scaled(g, k, inputs, y), x) for k, x in enumerate(inputs)]

    def _pulled(self, term: Variable, x: Variable) -> Variable:
        """A cotangent of x from a complex formula; for a real x its real part."""
        if dtypes.is_discrete(x.dtype):
            return zero_gradient(x)
        return unbroadcast(term if dtypes.is_complex(x.dtype) else real(term), x)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (y,) = outputs
        moving = connected(tangents).items()
        terms = [broadcast_to_result(self._scaled(to_complex(t, y.dtype), k, inputs, y), y) for k, t in moving]
        return [sum_terms(terms, add)]

    def _scaled(self, g: Variable, position: int, inputs: Sequence[Variable], y: Variable) -> Variable:
        if self.exponent is not None:
            return g * powers.pow(inputs[0], self.exponent - 1) * self.exponent
        derivatives = FUNCTIONS[self.function].derivatives
        if callable(derivatives):
            return derivatives(g, position, inputs, y)
        return derivatives[position](g, *inputs, y)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        rank = node.outputs[0].ndim
        return self.apply(*(align_rank(x, rank) if on else x for x, on in zip(inputs, is_batched, strict=True))).outputs

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        part = dtypes.part_of(dtypes.promote(*(x.dtype for x in inputs)))
        numbers = [
            tuple(cast(p, part) for p in parts(x)) if dtypes.is_complex(x.dtype) else (cast(x, part), None)
            for x in inputs
        ]
        re, im = FUNCTIONS[self.function].formula(*numbers, *self._literals)
        assert im is not None
        return [join_parts(*same_shape(re, im))]


def _reference_times(*factors: Array) -> Array:
    """Product of complex arrays, or of a complex and a real one, whose real factor scales both parts."""

    def times(x: Any, y: Any) -> Any:
        if x.dtype.kind == y.dtype.kind:
            return x * y
        scaled, by = (x, y) if x.dtype.kind == "c" else (y, x)
        return join_arrays(scaled.real * by, scaled.imag * by)

    return np.asarray(reduce(times, factors))


def _reference_divide(x: Array, y: Array) -> Any:
    return x / y if y.dtype.kind == "c" else join_arrays(x.real / y, x.imag / y)


def _times_the_others(g: Variable, position: int, inputs: Sequence[Variable], y: Variable) -> Variable:
    return mul(g, *(x for k, x in enumerate(inputs) if k != position))


def _pullback_of_base(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    """The pullback of aᵇ in a: g·b·aᵇ⁻¹; at a = 0 it is 0 for b = 0, and 0ᵇ⁻¹ is 1 for b = 1, 0 for Re b > 1, else
    nan.
    """
    at_zero = switch(eq(b, 0), 0, g * b * a ** (b - 1))
    return switch(eq(a, 0), at_zero, g * b * y / switch(eq(a, 0), 1, a))


def _pullback_of_exponent(g: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    """The pullback of aᵇ in b: g·aᵇ·ln a; 0 where a is 0."""
    return switch(eq(a, 0), 0, g * y * log(switch(eq(a, 0), 1, a)))


def _reference_log1p(x: Array) -> Array:
    """NumPy's log1p, whose real part has no digits where |1 + x| is near 1: there it is SciPy's."""
    found = np.array(np.log1p(x))
    found.real = np.where(np.abs(x) < 3, scipy_special("log1p")(x).real, found.real)
    return found


def _simple(name: str, formula: Callable[..., formulas.Number], derivative: Derivative) -> Function:
    return Function(getattr(np, name), formula, (derivative,))


FUNCTIONS: Final[dict[str, Function]] = {
    "add": Function(lambda *xs: reduce(np.add, xs), formulas.add, lambda g, position, inputs, y: g, mixes=True),
    "sub": Function(np.subtract, formulas.sub, (lambda g, a, b, y: g, lambda g, a, b, y: -g), mixes=True),
    "mul": Function(_reference_times, formulas.mul, _times_the_others, mixes=True),
    "true_div": Function(
        _reference_divide, formulas.divide, (lambda g, a, b, y: g / b, lambda g, a, b, y: -g * y / b), mixes=True
    ),
    "neg": Function(np.negative, formulas.negative, (lambda g, x, y: -g,)),
    "reciprocal": _simple("reciprocal", formulas.reciprocal, lambda g, x, y: -g * sqr(y)),
    "sqr": _simple("square", formulas.square, lambda g, x, y: 2 * g * x),
    "int_pow": Function(lambda x, n: np.power(x, np.asarray(n, x.dtype)), formulas.integer_power, ()),
    "pow": Function(np.power, formulas.power, (_pullback_of_base, _pullback_of_exponent)),
    "exp": _simple("exp", formulas.exponential, lambda g, x, y: g * y),
    "exp2": _simple("exp2", formulas.exponential2, lambda g, x, y: g * y * real_log(2)),
    "expm1": _simple("expm1", formulas.expm1_of, lambda g, x, y: g * (y + 1)),
    "log": _simple("log", formulas.logarithm, lambda g, x, y: g / x),
    "log2": _simple("log2", formulas.logarithm2, lambda g, x, y: g / (x * real_log(2))),
    "log10": _simple("log10", formulas.logarithm10, lambda g, x, y: g / (x * real_log(10))),
    "log1p": Function(_reference_log1p, formulas.log1p_of, (lambda g, x, y: g / (1 + x),)),
    "sqrt": _simple("sqrt", formulas.root, lambda g, x, y: 0.5 * g / y),
    "sin": _simple("sin", formulas.sine, lambda g, x, y: g * cos(x)),
    "cos": _simple("cos", formulas.cosine, lambda g, x, y: -g * sin(x)),
    "tan": _simple("tan", formulas.tangent, lambda g, x, y: g * (1 + y * y)),
    "sinh": _simple("sinh", formulas.hyperbolic_sine, lambda g, x, y: g * cosh(x)),
    "cosh": _simple("cosh", formulas.hyperbolic_cosine, lambda g, x, y: g * sinh(x)),
    "tanh": _simple("tanh", formulas.hyperbolic_tangent, lambda g, x, y: g * (1 - y * y)),
    "arcsin": _simple("arcsin", formulas.inverse_sine, lambda g, x, y: g / (sqrt(1 - x) * sqrt(1 + x))),
    "arccos": _simple("arccos", formulas.inverse_cosine, lambda g, x, y: -g / (sqrt(1 - x) * sqrt(1 + x))),
    "arctan": _simple("arctan", formulas.inverse_tangent, lambda g, x, y: g / (1 + x * x)),
    "arcsinh": _simple("arcsinh", formulas.inverse_hyperbolic_sine, lambda g, x, y: g / sqrt(x * x + 1)),
    "arccosh": _simple("arccosh", formulas.inverse_hyperbolic_cosine, lambda g, x, y: g / (sqrt(x - 1) * sqrt(x + 1))),
    "arctanh": _simple("arctanh", formulas.inverse_hyperbolic_tangent, lambda g, x, y: g / ((1 - x) * (1 + x))),
}
"""The functions by the names of the real elementwise functions that they continue."""
