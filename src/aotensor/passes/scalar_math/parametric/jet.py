"""Truncated Taylor expansions of Values in the parameters of a function.

A formula that is written for jets also gives the derivatives of a series, a continued fraction or an expansion with
respect to its parameters: each term is differentiated, and the sum ends when all coefficients have converged.
Coefficients that are exactly zero are not stored, so a jet of order 0 costs as much as its Value. Source: Griewank &
Walther (2008), "Evaluating Derivatives", chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from aotensor.passes.scalar_math.value import Value, where

Index: TypeAlias = tuple[int, ...]
"""The order of differentiation for each parameter."""
Operand: TypeAlias = "Jet | Value | float"


def indices_up_to(top: Index) -> list[Index]:
    """All multi-indices ≤ `top` componentwise, each after the indices below it."""
    return list(product(*(range(n + 1) for n in top)))


def units(top: Index) -> list[Index]:
    """The multi-indices of the first derivatives."""
    return [tuple(int(i == axis) for i in range(len(top))) for axis in range(len(top))]


@dataclass(frozen=True, slots=True, eq=False)
class Jet:
    """A truncated Taylor expansion Σ parts[α]·δ^α for |δ| → 0 and α ≤ top: parts[α] is the derivative ∂^α over α!."""

    top: Index
    parts: Mapping[Index, Value]

    @staticmethod
    def parameters(xs: Sequence[Value], top: Index) -> list[Jet]:
        """Jets of the parameters: each has derivative 1 with respect to itself."""
        found = []
        for position, x in enumerate(xs):
            parts = {(0,) * len(top): x}
            if position < len(top) and top[position]:
                parts[tuple(int(i == position) for i in range(len(top)))] = x.like(1.0)
            found.append(Jet(top, parts))
        return found

    @property
    def value(self) -> Value:
        return self.parts[self._zero]

    @property
    def derivative(self) -> Value:
        """The derivative ∂^top, of the highest order that the jet holds."""
        size = math.prod(math.factorial(n) for n in self.top)
        found = self.parts.get(self.top)
        return self.value.like(0.0) if found is None else found if size == 1 else found * float(size)

    @property
    def order(self) -> int:
        """The total order of the highest derivative."""
        return sum(self.top)

    @property
    def _zero(self) -> Index:
        return (0,) * len(self.top)

    def constant(self, x: Operand) -> Jet:
        """A constant x as a jet with the same parameters."""
        return x if isinstance(x, Jet) else Jet(self.top, {self._zero: self.value.like(x)})

    def dense(self) -> Jet:
        """The same jet with all coefficients stored."""
        zero = self.value.like(0.0)
        return Jet(self.top, {index: self.parts.get(index, zero) for index in indices_up_to(self.top)})

    def with_value(self, value: Value) -> Jet:
        """The same jet with another value."""
        return Jet(self.top, {**self.parts, self._zero: value})

    # --- arithmetic -----------------------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Jet:
        if not isinstance(other, Jet):
            return self.with_value(self.value + other)
        parts = dict(self.parts)
        for index, part in other.parts.items():
            parts[index] = parts[index] + part if index in parts else part
        return Jet(self.top, parts)

    def __radd__(self, other: float | Value) -> Jet:
        return self + other

    def __neg__(self) -> Jet:
        return self.each(lambda part: -part)

    def __sub__(self, other: Operand) -> Jet:
        if not isinstance(other, Jet):
            return self.with_value(self.value - other)
        parts = dict(self.parts)
        for index, part in other.parts.items():
            parts[index] = parts[index] - part if index in parts else -part
        return Jet(self.top, parts)

    def __rsub__(self, other: float | Value) -> Jet:
        parts = {index: -part for index, part in self.parts.items()}
        return Jet(self.top, {**parts, self._zero: other - self.value})

    def __mul__(self, other: Operand) -> Jet:
        if not isinstance(other, Jet):
            return self.each(lambda part: part * other)
        parts: dict[Index, Value] = {}
        for one, x in self.parts.items():
            for two, y in other.parts.items():
                index = tuple(i + j for i, j in zip(one, two, strict=True))
                if all(i <= n for i, n in zip(index, self.top, strict=True)):
                    parts[index] = parts[index] + x * y if index in parts else x * y
        return Jet(self.top, parts)

    def __rmul__(self, other: float | Value) -> Jet:
        return self * other

    def __truediv__(self, other: Operand) -> Jet:
        """The quotient q with q·other = self, coefficient by coefficient."""
        if not isinstance(other, Jet):
            return self.each(lambda part: part / other)
        zero = self._zero
        if len(other.parts) == 1:
            return self.each(lambda part: part / other.value)
        inverse = 1.0 / other.value
        parts: dict[Index, Value] = {}
        for index in indices_up_to(self.top):
            rest = self.parts.get(index)
            for one, x in other.parts.items():
                before = tuple(i - j for i, j in zip(index, one, strict=True))
                if one != zero and before in parts:
                    rest = -(x * parts[before]) if rest is None else rest - x * parts[before]
            if rest is not None:
                parts[index] = rest / other.value if index == zero else rest * inverse
        return Jet(self.top, parts)

    def __rtruediv__(self, other: float | Value) -> Jet:
        return self.constant(other) / self

    def each(self, change: Callable[[Value], Value]) -> Jet:
        """Apply a linear function to every coefficient."""
        return Jet(self.top, {index: change(part) for index, part in self.parts.items()})

    # --- functions ------------------------------------------------------------------------------------------------

    def compose(self, taylor: Callable[[Value], Iterable[Value]]) -> Jet:
        """f(self) from the Taylor coefficients f(v), f′(v), f″(v)/2, …, evaluated as far as the order needs them."""
        rest = Jet(self.top, {index: part for index, part in self.parts.items() if index != self._zero})
        varying = (n for n, *indices in zip(self.top, *rest.parts, strict=True) if any(indices))
        coefficients = [c for _, c in zip(range(sum(varying) + 1), taylor(self.value), strict=False)]
        if not rest.parts:
            return self.constant(coefficients[0])
        result = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = result * rest
            zero = result.parts.get(self._zero)
            result = result.with_value(c if zero is None else zero + c)
        return result

    def exp(self) -> Jet:
        def taylor(v: Value) -> Iterable[Value]:
            y = v.call("exp")
            yield from (y * (1.0 / math.factorial(k)) if k > 1 else y for k in range(self.order + 1))

        return self.compose(taylor)

    def log(self) -> Jet:
        return self.compose(lambda v: logarithm_series(v.call("log"), v, self.order))

    def log1p(self) -> Jet:
        return self.compose(lambda v: logarithm_series(v.call("log1p"), v + 1.0, self.order))

    def sqrt(self) -> Jet:
        def taylor(v: Value) -> Iterable[Value]:
            y, inverse = v.sqrt(), 1.0 / v
            yield y
            for k in range(1, self.order + 1):
                y = y * inverse * ((1.5 - k) / k)
                yield y

        return self.compose(taylor)

    def polynomial(self, coefficients: Sequence[float]) -> Jet:
        """Σ coefficients[i]·selfⁱ by Horner's rule."""
        result = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = result * self + c
        return result


def logarithm_series(value: Value, v: Value, order: int) -> Iterable[Value]:
    """`value`, then 1/v, −1/(2v²), 1/(3v³), …: the expansion of a logarithm of v."""
    yield value
    if order:
        inverse = 1.0 / v
        power = inverse
        yield power
        for k in range(2, order + 1):
            power = -(power * inverse)
            yield power * (1.0 / k)


def choose(condition: Value, x: Jet, y: Jet) -> Jet:
    """x where the condition holds, else y; both are computed."""
    zero = x.value.like(0.0)
    indices = [index for index in indices_up_to(x.top) if index in x.parts or index in y.parts]
    return Jet(x.top, {i: where(condition, x.parts.get(i, zero), y.parts.get(i, zero)) for i in indices})


def integral(value: Value, top: Index, slopes: Sequence[tuple[Jet, Jet]]) -> Jet:
    """The jet with a given value and derivative Σ slope·∂parameter.   slopes: (parameter or constant, slope)"""
    parts: dict[Index, Value] = {(0,) * len(top): value}
    for index in indices_up_to(top)[1:]:
        axis = next(i for i, n in enumerate(index) if n)
        unit = units(top)[axis]
        below = tuple(n - k for n, k in zip(index, unit, strict=True))
        terms = [slope.parts[below] for own, slope in slopes if unit in own.parts and below in slope.parts]
        if terms:
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            parts[index] = total * (1.0 / index[axis])
    return Jet(top, parts)
